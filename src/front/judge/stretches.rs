//! Stretches of the terms of a sum that are missing, doubled or have a factor.

use crate::ir::movement::row_major;
use crate::name::are;
use crate::tensor::{DType, Data, Tensor};

use super::altered::fit_number;
use super::evidence::{Evidence, Pattern, Runner, budget, dot};
use super::marked::{Sum, sums, with_mask};

/// A stretch of terms of a sum that is missing, doubled or has a factor.
pub(super) fn stretch(evidence: &Evidence) -> Option<Pattern> {
    let program = evidence.ground.program;
    let mut runner = Runner { evidence, left: budget(evidence) };
    let mut best: Option<Pattern> = None;
    for sum in sums(program) {
        let found = stretch_of(&mut runner, &sum);
        if let Some(found) = found.filter(|found| best.as_ref().is_none_or(|best| found.explained > best.explained)) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|best| best.explained > 0.95) {
            break;
        }
    }
    best
}

#[expect(clippy::too_many_lines, reason = "the steps of one search, in order")]
fn stretch_of(runner: &mut Runner, sum: &Sum) -> Option<Pattern> {
    let evidence = runner.evidence;
    let program = with_mask(evidence.ground.program, sum);
    let number = evidence.ground.arguments.len();
    let dtype = program.entry().parameter_shapes().get(number)?.dtype()?;
    let mut with = |lo: usize, hi: usize, factor: f64| -> Option<Vec<f64>> {
        let mut arguments = evidence.ground.arguments.to_vec();
        arguments.push(mask(sum, dtype, lo, hi, factor)?);
        runner.run(&program, &arguments)
    };
    let base = with(0, 0, 1.0)?;
    // Of an element whose own scale is tiny some factor of any stretch explains all: it counts as a usual one does.
    let mut sorted = evidence.compared.scale.to_vec();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(1.0);
    let scale: Vec<f64> = evidence.compared.scale.iter().map(|scale| scale.max(usual)).collect();
    let residual: Vec<f64> =
        evidence.residual().iter().zip(evidence.compared.scale).zip(&scale).map(|((r, own), s)| r * own / s).collect();
    // What goes if a stretch is dropped, scaled; and how much of the residual it is.
    let slope = |without: &[f64]| -> (f64, f64) {
        let template: Vec<f64> = without
            .iter()
            .zip(&base)
            .zip(&scale)
            .map(|((w, b), s)| (w - b) / s)
            .map(|z| if z.is_finite() { z } else { 0.0 })
            .collect();
        let size = dot(&template, &template);
        if size == 0.0 {
            (0.0, 0.0)
        } else {
            (dot(&residual, &template) / size, dot(&residual, &template).powi(2) / size)
        }
    };
    let (mut lo, mut hi) = (0, sum.terms);
    let mut widest = (0.0, lo, hi);
    while hi - lo > 1 {
        let pieces = (hi - lo).min(16);
        let cut = |piece: usize| lo + (hi - lo) * piece / pieces;
        let mut best = (0.0, lo, hi);
        for piece in 0..pieces {
            let (_, explained) = slope(&with(cut(piece), cut(piece + 1), 0.0)?);
            if explained > best.0 {
                best = (explained, cut(piece), cut(piece + 1));
            }
        }
        (lo, hi) = (best.1, best.2);
        if best.0 == 0.0 {
            return None;
        }
        if best.0 > widest.0 {
            widest = best;
        }
    }
    // A stretch grows to both sides, and shrinks again, while it explains more at some factor: from the best single term on and
    // from the best piece on, as terms that share a mean are all alike.
    let total = dot(&residual, &residual);
    let mut grown = |(mut lo, mut hi): (usize, usize), mut step: usize| -> Option<(f64, f64, usize, usize)> {
        let (mut alpha, mut explained) = slope(&with(lo, hi, 0.0)?);
        while step > 0 {
            let mut tries = vec![(lo.saturating_sub(step), hi), (lo, (hi + step).min(sum.terms))];
            if hi - lo > step {
                tries.extend([(lo + step, hi), (lo, hi - step)]);
            }
            let mut is_better = false;
            for (from, to) in tries {
                if (from, to) == (lo, hi) {
                    continue;
                }
                let (factor, share) = slope(&with(from, to, 0.0)?);
                if share > explained + 1e-9 * total {
                    (lo, hi, alpha, explained, is_better) = (from, to, factor, share, true);
                    break;
                }
            }
            if !is_better {
                step /= 2;
            }
        }
        Some((explained, alpha, lo, hi))
    };
    let of_term = grown((lo, hi), (sum.terms / 4).max(1))?;
    let of_piece = match (widest.1, widest.2) {
        piece if piece == (lo, hi) => None,
        piece => grown(piece, ((piece.1 - piece.0) / 2).max(1)),
    };
    let (_, alpha, lo, hi) = of_piece.filter(|piece| piece.0 > of_term.0).unwrap_or(of_term);
    let shifted = |values: Vec<f64>| -> Vec<f64> {
        values.iter().zip(&base).zip(evidence.values).map(|((w, b), y)| y + (w - b)).collect()
    };
    // The sum may be far from linear in its terms further on: what the fault itself gives counts.
    let mut fits = Vec::new();
    for (kind, factor) in [("dropped", 0.0), ("doubled", 2.0), ("scaled", 1.0 - alpha)] {
        fits.push((kind, factor, evidence.least_share(&shifted(with(lo, hi, factor)?))));
    }
    // The slope at the mode's own values is no factor where the rest of the program is curved, as a softmax is. A part of the terms
    // with a number of its own explains something of anything, so that only all of them have theirs fitted.
    let mut at_factor = |factor: f64| with(lo, hi, factor).map(&shifted);
    if (lo, hi) == (0, sum.terms)
        && let Some((factor, values)) = fit_number(evidence, 1.0 - alpha, &mut at_factor)
    {
        fits.push(("scaled", factor, evidence.least_share(&values)));
    }
    let best = fits.iter().max_by(|a, b| a.2.total_cmp(&b.2)).copied()?;
    // A whole number of times is the simpler fault, where it explains as much.
    let plain = fits[..2].iter().find(|fit| fit.2 > best.2 - 0.02).copied();
    let (kind, factor, explained) = plain.unwrap_or(best);
    // A sum without terms is a value that is left out, and other faults may leave zeros too.
    if (kind, lo, hi) == ("dropped", 0, sum.terms) {
        return None;
    }
    let other = (kind == "scaled").then_some(factor);
    let name = &evidence.ground.program.entry().instructions[sum.value].name;
    let is_one = hi - lo == 1;
    let which = match is_one {
        true => format!("term {lo} of the {} of {name}", sum.terms),
        false if (lo, hi) == (0, sum.terms) => format!("all {} terms of {name}", sum.terms),
        false => format!("terms {lo} to {} of the {} of {name}", hi - 1, sum.terms),
    };
    // Of all terms there is no place to name.
    let places: Vec<usize> = if (lo, hi) == (0, sum.terms) { Vec::new() } else { (lo..hi).take(32).collect() };
    let says = match (kind, other) {
        ("scaled", Some(factor)) => {
            let of = if places.is_empty() { "another scale" } else { "a stale scale" };
            format!("{which} {} a factor of {factor:.4}, as of {of}", if is_one { "has" } else { "have" })
        }
        (kind, _) => format!("{which} {} {kind}", are(hi - lo)),
    };
    Some(Pattern { kind, says, explained, places, factor: other })
}

