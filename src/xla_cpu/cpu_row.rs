//! The chip that XLA:CPU computes on, as a row.

use crate::machine::vector::{Divide, ErrorModel, ScanOrder, StepRounding, SumOrder};
use crate::machine::{CPU, Chip, Named};

use super::cpu_backend::XlaCpu;
use super::function::OwnFunctions;

/// The processor with XLA:CPU's code and libraries.
pub static XLA_CPU: Chip = Chip {
    name: "xla-cpu",
    doc: "XLA's CPU backend: matmul precision ignored (FACTS 2.2), flush to zero (3.4), sums in windows of 32 and scans \
          in blocks of 16 (3.2), bf16 sums rounded at every addition (1.3), division by a broadcast or a constant as \
          multiplication by its reciprocal but in compiled fusions (3.5), f32 products inside a fusion added before \
          they are rounded, f32 dots one chain of fused multiply-adds or in lanes (3.2), unstable sorts as std::sort leaves \
          them (9); its polynomials for exp, expm1, log, log1p, tanh, logistic and erf and glibc's sine, cosine, power, \
          tan, cbrt and atan2 (3.5), in fusions left to YNNPACK that library's sums, dots and exponential, with nothing \
          rounded to bf16 inside (3.2, 10.3): bit for bit as measured on jaxlib 0.10.2 on x86-64 with \
          AVX-512; rsqrt refined from the estimate of an AMD EPYC (Zen 4), which other processors do not share.",
    flush: true,
    divide: Divide::BroadcastByReciprocal,
    functions: ErrorModel::Library(Named(&OwnFunctions)),
    narrow: StepRounding::Bf16,
    sum: SumOrder::Tree32,
    backend: Some(&XlaCpu),
    scan: ScanOrder::Blocked(16),
    ..CPU
};

/// The arithmetic that a mode's text names, for tests.
#[cfg(test)]
pub fn arithmetic(mode: &str) -> crate::machine::Arithmetic {
    static CHIPS: crate::machine::ChipRows = crate::machine::ChipRows { rows: &[&XLA_CPU], left_out: &[] };
    crate::machine::Arithmetic::read(mode, &CHIPS).unwrap()
}

/// The unit of its dots, for tests.
#[cfg(test)]
pub fn matrix_unit() -> crate::machine::mxu::Unit {
    arithmetic("xla-cpu/default/off").matrix_unit()
}
