//! The cost of proving, against one evaluation of the machine: an enclosure of every choice, where it proves all rows.
//! `cargo bench -p ulpgate-benches --bench explore`. The last column is in evaluations. Rates are in logits.

use std::hint::black_box;

use rayon::ThreadPoolBuilder;
use ulpgate::explore::{Answer, Settings, explore};
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
        let exploring = |settings: Settings| {
            let (program, arguments) = (&program, &arguments);
            move || {
                let found = explore(program, arguments, &[], &settings).expect("an outcome");
                assert!(found.answers.iter().all(|answer| matches!(answer, Answer::Proven { .. })));
                black_box(found);
            }
        };
        let contenders = vec![Contender::new("evaluate", run), Contender::new("explore", exploring(settings.clone()))];
        contest(
            &format!("{name}, n = {n}, {} of {rows} rows proven before", proven.len()),
            (rows * n) as f64,
            "logit",
            5,
            contenders,
        );
    }
}
