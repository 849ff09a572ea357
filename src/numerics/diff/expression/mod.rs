//! Expressions over the parameters of two programs: equal arithmetic has one number.
//!
//! [`Expressions`] holds them; each is kept in a canonical form (`canonical`), with its sign outside (`sign`), and products
//! with numbers are one (`number_scale`).

mod canonical;
mod expressions;
mod number_scale;
mod sign;

pub use expressions::{Edge, ExpressionHead, ExpressionId, Expressions, ReductionOperation};
pub use number_scale::{NumberBits, NumberScale, is_nearly_one};
