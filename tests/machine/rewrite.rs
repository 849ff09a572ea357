//! The rules of FACTS 1.3 on programs that show them.

use std::collections::BTreeSet;

use ulpgate::analysis::same_results;
use ulpgate::ir::{Binary, Builder, Op, Program};
use ulpgate::machine::Mode;
use ulpgate::program::ProgramSpec;
use ulpgate::rewrite::{Rewritten, Rule, Site};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

fn compile(program: &Program, excess: &str) -> Program {
    subject::compile(program, &mode(excess))
}

fn mode(excess: &str) -> Mode {
    format!("v5e/default/{excess}").parse().unwrap()
}

fn built_in(text: &str) -> Program {
    text.parse::<ProgramSpec>().unwrap().build(16, 1).unwrap()
}

/// The opcode and type of the value that the n-th operand of the value named `user` stands for.
fn operand(program: &Program, user: &str, n: usize) -> String {
    let entry = program.entry();
    let user = entry.instructions.iter().find(|i| i.name == user).unwrap();
    let operand = &entry.instructions[user.operands[n]];
    format!("{} {}", operand.op.opcode(), operand.shape)
}

/// x * y in bf16, converted to f32.
fn widened_product() -> Program {
    let mut b = Builder::new("widened");
    let x = b.parameter("x", DType::BF16, &[3]).unwrap();
    let y = b.parameter("y", DType::BF16, &[3]).unwrap();
    let q = b.binary(Binary::Multiply, x, y).unwrap();
    let wide = b.convert(q, DType::F32).unwrap();
    let wide = b.rename(wide, "wide");
    b.finish(&[("q", q), ("wide", wide)]).unwrap()
}

/// FACTS 1.5: q0 is exactly 1.13720703, in bf16 1.140625.
#[test]
fn rule_b_shows_the_wide_value_to_a_conversion_only() {
    let bf16 = |values: [f64; 3]| Tensor::new(&[3], Data::from_f64s(DType::BF16, &values).unwrap());
    let arguments = [bf16([1.0625, 1.0, 0.5]), bf16([1.0703125, 1.0, 1.0])];
    for (excess, wide) in [("off", 1.140625), ("cpu", 1.13720703125), ("as-compiled", 1.140625)] {
        let results = subject::evaluate(&widened_product(), &mode(excess), &arguments).unwrap();
        assert_eq!(results[0].data().get_f64(0), 1.140625, "{excess}");
        assert_eq!(results[1].data().get_f64(0), wide, "{excess}");
    }
}

/// A conversion that the user wrote is kept by rule B and dropped by rule A.
#[test]
fn explicit_round_trips_survive_rule_b_and_not_rule_a() {
    let mut b = Builder::new("round_trip");
    let x = b.parameter("x", DType::F32, &[1]).unwrap();
    let narrow = b.convert(x, DType::BF16).unwrap();
    let wide = b.convert(narrow, DType::F32).unwrap();
    let program = b.finish(&[("wide", wide)]).unwrap();
    let x = [Tensor::new(&[1], Data::F32(vec![1.0 + 2f32.powi(-20)]))];
    for (excess, expected) in [("off", 1.0), ("cpu", 1.0), ("gpu", 1.0 + 2f64.powi(-20)), ("tpu", 1.0 + 2f64.powi(-20))]
    {
        let result = &subject::evaluate(&program, &mode(excess), &x).unwrap()[0];
        assert_eq!(result.data().get_f64(0), expected, "{excess}");
    }
}

/// reduce-precision and barriers stop both rules.
#[test]
fn guards_hold() {
    for guard in ["reduce_precision", "barrier"] {
        let program = built_in(&format!("keep_max[guard={guard}]"));
        for excess in ["cpu", "gpu", "tpu"] {
            let rewritten = compile(&program, excess);
            assert_ne!(operand(&rewritten, "keep", 0), "divide f32[1,16]", "{guard} {excess}");
        }
    }
    assert_eq!(operand(&compile(&built_in("keep_max"), "cpu"), "keep", 0), "divide f32[1,16]");
}

