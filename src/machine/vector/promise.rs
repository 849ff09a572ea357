//! The promises of the vector unit about its results. They stand beside the code that computes the results and read the
//! same settings, so that a bound made of them follows the unit.

use crate::ir::{Instruction, Op, ResultAccuracy, Setting, Unary};
use crate::num::F32;
use crate::tensor::DType;

use super::elementwise::RECIPROCAL_FLOOR;
use super::elementwise::packed_bf16::{PACKED_EXPONENTIAL, PACKED_SQRT};
use super::error_model::Erring;
use super::function_library::FunctionPromise;
use super::stated::{ErrorBound, StatedBound, choose, is_stated};
use super::{Divide, ErrorModel, Eup, VectorUnit, narrow_f32};

/// A reciprocal that takes the place of a division.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reciprocal {
    /// Below this magnitude it is zero.
    pub floor: f64,
    /// The types to which it is rounded, one after the other.
    pub types: &'static [DType],
}

/// The type that elementwise arithmetic on values of `dtype` computes in, before it rounds to `dtype`.
pub fn arithmetic_type(dtype: DType) -> DType {
    if dtype == DType::F64 { DType::F64 } else { DType::F32 }
}

impl VectorUnit {
    /// The magnitude below which arithmetic on values of this type takes operands for zeros and makes results zeros; 0
    /// where it does neither. bf16 and f16 are computed in f32.
    pub fn floor(&self, dtype: DType) -> f64 {
        match arithmetic_type(dtype) {
            _ if !self.flush => 0.0,
            DType::F64 => f64::MIN_POSITIVE,
            _ => F32.min_normal(),
        }
    }

    /// Whether subnormals are zeros where floats of this type are converted to a narrower one: of f32 on TPUs, as a v4 printed.
    pub fn flushes_narrowed(&self, from: DType) -> bool {
        from == DType::F32 && self.eup != Eup::Exact
    }

    /// Makes zeros of the subnormals among numbers of this type that a conversion to a narrower one takes for zeros.
    pub fn narrow(&self, from: DType, values: &mut [f32]) {
        if self.flushes_narrowed(from) {
            values.iter_mut().for_each(|v| *v = narrow_f32(*v));
        }
    }

    /// The integer that a conversion between these types makes of NaN, where that is not 0: the largest s32 on TPUs, as a v4 printed.
    pub fn integer_of_nan(&self, from: DType, to: DType) -> Option<i32> {
        let is_f32 = from.is_float() && from != DType::F64;
        (is_f32 && to == DType::S32 && self.eup != Eup::Exact).then_some(i32::MAX)
    }

    /// Whether subnormals of f32 are zeros between f32 and f64: on a CPU that flushes. The f64 of a TPU is a pair of f32 (FACTS 3.4, 9.3).
    pub fn flushes_beside_f64(&self) -> bool {
        self.flush && self.eup == Eup::Exact
    }

    /// The magnitude below which a narrower float makes zeros of floats of this type; 0 where it makes none.
    pub fn narrowed_floor(&self, from: DType) -> f64 {
        if self.flushes_narrowed(from) { F32.min_normal() } else { 0.0 }
    }

    /// The magnitude below which a conversion makes zeros of numbers; 0 where it makes none.
    pub fn conversion_floor(&self, from: DType, to: DType) -> f64 {
        match (from == DType::F64) != (to == DType::F64) {
            true if self.flushes_beside_f64() => F32.min_normal(),
            _ if from.is_part_of(to) => 0.0,
            _ => self.narrowed_floor(from),
        }
    }

    /// This unit as it computes a function of which an accuracy is asked.
    pub fn for_accuracy(&self, unary: Unary, accuracy: Option<ResultAccuracy>) -> VectorUnit {
        VectorUnit { implementation: choose(self.eup, unary, accuracy), ..*self }
    }

    /// This unit as it computes an instruction: with the implementation that its accuracy asks for, and packed where a compiled file for
    /// a unit that does so says it.
    pub fn for_instruction(&self, instruction: &Instruction) -> VectorUnit {
        let unit = match instruction.op {
            Op::Unary(unary) => self.for_accuracy(unary, instruction.accuracy()),
            _ => *self,
        };
        VectorUnit { packed: self.eup == Eup::V7 && (self.packed || instruction.is_packed()), ..unit }
    }

    /// Whether this unit computes an instruction as a setting asks: functions that err have the implementation that an accuracy
    /// chooses, where their bounds are stated.
    pub fn follows(&self, instruction: &Instruction, setting: &Setting) -> bool {
        match (&instruction.op, setting) {
            (Op::Unary(unary), Setting::Accuracy(accuracy)) => {
                self.perturbs() && is_stated(self.eup, *unary) && instruction.accuracy() == Some(*accuracy)
            }
            _ => false,
        }
    }

    /// Whether a setting of an instruction may change bits in a way that this unit does not follow.
    pub fn leaves_open(&self, instruction: &Instruction, setting: &Setting) -> bool {
        !setting.is_promise() && !self.follows(instruction, setting)
    }

    /// Whether this unit computes a function of bf16 packed.
    pub(super) fn packs(&self, unary: Unary, dtype: DType) -> bool {
        self.packed && dtype == DType::BF16 && matches!(unary, Unary::Exponential | Unary::Sqrt)
    }

