//! A difference between a recorded result and the nearest mode's, and what can be asked of it.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use crate::ir::movement::index_text;
use crate::num::Format;
use crate::subject::evaluate;
use crate::tensor::Tensor;

use super::Ground;
use super::members::{Member, work};

/// The comparison of one result with the members.
pub(super) struct Compared<'a> {
    /// The recorded numbers.
    pub observed: &'a [f64],
    /// The scale of an honest difference at each element.
    pub scale: &'a [f64],
    /// The result's dims.
    pub dims: &'a [usize],
}

impl Compared<'_> {
    /// Root mean square of the scaled difference of two results; non-finite elements are left out.
    pub fn distance(&self, a: &[f64], b: &[f64]) -> f64 {
        let (mut squares, mut count) = (0.0, 0usize);
        for ((x, y), scale) in a.iter().zip(b).zip(self.scale) {
            let z = (x - y) / scale;
            if z.is_finite() {
                squares += z * z;
                count += 1;
            }
        }
        if count == 0 { 0.0 } else { (squares / count as f64).sqrt() }
    }

    pub fn largest(&self, a: &[f64], b: &[f64]) -> f64 {
        let each = a.iter().zip(b).zip(self.scale).map(|((x, y), scale)| ((x - y) / scale).abs());
        each.filter(|z| z.is_finite()).fold(0.0, f64::max)
    }
}

/// Each kind of [`Pattern`] with its meaning, for `ulpgate explain`: first the causes, then the kinds that only say where a
/// difference is.
pub const FAULT_KINDS: &[(&str, &str)] = &[
    ("factor", "All of a result, or a row of it, has one factor, found by least squares."),
    ("argument-factor", "The result is that of an argument with one factor, such as a scale applied twice."),
    (
        "constant",
        "The result is that of the program with another number in the place of one of its constants, such as an epsilon.",
    ),
    ("divisor", "The result is divided by another number, such as a mean that counts padding."),
    ("dropped", "Terms of a sum are missing: of a dot a stretch of K."),
    ("doubled", "Terms of a sum are added twice."),
    ("scaled", "Terms of a sum have a factor, as where a scale of an earlier block was kept."),
    ("stale-scale", "Blocks of a scaled format are read with the scale of another block."),
    (
        "left-out",
        "The step that is named was not done: its result is its operand's, as a bias or a cap that was forgotten.",
    ),
    ("twice", "The step that is named was done twice, such as a second softmax."),
    ("one-more", "Integers are one more or less than the program's, as with a wrong zero point."),
    ("negated", "A value has the other sign."),
    ("formula", "The result is that of a near formula, such as GELU by tanh for GELU by erf."),
    ("function", "The result is a function of the right one, such as its square or its logarithm."),
    ("softmax-axis", "A softmax or a norm is over another dim."),
    ("transposed", "An argument or the result is read with two dims exchanged."),
    ("permuted", "Values are read at other places of a dim: moved by one, backwards, or with halves exchanged."),
    ("exchanged", "Two arguments, gates, heads or experts stand in each other's place."),
    ("other-row", "A row of the result is that of another row's inputs, such as a stale row of a cache."),
    ("mask", "A mask hides or shows other places than the program's."),
    ("fill", "Places that are hidden or padded hold another number than the program's."),
    ("unwritten", "Lines of the result were never written."),
    ("rounded", "A value was rounded to a narrower type on the way."),
    ("narrow-sum", "A sum was kept in a narrower type than f32."),
    ("narrow-type", "All numbers of the result are those of a narrower type."),
    ("toward-zero", "Values were rounded toward zero, not to nearest."),
    ("operands", "Operands of matrix products were rounded, as to the eleven bits of TF32."),
    ("gpu-unit", "Matrix products have the sums of a GPU's unit, of few bits and many products at once."),
    ("integer-range", "Integers wrapped or saturated in fewer bits."),
    ("saturated", "Numbers stay at a largest or least one."),
    ("rows", "Where the difference is: these rows of the last dim."),
    ("columns", "Where the difference is: these columns."),
    ("element", "Where the difference is: one element."),
    ("elements", "Where the difference is: elements by their index."),
    ("everywhere", "Where the difference is: in all rows and columns, or in as many as are told."),
];

