//! Uniform, of both signs.

use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct Uniform;

const SCALE: ParameterDoc = ParameterDoc::real("scale", 1.0, (1e-30, 1e30), "largest magnitude");
static PARAMETERS: &[ParameterDoc] = &[SCALE];

impl Input for Uniform {
    fn name(&self) -> &'static str {
        "uniform"
    }

    fn doc(&self) -> &'static str {
        "x_i = scale * u_i, u_i independent and uniform on [-1, 1), multiples of 2^-53 before rounding."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let scale = row.get(&SCALE);
        out.iter_mut().for_each(|x| *x = scale * sampler.signed_uniform());
    }
}
