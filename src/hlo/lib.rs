//! HLO text: what compilers dump, read into [`crate::ir`].
//!
//! [`parse()`] reads a text into what it says ([`ast`]), which prints as it was read (`print`); [`lower()`] makes a
//! program of it. Lowering has three layers: the builder (`builder`) adds operations and knows no opcode's meaning, the
//! handlers (`ops`) lower a family of opcodes each, and the dispatch (`lower/dispatch.rs`) finds the handler of an
//! [`Opcode`].

#![deny(missing_docs)]

pub mod ast;
mod builder;
mod devices;
mod error;
mod exchanged_form;
mod fields;
mod layout;
mod lower;
mod opcode;
mod ops;
mod origin;
mod parse;
mod print;
pub mod settings;
mod source;
mod view;
mod written_shape;

use ulpgate_ir::{analysis, budget, file, ir, name, num, tensor};

pub use devices::planned_collective::PlannedCollective;
pub use error::{LowerError, Unknown};
pub use exchanged_form::exchanged_form;
pub use lower::{Import, lower, lower_with_libraries, lower_with_opaque};
pub use opcode::{
    Asynchronous, BatchNorm, Collective, CollectiveDone, ComplexPart, Control, Decomposition, DeviceNumber,
    Elementwise, Identity, Indexed, Movement, Opcode, Outside, Product, Ranking, Reduction, Reinterpretation, Single,
    Token, Tuples,
};
pub use origin::Origin;
pub use parse::{ParseError, parse};
pub use source::Sources;

/// A fingerprint of this crate's sources, 16 hex digits: builds of one fingerprint compute the same.
pub const SOURCES: &str = env!("ULPGATE_SOURCES");
