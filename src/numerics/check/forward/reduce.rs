//! Sums, maxima and minima of rows.

use crate::machine::SumPromise;
use crate::tensor::DType;

use super::element::{Element, OWN};
use super::{Refusal, gamma};

/// The sums of rows of `width` elements of a type, from an init.
pub fn sums(
    rows: &[Element],
    width: usize,
    init: Element,
    dtype: DType,
    promise: &SumPromise,
) -> Result<Vec<Element>, Refusal> {
    let terms = width + promise.inits;
    let gamma = gamma(promise.chain, terms as u64, promise.format.unit_roundoff())?;
    let sum = |row: &[Element]| sum(row, init, promise, gamma);
    let stored = |e: Element| match dtype.format() {
        Some(format) if promise.rounded_last => e.round(format),
        _ => e,
    };
    Ok(in_rows(rows, width).map(sum).map(stored).collect())
}

/// Whether a sum from this init begins with a zero.
pub fn is_zero(init: &Element) -> bool {
    init.is_exact() && init.v == 0.0
}

/// Higham (2002), section 4.2: each term meets at most `chain` roundings.
pub(super) fn sum(row: &[Element], init: Element, promise: &SumPromise, gamma: [f64; 2]) -> Element {
    let all = || row.iter().chain(std::iter::once(&init));
    let v: f64 = all().map(|e| e.v).sum();
    if !v.is_finite() {
        // An infinity is certain where no finite term can have overflowed on the machine.
        let sure = all().all(|e| if e.v.is_finite() { e.machine.iter().all(|m| m.is_finite()) } else { e.is_exact() });
        return if sure && all().any(|e| !e.v.is_finite()) { Element::exact(v) } else { Element::unknown(v) };
    }
    // The truth has the init once, the machine as often as it likes.
    let inits = promise.inits as f64;
    let magnitude = row.iter().map(|e| e.v.abs()).sum::<f64>() + inits * init.v.abs();
    let zero = |e: &Element| e.v == 0.0 && e.is_exact();
    let nonzero = row.iter().filter(|e| !zero(e)).count() as f64 + if zero(&init) { 0.0 } else { inits };
    let machine = [0, 1].map(|kind| {
        let terms = row.iter().map(|e| e.machine[kind]).sum::<f64>() + inits * init.machine[kind];
        // Each further init is wrong by all of itself, before any rounding.
        let again = (inits - 1.0).max(0.0) * init.v.abs();
        terms + again + gamma[kind] * (magnitude + terms) + (1.0 + gamma[kind]) * nonzero * promise.lost
    });
    let own = all().map(|e| e.own).sum::<f64>();
    // This f64 sum rounds as well: its own error is kept apart from the machine's, and is bounded by the same
    // magnitude.
    let additions = row.len() as f64 + 1.0;
    Element { v, machine, own: own + additions * OWN * (magnitude + init.v.abs() + own) }
}

/// The largest (or smallest) elements of rows of `width`, with an init among them; `floor` is the magnitude below which
/// the unit takes them for zeros.
pub fn extremes(rows: &[Element], width: usize, init: Element, largest: bool, floor: f64) -> Vec<Element> {
    let extreme = |a: Element, b: &Element| a.extreme(b.flush(floor), largest);
    in_rows(rows, width).map(|row| row.iter().fold(init.flush(floor), extreme)).collect()
}

fn in_rows(rows: &[Element], width: usize) -> impl Iterator<Item = &[Element]> {
    rows.chunks_exact(width.max(1))
}
