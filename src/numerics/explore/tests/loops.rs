//! Loops, laid out trip by trip: a body is compiled once, and what is carried keeps its type.

use crate::ir::{Binary, Builder, Compare, Fusion, Op, Program, ValueId};
use crate::machine::{self, Mode, Prepared, Replay};
use crate::mode::and_compiled;
use crate::rewrite::Choices;
use crate::tensor::{DType, Tensor};

use super::super::{Answer, NoRepair, Settings, counterexample, enclose, explore, outside, permitted, repair};
use super::{DIMS, Draw, built, count, drawn, random_results, random_values, settings, tensor};

/// `lax.fori_loop`: the values after so many trips. `body` is given the trip's number, s32, and the values.
fn repeat(
    b: &mut Builder,
    trips: usize,
    start: &[ValueId],
    body: impl FnOnce(&mut Builder, ValueId, &[ValueId]) -> Vec<ValueId>,
) -> Vec<ValueId> {
    let first = b.constant(DType::S32, 0.0).unwrap();
    let state: Vec<ValueId> = [&[first], start].concat();
    let shapes: Vec<_> = state.iter().map(|value| b.shape(*value).clone()).collect();
    let take = |b: &mut Builder| -> Vec<ValueId> {
        let each = shapes.iter().enumerate();
        each.map(|(at, shape)| b.parameter(&format!("s{at}"), shape.element_type(), shape.dims()).unwrap()).collect()
    };
    let condition = b.region("condition", |b| {
        let values = take(b);
        let end = b.constant(DType::S32, trips as f64)?;
        b.compare(Compare::Lt, values[0], end)
    });
    let body = b.region("body", |b| {
        let values = take(b);
        let next = body(b, values[0], &values[1..]);
        let one = b.constant(DType::S32, 1.0)?;
        let count = b.binary(Binary::Add, values[0], one)?;
        b.op(Op::Tuple, &[&[count], &next[..]].concat())
    });
    let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
    let last = b.op(op, &state).unwrap();
    (1..state.len()).map(|at| b.tuple_element(last, at).unwrap()).collect()
}

/// Row `at` of `[trips, ...]`.
fn row(b: &mut Builder, x: ValueId, at: ValueId) -> ValueId {
    let dims = b.shape(x).dims().to_vec();
    let zero = b.constant(DType::S32, 0.0).unwrap();
    let starts = vec![zero; dims.len() - 1];
    let sizes = [&[1], &dims[1..]].concat();
    let slice = b.op(Op::DynamicSlice { sizes }, &[&[x, at], &starts[..]].concat()).unwrap();
    b.reshape(slice, &dims[1..]).unwrap()
}

/// The value in this type.
fn cast(b: &mut Builder, x: ValueId, dtype: DType) -> ValueId {
    if b.shape(x).dtype() == Some(dtype) { x } else { b.convert(x, dtype).unwrap() }
}

