use super::*;
use crate::demand::{Demand, TruthTensor};
use crate::fast::Fast;
use crate::interval::Interval;
use crate::ir::{Binary, Builder, ShapeError, TRIP_BOUND};
use crate::mpfr::Mpfr;
use crate::pairs::Pairs;
use crate::tensor::{DType, Data};
use crate::{Oracle, Rung};

/// The truth of a program, and its sums, by one rung alone.
fn alone<A: Arithmetic>(
    arithmetic: A,
    program: &Program,
    arguments: &[Tensor],
    demands: &[Demand],
) -> Result<(Truth, Sums), OracleError> {
    let wanted = vec![Need::All; demands.len()];
    let prepared = Prepared::new(program);
    let plan = Plan::new(&prepared.program, demands.to_vec(), &wanted, Sums::new());
    run(arithmetic, &prepared, arguments, &plan).map(|(truth, sums, _)| (truth, sums))
}

/// Does something within a pass of f64 intervals over nothing.
fn within<R>(body: impl FnOnce(&mut Pass<Fast>) -> R) -> R {
    let mut b = Builder::new("nothing");
    let zero = b.constant(DType::F32, 0.0).unwrap();
    let program = b.finish(&[("zero", zero)]).unwrap();
    let prepared = &Prepared::new(&program);
    let plan = &Plan::new(&prepared.program, vec![Demand::None], &[Need::Nothing], Sums::new());
    body(&mut Pass::new(Fast::default(), prepared, plan))
}

fn f64s(values: &[f64]) -> Tensor {
    Tensor::new(&[values.len()], Data::from_f64s(DType::F64, values).unwrap())
}

/// Enclosures that touch say that one number is not above the other, and no more than that.
#[test]
fn enclosures_that_touch_decide_what_they_can() {
    const ALL: [Compare; 6] = [Compare::Eq, Compare::Ne, Compare::Ge, Compare::Gt, Compare::Le, Compare::Lt];
    within(|pass| {
        let mut compared = |x: Interval, y: Interval, order| {
            let [x, y] = [x, y].map(|v| Value::Float(pass.world.fresh_all(vec![v])));
            ALL.map(|direction| pass.compare(direction, order, &x, &y)[0])
        };
        let (low, high) = (Interval { lo: 1.0, hi: 2.0 }, Interval { lo: 2.0, hi: 3.0 });
        let touching = [None, None, None, Some(false), Some(true), None];
        assert_eq!(compared(low, high, CompareOrder::Partial), touching);
        assert_eq!(compared(high, low, CompareOrder::Partial), [None, None, Some(true), None, None, Some(false)]);
        let across = Interval { lo: 1.5, hi: 2.5 };
        let pairs = [(low, across), (across, low), (low, Interval::UNKNOWN), (Interval::UNKNOWN, low)];
        for (x, y) in pairs {
            assert_eq!(compared(x, y, CompareOrder::Partial), [None; 6], "{x:?}, {y:?}");
        }
        // In total order two that are equal may be zeros of two signs.
        for (x, y) in [(low, high), (high, low)] {
            assert_eq!(compared(x, y, CompareOrder::Total), [None; 6]);
        }
        let apart = Interval { lo: 3.5, hi: 4.0 };
        let less = [Some(false), Some(true), Some(false), Some(false), Some(true), Some(true)];
        assert_eq!(compared(low, apart, CompareOrder::Partial), less);
        let nan = compared(low, Interval::NAN, CompareOrder::Partial);
        assert_eq!(nan, [Some(false), Some(true), Some(false), Some(false), Some(false), Some(false)]);
    });
}

/// If a predicate is open, two equal operands of a select are still the result.
#[test]
fn an_open_choice_between_equals_is_none() {
    within(|pass| {
        let flags = Value::predicate(vec![None, None, None, Some(true), Some(false)]);
        let of = |values: [Option<i64>; 5]| Value::integer(DType::S32, values.to_vec());
        let on_true = of([Some(1), Some(2), None, Some(3), Some(4)]);
        let on_false = of([Some(1), Some(5), None, Some(6), Some(7)]);
        let chosen = pass.select(&flags, &on_true, &on_false);
        assert_eq!(*chosen.integers().values, [Some(1), None, None, Some(3), Some(7)]);
    });
}

