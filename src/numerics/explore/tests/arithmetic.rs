//! Choices that compute otherwise and do not only round: sums, products, quotients and dots that a choice changes, as
//! the machine has them.

use crate::ir::{Binary, Builder, Compare, Op, Precision, Program, Unary, ValueId};
use crate::machine::mxu::Accumulation;
use crate::machine::{self, Mode};
use crate::mode::and_compiled;
use crate::rewrite::Freedom;
use crate::tensor::{DType, Data, Tensor};

use super::super::{Answer, Exploration, Settings, Witness, enclose, explore, outside};
use super::{drawn, settings, tensor};

/// The witness of the only row, which gives on the machine what it says, while the declared program does not.
fn witness<'e>(found: &'e Exploration, program: &Program, declared: &Mode, arguments: &[Tensor]) -> &'e Witness {
    let [Answer::Reachable(witness)] = &found.answers[..] else { panic!("{:?}", found.answers) };
    let differs = witness.differs;
    let value = |results: &[Tensor]| results[differs.output].data().get_f64(differs.element);
    let chosen = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, arguments).unwrap();
    assert_eq!(value(&chosen), differs.chosen);
    assert_eq!(value(&machine::evaluate(program, declared, arguments).unwrap()), differs.declared);
    witness
}

/// The freedoms of what a witness takes.
fn taken(found: &Exploration, witness: &Witness) -> Vec<Freedom> {
    let points = found.choices.points.iter().zip(&witness.taken);
    points.filter(|(_, option)| **option > 0).map(|(point, _)| point.freedom).collect()
}

/// Whether one sum of as many ones is no less than another, both in bf16.
fn two_sums(n: usize) -> (Program, Vec<Tensor>) {
    let mut b = Builder::new("two_sums");
    let sums: Vec<ValueId> = ["x", "y"]
        .iter()
        .map(|name| {
            let x = b.parameter(name, DType::BF16, &[1, n]).unwrap();
            b.reduce(Binary::Add, x, 0.0, &[1]).unwrap()
        })
        .collect();
    let keep = b.compare(Compare::Ge, sums[0], sums[1]).unwrap();
    let program = b.finish(&[("keep", keep), ("x", sums[0])]).unwrap();
    let ones = tensor(DType::BF16, &[1, n], &vec![1.0; n]);
    (program, vec![ones.clone(), ones])
}

/// A sum of ones stays at 256 if every addition is rounded to bf16: only if one of the two sums rounds so does it become the smaller.
#[test]
fn each_bf16_sum_may_round_its_steps_for_itself() {
    let (program, arguments) = two_sums(512);
    for (declared, rounds) in [("v5e/default/off+reduce=chain", 1), ("v5e/default/off+reduce=chain+narrow=bf16", 1)] {
        let settings = settings(declared, &["accumulation"]);
        let found = explore(&program, &arguments, &["keep".into()], &settings).unwrap();
        let witness = witness(&found, &program, &settings.mode, &arguments);
        assert_eq!(taken(&found, witness), vec![Freedom::Accumulation; rounds], "{declared}");
        assert_eq!(witness.mode.to_string(), "v5e/default/off+reduce=chain+narrow=bf16");
        assert_eq!((found.searched.choices, found.searched.is_exhaustive), (4, true));
    }
}

/// Of a long chain of roundings no more choices are tried than is asked for; still each point takes part, beside its neighbours.
#[test]
fn no_more_choices_are_tried_than_are_asked_for() {
    let (mut b, length) = (Builder::new("chain"), 100);
    let x = b.parameter("x", DType::BF16, &[1, 8]).unwrap();
    let limit = b.parameter("limit", DType::F32, &[1, 8]).unwrap();
    let last = (0..length).fold(x, |value, _| b.binary(Binary::Multiply, value, x).unwrap());
    let wide = b.convert(last, DType::F32).unwrap();
    let keep = b.compare(Compare::Ge, wide, limit).unwrap();
    let program = b.finish(&[("keep", keep), ("wide", wide)]).unwrap();
    let values: Vec<f64> = (1..=8).map(|k| 1.0 + f64::from(k) / 128.0).collect();
    let x = tensor(DType::BF16, &[1, 8], &values);
    let zero = tensor(DType::F32, &[1, 8], &[0.0; 8]);
    let mut settings = settings("v5e/default/off", &["rounding"]);
    // Each element is its own limit as declared, and most are less where a rounding is left out.
    let limit = machine::evaluate(&program, &settings.mode, &[x.clone(), zero]).unwrap().remove(1);
    settings.choices = 64;
    let found = explore(&program, &[x, limit], &["keep".into()], &settings).unwrap();
    assert!(found.searched.points + 1 >= length && !found.searched.is_exhaustive, "{:?}", found.searched);
    assert_eq!(found.searched.choices, 64);
    assert!(matches!(&found.answers[..], [Answer::Reachable(_)]), "{:?}", found.answers);
}