/// A drawn program with a scan: it carries an array in bf16 and one in f32, reads a row a trip and writes one; a loop may stand in
/// its body.
fn random_scan(draw: &mut Draw) -> Program {
    let mut b = Builder::new("random_scan");
    let mut values: Vec<ValueId> = Vec::new();
    for (name, dtype) in [("x", DType::BF16), ("y", DType::F32), ("z", DType::BF16)] {
        values.push(b.parameter(name, dtype, &DIMS).unwrap());
    }
    let before = draw.below(4);
    random_values(draw, &mut b, &mut values, before);
    let trips = 2 + draw.below(3);
    let three = [1, DIMS[0], DIMS[1]];
    let mut rows = Vec::new();
    for _ in 0..trips {
        let x = values[draw.below(values.len())];
        let x = cast(&mut b, x, DType::BF16);
        rows.push(b.reshape(x, &three).unwrap());
    }
    let rows = b.op(Op::Concatenate { dim: 0 }, &rows).unwrap();
    let narrow = cast(&mut b, values[values.len() - 1], DType::BF16);
    let wide = cast(&mut b, values[values.len() - 2], DType::F32);
    let (count, inner) = (2 + draw.below(5), draw.below(3));
    let carried = repeat(&mut b, trips, &[narrow, wide, rows, rows], |b, trip, state| {
        let read = row(b, state[2], trip);
        let mut values = vec![state[0], state[1], read];
        random_values(draw, b, &mut values, count);
        if inner == 0 {
            let last = values[values.len() - 1];
            let last = cast(b, last, DType::BF16);
            values.extend(repeat(b, 2, &[last, state[1]], |b, _, state| {
                let mut values = state.to_vec();
                random_values(draw, b, &mut values, 2);
                let [x, y] = [values[values.len() - 1], values[values.len() - 2]];
                vec![cast(b, x, DType::BF16), cast(b, y, DType::F32)]
            }));
        }
        let [x, y] = [values[values.len() - 1], values[values.len() - 2]];
        let (narrow, wide) = (cast(b, x, DType::BF16), cast(b, y, DType::F32));
        let written = b.reshape(narrow, &three).unwrap();
        let zero = b.constant(DType::S32, 0.0).unwrap();
        let rows = b.op(Op::DynamicUpdateSlice, &[state[3], written, trip, zero, zero]).unwrap();
        vec![narrow, wide, state[2], rows]
    });
    let zero = b.constant(DType::S32, 0.0).unwrap();
    values.extend([carried[0], carried[1], row(&mut b, carried[3], zero)]);
    let behind = 1 + draw.below(3);
    random_values(draw, &mut b, &mut values, behind);
    let results = random_results(draw, &mut b, &values);
    let results: Vec<(&str, ValueId)> = results.iter().map(|(name, id)| (name.as_str(), *id)).collect();
    b.finish(&results).unwrap()
}

fn has_loops(program: &Program) -> bool {
    program.entry().instructions.iter().any(|instruction| matches!(instruction.op, Op::While { .. }))
}

/// The program of choices, trip by trip, in which each place of a point is a copy of what is taken.
fn laid_out(choices: &Choices, taken: &[usize]) -> Program {
    let mut program = choices.program.clone();
    for (point, option) in choices.points.iter().zip(taken) {
        for place in &point.places {
            program.computations[choices.program.entry].instructions[place.value].operands =
                vec![place.options[*option]];
        }
    }
    program
}

fn assert_same_bits(a: &[Tensor], b: &[Tensor], what: &dyn std::fmt::Display) {
    for (at, (a, b)) in a.iter().zip(b).enumerate() {
        let differs = (0..a.len()).find(|i| a.data().bits(*i) != b.data().bits(*i));
        assert_eq!(differs, None, "result {at} of {what}");
    }
}

/// A loop that is laid out gives the bits of the loop, whatever the unit.
#[test]
fn trips_one_after_the_other_give_the_bits_of_the_loop() {
    let modes = ["v5e/default/off", "v6e/default/off", "tpu7x/high/off", "cpu/f32/off"];
    let modes = and_compiled(&modes, "default/off");
    let of = |program: &Program, arguments: &[Tensor], mode: &str| {
        let all = Settings::new(mode.parse().unwrap());
        let choices = permitted(program, &all);
        let what = format!("{mode}\n{program}");
        let declared = machine::evaluate(program, &all.mode, arguments).unwrap();
        let computed = all.computed();
        let prepared = Prepared::of_choices(&choices.program);
        let replay = Replay::new(&prepared, &computed, &prepared.bind(arguments).unwrap()).unwrap();
        let outputs: Vec<Tensor> =
            choices.program.outputs().iter().map(|output| replay.tensor(*output).unwrap()).collect();
        assert_same_bits(&declared, &outputs, &what);
        let written = choices.take(&vec![0; choices.points.len()]);
        assert_same_bits(&declared, &machine::evaluate(&written, &computed, arguments).unwrap(), &what);
    };
    for spec in ["microbatches[steps=loop]", "microbatches[steps=loop,sum=compensated]", "microbatches[divide=before]"]
    {
        let program = built(spec, 8);
        assert!(has_loops(&program));
        let arguments = drawn(&program, "normal", 1);
        modes.iter().for_each(|mode| of(&program, &arguments, mode));
    }
    for seed in 0..40 {
        let program = random_scan(&mut Draw(seed << 32));
        let arguments = drawn(&program, ["normal", "ties", "logits"][seed as usize % 3], seed);
        of(&program, &arguments, &modes[seed as usize % modes.len()]);
    }
}