/// Integers that a type does not hold wrap around in it, and a float holds the number.
#[test]
fn counted_integers_wrap_in_their_type() {
    within(|pass| {
        for (dtype, expected) in [(DType::U8, [255, 0, 255]), (DType::S8, [-1, 0, -1]), (DType::S32, [255, 256, -1])] {
            let value = pass.integer_value(dtype, vec![255, 256, -1]);
            assert_eq!(*value.integers().values, expected.map(Some), "{dtype:?}");
        }
        let value = pass.integer_value(DType::F32, vec![255, 256, -1]);
        let numbers = [0, 1, 2].map(|at| pass.world.number(value.floats(), at));
        assert_eq!(numbers, [255.0, 256.0, -1.0].map(Interval::exact));
    });
}

#[test]
fn nothing_is_known_of_what_is_forgotten() {
    within(|pass| {
        let [floats, integers] = [DType::F32, DType::S32].map(|dtype| Shape::array(dtype, &[2]));
        let parts = pass.forget(&Shape::Tuple(vec![floats, integers])).into_parts();
        assert_eq!((parts.len(), parts[0].floats().len), (2, 2));
        assert!((0..2).all(|at| pass.world.number(parts[0].floats(), at).is_unknown()));
        assert_eq!((parts[1].integers().dtype, &**parts[1].integers().values), (DType::S32, &[None, None][..]));
    });
}

/// A tuple among the instructions is a value; that of the results only lists them.
#[test]
fn tuples_inside_are_values() {
    let mut b = Builder::new("tuples");
    let x = b.parameter("x", DType::F64, &[1]).unwrap();
    let sum = b.binary(Binary::Add, x, x).unwrap();
    let inside = b.op(Op::Tuple, &[x, sum]).unwrap();
    let second = b.tuple_element(inside, 1).unwrap();
    let tuple = b.finish(&[("second", second), ("sum", sum), ("x", x)]).unwrap();
    // Without one the root itself is the result.
    let mut array = tuple.clone();
    array.computations[array.entry].root = second;
    for (program, count) in [(tuple, 3), (array, 1)] {
        let demands = vec![Demand::Rounded; count];
        let (truth, _) = alone(Fast::default(), &program, &[f64s(&[1.5])], &demands).unwrap();
        let expected = [3.0, 3.0, 1.5];
        for (output, expected) in truth.outputs.iter().zip(expected) {
            let TruthTensor::Float(float) = output else { panic!("{output:?}") };
            assert_eq!((&float.rounded[..], &float.open[..]), (&[expected][..], &[][..]));
        }
    }
}

/// An instruction that no demand depends on is not evaluated, and so is not refused.
#[test]
fn what_nobody_asks_for_is_not_refused() {
    let mut b = Builder::new("endless");
    let refused = |b: &mut Builder, x| {
        let condition = b.region("always", |b| {
            let x = b.parameter("x", DType::F64, &[])?;
            b.compare(Compare::Eq, x, x)
        })?;
        let body = b.region("same", |b| {
            let x = b.parameter("x", DType::F64, &[])?;
            b.op(Op::Tuple, &[x])
        })?;
        let looped = b.op(Op::While { condition, body }, &[x])?;
        b.op(Op::GetTupleElement(0), &[looped])
    };
    let to_apply = b
        .region("callee", |b| {
            let x = b.parameter("x", DType::F64, &[])?;
            b.unary(Unary::Exponential, x)?;
            b.binary(Binary::Add, x, x)
        })
        .unwrap();
    let x = b.parameter("x", DType::F64, &[]).unwrap();
    let last = refused(&mut b, x).unwrap();
    let called = b.op(Op::Call { to_apply }, &[x]).unwrap();
    let program = b.finish(&[("last", last), ("called", called)]).unwrap();
    let arguments = [Tensor::scalar(DType::F64, 1.0).unwrap()];
    let (truth, _) = alone(Mpfr::new(100), &program, &arguments, &[Demand::None, Demand::Rounded]).unwrap();
    assert_eq!(truth.outputs[0], TruthTensor::Skipped);
    assert!(matches!(&truth.outputs[1], TruthTensor::Float(float) if float.rounded == [2.0]));
    let asked = alone(Fast::default(), &program, &arguments, &[Demand::Rounded, Demand::None]);
    assert!(matches!(asked, Err(OracleError::NoMeaning { opcode: "while", .. })));
}

