//! Differences between releases of XLA:CPU, and of the LLVM in them, in the code that they generate for a fusion, as
//! data (FACTS 3.9).

/// Number of f32 elements in a register of 256 bits, which LLVM prefers to wider ones.
pub const LANES: usize = 8;

/// The choices of one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codegen {
    /// Whether a fusion is emitted value by value, operands from left to right (`FusedIrEmitter`), and not as functions
    /// of which each is emitted breadth first.
    pub value_by_value: bool,
    /// Whether invariant code has left the innermost loop when LLVM orders operands.
    pub hoists_first: bool,
    /// Whether LLVM may unroll the loops around the one over the innermost reduced dim, and interleave registers in
    /// them. Newer emitters mark these loops `llvm.loop.unroll.disable`.
    pub free_loops: bool,
    /// Whether LLVM reads elements that are not adjacent with the processor's gathers, which cost little more than the
    /// reads alone.
    pub gathers: bool,
    /// Whether the library takes sums of products for dots ([`super::LibraryDot`]).
    pub sums_are_dots: bool,
    /// Whether LLVM sees that a square times a positive number is not -0.
    pub signs_of_products: bool,
    /// Whether a conversion to bf16 is a call of `xla.fptrunc` until LLVM has put operands in order.
    pub calls_to_narrow: bool,
    /// Whether the processor writes some elements of a register alone (AVX-512).
    pub masks: bool,
}

impl Codegen {
    /// All releases, each with and without masks.
    pub const ALL: [Codegen; 6] = [
        Codegen::JAXLIB_0_10_2,
        Codegen::JAXLIB_0_8_1,
        Codegen::JAXLIB_0_6_2,
        Codegen::JAXLIB_0_10_2.with_masks(false),
        Codegen::JAXLIB_0_8_1.with_masks(false),
        Codegen::JAXLIB_0_6_2.with_masks(false),
    ];

    /// The same release on a processor with or without masks.
    pub const fn with_masks(self, masks: bool) -> Codegen {
        Codegen { masks, ..self }
    }

    /// jaxlib 0.10.2.
    pub const JAXLIB_0_10_2: Codegen = Codegen {
        value_by_value: false,
        hoists_first: true,
        free_loops: false,
        gathers: false,
        sums_are_dots: true,
        signs_of_products: true,
        calls_to_narrow: true,
        masks: true,
    };
    /// jaxlib 0.8.1.
    pub const JAXLIB_0_8_1: Codegen =
        Codegen { sums_are_dots: false, signs_of_products: false, ..Codegen::JAXLIB_0_10_2 };
    /// jaxlib 0.6.2.
    pub const JAXLIB_0_6_2: Codegen = Codegen {
        value_by_value: true,
        hoists_first: false,
        free_loops: true,
        gathers: true,
        sums_are_dots: false,
        signs_of_products: false,
        calls_to_narrow: false,
        masks: true,
    };
}
