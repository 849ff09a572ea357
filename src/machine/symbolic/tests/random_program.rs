//! Random programs of all operations on arrays of a few elements, each value of which is a result.

use std::collections::BTreeMap;

use crate::ir::{
    Binary, Builder, Compare, CompareOrder, GatherDims, Op, Precision, Program, ScatterDims, Shape, ShapeError, Unary,
    ValueId, Window, WindowDim,
};
use crate::tensor::DType;

/// The elements of each array.
pub const LANES: usize = 4;

/// SplitMix64 (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }

    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// An operation with its operands and its result.
type Made = (Op, Vec<ValueId>, Shape);

/// A program that grows by one operation at a time.
pub struct RandomProgram {
    pub(super) builder: Builder,
    types: Vec<DType>,
    /// Arrays of [`LANES`] elements, two arguments of each type and then constants first.
    arrays: Vec<(DType, ValueId)>,
    constants: Vec<(DType, ValueId)>,
    /// Arrays of two dims, of one shape.
    pub(super) planes: Vec<(DType, ValueId)>,
    /// Integers of whose bits something is known.
    pub(super) words: Vec<(DType, ValueId)>,
    /// All values that are arrays.
    all: Vec<ValueId>,
    pub(super) last: Option<(DType, [ValueId; 2])>,
    /// Operations with their operands and results, by opcode: those that are seldom are as likely to be repeated as others.
    made: BTreeMap<String, Vec<Made>>,
    pub(super) random: Random,
}

impl RandomProgram {
    /// Arguments and constants of these types.
    pub fn new(types: &[DType], seed: u64) -> RandomProgram {
        let builder = Builder::new("values");
        let (arrays, constants, all, random) = (Vec::new(), Vec::new(), Vec::new(), Random(seed));
        let mut program = RandomProgram {
            builder,
            types: types.to_vec(),
            arrays,
            constants,
            planes: Vec::new(),
            words: Vec::new(),
            all,
            last: None,
            made: BTreeMap::new(),
            random,
        };
        for name in ["x", "y"] {
            for dtype in types {
                let argument = program.builder.parameter(&format!("{name}_{dtype}"), *dtype, &[LANES]);
                program.add(argument);
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
                let constant = program.builder.constant(*dtype, *number);
                program.spread(constant);
            }
        }
        program.constants = program.arrays[2 * types.len()..].to_vec();
        program
    }

    /// An operation that is not allowed for its operands adds nothing.
    pub(super) fn add<E>(&mut self, id: Result<ValueId, E>) -> Option<ValueId> {
        let id = id.ok()?;
        let dtype = self.builder.shape(id).dtype()?;
        self.all.push(id);
        if self.builder.shape(id).dims() == [LANES] {
            self.arrays.push((dtype, id));
        } else if self.builder.shape(id).dims() == [3, LANES] {
            self.planes.push((dtype, id));
        }
        Some(id)
    }

    pub(super) fn op(&mut self, op: Op, operands: &[ValueId]) -> Result<ValueId, ShapeError> {
        let id = self.builder.op(op.clone(), operands)?;
        let made = (op.clone(), operands.to_vec(), self.builder.shape(id).clone());
        self.made.entry(op.opcode().to_string()).or_default().push(made);
        Ok(id)
    }

    /// An operation once more, with an operand that is another one in part or as a whole: a key that leaves it out meets its own.
    pub(super) fn twin(&mut self) {
        if self.made.is_empty() {
            return;
        }
        let kind = self.random.below(self.made.len());
        let Some(alike) = self.made.values().nth(kind) else { return };
        let (op, mut operands, shape) = alike[self.random.below(alike.len())].clone();
        let slot = self.random.below(operands.len());
        let Some(dtype) = self.builder.shape(operands[slot]).dtype() else { return };
        let [length] = *self.builder.shape(operands[slot]).dims() else { return };
        let other = self.of(dtype);
        let other = if length == LANES { Some(other) } else { self.slice(other, 0, length.min(LANES)) };
        operands[slot] = match (self.random.below(3), other) {
            (0, Some(other)) => other,
            (_, Some(other)) if length > 1 => {
                let cut = 1 + self.random.below(length - 1);
                let parts = [self.slice(operands[slot], 0, cut), self.slice(other, cut, length)];
                let [Some(first), Some(last)] = parts else { return };
                let Ok(joined) = self.builder.op(Op::Concatenate { dim: 0 }, &[first, last]) else { return };
                joined
            }
            _ => return,
        };
        let Ok(made) = self.builder.op_of_shape(op, &operands, shape.clone()) else { return };
        match shape {
            Shape::Tuple(parts) => {
                for element in 0..parts.len() {
                    let element = self.builder.tuple_element(made, element);
                    self.add(element);
                }
            }
            Shape::Array { .. } => {
                self.add::<()>(Ok(made));
            }
        }
    }

    fn spread<E>(&mut self, scalar: Result<ValueId, E>) {
        if let Some(scalar) = self.add(scalar) {
            let array = self.builder.splat(scalar, &[LANES]);
            self.add(array);
        }
    }

    /// A value of a type: one of the arguments, of the first values, or of all.
    pub(super) fn of(&mut self, dtype: DType) -> ValueId {
        let ids: Vec<ValueId> = self.arrays.iter().filter(|(own, _)| *own == dtype).map(|(_, id)| *id).collect();
        let (first, end) = match self.random.below(8) {
            0..=2 => (0, 2),
            3 => (0, ids.len().min(12)),
            _ => (ids.len() / 3, ids.len()),
        };
        ids[first + self.random.below(end - first)]
    }