/// As for programs without loops: each result of any choice, which bodies take in all trips, lies in the enclosure, and no proven
/// row has another outcome. Trip by trip a choice gives the bits of the loops that take it.
#[test]
fn whatever_a_body_does_in_all_trips_lies_in_the_enclosure() {
    let modes = ["v5e/default/off", "v6e/default/off", "cpu/f32/off", "v5e/default/off+exp=worst+reduce=chain"];
    let programs: u64 = std::env::var("ULPGATE_EXPLORE_PROGRAMS").ok().and_then(|v| v.parse().ok()).unwrap_or(40);
    let (mut proven, mut inside, mut reachable) = (0, 0, 0);
    for seed in 0..programs {
        let mut draw = Draw(seed << 32 | 1 << 20);
        let program = random_scan(&mut draw);
        let settings =
            Settings { enclosures: 8, choices: 64, ..Settings::new(modes[draw.below(modes.len())].parse().unwrap()) };
        let arguments = drawn(&program, ["normal", "ties", "logits"][draw.below(3)], seed);
        let (choices, enclosed) = enclose(&program, &arguments, &settings).unwrap();
        inside += choices.points.iter().filter(|point| point.places.len() > 1).count();
        let explored = explore(&program, &arguments, &[], &settings).unwrap();
        for round in 0..16 {
            let taken: Vec<usize> = match round {
                0 => choices.points.iter().map(|point| point.options() - 1).collect(),
                _ => choices.points.iter().map(|point| draw.below(point.options())).collect(),
            };
            let mut mode = settings.computed();
            let orders = machine::vector::SumOrder::ALL;
            mode.choices.reduce = orders[draw.below(orders.len())];
            mode.choices.acc = super::ORDERS[draw.below(super::ORDERS.len())];
            let what = format!("seed {seed} {mode} {taken:?}\n{program}");
            let results = machine::evaluate(&choices.take(&taken), &mode, &arguments).unwrap();
            let by_trips = machine::evaluate(&laid_out(&choices, &taken), &mode, &arguments).unwrap();
            assert_same_bits(&results, &by_trips, &what);
            let wrong = outside(&enclosed, &results).into_iter().find(|result| !result.elements.is_empty());
            assert_eq!(wrong, None, "{what}");
            for (row, _) in explored.answers.iter().enumerate().filter(|(_, a)| matches!(a, Answer::Proven { .. })) {
                for (output, declared) in explored.outputs.iter().zip(&explored.declared) {
                    let width = declared.len() / 4;
                    for at in row * width..(row + 1) * width {
                        assert_eq!(results[*output].data().bits(at), declared.data().bits(at), "row {row} {what}");
                    }
                }
            }
        }
        proven += count(&explored.answers, |answer| matches!(answer, Answer::Proven { .. }));
        reachable += count(&explored.answers, |answer| matches!(answer, Answer::Reachable(_)));
    }
    println!("{programs} programs, {inside} points in bodies: {proven} rows proven, {reachable} reachable");
    assert!(inside as u64 > programs && proven as u64 > programs / 2, "{inside} {proven}");
}

/// A scan over `[trips, 1, width]` that asks of each row which squares are as large as the largest, in f32; the square is rounded, or
/// as a compiler may have it once for all trips, it is not where it is compared.
fn kept_squares(trips: usize, width: usize, is_rounded: bool) -> Program {
    let mut b = Builder::new("kept_squares");
    let x = b.parameter("x", DType::BF16, &[trips, 1, width]).unwrap();
    let yes = b.constant(DType::Pred, 1.0).unwrap();
    let yes = b.splat(yes, &[1, width]).unwrap();
    let kept = repeat(&mut b, trips, &[yes, x], |b, trip, state| {
        let x = row(b, state[1], trip);
        let square = b.binary(Binary::Multiply, x, x).unwrap();
        let square = b.rename(square, "square");
        let max = b.reduce(Binary::Maximum, square, f64::NEG_INFINITY, &[1]).unwrap();
        let max = b.convert(max, DType::F32).unwrap();
        let max = b.broadcast(max, &[1, width], &[0]).unwrap();
        let wide = match is_rounded {
            true => b.convert(square, DType::F32).unwrap(),
            false => {
                let x = b.convert(x, DType::F32).unwrap();
                b.binary(Binary::Multiply, x, x).unwrap()
            }
        };
        let keep = b.compare(Compare::Ge, wide, max).unwrap();
        vec![b.binary(Binary::And, state[0], keep).unwrap(), state[1]]
    });
    b.finish(&[("keep", kept[0])]).unwrap()
}

