//! Value numbering: values that are computed alike have one number.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ir::movement::places_of_slice;
use crate::ir::{Compare, Computation, Fusion, Instruction, Mark, Op, Precision, Program, Setting, Shape};
use crate::num::{BF16, Direction, round_f64};
use crate::tensor::{DType, Tensor};

use super::region::Regions;

/// The notion of equal values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// The same operations of the same values. Constants count by their bits: +0 and -0 are two values.
    Bits,
    /// As `Bits`, and compiled alike: in fusions of one number, with K cut at the same places.
    Compiled,
    /// The same up to rounding. All float types are one, an operation that only rounds or copies equals its operand,
    /// constants are equal if bf16 cannot tell them apart, and operations have a normal form ([`Numbering::normal`]).
    ButForRounding,
}

/// The number of a value in its [`Numbering`].
pub type Number = usize;

/// Key of an operation. Operations with equal keys are compared whole.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    opcode: &'static str,
    operands: Vec<Number>,
    /// The results of the regions that it calls.
    called: Vec<Number>,
    shape: Shape,
    /// Fusion and cut of K, under [`Equality::Compiled`].
    compiled: (Option<Fusion>, Option<usize>),
    /// Whether it is emitted packed, but for rounding.
    packed: bool,
    /// The meaning of a constant over the real numbers, where that is not its own number.
    meaning: Option<Mark>,
    /// Requests that may decide its bits, and that nothing here follows.
    settings: Option<Arc<[Setting]>>,
}

/// The numbers of all values that some programs compute.
#[derive(Debug)]
pub struct Numbering {
    equality: Equality,
    known: HashMap<Key, Vec<(Op, Number)>>,
    count: usize,
}

/// A program's numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// One a value of the entry.
    pub values: Vec<Number>,
    /// The results of the computations below the entry.
    regions: Vec<Number>,
}

impl Numbers {
    /// The numbers of the regions that an operation calls.
    pub fn callees(&self, op: &Op) -> Vec<Number> {
        op.callees().map(|region| self.regions[region]).collect()
    }

    /// For each value, the first with its number.
    pub fn firsts(&self) -> Vec<usize> {
        let mut first: HashMap<Number, usize> = HashMap::new();
        self.values.iter().enumerate().map(|(id, number)| *first.entry(*number).or_insert(id)).collect()
    }
}

impl Numbering {
    /// A numbering that knows no program yet.
    pub fn new(equality: Equality) -> Numbering {
        Numbering { equality, known: HashMap::new(), count: 0 }
    }

    /// The numbers of a program: values of several programs with one number are the same for equal arguments.
    pub fn program(&mut self, program: &Program, regions: &Regions) -> Numbers {
        let mut numbers = Numbers { values: Vec::new(), regions: Vec::with_capacity(program.entry) };
        // A computation calls only earlier ones.
        for computation in &program.computations[..=program.entry] {
            numbers.values = self.computation(computation, &numbers, regions);
            numbers.regions.push(numbers.values[computation.root]);
        }
        numbers
    }

