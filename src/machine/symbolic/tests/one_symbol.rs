//! Elements with one symbol have the same bits, and are what it says of them: random programs of all operations, each value of
//! which is a result, followed and run on several units.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::ir::{Op, Program, Shape, ValueId};
use crate::tensor::{DType, Data, Tensor};
use crate::{Arithmetic, Prepared};

use super::super::symbol::Number;
use super::super::{Naming, Permits, Symbol, Traced};
use super::random_program::{LANES, Random, RandomProgram};

const WITHOUT_F64: [&str; 5] =
    ["v5e/default/off", "tpu7x/high/off", "v4/highest/off+acc=pairwise", "cpu/f32/off", "planned/f32/off"];

const WITH_F64: [&str; 2] = ["cpu/f32/off", "planned/f32/off"];

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

/// An element, its value, and its mode.
type Place = (usize, ValueId, &'static str);

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
    let followed: Vec<(&'static str, Arithmetic, Traced)> = modes.iter().map(followed).collect();
    let outputs = program.outputs();
    let (mut symbols, mut comparisons) = (0, 0);
    for trial in 0..trials {
        let argument = |shape: &&Shape| argument(random, shape.element_type(), trial % 2 == 1);
        let arguments: Vec<Tensor> = shapes.iter().map(argument).collect();
        let mut first: HashMap<(DType, Symbol), (u64, Place)> = HashMap::new();
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
                    let told = |(at, id, mode): Place| format!("{at} of {} in {mode}", formula(program, id));
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

/// Programs of a thousand steps, and the symbols and comparisons of one at least: with fewer a test would show little.
struct Grown {
    step: fn(&mut RandomProgram),
    modes: &'static [&'static str],
    permits: Permits,
    at_least: [usize; 2],
}

impl Grown {
    /// Compares a program for each seed.
    fn compare(self, seeds: Range<u64>, types: &[DType]) {
        let mut random = Random(seeds.start);
        for seed in seeds {
            let program = RandomProgram::new(types, seed).grow(1000, self.step);
            let counts = compared(&program, self.modes, self.permits, 3, &mut random);
            assert!(counts[0] > self.at_least[0] && counts[1] > self.at_least[1], "{counts:?}");
        }
    }
}

#[test]
fn elements_with_one_symbol_have_the_same_bits() {
    use DType::{BF16, F16, F32, Pred, S8, S32, U8, U32};
    let (step, permits, at_least) = (RandomProgram::any_step, Permits::default(), [4_000, 20_000]);
    let types = [F32, BF16, F16, S32, U32, S8, U8, Pred];
    Grown { step, modes: &WITHOUT_F64, permits, at_least }.compare(0..3, &types);
}

#[test]
fn elements_of_f64_with_one_symbol_have_the_same_bits() {
    use DType::{BF16, F32, F64, Pred, S32, S64};
    let (step, permits, at_least) = (RandomProgram::any_step, Permits::default(), [3_000, 5_000]);
    Grown { step, modes: &WITH_F64, permits, at_least }.compare(0..4, &[F32, BF16, F64, S32, S64, Pred]);
}

#[test]
fn functions_with_one_table_have_the_same_bits() {
    use DType::{F8E4M3FN, F8E5M2, F32, Pred, S32, U8};
    let permits = Permits { by_values: true, ..Permits::default() };
    let (step, at_least) = (RandomProgram::any_step, [3_000, 20_000]);
    Grown { step, modes: &WITHOUT_F64, permits, at_least }.compare(0..3, &[F32, F8E4M3FN, F8E5M2, S32, U8, Pred]);
}

#[test]
fn words_with_one_symbol_have_the_same_bits() {
    let (step, permits, at_least) = (RandomProgram::word_step, Permits::default(), [700, 1_000]);
    Grown { step, modes: &["v5e/default/off", "cpu/f32/off"], permits, at_least }
        .compare(0..12, &RandomProgram::WORD_TYPES);
}

#[test]
fn elements_of_planes_with_one_symbol_have_the_same_bits() {
    use DType::{BF16, F32, Pred, S32};
    let (step, permits, at_least) = (RandomProgram::plane_step, Permits::default(), [4_000, 10_000]);
    let modes = &["v5e/default/off", "v4/highest/off+reduce=tree32", "cpu/f32/off+scan=blocked16", "planned/f32/off"];
    Grown { step, modes, permits, at_least }.compare(0..3, &[F32, BF16, S32, Pred]);
}
