//! One matrix product.

use crate::ir::{Builder, Precision, Program};

use super::{BuildError, BuiltIn, ParameterDoc, Parameters, sized};

pub struct Matmul;

/// The block at which the plan of a compiled file would cut the sum over K.
pub(super) const K_BLOCK: ParameterDoc = ParameterDoc {
    name: "k_block",
    default: "0",
    choices: &[],
    doc: "products after which `acc=tiled` cuts the dot, as a compiled file's plan would; 0 for none",
};

impl BuiltIn for Matmul {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn doc(&self) -> &'static str {
        "out = lhs . rhs with the shapes that `lhs` and `rhs` give, where n is the case's size: lhs=nx4, rhs=4xn is \
         [n,4] x [4,n]. Rows do not count here; precision is the mode's."
    }

    fn parameters(&self) -> &'static [ParameterDoc] {
        &[
            ParameterDoc { name: "lhs", default: "nxn", choices: &[], doc: "shape of the left operand" },
            ParameterDoc { name: "rhs", default: "nxn", choices: &[], doc: "shape of the right operand" },
            ParameterDoc {
                name: "dtype",
                default: "f32",
                choices: &["f32", "bf16", "f16", "f8e4m3fn", "f8e5m2"],
                doc: "type of the operands",
            },
            ParameterDoc { name: "out", default: "f32", choices: &["f32", "bf16", "f16"], doc: "type of the result" },
            K_BLOCK,
        ]
    }

    fn build(&self, parameters: &Parameters, n: usize, _rows: usize) -> Result<Program, BuildError> {
        let (lhs, rhs) = (parameters.shape("lhs", n)?, parameters.shape("rhs", n)?);
        sized(&[("lhs rows", lhs[0]), ("lhs columns", lhs[1]), ("rhs rows", rhs[0]), ("rhs columns", rhs[1])])?;
        let mut b = Builder::new(self.name());
        let dtype = parameters.float("dtype")?;
        let lhs = b.parameter("lhs", dtype, &lhs)?;
        let rhs = b.parameter("rhs", dtype, &rhs)?;
        let out = b.matmul(lhs, rhs, Precision::Default, parameters.float("out")?)?;
        b.cut_k(out, parameters.size("k_block")?);
        let out = b.rename(out, "out");
        Ok(b.finish(&[("out", out)])?)
    }

    fn batch(&self, _n: usize, rows: usize) -> usize {
        rows
    }
}