/// Sums of the entry go to the next pass, each under its own number; sums of called computations do not.
#[test]
fn the_sums_of_the_entry_are_kept() {
    let mut b = Builder::new("sums");
    let x = b.parameter("x", DType::F64, &[3]).unwrap();
    let doubled = b.binary(Binary::Add, x, x).unwrap();
    let sum = b.reduce(Binary::Add, doubled, 0.0, &[0]).unwrap();
    let result = b.unary(Unary::Exponential, sum).unwrap();
    let mut program = b.finish(&[("result", result)]).unwrap();
    // A computation that reduces as well, under a number that another instruction of the entry has.
    let mut callee = program.entry().clone();
    callee.instructions.truncate(sum + 1);
    callee.root = sum;
    let shape = program.entry().instructions[sum].shape.clone();
    let entry = &mut program.computations[program.entry];
    let call = Instruction::new("call", Op::Call { to_apply: 1 }, vec![x], shape.clone());
    let mut tuple = entry.instructions[entry.root].clone();
    let copies = (0..2).map(|i| Instruction::new(format!("copy{i}"), Op::Copy, vec![entry.root], shape.clone()));
    let copies: Vec<Instruction> = copies.collect();
    let at = entry.root;
    entry.instructions.truncate(at);
    entry.instructions.push(call);
    entry.instructions.extend(copies);
    tuple.operands = vec![result, at];
    tuple.shape = Shape::Tuple(vec![shape.clone(), shape]);
    entry.instructions.push(tuple);
    entry.root = entry.instructions.len() - 1;
    // Callees stand before their callers.
    program.computations.insert(program.entry, callee);
    program.entry += 1;
    program.output_names.push("called".to_string());
    let arguments = [f64s(&[0.125, 0.25, 0.5])];
    let (truth, sums) = alone(Pairs::default(), &program, &arguments, &[Demand::Rounded; 2]).unwrap();
    assert_eq!(sums.keys().copied().collect::<Vec<usize>>(), [sum]);
    assert_eq!(sums[&sum].iter().map(|pair| pair.as_exact()).collect::<Vec<_>>(), [Some(1.75)]);
    let TruthTensor::Float(called) = &truth.outputs[1] else { panic!("{truth:?}") };
    assert_eq!(called.rounded, [1.75]);
    // Intervals have none to keep, and a pass that is given them needs no terms.
    assert!(alone(Fast::default(), &program, &arguments, &[Demand::Rounded; 2]).unwrap().1.is_empty());
}