/// A fault that explains a difference, or its places. Its JSON has `is_place` beside the fields, as [`Pattern::is_place`] says it.
#[derive(Clone, Debug, PartialEq)]
pub struct Pattern {
    /// Its kind, one of [`FAULT_KINDS`].
    pub kind: &'static str,
    /// The fault in words, with its places.
    pub says: String,
    /// Share of the difference that it explains, by squares.
    pub explained: f64,
    /// Rows (of the last dim), columns, elements or terms of K that it is about, up to 32.
    pub places: Vec<usize>,
    /// The factor, where the fault has one.
    pub factor: Option<f64>,
}

impl Pattern {
    /// A fault without places and without a factor.
    pub(super) fn new(kind: &'static str, says: String, explained: f64) -> Pattern {
        Pattern { kind, says, explained, places: Vec::new(), factor: None }
    }

    /// Whether it only says where the difference is, and explains nothing.
    pub fn is_place(&self) -> bool {
        ["rows", "columns", "element", "elements", "everywhere"].contains(&self.kind)
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut fields = to.serialize_struct("Pattern", 6)?;
        fields.serialize_field("kind", self.kind)?;
        fields.serialize_field("is_place", &self.is_place())?;
        fields.serialize_field("says", &self.says)?;
        fields.serialize_field("explained", &self.explained)?;
        fields.serialize_field("places", &self.places)?;
        fields.serialize_field("factor", &self.factor)?;
        fields.end()
    }
}

/// A difference, and all that can be asked about it.
pub(super) struct Evidence<'a> {
    pub ground: &'a Ground<'a>,
    pub output: usize,
    /// The nearest mode.
    pub member: &'a Member,
    /// Its results.
    pub values: &'a [f64],
    pub compared: &'a Compared<'a>,
    /// Elements that stand out, or that are finite where the nearest mode's are not, or the reverse; sorted.
    pub apart: &'a [usize],
    /// The format of the result.
    pub format: &'static Format,
}

/// Share of the squares that a fault must explain.
pub(super) const EXPLAINS: f64 = 0.8;

/// The least distance of a factor from 1 that is looked for: modes that truncate operands shrink results by less.
pub(super) const LEAST_FACTOR: f64 = 4e-4;

/// Distance of the finite elements, beside the nearest mode's own, within which they are the same but for roundings.
const ROUNDINGS: f64 = 4.0;

/// Operations that the search may take.
const MOST_WORK: u128 = 20_000_000_000;

/// Evaluations that the search may take.
const MOST_RUNS: usize = 600;

