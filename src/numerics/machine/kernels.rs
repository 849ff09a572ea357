//! The kernels for f32 dots that YNNPACK has for a processor: the lists of google/XNNPACK, `ynnpack/kernels/dot/generator/`
//! `x86_fp32.py`, `x86_fp32_k2.py` and `x86_fp32_k4.py`, as jaxlib 0.10.2 carries them (FACTS 3.11). Of the kernels without fused
//! multiply-add only those stand here that no kernel with it matches in its block: with AVX-512 none is ever the cheapest.

/// The instructions of the processor that XLA:CPU's code runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Vectors of 16 f32.
    Avx512,
    /// Vectors of 8 f32, with fused multiply-add.
    Avx2,
}

impl Isa {
    /// All of them, the default first.
    pub const ALL: &'static [Isa] = &[Isa::Avx512, Isa::Avx2];

    /// The name in a mode, as in `isa=avx2`.
    pub const fn name(self) -> &'static str {
        match self {
            Isa::Avx512 => "avx512",
            Isa::Avx2 => "avx2",
        }
    }

    /// The one of this name, if there is one.
    pub fn from_name(name: &str) -> Option<Isa> {
        Isa::ALL.iter().copied().find(|isa| isa.name() == name)
    }

    /// Whose it is, for listings.
    pub const fn doc(self) -> &'static str {
        match self {
            Isa::Avx512 => "a processor with AVX-512",
            Isa::Avx2 => "a processor with AVX2 and fused multiply-add, without AVX-512",
        }
    }

    /// f32 in a vector: products of a kernel's tile times its columns.
    pub const fn lanes(self) -> usize {
        match self {
            Isa::Avx512 => 16,
            Isa::Avx2 => 8,
        }
    }

    /// Whether some elements of a vector can be written alone.
    pub const fn masks(self) -> bool {
        matches!(self, Isa::Avx512)
    }

    /// Rows, columns and products of the blocks that the kernels take, in the library's order.
    pub const fn kernels(self) -> &'static [[usize; 3]] {
        match self {
            Isa::Avx512 => AVX512,
            Isa::Avx2 => AVX2,
        }
    }

    /// Rows and columns of the blocks that kernels of one product without fused multiply-add take, which the library lists last.
    pub const fn kernels_without_fma(self) -> &'static [[usize; 2]] {
        match self {
            Isa::Avx512 => &[],
            Isa::Avx2 => &[[4, 8], [6, 8]],
        }
    }
}

#[rustfmt::skip]
const AVX512: &[[usize; 3]] = &[
    [1, 64, 1], [2, 64, 1], [3, 64, 1], [4, 64, 1], [5, 64, 1], [1, 32, 1], [2, 32, 1], [3, 32, 1],
    [4, 32, 1], [5, 32, 1], [5, 16, 1], [1, 32, 2], [2, 32, 2], [3, 32, 2], [4, 32, 2], [5, 32, 2],
    [1, 16, 2], [4, 16, 2], [4, 8, 2], [8, 8, 2], [1, 32, 4], [2, 32, 4], [1, 16, 4], [3, 16, 4],
    [4, 16, 4], [5, 16, 4], [2, 8, 4], [4, 8, 4], [6, 8, 4], [4, 4, 4], [8, 4, 4],
];

#[rustfmt::skip]
const AVX2: &[[usize; 3]] = &[
    [1, 32, 1], [2, 32, 1], [1, 16, 1], [2, 16, 1], [3, 16, 1], [4, 16, 1], [5, 16, 1], [6, 16, 1],
    [8, 8, 1], [1, 16, 2], [2, 16, 2], [1, 8, 2], [3, 8, 2], [4, 8, 2], [5, 8, 2], [6, 8, 2],
    [4, 4, 2], [5, 4, 2], [6, 4, 2], [8, 4, 2],
];
