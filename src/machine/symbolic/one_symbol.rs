//! Elements with one symbol have the same bits, and are what it says of them: random programs of all operations, each value of which is a result, followed and run on
//! several units.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::ir::{
    Binary, Builder, Compare, CompareOrder, GatherDims, Op, Precision, Program, ScatterDims, Shape, Unary, ValueId,
    Window, WindowDim,
};
use crate::tensor::{DType, Data, Tensor};
use crate::{Arithmetic, Prepared};

use super::symbol::Number;
use super::{Naming, Permits, Symbol, Traced};

/// The elements of each array.
const LANES: usize = 4;

const WITHOUT_F64: [&str; 5] =
    ["v5e/default/off", "tpu7x/high/off", "v4/highest/off+acc=pairwise", "cpu/f32/off", "planned/f32/off"];

const WITH_F64: [&str; 2] = ["cpu/f32/off", "planned/f32/off"];

/// SplitMix64 (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// A program that grows by one operation at a time.
struct Growth {
    builder: Builder,
    types: Vec<DType>,
    /// Arrays of [`LANES`] elements, two arguments of each type and then constants first.
    arrays: Vec<(DType, ValueId)>,
    constants: Vec<(DType, ValueId)>,
    /// All values that are arrays.
    all: Vec<ValueId>,
    last: Option<(DType, [ValueId; 2])>,
    random: Random,
}

impl Growth {
    fn new(types: &[DType], seed: u64) -> Growth {
        let builder = Builder::new("values");
        let (arrays, constants, all, random) = (Vec::new(), Vec::new(), Vec::new(), Random(seed));
        let mut growth = Growth { builder, types: types.to_vec(), arrays, constants, all, last: None, random };
        for name in ["x", "y"] {
            for dtype in types {
                let argument = growth.builder.parameter(&format!("{name}_{dtype}"), *dtype, &[LANES]);
                growth.add(argument);
            }
        }
        for dtype in types {
            let numbers: &[f64] = match dtype {
                DType::Pred => &[0.0, 1.0],
                dtype if dtype.is_float() => &[0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, f64::INFINITY, f64::NEG_INFINITY],
                dtype if dtype.bits() <= 8 && dtype.is_signed() => &[0.0, 1.0, -1.0, 2.0, 7.0, 15.0, -16.0],
                dtype if dtype.bits() <= 8 => &[0.0, 1.0, 2.0, 7.0, 15.0, 240.0],
                dtype if dtype.is_signed() => &[0.0, 1.0, -1.0, 2.0, 16.0, 31.0, 65535.0, -65536.0],
                _ => &[0.0, 1.0, 2.0, 16.0, 31.0, 65535.0, 4294901760.0],
            };
            for number in numbers {
                let constant = growth.builder.constant(*dtype, *number);
                growth.spread(constant);
            }
        }
        growth.constants = growth.arrays[2 * types.len()..].to_vec();
        growth
    }

    /// An operation that is not allowed for its operands adds nothing.
    fn add<E>(&mut self, id: Result<ValueId, E>) -> Option<ValueId> {
        let id = id.ok()?;
        let dtype = self.builder.shape(id).dtype()?;
        self.all.push(id);
        if self.builder.shape(id).dims() == [LANES] {
            self.arrays.push((dtype, id));
        }
        Some(id)
    }

    fn spread<E>(&mut self, scalar: Result<ValueId, E>) {
        if let Some(scalar) = self.add(scalar) {
            let array = self.builder.splat(scalar, &[LANES]);
            self.add(array);
        }
    }

    /// A value of a type: one of the arguments, of the first values, or of all.
    fn of(&mut self, dtype: DType) -> ValueId {
        let ids: Vec<ValueId> = self.arrays.iter().filter(|(own, _)| *own == dtype).map(|(_, id)| *id).collect();
        let (first, end) = match self.random.below(8) {
            0..=2 => (0, 2),
            3 => (0, ids.len().min(12)),
            _ => (ids.len() / 3, ids.len()),
        };
        ids[first + self.random.below(end - first)]
    }

    fn any(&mut self) -> (DType, ValueId) {
        let dtype = self.random.below(self.types.len());
        let dtype = self.types[dtype];
        (dtype, self.of(dtype))
    }

