//! A decoder in each mode as compiled: a prefill, and greedy decoding beside nothing but the products of its matrices.
//!
//! `cargo bench -p ulpgate-benches --bench serving -- FOLDER` takes what `examples/llama.py` writes, or `tests/data/language_model`
//! if none is given; `benches/serving_jax.py FOLDER HEAD_SIZE` times XLA:CPU on the same. Weights are converted once and shared.
//! Beside the best time stands the least processor time of all threads, which other work on the machine changes less.

use std::cell::Cell;
use std::hint::black_box;
use std::path::{Path, PathBuf};

use ulpgate::Program;
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::input::Argument;
use ulpgate::machine::{Held, Mode, Prepared, mxu};
use ulpgate::tensor::Tensor;
use ulpgate_benches::{Contender, contest, processor_seconds};

const ROUNDS: usize = 3;

/// A runner of `work` that keeps the least processor time that it took.
fn least(kept: &Cell<f64>, mut work: impl FnMut()) -> impl FnMut() {
    move || {
        let before = processor_seconds();
        work();
        kept.set(kept.get().min(processor_seconds() - before));
    }
}

/// The weights and tokens of a folder.
struct Model {
    folder: PathBuf,
    tensors: Vec<(String, Tensor)>,
}

impl Model {
    fn new(folder: &Path) -> Model {
        let read = |name: &str| safetensors::read(&folder.join(name)).unwrap_or_else(|error| panic!("{error}"));
        Model {
            folder: folder.to_path_buf(),
            tensors: [read("decoder.safetensors"), read("tokens.safetensors")].concat(),
        }
    }

    /// The program of a file, where there is one.
    fn program(&self, file: &str) -> Option<Program> {
        let text = std::fs::read_to_string(self.folder.join(file)).ok()?;
        let module = parse(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        Some(lower(&module).unwrap_or_else(|error| panic!("{file}: {error}")).program)
    }

    /// The program's arguments: the first rows of the tensor called `first`, then the weights by their names.
    fn arguments(&self, program: &Program, first: &str) -> Vec<Tensor> {
        let tensor =
            |name: &dyn Fn(&str) -> bool| self.tensors.iter().find(|(own, _)| name(own)).map(|(_, tensor)| tensor);
        let taken = Argument::of_program(program);
        let argument = |(number, argument): (usize, &Argument)| match number {
            0 => tensor(&|own| own == first).map(|tensor| tensor.rows(0..argument.dims[0])),
            _ => tensor(&|own| argument.answers_to(number).iter().any(|name| name == own)).cloned(),
        };
        taken
            .iter()
            .enumerate()
            .map(|at| argument(at).unwrap_or_else(|| panic!("no tensor for {}", at.1.name)))
            .collect()
    }
}

/// A program in each mode, one evaluation after the other.
fn time(model: &Model, name: &str, first: &str) {
    let modes = [("cpu", "xla-cpu"), ("tpu/v5e", "v5e"), ("tpu/v6e", "v6e"), ("tpu/tpu7x", "tpu7x")];
    for setting in ["excess_on", "excess_off"] {
        for (folder, chip) in modes {
            let Some(program) = model.program(&format!("{folder}/{name}.{setting}.hlo")) else { continue };
            let arguments = model.arguments(&program, first);
            let prepared = Prepared::new(&program);
            let held = Held::new(&arguments.iter().cloned().map(Some).collect::<Vec<_>>());
            let bound = prepared.bind_beside(&held, &arguments).unwrap_or_else(|error| panic!("{error}"));
            let mode: Mode = format!("{chip}/default/as-compiled").parse().expect("a mode");
            let results = prepared.evaluate(&mode, &bound).unwrap_or_else(|error| panic!("{error}"));
            let batch = arguments[0].dims()[0];
            // Every step but the last takes a token of the prompt or one that it made.
            let steps = if name == "generate" { arguments[0].dims()[1] + results[0].dims()[1] - 1 } else { 1 };
            let alone = products(&arguments, batch, steps);
            let seconds = [const { Cell::new(f64::INFINITY) }; 2];
            let contenders = vec![
                Contender::new("its matrices' products alone", least(&seconds[0], alone)),
                Contender::new(
                    format!("{chip}, {setting}"),
                    least(&seconds[1], || {
                        black_box(prepared.evaluate(&mode, &bound).expect("it had results before"));
                    }),
                ),
            ];
            let title = format!("{name}, {batch} rows, {steps} steps, as compiled for {chip}, {setting}");
            contest(&title, (batch * steps) as f64, "row", ROUNDS, contenders);
            let [alone, whole] = seconds.each_ref().map(Cell::get);
            println!("  processor: {alone:.2} s alone, {whole:.2} s, {:.2} times", whole / alone);
        }
    }
}

/// A product of `rows` rows with every matrix of the weights, `steps` times over.
fn products(arguments: &[Tensor], rows: usize, steps: usize) -> impl FnMut() {
    let unit = "v5e/default/off".parse::<Mode>().expect("a mode").matrix_unit();
    let has_head = arguments.last().is_some_and(|last| last.dims().len() == 2);
    let mut matrices = Vec::new();
    for (at, weight) in arguments.iter().enumerate().skip(1) {
        let values = weight.data().to_f32s();
        match *weight.dims() {
            // The embedding, which is the head as well, and a head of its own.
            [tokens, width] if at == 1 && !has_head => {
                let turned = (0..tokens * width).map(|at| values[at % tokens * width + at / tokens]).collect();
                matrices.push((turned, width, tokens));
            }
            [k, n] if at + 1 == arguments.len() => matrices.push((values, k, n)),
            [_, k, n] => matrices.extend(values.chunks(k * n).map(|layer| (layer.to_vec(), k, n))),
            _ => {}
        }
    }
    let widest = matrices.iter().map(|(_, k, n)| (*k).max(*n)).max().unwrap_or(0);
    let (lhs, mut out) = (vec![1.0; rows * widest], vec![0.0; rows * widest]);
    move || {
        for _ in 0..steps {
            for (rhs, k, n) in &matrices {
                mxu::matmul(&lhs[..rows * k], rhs, [rows, *k, *n], mxu::Passes::One, &unit, &mut out[..rows * n]);
            }
        }
        black_box(&out);
    }
}

fn main() {
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let small = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/data/language_model");
    let model = Model::new(Path::new(folder.as_deref().unwrap_or(small)));
    time(&model, "prefill", "held_out");
    time(&model, "generate", "prompts");
}
