//! The points of small programs, one by one.

use super::*;
use crate::ir::{Binary, Builder, Compare, Precision as DotPrecision, Shape};

const ROUNDINGS: [Freedom; 1] = [Freedom::Rounding];

/// The points of a program: freedom, number of options, readers.
fn points(program: &Program, freedoms: &[Freedom]) -> Vec<(Freedom, usize, Vec<String>)> {
    let choices = Choices::new(program, freedoms, false);
    choices.points.iter().map(|point| (point.freedom, point.options(), point.readers.clone())).collect()
}

/// K is cut into two, four and eight blocks, as even as they can be, of two products at least; each number of blocks is
/// taken where its option is.
#[test]
fn dots_are_cut_into_blocks_of_two_products_at_least() {
    for (k, blocks) in [
        (3, vec![]),
        (4, vec![2]),
        (7, vec![4]),
        (8, vec![4, 2]),
        (15, vec![8, 4]),
        (16, vec![8, 4, 2]),
        (17, vec![9, 5, 3]),
        (64, vec![32, 16, 8]),
    ] {
        let mut b = Builder::new("dot");
        let x = b.parameter("x", DType::F32, &[2, k]).unwrap();
        let y = b.parameter("y", DType::F32, &[k, 3]).unwrap();
        let dot = b.matmul(x, y, DotPrecision::Highest, DType::F32).unwrap();
        let program = b.finish(&[("dot", dot)]).unwrap();
        let choices = Choices::new(&program, &[Freedom::Order], false);
        assert_eq!(choices.points.len(), usize::from(!blocks.is_empty()), "{k}");
        for (at, block) in blocks.iter().enumerate() {
            let taken = choices.take(&[at + 1]);
            let is_dot = |instruction: &&Instruction| matches!(instruction.op, Op::Dot { .. });
            let dots: Vec<&Instruction> = taken.entry().instructions.iter().filter(is_dot).collect();
            let found: Vec<Option<usize>> =
                dots.iter().map(|dot| dot.tiling().and_then(|tiling| tiling.k_block)).collect();
            assert_eq!(found, [Some(*block)], "option {} of {k} products", at + 1);
        }
        if !blocks.is_empty() {
            assert!(choices.take(&[0]).entry().instructions.iter().all(|instruction| instruction.tiling().is_none()));
        }
    }
}

/// The types of the sums that a program adds up in.
fn sums(program: &Program) -> Vec<Option<DType>> {
    let reduces = program.entry().instructions.iter().filter(|i| matches!(i.op, Op::Reduce { .. }));
    reduces.map(|instruction| instruction.shape.dtype()).collect()
}

/// A bf16 sum from zero rounds every addition or once, and the declared way comes first; one from another number keeps its way.
#[test]
fn sums_in_bf16_come_first_as_they_are_declared() {
    let program = |init: f64| {
        let mut b = Builder::new("sum");
        let x = b.parameter("x", DType::BF16, &[4, 8]).unwrap();
        let sum = b.reduce(Binary::Add, x, init, &[1]).unwrap();
        b.finish(&[("sum", sum)]).unwrap()
    };
    let freedoms = [Freedom::Accumulation];
    for (rounds_steps, first, second) in [(true, DType::BF16, DType::F32), (false, DType::F32, DType::BF16)] {
        let choices = Choices::new(&program(0.0), &freedoms, rounds_steps);
        assert_eq!(choices.points.len(), 1);
        let taken = [0, 1].map(|option| sums(&choices.take(&[option])));
        assert_eq!(taken, [vec![Some(first)], vec![Some(second)]], "{rounds_steps}");
        assert!(Choices::new(&program(1.0), &freedoms, rounds_steps).points.is_empty());
    }
}