/// Chains of bf16 operations stay rounded at every step under rule B, and lose the rounding under rule A.
#[test]
fn chains_keep_their_roundings_on_cpu_and_lose_them_on_tpu() {
    let program = built_in("affine_greedy[store=false]");
    let product_of_sum = |excess: &str| {
        let rewritten = compile(&program, excess);
        let entry = rewritten.entry();
        let add = entry.instructions.iter().find(|i| i.op == Op::Binary(Binary::Add)).unwrap();
        entry.instructions[add.operands[0]].op.opcode()
    };
    assert_eq!(product_of_sum("cpu"), "convert");
    assert_eq!(product_of_sum("tpu"), "multiply");
}

/// The TPU compiler turns the f32 denominator into a bf16 sum of rounded exponentials (FACTS 9).
#[test]
fn tpu_narrows_the_softmax_sum() {
    let sums = |excess: &str| -> Vec<String> {
        let rewritten = compile(&built_in("softmax"), excess);
        let reductions = rewritten.entry().instructions.iter().filter(|i| matches!(i.op, Op::Reduce { .. }));
        reductions.map(|i| i.shape.to_string()).collect()
    };
    assert_eq!(sums("tpu"), ["f32[1]", "bf16[1]"]);
    assert_eq!(sums("gpu"), ["bf16[1]", "f32[1]"]);
    assert_eq!(sums("off"), ["bf16[1]", "f32[1]"]);
    let rewritten = compile(&built_in("softmax"), "tpu");
    assert_eq!(operand(&rewritten, "sum_f32", 0), "convert bf16[1,16]");
}

/// The start of a sum is part of it: only zero may be left out.
#[test]
fn a_sum_from_another_number_than_zero_is_not_narrowed() {
    let sites = |init: f64| {
        let mut b = Builder::new("sum");
        let x = b.parameter("x", DType::F32, &[2, 8]).unwrap();
        let sum = b.reduce(Binary::Add, x, init, &[1]).unwrap();
        let narrow = b.convert(sum, DType::BF16).unwrap();
        let program = b.finish(&[("narrow", narrow)]).unwrap();
        Rule::Narrowing.sites(&program).len()
    };
    assert_eq!([0.0, 3.0, -0.0].map(sites), [1, 0, 0]);
}

/// A maximum is stored in bf16 between fusions: the filter compares the wide p with the stored one.
#[test]
fn tpu_stores_reductions() {
    let rewritten = compile(&built_in("keep_max"), "tpu");
    assert_eq!(operand(&rewritten, "keep", 0), "divide f32[1,16]");
    let p_max = rewritten.entry().instructions.iter().find(|i| i.name == "p_max").unwrap();
    assert_eq!((p_max.op.opcode(), p_max.shape.dtype()), ("convert", Some(DType::BF16)));
}

/// On tpu7x the quotient is native in bf16: there is no wide value, and no token to lose by it.
#[test]
fn native_operations_have_no_wide_value() {
    let program = built_in("keep_max");
    let rewritten = subject::compile(&program, &"tpu7x/default/tpu".parse().unwrap());
    assert_eq!(operand(&rewritten, "keep", 0), "convert f32[1,16]");
}

/// Whatever a policy does, what it makes is a program whose shapes fit.
#[test]
fn rewritten_programs_are_well_formed() {
    for built_in in ulpgate::program::PROGRAMS {
        let program = built_in.name().parse::<ProgramSpec>().unwrap().build(64, 2).unwrap();
        for policy in ulpgate::rewrite::POLICIES {
            let rewritten = compile(&program, policy.name);
            is_well_formed(&rewritten, &program, &format!("{} {}", built_in.name(), policy.name));
        }
    }
}

