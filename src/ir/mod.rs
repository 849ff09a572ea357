//! A program: HLO operations in order. Built-in programs and imported ones are the same thing.

pub mod approx;
mod builder;
mod dot;
mod infer;
pub mod movement;
mod op;
mod print;
mod program;

pub use builder::Builder;
pub use dot::{DotDims, DotPlan};
pub use infer::{ShapeError, infer};
pub use op::{
    ApproxTopK, Binary, Class, Compare, CompareOrder, GatherDims, Op, PartialReduce, Precision, TRIP_BOUND, Unary,
    Window, WindowDim,
};
pub use program::{Computation, ComputationId, Instruction, Program, Shape, ValueId};