    /// Two values of a type: at times those of the operation before, of which another function may have the same symbol.
    fn two(&mut self) -> (DType, [ValueId; 2]) {
        if let Some(last) = self.last.filter(|_| self.random.below(3) == 0) {
            return last;
        }
        let (dtype, one) = self.any();
        let two = (dtype, [one, self.of(dtype)]);
        self.last = Some(two);
        two
    }

    fn elementwise(&mut self) {
        let (dtype, [a, b]) = self.two();
        let order = self.random.one_of(&[CompareOrder::Partial, CompareOrder::Partial, CompareOrder::Total]);
        let made = match self.random.below(12) {
            0..=4 => {
                let binary = self.random.one_of(Binary::ALL);
                if !binary.takes(dtype) {
                    return;
                }
                self.builder.binary(binary, a, b)
            }
            5 | 6 => {
                let unary = self.random.one_of(Unary::ALL);
                if !unary.takes(dtype) {
                    return;
                }
                self.builder.unary(unary, a)
            }
            7 => {
                let order = if dtype.is_float() { order } else { CompareOrder::Partial };
                self.builder.op(Op::Compare { direction: self.random.one_of(Compare::ALL), order }, &[a, b])
            }
            8 => {
                let predicate = self.of(DType::Pred);
                self.builder.select(predicate, a, b)
            }
            9 => {
                let end = self.of(dtype);
                self.builder.op(Op::Clamp, &[a, b, end])
            }
            10 => {
                let to = self.random.below(self.types.len());
                self.builder.convert(a, self.types[to])
            }
            _ => {
                let bits = [(8, 7), (8, 23), (5, 10), (5, 2), (4, 3), (8, 10)];
                let (exponent_bits, mantissa_bits) = self.random.one_of(&bits);
                self.builder.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[a])
            }
        };
        self.add(made);
    }

    /// An operation with a number that may change nothing.
    fn joined_with_number(&mut self) {
        let (dtype, a) = self.any();
        let constants: Vec<ValueId> =
            self.constants.iter().filter(|(own, _)| *own == dtype).map(|(_, id)| *id).collect();
        let constant = self.random.one_of(&constants);
        let [left, right] = if self.random.below(2) == 0 { [a, constant] } else { [constant, a] };
        let order = self.random.one_of(&[CompareOrder::Partial, CompareOrder::Total]);
        let arithmetic =
            [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide, Binary::Maximum, Binary::Minimum];
        let integers = [
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
            Binary::And,
            Binary::Or,
            Binary::Xor,
            Binary::ShiftLeft,
            Binary::ShiftRightArithmetic,
            Binary::ShiftRightLogical,
        ];
        let made = match self.random.below(4) {
            0 => {
                let order = if dtype.is_float() { order } else { CompareOrder::Partial };
                self.builder.op(Op::Compare { direction: self.random.one_of(Compare::ALL), order }, &[left, right])
            }
            _ => {
                let binary = self.random.one_of(if dtype.is_float() { &arithmetic[..] } else { &integers });
                if !binary.takes(dtype) {
                    return;
                }
                self.builder.binary(binary, left, right)
            }
        };
        self.add(made);
    }

    /// The bits of numbers in another type; of wider ones in two steps, to half of the width and back.
    fn reinterpreted(&mut self) {
        let (dtype, a) = self.any();
        if dtype == DType::Pred {
            return;
        }
        let to = self.random.below(self.types.len());
        let to = self.types[to];
        let (from, width) = (dtype.bits() as usize, to.bits() as usize);
        let dims = match (from, width) {
            _ if to == DType::Pred => return,
            (from, width) if from == width => vec![LANES],
            (from, width) if from == 2 * width => vec![LANES, 2],
            _ => return,
        };
        let shape = Shape::array(to, &dims);
        let made = self.builder.op_of_shape(Op::BitcastConvert, &[a], shape);
        let Some(parts) = self.add(made).filter(|_| from != width) else { return };
        let half = Op::Slice { start: vec![0, 1], limit: vec![LANES, 2], stride: vec![1, 1] };
        let half = self.builder.op(half, &[parts]).and_then(|half| self.builder.reshape(half, &[LANES]));
        self.add(half);
        let back = self.builder.op_of_shape(Op::BitcastConvert, &[parts], Shape::array(dtype, &[LANES]));
        self.add(back);
    }

    fn moved(&mut self) {
        let (_, [a, b]) = self.two();
        let cut = 1 + self.random.below(LANES - 1);
        let made = match self.random.below(4) {
            0 => self.builder.op(Op::Reverse { dims: vec![0] }, &[a]),
            1 => {
                let (Some(first), Some(last)) = (self.slice(a, 0, cut), self.slice(b, cut, LANES)) else { return };
                self.builder.op(Op::Concatenate { dim: 0 }, &[first, last])
            }
            2 => {
                let Some(fill) = self.element(b, cut) else { return };
                let pad = Op::Pad { low: vec![cut as i64], high: vec![-(cut as i64)], interior: vec![0] };
                self.builder.op(pad, &[a, fill])
            }
            _ => {
                let index = self.of(DType::S32);
                let (Some(index), Some(update)) = (self.element(index, 0), self.slice(b, 0, cut)) else { return };
                self.builder.op(Op::DynamicUpdateSlice, &[a, update, index])
            }
        };
        self.add(made);
    }

    /// Elements that an array of s32 names.
    fn indexed(&mut self) {
        let (dtype, [a, b]) = self.two();
        let index = self.of(DType::S32);
        let made = match self.random.below(3) {
            0 => {
                let dims = GatherDims {
                    collapsed_slice_dims: vec![0],
                    start_index_map: vec![0],
                    index_vector_dim: 1,
                    slice_sizes: vec![1],
                    ..GatherDims::default()
                };
                self.builder.op(Op::Gather(dims), &[a, index])
            }
            1 => {
                let Some(start) = self.element(index, 0) else { return };
                let part = self.builder.op(Op::DynamicSlice { sizes: vec![2] }, &[a, start]);
                let (Some(part), Some(rest)) = (self.add(part), self.slice(b, 0, 2)) else { return };
                self.builder.op(Op::Concatenate { dim: 0 }, &[part, rest])
            }
            _ => {
                let binaries = [None, Some(Binary::Add), Some(Binary::Maximum), Some(Binary::Multiply)];
                let to_apply = match self.random.one_of(&binaries).filter(|binary| binary.takes(dtype)) {
                    Some(binary) => self.builder.binary_region(binary, dtype).unwrap(),
                    None => self
                        .builder
                        .region("second", |b| {
                            b.parameter("lhs", dtype, &[])?;
                            b.parameter("rhs", dtype, &[])
                        })
                        .unwrap(),
                };
                let dims = ScatterDims {
                    inserted_window_dims: vec![0],
                    scatter_dims_to_operand_dims: vec![0],
                    index_vector_dim: 1,
                    ..ScatterDims::default()
                };
                self.builder.op(Op::Scatter { dims, to_apply }, &[a, index, b])
            }
        };
        self.add(made);
    }

    fn combined(&mut self) {
        let (dtype, [a, b]) = self.two();
        match self.random.below(4) {
            0 | 1 => self.reduced(dtype, a, b),
            2 if dtype != DType::Pred => {
                let sums = match self.random.below(2) {
                    0 => self.builder.cumsum(a, 0),
                    _ => {
                        let binary = self.random.one_of(&[Binary::Add, Binary::Maximum, Binary::Minimum]);
                        let to_apply = self.builder.binary_region(binary, dtype).unwrap();
                        let number = self.random.one_of(&[0.0, -0.0, 1.0]);
                        let init = self.builder.constant(dtype, number).unwrap();
                        let window = Window(vec![WindowDim { pad_high: 1, ..WindowDim::of_size(2) }]);
                        self.builder.op(Op::ReduceWindow { window, to_apply }, &[a, init])
                    }
                };
                self.add(sums);
            }
            3 if dtype.is_float() => {
                let precision = self.random.one_of(&[Precision::Default, Precision::High, Precision::Highest]);
                let (row, column) = (self.builder.reshape(a, &[1, LANES]), self.builder.reshape(b, &[LANES, 1]));
                let (Some(row), Some(column)) = (self.add(row), self.add(column)) else { return };
                let dot = self.builder.matmul(row, column, precision, dtype);
                let Some(dot) = self.add(dot) else { return };
                let scalar = self.builder.reshape(dot, &[]);
                self.spread(scalar);
            }
            _ => {}
        }
    }

    /// Two elements of an array or all, from a number or an element of another one.
    fn reduced(&mut self, dtype: DType, array: ValueId, other: ValueId) {
        let binary = match self.random.below(2) {
            0 => self.random.one_of(Binary::ALL),
            _ => self.random.one_of(&[Binary::Add, Binary::Maximum, Binary::Minimum]),
        };
        if !binary.takes(dtype) {
            return;
        }
        let cut = self.random.below(LANES - 1);
        let array = match self.random.below(2) {
            0 => self.slice(array, cut, cut + 2),
            _ => Some(array),
        };
        let inits = [0.0, 1.0, -0.0, f64::NEG_INFINITY, f64::INFINITY];
        let init = match self.random.one_of(&inits) {
            init if self.random.below(3) > 0 && (dtype.is_float() || init.is_finite()) => {
                self.builder.constant(dtype, init).ok()
            }
            _ => self.element(other, cut),
        };
        let (Some(array), Some(init)) = (array, init) else { return };
        let to_apply = self.builder.binary_region(binary, dtype).unwrap();
        let reduced = self.builder.op(Op::Reduce { dims: vec![0], to_apply }, &[array, init]);
        self.spread(reduced);
    }

    fn slice(&mut self, array: ValueId, start: usize, limit: usize) -> Option<ValueId> {
        let slice = Op::Slice { start: vec![start], limit: vec![limit], stride: vec![1] };
        let part = self.builder.op(slice, &[array]);
        self.add(part)
    }

    fn element(&mut self, array: ValueId, at: usize) -> Option<ValueId> {
        let part = self.slice(array, at, at + 1)?;
        let scalar = self.builder.reshape(part, &[]);
        self.add(scalar)
    }

    /// An operation on narrow floats once more: on its operands in f32, and its result in f32.
    fn widened(&mut self) {
        let (dtype, [a, b]) = self.two();
        if !dtype.is_float() || dtype == DType::F64 {
            return;
        }
        let binary = self.random.one_of(Binary::ALL);
        let kind = self.random.below(4);
        let mut results = Vec::new();
        for to in [dtype, DType::F32] {
            let (Ok(a), Ok(b)) = (self.builder.convert(a, to), self.builder.convert(b, to)) else { return };
            let made = match kind {
                0 => self.builder.cumsum(a, 0),
                1 => self.builder.reduce(Binary::Add, a, 0.0, &[0]).and_then(|sum| self.builder.splat(sum, &[LANES])),
                _ if binary.takes(dtype) => self.builder.binary(binary, a, b),
                _ => return,
            };
            results.extend(self.add(made));
        }
        for result in results {
            let wide = self.builder.convert(result, DType::F32);
            self.add(wide);
        }
    }

    fn ranked(&mut self) {
        let (dtype, [a, b]) = self.two();
        let direction = self.random.one_of(&[Compare::Lt, Compare::Gt]);
        let orders = [CompareOrder::Partial, CompareOrder::Total];
        let order = if dtype.is_float() { self.random.one_of(&orders) } else { CompareOrder::Partial };
        let stable = self.random.below(2) == 0;
        let (tuple, count) = match self.random.below(3) {
            0 => (self.builder.sort(&[a], 0, stable, direction, order), 0),
            1 => (self.builder.sort(&[a, b], 0, true, direction, order), 2),
            _ if dtype == DType::Pred => return,
            _ => (self.builder.op(Op::TopK { k: LANES, largest: stable }, &[a]), 2),
        };
        let Ok(tuple) = tuple else { return };
        if count == 0 {
            self.add::<()>(Ok(tuple));
        }
        for element in 0..count {
            let element = self.builder.tuple_element(tuple, element);
            self.add(element);
        }
    }

    fn grow(mut self, operations: usize) -> Program {
        for _ in 0..operations {
            match self.random.below(17) {
                0 => self.moved(),
                1 => self.combined(),
                2 => self.reinterpreted(),
                3 => self.ranked(),
                4 => self.widened(),
                5 | 6 => self.joined_with_number(),
                7 => self.indexed(),
                _ => self.elementwise(),
            }
        }
        let outputs: Vec<(String, ValueId)> = self.all.iter().map(|id| (format!("v{id}"), *id)).collect();
        let outputs: Vec<(&str, ValueId)> = outputs.iter().map(|(name, id)| (&name[..], *id)).collect();
        self.builder.finish(&outputs).unwrap()
    }
}

