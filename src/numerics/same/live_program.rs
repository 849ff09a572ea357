//! A program without what no result depends on: a compiler drops it, so that no bit of a result shows it. It is neither laid out
//! nor followed, and two programs that differ in it alone are one.

use crate::ir::Program;
use crate::rewrite::{Rewritten, drop_dead_values};

use super::{Comparand, Source};

/// A comparand without its dead values.
pub struct LiveProgram<'a> {
    program: Program,
    argument_names: &'a [String],
    sources: Vec<Source>,
}

impl<'a> LiveProgram<'a> {
    /// Drop the dead values of a comparand; each other value keeps its name.
    pub fn of(one: Comparand<'a>) -> LiveProgram<'a> {
        let Rewritten { program, origins } = drop_dead_values(one.program);
        let sources = origins.iter().flatten().filter_map(|value| one.sources.get(*value).cloned()).collect();
        LiveProgram { program, argument_names: one.argument_names, sources }
    }

    /// It as a comparand.
    pub fn as_comparand(&self) -> Comparand<'_> {
        Comparand { program: &self.program, argument_names: self.argument_names, sources: self.sources.clone() }
    }
}
