//! Modes that are one machine under several names.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Op, Program};
use crate::tensor::DType;

use super::chip::Chip;
use super::dot_unit::DotSite;
use super::mode::Arithmetic;
use super::refinement::Choices;
use super::vector::StepRounding;

/// Whether two modes compute this program with the same arithmetic in the same orders, so that both give the same bits.
///
/// A mode's excess policy is not looked at: the program is as the compiler left it.
pub fn compute_alike(a: &Arithmetic, b: &Arithmetic, program: &Program) -> bool {
    let narrow = |mode: &Arithmetic| mode.choices.narrow;
    let others = |mode: &Arithmetic| Choices { narrow: StepRounding::F32, ..mode.choices };
    // Error bounds matter only where functions err within them.
    let bounded = a.choices.exp.perturbs() || b.choices.exp.perturbs();
    hardware(a.chip) == hardware(b.chip)
        && (!bounded || a.chip.eup == b.chip.eup)
        && a.precision == b.precision
        && others(a) == others(b)
        && on_same_units(a, b, program)
        && (narrow(a) == narrow(b) || !sums_narrow(program))
}

/// The parts of a chip that decide bits, without its name and without the parts that a mode may refine. Its own bf16
/// operations are left to the compiler; its error bounds are compared separately.
fn hardware(chip: &Chip) -> impl PartialEq + use<> {
    let Chip {
        name: _,
        doc: _,
        matrix_unit,
        mxu_block,
        accumulation: _,
        has_f64,
        flush,
        divide,
        zero_tie,
        eup: _,
        functions: _,
        sum: _,
        scan: _,
        narrow: _,
        backend,
        native: _,
        partial_reduce,
    } = *chip;
    (matrix_unit, mxu_block, has_f64, flush, divide, zero_tie, backend.map(|backend| backend.name()), partial_reduce)
}

/// Whether both compute each dot of the program on the same unit, in as many passes.
fn on_same_units(a: &Arithmetic, b: &Arithmetic, program: &Program) -> bool {
    program.computations.iter().all(|computation| {
        let mut sites = computation.instructions.iter().filter_map(|i| DotSite::within(computation, i));
        sites.all(|site| a.dot(&site) == b.dot(&site))
    })
}

/// Whether a sum of bf16 or f16 stands in the program.
fn sums_narrow(program: &Program) -> bool {
    let regions = Regions::new(program);
    program.computations.iter().any(|computation| {
        computation.instructions.iter().any(|instruction| match instruction.op {
            Op::Reduce { to_apply, .. } => {
                let first = instruction.operands.first().map(|o| &computation.instructions[*o].shape);
                matches!(first.and_then(|shape| shape.dtype()), Some(DType::BF16 | DType::F16))
                    && regions.reducer(to_apply) == Some(Reducer::Binary(Binary::Add))
            }
            _ => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::compute_alike;
    use crate::Arithmetic;
    use crate::ir::{Binary, Builder, Precision, Program};
    use crate::tensor::DType;

    fn sum(dtype: DType) -> Program {
        let mut b = Builder::new("sum");
        let x = b.parameter("x", dtype, &[4, 64]).unwrap();
        let y = b.reduce(Binary::Add, x, 0.0, &[1]).unwrap();
        b.finish(&[("y", y)]).unwrap()
    }

    #[test]
    fn only_what_computes_alike_is_alike() {
        let alike = |a: &str, b: &str, dtype| {
            let [a, b] = [a, b].map(|mode| mode.parse::<Arithmetic>().unwrap());
            compute_alike(&a, &b, &sum(dtype))
        };
        assert!(alike("v4/default/off", "v5e/default/as-compiled", DType::BF16));
        assert!(!alike("v5e/default/off", "v6e/default/off", DType::F32));
        assert!(!alike("v4/default/off+exp=worst", "v5e/default/off+exp=worst", DType::F32));
        assert!(!alike("v5e/default/off", "v5e/high/off", DType::F32));
        assert!(!alike("v5e/default/off", "v5e/default/off+reduce=chain", DType::F32));
        for narrow in [DType::BF16, DType::F16] {
            assert!(!alike("v5e/default/off", "v5e/default/off+narrow=bf16", narrow), "{narrow}");
        }
        assert!(alike("v5e/default/off", "v5e/default/off+narrow=bf16", DType::F32));
        assert!(alike("v6e/default/off", "tpu7x/default/off", DType::F32));
    }

    /// A row and a matrix meet on the vector unit on v6e and on the matrix unit on tpu7x; two matrices on the same one.
    #[test]
    fn modes_that_compute_a_dot_on_other_units_are_not_alike() {
        let alike = |rows: usize| {
            let mut b = Builder::new("dot");
            let x = b.parameter("x", DType::F32, &[rows, 4]).unwrap();
            let w = b.parameter("w", DType::F32, &[4, 8]).unwrap();
            let y = b.matmul(x, w, Precision::Default, DType::F32).unwrap();
            let program = b.finish(&[("y", y)]).unwrap();
            let [a, b] = ["v6e/default/off", "tpu7x/default/off"].map(|mode| mode.parse::<Arithmetic>().unwrap());
            compute_alike(&a, &b, &program)
        };
        assert!(!alike(1));
        assert!(alike(2));
    }
}
