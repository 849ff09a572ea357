//! Promises of dots and sums, wherever a mode computes them.

use crate::ir::{ComputationId, ValueId};
use crate::num::{F32, F64};
use crate::tensor::DType;

use super::dot_unit::{DotSite, DotUnit};
use super::mode::Arithmetic;
use super::mxu::{DotPromise, Intake, Passes};
use super::prepared::Prepared;
use super::sum::SumPromise;
use super::sum_code::Terms;
use super::summation::Summation;

impl Arithmetic {
    /// The promise of a dot on the unit that computes it. `bf16_valued` says that operands hold nothing but numbers of bf16.
    pub fn dot_promise(&self, dot: &DotSite, bf16_valued: bool) -> DotPromise {
        let [_, k, _] = dot.sizes;
        let plain = |unit_roundoff: f64, chain: u64, lost: f64, floor: f64| DotPromise {
            split: 0.0,
            spread: 0.0,
            unit_roundoff,
            // The rounding of the product itself.
            chain: chain + 1,
            products: k as u64,
            rounds_products: true,
            is_along_k: false,
            lost: lost * k as f64,
            intake: Intake::Flushed(floor),
        };
        match self.dot(dot) {
            DotUnit::Double => plain(F64.unit_roundoff(), k.saturating_sub(1) as u64, F64.min_subnormal(), 0.0),
            DotUnit::Vector => {
                let floor = self.vector_unit().floor(DType::F32);
                let chain = self.choices.reduce.longest_chain(k);
                plain(F32.unit_roundoff(), chain, floor.max(F32.min_subnormal()), floor)
            }
            DotUnit::Matrix(passes) => {
                let promise =
                    self.matrix_unit_for(dot.tiling).promise(passes, bf16_valued || passes == Passes::Exact, k);
                DotPromise { is_along_k: self.chip.matrix_unit, ..promise }
            }
        }
    }
}