/// An argument of few different numbers, among them those that rules make exceptions of: zeros and subnormals alone where `is_small`.
fn argument(random: &mut Random, dtype: DType, is_small: bool) -> Tensor {
    if dtype.is_float() {
        let numbers = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.5,
            -3.0,
            0.3,
            1e-39,
            -1e-39,
            3e38,
            -7.0,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
            1e5,
            1.0 + 1.0 / 256.0,
            1.0 + 3.0 / 256.0,
            f64::from(f32::MIN_POSITIVE),
            6e-8,
        ];
        let mut one = || match random.below(3) {
            _ if is_small => random.one_of(&[0.0, -0.0, -0.0, 1e-39, -1e-39]),
            0 => (random.next() >> 40) as f64 / f64::from(1 << 22) - 2.0,
            _ => random.one_of(&numbers),
        };
        let values: Vec<f64> = (0..LANES).map(|_| one()).collect();
        return Tensor::new(&[LANES], Data::from_f64s(dtype, &values).unwrap());
    }
    let bits = i64::from(dtype.bits().min(63));
    let mut one = || match (dtype, random.below(3)) {
        (DType::Pred, _) => random.below(2) as i64,
        (_, 0) => dtype.integer_of(random.next() as i64) as i64,
        (_, 1) => dtype.integer_of(1i64 << (bits - 1) as usize) as i64,
        _ => random.below(6) as i64,
    };
    let values: Vec<i64> = (0..LANES).map(|_| one()).collect();
    Tensor::new(&[LANES], Data::from_i64s(dtype, &values).unwrap())
}