/// Whatever its length, a sum of what is not negative that rounds every addition is enclosed: from its largest term, and within
/// n u of the sum.
#[test]
fn bf16_sums_of_many_terms_are_enclosed() {
    for n in [64, 512, 4096, 40_000] {
        let (program, arguments) = two_sums(n);
        let settings = settings("v5e/default/off", &["accumulation", "order"]);
        let (choices, enclosed) = enclose(&program, &arguments, &settings).unwrap();
        let crate::oracle::Enclosed::Floats(floats) = &enclosed[1] else { panic!("a sum is a float") };
        assert!(floats[0].lo >= 0.98 && floats[0].hi <= n as f64 * (1.02 + n as f64 / 255.0), "{:?}", floats[0]);
        for (option, order) in [(0, "lanes"), (1, "lanes"), (1, "chain"), (1, "tree32")] {
            let mode: Mode = format!("v5e/default/off+reduce={order}+narrow=bf16").parse().unwrap();
            let results = machine::evaluate(&choices.take(&[option, option]), &mode, &arguments).unwrap();
            assert!(outside(&enclosed, &results).iter().all(|result| result.elements.is_empty()), "{n} {order}");
        }
    }
}

/// A product less its own rounding is zero, unless it is added before it is rounded.
#[test]
fn a_contraction_has_a_witness() {
    let mut b = Builder::new("remainder");
    let x = b.parameter("x", DType::F32, &[1, 4]).unwrap();
    let rounded = b.parameter("rounded", DType::F32, &[1, 4]).unwrap();
    let square = b.binary(Binary::Multiply, x, x).unwrap();
    let rest = b.binary(Binary::Subtract, square, rounded).unwrap();
    let zero = b.constant(DType::F32, 0.0).unwrap();
    let zero = b.splat(zero, &[1, 4]).unwrap();
    let keep = b.compare(Compare::Eq, rest, zero).unwrap();
    let program = b.finish(&[("keep", keep)]).unwrap();
    let numbers: [f32; 4] = [1.1, 1.5, 1.7, 2.3];
    let of = |values: [f32; 4]| Tensor::new(&[1, 4], Data::F32(values.to_vec()));
    let arguments = [of(numbers), of(numbers.map(|x| x * x))];
    for mode in and_compiled(&["v5e/default/off", "cpu/f32/off"], "default/off") {
        let settings = settings(&mode, &["contraction"]);
        let found = explore(&program, &arguments, &[], &settings).unwrap();
        let witness = witness(&found, &program, &settings.mode, &arguments);
        assert_eq!(taken(&found, witness), [Freedom::Contraction], "{mode}");
        assert_eq!(witness.differs.element, 0);
        let without = explore(&program, &arguments, &[], &self::settings(&mode, &["rounding", "reciprocal"])).unwrap();
        assert!(matches!(without.answers[..], [Answer::Proven { .. }]), "{mode}");
    }
}

/// Whether the rows of a value are equal, column by column.
fn are_equal(mut b: Builder, value: ValueId) -> Program {
    let least = b.reduce(Binary::Minimum, value, f64::INFINITY, &[0]).unwrap();
    let most = b.reduce(Binary::Maximum, value, f64::NEG_INFINITY, &[0]).unwrap();
    let is_one = b.compare(Compare::Ge, least, most).unwrap();
    b.finish(&[("is_one", is_one)]).unwrap()
}

/// 41 times the rounded reciprocal of 41 is less than 1, 3 times that of 3 is not: of exact quotients that are equal one may change.
#[test]
fn a_reciprocal_has_a_witness_and_keeps_no_equality_of_rows() {
    let mut b = Builder::new("quotients");
    let x = b.parameter("x", DType::F32, &[2, 4]).unwrap();
    let by = b.parameter("by", DType::F32, &[2]).unwrap();
    let by = b.broadcast(by, &[2, 4], &[0]).unwrap();
    let quotient = b.binary(Binary::Divide, x, by).unwrap();
    let program = are_equal(b, quotient);
    let arguments = [
        Tensor::new(&[2, 4], Data::F32([[3.0; 4], [41.0; 4]].concat())),
        Tensor::new(&[2], Data::F32(vec![3.0, 41.0])),
    ];
    let settings = settings("v6e/default/off", &["reciprocal"]);
    let found = explore(&program, &arguments, &[], &settings).unwrap();
    assert_eq!(found.answers.len(), 4);
    for answer in &found.answers {
        let Answer::Reachable(witness) = answer else { panic!("{answer:?}") };
        assert_eq!(taken(&found, witness), [Freedom::Reciprocal]);
        let chosen = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, &arguments).unwrap();
        assert_eq!(chosen[0].data().get_f64(witness.differs.element), 0.0);
    }
}

