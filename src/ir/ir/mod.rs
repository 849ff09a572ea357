//! A program: HLO operations in order. Built-in programs and imported ones are the same thing.
//!
//! [`Program`], [`Computation`] and [`Instruction`] hold [`Op`]s (`program`, `op`, `scalar_op`); [`infer`] checks their
//! shapes, and [`Builder`] puts them together; a program displays as HLO text (`jax_text`). The parts of an evaluation
//! that the machine and the oracle share are here as well: [`DotPlan`], [`movement`], lists, calls and loops over any [`domain`], and the
//! sizes of [`approx`].

pub mod approx;
mod builder;
mod collective_plan;
mod compiled;
pub mod domain;
mod dot_dims;
mod double;
mod index_dims;
mod infer;
mod jax_text;
mod library_function;
mod mark;
pub mod movement;
mod op;
mod opaque;
mod program;
mod scalar_op;
mod setting;
mod tiling;
mod window;

pub use builder::Builder;
pub use collective_plan::{CollectivePlan, Phase, Ring, Steps};
pub use compiled::{Compiled, Fusion};
pub use dot_dims::{DotDims, DotExtents, DotPlan};
pub use index_dims::{GatherDims, ScatterDims};
pub use infer::{ShapeError, infer};
pub use library_function::{Convolution, Decomposition, Fft, FftKind, LibraryFunction, TriangularSystem};
pub use mark::{Mark, Turns};
pub use op::{ApproxTopK, Class, ComputationId, ElementMove, Op, PartialReduce, TRIP_BOUND};
pub use opaque::Opaque;
pub use program::{Computation, Double, Instruction, Program, Shape, ValueId};
pub use scalar_op::{Binary, Compare, CompareOrder, Precision, Unary};
pub use setting::{CollectiveAlgorithm, ResultAccuracy, Setting};
pub use tiling::{KCut, Tiling};
pub use window::{Window, WindowDim};