    pub(super) fn any(&mut self) -> (DType, ValueId) {
        let dtype = self.random.one_of(&self.types);
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
                let bitwise = [Binary::And, Binary::Or, Binary::Xor, Binary::Add];
                let of_bits = dtype.is_integer() && self.random.below(2) == 0;
                let binary = self.random.one_of(if of_bits { &bitwise } else { Binary::ALL });
                self.op(Op::Binary(binary), &[a, b])
            }
            5 | 6 => {
                let unary = self.random.one_of(Unary::ALL);
                self.op(Op::Unary(unary), &[a])
            }
            7 => self.comparison(dtype, order, [a, b]),
            8 => {
                let predicate = self.of(DType::Pred);
                self.op(Op::Select, &[predicate, a, b])
            }
            9 => {
                let end = self.of(dtype);
                self.op(Op::Clamp, &[a, b, end])
            }
            10 => {
                let to = self.random.one_of(&self.types);
                self.builder.convert(a, to)
            }
            _ => {
                let bits = [(8, 7), (8, 23), (5, 10), (5, 2), (4, 3), (8, 10)];
                let (exponent_bits, mantissa_bits) = self.random.one_of(&bits);
                self.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[a])
            }
        };
        self.add(made);
    }

    /// A comparison in any direction; only floats have a total order.
    fn comparison(&mut self, dtype: DType, order: CompareOrder, operands: [ValueId; 2]) -> Result<ValueId, ShapeError> {
        let order = if dtype.is_float() { order } else { CompareOrder::Partial };
        let direction = self.random.one_of(Compare::ALL);
        self.op(Op::Compare { direction, order }, &operands)
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
            0 => self.comparison(dtype, order, [left, right]),
            _ => {
                let binary = self.random.one_of(if dtype.is_float() { &arithmetic[..] } else { &integers });
                self.op(Op::Binary(binary), &[left, right])
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
        let to = self.random.one_of(&self.types);
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
        let half = self.op(half, &[parts]).and_then(|half| self.builder.reshape(half, &[LANES]));
        self.add(half);
        let back = self.builder.op_of_shape(Op::BitcastConvert, &[parts], Shape::array(dtype, &[LANES]));
        self.add(back);
    }

    fn moved(&mut self) {
        let (_, [a, b]) = self.two();
        let cut = 1 + self.random.below(LANES - 1);
        let made = match self.random.below(4) {
            0 => self.op(Op::Reverse { dims: vec![0] }, &[a]),
            1 => {
                let (Some(first), Some(last)) = (self.slice(a, 0, cut), self.slice(b, cut, LANES)) else { return };
                self.op(Op::Concatenate { dim: 0 }, &[first, last])
            }
            2 => {
                let Some(fill) = self.element(b, cut) else { return };
                let pad = Op::Pad { low: vec![cut as i64], high: vec![-(cut as i64)], interior: vec![0] };
                self.op(pad, &[a, fill])
            }
            _ => {
                let index = self.of(DType::S32);
                let (Some(index), Some(update)) = (self.element(index, 0), self.slice(b, 0, cut)) else { return };
                self.op(Op::DynamicUpdateSlice, &[a, update, index])
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
                self.op(Op::Gather(dims), &[a, index])
            }
            1 => {
                let Some(start) = self.element(index, 0) else { return };
                let part = self.op(Op::DynamicSlice { sizes: vec![2] }, &[a, start]);
                let (Some(part), Some(rest)) = (self.add(part), self.slice(b, 0, 2)) else { return };
                self.op(Op::Concatenate { dim: 0 }, &[part, rest])
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
                self.op(Op::Scatter { dims, to_apply }, &[a, index, b])
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
                        self.op(Op::ReduceWindow { window, to_apply }, &[a, init])
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
        let reduced = self.op(Op::Reduce { dims: vec![0], to_apply }, &[array, init]);
        self.spread(reduced);
    }

    pub(super) fn slice(&mut self, array: ValueId, start: usize, limit: usize) -> Option<ValueId> {
        let slice = Op::Slice { start: vec![start], limit: vec![limit], stride: vec![1] };
        let part = self.op(slice, &[array]);
        self.add(part)
    }

    pub(super) fn element(&mut self, array: ValueId, at: usize) -> Option<ValueId> {
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
                _ if binary.takes(dtype) => self.op(Op::Binary(binary), &[a, b]),
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
            _ => (self.op(Op::TopK { k: LANES, largest: stable }, &[a]), 2),
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

    /// A step of any kind.
    pub fn any_step(&mut self) {
        match self.random.below(20) {
            0 => self.moved(),
            1 => self.combined(),
            2 => self.reinterpreted(),
            3 => self.ranked(),
            4 => self.widened(),
            5 | 6 => self.joined_with_number(),
            7 => self.indexed(),
            8..=10 => self.twin(),
            _ => self.elementwise(),
        }
    }

    /// The program after so many steps.
    pub fn grow(mut self, steps: usize, step: fn(&mut RandomProgram)) -> Program {
        for _ in 0..steps {
            step(&mut self);
        }
        let outputs: Vec<(String, ValueId)> = self.all.iter().map(|id| (format!("v{id}"), *id)).collect();
        let outputs: Vec<(&str, ValueId)> = outputs.iter().map(|(name, id)| (&name[..], *id)).collect();
        self.builder.finish(&outputs).unwrap()
    }
}