/// A quotient of equal numbers is 1; as products with reciprocals in bf16, 3/3 is another number than 5/5.
#[test]
fn a_reciprocal_of_itself_is_not_the_same_for_all() {
    let mut b = Builder::new("quotients");
    let x = b.parameter("x", DType::BF16, &[2, 4]).unwrap();
    let x = b.convert(x, DType::F32).unwrap();
    let by = b.op(Op::Slice { start: vec![0, 0], limit: vec![2, 1], stride: vec![1, 1] }, &[x]).unwrap();
    let by = b.reshape(by, &[2]).unwrap();
    let by = b.broadcast(by, &[2, 4], &[0]).unwrap();
    let quotient = b.binary(Binary::Divide, x, by).unwrap();
    let program = are_equal(b, quotient);
    let arguments = [tensor(DType::BF16, &[2, 4], &[[3.0; 4], [5.0; 4]].concat())];
    let settings = settings("v6e/default/off", &["reciprocal"]);
    let found = explore(&program, &arguments, &[], &settings).unwrap();
    for answer in &found.answers {
        let Answer::Reachable(witness) = answer else { panic!("{answer:?}") };
        let chosen = machine::evaluate(&found.choices.take(&witness.taken), &witness.mode, &arguments).unwrap();
        assert_eq!(chosen[0].data().get_f64(witness.differs.element), 0.0);
    }
}

/// 2^-24 vanishes beside 1 unless it is added to others of its kind first.
#[test]
fn the_order_of_a_dot_has_witnesses() {
    let mut b = Builder::new("dots");
    let x = b.parameter("x", DType::BF16, &[2, 64]).unwrap();
    let y = b.parameter("y", DType::BF16, &[64, 2]).unwrap();
    let dot = b.matmul(x, y, Precision::Default, DType::F32).unwrap();
    let one = b.constant(DType::F32, 1.0).unwrap();
    let one = b.splat(one, &[2, 2]).unwrap();
    let is_one = b.compare(Compare::Eq, dot, one).unwrap();
    let program = b.finish(&[("is_one", is_one), ("dot", dot)]).unwrap();
    let mut row = vec![2f64.powi(-24); 64];
    row[0] = 1.0;
    let arguments =
        [tensor(DType::BF16, &[2, 64], &[row.clone(), row].concat()), tensor(DType::BF16, &[64, 2], &[1.0; 128])];
    let settings = settings("v5e/default/off", &["order"]);
    let found = explore(&program, &arguments, &["is_one".into()], &settings).unwrap();
    assert!(found.answers.iter().all(|answer| matches!(answer, Answer::Reachable(_))), "{:?}", found.answers);
    // K in blocks says so as well, and lies in the enclosure.
    let (choices, enclosed) = enclose(&program, &arguments, &settings).unwrap();
    let [point] = &choices.points[..] else { panic!("{:?}", choices.points) };
    assert_eq!((point.freedom, point.options()), (Freedom::Order, 4));
    let mut mode = settings.mode.clone();
    mode.choices.acc = Accumulation::Tiled;
    for option in 0..4 {
        let results = machine::evaluate(&choices.take(&[option]), &mode, &arguments).unwrap();
        assert_eq!(results[1].data().get_f64(0) == 1.0, option == 0, "{option}");
        assert!(outside(&enclosed, &results).iter().all(|result| result.elements.is_empty()));
    }
}

