//! Independent normals.

use super::parameter::SCALE;
use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct Normal;

static PARAMETERS: &[ParameterDoc] = &[SCALE];

impl Input for Normal {
    fn name(&self) -> &'static str {
        "normal"
    }

    fn doc(&self) -> &'static str {
        "x_i = scale * z_i, z_i independent standard normals (Marsaglia and Bray 1964)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        fill(row.get(&SCALE), sampler, out);
    }
}

/// Normals of standard deviation `scale`: what other distributions start from.
pub(super) fn fill(scale: f64, sampler: &mut Sampler, out: &mut [f64]) {
    out.iter_mut().for_each(|x| *x = scale * sampler.normal());
}
