//! The error that a dot in a declared arithmetic is expected to have.
//!
//! This is arithmetic of its own, from exact partial sums: neither the machine's nor the oracle's.

use crate::machine::mxu::{Accumulation, Passes, Split};
use crate::machine::vector::SumOrder;
use crate::machine::{DotSite, DotUnit, Mode};
use crate::num::{BF16, Direction, F32, Format, exp2i, round_f64};

use super::order_of_additions::AdditionOrder;
use super::partial_sum::{AdditionRounding, PartialSum};

/// The arithmetic of a dot or a sum: operands, products, additions, result.
#[derive(Clone, Debug)]
pub struct DotArithmetic {
    /// The bf16 passes of f32 operands; [`Passes::Exact`] where operands enter as they are and products are exact.
    pub passes: Passes,
    /// The split of f32 operands into bf16 parts.
    pub split: Split,
    /// The order of additions.
    pub order: AdditionOrder,
    /// The format that holds partial sums.
    pub accumulator: &'static Format,
    /// Whether additions truncate.
    pub truncates: bool,
    /// Whether products are added before they are rounded.
    pub fused: bool,
    /// The format of the result, to which the sum is rounded at the end.
    pub out: &'static Format,
}

/// The expected error of one dot: computed less exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DotError {
    /// The part that the operands decide: the products that rounding and splitting them changes, and truncation's mean.
    pub known: f64,
    /// The standard deviation of the rest, the roundings of products and sums.
    pub deviation: f64,
    /// The root of the sum of the squared products.
    pub magnitude: f64,
}

/// Pairs of parts that each number of passes multiplies, in the order in which the passes are added (FACTS 2.3).
const KEPT_OF_ONE: &[[usize; 2]] = &[[0, 0]];
const KEPT_OF_THREE: &[[usize; 2]] = &[[1, 0], [0, 1], [0, 0]];
const KEPT_OF_SIX: &[[usize; 2]] = &[[1, 1], [0, 2], [2, 0], [0, 1], [1, 0], [0, 0]];

/// Pairs of parts that each number of passes leaves out, of the parts that it splits operands into.
const DROPPED_OF_THREE: &[[usize; 2]] = &[[1, 1]];
const DROPPED_OF_SIX: &[[usize; 2]] = &[[1, 2], [2, 1], [2, 2]];

/// Terms of blocks that permitted orders have.
const BLOCKS: [usize; 2] = [128, 256];

impl DotArithmetic {
    /// The arithmetic of a dot in a mode, for a result of this format. `None` for dots of f64, whose errors f64 does not resolve.
    pub fn of_mode(mode: &Mode, site: &DotSite, out: &'static Format) -> Option<DotArithmetic> {
        let unit = mode.matrix_unit_for(site.tiling).for_products(site.sizes[1]);
        let block = unit.block.get();
        let (passes, order, truncates) = match mode.dot(site) {
            DotUnit::Double => return None,
            DotUnit::Vector => (Passes::F32, of_vector_unit(mode.choices.reduce), false),
            DotUnit::Matrix(passes) => {
                let order = match unit.accumulation {
                    Accumulation::Chain => AdditionOrder::Chain,
                    Accumulation::Block | Accumulation::Tiled | Accumulation::Running | Accumulation::Trunc => {
                        AdditionOrder::Blocked(block)
                    }
                    Accumulation::Pairwise => AdditionOrder::Pairwise(block),
                    Accumulation::Exact => AdditionOrder::RoundedOnce(block),
                };
                (passes, order, unit.accumulation == Accumulation::Trunc)
            }
        };
        let narrow = |dtype: &Option<crate::tensor::DType>| *dtype != Some(crate::tensor::DType::F32);
        // The vector unit takes narrow operands as they are, too, and their products are exact.
        let passes = if passes == Passes::F32 && site.dtypes.iter().all(narrow) { Passes::Exact } else { passes };
        Some(DotArithmetic { passes, split: unit.split, order, accumulator: &F32, truncates, fused: unit.fused, out })
    }

    /// The plain sum of numbers of the result's own format in a mode's order.
    pub fn of_sum(mode: &Mode, accumulator: &'static Format, out: &'static Format) -> DotArithmetic {
        let order = of_vector_unit(mode.choices.reduce);
        let (passes, split) = (Passes::Exact, Split::default());
        DotArithmetic { passes, split, order, accumulator, truncates: false, fused: false, out }
    }

