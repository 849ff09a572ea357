//! A sawtooth: no chance at all, many exact ties.

use super::parameter::MANY;
use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct Ramp;

const PERIOD: ParameterDoc = ParameterDoc::whole("period", 64.0, (1.0, MANY), "elements until the values repeat");
static PARAMETERS: &[ParameterDoc] = &[PERIOD];

impl Input for Ramp {
    fn name(&self) -> &'static str {
        "ramp"
    }

    fn doc(&self) -> &'static str {
        "x_i = (i mod period) / period. With 65536 elements and the default period, the smallest value of the 1024 \
         largest is 0.984375 exactly (the case of flashinfer issue 2604)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, _sampler: &mut Sampler, out: &mut [f64]) {
        let period = row.get(&PERIOD);
        for (i, x) in out.iter_mut().enumerate() {
            *x = (i % period as usize) as f64 / period;
        }
    }
}
