//! The symbolic order of elements.
//!
//! Two intervals never prove that `p[i] >= max(p)` holds with equality, nor that two softmax outputs of equal logits
//! tie. So each element also carries an identity `(class, key)`: its value is `F_class(key)` with `F_class` strictly
//! increasing. Elements of one class compare as their keys; equal identities are equal values. Class 0 is the identity
//! function. A class stands for a function of the key alone, so it names every other operand by its own identity.

use std::collections::HashMap;

/// What an element is, up to equality of expressions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Identity {
    pub class: u32,
    pub key: f64,
}

impl Identity {
    /// An exactly known number.
    pub fn exact(value: f64) -> Identity {
        Identity { class: 0, key: value }
    }
}

/// A strictly increasing function applied to an element of a class, with the element that it takes beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// Distinguishes functions: one number for each opcode, side and sign.
    pub function: u16,
    pub class: u32,
    /// The other operand's class and the bits of its key; zeros for a function of one argument.
    pub other: (u32, u64),
}

/// All classes made so far.
#[derive(Debug)]
pub(super) struct Classes {
    known: HashMap<Step, u32>,
    next: u32,
    last: Option<(Step, u32)>,
}

impl Default for Classes {
    fn default() -> Classes {
        Classes { known: HashMap::new(), next: 1, last: None }
    }
}

impl Classes {
    /// The class of `step`'s results; equal steps give equal classes.
    pub fn after(&mut self, step: Step) -> u32 {
        // Neighbours in a row take the same step.
        if let Some((last, class)) = self.last
            && last == step
        {
            return class;
        }
        let next = self.next;
        let class = *self.known.entry(step).or_insert(next);
        if class == next {
            self.next += 1;
        }
        self.last = Some((step, class));
        class
    }

    /// An identity that equals no other.
    pub fn fresh(&mut self) -> Identity {
        let class = self.next;
        self.next += 1;
        Identity { class, key: 0.0 }
    }
}
