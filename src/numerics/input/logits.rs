//! Logits as a language model's head gives them: a few tokens carry the mass.

use super::parameter::SCALE;
use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct Logits;

pub(super) const GUMBEL: ParameterDoc = ParameterDoc::real("gumbel", 2.0, (0.0, 1e3), "factor of the Gumbel variable");
static PARAMETERS: &[ParameterDoc] = &[GUMBEL, SCALE];

impl Input for Logits {
    fn name(&self) -> &'static str {
        "logits"
    }

    fn doc(&self) -> &'static str {
        "x_i = scale * z_i + gumbel * g_i, z_i standard normal, g_i = -ln(-ln u_i) standard Gumbel, independent. The \
         weights exp(x_i) have tails of index 1 / gumbel, so for gumbel > 1 the softmax of a long row tends to the \
         Poisson-Dirichlet law PD(1 / gumbel, 0) whatever the row's length: a few tokens carry the mass, and the mean \
         of sum p_i^2 is 1 - 1 / gumbel, a half by default (Pitman and Yor, Ann. Probab. 25 (1997) 855-900)."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        fill(row, sampler, out);
    }
}

/// Logits by the parameters `scale` and `gumbel` of the row's spec.
pub(super) fn fill(row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
    let (scale, gumbel) = (row.get(&SCALE), row.get(&GUMBEL));
    out.iter_mut().for_each(|x| *x = scale * sampler.normal() + gumbel * sampler.gumbel());
}