    /// This arithmetic, then those that differ from it in what no precision promises: the order of additions, the split, and
    /// whether products are fused.
    pub fn alternatives(&self) -> Vec<DotArithmetic> {
        let blocks = BLOCKS.map(AdditionOrder::Blocked);
        let others = [AdditionOrder::Chain, AdditionOrder::Pairwise(usize::MAX), AdditionOrder::Lanes(16)];
        let mut all = vec![self.clone()];
        for order in blocks.into_iter().chain(others).chain([AdditionOrder::RoundedOnce(usize::MAX)]) {
            all.push(DotArithmetic { order, ..self.clone() });
        }
        if self.passes == Passes::F32 {
            all.extend(all.clone().into_iter().map(|one| DotArithmetic { fused: !one.fused, ..one }));
        }
        if matches!(self.passes, Passes::Three | Passes::Six) {
            let others = Split::ALL.iter().filter(|split| **split != self.split);
            let split_otherwise: Vec<DotArithmetic> =
                others.flat_map(|split| all.iter().map(|one| DotArithmetic { split: *split, ..one.clone() })).collect();
            all.extend(split_otherwise);
        }
        all.dedup_by(|a, b| a.text() == b.text());
        all
    }

    /// A description, such as `three bf16 passes (mixed), f32 additions in blocks of 128`.
    pub fn text(&self) -> String {
        let passes = match self.passes {
            Passes::One => "one bf16 pass, ".to_string(),
            Passes::Three => format!("three bf16 passes ({}), ", self.split.name()),
            Passes::Six => format!("six bf16 passes ({}), ", self.split.name()),
            Passes::F32 if self.fused => "f32 products, fused, ".to_string(),
            Passes::F32 => "f32 products, ".to_string(),
            Passes::Exact => String::new(),
        };
        let truncated = if self.truncates { "truncated " } else { "" };
        format!("{passes}{truncated}{} additions in {}", self.accumulator.name, self.order.text())
    }

    /// The expected error of the dot of these operands, which f32 must hold. Only as many products as both have.
    pub fn error(&self, lhs: &[f64], rhs: &[f64]) -> DotError {
        let rounding = AdditionRounding { format: self.accumulator, truncates: self.truncates };
        let nearest = AdditionRounding { format: self.accumulator, truncates: false };
        let (mut lost, mut squares) = (0.0f64, 0.0f64);
        let kept = match self.passes {
            Passes::Three => KEPT_OF_THREE,
            Passes::Six => KEPT_OF_SIX,
            Passes::One | Passes::F32 | Passes::Exact => KEPT_OF_ONE,
        };
        let mut passes = vec![Vec::with_capacity(lhs.len()); kept.len()];
        for (a, b) in lhs.iter().zip(rhs) {
            let exact = a * b;
            squares += exact * exact;
            match self.passes {
                Passes::F32 if !self.fused => passes[0].push(PartialSum::of(exact).round(&nearest)),
                Passes::F32 | Passes::Exact => passes[0].push(PartialSum::of(exact)),
                Passes::One | Passes::Three | Passes::Six => {
                    let (left, right) = (self.parts(*a), self.parts(*b));
                    lost += self.loss(&left, &right, *b);
                    for (terms, [i, j]) in passes.iter_mut().zip(kept) {
                        terms.push(PartialSum::of(left.parts[*i] * right.parts[*j]));
                    }
                }
            }
        }
        let terms = passes.iter().flatten();
        let (size, grid) =
            terms.fold((0.0, i32::MAX), |(size, grid), term| (size + term.value.abs(), term.grid.min(grid)));
        // Products of high parts are short: their pass can lose nothing, and the other passes then have all of the error.
        let sums = passes.iter().map(|terms| self.order.sum(terms, &rounding));
        let mut sum = sums.fold(PartialSum::EMPTY, |sum, of_pass| sum.add(of_pass, &nearest));
        if sum.variance == 0.0 && size > exp2i(grid) / self.accumulator.unit_roundoff() {
            // Nothing is lost in this order, by luck: in another one something may be.
            (sum.grid, sum.is_odd) = (i32::MIN / 2, false);
            sum = sum.round(&nearest);
        }
        if self.out.fraction_bits < self.accumulator.fraction_bits {
            let before = sum.variance;
            if before == 0.0 && sum.mean == 0.0 {
                let computed = round_f64(self.out, sum.value, Direction::NearestEven);
                sum.mean = computed - sum.value;
            } else {
                sum = sum.round(&AdditionRounding { format: self.out, truncates: false });
            }
        }
        DotError { known: sum.mean - lost, deviation: sum.variance.sqrt(), magnitude: squares.sqrt() }
    }