/// Of two products of one sum one is added before it is rounded; those of a reduction only where its order is free.
#[test]
fn one_product_of_a_sum_is_contracted() {
    let contracted = |freedoms: &[Freedom], sums: &dyn Fn(&mut Builder, [ValueId; 3]) -> ValueId| {
        let mut b = Builder::new("products");
        let of = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &[8]).unwrap());
        let sum = sums(&mut b, of);
        let program = b.finish(&[("sum", sum)]).unwrap();
        points(&program, freedoms).iter().filter(|(freedom, ..)| *freedom == Freedom::Contraction).count()
    };
    let product = |b: &mut Builder, x, y| b.binary(Binary::Multiply, x, y).unwrap();
    let two = |b: &mut Builder, [x, y, z]: [ValueId; 3]| {
        let (left, right) = (product(b, x, y), product(b, y, z));
        b.binary(Binary::Add, left, right).unwrap()
    };
    let apart = |b: &mut Builder, [x, y, z]: [ValueId; 3]| {
        let (left, right) = (product(b, x, y), product(b, y, z));
        let left = b.binary(Binary::Add, left, z).unwrap();
        let right = b.binary(Binary::Add, right, x).unwrap();
        b.binary(Binary::Add, left, right).unwrap()
    };
    let reduced = |b: &mut Builder, [x, y, _]: [ValueId; 3]| {
        let product = product(b, x, y);
        b.reduce(Binary::Add, product, 0.0, &[0]).unwrap()
    };
    let (own, order) = ([Freedom::Contraction], [Freedom::Contraction, Freedom::Order]);
    assert_eq!([contracted(&own, &two), contracted(&own, &apart)], [1, 2]);
    assert_eq!([contracted(&own, &reduced), contracted(&order, &reduced)], [0, 1]);
}

/// A reciprocal is in f32, and in bf16 as well where the divisor is.
#[test]
fn reciprocals_are_as_narrow_as_their_divisors() {
    for (dtype, options) in [(DType::F32, 2), (DType::BF16, 3)] {
        let mut b = Builder::new("quotient");
        let x = b.parameter("x", DType::F32, &[4, 8]).unwrap();
        let y = b.parameter("y", dtype, &[4]).unwrap();
        let spread = b.broadcast(y, &[4, 8], &[0]).unwrap();
        let divisor = b.convert(spread, DType::F32).unwrap();
        let quotient = b.binary(Binary::Divide, x, divisor).unwrap();
        let program = b.finish(&[("quotient", quotient)]).unwrap();
        let found = points(&program, &[Freedom::Reciprocal]);
        assert_eq!(found.iter().map(|(_, options, _)| *options).collect::<Vec<_>>(), [options], "{dtype}");
    }
}

/// A rounding between an operation and its reader is a choice; operations that only move elements hand it on to their own
/// readers, a barrier keeps it, and what was no wide value has none. Each operand is read by itself.
#[test]
fn roundings_are_chosen_where_they_are_read() {
    let readers = |steps: &dyn Fn(&mut Builder, ValueId) -> ValueId| {
        let mut b = Builder::new("roundings");
        let x = b.parameter("x", DType::BF16, &[2, 4]).unwrap();
        let last = steps(&mut b, x);
        let program = b.finish(&[("last", last)]).unwrap();
        points(&program, &ROUNDINGS).into_iter().map(|(_, options, _)| options).collect::<Vec<_>>()
    };
    let square = |b: &mut Builder, x| b.binary(Binary::Multiply, x, x).unwrap();
    let wide = |b: &mut Builder, x| b.convert(x, DType::F32).unwrap();
    let turned = |b: &mut Builder, x| b.op(Op::Transpose { permutation: vec![1, 0] }, &[x]).unwrap();
    assert_eq!(readers(&|b, x| wide(b, x)), [0; 0]);
    assert_eq!(
        readers(&|b, x| {
            let x = square(b, x);
            wide(b, x)
        }),
        [2]
    );
    assert_eq!(
        readers(&|b, x| {
            let x = square(b, x);
            square(b, x)
        }),
        [2, 2]
    );
    assert_eq!(
        readers(&|b, x| {
            let x = square(b, x);
            let x = turned(b, x);
            wide(b, x)
        }),
        [2]
    );
    assert_eq!(
        readers(&|b, x| {
            let x = turned(b, x);
            wide(b, x)
        }),
        [0; 0]
    );
    let barred = |b: &mut Builder, x| {
        let x = square(b, x);
        let x = b.op(Op::OptimizationBarrier, &[x]).unwrap();
        wide(b, x)
    };
    assert_eq!(readers(&barred), [0; 0]);
    let largest = |b: &mut Builder, x| {
        let x = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1]).unwrap();
        wide(b, x)
    };
    assert_eq!(readers(&largest), [0; 0]);
    assert_eq!(
        readers(&|b, x| {
            let x = square(b, x);
            largest(b, x)
        }),
        [2, 2]
    );
}

