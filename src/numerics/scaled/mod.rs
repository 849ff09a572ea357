//! Scaled formats: elements of few bits that share a scale by blocks (MXFP8, MXFP6, MXFP4, NVFP4, int8 and int4), the rules that
//! libraries derive scales by, and the elements under a scale.
//!
//! Rules follow the libraries' rounded operations; elements are rounded exactly, from the real quotient. The emulated machine and the
//! oracle take the numbers of a dot from here ([`BlockDot`]), and no arithmetic.

mod blocks;
mod dot;
mod element;
mod exponent;
mod quantize;
mod quotient;
mod rule;

pub use blocks::Blocks;
pub use dot::{BlockDot, BlockDotError};
pub use element::{E2M1, E2M3, E3M2, E4M3, E5M2, ELEMENTS, Element, INT4, INT8, Rounded, Rounding, find_element};
pub use exponent::Maximum;
pub use quantize::{FORMATS, Format, QuantizeError, Quantized, find_format, find_rule, per_tensor_scale, quantize};
pub use quotient::Quotient;
pub use rule::{
    E4M3_ONE_LEVEL_RULES, E4M3_RULES, E8M0_RULES, Extreme, FLOAT_RULES, INT4_RULES, INT8_RULES, Rule, ScaleType,
    UnderSmallest, rules_of,
};
