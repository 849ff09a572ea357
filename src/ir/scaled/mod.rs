//! Scaled formats: elements of few bits that share a scale by blocks (MXFP8, MXFP6, MXFP4, NVFP4, int8 and int4), the rules that
//! libraries derive scales by, and the elements under a scale.
//!
//! Rules follow the libraries' rounded operations; elements are rounded exactly, from the real quotient. The emulated machine and the
//! oracle take the numbers of a dot from here ([`BlockDot`]), and no arithmetic.

mod affine;
mod block_dot;
mod element_quotient;
mod element_type;
mod exponent;
mod extreme;
mod float_rows;
mod quantize;
mod rule_rows;
mod scale_blocks;
mod scale_rule;
mod scale_type;

pub use block_dot::{BlockDot, BlockDotError};
pub use element_quotient::Quotient;
pub use element_type::{
    E2M1, E2M3, E3M2, E4M3, E5M2, ELEMENTS, Element, INT4, INT8, Rounded, Rounding, UINT4, UINT8, find_element,
};
pub use exponent::Maximum;
pub use extreme::Extreme;
pub use float_rows::{AFFINE_RULES, FLOAT_RULES, INT4_RULES, INT8_RULES};
pub use quantize::{FORMATS, Format, QuantizeError, Quantized, find_format, find_rule, per_tensor_scale, quantize};
pub use rule_rows::{E4M3_ONE_LEVEL_RULES, E4M3_RULES, E8M0_RULES, rules_of};
pub use scale_blocks::Blocks;
pub use scale_rule::{Rule, UnderSmallest};
pub use scale_type::ScaleType;