/// Rows of equal numbers but for one row, that of the third trip.
fn planted(trips: usize, width: usize, value: f64) -> Vec<Tensor> {
    let mut values = vec![1.0; trips * width];
    values[2 * width..3 * width].fill(value);
    vec![tensor(DType::BF16, &[trips, 1, width], &values)]
}

/// The third trip alone has a square that is not its own rounding. The witness says what the body does in all trips: written by
/// hand into the loop, it does what the witness says.
#[test]
fn a_flip_in_one_trip_is_reached_by_a_body_that_does_so_in_all() {
    let rounding = settings("v5e/default/off", &["rounding"]);
    let program = kept_squares(5, 4, true);
    let arguments = planted(5, 4, 137.0 / 128.0);
    let found = explore(&program, &arguments, &[], &rounding).unwrap();
    let [Answer::Reachable(witness)] = &found.answers[..] else { panic!("{:?}", found.answers) };
    assert!(found.searched.is_exhaustive);
    // Two readers of the square and one of the largest, in five trips: eight choices.
    assert_eq!((found.choices.points.len(), found.searched.choices), (3, 8));
    assert!(found.choices.points.iter().all(|point| (point.places.len(), point.loops.len()) == (5, 1)));
    let squares = found.choices.points.iter().filter(|point| point.name == "square");
    assert_eq!(squares.count(), 2);
    let differs = witness.differs;
    let written = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, &arguments).unwrap();
    assert_eq!(written[0].data().get_f64(differs.element), differs.chosen);
    let by_hand = machine::evaluate(&kept_squares(5, 4, false), &witness.mode, &arguments).unwrap();
    assert_eq!(by_hand[0].data().get_f64(differs.element), differs.chosen);
    assert_eq!(found.declared[0].data().get_f64(differs.element), differs.declared);
    assert_ne!(differs.declared, differs.chosen);
    // Where all squares are exact, no choice changes anything.
    let found = explore(&program, &planted(5, 4, 1.25), &[], &rounding).unwrap();
    assert_eq!(found.answers, [Answer::Proven { enclosures: 1 }]);
}

/// Without time left, the reason is time.
#[test]
fn guards_that_no_time_is_left_for_are_not_said_to_fail() {
    let rounding = settings("v5e/default/off", &["rounding"]);
    let program = kept_squares(5, 4, true);
    let arguments = planted(5, 4, 137.0 / 128.0);
    let found = explore(&program, &arguments, &[], &rounding).unwrap();
    let over = Settings { until: Some(std::time::Instant::now()), ..rounding };
    assert_eq!(repair(&program, &arguments, &[], &over, &found).unwrap().unwrap_err(), NoRepair::OutOfTime);
}

