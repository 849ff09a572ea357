//! Latitudes of an enclosure: for each instruction, the error that the unit that computes it promises, or any unit.
//!
//! The constants come from the promises that stand beside the machine's own code; the machine computes nothing here.

use crate::analysis::{Analysis, Precision, Reducer, is_of_integers, is_spread};
use crate::ir::{Binary, Class, Instruction, Mark, Op, Unary, ValueId};
use crate::machine::vector::{ErrorModel, Eup, StepRounding, VectorUnit, arithmetic_type, reduced_format};
use crate::machine::{Mode, PRECISIONS, Prepared, VectorDots, conversion_steps, divides_by_one_number};
use crate::num::{BF16, Format};
use crate::oracle::{Additions, Latitude, Reciprocal, Rounding};
use crate::rewrite::{Choices, Freedom, Point};
use crate::stat::{gamma, least_share, sum_share};
use crate::tensor::DType;

use super::{Settings, forms};
use library_functions::{binary_error, unary_error};
use packed_latitude::or_packed;

mod dots;
mod joined_dots;
mod library_functions;
mod packed_latitude;

/// The latitude of each instruction of the entry.
pub(super) fn latitudes(choices: &Choices, settings: &Settings) -> Vec<Latitude> {
    let program = &choices.program;
    let mut widest = program.clone();
    for place in choices.points.iter().flat_map(|point| &point.places) {
        widest.computations[program.entry].instructions[place.value].operands = vec![place.widest];
    }
    let analysis = Analysis::new(program);
    let widest = Analysis::new(&widest);
    let prepared = Prepared::of_choices(program);
    let [orders, contracts, reciprocals, algebra] =
        [Freedom::Order, Freedom::Contraction, Freedom::Reciprocal, Freedom::Algebra]
            .map(|freedom| settings.permits(freedom));
    let own = &settings.computed();
    let of = |id: ValueId, mode: &Mode, by_library: bool| {
        let unit = mode.vector_unit();
        let (analysis, prepared, widest) = (&analysis, &prepared, &widest);
        Maker { analysis, prepared, widest, mode, unit, by_library, orders, contracts, reciprocals, algebra }.of(id)
    };
    let erring = settings.permits(Freedom::Functions).then(|| erring(own));
    let others = settings.any_mode.then(|| Others::new(&settings.mode));
    let all = |(id, instruction): (ValueId, &Instruction)| {
        let others = others.as_ref().map_or(&[][..], |others| others.of(&instruction.op));
        let erring = erring.iter().filter(|_| matches!(instruction.op, Op::Unary(_) | Op::Binary(_)));
        let own_latitude = others.iter().fold(of(id, own, false), |latitude, mode| latitude.or(of(id, mode, false)));
        let latitude = erring.fold(own_latitude, |latitude, mode| latitude.or(of(id, mode, is_of_a_library(mode))));
        let is_bf16 = instruction.shape.dtype() == Some(DType::BF16) || choices.retyped.contains(&id);
        let is_as_written = is_bf16 && instruction.fusion().is_none();
        if own.chip.eup == Eup::V7 && is_as_written { or_packed(latitude, &instruction.op) } else { latitude }
    };
    let mut latitudes: Vec<Latitude> = program.entry().instructions.iter().enumerate().map(all).collect();
    if algebra {
        let modes = others.iter().flat_map(|others| &others.functions).chain(&erring).chain([own]);
        let analyses = forms::Analyses { analysis: &analysis, units: modes.map(|mode| mode.vector_unit()).collect() };
        forms::widen(&mut latitudes, &analyses);
    }
    for point in &choices.points {
        // Each trip of a loop for itself: more than a compiler can do, which compiles a body once.
        for place in &point.places {
            if point.freedom.has_values() {
                latitudes[place.value] = Latitude::OneOf { options: place.options.clone(), source: place.source };
            }
            if let Some(sum) = place.in_any_order {
                // The sum of the same terms in any order encloses each of its rewritings.
                latitudes[place.value] = Latitude::OneOf { options: vec![sum], source: None };
            }
        }
    }
    latitudes
}