/// Ones, but for the terms `lo..hi` of a sum.
fn mask(sum: &Sum, dtype: DType, lo: usize, hi: usize, factor: f64) -> Option<Tensor> {
    let count: usize = sum.dims.iter().product();
    let strides: Vec<usize> = row_major(&sum.dims).into_iter().map(isize::unsigned_abs).collect();
    let term =
        |at: usize| sum.along.iter().fold(0, |term, dim| term * sum.dims[*dim] + at / strides[*dim] % sum.dims[*dim]);
    let values: Vec<f64> = (0..count).map(|at| if (lo..hi).contains(&term(at)) { factor } else { 1.0 }).collect();
    Some(Tensor::new(&sum.dims, Data::from_f64s(dtype, &values)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Terms of a sum over several dims are counted in the order of these, whatever dims stand between them.
    #[test]
    fn terms_are_counted_in_the_order_of_their_dims() {
        let marked = |along: &[usize], lo: usize, hi: usize| {
            let sum = Sum { value: 0, along: along.to_vec(), dims: vec![2, 2, 3], terms: 6 };
            let mask = mask(&sum, DType::F32, lo, hi, 0.0).unwrap().data().to_f64s();
            (0..12).filter(|at| mask[*at] == 0.0).collect::<Vec<usize>>()
        };
        assert_eq!(marked(&[0, 2], 1, 3), [1, 2, 4, 5]);
        assert_eq!(marked(&[0, 2], 3, 4), [6, 9]);
        assert_eq!(marked(&[1, 2], 3, 5), [3, 4, 9, 10]);
        assert_eq!(marked(&[1], 1, 2), [3, 4, 5, 9, 10, 11]);
    }
}
