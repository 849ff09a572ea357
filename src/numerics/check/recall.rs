//! Whether an approximate top-k is as good as it promises, and never wrong in ways that "approximate" does not cover.

use crate::ir::{Op, approx};
use crate::metric::{Better, Unit};
use crate::stat::expected_recall;

use super::element_witness::{ScoredToken, Witness, bits_hex, float_hex, integer_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, PlanFault, Scope, Settings,
    Tally,
};

pub(super) struct Recall;

/// Standard errors from the expectation at which the observed recall is a finding.
const Z_LIMIT: f64 = 4.0;

impl Check for Recall {
    fn name(&self) -> &'static str {
        "recall"
    }

    fn doc(&self) -> &'static str {
        "Asks: does an approximate top-k return what its bins let one expect? Why it matters: a fault that bites at some \
         batch sizes looks like approximation. Fails when: the observed recall differs from the expectation for the \
         actual bins, E = (1/K) sum_b [1 - C(N-n_b,K)/C(N,K)] over bin sizes n_b, by 4 standard errors or more either \
         way; or, whatever the recall: the row's maximum is missing or not first, an index is out of range or repeated, a \
         value is not x[index], aggregated values increase, or fewer than k results come back. A winner counts as found \
         when a result has a value at or above the k-th largest."
    }

    fn settings(&self) -> &'static [&'static str] {
        &[]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[
            FigureDoc {
                name: "recall_observed",
                unit: Unit::One,
                better: Some(Better::Higher),
                doc: "share of the true top k that came back",
            },
            FigureDoc {
                name: "recall_expected",
                unit: Unit::One,
                better: None,
                doc: "its expectation for random placement",
            },
            FigureDoc {
                name: "recall_z",
                unit: Unit::One,
                better: None,
                doc: "observed minus expected, in standard errors",
            },
            FigureDoc { name: "bins", unit: Unit::Bins, better: None, doc: "bins that the size function asks for" },
            FigureDoc {
                name: "broken_rows",
                unit: Unit::Rows,
                better: Some(Better::Lower),
                doc: "rows that break an invariant",
            },
        ]
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Recall {
    fn plan(&self, _settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let (values, indices) = (case.output("values")?, case.output("indices")?);
        let entry = case.program.entry();
        let found = entry.instructions.iter().find_map(|i| match &i.op {
            Op::ApproxTopK(attributes) => Some((attributes.k, attributes.aggregate_to_topk, Some(attributes))),
            Op::TopK { k, .. } => Some((*k, true, None)),
            _ => None,
        });
        let (k, aggregated, approximate) = found.ok_or_else(|| case.lacks("takes no top k"))?;
        let bins = match approximate {
            // Only a TPU uses the bins; elsewhere the result is exact.
            Some(a) if case.mode.chip.partial_reduce => {
                let whole = a.reduction_input_size_override;
                let (bins, log2) =
                    approx::output_size(case.n, 2, k, a.recall_target, whole).map_err(PlanFault::from)?;
                bin_sizes(case.n, bins, log2)
            }
            _ => vec![1; case.n],
        };
        Ok(Box::new(Returned { values, indices, k, aggregated, bins }))
    }
}

/// Elements in each bin: bin `(j div 128 >> r) * 128 + j mod 128` takes element `j` (FACTS 5.3). Other binnings of the
/// same operand have bins of the same sizes up to order where the size is a multiple of `128 << r`.
fn bin_sizes(n: usize, bins: usize, log2_reduction: u32) -> Vec<usize> {
    const LANES: usize = 128;
    if log2_reduction == 0 {
        return vec![1; n];
    }
    let mut sizes = vec![0; bins];
    for chunk in 0..n.div_ceil(LANES) {
        for lane in 0..LANES.min(n - chunk * LANES) {
            sizes[(chunk >> log2_reduction) * LANES + lane] += 1;
        }
    }
    sizes
}

struct Returned {
    values: usize,
    indices: usize,
    k: usize,
    aggregated: bool,
    bins: Vec<usize>,
}

impl Judge for Returned {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let operand = batch.arguments.first().ok_or(ObserveError::NoArgument)?.data();
        let x = operand.to_f64s();
        let values = batch.got[self.values].data().to_f64s();
        let indices = batch.got[self.indices].data().to_i64s();
        let rows = x.len() / batch.n;
        let size = indices.len() / rows.max(1);
        let mut sorted: Vec<f64> = Vec::with_capacity(batch.n);
        for row in 0..rows {
            tally.count("rows", 1);
            let x = &x[row * batch.n..(row + 1) * batch.n];
            let (values, indices) = (&values[row * size..(row + 1) * size], &indices[row * size..(row + 1) * size]);
            sorted.clear();
            sorted.extend_from_slice(x);
            let (_, kth, _) = sorted.select_nth_unstable_by(self.k - 1, |a, b| b.total_cmp(a));
            let kth = *kth;
            let broken = self.broken(x, values, indices);
            if let Some((why, _)) = &broken {
                tally.count("broken_rows", 1);
                tally.evidence(|| format!("row {}: {why}", batch.first_row + row));
            }
            let mut ids: Vec<i64> = indices.to_vec();
            ids.sort_unstable();
            ids.dedup();
            let hit = |id: &&i64| usize::try_from(**id).ok().and_then(|i| x.get(i)).is_some_and(|v| *v >= kth);
            let found = ids.iter().filter(hit).count().min(self.k);
            tally.count("found", found as u64);
            let weight = if broken.is_some() { f64::INFINITY } else { (self.k - found) as f64 };
            if weight > 0.0 && size > 0 && tally.wants(weight) {
                // The winners, the largest first.
                let mut order: Vec<usize> = (0..x.len()).collect();
                order.sort_by(|a, b| x[*b].total_cmp(&x[*a]));
                let missed = order.iter().take(self.k).find(|at| !indices.contains(&(**at as i64)));
                let (output, at, due, truth) = match broken {
                    Some((_, Broken::Index(at))) => {
                        // A row of more results than scores has no winner left for the last ones.
                        let due = order.get(at).copied().unwrap_or(order[0]);
                        (self.indices, at, due, integer_hex(batch.got[self.indices].dtype(), due as i64))
                    }
                    Some((_, Broken::Value { at, due })) => (self.values, at, due, float_hex(x[due])),
                    None => {
                        let due = missed.copied().unwrap_or(order[0]);
                        (self.values, size - 1, due, float_hex(x[due]))
                    }
                };
                let due = ScoredToken { token: due as u64, score_hex: Some(bits_hex(operand, row * batch.n + due)) };
                let witness = || Witness::at(batch, output, row * size + at, truth).with_tokens(vec![due]);
                tally.witness(weight, witness);
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (rows, broken) = (tally.count_of("rows"), tally.count_of("broken_rows"));
        let observed = tally.count_of("found") as f64 / (rows as f64 * self.k as f64);
        let sizes = self.bins.iter().map(|size| *size as u64);
        let Some(expected) = expected_recall(sizes, self.k as u64) else {
            return tally.judge(broken > 0).note("there is no expectation for these bins".to_string());
        };
        let error = (expected.variance / rows as f64).sqrt();
        // Bins of one element each find every winner: there is no spread to measure a deviation by.
        let exact = self.bins.iter().all(|size| *size <= 1);
        let (mean, z) = match (exact, observed == 1.0) {
            (true, true) => (1.0, 0.0),
            (true, false) => (1.0, f64::NEG_INFINITY),
            (false, _) => (expected.mean, (observed - expected.mean) / error),
        };
        tally
            .judge(broken > 0 || z.abs() >= Z_LIMIT)
            .figure("recall_observed", observed)
            .figure("recall_expected", mean)
            .figure("recall_z", z)
            .figure("bins", self.bins.len() as f64)
            .figure("broken_rows", broken as f64)
            .note(format!(
                "recall {observed:.4}, expected {mean:.4} (z = {z:.1}), {broken} of {rows} rows break an invariant"
            ))
    }
}

/// The element that breaks an invariant, by its place in the row's results.
enum Broken {
    /// An index; the winner of that place is due there.
    Index(usize),
    /// A value, and the element of x whose value is due there.
    Value { at: usize, due: usize },
}

impl Returned {
    /// The first invariant that a row breaks.
    fn broken(&self, x: &[f64], values: &[f64], indices: &[i64]) -> Option<(String, Broken)> {
        if values.len() < self.k {
            let last = values.len().saturating_sub(1);
            return Some((format!("{} results for k = {}", values.len(), self.k), Broken::Index(last)));
        }
        let mut seen = std::collections::HashSet::new();
        for (place, (value, index)) in values.iter().zip(indices).enumerate() {
            // A bin that saw no element holds the init (-inf, -1).
            if *index == -1 && *value == f64::NEG_INFINITY && !self.aggregated {
                continue;
            }
            let Some(at) = usize::try_from(*index).ok().filter(|i| *i < x.len()) else {
                return Some((format!("index {index} is out of range"), Broken::Index(place)));
            };
            if !seen.insert(at) {
                return Some((format!("index {at} comes twice"), Broken::Index(place)));
            }
            if x[at].to_bits() != value.to_bits() {
                let why = format!("value {value} at index {at}, where x is {}", x[at]);
                return Some((why, Broken::Value { at: place, due: at }));
            }
        }
        let best = (1..x.len()).fold(0, |best, at| if x[at] > x[best] { at } else { best });
        let max = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !values.contains(&max) {
            return Some((format!("the maximum {max} is missing"), Broken::Value { at: 0, due: best }));
        }
        let rises = (1..values.len()).find(|at| values[at - 1] < values[*at]).filter(|_| self.aggregated);
        rises.map(|at| ("values increase".to_string(), Broken::Index(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three chunks of lanes in pairs of chunks: the last has no partner and 44 elements.
    #[test]
    fn bins_take_every_other_chunk() {
        let sizes = bin_sizes(300, 256, 1);
        assert!(sizes[..128].iter().all(|size| *size == 2));
        assert!(sizes[128..172].iter().all(|size| *size == 1) && sizes[172..].iter().all(|size| *size == 0));
        assert_eq!((sizes.len(), bin_sizes(3, 3, 0)), (256, vec![1; 3]));
    }

    fn why(broken: Option<(String, Broken)>) -> Option<String> {
        broken.map(|(why, _)| why)
    }

    /// An empty bin is skipped if the bins themselves are returned; anywhere else its index breaks an invariant.
    #[test]
    fn an_empty_bin_holds_the_init() {
        let of = |aggregated| Returned { values: 0, indices: 1, k: 2, aggregated, bins: vec![1; 2] };
        let (x, nothing) = ([5.0, 7.0], f64::NEG_INFINITY);
        assert_eq!(why(of(false).broken(&x, &[7.0, nothing, nothing], &[1, -1, -1])), None);
        let out_of_range = Some("index -1 is out of range".to_string());
        assert_eq!(why(of(true).broken(&x, &[7.0, nothing], &[1, -1])), out_of_range);
        assert_eq!(why(of(false).broken(&x, &[7.0, 5.0], &[1, -1])), out_of_range);
        let index = Some("value -inf at index 0, where x is 5".to_string());
        assert_eq!(why(of(false).broken(&x, &[7.0, nothing], &[1, 0])), index);
        // Bins come in any order, the best k downward.
        assert_eq!(why(of(false).broken(&x, &[5.0, 7.0], &[0, 1])), None);
        assert_eq!(why(of(true).broken(&x, &[5.0, 7.0], &[0, 1])), Some("values increase".to_string()));
        assert_eq!(why(of(false).broken(&x, &[7.0], &[1])), Some("1 results for k = 2".to_string()));
    }
}