/// One guard, in the body; and the loop is still one in what is small.
#[test]
fn guards_stand_in_bodies_and_counterexamples_keep_their_loops() {
    let rounding = settings("v5e/default/off", &["rounding"]);
    let program = kept_squares(5, 4, true);
    let arguments = planted(5, 4, 137.0 / 128.0);
    let found = explore(&program, &arguments, &[], &rounding).unwrap();
    let repaired = repair(&program, &arguments, &[], &rounding, &found).unwrap().unwrap();
    assert_eq!(repaired.proven, [1, 1]);
    let [guard] = &repaired.guards[..] else { panic!("{:?}", repaired.guards) };
    assert!(guard.to_string().starts_with("square in the body of while."), "{guard}");
    let guards = |computation: &crate::ir::Computation| {
        computation.instructions.iter().filter(|i| i.name == "square.guarded").count()
    };
    let entry = repaired.program.entry();
    assert_eq!((guards(entry), repaired.program.computations.iter().map(guards).sum::<usize>()), (0, 1));
    assert_eq!(entry.instructions.len(), program.entry().instructions.len());
    let declared = machine::evaluate(&program, &rounding.mode, &arguments).unwrap();
    assert_same_bits(&declared, &machine::evaluate(&repaired.program, &rounding.mode, &arguments).unwrap(), &program);
    let small = counterexample(&program, &arguments, &[], &rounding, &found).unwrap().unwrap();
    // What a loop's body is given is held.
    assert_eq!((small.elements, small.held.is_empty()), ([20, 20], false));
    assert!(small.bits[1] < small.bits[0] || small.arguments != arguments, "{:?}", small.bits);
    assert!(has_loops(&small.program) && has_loops(&small.written_out()));
    let chosen = machine::evaluate(&small.written_out(), &small.mode, &small.arguments).unwrap();
    assert_eq!(chosen[0], small.outcome[0].chosen);
    for program in [&small.program, &small.written_out()] {
        assert!(super::super::jax_function(program, "f").unwrap().contains("lax.while_loop("));
    }
}

/// A value carried in bf16 is rounded where it is read: into the loop, from one trip to the next, and out of it.
/// 137/128 squared is less than its rounding 147/128, whose square is 168.8/128: each would flip the outcome if it were
/// read before it is rounded.
#[test]
fn no_rounding_is_left_out_from_trip_to_trip() {
    let mut b = Builder::new("carried");
    let x = b.parameter("x", DType::BF16, &[1, 1]).unwrap();
    let limits = b.parameter("limits", DType::F32, &[3, 1, 1]).unwrap();
    let last = b.parameter("last", DType::F32, &[1, 1]).unwrap();
    let yes = b.constant(DType::Pred, 1.0).unwrap();
    let yes = b.splat(yes, &[1, 1]).unwrap();
    let first = b.binary(Binary::Multiply, x, x).unwrap();
    let carried = repeat(&mut b, 3, &[first, yes, limits], |b, trip, state| {
        let limit = row(b, state[2], trip);
        let wide = b.convert(state[0], DType::F32).unwrap();
        let is_equal = b.compare(Compare::Eq, wide, limit).unwrap();
        let all = b.binary(Binary::And, state[1], is_equal).unwrap();
        vec![b.binary(Binary::Multiply, state[0], state[0]).unwrap(), all, state[2]]
    });
    let wide = b.convert(carried[0], DType::F32).unwrap();
    let is_equal = b.compare(Compare::Eq, wide, last).unwrap();
    let all = b.binary(Binary::And, carried[1], is_equal).unwrap();
    let program = b.finish(&[("all", all)]).unwrap();
    let (mut value, mut limits) = (half::bf16::from_f64(137.0 / 128.0), Vec::new());
    for _ in 0..4 {
        let exact = value.to_f64() * value.to_f64();
        value = half::bf16::from_f64(exact);
        assert_ne!(value.to_f64(), exact);
        limits.push(value.to_f64());
    }
    let arguments = [
        tensor(DType::BF16, &[1, 1], &[137.0 / 128.0]),
        tensor(DType::F32, &[3, 1, 1], &limits[..3]),
        tensor(DType::F32, &[1, 1], &limits[3..]),
    ];
    let found = explore(&program, &arguments, &[], &settings("v5e/default/off", &["rounding", "narrowing"])).unwrap();
    assert_eq!(found.declared[0].data().get_f64(0), 1.0);
    assert_eq!(found.answers, [Answer::Proven { enclosures: 1 }]);
}

