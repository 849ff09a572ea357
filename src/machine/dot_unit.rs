//! The unit that takes a dot: the one place that says it.
//!
//! Of a program as written the TPU compiler's own files say it, by chip, types of the operands and class of shapes
//! (`dot_units.csv`, written by `scripts/dot_units.py`). A dot that such a file still holds is on the matrix unit: what went to
//! the vector unit is a multiply and a reduce there.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::ir::{Computation, DotExtents, DotPlan, Instruction, Op, Precision, Shape, Tiling};
use crate::tensor::DType;

use super::chip::Chip;
use super::mode::Arithmetic;
use super::mxu::Passes;
use super::vector_dots::VectorDots;

/// A dot `[m,k] x [k,n]`, as far as its unit and its sums depend on it.
#[derive(Clone, Copy, Debug)]
pub struct DotSite<'a> {
    /// The precision asked for, one an operand.
    pub precision: [Precision; 2],
    /// The types of the operands; `None` for what is no array.
    pub dtypes: [Option<DType>; 2],
    /// m, k and n.
    pub sizes: [usize; 3],
    /// The class of its shapes.
    pub class: DotClass,
    /// Whether a TPU's compiler has left it a dot ([`Instruction::on_matrix_unit`]).
    pub on_matrix_unit: bool,
    /// The plan of a compiled file.
    pub tiling: Option<&'a Tiling>,
}

impl<'a> DotSite<'a> {
    /// A dot of a program as written, without batch dims, that asks for the default precision.
    pub fn as_written(dtypes: [Option<DType>; 2], sizes: [usize; 3]) -> DotSite<'a> {
        let [m, k, n] = sizes;
        let extents = DotExtents { batch: Vec::new(), contracting: vec![k], free: [vec![m], vec![n]] };
        let class = DotClass::of(&extents);
        DotSite { precision: [Precision::Default; 2], dtypes, sizes, class, on_matrix_unit: false, tiling: None }
    }

    /// That of an instruction with operands of these types. Of no dot the precision is the default.
    pub fn of(instruction: &'a Instruction, dtypes: [Option<DType>; 2], plan: &DotPlan) -> DotSite<'a> {
        let precision = match instruction.op {
            Op::Dot { precision, .. } => precision,
            _ => [Precision::Default; 2],
        };
        let (on_matrix_unit, tiling) = (instruction.on_matrix_unit(), instruction.tiling());
        let (sizes, class) = ([plan.m, plan.k, plan.n], DotClass::of(&plan.extents));
        DotSite { precision, dtypes, sizes, class, on_matrix_unit, tiling }
    }

    /// That of an instruction of this computation; `None` where it is no dot.
    pub fn within(computation: &Computation, instruction: &'a Instruction) -> Option<DotSite<'a>> {
        let [lhs, rhs] = instruction.operands[..] else { return None };
        DotSite::between(instruction, [lhs, rhs].map(|id| &computation.instructions[id].shape))
    }

    /// That of an instruction whose operands are of these shapes; `None` where it is no dot.
    pub fn between(instruction: &'a Instruction, [lhs, rhs]: [&Shape; 2]) -> Option<DotSite<'a>> {
        let Op::Dot { dims, .. } = &instruction.op else { return None };
        let plan = DotPlan::new(dims, lhs.dims(), rhs.dims());
        Some(DotSite::of(instruction, [lhs.dtype(), rhs.dtype()], &plan))
    }
}

/// A unit that computes dots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DotUnit {
    /// f64, one addition after the other.
    Double,
    /// The vector unit: f32 products, then a sum in its own order (FACTS 2.3).
    Vector,
    /// The matrix unit, in so many passes; on a chip without one, f32 products summed in its order.
    Matrix(Passes),
}

/// The table, as the script writes it.
const TABLE: &str = include_str!("dot_units.csv");

/// The releases whose choices of a unit the table holds: `jax 0.10.2, libtpu 0.0.42.1`.
pub fn releases_of_dot_units() -> &'static str {
    let head = TABLE.lines().next().unwrap_or_default();
    let releases = head.rsplit_once(": ").map_or(head, |(_, releases)| releases);
    releases.split_once(", by ").map_or(releases, |(releases, _)| releases)
}

/// A class of shapes on which a TPU's choice of a unit depends, as `scripts/dot_units.py` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DotClass(&'static str);