/// The bits of an element, one for all NaN.
fn bits(tensor: &Tensor, at: usize) -> u64 {
    let is_nan = tensor.dtype().is_float() && tensor.data().get_f64(at).is_nan();
    if is_nan { u64::MAX } else { tensor.data().bits(at) }
}

/// The results that hang on the bits of a NaN, which symbols do not tell apart.
fn shown_nan(program: &Program, results: &[Tensor], shows: impl Fn(&str) -> bool) -> HashSet<ValueId> {
    let entry = program.entry();
    let place: HashMap<ValueId, usize> =
        program.outputs().into_iter().enumerate().map(|(place, id)| (id, place)).collect();
    let has_nan = |id: &ValueId| {
        let result = place.get(id).map(|place| &results[*place]).filter(|result| result.dtype().is_float());
        result.is_some_and(|result| (0..result.len()).any(|at| result.data().get_f64(at).is_nan()))
    };
    let mut hang = HashSet::new();
    for (id, instruction) in entry.instructions.iter().enumerate() {
        let shown = shows(&instruction.name) && instruction.operands.iter().any(has_nan);
        if shown || instruction.operands.iter().any(|operand| hang.contains(operand)) {
            hang.insert(id);
        }
    }
    hang
}

/// Whether an element is all that its symbol says of it.
fn is_as_known(tensor: &Tensor, at: usize, symbol: Symbol) -> bool {
    let data = tensor.data();
    let value = if tensor.dtype().is_float() { data.get_f64(at) } else { 0.0 };
    let is_number = match symbol.number() {
        None => true,
        Some(Number::Float(number)) => {
            value.is_nan() && number.is_nan() || value.to_bits() == f64::from(number).to_bits()
        }
        Some(Number::Double(number)) => value.is_nan() && number.is_nan() || value.to_bits() == number.to_bits(),
        Some(Number::Integer(number)) => data.get_i64(at) == number,
    };
    if !tensor.dtype().is_float() || value.is_nan() {
        return is_number;
    }
    let (is_negative, narrow) = (value.is_sign_negative(), value as f32);
    let is_of = |dtype: &DType| {
        let alone = Data::from_f64s(*dtype, &[value]).map(|data| data.get_f64(0));
        !symbol.is_of(*dtype) || alone.is_some_and(|held| held.to_bits() == value.to_bits())
    };
    is_number
        && !(symbol.is_not_negative() && is_negative)
        && !(symbol.is_not_minus_zero() && is_negative && value == 0.0)
        && !(symbol.is_no_zero() && value == 0.0)
        && (tensor.dtype() == DType::F64 || !(symbol.is_normal() && narrow.is_subnormal()))
        && crate::tensor::DTYPES.iter().all(is_of)
}