impl Prepared<'_> {
    /// The promise in `mode` of a sum of floats in a computation, from an init that is a zero or not, as the kernel that runs it
    /// gives it; `None` where nothing is promised of its order.
    pub fn sum_promise(
        &self,
        mode: &Arithmetic,
        (computation, id): (ComputationId, ValueId),
        from_zero: bool,
    ) -> Option<SumPromise> {
        let instructions = &self.program.computations[computation].instructions;
        let (kernels, instruction) = (&self.frames(mode)[computation].kernels, &instructions[id]);
        let array = *instruction.operands.first()?;
        let terms = match &kernels[array].code {
            term if kernels[id].rounds(0) || !term.is_in_flight() => Terms::Numbers,
            term if term.is_several() => Terms::Several,
            _ => Terms::Products,
        };
        let of = (instruction, &instructions[array].shape);
        Summation::of_instruction(mode, &kernels[id].sums, of, terms, from_zero)?.promise()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Tiling;
    use crate::vector::SumOrder;

    fn promise(mode: &str, sizes: [usize; 3]) -> DotPromise {
        let mode: Arithmetic = mode.parse().unwrap();
        mode.dot_promise(&DotSite::as_written([Some(DType::F32); 2], sizes), false)
    }

    /// A vector unit that flushes loses operands and products below the least normal f32, 2^-126; one that does not flush loses less than the least
    /// subnormal, 2^-149 (FACTS 3.4).
    #[test]
    fn a_flushing_vector_unit_promises_what_it_loses() {
        for (mode, lost) in [("v5e/default/off+dsr=on", 2f64.powi(-126)), ("cpu/f32/off+dsr=on", 2f64.powi(-149))] {
            let found = promise(mode, [1, 4, 1]);
            assert_eq!(found.lost, 4.0 * lost, "{mode}");
            let floor = if lost > 1e-40 { lost } else { 0.0 };
            assert!(matches!(found.intake, Intake::Flushed(taken) if taken == floor), "{mode}");
        }
    }

    /// Counted by hand: what meets a product of the first block on its way.
    #[test]
    fn chains_are_as_long_as_the_declared_order() {
        for (mode, k, additions) in [
            // One product is on the vector unit, which rounds it.
            ("v5e/default/off", 1, 1),
            ("v5e/default/off+dsr=off", 1, 0),
            ("v5e/default/off", 2, 1),
            ("v5e/default/off", 100, 99),
            ("v5e/default/off", 130, 127 + 1),
            ("v5e/default/off", 1024, 127 + 7),
            ("v6e/default/off", 1024, 255 + 3),
            ("v5e/default/off+acc=trunc", 1024, 127 + 7),
            ("v5e/default/off+acc=chain", 1024, 1023),
            ("v5e/default/off+acc=pairwise", 1024, 7 + 7),
            // Two of three meet before the third does; five need three levels.
            ("v5e/default/off+acc=pairwise+dsr=off", 1, 0),
            ("v5e/default/off+acc=pairwise", 2, 1),
            ("v5e/default/off+acc=pairwise", 3, 2),
            ("v5e/default/off+acc=pairwise", 5, 3),
            ("v5e/default/off+acc=pairwise", 8, 3),
            ("v5e/default/off+acc=pairwise", 100, 7),
            ("v5e/default/off+acc=pairwise", 129, 7 + 1),
            ("v5e/default/off+acc=exact", 1024, 1 + 7),
            ("v5e/default/off+acc=exact", 129, 1 + 1),
            ("v5e/default/off", 129, 127 + 1),
            ("v5e/default/off", 256, 127 + 1),
            ("v5e/default/off", 257, 127 + 2),
            // Three passes are joined by two additions, six by five; a product in f32 is rounded itself.
            ("v5e/high/off", 1024, 127 + 7 + 2),
            ("v5e/highest/off", 1024, 127 + 7 + 5),
            ("v5e/f32/off", 1024, 127 + 7 + 1),
            ("cpu/f32/off", 1024, 1023 + 1),
        ] {
            assert_eq!(promise(mode, [16, k, 16]).chain, additions, "{mode} at k = {k}");
        }
        // Four blocks of 128 in a stretch of 512, and two stretches; a stretch shorter than a block is one itself.
        let tiled = |k_block: usize| {
            let mode: Arithmetic = "v5e/default/off+acc=tiled".parse().unwrap();
            let tiling = Tiling::of_k_block(k_block);
            let dot = DotSite::as_written([Some(DType::F32); 2], [16, 1024, 16]);
            mode.dot_promise(&DotSite { tiling: Some(&tiling), ..dot }, false).chain
        };
        assert_eq!((tiled(512), tiled(64), tiled(2048)), (127 + 3 + 1, 63 + 15, 127 + 7));
        // One sum that goes on: the cut at 500 makes blocks of 128, 128, 128, 116 twice and one of 24; one at 512 none.
        let running = |k_block: usize| {
            let mode: Arithmetic = "v5e/default/off+acc=running".parse().unwrap();
            let tiling = Tiling::of_k_block(k_block);
            let dot = DotSite::as_written([Some(DType::F32); 2], [16, 1024, 16]);
            mode.dot_promise(&DotSite { tiling: Some(&tiling), ..dot }, false).chain
        };
        assert_eq!((running(500), running(512), running(64), running(2048)), (127 + 8, 127 + 7, 63 + 15, 127 + 7));
        // With a vector operand the vector unit sums: one register of 8 x 128, sublanes, halving; windows of 32.
        assert_eq!(promise("v5e/default/off", [1, 1024, 16]).chain, 7 + 7 + 1);
        assert_eq!(promise("v5e/default/off", [1, 1025, 16]).chain, 1 + 7 + 7 + 1);
        assert_eq!(promise("v5e/default/off+reduce=chain", [1, 1024, 16]).chain, 1023 + 1);
        assert_eq!(promise("v5e/default/off+reduce=tree32", [1, 1025, 16]).chain, 31 + 31 + 1 + 1);
    }

    #[test]
    fn chains_of_sums_are_never_longer_than_one_of_all() {
        for order in SumOrder::ALL {
            for count in (0..3000).chain([32_768, 1 << 20]) {
                assert!(order.longest_chain(count) <= (count as u64).saturating_sub(1), "{order:?} {count}");
            }
        }
        assert_eq!(SumOrder::Lanes.longest_chain(3), 2);
        assert_eq!(SumOrder::Tree32.longest_chain(33), 31 + 1);
    }

    /// FACTS 2.3: with u = 2^-8, one pass loses 2 u + u^2 of a product; three leave (2 u) u of each operand and drop l l; six leave
    /// (2 u) u u of each and drop m l, l m and l l.
    #[test]
    fn constants_are_those_of_the_passes() {
        let u = 2f64.powi(-8);
        let both = |left: f64| 2.0 * left + left * left;
        for (mode, split, products, roundoff) in [
            ("v5e/default/off", both(u), 64, 2f64.powi(-24)),
            ("v5e/default/off+acc=trunc", both(u), 64, 2f64.powi(-23)),
            ("v5e/default/off+split=trunc", both(u), 64, 2f64.powi(-24)),
            ("v5e/high/off", both(2.0 * u * u) + 4.0 * u * u, 3 * 64, 2f64.powi(-24)),
            ("v5e/high/off+split=rne", both(u * u) + u * u, 3 * 64, 2f64.powi(-24)),
            (
                "v5e/highest/off",
                both(2.0 * u * u * u) + 2.0 * (2.0 * u) * (2.0 * u * u) + (2.0 * u * u) * (2.0 * u * u),
                6 * 64,
                2f64.powi(-24),
            ),
            ("v5e/f32/off", 0.0, 64, 2f64.powi(-24)),
            ("cpu/f32/off", 0.0, 64, 2f64.powi(-24)),
        ] {
            let promise = promise(mode, [16, 64, 16]);
            assert_eq!((promise.split, promise.products, promise.unit_roundoff), (split, products, roundoff), "{mode}");
            assert_eq!(promise.lost, products as f64 * 2f64.powi(-149), "{mode}");
        }
        // A processor without a matrix unit may flush what that keeps.
        assert_eq!(promise("planned/f32/off", [16, 64, 16]).lost, 64.0 * 2f64.powi(-126));
    }

    /// Higham (2002), section 3.1, worked out for the parts: to nearest, h and l have at most (1 + u) + u of |a|.
    #[test]
    fn parts_exceed_their_operand_by_what_their_split_allows() {
        let u = 2f64.powi(-8);
        for (mode, excess) in [
            ("v5e/default/off", u),
            ("v5e/high/off", 2.0 * u),
            ("v5e/high/off+split=rne", 2.0 * u),
            ("v5e/high/off+split=trunc", 2.0 * u),
            ("v5e/highest/off", 2.0 * u + 2.0 * u * u),
            ("v5e/highest/off+split=rne", 2.0 * u + u * u),
            ("v5e/highest/off+split=trunc", 2.0 * u + 4.0 * u * u),
            ("v5e/f32/off", 0.0),
        ] {
            assert_eq!(promise(mode, [16, 64, 16]).spread, 2.0 * excess + excess * excess, "{mode}");
        }
    }
}
