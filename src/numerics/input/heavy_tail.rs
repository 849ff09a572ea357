//! Outliers.

use super::{Input, ParameterDoc, Row, Sampler};

pub(super) struct HeavyTail;

const DOF: ParameterDoc = ParameterDoc::real("dof", 3.0, (0.5, 100.0), "degrees of freedom; 1 is Cauchy");
const SCALE: ParameterDoc = ParameterDoc::real("scale", 1.0, (1e-30, 1e30), "factor of the t variable");
static PARAMETERS: &[ParameterDoc] = &[DOF, SCALE];

impl Input for HeavyTail {
    fn name(&self) -> &'static str {
        "heavy-tail"
    }

    fn doc(&self) -> &'static str {
        "x_i = scale * t_i, t_i independent Student t variables: P(|t| > x) falls as x^-dof, so a few elements dominate \
         a sum, as outlier channels of activations do. Made by R. W. Bailey, Polar Generation of Random Variates with \
         the t-Distribution, Math. Comp. 62 (1994) 779-781."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        PARAMETERS
    }

    fn fill(&self, row: &Row, sampler: &mut Sampler, out: &mut [f64]) {
        let (dof, scale) = (row.get(&DOF), row.get(&SCALE));
        for x in out {
            let (u, _, squared) = sampler.disc();
            // t = u / sqrt(w) * sqrt(dof (w^(-2/dof) - 1)), w the squared radius. expm1 keeps the digits near w = 1.
            let power = core_math::expm1(-2.0 / dof * core_math::log(squared));
            *x = scale * u * (dof * power / squared).sqrt();
        }
    }
}