/// The option of a rounding that is called the widest holds every number of the others, and more than one of them.
#[test]
fn the_widest_option_of_a_rounding_holds_all_others() {
    let mut b = Builder::new("widest");
    let x = b.parameter("x", DType::BF16, &[2, 4]).unwrap();
    let square = b.binary(Binary::Multiply, x, x).unwrap();
    let next = b.binary(Binary::Multiply, square, square).unwrap();
    let program = b.finish(&[("next", next)]).unwrap();
    let choices = Choices::new(&program, &ROUNDINGS, false);
    let analysis = Analysis::new(&choices.program);
    let held = |id: ValueId| analysis.precisions()[id].first().unwrap();
    let places: Vec<&Place> = choices.points.iter().flat_map(|point| &point.places).collect();
    assert_eq!(places.len(), 2);
    for place in places {
        assert!(place.options.iter().all(|option| held(*option).within(held(place.widest))));
        assert!(place.options.iter().any(|option| !held(place.widest).within(held(*option))));
    }
}

/// A loop that carries an array and adds its square to it in each of three trips, in steps of this type.
fn looped(b: &mut Builder, x: ValueId, dtype: DType) -> ValueId {
    let dims = b.shape(x).dims().to_vec();
    let take = |b: &mut Builder| {
        Ok::<_, crate::ir::ShapeError>((b.parameter("i", DType::S32, &[])?, b.parameter("s", dtype, &dims)?))
    };
    let condition = b.region("condition", |b| {
        let (i, _) = take(b)?;
        let end = b.constant(DType::S32, 3.0)?;
        b.compare(Compare::Lt, i, end)
    });
    let body = b.region("body", |b| {
        let (i, s) = take(b)?;
        let square = b.binary(Binary::Multiply, s, s)?;
        let most = b.reduce(Binary::Maximum, square, f64::NEG_INFINITY, &[0])?;
        let most = b.splat(most, &dims)?;
        let sum = b.binary(Binary::Add, s, most)?;
        let one = b.constant(DType::S32, 1.0)?;
        let next = b.binary(Binary::Add, i, one)?;
        b.op(Op::Tuple, &[next, sum])
    });
    let zero = b.constant(DType::S32, 0.0).unwrap();
    let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
    let last = b.op(op, &[zero, x]).unwrap();
    b.tuple_element(last, 1).unwrap()
}

/// Whether each region that an instruction applies is one of its kind: a step of two parameters for a reduction, a predicate for
/// a loop's end, a state for its body.
fn regions_fit(program: &Program) {
    for computation in &program.computations {
        for instruction in &computation.instructions {
            let region = |id: ComputationId| &program.computations[id];
            let root = |id: ComputationId| &region(id).instructions[region(id).root].shape;
            match &instruction.op {
                Op::Reduce { to_apply, .. } => {
                    assert_eq!(region(*to_apply).parameter_shapes().len(), 2, "{}", instruction.name);
                    assert_eq!(root(*to_apply).dtype(), instruction.shape.dtype(), "{}", instruction.name);
                }
                Op::While { condition, body } => {
                    assert_eq!(root(*condition).dtype(), Some(DType::Pred), "{}", instruction.name);
                    assert_eq!(root(*body), &instruction.shape, "{}", instruction.name);
                }
                _ => {}
            }
        }
    }
}

