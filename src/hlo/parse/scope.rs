//! Names seen so far: those of computations in the whole module, those of instructions in one computation.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem::take;

use crate::ast::Position;

use super::error::{Fault, Lines, quote};

/// Attributes whose value names computations.
const CALLS: [&str; 11] = [
    "to_apply",
    "calls",
    "condition",
    "body",
    "select",
    "scatter",
    "true_computation",
    "false_computation",
    "branch_computations",
    "called_computation",
    "called_computations",
];

/// The largest depth of computations that stand inside of each other.
const INNER: usize = 32;

/// Whether the value of an attribute of this name names computations.
pub(super) fn is_call(attribute: &str) -> bool {
    CALLS.contains(&attribute)
}

/// Names of a computation that is read on behind one that stands inside of it.
pub(super) struct Outer<'a> {
    instructions: HashMap<Cow<'a, str>, usize>,
    parameters: BTreeMap<u64, usize>,
}

/// State of the parsers.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    lines: Lines<'a>,
    computations: HashSet<Cow<'a, str>>,
    /// Names of instructions, and their places in this computation.
    instructions: HashMap<Cow<'a, str>, usize>,
    /// The parameters of this computation: their numbers, and the bytes at which their names stand.
    parameters: BTreeMap<u64, usize>,
    /// Number of computations that this one stands inside of.
    depth: usize,
}

impl<'a> Scope<'a> {
    pub(super) fn new(text: &'a str) -> Scope<'a> {
        Scope {
            lines: Lines::new(text),
            computations: HashSet::new(),
            instructions: HashMap::new(),
            parameters: BTreeMap::new(),
            depth: 0,
        }
    }

    /// Place of a byte that is not before the one asked for last.
    pub(super) fn position(&mut self, offset: usize) -> Position {
        self.lines.position(offset)
    }

    /// A computation begins: its name is new, and no instruction is known in it.
    pub(super) fn enter(&mut self, name: &'a str, at: usize) -> Result<(), Fault> {
        self.instructions.clear();
        self.parameters.clear();
        if self.computations.contains(name) {
            return Err(Fault::rule(at, format!("a computation before this one has the name {} too", quote(name))));
        }
        Ok(())
    }

    /// A computation begins inside of this one, in which its names are not known.
    pub(super) fn begin_inner(&mut self, at: usize) -> Result<Outer<'a>, Fault> {
        if self.depth == INNER {
            return Err(Fault::rule(at, format!("computations stand inside of each other more than {INNER} deep")));
        }
        self.depth += 1;
        Ok(Outer { instructions: take(&mut self.instructions), parameters: take(&mut self.parameters) })
    }

    /// The computation inside is complete.
    pub(super) fn end_inner(&mut self, outer: Outer<'a>) {
        self.depth -= 1;
        (self.instructions, self.parameters) = (outer.instructions, outer.parameters);
    }

    /// A parameter's number, which no parameter of this computation before has.
    pub(super) fn parameter(&mut self, number: u64, at: usize) -> Result<(), Fault> {
        match self.parameters.insert(number, at) {
            None => Ok(()),
            Some(_) => Err(Fault::rule(
                at,
                format!("a parameter before this one in its computation has the number {number} too"),
            )),
        }
    }

    /// A computation is complete, and can be called from now on. Its parameters are numbered from 0 without a gap.
    pub(super) fn leave(&mut self, name: Cow<'a, str>) -> Result<(), Fault> {
        if let Some((missing, (number, at))) = (0..).zip(&self.parameters).find(|(place, (number, _))| place != *number)
        {
            return Err(Fault::rule(
                *at,
                format!("this is parameter {number}, and its computation has no parameter {missing}"),
            ));
        }
        self.computations.insert(name);
        Ok(())
    }

    /// An instruction is complete, and can be an operand from now on.
    pub(super) fn define(&mut self, name: Cow<'a, str>, at: usize, place: usize) -> Result<(), Fault> {
        match self.instructions.entry(name) {
            Entry::Vacant(entry) => {
                entry.insert(place);
                Ok(())
            }
            Entry::Occupied(entry) => {
                Err(Fault::rule(at, format!("an instruction before this one has the name {} too", quote(entry.key()))))
            }
        }
    }

    /// The place of an instruction in this computation.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.instructions.get(name).copied()
    }

    /// An operand names an instruction before.
    pub(super) fn operand(&self, name: &str, at: usize) -> Result<(), Fault> {
        if self.instructions.contains_key(name) {
            return Ok(());
        }
        Err(Fault::rule(at, format!("no instruction before this one in its computation has the name {}", quote(name))))
    }

    /// The words of an attribute that calls computations name computations before.
    pub(super) fn check_calls(&self, attribute: &str, words: &[String], at: usize) -> Result<(), Fault> {
        if !CALLS.contains(&attribute) {
            return Ok(());
        }
        for word in words {
            let name = word.strip_prefix('%').unwrap_or(word);
            if !self.computations.contains(name) {
                return Err(Fault::rule(at, format!("no computation before this one has the name {}", quote(name))));
            }
        }
        Ok(())
    }
}