    /// The type of the reciprocals that take the place of divisors, where quotients are such products with the simplifier's or a packed
    /// code; `by_one_number` says whether the divisor is a broadcast or a constant.
    pub fn type_of_reciprocals(&self, dtype: DType, by_one_number: bool) -> Option<DType> {
        match dtype {
            DType::BF16 if self.packed => Some(DType::BF16),
            // XLA takes bf16 through f32, where the reciprocal stays, but f16 as it is.
            DType::F16 if self.divide.multiplies(by_one_number) => Some(DType::F16),
            _ => self.divide.multiplies(by_one_number).then_some(DType::F32),
        }
    }

    /// A function as this unit computes it, where it errs.
    pub(super) fn function_with_errors(&self, unary: Unary) -> Erring {
        Erring::new(self.error, self.eup, unary, self.implementation)
    }

    /// The bound of a function where it errs.
    fn bound(&self, unary: Unary) -> ErrorBound {
        self.eup.bound(unary, self.implementation)
    }

    /// Whether functions err within their bounds.
    pub fn perturbs(&self) -> bool {
        self.error.perturbs() && self.eup != Eup::Exact
    }

    /// Whether quotients of this type err within their bound.
    pub fn perturbs_quotients(&self, dtype: DType) -> bool {
        dtype == DType::F32 && self.perturbs()
    }

    /// The exponential of values of this type.
    pub fn exponential(&self, dtype: DType) -> FunctionPromise {
        let floor = self.floor(dtype);
        if dtype == DType::F64 {
            return FunctionPromise { relative: 0.0, floor };
        }
        if self.packs(Unary::Exponential, dtype) {
            return FunctionPromise { relative: PACKED_EXPONENTIAL, floor: floor * (1.0 + PACKED_EXPONENTIAL) };
        }
        match self.error {
            ErrorModel::Library(functions) => functions
                .0
                .promise(Unary::Exponential)
                .unwrap_or(FunctionPromise { relative: f64::INFINITY, floor: f64::INFINITY }),
            _ if self.perturbs() => {
                let bound = self.bound(Unary::Exponential);
                FunctionPromise { relative: bound.least_at(1.0).relative, floor: floor.max(bound.floor) }
            }
            _ => FunctionPromise { relative: 0.0, floor },
        }
    }

    /// The bound of the error of a function of values of this type before it is rounded: relative to the exact value,
    /// and absolute. The larger of the two holds. `None` where nothing is promised.
    pub fn function(&self, unary: Unary, dtype: DType) -> Option<[f64; 2]> {
        match (arithmetic_type(dtype), self.error) {
            // Correctly rounded, all but one.
            (DType::F64, _) => (unary != Unary::Logistic).then_some([0.0; 2]),
            _ if self.packs(unary, dtype) => {
                Some([if unary == Unary::Exponential { PACKED_EXPONENTIAL } else { PACKED_SQRT }, 0.0])
            }
            (_, ErrorModel::Library(functions)) => functions.0.promise(unary).map(|promise| [promise.relative, 0.0]),
            _ if self.perturbs() => {
                // Logarithms are the functions whose results are of any size and whose bounds are absolute.
                let size = if matches!(unary, Unary::Log | Unary::LogPlusOne) { 8.0 } else { 1.0 };
                let StatedBound { absolute, relative } = self.bound(unary).least_at(size);
                Some([relative, absolute])
            }
            _ => Some([0.0; 2]),
        }
    }

    /// The magnitude below which results of a function of this type may be zeros.
    pub fn function_floor(&self, unary: Unary, dtype: DType) -> f64 {
        let floor = if unary == Unary::Exponential { self.exponential(dtype).floor } else { self.floor(dtype) };
        if self.perturbs() && dtype != DType::F64 { floor.max(self.bound(unary).floor) } else { floor }
    }

    /// The largest distance of a quotient of this magnitude by this divisor from the correctly rounded one, in a division of this
    /// type that errs within its bound.
    pub fn published_quotient(&self, dtype: DType, quotient: f64, divisor: f64) -> Option<f64> {
        let bound = self.perturbs_quotients(dtype).then(|| self.eup.division_bound(quotient, divisor))?;
        Some(bound.at(quotient))
    }

    /// The reciprocal by which a division of this type multiplies, if it does; `by_one_number` says whether the
    /// divisor is a broadcast or a constant.
    pub fn reciprocal(&self, dtype: DType, by_one_number: bool) -> Option<Reciprocal> {
        match self.divide {
            _ if dtype == DType::F64 => None,
            _ if self.packed && dtype == DType::BF16 => {
                Some(Reciprocal { floor: self.floor(dtype), types: &[DType::F32, DType::BF16] })
            }
            Divide::ByReciprocal => Some(Reciprocal { floor: f64::from(RECIPROCAL_FLOOR), types: &[DType::F32] }),
            // It stays in f32 but for f16, which is computed as f16.
            divide if divide.multiplies(by_one_number) => {
                let f16: &[DType] = &[DType::F32, DType::F16];
                Some(Reciprocal { floor: self.floor(dtype), types: if dtype == DType::F16 { f16 } else { &f16[..1] } })
            }
            _ => None,
        }
    }
}