    fn computation(&mut self, computation: &Computation, known: &Numbers, regions: &Regions) -> Vec<Number> {
        let mut values: Vec<Number> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let operands: Vec<Number> = instruction.operands.iter().map(|id| values[*id]).collect();
            let number = match self.is_transparent(computation, instruction) {
                true => operands[0],
                false => {
                    let (op, operands) = self.normal(&instruction.op, operands, regions);
                    let shape = self.class(&instruction.shape);
                    let called = known.callees(&instruction.op);
                    let k_block = instruction.tiling().and_then(|tiling| tiling.k_block);
                    let compiled = match self.equality {
                        Equality::Compiled => (instruction.fusion(), k_block),
                        Equality::Bits | Equality::ButForRounding => (None, None),
                    };
                    let packed = self.equality != Equality::ButForRounding && instruction.is_packed();
                    let is_meaning = |mark: &&Mark| match mark {
                        Mark::Turns(_) => self.equality != Equality::ButForRounding,
                        mark => **mark == Mark::TruthAlone,
                    };
                    let meaning = instruction.mark.as_ref().filter(is_meaning).cloned();
                    let opcode = instruction.op.opcode();
                    let settings = self.settings(instruction);
                    self.number(op, Key { opcode, operands, called, shape, compiled, packed, meaning, settings })
                }
            };
            values.push(number);
        }
        values
    }

    /// The settings by which values are told apart. A compiler's own are none of the program's: but for rounding they do not count.
    fn settings(&self, instruction: &Instruction) -> Option<Arc<[Setting]>> {
        let settings = instruction.settings.clone()?;
        if self.equality != Equality::ButForRounding || !settings.iter().any(Setting::is_of_compiler) {
            return Some(settings);
        }
        let own: Vec<Setting> = settings.iter().filter(|setting| !setting.is_of_compiler()).cloned().collect();
        (!own.is_empty()).then(|| own.into())
    }

    fn number(&mut self, op: Op, key: Key) -> Number {
        let equality = self.equality;
        // Operations hold constants, whose equality is looser but for rounding than a hash can tell.
        let alike = self.known.entry(key).or_default();
        if let Some((_, number)) = alike.iter().find(|(other, _)| is_same(equality, &op, other)) {
            return *number;
        }
        let number = self.count;
        alike.push((op, number));
        self.count += 1;
        number
    }

    /// Whether two operations in normal form are the same, apart from regions and operands.
    pub fn same_operation(&self, one: &Op, other: &Op) -> bool {
        is_same(self.equality, one, other)
    }

    /// Whether two shapes are the same.
    pub fn same_shape(&self, one: &Shape, other: &Shape) -> bool {
        self.class(one) == self.class(other)
    }

    /// The representative of all shapes that are the same.
    fn class(&self, shape: &Shape) -> Shape {
        match (self.equality, shape) {
            (Equality::Bits | Equality::Compiled, shape) => shape.clone(),
            (Equality::ButForRounding, Shape::Array { dtype, dims }) => Shape::array(kind(*dtype), dims),
            (Equality::ButForRounding, Shape::Tuple(parts)) => {
                Shape::Tuple(parts.iter().map(|part| self.class(part)).collect())
            }
        }
    }

    /// Whether an operation hands on its operand, perhaps rounded.
    pub fn is_transparent(&self, computation: &Computation, instruction: &Instruction) -> bool {
        let dtype = |shape: &Shape| shape.dtype().map(kind);
        self.equality == Equality::ButForRounding
            && self.settings(instruction).is_none()
            && match instruction.op {
                Op::ReducePrecision { .. } | Op::Copy | Op::OptimizationBarrier => true,
                Op::Convert => {
                    let from = &computation.instructions[instruction.operands[0]].shape;
                    dtype(from) == dtype(&instruction.shape)
                }
                _ => false,
            }
    }

    /// The normal form of an operation and its operands, regions apart. Slices of the same places are one. Under
    /// [`Equality::ButForRounding`], `a > b` is `b < a`, and the operands of commutative operations are sorted. The
    /// precision of a dot is ignored, and so is the stability of a sort whose comparator leaves no ties.
    pub fn normal(&self, op: &Op, mut operands: Vec<Number>, regions: &Regions) -> (Op, Vec<Number>) {
        let mut normal = op.clone();
        // Regions are compared by the numbers of their results: which computation they are says nothing.
        normal.callees_mut().for_each(|region| *region = 0);
        if let Op::Slice { start, limit, stride } = &mut normal {
            for ((start, limit), stride) in start.iter().zip(limit).zip(stride) {
                (_, *limit, *stride) = places_of_slice(*start, *limit, *stride);
            }
        }
        if self.equality != Equality::ButForRounding {
            return (normal, operands);
        }
        if let (Op::Sort { to_apply, .. }, Op::Sort { stable, .. }) = (op, &mut normal) {
            // Without ties a stable sort and any other give one order.
            *stable |= regions.comparator_but_for_rounding(*to_apply).is_some_and(|found| found.ties.is_some());
        }
        let commutes = match &mut normal {
            Op::Dot { precision, .. } => {
                *precision = [Precision::Default; 2];
                false
            }
            Op::Compare { direction: direction @ (Compare::Gt | Compare::Ge), .. } => {
                *direction = if *direction == Compare::Gt { Compare::Lt } else { Compare::Le };
                operands.reverse();
                false
            }
            Op::Compare { direction, .. } => matches!(direction, Compare::Eq | Compare::Ne),
            Op::Binary(binary) => binary.commutes(),
            _ => false,
        };
        if commutes {
            operands.sort_unstable();
        }
        (normal, operands)
    }
}

/// Whether two operations are the same where their operands and regions are.
fn is_same(equality: Equality, one: &Op, other: &Op) -> bool {
    match (equality, one, other) {
        (Equality::ButForRounding, Op::Constant(one), Op::Constant(other)) => fingerprint(one) == fingerprint(other),
        _ => one == other,
    }
}

/// One dtype for all floats.
fn kind(dtype: DType) -> DType {
    if dtype.is_float() { DType::F32 } else { dtype }
}

