//! Few distinct values, so that almost everything is tied.

use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct Ties;

const DISTINCT: ParameterDoc = ParameterDoc::whole("distinct", 4.0, (1.0, 256.0), "distinct values; 1: all are equal");
const SCALE: ParameterDoc = ParameterDoc::real("scale", 1.0, (1e-30, 1e30), "distance of neighbouring values");
static PARAMETERS: &[ParameterDoc] = &[DISTINCT, SCALE];

impl Input for Ties {
    fn name(&self) -> &'static str {
        "ties"
    }

    fn doc(&self) -> &'static str {
        "x_i = scale * j_i, j_i independent and uniform on 1, 2, ..., distinct: each value is held by about one element \
         in `distinct`, exactly tied as long as the dtype tells scale * j apart. distinct = 1 is a constant row."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let (distinct, scale) = (row.get(&DISTINCT) as u64, row.get(&SCALE));
        out.iter_mut().for_each(|x| *x = scale * (sampler.below(distinct) + 1) as f64);
    }
}