/// A program with the results of another, in which every value has the shape that its operands give it.
fn is_well_formed(rewritten: &Program, declared: &Program, what: &str) {
    for (id, computation) in rewritten.computations.iter().enumerate() {
        for (at, instruction) in computation.instructions.iter().enumerate() {
            assert!(instruction.operands.iter().all(|o| *o < at), "{what}");
            let shapes: Vec<_> = instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
            let before = &rewritten.computations[..id];
            let inferred = ulpgate::ir::infer(&instruction.op, &shapes, before, Some(&instruction.shape));
            assert!(inferred.is_ok(), "{what} {}: {inferred:?}", instruction.name);
        }
        let mut names: Vec<&str> = computation.instructions.iter().map(|i| i.name.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]), "{what}: {names:?}");
    }
    let outputs = |p: &Program| -> Vec<_> {
        p.outputs().into_iter().map(|id| p.entry().instructions[id].shape.clone()).collect()
    };
    assert_eq!(outputs(rewritten), outputs(declared), "{what}");
}

const RULES: [Rule; 3] = [Rule::Normalization, Rule::Narrowing, Rule::Simplification];

/// Any choice of a rule's sites gives a program, and says of each of its values which one it was.
#[test]
fn rules_apply_at_any_of_their_sites() {
    let mut random = 1u64;
    let mut applied = [0; 3];
    for built_in in ulpgate::program::PROGRAMS {
        let declared = built_in.name().parse::<ProgramSpec>().unwrap().build(64, 2).unwrap();
        for round in 0..8 {
            let mut program = declared.clone();
            for (at, rule) in RULES.into_iter().enumerate() {
                let sites = rule.sites(&program);
                let chosen: BTreeSet<Site> = sites
                    .into_iter()
                    .filter(|_| {
                        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                        round == 0 || random >> 62 > 0
                    })
                    .collect();
                applied[at] += chosen.len();
                let Rewritten { program: rewritten, origins } = rule.apply(&program, &chosen);
                let what = format!("{} {rule:?} {chosen:?}", built_in.name());
                is_well_formed(&rewritten, &program, &what);
                let instructions = &rewritten.entry().instructions;
                assert_eq!(origins.len(), instructions.len());
                for (instruction, origin) in instructions.iter().zip(origins) {
                    let Some(origin) = origin else { continue };
                    let name = &program.entry().instructions[origin].name;
                    let wide = instruction.name.strip_suffix(".f32");
                    assert!(instruction.name == *name || wide == Some(name), "{what}: {} of {name}", instruction.name);
                }
                if chosen.is_empty() {
                    assert!(same_results(&program, &rewritten), "{what}");
                }
                program = rewritten;
            }
        }
    }
    assert!(applied.iter().all(|count| *count > 20), "{applied:?}");
}

/// One reader sees the wide value and another, through the same conversion elsewhere, the rounded one.
#[test]
fn sites_are_taken_one_by_one() {
    let mut b = Builder::new("two_readers");
    let x = b.parameter("x", DType::BF16, &[1]).unwrap();
    let y = b.parameter("y", DType::BF16, &[1]).unwrap();
    let product = b.binary(Binary::Multiply, x, y).unwrap();
    let [one, other] = [(); 2].map(|()| b.convert(product, DType::F32).unwrap());
    let program = b.finish(&[("one", one), ("other", other)]).unwrap();
    let sites = Rule::Normalization.sites(&program);
    let exposed = [one, other].map(|conversion| Site::Expose { conversion });
    assert_eq!(sites, BTreeSet::from([Site::Retype(product), exposed[0], exposed[1]]));
    let arguments = [1.0625, 1.0703125].map(|v| Tensor::new(&[1], Data::from_f64s(DType::BF16, &[v]).unwrap()));
    let results = |sites: &[Site]| {
        let rewritten = Rule::Normalization.apply(&program, &sites.iter().copied().collect());
        let results = subject::evaluate(&rewritten.program, &mode("off"), &arguments).unwrap();
        [0, 1].map(|at: usize| results[at].data().get_f64(0))
    };
    let (wide, rounded) = (1.13720703125, 1.140625);
    assert_eq!(results(&[]), [rounded; 2]);
    assert_eq!(results(&[Site::Retype(product)]), [rounded; 2]);
    assert_eq!(results(&[Site::Retype(product), exposed[1]]), [rounded, wide]);
    assert_eq!(results(&[Site::Retype(product), exposed[0], exposed[1]]), [wide; 2]);
    // There is no wide value of what was not retyped.
    assert_eq!(results(&[exposed[0]]), [rounded; 2]);
}
