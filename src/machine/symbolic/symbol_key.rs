//! Keys: all that decides what an operation computes, beside its operands. Two operations with equal keys and equal operands
//! give equal bits, so a key is a typed value that is compared and hashed, never a text about one.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::analysis::{Comparator, Reducer};
use crate::ir::{Binary, Compare, CompareOrder, LibraryFunction, Opaque, Setting, Shape, Unary};
use crate::tensor::DType;

use super::super::backend::Ties;
use super::super::coded::Coded;
use super::super::function_code::FunctionCode;
use super::super::mxu::{Passes, Unit};
use super::super::select::{Binning, PlantedFault};
use super::super::summation::SumPlan;
use super::super::vector::{ErrorModel, Estimate, Eup, Implementation, SumOrder, ZeroTie};
use super::symbol::Mixer;

/// The input of a fingerprint. Types are those that are computed in: f32 stands for every float that it holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// An element of the argument of this number.
    Argument(usize),
    /// Settings of a file that the machine does not follow, around a value.
    Settings(Arc<[Setting]>),
    /// The bits of a number in one type, read as another.
    Bits { from: DType, to: DType },
    /// A rounding to a format of so many bits.
    ReducePrecision { exponent_bits: u32, mantissa_bits: u32, dtype: DType },
    /// A rounding to a type, whose number follows.
    Round,
    /// A number of f32 as a TPU takes it to a narrower float.
    Narrowed,
    /// A conversion that is no rounding between floats; `nan` is the integer that NaN becomes where that is not 0.
    Convert { from: DType, to: DType, flush: bool, nan: Option<i32> },
    /// A function of one operand.
    Function(Function),
    /// A comparison; `float` says how floats are compared and whether subnormals count as zeros.
    Compare { direction: Compare, dtype: DType, float: Option<(CompareOrder, bool)> },
    /// A choice by a predicate.
    Select,
    /// A product that is not rounded.
    Product { flush: bool },
    /// Products that join a sum one after the other.
    ProductTerms,
    /// Products in flight, rounded.
    RoundedProduct,
    /// A sum of such a product, rounded once.
    FusedSum { flush: bool },
    /// An operation of two operands.
    Binary { binary: Binary, dtype: DType, flush: bool, choice: BinaryChoice },
    /// Terms whose order and grouping do not show; `float` says whether subnormals count as zeros and which zero wins.
    Gathered { binary: Binary, dtype: DType, float: Option<(bool, ZeroTie)> },
    /// The sum of a row's and a column's products.
    Dot(Dot),
    /// The elements of a row or a column of a dot.
    DotTerms,
    /// A sum over reduced dims.
    Sum { plan: SumPlan, flush: bool },
    /// Any other reduction.
    Reduce { plan: ReducePlan, flush: bool },
    /// A region that joins two elements of a window.
    Joined { dtype: DType, exact: bool, flush: bool },
    /// A loop, compared as a whole.
    While,
    /// An element of a region's parameter.
    State(usize),
    /// The shapes of operands or of a region's parameters.
    Shapes(Vec<Shape>),
    /// A region as the machine knows it: as it is, and but for roundings.
    Region { reducers: [Option<Reducer>; 2], comparators: [Option<Comparator>; 2] },
    /// A function that nothing here has a meaning for.
    Opaque(Opaque),
    /// A library's function.
    Library(LibraryFunction),
    /// A sort by a region.
    Sort { ties: Ties, flush: bool },
    /// The order of top-k: IEEE totalOrder, ties in the order of places.
    ByBits { descending: bool },
    /// The order of top-k of integers of a type, ties in the order of places.
    ByInteger { descending: bool, dtype: DType },
    /// A stable sort by one key.
    StableSort { descending: bool, order: CompareOrder, canonical: bool, flush: bool },
    /// A lane that is sorted along with its key.
    SortedLane,
    /// The bins of an approximate top-k.
    Bins { kind: Bins, rank: usize, bins: usize, binning: Binning, fault: PlantedFault, flush: bool },
    /// A lane of these extents that indices choose from.
    Lane { extents: Vec<usize> },
    /// One of several elements.
    Either,
    /// An element that an index chooses.
    Pick,
    /// An element, or one of an update.
    Update,
    /// A scatter into arrays of these dims, by windows of these extents, whose indices arguments decide.
    Scatter { dims: Vec<usize>, window: Vec<usize> },
    /// Bits of other numbers in one integer, and the bits of its type where its sign may be set.
    Packed { signed_bits: u32 },
    /// The values of a function, one for each argument that there is.
    Values,
    /// A function that is known by its values.
    ByValues,
    /// A key of tests.
    #[cfg(test)]
    Test(&'static str),
}

/// A function of one operand, as a unit computes it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    pub unary: Unary,
    pub dtype: DType,
    pub flush: bool,
    pub error: ErrorModel,
    /// The generation and the implementation whose error it has, where it errs.
    pub errs: Option<(Eup, Implementation)>,
    pub source: FunctionSource,
    /// Whether it is computed in packed steps of bf16.
    pub packed: bool,
    /// The choice that a library's function leaves to the processor or the type.
    pub way: Option<OwnWay>,
}

/// A choice within a library's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OwnWay {
    /// The processor's estimate, which it refines.
    Estimate(Estimate),
    /// The type to which each step is rounded.
    StepsOf(DType),
}

/// The code that computes a function.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FunctionSource {
    /// The vector unit's.
    Unit,
    /// The backend's.
    Coded(Coded<dyn FunctionCode>),
}

/// The choice that decides an operation of two operands beside its types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryChoice {
    /// Nothing.
    Plain,
    /// Of a quotient, whether it is a product with the reciprocal, and what perturbs it.
    Quotient { by_reciprocal: bool, perturbed: Option<(ErrorModel, Eup)> },
    /// Of a maximum or minimum, which zero wins.
    Extreme(ZeroTie),
    /// Of a function of two operands, how it errs, and on which generation.
    Function(ErrorModel, Option<Eup>),
}

/// The sum of a dot's products, but for the parts that differ from place to place.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Dot {
    /// Integers of this type.
    Integers(DType),
    /// Parts of complex numbers.
    Complex { flush: bool },
    /// In f64.
    Double,
    /// On the vector unit.
    Vector { order: SumOrder, flush: bool },
    /// On the matrix unit.
    Matrix(Passes, Unit),
}

/// The join of terms that are no plain sum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReducePlan {
    /// The best value and its index.
    Picks(Reducer),
    /// Products that are not rounded before, in windows of these extents.
    Windows { extents: Vec<usize>, dtype: DType },
    /// One after the other; of floats in this type.
    Chain(Option<DType>),
}

/// The approximate top-k that fills the bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bins {
    /// `ApproxTopK`; `recall_target` by its bits.
    Approximate {
        k: usize,
        recall_target: u32,
        aggregate_to_topk: bool,
        reduction_input_size_override: Option<usize>,
        partial_reduce: bool,
    },
    /// `PartialReduce`.
    Partial { log2_reduction: u32 },
}

impl Key {
    /// The mixer that begins with this key.
    pub fn mixer(&self) -> Mixer {
        let mut mixer = Mixer::empty();
        self.hash(&mut mixer);
        mixer.stir()
    }
}

impl Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.absorb(u64::from_le_bytes(word));
        }
        self.absorb(bytes.len() as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.absorb(number);
    }

    fn write_usize(&mut self, number: usize) {
        self.absorb(number as u64);
    }

    /// The first half of the state: a fingerprint takes both.
    fn finish(&self) -> u64 {
        self.stir().half()
    }
}