/// A mode whose functions err as far as is published of the chip.
fn erring(mode: &Mode) -> Mode {
    let mut erring = mode.clone();
    // A mode that names an error model is taken at its word.
    if erring.choices.exp == ErrorModel::CorrectlyRounded {
        erring.choices.exp = ErrorModel::Worst;
    }
    erring
}

/// Whether nothing is published of a chip's functions, and no library is named whose functions they are: any library's may be.
fn is_of_a_library(mode: &Mode) -> bool {
    mode.chip.eup == Eup::Exact && mode.choices.exp.library().is_none()
}

/// Lets a point take one option alone, in all trips of the loops around it.
pub(super) fn fix(latitudes: &mut [Latitude], point: &Point, option: usize) {
    for place in &point.places {
        if let Latitude::OneOf { options, .. } = &mut latitudes[place.value] {
            *options = vec![place.options[option]];
        }
    }
}

/// Modes that differ in what an instruction of each kind promises.
struct Others {
    dots: Vec<Mode>,
    sums: Vec<Mode>,
    functions: Vec<Mode>,
}

impl Others {
    fn new(mode: &Mode) -> Others {
        let one = std::slice::from_ref(mode.precision);
        // A chip's compiler gives each dot to one of the two units that the other values name.
        let mut dots = mode.others(PRECISIONS, &["acc", "split", "dsr", "reduce"]);
        dots.retain(|mode| mode.choices.dsr != VectorDots::Compiler);
        Others { dots, sums: mode.others(one, &["narrow", "reduce", "scan"]), functions: mode.others(one, &["exp"]) }
    }

    fn of(&self, op: &Op) -> &[Mode] {
        match op {
            Op::Dot { .. } => &self.dots,
            Op::Reduce { .. } | Op::ReduceWindow { .. } => &self.sums,
            _ => &self.functions,
        }
    }
}

struct Maker<'a> {
    analysis: &'a Analysis<'a>,
    prepared: &'a Prepared<'a>,
    /// Of the program in which every point reads the widest value.
    widest: &'a Analysis<'a>,
    mode: &'a Mode,
    unit: VectorUnit,
    /// Whether functions and quotients err as libraries may.
    by_library: bool,
    orders: bool,
    contracts: bool,
    reciprocals: bool,
    algebra: bool,
}

/// The formats to which arithmetic in a type rounds, one after the other.
fn formats(dtype: DType) -> Vec<Format> {
    let computed = arithmetic_type(dtype);
    let steps = if computed == dtype { vec![dtype] } else { vec![computed, dtype] };
    steps.into_iter().filter_map(|dtype| dtype.format().copied()).collect()
}

