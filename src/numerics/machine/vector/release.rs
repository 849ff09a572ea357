//! What releases of XLA:CPU compute differently, as data (FACTS 3.9).

use crate::analysis::Codegen;
use crate::ir::Unary;
use crate::tensor::DType;

use super::rsqrt_estimate::Estimate;

/// The choices of one release of jaxlib's XLA:CPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Release {
    /// Where the argument of an f32 erf is cut off: its rational function gives 1 from there on, or nearly so.
    pub erf_clamp: f32,
    /// How f32 cbrt is emitted.
    pub cube_root: CubeRoot,
    /// How f32 tan is emitted.
    pub tangent: Tangent,
    /// How f32 rsqrt is emitted.
    pub reciprocal_root: ReciprocalRoot,
    /// Which product LLVM contracts in f32 log1p near 0.
    pub log_plus_one: Contracted,
    /// What f32 log1p takes the logarithm with elsewhere.
    pub log_plus_one_far: Logarithm,
    /// Whether f16 rsqrt and log1p, and those of cbrt and tan that are no calls, are computed in f16 step by step.
    pub half_steps: bool,
    /// How it makes code of fusions.
    pub codegen: Codegen,
    /// Types that a wider float is converted to by way of f16.
    pub through_half: &'static [DType],
}

/// How XLA emits f32 cbrt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CubeRoot {
    /// A call of the C library's `cbrtf`.
    CLibrary,
    /// `|x|` to the power of the f32 nearest to 1/3, with the sign of x.
    Power,
}

/// How XLA emits f32 tan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tangent {
    /// A call of the C library's `tanf`.
    CLibrary,
    /// The quotient of sine and cosine, each rounded.
    Quotient,
}

/// How XLA emits f32 rsqrt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReciprocalRoot {
    /// The processor's estimate, refined.
    RefinedEstimate(Estimate),
    /// `1 / sqrt(x)`, both rounded.
    Quotient,
}

/// Which product LLVM contracts in `x + (x^3 P(x)/Q(x) - x^2 / 2)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Contracted {
    /// `x^2 / 2`, which is exact: the other is rounded.
    HalfSquare,
    /// That with P/Q.
    Quotient,
}

/// A logarithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logarithm {
    /// XLA's own polynomial, which it puts in the place of LLVM's intrinsic.
    Polynomial,
    /// A call of the C library's `logf`: the intrinsic shows only after that pass, when log1p is inlined.
    CLibrary,
}

/// The choice of a release that decides the bits of one function in one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReleaseChoice {
    way: Option<FunctionWay>,
    /// Whether it is computed in f16 step by step.
    in_half: bool,
}

/// One of several ways in which releases compute a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum FunctionWay {
    CubeRoot(CubeRoot),
    /// The argument at which an erf is cut off, by its bits.
    ErfClamp(u32),
    /// `expm1` in f16.
    HalfSteps,
    /// `log1p` by the C library's logarithm.
    LogarithmOfC,
    LogPlusOne(Contracted),
    ReciprocalRoot(ReciprocalRoot),
    Tangent(Tangent),
}

impl Release {
    /// The same on a processor with this estimate of rsqrt.
    pub fn with_estimate(self, estimate: Estimate) -> Release {
        let reciprocal_root = match self.reciprocal_root {
            ReciprocalRoot::RefinedEstimate(_) => ReciprocalRoot::RefinedEstimate(estimate),
            ReciprocalRoot::Quotient => ReciprocalRoot::Quotient,
        };
        Release { reciprocal_root, ..self }
    }

    /// The choice that decides the bits of a function in a type; the default where all releases compute alike.
    pub fn choice(&self, unary: Unary, dtype: DType) -> ReleaseChoice {
        let half = dtype == DType::F16;
        let way = match unary {
            Unary::Cbrt => Some(FunctionWay::CubeRoot(self.cube_root)),
            Unary::Erf => Some(FunctionWay::ErfClamp(self.erf_clamp.to_bits())),
            Unary::ExponentialMinusOne if half => Some(FunctionWay::HalfSteps),
            Unary::LogPlusOne if half && self.half_steps => None,
            Unary::LogPlusOne if self.log_plus_one_far == Logarithm::CLibrary => Some(FunctionWay::LogarithmOfC),
            Unary::LogPlusOne => Some(FunctionWay::LogPlusOne(self.log_plus_one)),
            Unary::Rsqrt if half && self.half_steps => None,
            Unary::Rsqrt => Some(FunctionWay::ReciprocalRoot(self.reciprocal_root)),
            Unary::Tan => Some(FunctionWay::Tangent(self.tangent)),
            _ => return ReleaseChoice::default(),
        };
        let in_steps = match unary {
            Unary::Cbrt => self.cube_root == CubeRoot::Power,
            Unary::Tan => self.tangent == Tangent::Quotient,
            Unary::LogPlusOne | Unary::Rsqrt => true,
            _ => false,
        };
        ReleaseChoice { way, in_half: half && self.half_steps && in_steps }
    }

    /// jaxlib 0.10.2.
    pub const JAXLIB_0_10_2: Release = Release {
        erf_clamp: 3.832_507,
        cube_root: CubeRoot::CLibrary,
        tangent: Tangent::CLibrary,
        reciprocal_root: ReciprocalRoot::RefinedEstimate(Estimate::Zen4),
        log_plus_one: Contracted::HalfSquare,
        log_plus_one_far: Logarithm::Polynomial,
        half_steps: false,
        codegen: Codegen::JAXLIB_0_10_2,
        through_half: &[],
    };
    /// jaxlib 0.8.1.
    pub const JAXLIB_0_8_1: Release = Release {
        erf_clamp: 3.743_921_3,
        cube_root: CubeRoot::Power,
        log_plus_one_far: Logarithm::CLibrary,
        half_steps: true,
        codegen: Codegen::JAXLIB_0_8_1,
        ..Release::JAXLIB_0_10_2
    };
    /// jaxlib 0.6.2.
    pub const JAXLIB_0_6_2: Release = Release {
        cube_root: CubeRoot::Power,
        tangent: Tangent::Quotient,
        reciprocal_root: ReciprocalRoot::Quotient,
        log_plus_one: Contracted::Quotient,
        half_steps: true,
        codegen: Codegen::JAXLIB_0_6_2,
        through_half: &[DType::F8E4M3FN, DType::F8E5M2, DType::F8E4M3B11FNUZ, DType::F4E2M1FN],
        ..Release::JAXLIB_0_10_2
    };
}
