//! HLO text: what compilers dump, read into [`crate::ir`].
//!
//! [`parse()`] reads a text into what it says ([`ast`]), which prints as it was read (`print`); [`lower()`] makes a
//! program of it.

mod asked;
pub mod ast;
mod asynchronous;
mod bitcast;
mod collective;
mod collective_algorithm;
mod complex;
mod complex_function;
mod complex_more;
mod complex_row;
mod complex_truth;
mod constant;
mod control;
mod convolution;
mod custom_call;
mod device;
mod emit;
mod error;
mod excess;
mod factorization;
mod fft;
mod fill;
mod layout;
mod library_call;
mod lower;
mod lowered_value;
mod manual;
mod memory_tiles;
mod opcode;
mod operation;
mod origin;
mod parameter_list;
mod parse;
mod print;
mod product;
mod ragged_exchange;
mod ragged_kernel;
mod replica_groups;
mod rng_bit_generator;
pub mod settings;
mod source;
mod surroundings;
mod unless_known;
mod view;
mod wide;
mod window_config;
mod windows;
mod written_shape;

pub use collective_algorithm::PlannedCollective;
pub use error::LowerError;
pub use lower::{Import, lower, lower_with_libraries, lower_with_opaque};
pub use opcode::{
    Asynchronous, Collective, CollectiveDone, ComplexPart, Control, Decomposition, DeviceNumber, Elementwise, Identity,
    Indexed, Movement, Opcode, Outside, Product, Ranking, Reduction, Reinterpretation, Single, Token, Tuples,
};
pub use origin::Origin;
pub use parse::{ParseError, parse};
pub use source::Sources;
pub use unless_known::Unknown;
