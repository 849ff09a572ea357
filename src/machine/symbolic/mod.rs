//! Symbols of the values that a program computes on a machine, without arguments: for each element of each value, a
//! symbol of the operations that give it. Elements with one symbol have the same bits for all arguments (docs/proofs/same.md,
//! "Why PROVEN is proven").
//!
//! Every rule here repeats what [`super::evaluate`] does, with the same plans, orders and habits, so that what decides bits
//! is part of a symbol: a dot's passes and cuts, the order of a sum, a library's exponential, a product that is not rounded
//! before it is added. What cannot change bits is not: where elements lie, which fusion holds them, what nobody reads.

mod dot_terms;
mod gathered;
mod indexed;
mod masked;
mod packed;
mod pairwise;
mod pointwise;
mod random_fraction;
mod ranked;
mod reduced;
mod run;
mod symbol;
mod symbol_key;
mod symbols;
mod tables;

use std::collections::BTreeSet;

use crate::analysis::{World, array_bytes};
use crate::budget;
use crate::ir::{Shape, movement};

use super::eval_error::EvalError;
use super::mode::Arithmetic;
use super::prepared::Prepared;

use run::Tracer;
pub use symbol::Symbol;
use symbol_key::Key;
use symbols::Symbols;

/// Names of the elements of one argument. Elements of two programs that have one name are the same numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Naming {
    /// The number that stands for the argument in both programs.
    pub argument: usize,
    /// The position of the array in the argument that both programs see: that of its first element, one index a dim.
    pub origin: Vec<usize>,
    /// The extents of that argument.
    pub extents: Vec<usize>,
}

/// Premises of the equality of symbols, beside the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grounds {
    /// Instructions that show the bits of a NaN, or its sign.
    pub shows_nan: BTreeSet<String>,
    /// Opcodes, or targets of custom calls, without a meaning here: taken as functions of their operands.
    pub opaque: BTreeSet<String>,
    /// Loops that were compared as wholes: their trips hang on arguments, or are many.
    pub loops: BTreeSet<String>,
    /// Sorts that need not keep equal elements in order, and on this machine do.
    pub unstable: BTreeSet<String>,
}

/// A value of the entry, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sketch {
    /// The symbols of the first element, of the least and of the greatest; copies and permutations keep the last two.
    pub symbols: [Symbol; 3],
    /// Whether no argument decides any element.
    pub known: bool,
}

/// A program's results and what led to them, as symbols.
#[derive(Clone, Debug)]
pub struct Traced {
    /// One list a result, row-major.
    pub results: Vec<Vec<Symbol>>,
    /// One a value of the entry; `None` for tuples and what has no elements.
    pub sketches: Vec<Option<Sketch>>,
    /// The premises of the equality of these symbols.
    pub grounds: Grounds,
}

/// Identities and omissions that are permitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Permits {
    /// -0 and +0 count as one number, and nothing tells them apart.
    pub one_zero: bool,
    /// Settings of a file that the machine does not follow ([`crate::ir::Setting`]) are left out: what it computes, and no proof.
    pub without_settings: bool,
    /// Functions of one narrow float are known by all of their values.
    pub by_values: bool,
}

impl Prepared<'_> {
    /// The symbols of the results in `mode`, with arguments called as `namings` says. `budget` is how many elements it may
    /// compute.
    ///
    /// # Errors
    /// If an operation is not supported for its types, or the program is larger than the budget.
    pub fn trace(
        &self,
        mode: &Arithmetic,
        namings: &[Naming],
        permits: Permits,
        budget: u64,
    ) -> Result<Traced, EvalError> {
        let machine = self.machine(mode)?;
        let shapes = self.program.entry().parameter_shapes();
        let all = shapes.iter().map(|shape| array_bytes(shape, World::Symbols)).fold(0, u128::saturating_add);
        let _held = budget::reserve(all, || "the program's arguments, each element of which is followed".to_string())?;
        let arguments = shapes.iter().zip(namings).map(|(shape, naming)| name_elements(shape, naming)).collect();
        Tracer::new(&machine, permits, budget).results(arguments)
    }
}

/// The symbols of an argument.
fn name_elements(shape: &Shape, naming: &Naming) -> Symbols {
    let name = Key::Argument(naming.argument).mixer();
    let strides = movement::row_major(&naming.extents);
    let dtype = shape.element_type();
    let mut elements = Vec::with_capacity(shape.elements());
    movement::for_each_index(shape.dims(), |_, index| {
        let place = index.iter().zip(&naming.origin).zip(&strides);
        let at: usize = place.map(|((i, from), stride)| (i + from) * *stride as usize).sum();
        elements.push(pointwise::of_type(name.and_count(at).symbol(), dtype));
    });
    Symbols::array(elements)
}

#[cfg(test)]
mod tests;
