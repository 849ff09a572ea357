//! Handlers of opcodes, a file or folder for each family. They use the builder, and none knows which opcode is handled
//! where: that is said in `lower/dispatch.rs`.

pub mod asynchronous;
pub mod batch_norm;
pub mod bitcast;
pub mod collective;
pub mod complex;
pub mod constant;
pub mod control;
pub mod custom_call;
pub mod data_movement;
pub mod elementary;
pub mod elementwise;
pub mod factorization;
pub mod fft;
pub mod gather_scatter;
pub mod identity;
mod mixed_types;
pub mod product;
pub mod random;
pub mod ranking;
pub mod reduction;
pub mod scan;
pub mod tuple;