/// Loops whose bodies are rewritten find their regions, and all points of a program stand in its order, those of a body in each of
/// its trips.
#[test]
fn bodies_of_loops_find_their_regions() {
    let mut b = Builder::new("loops");
    let x = b.parameter("x", DType::BF16, &[4]).unwrap();
    let first = looped(&mut b, x, DType::BF16);
    let between = b.binary(Binary::Multiply, first, first).unwrap();
    let wide = b.convert(between, DType::F32).unwrap();
    let second = looped(&mut b, wide, DType::F32);
    let last = b.reduce(Binary::Add, second, 0.0, &[0]).unwrap();
    let program = b.finish(&[("last", last), ("first", first)]).unwrap();
    regions_fit(&program);
    let freedoms = [Freedom::Rounding, Freedom::Contraction, Freedom::Accumulation];
    let choices = Choices::new(&program, &freedoms, false);
    assert!(choices.points.windows(2).all(|pair| pair[0].places[0].value < pair[1].places[0].value));
    assert!(choices.points.iter().any(|point| point.places.len() == 3), "{:?}", choices.points);
    regions_fit(&choices.program);
    let all: Vec<Vec<usize>> =
        [0, 1].map(|option| choices.points.iter().map(|p| option.min(p.options() - 1)).collect()).to_vec();
    for taken in &all {
        let program = choices.take(taken);
        regions_fit(&program);
        let loops = program.entry().instructions.iter().filter(|i| matches!(i.op, Op::While { .. })).count();
        assert_eq!(loops, 2);
    }
    let rewritten = loops::rewrite_bodies(&program, &|body| normalize::apply(body, &normalize::sites(body)).program);
    regions_fit(&rewritten);
    assert_eq!(rewritten.computations.iter().filter(|c| c.name == "condition").count(), 2);
    let bodies = |program: &Program| -> Vec<Shape> {
        let of = |c: &Computation| c.instructions[c.root].shape.clone();
        program.computations.iter().filter(|c| c.name == "body").map(of).collect()
    };
    assert_eq!(bodies(&rewritten), bodies(&program));
}

/// The values that a program returns, in order.
fn results(program: &Program) -> Vec<ValueId> {
    program.entry().instructions[program.entry().root].operands.clone()
}

/// All chains of four types, each conversion of which changes the type.
fn chains() -> Vec<Vec<DType>> {
    let types = [DType::F64, DType::F32, DType::F16, DType::BF16];
    let mut chains: Vec<Vec<DType>> = types.iter().map(|dtype| vec![*dtype]).collect();
    for _ in 0..3 {
        let longer = |chain: &Vec<DType>| -> Vec<Vec<DType>> {
            let others = types.iter().filter(|dtype| Some(*dtype) != chain.last());
            others.map(|dtype| [&chain[..], &[*dtype]].concat()).collect()
        };
        chains = chains.iter().flat_map(longer).collect();
    }
    chains
}

/// Each conversion of a chain has a choice of its own, which no other one's decides: of as many options as there are different
/// numbers before it, the argument's own and those after each rounding. There may be more where f16 and bf16 meet: neither
/// holds the other, and a number that both have counts as any number of the last.
#[test]
fn conversions_of_a_chain_choose_apart() {
    let mut numbers: Vec<f64> =
        (0..3_000).map(|i| (f64::from(i) * 0.729 + 0.1).sin() * 2f64.powi(i % 290 - 145)).collect();
    // The largest number of each type may be infinite in another one.
    numbers.extend([f64::MAX, f64::from(f32::MAX), 2f64.powi(127) * (2.0 - 2f64.powi(-7)), 65_504.0]);
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<u64>>();
    for chain in chains() {
        let mut b = Builder::new("chain");
        let mut values = vec![b.parameter("x", chain[0], &[4]).unwrap()];
        for dtype in &chain[1..] {
            values.push(b.convert(values[values.len() - 1], *dtype).unwrap());
        }
        let named: Vec<(&str, ValueId)> = ["a", "b", "c"].into_iter().zip(values[1..].iter().copied()).collect();
        let choices = Choices::new(&b.finish(&named).unwrap(), &ROUNDINGS, false);
        let mut held = numbers.clone();
        let mut different = BTreeSet::new();
        for (at, dtype) in chain[..chain.len() - 1].iter().enumerate() {
            held = crate::tensor::Data::from_f64s(*dtype, &held).unwrap().to_f64s();
            different.insert(bits(&held));
            let own = choices.points_of(&[results(&choices.program)[at]]);
            assert!(own.len() < 2, "{chain:?}: result {at} depends on points {own:?}");
            let options = own.first().map_or(1, |point| choices.points[*point].options());
            let is_ordered = ![DType::F16, DType::BF16].iter().all(|dtype| chain[..=at].contains(dtype));
            let fits = if is_ordered { options == different.len() } else { options >= different.len() };
            assert!(fits, "{chain:?}: {options} options of result {at}, not {}", different.len());
        }
    }
}