/// An f32 product that the next trip adds is rounded before: its own sum stands in another trip.
#[test]
fn no_product_is_contracted_from_trip_to_trip() {
    let mut b = Builder::new("remainder");
    let x = b.parameter("x", DType::F32, &[1]).unwrap();
    let rounded = b.parameter("rounded", DType::F32, &[1]).unwrap();
    let carried = repeat(&mut b, 2, &[rounded, rounded, x, rounded], |b, _, state| {
        let left = b.binary(Binary::Subtract, state[0], state[3]).unwrap();
        vec![b.binary(Binary::Multiply, state[2], state[2]).unwrap(), left, state[2], state[3]]
    });
    let zero = b.constant(DType::F32, 0.0).unwrap();
    let zero = b.splat(zero, &[1]).unwrap();
    let is_zero = b.compare(Compare::Eq, carried[1], zero).unwrap();
    let program = b.finish(&[("is_zero", is_zero)]).unwrap();
    let x = 1.0 + 2f64.powi(-20);
    let arguments = [x, f64::from((x * x) as f32)].map(|value| tensor(DType::F32, &[1], &[value]));
    let found = explore(&program, &arguments, &[], &settings("v5e/default/off", &["contraction"])).unwrap();
    assert_eq!(found.declared[0].data().get_f64(0), 1.0);
    assert_eq!(found.answers, [Answer::Proven { enclosures: 1 }]);
}

/// Of a rounded and an unrounded square `w`, `w + 1 >= 1.87 w` holds for each and not for the hull of both, in every trip: a proof
/// fixes what all trips read at once.
#[test]
fn a_point_is_split_in_all_trips_at_once() {
    let mut b = Builder::new("split");
    let x = b.parameter("x", DType::BF16, &[1, 1]).unwrap();
    let yes = b.constant(DType::Pred, 1.0).unwrap();
    let yes = b.splat(yes, &[1, 1]).unwrap();
    let carried = repeat(&mut b, 3, &[yes, x], |b, _, state| {
        let square = b.binary(Binary::Multiply, state[1], state[1]).unwrap();
        let wide = b.convert(square, DType::F32).unwrap();
        let [one, factor] = [1.0, 1.87].map(|value| {
            let scalar = b.constant(DType::F32, value).unwrap();
            b.splat(scalar, &[1, 1]).unwrap()
        });
        let more = b.binary(Binary::Add, wide, one).unwrap();
        let times = b.binary(Binary::Multiply, wide, factor).unwrap();
        let is_above = b.compare(Compare::Ge, more, times).unwrap();
        vec![b.binary(Binary::And, state[0], is_above).unwrap(), state[1]]
    });
    let program = b.finish(&[("all", carried[0])]).unwrap();
    let arguments = [tensor(DType::BF16, &[1, 1], &[137.0 / 128.0])];
    let found = explore(&program, &arguments, &[], &settings("v5e/default/off", &["rounding"])).unwrap();
    assert_eq!((found.choices.points.len(), &found.answers[..]), (1, &[Answer::Proven { enclosures: 2 }][..]));
}

