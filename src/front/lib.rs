//! The library's front: suites and their records and reports, results from elsewhere and their verdicts. Users find it under
//! `ulpgate`, which gives all of it under the same paths.

#![deny(missing_docs)]

pub mod evaluation;
pub mod gate;
pub mod judge;
pub mod layers;
#[cfg(feature = "html")]
pub mod page;
pub mod port;
pub mod probe;
pub mod record;
pub mod report;
pub mod run;
pub mod scales;
pub mod suite;
mod sum_tree;
pub mod vectors;

pub use ulpgate_hlo as hlo;
pub use ulpgate_numerics::{
    activity, analysis, budget, check, criterion, deadline, diff, explore, file, flow, input, ir, machine, metric,
    name, num, oracle, program, rewrite, same, scaled, stat, subject, tensor, why,
};

pub use ir::Program;
pub use machine::Mode;
pub use oracle::{Oracle, Truth};
pub use run::Question;
pub use subject::Subject;