    /// The bf16 parts of a number and what they leave of it.
    fn parts(&self, value: f64) -> DotParts {
        let count = match self.passes {
            Passes::Three => 2,
            Passes::Six => 3,
            _ => 1,
        };
        let (mut parts, mut rest) = ([0.0; 3], value);
        for (at, part) in parts.iter_mut().enumerate().take(count) {
            let truncates = count > 1
                && match self.split {
                    Split::Mixed => at == 0,
                    Split::Rne => false,
                    Split::Trunc => at + 1 < count,
                };
            let direction = if truncates { Direction::TowardZero } else { Direction::NearestEven };
            *part = round_f64(&BF16, rest, direction);
            rest -= *part;
        }
        DotParts { parts, rest }
    }

    /// The part of `a b` that the passes do not have.
    fn loss(&self, left: &DotParts, right: &DotParts, b: f64) -> f64 {
        let dropped = match self.passes {
            Passes::Three => DROPPED_OF_THREE,
            Passes::Six => DROPPED_OF_SIX,
            _ => &[],
        };
        let kept_left: f64 = left.parts.iter().sum();
        let dropped: f64 = dropped.iter().map(|[i, j]| left.parts[*i] * right.parts[*j]).sum();
        left.rest * b + kept_left * right.rest + dropped
    }
}

/// A number in bf16 parts, and the rest that is in none of them.
struct DotParts {
    parts: [f64; 3],
    rest: f64,
}

/// The order of a sum on the vector unit.
fn of_vector_unit(order: SumOrder) -> AdditionOrder {
    match order {
        SumOrder::Chain => AdditionOrder::Chain,
        SumOrder::Lanes => AdditionOrder::Lanes(1024),
        SumOrder::Tree32 => AdditionOrder::Windows(32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mode::and_compiled;
    use crate::tensor::DType;

    fn of(mode: &str, dtype: DType, sizes: [usize; 3]) -> DotArithmetic {
        let mode: Mode = mode.parse().unwrap();
        DotArithmetic::of_mode(&mode, &DotSite::as_written([Some(dtype); 2], sizes), &F32).unwrap()
    }

    #[test]
    fn a_mode_has_the_arithmetic_that_its_name_says() {
        let text = |mode: &str, dtype| of(mode, dtype, [8, 512, 8]).text();
        assert_eq!(text("v5e/default/off", DType::F32), "one bf16 pass, f32 additions in blocks of 128");
        assert_eq!(text("v6e/high/off", DType::F32), "three bf16 passes (mixed), f32 additions in blocks of 256");
        assert_eq!(text("v5e/default/off", DType::BF16), "f32 additions in blocks of 128");
        assert_eq!(text("cpu/f32/off", DType::F32), "f32 products, f32 additions in one chain");
        for mode in and_compiled(&[], "default/off") {
            assert_eq!(text(&mode, DType::F32), "f32 products, fused, f32 additions in one chain");
        }
        assert_eq!(of("v5e/default/off", DType::F32, [8, 512, 1]).text(), "f32 products, f32 additions in 1024 lanes");
        let mode: Mode = "cpu/f32/off".parse().unwrap();
        let site = DotSite::as_written([Some(DType::F64); 2], [8, 8, 8]);
        assert!(DotArithmetic::of_mode(&mode, &site, &F32).is_none());
    }

    /// The operands' roundings are known to the last bit: (1 + 2^-9) is 1 in bf16, a tie that goes to even.
    #[test]
    fn losses_of_operands_are_known() {
        let a = 1.0 + 2f64.powi(-8);
        let one = of("v5e/default/off", DType::F32, [8, 4, 8]).error(&[a, 0.0], &[a, 1.0]);
        assert_eq!((one.known, one.deviation), (1.0 - a * a, 0.0));
        let six = of("v5e/highest/off", DType::F32, [8, 4, 8]).error(&[a, 0.0], &[a, 1.0]);
        assert_eq!((six.known, six.deviation), (0.0, 0.0), "f32 holds the products of all parts, and their sum");
        let plain = of("cpu/f32/off", DType::F32, [8, 4, 8]).error(&[2.0, 3.0], &[5.0, 7.0]);
        assert_eq!((plain.known, plain.deviation, plain.magnitude), (0.0, 0.0, 541f64.sqrt()));
    }

    #[test]
    fn alternatives_differ_in_order_and_split_alone() {
        let texts = |mode: &str| {
            of(mode, DType::F32, [8, 512, 8]).alternatives().iter().map(DotArithmetic::text).collect::<Vec<_>>()
        };
        let one = texts("v5e/default/off");
        assert!(one.iter().all(|text| text.starts_with("one bf16 pass")) && one.len() >= 6, "{one:?}");
        assert!(texts("v5e/high/off").iter().any(|text| text.contains("(rne)")));
        assert!(texts("cpu/f32/off").iter().any(|text| text.contains("fused")));
    }
}
