//! Kinds of operations that read values, as far as findings ask for them.

use crate::analysis::{Analysis, Reducer, is_cumulative};
use crate::ir::{Binary, Op, ValueId};

/// The kind of an operation that reads a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadingKind {
    /// A sum, of an array or of windows.
    Sum,
    /// A running sum.
    CumulativeSum,
    /// The largest, of an array or of windows.
    Maximum,
    /// The smallest, of an array or of windows.
    Minimum,
    /// The index of the largest.
    ArgMax,
    /// The index of the smallest.
    ArgMin,
    /// A comparison.
    Comparison,
    /// A sort.
    Sort,
    /// A top-k.
    TopK,
    /// An approximate top-k, before its candidates are sorted or after.
    ApproxTopK,
    /// The first step of an approximate top-k.
    PartialReduce,
    /// A sum of products.
    Dot,
    /// A result of the program.
    Result,
    /// Any other operation.
    Other,
}

impl ReadingKind {
    /// The kind of a value's operation.
    pub fn of(analysis: &Analysis, id: ValueId) -> ReadingKind {
        let instructions = &analysis.program.entry().instructions;
        let reducer = |region| analysis.regions.reducer_but_for_rounding(region);
        match &instructions[id].op {
            Op::Reduce { to_apply, .. } => match reducer(*to_apply) {
                Some(Reducer::Binary(Binary::Add)) => ReadingKind::Sum,
                Some(Reducer::Binary(Binary::Maximum)) => ReadingKind::Maximum,
                Some(Reducer::Binary(Binary::Minimum)) => ReadingKind::Minimum,
                Some(Reducer::ArgMax | Reducer::GreaterKeep) => ReadingKind::ArgMax,
                Some(Reducer::ArgMin) => ReadingKind::ArgMin,
                _ => ReadingKind::Other,
            },
            Op::ReduceWindow { window, to_apply } => {
                let dims = instructions[id].operands.first().map_or(&[][..], |o| instructions[*o].shape.dims());
                match reducer(*to_apply) {
                    Some(Reducer::Binary(Binary::Add)) if is_cumulative(window, dims).is_some() => {
                        ReadingKind::CumulativeSum
                    }
                    Some(Reducer::Binary(Binary::Add)) => ReadingKind::Sum,
                    Some(Reducer::Binary(Binary::Maximum)) => ReadingKind::Maximum,
                    Some(Reducer::Binary(Binary::Minimum)) => ReadingKind::Minimum,
                    _ => ReadingKind::Other,
                }
            }
            Op::Compare { .. } => ReadingKind::Comparison,
            Op::Sort { .. } => ReadingKind::Sort,
            Op::TopK { .. } => ReadingKind::TopK,
            Op::ApproxTopK(_) => ReadingKind::ApproxTopK,
            Op::PartialReduce(_) => ReadingKind::PartialReduce,
            Op::Dot { .. } => ReadingKind::Dot,
            _ => ReadingKind::Other,
        }
    }

    /// Whether it chooses among elements, so that a rounding changes the choice and not a last bit.
    pub fn is_choice(self) -> bool {
        use ReadingKind::{ApproxTopK, ArgMax, ArgMin, Comparison, PartialReduce, Sort, TopK};
        matches!(self, Comparison | ArgMax | ArgMin | Sort | TopK | ApproxTopK | PartialReduce)
    }

    /// Its noun in a sentence, if one would expect readers of this kind to see the same value.
    pub const fn noun(self) -> Option<&'static str> {
        Some(match self {
            ReadingKind::Sum => "sum",
            ReadingKind::CumulativeSum => "cumsum",
            ReadingKind::Maximum => "max",
            ReadingKind::Minimum => "min",
            ReadingKind::ArgMax => "argmax",
            ReadingKind::ArgMin => "argmin",
            ReadingKind::Comparison => "comparison",
            ReadingKind::Sort => "sort",
            ReadingKind::TopK => "topk",
            ReadingKind::ApproxTopK => "ApproxTopK",
            ReadingKind::PartialReduce => "PartialReduce",
            ReadingKind::Dot => "dot",
            ReadingKind::Result | ReadingKind::Other => return None,
        })
    }
}
