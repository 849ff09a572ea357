//! One sampler in several surroundings.

use crate::ir::{Binary, Builder, Compare, Program};
use crate::tensor::DType;

use super::keep_max::{at_max, guard};
use super::softmax::{DTYPE, Softmax, softmax};
use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Sampler;

impl BuiltIn for Sampler {
    fn name(&self) -> &'static str {
        "sampler"
    }

    fn doc(&self) -> &'static str {
        "p = softmax(x), x [rows, n]; greedy = argmax(p); token = argmax(where(f32(p) >= f32(max(p)), p, 0)). The \
         surroundings (`with`) add a result or a consumer of p, or a barrier behind it: nothing that changes what is \
         asked for."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            DTYPE,
            ParameterDoc {
                name: "with",
                default: "nothing",
                choices: &["nothing", "output", "consumer", "barrier"],
                doc: "p as a further result; sum(f32(p)) as a further result; an optimization barrier behind p",
            },
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Program, BuildError> {
        sized(&[("n", n), ("rows", rows)])?;
        let dtype = parameters.float("dtype")?;
        let with = parameters.text("with");
        let mut b = Builder::new(self.name());
        let x = b.parameter("x", dtype, &[rows, n])?;
        let p = softmax(&mut b, x)?;
        let p = guard(&mut b, p, with)?;
        let greedy = b.argmax(p, 1)?;
        let keep = at_max(&mut b, p, Compare::Ge)?;
        let zero = b.constant(dtype, 0.0)?;
        let zero = b.splat(zero, &[rows, n])?;
        let kept = b.select(keep, p, zero)?;
        let token = b.argmax(kept, 1)?;
        let mut outputs = vec![("greedy", greedy), ("token", token)];
        match with {
            "output" => outputs.push(("p", p)),
            "consumer" => {
                let wide = b.convert(p, DType::F32)?;
                outputs.push(("sum", b.reduce(Binary::Add, wide, 0.0, &[1])?));
            }
            _ => {}
        }
        Ok(b.finish(&outputs)?)
    }

    fn scores(&self, parameters: &Parameters, n: usize, rows: usize) -> Result<Option<Program>, BuildError> {
        Softmax.build(parameters, n, rows).map(Some)
    }
}
