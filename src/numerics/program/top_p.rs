//! Nucleus sampling's filter.

use crate::ir::{Binary, Builder, Compare, CompareOrder, Program};
use crate::tensor::DType;

use super::softmax::{DTYPE, Softmax, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct TopP;

impl BuiltIn for TopP {
    fn name(&self) -> &'static str {
        "top_p"
    }

    fn doc(&self) -> &'static str {
        "p = softmax(x), x [rows, n], sorted downward with its token ids; mass = cumsum(p) in type `mass`; keep = mass - p \
         < `p`, that is, keep while the mass before a token is below p (Holtzman et al. 2020, as samplers write it). \
         Results: tokens (ids, most probable first) and keep, in that order."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc { name: "mass", default: "f32", choices: &["f32", "bf16"], doc: "type of the running mass" },
            ParameterDoc { name: "p", default: "0.9", choices: &[], doc: "the mass to keep" },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let dims = [rows, n];
        let mass = parameters.float("mass")?;
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", parameters.float("dtype")?, &dims)?;
        let p = softmax(&mut b, x)?;
        let p = if b.shape(p).dtype() == Some(mass) { p } else { b.convert(p, mass)? };
        let index = b.iota(DType::S32, &dims, 1)?;
        let sorted = b.sort(&[p, index], 1, true, Compare::Gt, CompareOrder::Partial)?;
        let p = b.tuple_element(sorted, 0)?;
        let p = b.rename(p, "p_sorted");
        let tokens = b.tuple_element(sorted, 1)?;
        let running = b.cumsum(p, 1)?;
        let running = b.rename(running, "mass");
        let before = b.binary(Binary::Subtract, running, p)?;
        let before = b.rename(before, "mass_before");
        let threshold = b.constant(mass, parameters.number("p")?)?;
        let threshold = b.splat(threshold, &dims)?;
        let keep = b.compare(Compare::Lt, before, threshold)?;
        Ok(b.finish(&[("tokens", tokens), ("keep", keep)])?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        Softmax.build(parameters, n, rows).map(Some)
    }
}