/// A program whose loop carries an array in bf16 unchanged and multiplies by it in each of three trips. The array is an argument
/// or its square; `also` is whether it is a result at its own place too, ahead of the product.
fn multiplied(is_computed: bool, also: bool) -> Program {
    let mut b = Builder::new("handed on");
    let x = b.parameter("x", DType::BF16, &[4]).unwrap();
    let start = b.parameter("start", DType::BF16, &[4]).unwrap();
    let factor = if is_computed { b.binary(Binary::Multiply, x, x).unwrap() } else { x };
    let take = |b: &mut Builder| {
        let i = b.parameter("i", DType::S32, &[])?;
        Ok::<_, crate::ir::ShapeError>((i, ["factor", "product"].map(|name| b.parameter(name, DType::BF16, &[4]))))
    };
    let condition = b.region("condition", |b| {
        let (i, _) = take(b)?;
        let end = b.constant(DType::S32, 3.0)?;
        b.compare(Compare::Lt, i, end)
    });
    let body = b.region("body", |b| {
        let (i, [factor, product]) = take(b)?;
        let (factor, product) = (factor?, product?);
        let next = b.binary(Binary::Multiply, factor, product)?;
        let next = b.binary(Binary::Add, next, product)?;
        let one = b.constant(DType::S32, 1.0)?;
        let i = b.binary(Binary::Add, i, one)?;
        b.op(Op::Tuple, &[i, factor, next])
    });
    let zero = b.constant(DType::S32, 0.0).unwrap();
    let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
    let last = b.op(op, &[zero, factor, start]).unwrap();
    let product = b.tuple_element(last, 2).unwrap();
    let named = [("x", x), ("product", product)];
    b.finish(if also { &named } else { &named[1..] }).unwrap()
}

/// A loop has its choices whether or not the program returns the argument that it carries. What is computed before a loop and
/// carried unchanged has choices that no guard ends: such a loop stays as it is.
#[test]
fn loops_choose_whatever_else_the_program_returns() {
    let found = |is_computed: bool, also: bool| {
        let choices = Choices::new(&multiplied(is_computed, also), &ROUNDINGS, false);
        choices.points.iter().filter(|point| point.places.len() == 3).count()
    };
    assert_eq!([found(false, false), found(false, true)], [1; 2]);
    assert_eq!([found(true, false), found(true, true)], [0; 2]);
}

/// Stored values that only move are no roundings of anything: they stay in their type, also as elements of a tuple.
#[test]
fn stored_values_are_no_wide_ones() {
    let moved = |steps: &dyn Fn(&mut Builder, ValueId) -> ValueId| {
        let mut b = Builder::new("stored");
        let x = b.parameter("x", DType::BF16, &[4]).unwrap();
        let value = steps(&mut b, x);
        let last = b.op(Op::Reverse { dims: vec![0] }, &[value]).unwrap();
        let program = b.finish(&[("last", last)]).unwrap();
        let choices = Choices::new(&program, &ROUNDINGS, false);
        let wide = |i: &&Instruction| i.shape.dtype() == Some(DType::F32);
        choices.program.entry().instructions.iter().filter(wide).count()
    };
    let element = |b: &mut Builder, x: ValueId| {
        let tuple = b.op(Op::Tuple, &[x, x]).unwrap();
        b.tuple_element(tuple, 1).unwrap()
    };
    assert_eq!(moved(&|_, x| x), 0);
    assert_eq!(moved(&|b, x| element(b, x)), 0);
    let barred = |b: &mut Builder, x: ValueId| {
        let square = b.binary(Binary::Multiply, x, x).unwrap();
        let square = b.op(Op::OptimizationBarrier, &[square]).unwrap();
        element(b, square)
    };
    // The square and its two operands.
    assert_eq!(moved(&barred), 3);
    assert!(moved(&|b, x| b.binary(Binary::Multiply, x, x).unwrap()) > 3);
}

