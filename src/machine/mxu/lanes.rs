//! Chains of additions in explicit vector instructions, for the arithmetic that most modes use. What these compute is
//! what [`super::tile::Chain`] says; a compiler that vectorises that loop keeps its sums in memory or in registers as it
//! pleases, at a tenth or at all of the speed.

/// A chain kernel: its name, its instructions, and how a product joins a sum.
macro_rules! chain {
    ($name:ident, $features:literal, $isa:ident, $step:expr, $add:expr) => {
        /// Sums a tile, `R` rows by `C` columns.
        #[target_feature(enable = $features)]
        pub(in super::super) fn $name<const R: usize, const C: usize, const V: usize>(tile: Tile<R, C>) {
            let Tile { left, right, block, opens, closes, sums, mut carry } = tile;
            let depth = left.len().min(right.len());
            for start in (0..depth).step_by(block) {
                let end = depth.min(start.saturating_add(block));
                let mut part = [[$isa::zero(); V]; R];
                if let Some(carry) = carry.as_deref().filter(|_| !opens) {
                    for r in 0..R {
                        let (carry, _) = carry[r].as_chunks::<{ $isa::LANES }>();
                        for v in 0..V {
                            part[r][v] = $isa::load(&carry[v]);
                        }
                    }
                }
                for (left, right) in left[start..end].iter().zip(&right[start..end]) {
                    let (right, _) = right.as_chunks::<{ $isa::LANES }>();
                    let mut b = [$isa::zero(); V];
                    for v in 0..V {
                        b[v] = $isa::load(&right[v]);
                    }
                    for r in 0..R {
                        let a = $isa::splat(left[r]);
                        for v in 0..V {
                            part[r][v] = $step(part[r][v], a, b[v]);
                        }
                    }
                }
                match carry.as_deref_mut().filter(|_| !closes) {
                    Some(carry) => {
                        for r in 0..R {
                            let (carry, _) = carry[r].as_chunks_mut::<{ $isa::LANES }>();
                            for v in 0..V {
                                $isa::store(&mut carry[v], part[r][v]);
                            }
                        }
                    }
                    None => {
                        for r in 0..R {
                            let (sums, _) = sums[r].as_chunks_mut::<{ $isa::LANES }>();
                            for v in 0..V {
                                let sum = $add($isa::load(&sums[v]), part[r][v]);
                                $isa::store(&mut sums[v], sum);
                            }
                        }
                    }
                }
            }
        }
    };
}

/// Chains in AVX2 and FMA, 8 lanes.
pub(super) mod avx2 {
    use std::arch::x86_64::{_mm256_add_ps, _mm256_fmadd_ps, _mm256_mul_ps};

    use crate::mxu::isa::memory::avx2 as isa;
    use crate::mxu::tile::Tile;

    chain!(fused, "avx2,fma", isa, |sum, a, b| _mm256_fmadd_ps(a, b, sum), |a, b| _mm256_add_ps(a, b));
    chain!(separate, "avx2,fma", isa, |sum, a, b| _mm256_add_ps(sum, _mm256_mul_ps(a, b)), |a, b| _mm256_add_ps(a, b));
}

/// Chains in AVX-512, 16 lanes.
pub(super) mod avx512 {
    use std::arch::x86_64::{
        _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO, _mm512_add_ps, _mm512_add_round_ps, _mm512_fmadd_ps,
        _mm512_fmadd_round_ps, _mm512_mul_ps,
    };

    use crate::mxu::isa::memory::avx512 as isa;
    use crate::mxu::tile::Tile;

    /// Toward zero, whatever the processor's mode.
    const TRUNCATE: i32 = _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC;

    chain!(fused, "avx512f", isa, |sum, a, b| _mm512_fmadd_ps(a, b, sum), |a, b| _mm512_add_ps(a, b));
    chain!(separate, "avx512f", isa, |sum, a, b| _mm512_add_ps(sum, _mm512_mul_ps(a, b)), |a, b| _mm512_add_ps(a, b));
    chain!(truncated, "avx512f", isa, |sum, a, b| _mm512_add_round_ps::<TRUNCATE>(sum, _mm512_mul_ps(a, b)), |a, b| {
        _mm512_add_round_ps::<TRUNCATE>(a, b)
    });
    chain!(truncated_fused, "avx512f", isa, |sum, a, b| _mm512_fmadd_round_ps::<TRUNCATE>(a, b, sum), |a, b| {
        _mm512_add_round_ps::<TRUNCATE>(a, b)
    });
}