/// Loops that stay as they are: of more trips than the limit has room for, of as many as an argument says, of one or none, of a compiled file. Of
/// what they give nothing is known.
#[test]
fn loops_that_cannot_be_laid_out_stay() {
    let halved = |trips: Option<usize>, fusion: Option<Fusion>| {
        let mut b = Builder::new("halved");
        let x = b.parameter("x", DType::BF16, &[4]).unwrap();
        let n = b.parameter("n", DType::S32, &[]).unwrap();
        let zero = b.constant(DType::S32, 0.0).unwrap();
        let take = |b: &mut Builder| {
            let [i, n] = ["i", "n"].map(|name| b.parameter(name, DType::S32, &[]).unwrap());
            [i, n, b.parameter("x", DType::BF16, &[4]).unwrap()]
        };
        let condition = b.region("condition", |b| {
            let [i, n, _] = take(b);
            let end = trips.map_or(Ok(n), |trips| b.constant(DType::S32, trips as f64))?;
            b.compare(Compare::Lt, i, end)
        });
        let body = b.region("body", |b| {
            let [i, n, x] = take(b);
            let one = b.constant(DType::S32, 1.0)?;
            let half = b.constant(DType::BF16, 0.5)?;
            let half = b.splat(half, &[4])?;
            let next = [b.binary(Binary::Add, i, one)?, n, b.binary(Binary::Multiply, x, half)?];
            b.op(Op::Tuple, &next)
        });
        let (condition, body) = (condition.unwrap(), body.unwrap());
        let last = b.op(Op::While { condition, body }, &[zero, n, x]).unwrap();
        let halves = b.tuple_element(last, 2).unwrap();
        let token = b.argmax(halves, 0).unwrap();
        let mut program = b.finish(&[("token", token)]).unwrap();
        program.computations[body]
            .instructions
            .iter_mut()
            .for_each(|instruction| instruction.record(|compiled| compiled.fusion = fusion));
        program
    };
    let mode: Mode = "v5e/default/off".parse().unwrap();
    let arguments = [tensor(DType::BF16, &[4], &[1.0, 3.0, 2.0, 0.5]), Tensor::scalar_int(DType::S32, 3).unwrap()];
    for (trips, fusion, stays) in [
        (Some(100), None, false),
        (Some(1_000), None, false),
        (Some(3_000), None, true),
        (None, None, true),
        (Some(3), Some(Fusion::Compiled(1)), true),
        (Some(2), None, false),
        (Some(1), None, true),
        (Some(0), None, true),
    ] {
        let program = halved(trips, fusion);
        let found = explore(&program, &arguments, &[], &Settings::new(mode.clone())).unwrap();
        assert_eq!(has_loops(&found.choices.program), stays, "{trips:?} {fusion:?}");
        assert!(found.choices.program.entry().instructions.len() <= crate::rewrite::MOST_INSTRUCTIONS);
        let is_open = matches!(found.answers[..], [Answer::Open { .. }]);
        assert_eq!(is_open, stays, "{trips:?} {fusion:?} {:?}", found.answers);
        assert!(found.choices.points.iter().all(|point| point.loops.is_empty() || !stays));
        let declared = machine::evaluate(&program, &mode, &arguments).unwrap();
        assert_same_bits(&declared, &found.declared, &program);
    }
}

/// A value that a body widens and only hands on may be widened before the loop, where its rounding is left out. Nothing
/// is known of such a loop, nor of one that hands it out. A value rounded in each trip, and read as it is stored or by
/// a dot, is not of that kind.
#[test]
fn what_is_handed_on_and_was_rounded_before_is_not_guarded() {
    // How often a trip doubles what it has, by what it reads of `w`.
    let scan = |is_rounded: bool, reads: &dyn Fn(&mut Builder, ValueId, ValueId) -> ValueId, is_given_out: bool| {
        let mut b = Builder::new("handed_on");
        let x = b.parameter("x", DType::F32, &[2, 2]).unwrap();
        let w = b.parameter("w", DType::BF16, &[2, 2]).unwrap();
        let w = if is_rounded { b.binary(Binary::Multiply, w, w).unwrap() } else { w };
        let carried = repeat(&mut b, 2, &[x, w], |b, trip, state| {
            let read = reads(b, state[1], trip);
            vec![b.binary(Binary::Add, state[0], read).unwrap(), state[1]]
        });
        let w = if is_given_out { carried[1] } else { w };
        let w = b.convert(w, DType::F32).unwrap();
        let keep = b.compare(Compare::Ge, carried[0], w).unwrap();
        let program = b.finish(&[("keep", keep)]).unwrap();
        has_loops(&permitted(&program, &settings("v5e/default/off", &["rounding"])).program)
    };
    let widened = |b: &mut Builder, w: ValueId, _: ValueId| {
        let w = b.op(Op::Transpose { permutation: vec![1, 0] }, &[w]).unwrap();
        b.convert(w, DType::F32).unwrap()
    };
    let row_of_trip = |b: &mut Builder, w: ValueId, trip: ValueId| {
        let read = row(b, w, trip);
        let read = b.convert(read, DType::F32).unwrap();
        b.broadcast(read, &[2, 2], &[1]).unwrap()
    };
    let product = |b: &mut Builder, w: ValueId, _: ValueId| {
        let product = b.matmul(w, w, crate::ir::Precision::Default, DType::BF16).unwrap();
        b.convert(product, DType::F32).unwrap()
    };
    assert!(scan(true, &widened, false));
    assert!(!scan(false, &widened, false));
    assert!(!scan(true, &row_of_trip, false));
    assert!(scan(true, &row_of_trip, true));
    assert!(!scan(false, &row_of_trip, true));
    assert!(!scan(true, &product, false));
}
