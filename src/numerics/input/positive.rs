//! Uniform, of one sign.

use super::{Argument, Input, InputSpec, ParameterDoc, Row, Sampler, Unfit};

pub(super) struct Positive;

const HI: ParameterDoc = ParameterDoc::real("hi", 1.0, (1e-30, 1e30), "upper end, above lo");
const LO: ParameterDoc = ParameterDoc::real("lo", 0.5, (0.0, 1e30), "lower end");
static PARAMETERS: &[ParameterDoc] = &[HI, LO];

impl Input for Positive {
    fn name(&self) -> &'static str {
        "positive"
    }

    fn doc(&self) -> &'static str {
        "x_i = lo + (hi - lo) u_i, u_i independent and uniform on [0, 1); rounding may reach hi. The default [0.5, 1) is \
         one binade: all values have one ulp and uniform significands, and sums of them grow steadily, so that rounding \
         errors of one sign show as growth with n instead of sqrt(n)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn check(&self, spec: &InputSpec, _arguments: &[Argument]) -> Result<(), Unfit> {
        let (lo, hi) = (spec.get(&LO), spec.get(&HI));
        if lo < hi { Ok(()) } else { Err(Unfit::new(format!("lo = {lo} is not below hi = {hi}")).parameter(&LO)) }
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let (lo, hi) = (row.get(&LO), row.get(&HI));
        out.iter_mut().for_each(|x| *x = lo + (hi - lo) * sampler.uniform());
    }
}
