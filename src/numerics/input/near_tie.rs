//! Logits whose two largest differ by a chosen number of ulps, or not at all.

use crate::num::{Direction, round_f64};

use super::logits::{self, GUMBEL};
use super::parameter::SCALE;
use super::{Input, ParameterDoc, Row, Sampler, normal};

pub(super) struct NearTie;

const ULPS: ParameterDoc =
    ParameterDoc::whole("ulps", 0.0, (0.0, 64.0), "numbers of the dtype from the second to the first; 0: a tie");
static PARAMETERS: &[ParameterDoc] = &[GUMBEL, SCALE, ULPS];

impl Input for NearTie {
    fn name(&self) -> &'static str {
        "near-tie"
    }

    fn doc(&self) -> &'static str {
        "Logits as in `logits`, but two elements at random positions are the row's largest: the first is the largest \
         logit plus scale, rounded to the argument's dtype, the second lies `ulps` representable numbers below it (0: \
         it is the same number), and all others lie below both. Either may come first. Rows of one element, and \
         arguments after the first, have no such pair: the latter are normals of deviation scale."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        if row.argument > 0 {
            return normal::fill(row.get(&SCALE), sampler, out);
        }
        logits::fill(row, sampler, out);
        let [first, second] = sampler.distinct_below(out.len(), 2)[..] else { return };
        let largest = out.iter().copied().fold(0.0, f64::max);
        let ulps = row.get(&ULPS) as u64;
        // Codes of positive numbers count the numbers from zero. Room for the pair and for one below it.
        let wanted = round_f64(row.format, largest + row.get(&SCALE), Direction::NearestEven);
        let top = row.format.encode(wanted.min(row.format.max_finite())).max(ulps + 2);
        let below = row.format.decode(top - ulps - 1);
        out.iter_mut().for_each(|x| *x = x.min(below));
        out[first] = row.format.decode(top);
        out[second] = row.format.decode(top - ulps);
    }
}