impl Evidence<'_> {
    /// The scaled differences from the nearest mode; elements that are not finite are 0.
    pub fn residual(&self) -> Vec<f64> {
        let of = |((x, y), scale): ((&f64, &f64), &f64)| (x - y) / scale;
        let each = self.compared.observed.iter().zip(self.values).zip(self.compared.scale).map(of);
        each.map(|z| if z.is_finite() { z } else { 0.0 }).collect()
    }

    /// The extent of the last dim.
    pub fn columns(&self) -> usize {
        self.compared.dims.last().copied().unwrap_or(1).max(1)
    }

    /// Rows of the last dim.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns()
    }

    /// The place of a row or column: its number where the result has two dims, else the index, such as `[1,3,:]` or `[:,:,7]`.
    pub fn line_text(&self, is_row: bool, line: usize) -> String {
        let Some(outer) = self.compared.dims.len().checked_sub(1).filter(|outer| *outer > 1) else {
            return line.to_string();
        };
        if !is_row {
            return format!("[{}{line}]", ":,".repeat(outer));
        }
        let index = index_text(&self.compared.dims[..outer], line);
        format!("{},:]", index.trim_end_matches(']'))
    }

    /// One of these rows.
    pub fn row(&self, values: &[f64], row: usize) -> Vec<f64> {
        values[row * self.columns()..(row + 1) * self.columns()].to_vec()
    }

    /// Share of the squares of the residual that goes if `values` stand in place of the nearest mode's.
    pub fn share_of_residual(&self, values: &[f64]) -> f64 {
        // A distance leaves out what is not finite: an explanation may not be so where the recorded numbers are finite.
        let is_lost = |(value, (observed, own)): (&f64, (&f64, &f64))| {
            !value.is_finite() && observed.is_finite() && own.is_finite()
        };
        if values.iter().zip(self.compared.observed.iter().zip(self.values)).any(is_lost) {
            return 0.0;
        }
        let before = self.compared.distance(self.compared.observed, self.values);
        let after = self.compared.distance(self.compared.observed, values);
        if before == 0.0 { 0.0 } else { 1.0 - (after / before).powi(2) }
    }

    /// Share of the elements that stand out to which `values` are nearer by half than the nearest mode's are; 1 where none stands out.
    /// To an infinity or NaN nothing is near but itself.
    pub fn share_of_elements(&self, values: &[f64]) -> f64 {
        let observed = self.compared.observed;
        let apart = |x: f64, y: f64| if x == y || (x.is_nan() && y.is_nan()) { 0.0 } else { (x - y).abs() };
        let is_nearer = |at: &&usize| {
            let (own, other) = (apart(observed[**at], self.values[**at]), apart(observed[**at], values[**at]));
            other.is_finite() && (own.is_nan() || other * 2.0 <= own)
        };
        if self.apart.is_empty() {
            return 1.0;
        }
        self.apart.iter().filter(is_nearer).count() as f64 / self.apart.len() as f64
    }

    /// Share of the difference that `values` explain: of its squares, which a few large elements may be, and of the elements that
    /// stand out, whichever is less.
    pub fn least_share(&self, values: &[f64]) -> f64 {
        if self.is_all_overflow() && self.is_finite_alike(values) {
            return self.share_of_elements(values);
        }
        // A few large elements can explain the squares, and many small ones the count: a fault must explain both.
        self.share_of_residual(values).min(self.share_of_elements(values))
    }

    /// Whether what stands out is nothing but infinities and NaN of the recording: then the squares are those of roundings.
    fn is_all_overflow(&self) -> bool {
        !self.apart.is_empty() && self.apart.iter().all(|at| !self.compared.observed[*at].is_finite())
    }

    /// Whether `values` are as near to the finite rest as the nearest mode's are, but for roundings: within what is permitted at least.
    fn is_finite_alike(&self, values: &[f64]) -> bool {
        let observed = self.compared.observed;
        let is_kept = |at: usize| !observed[at].is_finite() || values[at].is_finite();
        let own = self.compared.distance(observed, self.values);
        (0..values.len()).all(is_kept) && self.compared.distance(observed, values) <= (ROUNDINGS * own).max(1.0)
    }
}

/// The sum of products.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Rows that stand out, by the share of the residual that is theirs.
pub(super) fn bad_rows(evidence: &Evidence, residual: &[f64]) -> Vec<usize> {
    let columns = evidence.columns();
    let squares: Vec<f64> = residual.chunks(columns).map(|row| dot(row, row)).collect();
    let mut sorted = squares.clone();
    sorted.sort_by(f64::total_cmp);
    let (usual, largest) = (sorted[sorted.len() / 2], sorted.last().copied().unwrap_or(0.0));
    // A bad row stands out from the usual one and counts beside the worst; rounding alone does neither.
    let limit = (100.0 * usual).max(1e-3 * largest);
    (0..squares.len()).filter(|row| squares[*row] > limit).collect()
}

/// Runs programs in the nearest mode, within a budget.
pub(super) struct Runner<'a> {
    pub evidence: &'a Evidence<'a>,
    pub left: usize,
}

impl Runner<'_> {
    /// The result in question; `None` beyond the budget, or where the machine does not support it.
    pub fn run(&mut self, program: &crate::ir::Program, arguments: &[Tensor]) -> Option<Vec<f64>> {
        self.left = self.left.checked_sub(1)?;
        let results = evaluate(program, &self.evidence.member.mode, arguments).ok()?;
        Some(results.get(self.evidence.output)?.data().to_f64s())
    }
}

/// Evaluations that the program's size leaves.
pub(super) fn budget(evidence: &Evidence) -> usize {
    let cost = work(evidence.ground.program).max(1);
    usize::try_from(MOST_WORK / cost).unwrap_or(MOST_RUNS).min(MOST_RUNS)
}