impl Maker<'_> {
    fn instruction(&self, id: ValueId) -> &Instruction {
        &self.analysis.program.entry().instructions[id]
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn of(&self, id: ValueId) -> Latitude {
        let instruction = self.instruction(id);
        let operand = |at: usize| instruction.operands.get(at).map(|operand| self.instruction(*operand));
        let exact = |floor: f64| Latitude::Exact { floor };
        // The type whose floor counts: that of the first float among operands and result.
        let own = instruction.shape.dtype();
        let first =
            instruction.operands.iter().filter_map(|o| self.instruction(*o).shape.dtype()).find(|d| d.is_float());
        let floor = first.or(own.filter(|d| d.is_float())).map_or(0.0, |dtype| self.unit.floor(dtype));
        let gives_floats = own.is_some_and(DType::is_float);
        match &instruction.op {
            // Integers are computed exactly, and a compiler has no choice about them.
            Op::While { .. } | Op::Call { .. } if is_of_integers(self.analysis.program, id) => exact(0.0),
            Op::While { .. } | Op::Call { .. } | Op::Opaque(_) | Op::ApproxTopK(_) | Op::PartialReduce(_) => {
                Latitude::Unknown
            }
            op if matches!(op.class(), Class::Source | Class::Moves | Class::Lists) => exact(0.0),
            Op::Convert if gives_floats => {
                let from = operand(0).and_then(|operand| operand.shape.dtype());
                let rounded = self.conversion(from, own);
                if self.is_of_joined_dots(id) { rounded.or_unrounded() } else { rounded }
            }
            // Whether a subnormal is a zero, a conversion to a predicate asks.
            Op::Convert => exact(if own == Some(DType::Pred) { floor } else { 0.0 }),
            Op::BitcastConvert | Op::Select => exact(0.0),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                let format = own.and_then(DType::format);
                match format.and_then(|format| reduced_format(format, *exponent_bits, *mantissa_bits)) {
                    Some((format, floor)) => {
                        // What it is given is flushed on TPUs; only results are elsewhere.
                        let flushed = own.map_or(0.0, |dtype| self.unit.narrowed_floor(dtype));
                        Latitude::Rounded(Rounding {
                            floor: floor.max(flushed),
                            flushes: floor > 0.0,
                            formats: vec![format],
                            ..Rounding::default()
                        })
                    }
                    None => exact(0.0),
                }
            }
            Op::Compare { .. } | Op::Clamp => exact(floor),
            Op::Unary(unary) if gives_floats => self.unary(*unary, instruction, own.unwrap_or(DType::F32), floor),
            Op::Binary(Binary::Multiply)
                if own == Some(DType::F32) && self.contracts && self.analysis.terms_of_sums()[id] =>
            {
                let formats = formats(DType::F32);
                Latitude::Rounded(Rounding { floor, formats, may_stay: true, ..Rounding::default() })
            }
            Op::Binary(binary) if gives_floats => {
                let latitude = self.binary(*binary, instruction, own.unwrap_or(DType::F32), floor);
                if *binary == Binary::Divide && self.joins(id) { latitude.or_unrounded() } else { latitude }
            }
            Op::Unary(_) | Op::Binary(_) => exact(0.0),
            Op::Sort { stable, to_apply, .. } => {
                let comparator = self.analysis.regions.comparator_but_for_rounding(*to_apply);
                // HLO leaves the order of equal elements open; it shows in what is moved with them.
                let is_open = !stable && instruction.operands.len() > 1;
                match comparator.is_some_and(|c| !is_open || c.ties.is_some()) {
                    true => exact(floor),
                    false => Latitude::Unknown,
                }
            }
            Op::TopK { .. } => exact(floor),
            Op::Reduce { .. } | Op::ReduceWindow { .. } => self.reduction(id, floor),
            Op::Scatter { to_apply, .. } => {
                let replaces = self.analysis.program.computations[*to_apply].gives_parameter(1);
                if !gives_floats || replaces { exact(0.0) } else { Latitude::Unknown }
            }
            Op::Dot { .. } if gives_floats => self.dot(id, own.unwrap_or(DType::F32)),
            Op::Dot { .. } => exact(0.0),
            _ => Latitude::Unknown,
        }
    }

    fn conversion(&self, from: Option<DType>, to: Option<DType>) -> Latitude {
        let (Some(from), Some(to)) = (from, to) else { return Latitude::Unknown };
        let rounds = |to: &DType| !from.is_part_of(*to);
        let formats: Vec<Format> =
            conversion_steps(from, to).filter(rounds).filter_map(DType::format).copied().collect();
        let floor = self.unit.conversion_floor(from, to);
        if formats.is_empty() { Latitude::Exact { floor } } else { rounded(floor, formats) }
    }

    fn unary(&self, unary: Unary, instruction: &Instruction, dtype: DType, floor: f64) -> Latitude {
        let unit = self.unit.for_instruction(instruction);
        match unary {
            Unary::Abs
            | Unary::Negate
            | Unary::Ceil
            | Unary::Floor
            | Unary::RoundNearestAfz
            | Unary::RoundNearestEven
            | Unary::Sign => Latitude::Exact { floor },
            _ => match self.error_by_library(dtype, unary_error(unary)).or_else(|| unit.function(unary, dtype)) {
                Some([relative, absolute]) => {
                    // A small operand is its own tanh and expm1, which no machine flushes.
                    let flushes = floor > 0.0 && !matches!(unary, Unary::Tanh | Unary::ExponentialMinusOne);
                    Latitude::Rounded(Rounding {
                        floor: unit.function_floor(unary, dtype).max(floor),
                        flushes,
                        relative,
                        absolute,
                        formats: formats(dtype),
                        ..Rounding::default()
                    })
                }
                None => Latitude::Unknown,
            },
        }
    }

    fn binary(&self, binary: Binary, instruction: &Instruction, dtype: DType, floor: f64) -> Latitude {
        let own = Rounding { floor, flushes: floor > 0.0, formats: formats(dtype), ..Rounding::default() };
        if let Some([relative, absolute]) = self.error_by_library(dtype, binary_error(binary)) {
            return Latitude::Rounded(Rounding { relative, absolute, ..own });
        }
        match binary {
            Binary::Maximum | Binary::Minimum => Latitude::Exact { floor },
            Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Remainder => Latitude::Rounded(own),
            Binary::Divide => {
                let by_one_number = divides_by_one_number(self.analysis.program.entry(), instruction);
                let types = self.unit.for_instruction(instruction).reciprocal(dtype, by_one_number);
                let inverse = types.map(|reciprocal| {
                    let formats = reciprocal.types.iter().filter_map(|dtype| dtype.format().copied()).collect();
                    (formats, reciprocal.floor)
                });
                let own = Rounding { others: self.other_reciprocals(instruction, dtype), ..own };
                match self.unit.published_quotient(dtype, 1.0, 1.0) {
                    // A unit in the last place of a quotient is no more than one of 1, relative to it; and what the
                    // reciprocal's own rounding adds.
                    Some(relative) => Latitude::Rounded(Rounding { relative: relative + 2f64.powi(-22), ..own }),
                    None => Latitude::Rounded(Rounding { reciprocal: inverse, ..own }),
                }
            }
            // Of a library's nothing is promised.
            Binary::Power | Binary::Atan2 if self.unit.error.library().is_none() && !self.unit.perturbs() => {
                Latitude::Rounded(own)
            }
            _ => Latitude::Unknown,
        }
    }

    /// The error of an operation on values of this type as a library computes it, if one may.
    fn error_by_library(&self, dtype: DType, error: Option<[f64; 2]>) -> Option<[f64; 2]> {
        error.filter(|_| self.by_library && arithmetic_type(dtype) == DType::F32)
    }

    /// Whether a quotient may be a product that is added before it is rounded.
    fn joins(&self, id: ValueId) -> bool {
        let (entry, instruction) = (self.analysis.program.entry(), self.instruction(id));
        let is_product = self.reciprocals && is_spread(entry, instruction.operands[1]);
        is_product
            && self.contracts
            && instruction.shape.dtype() == Some(DType::F32)
            && self.analysis.terms_of_sums()[id]
    }

    /// The reciprocals that may take the place of a divisor that is one value for many, where that is permitted.
    fn other_reciprocals(&self, instruction: &Instruction, dtype: DType) -> Vec<Reciprocal> {
        let divisor = instruction.operands[1];
        if !self.reciprocals || dtype == DType::F64 || !is_spread(self.analysis.program.entry(), divisor) {
            return Vec::new();
        }
        let floor = self.unit.floor(dtype);
        let wide = arithmetic_type(dtype);
        let mut types = vec![vec![wide]];
        // A compiler that does so before it widens anything has it in the declared type.
        let held = self.widest.precisions()[divisor].first();
        if dtype != wide {
            types.push(vec![wide, dtype]);
        } else if held.is_some_and(|held| held.within(Precision::of(&BF16))) {
            types.push(vec![wide, DType::BF16]);
        }
        let formats = |types: Vec<DType>| types.into_iter().filter_map(|dtype| dtype.format().copied()).collect();
        types.into_iter().map(|types| (formats(types), floor)).collect()
    }

    fn reduction(&self, id: ValueId, floor: f64) -> Latitude {
        let instruction = self.instruction(id);
        let entry = self.analysis.program.entry();
        let (Op::Reduce { to_apply, .. } | Op::ReduceWindow { to_apply, .. }) = &instruction.op else {
            return Latitude::Unknown;
        };
        let operand = &self.instruction(instruction.operands[0]).shape;
        let is_float = |id: &ValueId| entry.instructions[*id].shape.dtype().is_some_and(DType::is_float);
        let reducer = self.analysis.regions.reducer(*to_apply);
        match reducer {
            _ if !instruction.operands.iter().any(is_float) => Latitude::Exact { floor: 0.0 },
            Some(Reducer::Binary(Binary::Maximum | Binary::Minimum) | Reducer::ArgMax | Reducer::ArgMin) => {
                Latitude::Exact { floor }
            }
            Some(Reducer::Binary(Binary::Add)) => {
                // What devices exchange is rounded to what is sent, at any step but the last.
                let exchanged = match &instruction.mark {
                    Some(Mark::Exchange { carries, .. }) => Some(*carries),
                    _ => None,
                };
                let dtype = exchanged.unwrap_or(operand.element_type());
                let from_zero = self.is_zero(instruction.operands[1]);
                let is_last = match &instruction.op {
                    Op::Reduce { dims, .. } => *dims == [operand.dims().len().max(1) - 1],
                    _ => false,
                };
                let place = (self.analysis.program.entry, id);
                let Some(declared) = self.prepared.sum_promise(self.mode, place, from_zero) else {
                    return Latitude::Unknown;
                };
                let is_window = matches!(instruction.op, Op::ReduceWindow { .. });
                if !from_zero && (is_window || !is_last) {
                    return Latitude::Unknown;
                }
                // Every term meets all others at most; adding a zero rounds nothing.
                let width = declared.terms;
                let any = (width + if from_zero { 0 } else { declared.inits }) as u64;
                let chain = if is_last && !is_window && !self.orders { declared.chain } else { any };
                // A running sum, and what a region interprets, is stored in its own type at every step.
                let is_stored = is_window || exchanged.is_some();
                let step = if is_stored { StepRounding::own(dtype).format() } else { declared.format };
                let step = if dtype == DType::F64 { declared.format } else { step };
                let u = step.unit_roundoff();
                let share = gamma(chain, u).map_or(sum_share(any, u), |gamma| gamma.min(sum_share(any, u)));
                let terms = (width + declared.inits) as f64;
                let additions = Additions {
                    share,
                    least: Some(least_share(any, u)),
                    lost: declared.lost * terms * 1.001 * (1.0 + share),
                    inits: declared.inits,
                    largest: step.max_finite(),
                    intake: None,
                    order: None,
                };
                Latitude::Rounded(Rounding {
                    floor,
                    additions: Some(additions),
                    formats: formats(operand.element_type()),
                    ..Rounding::default()
                })
            }
            _ => Latitude::Unknown,
        }
    }

    /// Whether a value is a constant zero.
    fn is_zero(&self, id: ValueId) -> bool {
        matches!(&self.instruction(id).op, Op::Constant(value) if (0..value.len()).all(|at| value.data().get_f64(at) == 0.0))
    }
}

fn rounded(floor: f64, formats: Vec<Format>) -> Latitude {
    Latitude::Rounded(Rounding { floor, flushes: floor > 0.0, formats, ..Rounding::default() })
}