/// Results of one function, of arguments closer than its enclosures: their order is that of the arguments, on whichever
/// side the parameter stands.
#[test]
fn functions_of_one_parameter_keep_their_order() {
    use Binary::{Add, Divide, Multiply, Subtract};
    let cases = [
        (Add, false, Some(true)),
        (Add, true, Some(true)),
        (Subtract, false, Some(true)),
        (Subtract, true, Some(false)),
        (Multiply, false, Some(true)),
        (Multiply, true, Some(true)),
        (Divide, false, Some(true)),
        (Divide, true, Some(false)),
    ];
    let third = 1.0f64 / 3.0;
    // The parameter: one constant; the same in an array of its own, which only stands on the right.
    for (binary, is_left, expected) in cases {
        for is_array in [false, true] {
            let mut b = Builder::new("order");
            let x = b.parameter("x", DType::F64, &[2]).unwrap();
            let array = b.parameter("array", DType::F64, &[2]).unwrap();
            let scalar = b.constant(DType::F64, 3e10 / 7.0).unwrap();
            let splat = b.splat(scalar, &[2]).unwrap();
            let parameter = if is_array { array } else { splat };
            let (lhs, rhs) = if is_left { (parameter, x) } else { (x, parameter) };
            let result = b.binary(binary, lhs, rhs).unwrap();
            let less = less_than_next(&mut b, result, &[2]);
            let program = b.finish(&[("less", less)]).unwrap();
            let c = 3e10 / 7.0;
            let arguments = [f64s(&[third, third.next_up()]), f64s(&[c, c])];
            let (truth, _) = alone(Fast::default(), &program, &arguments, &[Demand::Rounded]).unwrap();
            // Of two variables the left one is the variable; quotients are further apart than their enclosures are wide.
            let expected = if is_left && is_array && binary != Divide { None } else { expected };
            let TruthTensor::Predicate { values, .. } = &truth.outputs[0] else { panic!("{truth:?}") };
            assert_eq!(values, &[expected], "{binary:?}, left {is_left}, array {is_array}");
        }
    }
    // Two that are spread: the first is the variable.
    let mut b = Builder::new("order");
    let x = b.parameter("x", DType::F64, &[2]).unwrap();
    let rows = b.broadcast(x, &[2, 1], &[0]).unwrap();
    let scalar = b.constant(DType::F64, 3e10 / 7.0).unwrap();
    let splat = b.splat(scalar, &[2, 1]).unwrap();
    let result = b.binary(Add, rows, splat).unwrap();
    let less = less_than_next(&mut b, result, &[2, 1]);
    let program = b.finish(&[("less", less)]).unwrap();
    let (truth, _) = alone(Fast::default(), &program, &[f64s(&[third, third.next_up()])], &[Demand::Rounded]).unwrap();
    assert!(matches!(&truth.outputs[0], TruthTensor::Predicate { values, .. } if values == &[Some(true)]));
}

/// Whether the first of two elements is less than the second.
fn less_than_next(b: &mut Builder, x: usize, dims: &[usize]) -> usize {
    let part = |from: usize| {
        let mut start = vec![0; dims.len()];
        let mut limit = dims.to_vec();
        (start[0], limit[0]) = (from, from + 1);
        Op::Slice { start, limit, stride: vec![1; dims.len()] }
    };
    let [first, second] = [0, 1].map(|from| b.op(part(from), &[x]).unwrap());
    let [first, second] = [first, second].map(|part| b.reshape(part, &[1]).unwrap());
    b.compare(Compare::Lt, first, second).unwrap()
}

/// A loop ends with its condition, or is refused behind the bound of trips. `ir::domain` counts them to the last one.
#[test]
fn loops_end_within_the_trip_bound() {
    let trips = |limit: usize| {
        let mut b = Builder::new("loop");
        let condition = b.region("condition", |b| {
            let i = b.parameter("i", DType::S32, &[])?;
            let limit = b.constant(DType::S32, limit as f64)?;
            b.compare(Compare::Lt, i, limit)
        });
        let body = b.region("body", |b| {
            let i = b.parameter("i", DType::S32, &[])?;
            let one = b.constant(DType::S32, 1.0)?;
            let next = b.binary(Binary::Add, i, one)?;
            b.op(Op::Tuple, &[next])
        });
        let zero = b.constant(DType::S32, 0.0).unwrap();
        let shape = Shape::Tuple(vec![Shape::array(DType::S32, &[])]);
        let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
        let last = b.op_of_shape(op, &[zero], shape).unwrap();
        let last = b.tuple_element(last, 0).unwrap();
        let program = b.finish(&[("last", last)]).unwrap();
        alone(Fast::default(), &program, &[], &[Demand::Rounded]).map(|(truth, _)| truth.outputs)
    };
    let values = |last: usize| vec![TruthTensor::Integer { dims: vec![], values: vec![Some(last as i64)] }];
    assert_eq!(trips(3), Ok(values(3)));
    assert!(matches!(trips(TRIP_BOUND + 1), Err(OracleError::NoMeaning { opcode: "while", .. })));
}

