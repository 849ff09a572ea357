//! The f32 functions of XLA:CPU, bit for bit: polynomials of its own, the C library's, those that it folds, and YNNPACK's
//! exponential.

mod coded_function;
mod fdlibm;
mod glibc;
mod glibc_power;
mod half_steps;
mod own_functions;
mod polynomials;
mod rsqrt_estimate;
mod ynnpack_exponential;

pub use coded_function::CodedFunction;
pub use own_functions::OwnFunctions;
