//! Special numbers of complex functions over the real numbers: as C17 annex G has them, where the compiler's formulas give others (FACTS 3.6).
//!
//! A machine computes its compiler's formula with all that it does to infinities, NaN and zeros. Truth is asked of the function.
//! So the two part here, and nowhere else: a predicate that is false on every machine is true over the real numbers.

use crate::builder::Emitter;
use crate::builder::array_operation::{binary, select, truth_or_formula};
use crate::builder::fill::number;
use crate::error::LowerError;
use crate::ir::{Binary, ValueId};

use super::parts::Parts;
use super::special::{equals, is_infinite, is_special};

type Result<T> = std::result::Result<T, LowerError>;

/// Whether one of the parts is infinite.
fn is_endless(e: &mut Emitter, [a, b]: Parts) -> Result<ValueId> {
    let (a, b) = (is_infinite(e, a)?, is_infinite(e, b)?);
    binary(e, Binary::Or, a, b)
}

/// A magnitude (G.6.4.1: that of hypot): infinite where a part is, whatever the other one.
pub fn abs(e: &mut Emitter, z: Parts, formula: ValueId) -> Result<ValueId> {
    let (is_endless, infinity) = (is_endless(e, z)?, number(e, formula, f64::INFINITY)?);
    let truth = select(e, is_endless, infinity, formula)?;
    truth_or_formula(e, truth, formula)
}

/// The real part of a logarithm (G.6.3.2): infinite where a part is.
pub fn log(e: &mut Emitter, z: Parts, [re, im]: Parts) -> Result<Parts> {
    Ok([abs(e, z, re)?, im])
}

/// An exponential (G.6.3.1): a real number keeps its zero; at a real part of -inf nothing is left, and at inf what has no direction is
/// infinite. Signs that the annex leaves open are positive.
pub fn exponential(e: &mut Emitter, [a, b]: Parts, formula: Parts) -> Result<Parts> {
    let zero = number(e, a, 0.0)?;
    let (is_real, has_no_sine) = (equals(e, b, 0.0)?, is_special(e, b)?);
    let [is_lost, is_open] = [f64::NEG_INFINITY, f64::INFINITY].map(|end| {
        let is_end = equals(e, a, end)?;
        binary(e, Binary::And, is_end, has_no_sine)
    });
    let is_lost = is_lost?;
    let re = select(e, is_open?, a, formula[0])?;
    let re = select(e, is_lost, zero, re)?;
    let im = select(e, is_lost, zero, formula[1])?;
    let im = select(e, is_real, b, im)?;
    Ok([truth_or_formula(e, re, formula[0])?, truth_or_formula(e, im, formula[1])?])
}

/// `1 / (1 + e^-z)`: 1 and 0 at the ends, also beside what has no direction; a real number keeps its zero.
pub fn logistic(e: &mut Emitter, [a, b]: Parts, formula: Parts) -> Result<Parts> {
    let (zero, one) = (number(e, a, 0.0)?, number(e, a, 1.0)?);
    let (is_real, has_no_sine) = (equals(e, b, 0.0)?, is_special(e, b)?);
    let mut truth = formula;
    for (end, limit) in [(f64::NEG_INFINITY, zero), (f64::INFINITY, one)] {
        let is_end = equals(e, a, end)?;
        let is_end = binary(e, Binary::And, is_end, has_no_sine)?;
        truth = [select(e, is_end, limit, truth[0])?, select(e, is_end, zero, truth[1])?];
    }
    truth[1] = select(e, is_real, b, truth[1])?;
    Ok([truth_or_formula(e, truth[0], formula[0])?, truth_or_formula(e, truth[1], formula[1])?])
}