/// FNV-1a over the elements, floats rounded to bf16.
pub fn fingerprint(tensor: &Tensor) -> u64 {
    let data = tensor.data();
    let element = |i| match data.dtype().is_float() {
        true => round_f64(&BF16, data.get_f64(i), Direction::NearestEven).to_bits(),
        false => data.get_i64(i) as u64,
    };
    (0..tensor.len()).fold(0xcbf2_9ce4_8422_2325, |hash, i| (hash ^ element(i)).wrapping_mul(0x100_0000_01b3))
}

/// Whether two programs give the same bits for the same arguments, because they compute their results alike. Values
/// that no result depends on are ignored.
pub fn same_results(one: &Program, other: &Program) -> bool {
    let mut numbering = Numbering::new(Equality::Bits);
    let [left, right] = [one, other].map(|program| signature(program, &mut numbering));
    left == right
}

/// The shapes of a program's parameters and the numbers of its results. Two programs have equal signatures exactly if
/// [`same_results`].
pub fn signature(program: &Program, numbering: &mut Numbering) -> (Vec<Shape>, Vec<Number>) {
    let numbers = numbering.program(program, &Regions::new(program));
    let parameters = program.entry().parameter_shapes().into_iter().cloned().collect();
    (parameters, program.outputs().into_iter().map(|id| numbers.values[id]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, ResultAccuracy, Unary};

    fn scaled(name: &str, factor: f64, with_dead: bool) -> Program {
        let mut b = Builder::new(name);
        let x = b.parameter(name, DType::F32, &[4]).unwrap();
        if with_dead {
            b.binary(Binary::Add, x, x).unwrap();
        }
        let factor = b.constant(DType::F32, factor).unwrap();
        let factor = b.splat(factor, &[4]).unwrap();
        let y = b.binary(Binary::Multiply, x, factor).unwrap();
        b.finish(&[(name, y)]).unwrap()
    }

    #[test]
    fn names_and_dead_operations_do_not_count_but_constants_do() {
        assert!(same_results(&scaled("x", 2.0, false), &scaled("y", 2.0, true)));
        assert!(!same_results(&scaled("x", 2.0, false), &scaled("x", 3.0, false)));
        assert!(!same_results(&scaled("x", -0.0, false), &scaled("x", 0.0, false)));
        assert!(same_results(&scaled("x", f64::NAN, false), &scaled("y", f64::NAN, false)));
    }

    /// Slices of the same places are the same, whatever they say of the places behind the last.
    #[test]
    fn slices_count_by_their_places() {
        let sliced = |start, limit, stride| {
            let mut b = Builder::new("sliced");
            let x = b.parameter("x", DType::F32, &[6]).unwrap();
            let op = Op::Slice { start: vec![start], limit: vec![limit], stride: vec![stride] };
            let y = b.op(op, &[x]).unwrap();
            b.finish(&[("y", y)]).unwrap()
        };
        for (one, other) in [((0, 3, 2), (0, 4, 2)), ((1, 5, 3), (1, 6, 3)), ((2, 3, 1), (2, 4, 2))] {
            assert!(same_results(&sliced(one.0, one.1, one.2), &sliced(other.0, other.1, other.2)));
        }
        for (one, other) in [((0, 3, 2), (1, 4, 2)), ((0, 3, 2), (0, 4, 3)), ((2, 3, 1), (3, 4, 1))] {
            assert!(!same_results(&sliced(one.0, one.1, one.2), &sliced(other.0, other.1, other.2)));
        }
    }

    #[test]
    fn regions_count() {
        let reduced = |binary| {
            let mut b = Builder::new("reduced");
            let x = b.parameter("x", DType::F32, &[4]).unwrap();
            let y = b.reduce(binary, x, 0.0, &[0]).unwrap();
            b.finish(&[("y", y)]).unwrap()
        };
        assert!(same_results(&reduced(Binary::Add), &reduced(Binary::Add)));
        assert!(!same_results(&reduced(Binary::Add), &reduced(Binary::Maximum)));
    }

    #[test]
    fn parameters_count_by_number_and_shape() {
        let negated = |dtype, size, other| {
            let mut b = Builder::new("negated");
            let x = b.parameter("x", dtype, &[size]).unwrap();
            let y = b.parameter("y", dtype, &[size]).unwrap();
            let z = b.unary(Unary::Negate, if other { y } else { x }).unwrap();
            b.finish(&[("z", z)]).unwrap()
        };
        let plain = negated(DType::F32, 4, false);
        assert!(same_results(&plain, &negated(DType::F32, 4, false)));
        for other in [negated(DType::BF16, 4, false), negated(DType::F32, 5, false), negated(DType::F32, 4, true)] {
            assert!(!same_results(&plain, &other));
        }
    }

    /// One value, computed anew and rounded on the way, is one but for rounding only.
    #[test]
    fn roundings_are_looked_through_where_asked() {
        let mut b = Builder::new("copies");
        let x = b.parameter("x", DType::F32, &[4]).unwrap();
        let y = b.parameter("y", DType::F32, &[4]).unwrap();
        let one = b.binary(Binary::Add, x, y).unwrap();
        let narrow = b.convert(y, DType::BF16).unwrap();
        let wide = b.convert(narrow, DType::F32).unwrap();
        let other = b.binary(Binary::Add, wide, x).unwrap();
        let again = b.binary(Binary::Add, x, y).unwrap();
        let program = b.finish(&[("one", one), ("other", other), ("again", again)]).unwrap();
        let regions = Regions::new(&program);
        let number = |equality| Numbering::new(equality).program(&program, &regions).values;
        let (bits, loose) = (number(Equality::Bits), number(Equality::ButForRounding));
        assert_eq!((bits[one] == bits[again], bits[one] == bits[other]), (true, false));
        assert_eq!((loose[one] == loose[other], loose[wide] == loose[y]), (true, true));
        assert_ne!(loose[one], loose[x]);
    }

    /// Packed code has other bits, and means the same but for rounding.
    #[test]
    fn packed_code_makes_a_value_of_its_own() {
        let mut b = Builder::new("packed");
        let x = b.parameter("x", DType::BF16, &[4]).unwrap();
        let [plain, packed] = [0, 1].map(|_| b.unary(Unary::Exponential, x).unwrap());
        let mut program = b.finish(&[("plain", plain), ("packed", packed)]).unwrap();
        let entry = program.entry;
        program.computations[entry].instructions[packed].record(|compiled| compiled.packed = true);
        for equality in [Equality::Bits, Equality::Compiled, Equality::ButForRounding] {
            let numbers = Numbering::new(equality).program(&program, &Regions::new(&program)).values;
            assert_eq!(numbers[plain] == numbers[packed], equality == Equality::ButForRounding);
        }
    }

    /// Nobody knows what a setting changes that nothing follows: values that differ in one are two, and copies under one are no copies.
    /// A compiler's plan is no part of the program.
    #[test]
    fn a_setting_makes_a_value_of_its_own() {
        let other = |name: &str| Setting::Other { name: name.to_string(), value: "1".to_string() };
        let asked = [Setting::Accuracy(ResultAccuracy::Highest), other("colour"), other("backend_config.plan")];
        for (setting, is_plan) in asked.into_iter().zip([false, false, true]) {
            let mut b = Builder::new("settings");
            let x = b.parameter("x", DType::F32, &[4]).unwrap();
            let values: Vec<usize> = (0..3).map(|_| b.unary(Unary::Exponential, x).unwrap()).collect();
            let copies: Vec<usize> = (0..3).map(|_| b.op(Op::Copy, &[x]).unwrap()).collect();
            let mut program = b.finish(&[("z", values[0])]).unwrap();
            for id in [values[1], values[2], copies[1], copies[2]] {
                let entry = program.entry;
                program.computations[entry].instructions[id].settings = Some(vec![setting.clone()].into());
            }
            for equality in [Equality::Bits, Equality::Compiled, Equality::ButForRounding] {
                let numbers = Numbering::new(equality).program(&program, &Regions::new(&program)).values;
                let are_one = is_plan && equality == Equality::ButForRounding;
                for same in [&values, &copies] {
                    assert_eq!(numbers[same[0]] == numbers[same[1]], are_one, "{setting} {equality:?}");
                    assert_eq!(numbers[same[1]], numbers[same[2]], "{setting} {equality:?}");
                }
            }
        }
    }

    /// A cut of K changes bits, and nothing else does: the truth is the same.
    #[test]
    fn what_is_compiled_otherwise_is_not_the_same() {
        let cut = |k_block: usize| {
            let mut b = Builder::new("cut");
            let x = b.parameter("x", DType::BF16, &[2, 8]).unwrap();
            let y = b.parameter("y", DType::BF16, &[8, 2]).unwrap();
            let z = b.matmul(x, y, Precision::Default, DType::F32).unwrap();
            b.cut_k(z, k_block);
            b.finish(&[("z", z)]).unwrap()
        };
        let mut numbering = Numbering::new(Equality::Compiled);
        let [two, four, again] = [2, 4, 2].map(|k_block| signature(&cut(k_block), &mut numbering));
        assert!(two == again && two != four);
        assert!(same_results(&cut(2), &cut(4)));
    }
}