/// A value as a formula of arguments and constants.
fn formula(program: &Program, id: ValueId) -> String {
    let instruction = &program.entry().instructions[id];
    let operands: Vec<String> = instruction.operands.iter().map(|operand| formula(program, *operand)).collect();
    match &instruction.op {
        Op::Parameter(_) => instruction.name.clone(),
        Op::Constant(constant) => constant.data().get_f64(0).to_string(),
        op => format!("{:?} {op:?}({})", instruction.shape.dtype(), operands.join(", ")),
    }
}

/// The symbols of one program that are no numbers, and the comparisons of bits of elements that share one.
fn compared(
    program: &Program,
    modes: &[&'static str],
    permits: Permits,
    trials: usize,
    random: &mut Random,
) -> [usize; 2] {
    let shapes = program.entry().parameter_shapes();
    let naming = |argument: usize| Naming { argument, origin: vec![0], extents: vec![LANES] };
    let namings: Vec<Naming> = (0..shapes.len()).map(naming).collect();
    let prepared = Prepared::new(program);
    let followed = |text: &&'static str| {
        let mode: Arithmetic = text.parse().unwrap();
        let traced = prepared.trace(&mode, &namings, permits, 1 << 24).unwrap();
        (*text, mode, traced)
    };
    let followed: Vec<(&str, Arithmetic, Traced)> = modes.iter().map(followed).collect();
    let outputs = program.outputs();
    let (mut symbols, mut comparisons) = (0, 0);
    for trial in 0..trials {
        let argument = |shape: &&Shape| argument(random, shape.element_type(), trial % 2 == 1);
        let arguments: Vec<Tensor> = shapes.iter().map(argument).collect();
        let mut first: HashMap<(DType, Symbol), (u64, (usize, ValueId, &str))> = HashMap::new();
        for (text, mode, traced) in &followed {
            let results = prepared.evaluate(mode, &prepared.bind(&arguments).unwrap()).unwrap();
            let hang = shown_nan(program, &results, |name| traced.grounds.shows_nan.contains(name));
            for ((id, result), own) in outputs.iter().zip(&results).zip(&traced.results) {
                if hang.contains(id) {
                    continue;
                }
                for (at, symbol) in own.iter().enumerate() {
                    let found = bits(result, at);
                    let here = (at, *id, *text);
                    let (bits, there) = first.entry((result.dtype(), *symbol)).or_insert((found, here));
                    let told =
                        |(at, id, mode): (usize, ValueId, &str)| format!("{at} of {} in {mode}", formula(program, id));
                    assert!(is_as_known(result, at, *symbol), "{symbol:?}: {}\nof {arguments:?}", told(here));
                    assert_eq!(*bits, found, "{}\n{}\nof {arguments:?}", told(*there), told(here));
                    comparisons += usize::from(!symbol.is_known());
                }
            }
        }
        symbols = first.keys().filter(|(_, symbol)| !symbol.is_known()).count();
        comparisons -= symbols;
    }
    [symbols, comparisons]
}

