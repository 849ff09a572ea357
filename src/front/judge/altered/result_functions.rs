//! A function of the whole result: a rounding to a narrow type or toward zero, ends at which its numbers stay, a lost sign.

use crate::num::{BF16, Direction, F16, F32, round_f64};
use crate::oracle::TruthTensor;

use super::super::evidence::{Evidence, Pattern};
use super::SETTLED;

/// Elements of which nothing that only a fit shows is said.
const FEW: usize = 8;

/// Elements that stay at an end, at least.
const STAY: usize = 3;

/// The function of the result that explains it, if there is one.
pub(in super::super) fn result_functions(evidence: &Evidence) -> Option<Pattern> {
    if evidence.compared.observed.len() <= FEW {
        return None;
    }
    narrowed(evidence).or_else(|| truncated(evidence)).or_else(|| clipped(evidence)).or_else(|| unsigned(evidence))
}

/// A result all of whose numbers are those of a narrower type, where that type's rounding of the nearest mode's explains them.
fn narrowed(evidence: &Evidence) -> Option<Pattern> {
    let observed = evidence.compared.observed;
    if evidence.format.fraction_bits <= F16.fraction_bits {
        return None;
    }
    [&BF16, &F16].into_iter().find_map(|format| {
        let to = |value: &f64| round_f64(format, *value, Direction::NearestEven);
        let is_of_type = observed.iter().all(|value| value.is_nan() || to(value) == *value);
        let values: Vec<f64> = evidence.values.iter().map(to).collect();
        let changed = values.iter().zip(evidence.values).filter(|(rounded, value)| rounded != value).count();
        let equal = values.iter().zip(observed).filter(|(rounded, value)| rounded == value).count();
        // Honest results round another way near half of a step.
        let is_explained = changed * 2 > values.len() && equal * 10 > values.len() * 9;
        let says = format!("all numbers are those of {}: the result was rounded to it", format.name);
        (is_of_type && is_explained).then(|| Pattern::new("rounded", says, equal as f64 / values.len() as f64))
    })
}

/// A narrow result that is the truth rounded toward zero, as where the low bits of an f32 are cut off.
fn truncated(evidence: &Evidence) -> Option<Pattern> {
    let Some(TruthTensor::Float(truth)) = evidence.ground.truth.as_ref().and_then(|all| all.get(evidence.output))
    else {
        return None;
    };
    if evidence.format.fraction_bits >= F32.fraction_bits {
        return None;
    }
    let observed = evidence.compared.observed;
    let of = |direction: Direction| -> Vec<f64> {
        truth.rounded.iter().map(|value| round_f64(evidence.format, *value, direction)).collect()
    };
    let (cut, nearest) = (of(Direction::TowardZero), of(Direction::NearestEven));
    // Where the two differ: a rounding on the way moves some of either kind.
    let told: Vec<usize> = (0..cut.len()).filter(|at| cut[*at] != nearest[*at] && observed[*at].is_finite()).collect();
    let is_cut = told.iter().filter(|at| observed[**at] == cut[**at]).count();
    let share = is_cut as f64 / told.len().max(1) as f64;
    let says = format!(
        "the result is rounded toward zero: {is_cut} of the {} elements are so that rounding to nearest would round up",
        told.len()
    );
    (told.len() > FEW && share > MOSTLY).then(|| Pattern::new("toward-zero", says, share))
}

/// Share of the elements that tell a rounding which it must explain: of a rounding on the way it explains half.
const MOSTLY: f64 = 0.8;

/// A result whose numbers stay at a largest or least number, or at both.
fn clipped(evidence: &Evidence) -> Option<Pattern> {
    let observed = evidence.compared.observed;
    if observed.iter().any(|value| value.is_nan()) {
        return None;
    }
    let low = observed.iter().copied().fold(f64::INFINITY, f64::min);
    let high = observed.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let beyond_low = evidence.values.iter().filter(|value| **value < low).count();
    let beyond_high = evidence.values.iter().filter(|value| **value > high).count();
    let at = |end: f64| observed.iter().filter(|value| **value == end).count();
    let is_end = |end: f64, beyond: usize| beyond >= STAY && at(end) >= STAY;
    let (low_end, high_end) = (is_end(low, beyond_low), is_end(high, beyond_high));
    if !low_end && !high_end {
        return None;
    }
    let stay = |value: &f64| {
        let value = if high_end { value.min(high) } else { *value };
        if low_end { value.max(low) } else { value }
    };
    let values: Vec<f64> = evidence.values.iter().map(stay).collect();
    let explained = evidence.least_share(&values);
    let says = match (low_end, high_end) {
        (true, true) => format!("the result stays at {low:e} and at {high:e}: {} elements", at(low) + at(high)),
        (true, false) => format!("the result stays at {low:e} where it should be less: {} elements", at(low)),
        _ => format!("the result stays at {high:e} where it should be more: {} elements", at(high)),
    };
    (explained > SETTLED).then(|| Pattern::new("saturated", says, explained))
}

/// A result that has lost its signs.
fn unsigned(evidence: &Evidence) -> Option<Pattern> {
    let values: Vec<f64> = evidence.values.iter().map(|value| value.abs()).collect();
    let explained = evidence.least_share(&values);
    let is_lost = explained > SETTLED && evidence.compared.observed.iter().all(|value| *value >= 0.0);
    is_lost.then(|| Pattern::new("left-out", "the sign is left out: all are absolute values".to_string(), explained))
}