/// The values that a result may depend on are those of every option, and those of the sum that stands for any order.
#[test]
fn a_sum_in_any_order_is_live_with_its_options() {
    for devices in 2..6 {
        let mut b = Builder::new("mesh");
        let term = |b: &mut Builder, at: usize| b.parameter(&format!("x{at}"), DType::F32, &[4]).unwrap();
        let mut sum = term(&mut b, 0);
        for at in 1..devices {
            let own = term(&mut b, at);
            sum = b.exchange(0, sum, own).unwrap();
        }
        let choices = Choices::new(&b.finish(&[("sum", sum)]).unwrap(), &[Freedom::Mesh], false);
        assert_eq!(choices.points.len(), usize::from(devices > 2));
        let live = choices.live(&results(&choices.program));
        for place in choices.points.iter().flat_map(|point| &point.places) {
            let in_any_order = place.in_any_order.unwrap();
            assert!(live[in_any_order] && place.options.iter().all(|option| live[*option]), "{devices} devices");
            assert!(choices.program.entry().instructions[in_any_order].operands.iter().all(|operand| live[*operand]));
        }
    }
}

/// Sums over devices have a region of their own type each, and every order of one adds up all of its terms.
#[test]
fn sums_over_devices_have_all_terms_in_their_own_type() {
    let mut b = Builder::new("two sums");
    let sums = [DType::F32, DType::BF16].map(|dtype| {
        let terms = [0, 1, 2, 3].map(|at| b.parameter(&format!("{dtype}.{at}"), dtype, &[4]).unwrap());
        terms[1..].iter().fold(terms[0], |sum, term| b.exchange(dtype.bits() as usize, sum, *term).unwrap())
    });
    let program = b.finish(&[("wide", sums[0]), ("narrow", sums[1])]).unwrap();
    let choices = Choices::new(&program, &[Freedom::Mesh], false);
    regions_fit(&choices.program);
    assert_eq!(choices.points.len(), 2);
    let entry = choices.program.entry();
    for place in choices.points.iter().flat_map(|point| &point.places) {
        for value in place.options.iter().copied().chain(place.in_any_order) {
            let live = crate::analysis::live(entry, [value]);
            let dtype = entry.instructions[value].shape.dtype();
            let is_term = |id: &usize| matches!(entry.instructions[*id].op, Op::Parameter(_)) && live[*id];
            let terms: Vec<usize> = (0..live.len()).filter(is_term).collect();
            assert_eq!(terms.len(), 4, "{}", entry.instructions[value].name);
            assert!(terms.iter().all(|id| entry.instructions[*id].shape.dtype() == dtype));
        }
    }
}

/// Each partial sum over devices is sent in the type that the exchange carries, in any order.
#[test]
fn partial_sums_are_sent_in_the_carried_type() {
    let mut b = Builder::new("sent");
    let mut steps = vec![b.parameter("x0", DType::F32, &[4]).unwrap()];
    for at in 1..5 {
        let sent = b.convert(steps[at - 1], DType::BF16).unwrap();
        let arrived = b.convert(sent, DType::F32).unwrap();
        let own = b.parameter(&format!("x{at}"), DType::F32, &[4]).unwrap();
        steps.push(b.binary(Binary::Add, arrived, own).unwrap());
    }
    let mut program = b.finish(&[("sum", steps[4])]).unwrap();
    let entry = program.entry;
    for step in &steps[1..] {
        let mark = crate::ir::Mark::Exchange { number: 0, carries: DType::BF16, is_planned: false };
        program.computations[entry].instructions[*step].mark = Some(mark);
    }
    let choices = Choices::new(&program, &[Freedom::Mesh], false);
    let instructions = &choices.program.entry().instructions;
    let is_step = |id: ValueId| instructions[id].op == Op::Binary(Binary::Add);
    let mut sent = 0;
    for operand in (0..instructions.len()).filter(|id| is_step(*id)).flat_map(|id| &instructions[id].operands) {
        let (mut at, mut is_carried) = (*operand, false);
        while instructions[at].op == Op::Convert {
            is_carried |= instructions[at].shape.dtype() == Some(DType::BF16);
            at = instructions[at].operands[0];
        }
        if is_step(at) {
            assert!(is_carried, "{}", instructions[at].name);
            sent += 1;
        }
    }
    // Three of five devices send a partial sum, in each of four orders.
    assert_eq!(sent, 12);
}
