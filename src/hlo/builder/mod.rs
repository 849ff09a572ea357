//! The builder of a program: adds operations to computations, and knows no opcode's meaning. Handlers (`ops`) use it, and
//! it calls them through [`Handlers`].
//!
//! [`Lowering`] is what all computations of a module share, [`Body`] a computation in the making, [`Emitter`] one
//! instruction of the file in one.

pub mod array_operation;
mod body;
mod call_sites;
mod computation;
mod conversion;
mod emitter;
mod facts;
pub mod fill;
mod first_double;
pub mod library_call;
mod lowered_value;
mod lowering;
mod parameter_list;
mod surroundings;
mod window_config;

pub use body::Body;
pub use computation::inline;
pub use emitter::{Emitter, Handlers};
pub use facts::unless_known;
pub use lowered_value::{Bytes, Value};
pub use lowering::{Given, Lowering};
pub use surroundings::Scope;
