//! Names seen so far: those of computations in the whole module, those of instructions in one computation.

use std::collections::{BTreeMap, HashSet};

use crate::hlo::ast::Position;

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

/// State of the parsers.
#[derive(Debug)]
pub(super) struct Scope<'a> {
    lines: Lines<'a>,
    computations: HashSet<&'a str>,
    instructions: HashSet<&'a str>,
    /// The parameters of this computation: their numbers, and the bytes at which their names stand.
    parameters: BTreeMap<u64, usize>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(text: &'a str) -> Scope<'a> {
        Scope {
            lines: Lines::new(text),
            computations: HashSet::new(),
            instructions: HashSet::new(),
            parameters: BTreeMap::new(),
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
    pub(super) fn leave(&mut self, name: &'a str) -> Result<(), Fault> {
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
    pub(super) fn define(&mut self, name: &'a str, at: usize) -> Result<(), Fault> {
        if self.instructions.insert(name) {
            return Ok(());
        }
        Err(Fault::rule(at, format!("an instruction before this one has the name {} too", quote(name))))
    }

    /// An operand names an instruction before.
    pub(super) fn operand(&self, name: &str, at: usize) -> Result<(), Fault> {
        if self.instructions.contains(name) {
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
