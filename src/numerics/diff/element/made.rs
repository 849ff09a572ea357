//! The operations that made each element.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use crate::ir::ValueId;

use super::algebra::{Element, Print, Prints, RoundingsId, Taken, absorb, print_of_key};
use super::element_function::ElementFunction;
use super::label::{Label, OrderOfAdditions};

/// An operation that made an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Made {
    /// Fingerprint of all that decides its bits: the operation, its operands and how they are rounded.
    pub print: Print,
    /// The operation.
    pub label: LabelId,
    /// The order of its additions, as far as the file says it.
    pub order: Option<AdditionsId>,
    /// The operands' roundings: their place in [`MakingRecord::ways`].
    pub ways: u32,
    /// The entry's value whose operation it is, or that of a loop or a call around it.
    pub at: ValueId,
}

/// Number of a [`Label`] in a [`MakingRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelId(u32);

/// Number of [`OrderOfAdditions`] in a [`MakingRecord`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdditionsId(u32);

/// All that a program made and has.
#[derive(Debug, Default)]
pub struct MakingRecord {
    first: Prints<Made>,
    /// The further operations that make an element, if there are several.
    more: Prints<Vec<Made>>,
    /// All elements that values of the entry have, or that are made anywhere.
    pub held: HashSet<Print, BuildHasherDefault<Taken>>,
    labels: Vec<(Label, Print)>,
    label_of: HashMap<Label, LabelId>,
    additions: Vec<OrderOfAdditions>,
    ways: Vec<Vec<RoundingsId>>,
}

impl MakingRecord {
    /// The number of a label.
    pub fn number(&mut self, label: Label) -> LabelId {
        if let Some(known) = self.label_of.get(&label) {
            return *known;
        }
        let number = LabelId(self.labels.len() as u32);
        self.labels.push((label, print_of_key(&label)));
        self.label_of.insert(label, number);
        number
    }

    /// The label of a number.
    pub fn label(&self, id: LabelId) -> Label {
        self.labels[id.0 as usize].0
    }

    /// The fingerprint of a label, which is the same in both programs.
    pub fn print(&self, id: LabelId) -> Print {
        self.labels[id.0 as usize].1
    }

    /// The number of an order of additions.
    pub fn additions_id(&mut self, additions: OrderOfAdditions) -> AdditionsId {
        let at = self.additions.iter().position(|known| *known == additions).unwrap_or_else(|| {
            self.additions.push(additions);
            self.additions.len() - 1
        });
        AdditionsId(at as u32)
    }

    /// The order of additions of a number.
    pub fn additions(&self, id: AdditionsId) -> &OrderOfAdditions {
        &self.additions[id.0 as usize]
    }

    /// The roundings of operands.
    pub fn ways_of(&self, ways: u32) -> &[RoundingsId] {
        &self.ways[ways as usize]
    }

    /// The number of a list of roundings.
    pub fn ways(&mut self, ways: &[RoundingsId]) -> u32 {
        let at = self.ways.iter().position(|known| known == ways).unwrap_or_else(|| {
            self.ways.push(ways.to_vec());
            self.ways.len() - 1
        });
        at as u32
    }

    /// Says that an operation made an element.
    pub fn note(&mut self, element: Element, made: Made) {
        if element.product == 0 {
            return;
        }
        self.hold(element, true);
        let key = element.mantissa_print();
        let first = *self.first.entry(key).or_insert(made);
        if first.print != made.print {
            let more = self.more.entry(key).or_default();
            if more.iter().all(|other| other.print != made.print) {
                more.push(made);
            }
        }
    }

    /// Says that the program has an element.
    pub fn hold(&mut self, element: Element, float: bool) {
        self.held.insert(element.magnitude_print(float));
    }

    /// Says that an element comes from nowhere: an argument.
    pub fn note_source(&mut self, element: Element, at: ValueId) {
        let label = self.number(Label::Parameter);
        let ways = self.ways(&[]);
        self.note(
            element,
            Made { print: absorb(ElementFunction::Source.print(), element.way.into()), label, order: None, ways, at },
        );
    }

    /// The operations that make an element.
    pub fn makers(&self, key: Print) -> impl Iterator<Item = &Made> {
        self.first.get(&key).into_iter().chain(self.more.get(&key).into_iter().flatten())
    }

    /// All elements that were made.
    pub fn keys(&self) -> impl Iterator<Item = Print> {
        self.first.keys().copied()
    }
}