/// The announced number of operations of a pass counts each trip of a loop, as found by the pass before it.
#[test]
fn trips_are_announced() {
    let announced = |trips: usize| {
        let mut b = Builder::new("loop");
        let state = |b: &mut Builder| {
            Ok::<_, ShapeError>((b.parameter("i", DType::S32, &[])?, b.parameter("x", DType::F64, &[4])?))
        };
        let condition = b.region("condition", |b| {
            let (i, _) = state(b)?;
            let limit = b.constant(DType::S32, trips as f64)?;
            b.compare(Compare::Lt, i, limit)
        });
        let body = b.region("body", |b| {
            let (i, x) = state(b)?;
            let one = b.constant(DType::S32, 1.0)?;
            let (next, x) = (b.binary(Binary::Add, i, one)?, b.unary(Unary::Tanh, x)?);
            b.op(Op::Tuple, &[next, x])
        });
        let (zero, x) = (b.constant(DType::S32, 0.0).unwrap(), b.parameter("x", DType::F64, &[4]).unwrap());
        let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
        let shape = Shape::Tuple(vec![Shape::array(DType::S32, &[]), Shape::array(DType::F64, &[4])]);
        let last = b.op_of_shape(op, &[zero, x], shape).unwrap();
        let last = b.tuple_element(last, 1).unwrap();
        let program = b.finish(&[("last", last)]).unwrap();
        let oracle = Oracle { first: Some(Rung::Intervals), ..Oracle::default() };
        let mut announced = Vec::new();
        let (prepared, arguments) = (Prepared::new(&program), [f64s(&[0.1, 0.2, 0.3, 0.4])]);
        oracle.announced_truth(&prepared, &arguments, &[Demand::Rounded], &mut |ahead| announced.push(ahead)).unwrap();
        announced
    };
    let [few, more, most] = [10, 20, 30].map(|trips| announced(trips)[0]);
    assert_eq!((few.rung, few.bits, few.open), (Rung::Pairs, 104, 4));
    // Four elements of an array, at least, are made in each trip.
    let of_trips = more.operations - few.operations;
    assert!(of_trips >= 40 && most.operations - more.operations == of_trips, "{few:?} {more:?} {most:?}");
}

/// A value goes with its last user; results stay.
#[test]
fn values_go_with_their_last_user() {
    let mut b = Builder::new("chain");
    let x = b.parameter("x", DType::F64, &[2]).unwrap();
    let power = b.unary(Unary::Exponential, x).unwrap();
    let twice = b.binary(Binary::Add, power, power).unwrap();
    let product = b.binary(Binary::Multiply, twice, x).unwrap();
    let program = b.finish(&[("twice", twice), ("product", product)]).unwrap();
    let prepared = &Prepared::new(&program);
    let plan = &Plan::new(&prepared.program, vec![Demand::Rounded; 2], &[Need::All, Need::All], Sums::new());
    let mut pass = Pass::new(Fast::default(), prepared, plan);
    let arguments = [f64s(&[1.0, 2.0])];
    let values = pass.computation(program.entry, &Arguments::Tensors(&arguments), Some(&plan.needs)).unwrap();
    let kept: Vec<usize> = (0..values.len()).filter(|id| values[*id].is_some()).collect();
    assert_eq!(kept, [twice, product]);
}

/// The last rung, asked for one element, computes no other.
#[test]
fn elements_that_nobody_asks_for_stay_open() {
    let mut b = Builder::new("one");
    let x = b.parameter("x", DType::F64, &[3]).unwrap();
    let power = b.unary(Unary::Exponential, x).unwrap();
    let program = b.finish(&[("power", power)]).unwrap();
    let prepared = Prepared::new(&program);
    let wanted = [Need::Some(vec![false, true, false])];
    let plan = Plan::new(&prepared.program, vec![Demand::Rounded], &wanted, Sums::new());
    let (truth, _, _) = run(Mpfr::new(100), &prepared, &[f64s(&[1.0, 2.0, 3.0])], &plan).unwrap();
    assert!(matches!(&truth.outputs[0], TruthTensor::Float(float) if float.open == [0, 2]));
}

/// Of two zeros of which neither prevails, the first remains unchanged.
#[test]
fn of_equal_zeros_the_first_remains() {
    within(|pass| {
        let x = pass.world.exact(-0.0);
        let y = crate::elements::Element { number: x.number, identity: crate::order::Identity::fresh(7) };
        let largest = pass.world.extreme(&x, &y, true);
        assert!(largest.identity.is(&x.identity) && largest.number.lo.is_sign_negative());
    });
}