/// The lanes of a TPU's vector unit (FACTS 3.1).
const LANES: usize = 128;

/// The least k and n of a vector without a free dim and a matrix that go to the matrix unit (FACTS 2.3).
const LEAST_WITHOUT_FREE_DIM: usize = 64;

impl DotClass {
    /// That of a dot with dims of these extents: what m, n and k say of 1, and what batch dims do to a vector and a matrix.
    pub fn of(dims: &DotExtents) -> DotClass {
        let [m, n] = dims.free.each_ref().map(|free| free.iter().product::<usize>());
        let k: usize = dims.contracting.iter().product();
        let name = match (m, k, n) {
            // One product is no sum, which a systolic array would be of use for: every chip has it on the vector unit
            // (FACTS 2.3).
            (_, 1, _) => "one-product",
            (1, _, 1) => "vector-vector",
            (1, ..) | (.., 1) => match (has_wide_batch(dims), has_vector_without_free_dim(dims)) {
                (true, true) => "wide-batch-no-free-dim",
                (true, false) => "wide-batch",
                (false, true) => "no-free-dim",
                (false, false) if m == 1 => "vector-matrix",
                (false, false) => "matrix-vector",
            },
            _ => "matrix-matrix",
        };
        DotClass(name)
    }
}

/// Whether a batch dim fills lanes to a larger part than every other dim does.
fn has_wide_batch(dims: &DotExtents) -> bool {
    // The parts are compared as fractions over numbers of lanes, whole registers of them.
    let widest = |extents: &mut dyn Iterator<Item = &usize>| {
        let parts = extents.map(|extent| (*extent, extent.div_ceil(LANES).max(1)));
        parts.max_by(|(x, in_x), (y, in_y)| (x * in_y).cmp(&(y * in_x)))
    };
    let others = widest(&mut dims.contracting.iter().chain(dims.free.iter().flatten()));
    match (widest(&mut dims.batch.iter()), others) {
        (Some((batch, in_batch)), Some((other, in_other))) => batch * in_other > other * in_batch,
        _ => false,
    }
}

/// Whether an operand has batch and contracting dims alone, the matrix beside it is large, and no dim is 1. Of several free dims
/// the first one counts, of several contracting dims the largest.
fn has_vector_without_free_dim(dims: &DotExtents) -> bool {
    let mut all = dims.batch.iter().chain(&dims.contracting).chain(dims.free.iter().flatten());
    let is_large = |extent: Option<&usize>| extent.is_some_and(|extent| *extent >= LEAST_WITHOUT_FREE_DIM);
    // The compiler looks at the first of several free dims alone: (64, 2) counts, (2, 512) does not (FACTS 2.3).
    let first_free = match &dims.free {
        [lhs, rhs] if lhs.is_empty() => rhs.first(),
        [lhs, rhs] if rhs.is_empty() => lhs.first(),
        _ => None,
    };
    !dims.batch.is_empty()
        && all.all(|extent| *extent > 1)
        && is_large(first_free)
        && is_large(dims.contracting.iter().max())
}

/// A kind of dots: chip, types of the operands and class of shapes.
type Kind = (&'static str, [&'static str; 2], &'static str);

/// The lines of the table: of each kind whether the vector unit takes its dots.
static ROWS: LazyLock<HashMap<Kind, bool>> = LazyLock::new(|| {
    let row = |line: &'static str| match line.split(',').collect::<Vec<_>>()[..] {
        [chip, lhs, rhs, class, unit @ ("vector" | "matrix"), _] => Some(((chip, [lhs, rhs], class), unit == "vector")),
        _ => None,
    };
    TABLE.lines().filter_map(row).collect()
});

/// Whether a dot is on the vector unit of a chip, where no mode asks for another.
pub fn is_on_vector_unit(chip: &Chip, dot: &DotSite) -> bool {
    !dot.on_matrix_unit && compiler_says_vector(chip, dot.dtypes, dot.class)
}

/// Whether the chip's compiler gives a dot to the vector unit. Of two types it does if it does so for a dot of one of them, as in
/// the lines of the table that mix two; a chip or type without a line has no such dots.
fn compiler_says_vector(chip: &Chip, dtypes: [Option<DType>; 2], class: DotClass) -> bool {
    let of_both = |dtype: DType| ROWS.get(&(chip.name, [dtype.name(); 2], class.0)).copied().unwrap_or(false);
    // The table has pairs of one type: of 8 bits one operand is enough for the vector unit (FACTS 2.3).
    dtypes.into_iter().flatten().any(of_both)
}

