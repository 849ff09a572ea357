//! The cost of proving, against one evaluation of the machine: an enclosure of every choice, where it proves all rows; and with the search
//! of rows that stay open. And that of searching in programs of more and more instructions.
//! `cargo bench -p ulpgate-benches --bench explore`. The last column is in evaluations, or in times of the shortest program. Rates are
//! in logits, or in instructions.

use std::hint::black_box;

use rayon::ThreadPoolBuilder;
use ulpgate::explore::{Answer, Settings, explore};
use ulpgate::ir::{Binary, Builder, Compare, Program, Unary};
use ulpgate::machine::Prepared;
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{DType, Data, Tensor};

use ulpgate_benches::{Contender, contest, logits};

/// The rows of these numbers again and again, as many as there were.
fn of_rows(tensor: &Tensor, rows: &[usize]) -> Tensor {
    let (count, width) = (tensor.dims()[0], tensor.len() / tensor.dims()[0]);
    let row = |at: usize| rows[at % rows.len()] * width;
    let values: Vec<f64> = (0..count)
        .flat_map(|at| (0..width).map(move |i| (at, i)))
        .map(|(at, i)| tensor.data().get_f64(row(at) + i))
        .collect();
    Tensor::new(tensor.dims(), Data::from_f64s(DType::BF16, &values).expect("bf16 is a float"))
}

/// A chain of so many instructions in bf16, of which each may leave out its rounding, and a comparison that stays open.
fn chain(instructions: usize) -> Program {
    let mut b = Builder::new("chain");
    let x = b.parameter("x", DType::BF16, &[8, 64]).expect("a shape");
    let w = b.parameter("w", DType::BF16, &[8, 64]).expect("a shape");
    let (mut last, mut middle) = (x, x);
    for at in 0..instructions {
        last = match at % 4 {
            0 => b.binary(Binary::Multiply, last, x),
            1 => b.binary(Binary::Add, last, w),
            2 => b.unary(Unary::Tanh, last),
            _ => b.binary(Binary::Subtract, last, w),
        }
        .expect("operands of one shape");
        middle = if at == instructions / 2 { last } else { middle };
    }
    let keep = b.compare(Compare::Ge, last, middle).expect("operands of one shape");
    b.finish(&[("keep", keep)]).expect("a program")
}

/// Exploring chains of these lengths.
fn long_programs() {
    let arguments = [logits(8, 64), logits(8, 64)];
    let settings = Settings::new("v5e/default/off".parse().expect("a mode"));
    let programs = [1000, 2000, 4000, 8000].map(|instructions| (instructions, chain(instructions)));
    let contender = |(instructions, program): &'_ (usize, Program)| {
        let (program, arguments, settings) = (program.clone(), arguments.clone(), settings.clone());
        let run = move || {
            black_box(explore(&program, &arguments, &[], &settings).expect("an outcome"));
        };
        Contender::new(format!("{instructions} instructions"), run).of_work(*instructions as f64)
    };
    contest("explore, rows that stay open", 1000.0, "instruction", 1, programs.iter().map(contender).collect());
}

fn main() {
    // One thread: an evaluation has no more to share than an enclosure.
    ThreadPoolBuilder::new().num_threads(1).build_global().expect("no pool yet");
    let (rows, n) = (64, 32_768);
    for name in ["prob_max[rows=64]", "keep_max[rows=64,guard=reduce_precision]"] {
        let spec: ProgramSpec = name.parse().expect("a program");
        let program = spec.build(n, rows).expect("a size that fits");
        let settings = Settings::new("v5e/default/off".parse().expect("a mode"));
        let any = logits(rows, n);
        let once = Settings { choices: 1, enclosures: 1, ..settings.clone() };
        let found = explore(&program, std::slice::from_ref(&any), &[], &once).expect("an outcome");
        let proven: Vec<usize> = (0..rows).filter(|row| matches!(found.answers[*row], Answer::Proven { .. })).collect();
        let arguments = [of_rows(&any, &proven)];
        let prepared = Prepared::new(&program);
        let bound = prepared.bind(&arguments).expect("arguments that fit");
        let run = || {
            black_box(prepared.evaluate(&settings.mode, &bound).expect("known operations"));
        };
        let exploring = || {
            let found = explore(&program, &arguments, &[], &settings).expect("an outcome");
            assert!(found.answers.iter().all(|answer| matches!(answer, Answer::Proven { .. })));
            black_box(found);
        };
        let searching = || {
            let found = explore(&program, std::slice::from_ref(&any), &[], &settings).expect("an outcome");
            assert!(found.searched.choices > 1 || proven.len() == rows);
            black_box(found);
        };
        let contenders = vec![
            Contender::new("evaluate", run),
            Contender::new("explore, all proven", exploring),
            Contender::new("explore, some rows open", searching),
        ];
        contest(
            &format!("{name}, n = {n}, {} of {rows} rows proven before", proven.len()),
            (rows * n) as f64,
            "logit",
            5,
            contenders,
        );
    }
    long_programs();
}