/// A product that two sums read, behind a choice for one of them, may be added unrounded for each, and so may a quotient by a
/// constant; what else reads it sees it rounded or not.
#[test]
fn what_several_sums_read_is_contracted_for_each() {
    let dims = [2, 32];
    let mut b = Builder::new("shared");
    let [x, y, z] = ["x", "y", "z"].map(|name| b.parameter(name, DType::F32, &dims).unwrap());
    let constant = b.constant(DType::F32, 0.3).unwrap();
    let constant = b.broadcast(constant, &dims, &[]).unwrap();
    let product = b.binary(Binary::Multiply, y, constant).unwrap();
    let quotient = b.binary(Binary::Divide, y, constant).unwrap();
    let first = b.binary(Binary::Add, product, x).unwrap();
    let above = b.compare(Compare::Gt, z, x).unwrap();
    let picked = b.select(above, product, y).unwrap();
    let second = b.binary(Binary::Subtract, picked, z).unwrap();
    let third = b.binary(Binary::Add, quotient, x).unwrap();
    let results = [("first", first), ("second", second), ("third", third), ("product", product)];
    let program = b.finish(&results).unwrap();
    let arguments = drawn(&program, "normal", 6);
    let at = |argument: usize, at: usize| arguments[argument].data().get_f64(at) as f32;
    let of = |f: &dyn Fn(f32, f32, f32) -> f32| -> Tensor {
        let values: Vec<f64> = (0..64).map(|i| f64::from(f(at(0, i), at(1, i), at(2, i)))).collect();
        tensor(DType::F32, &dims, &values)
    };
    let contracted = [
        of(&|x, y, _| y.mul_add(0.3, x)),
        of(&|x, y, z| if z > x { y.mul_add(0.3, -z) } else { y - z }),
        of(&|x, y, _| y.mul_add(1.0 / 0.3, x)),
        of(&|_, y, _| y * 0.3),
    ];
    for mode in and_compiled(&["cpu/default/off"], "default/off") {
        let settings = settings(&mode, &["contraction", "reciprocal"]);
        let (_, enclosed) = enclose(&program, &arguments, &settings).unwrap();
        for found in outside(&enclosed, &contracted) {
            assert!(found.elements.is_empty() && found.unknown == 0, "{mode}: {found:?}");
        }
        let declared = machine::evaluate(&program, &settings.mode, &arguments).unwrap();
        assert!((0..3).all(|at| declared[at] != contracted[at]), "{mode}");
    }
}

/// Packed code of bf16 (FACTS 3.3) is permitted on tpu7x, of operations that the program declares in bf16 and of no others.
#[test]
fn packed_code_is_permitted_of_bf16_on_tpu7x_alone() {
    let softmax = |dtype: DType| {
        let mut b = Builder::new("p");
        let x = b.parameter("x", dtype, &[64]).unwrap();
        let e = b.unary(Unary::Exponential, x).unwrap();
        let root = b.unary(Unary::Sqrt, e).unwrap();
        let one = b.constant(dtype, 1.0).unwrap();
        let ones = b.splat(one, &[64]).unwrap();
        let sum = b.binary(Binary::Add, root, ones).unwrap();
        let y = b.binary(Binary::Divide, e, sum).unwrap();
        b.finish(&[("e", e), ("root", root), ("y", y)]).unwrap()
    };
    let narrow = softmax(DType::BF16);
    let mut packed = narrow.clone();
    let entry = packed.entry;
    for instruction in &mut packed.computations[entry].instructions {
        let has_code = matches!(instruction.op, Op::Unary(_) | Op::Binary(Binary::Divide));
        instruction.record(|compiled| compiled.packed = has_code);
    }
    let values: Vec<f64> = (0..64).map(|at| f64::from(at) * 0.5 - 16.0).collect();
    let arguments = [tensor(DType::BF16, &[64], &values)];
    let mode: Mode = "tpu7x/default/as-compiled".parse().unwrap();
    let results = machine::evaluate(&packed, &mode, &arguments).unwrap();
    let outside_of = |program: &Program, mode: &str, results: &[Tensor]| {
        let dtype = program.entry().instructions[0].shape.element_type();
        let arguments = [tensor(dtype, &[64], &values)];
        let (_, enclosed) = enclose(program, &arguments, &Settings::new(mode.parse().unwrap())).unwrap();
        outside(&enclosed, results).iter().map(|found| found.elements.len()).collect::<Vec<_>>()
    };
    assert_eq!(outside_of(&narrow, "tpu7x/default/off", &results), [0, 0, 0]);
    // Every one of the three shows where packed code is not permitted.
    assert!(outside_of(&narrow, "v6e/default/off", &results).iter().all(|count| *count > 0));
    let wide: Vec<Tensor> = results
        .iter()
        .map(|result| tensor(DType::F32, &[64], &(0..64).map(|at| result.data().get_f64(at)).collect::<Vec<_>>()))
        .collect();
    assert!(outside_of(&softmax(DType::F32), "tpu7x/default/off", &wide).iter().all(|count| *count > 0));
}