impl Arithmetic {
    /// The unit that computes a dot.
    pub fn dot(&self, dot: &DotSite) -> DotUnit {
        let DotSite { precision, dtypes, sizes, .. } = *dot;
        let [m, _, n] = sizes;
        let on_vector_unit = match self.choices.dsr {
            VectorDots::Compiler => is_on_vector_unit(self.chip, dot),
            // A dot of a compiled file is where the compiler put it, whatever the mode says (FACTS 2.3).
            VectorDots::On => !dot.on_matrix_unit && (m == 1 || n == 1),
            VectorDots::Off => false,
        };
        // f64 first: no unit of a TPU has it, and its compiler makes other code of it (FACTS 9.3).
        if dtypes == [Some(DType::F64); 2] {
            DotUnit::Double
        } else if on_vector_unit {
            DotUnit::Vector
        } else if !self.chip.matrix_unit || self.precision.overrides {
            DotUnit::Matrix(Passes::F32)
        } else if !dtypes.contains(&Some(DType::F32)) {
            // Operands of a narrower type enter the matrix unit as they are.
            DotUnit::Matrix(Passes::Exact)
        } else {
            // Operands may ask for different precisions: passes are of both, so the better one counts.
            DotUnit::Matrix(match precision[0].max(precision[1]) {
                Precision::Default => self.precision.passes,
                Precision::High => Passes::Three,
                Precision::Highest => Passes::Six,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::chip::CHIPS;
    use super::*;
    use crate::tensor::DTYPES;

    fn unit(mode: &str, dtypes: [DType; 2], sizes: [usize; 3], on_matrix_unit: bool) -> DotUnit {
        let mode: Arithmetic = mode.parse().unwrap();
        mode.dot(&DotSite { on_matrix_unit, ..DotSite::as_written(dtypes.map(Some), sizes) })
    }

    /// FACTS 2.3, [AOT]: figures of jax 0.10.2 and libtpu 0.0.42.1, written down by hand.
    #[test]
    fn only_tpu7x_gives_a_vector_and_a_matrix_to_the_matrix_unit() {
        let f32s = [DType::F32; 2];
        for chip in ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"] {
            let at = |dtypes, sizes| unit(&format!("{chip}/default/off"), dtypes, sizes, false);
            let matrix = |passes| DotUnit::Matrix(passes);
            let of_vector = if chip == "tpu7x" { matrix(Passes::One) } else { DotUnit::Vector };
            for sizes in [[1, 128, 128], [1, 4096, 4096], [8, 4096, 1], [512, 512, 1], [2, 2, 1], [1, 4096, 256]] {
                assert_eq!(at(f32s, sizes), of_vector, "{chip} {sizes:?}");
            }
            assert_eq!(at([DType::BF16; 2], [1, 128, 128]) == DotUnit::Vector, chip != "tpu7x");
            // Operands of 8 bits stay on the vector unit on tpu7x as well; those of 4 do not.
            assert_eq!(at([DType::F8E4M3FN; 2], [1, 128, 128]), DotUnit::Vector, "{chip}");
            assert_eq!(at([DType::F4E2M1FN; 2], [1, 128, 128]) == DotUnit::Vector, chip != "tpu7x");
            for sizes in [[1, 4096, 1], [1, 2, 1], [2, 1, 2], [64, 1, 64], [1, 1, 1]] {
                assert_eq!(at(f32s, sizes), DotUnit::Vector, "{chip} {sizes:?}");
            }
            assert_eq!(at(f32s, [2, 2, 2]), matrix(Passes::One), "{chip}");
            assert_eq!(at([DType::BF16; 2], [2, 2, 2]), matrix(Passes::Exact), "{chip}");
        }
        assert_eq!(unit("cpu/f32/off", f32s, [1, 4, 1], false), DotUnit::Matrix(Passes::F32));
    }

    /// A dot that a TPU's compiler has left one is on the matrix unit, whatever its shape, chip and refinement.
    #[test]
    fn a_dot_of_a_compiled_file_is_on_the_matrix_unit() {
        for sizes in [[1, 4096, 256], [8, 64, 1], [1, 2, 1], [2, 1, 2], [1, 1, 1], [2, 2, 2]] {
            for mode in ["v2/default/off", "v5e/default/off", "v6e/default/off", "tpu7x/default/off+dsr=on"] {
                assert_eq!(unit(mode, [DType::F32; 2], sizes, true), DotUnit::Matrix(Passes::One), "{mode} {sizes:?}");
            }
        }
        assert_eq!(unit("v5e/default/off", [DType::F64; 2], [1, 2, 1], true), DotUnit::Double);
    }

    /// FACTS 2.3: three bf16 passes for `high`, six for `highest`; the more accurate of both operands' precisions counts. Operands of
    /// which none is f32 enter as they are, and the precision `f32` splits nothing.
    #[test]
    fn precisions_and_types_choose_the_passes() {
        let of = |mode: &str, dtypes: [DType; 2], precision: [Precision; 2]| {
            let mode: Arithmetic = mode.parse().unwrap();
            mode.dot(&DotSite { precision, ..DotSite::as_written(dtypes.map(Some), [2, 2, 2]) })
        };
        let (f32s, default) = ([DType::F32; 2], Precision::Default);
        for (precision, passes) in [(Precision::High, Passes::Three), (Precision::Highest, Passes::Six)] {
            for both in [[precision, default], [default, precision], [precision; 2]] {
                assert_eq!(of("v5e/default/off", f32s, both), DotUnit::Matrix(passes), "{both:?}");
                assert_eq!(of("v5e/f32/off", f32s, both), DotUnit::Matrix(Passes::F32), "{both:?}");
            }
        }
        for mixed in [[DType::BF16, DType::F32], [DType::F32, DType::BF16]] {
            assert_eq!(of("v5e/default/off", mixed, [default; 2]), DotUnit::Matrix(Passes::One), "{mixed:?}");
        }
        assert_eq!(of("v5e/default/off", [DType::BF16; 2], [Precision::Highest; 2]), DotUnit::Matrix(Passes::Exact));
    }

    #[test]
    fn a_mode_may_ask_for_another_unit() {
        let f32s = [DType::F32; 2];
        assert_eq!(unit("tpu7x/default/off+dsr=on", f32s, [1, 4, 8], false), DotUnit::Vector);
        assert_eq!(unit("v5e/default/off+dsr=off", f32s, [1, 4, 1], false), DotUnit::Matrix(Passes::One));
        assert_eq!(unit("v5e/default/off+dsr=off", f32s, [4, 1, 4], false), DotUnit::Matrix(Passes::One));
        assert_eq!(unit("v5e/default/off+dsr=on", f32s, [4, 4, 4], false), DotUnit::Matrix(Passes::One));
    }

    /// FACTS 2.3, [AOT]: figures of jax 0.10.2 and libtpu 0.0.42.1, written down by hand: batch dims, m, contracting dims, n.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table of figures")]
    fn batch_dims_decide_the_unit_of_a_vector_and_a_matrix() {
        type Dims = (&'static [usize], &'static [usize], &'static [usize], &'static [usize]);
        let is_on_vector_unit = |mode: &str, (batch, m, k, n): Dims| {
            let extents = DotExtents { batch: batch.to_vec(), contracting: k.to_vec(), free: [m.to_vec(), n.to_vec()] };
            let product = |dims: &[usize]| dims.iter().product();
            let dot = DotSite::as_written([Some(DType::F32); 2], [product(m), product(k), product(n)]);
            let mode: Arithmetic = mode.parse().unwrap();
            mode.dot(&DotSite { class: DotClass::of(&extents), ..dot }) == DotUnit::Vector
        };
        for chip in ["v2", "v3", "v4", "v5e", "v5p", "v6e"] {
            let mode = format!("{chip}/default/off");
            let on_matrix_unit: [Dims; 8] = [
                (&[4], &[], &[64], &[64]),
                (&[4], &[64], &[128], &[]),
                (&[1024], &[], &[64], &[64]),
                (&[2, 2], &[], &[64], &[64]),
                (&[4], &[], &[64], &[64, 2]),
                (&[4], &[], &[2, 64], &[64]),
                (&[4], &[], &[64, 2], &[128]),
                (&[4], &[512, 2], &[128], &[]),
            ];
            let on_vector_unit: [Dims; 10] = [
                (&[4], &[], &[63], &[64]),
                (&[4], &[], &[64], &[63]),
                (&[4], &[1], &[64], &[64]),
                (&[1], &[], &[64], &[64]),
                (&[2, 1, 3], &[], &[64], &[64]),
                (&[4], &[], &[64], &[2, 512]),
                (&[4], &[], &[64], &[64, 1]),
                (&[4], &[], &[63, 63], &[128]),
                (&[4], &[], &[64, 1], &[64]),
                (&[], &[], &[1024], &[1024]),
            ];
            for dims in on_matrix_unit {
                assert!(!is_on_vector_unit(&mode, dims), "{chip} {dims:?}");
            }
            for dims in on_vector_unit {
                assert!(is_on_vector_unit(&mode, dims), "{chip} {dims:?}");
            }
        }
        let on_matrix_unit: [Dims; 8] = [
            (&[100], &[1], &[4], &[100]),
            (&[129], &[1], &[4], &[100]),
            (&[127], &[1], &[2], &[127]),
            (&[129], &[1], &[2], &[127]),
            (&[1024], &[], &[128], &[2]),
            (&[64], &[], &[64], &[64]),
            (&[2, 2, 64], &[], &[64], &[64]),
            (&[2], &[1], &[2], &[2]),
        ];
        let on_vector_unit: [Dims; 8] = [
            (&[101], &[1], &[4], &[100]),
            (&[128], &[1], &[4], &[100]),
            (&[1024], &[1], &[2], &[127]),
            (&[256], &[], &[63], &[64]),
            (&[65], &[], &[64], &[64]),
            (&[2, 128], &[], &[64], &[64]),
            (&[3], &[1], &[2], &[2]),
            (&[128], &[64], &[64], &[]),
        ];
        for dims in on_matrix_unit {
            assert!(!is_on_vector_unit("tpu7x/default/off", dims), "{dims:?}");
        }
        for dims in on_vector_unit {
            assert!(is_on_vector_unit("tpu7x/default/off", dims), "{dims:?}");
        }
    }

    /// Every line is read, and the machine's choice for its shapes and types is the compiler's.
    #[test]
    fn the_machine_chooses_as_each_line_of_the_table_says() {
        let mut told = 0;
        for line in TABLE.lines().filter(|line| !line.starts_with(['#', 'c'])) {
            let [chip, lhs, rhs, named, unit, shapes] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let mode: Arithmetic = format!("{chip}/default/off").parse().unwrap();
            let dtypes = [lhs, rhs].map(|name| Some(DType::from_name(name).unwrap()));
            for shape in shapes.split(' ') {
                let sizes: Vec<Vec<usize>> = shape.split('x').map(|size| size.parse().into_iter().collect()).collect();
                let [batch, m, k, n] = &sizes[..] else { panic!("{line}") };
                let [batch, k] = [batch, k].map(|one| one.clone());
                // A batch of one counts as no batch, as in the script.
                let batch = if batch == [1] { Vec::new() } else { batch };
                let extents = DotExtents { batch, contracting: k, free: [m.clone(), n.clone()] };
                let products = [m, &extents.contracting, n].map(|dims| dims.iter().product());
                let class = DotClass::of(&extents);
                assert_eq!(class.0, named, "{line}: {shape}");
                let dot = DotSite { class, ..DotSite::as_written(dtypes, products) };
                let on_vector_unit = mode.dot(&dot) == DotUnit::Vector;
                assert_eq!(on_vector_unit, unit == "vector", "{line}: {shape}");
                told += 1;
            }
        }
        assert_eq!(ROWS.len(), TABLE.lines().count() - 2);
        assert!(told > 3000, "{told}");
        assert_eq!(releases_of_dot_units(), "jax 0.10.2, libtpu 0.0.42.1");
    }

    /// No chip and no type of floats is left to a default.
    #[test]
    fn the_table_has_every_chip_and_type() {
        let floats = DTYPES.iter().filter(|dtype| dtype.is_float() && **dtype != DType::F64);
        for dtype in floats {
            for chip in CHIPS.iter().filter(|chip| chip.matrix_unit) {
                let vectors = ["no-free-dim", "wide-batch", "wide-batch-no-free-dim", "vector-matrix", "matrix-vector"];
                for class in ["one-product", "vector-vector", "matrix-matrix"].into_iter().chain(vectors) {
                    let kind = (chip.name, [dtype.name(); 2], class);
                    assert!(ROWS.contains_key(&kind), "{kind:?}");
                }
            }
        }
    }
}