/// Compares programs of so many operations, one for each seed; with fewer symbols or comparisons than these a test would show little.
fn compare_grown(seeds: Range<u64>, types: &[DType], modes: &[&'static str], permits: Permits, at_least: [usize; 2]) {
    let mut random = Random(seeds.start);
    for seed in seeds {
        let program = Growth::new(types, seed).grow(1000);
        let counts = compared(&program, modes, permits, 3, &mut random);
        assert!(counts[0] > at_least[0] && counts[1] > at_least[1], "{counts:?}");
    }
}

#[test]
fn elements_with_one_symbol_have_the_same_bits() {
    use DType::{BF16, F16, F32, Pred, S8, S32, U8, U32};
    let types = [F32, BF16, F16, S32, U32, S8, U8, Pred];
    compare_grown(0..4, &types, &WITHOUT_F64, Permits::default(), [4_000, 20_000]);
}

#[test]
fn elements_of_f64_with_one_symbol_have_the_same_bits() {
    use DType::{BF16, F32, F64, Pred, S32, S64};
    let types = [F32, BF16, F64, S32, S64, Pred];
    compare_grown(0..4, &types, &WITH_F64, Permits::default(), [3_000, 5_000]);
}

#[test]
fn functions_with_one_table_have_the_same_bits() {
    use DType::{F8E4M3FN, F8E5M2, F32, Pred, S32, U8};
    let types = [F32, F8E4M3FN, F8E5M2, S32, U8, Pred];
    let permits = Permits { by_values: true, ..Permits::default() };
    compare_grown(0..4, &types, &WITHOUT_F64, permits, [3_000, 20_000]);
}
