//! Each row that `explore` proves of a program before compilation, against what each compiled file of it gives: XLA:CPU's own
//! results, and what the files of every chip give in each mode of the chip.
//!
//! `ULPGATE_DUMPS=FOLDER[:FOLDER...]` holds other folders to the same, of the layout that `scripts/dump_hlo.py` writes, and
//! counts what is proven without the family `algebra`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ulpgate::explore::{Answer, Exploration, ExploreError, Settings, default_families, explore};
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::{Op, Program};
use ulpgate::machine::{Mode, PRECISIONS};
use ulpgate::subject;
use ulpgate::tensor::Tensor;

/// The counts of a comparison.
#[derive(Debug, Default)]
struct Count {
    programs: usize,
    /// Rows of one program in one mode, and those of them that are proven.
    rows: usize,
    proven: usize,
    /// Those that are proven without the family `algebra`.
    proven_without: usize,
    /// Proven rows against the same rows of results of one compiled file.
    comparisons: usize,
    /// Programs, modes and compiled files that are not evaluated or have other results.
    refused: usize,
    exceptions: Vec<String>,
    /// Exceptions that there would be without the family.
    exceptions_without: usize,
    /// Whether what is proven without the family is asked.
    counts_both: bool,
}

fn program(path: &Path) -> Option<Program> {
    Some(lower(&parse(&std::fs::read_to_string(path).ok()?).ok()?).ok()?.program)
}

/// `arg0, arg1, ...` or `out0, out1, ...`.
fn tensors(path: &Path, prefix: &str) -> Option<Vec<Tensor>> {
    let all = safetensors::read(path).ok()?;
    (0..all.len()).map(|i| Some(all.iter().find(|(n, _)| *n == format!("{prefix}{i}"))?.1.clone())).collect()
}

/// The proven rows in a mode, with the family `algebra` and, if that is wanted, without it. Where no result is made of tokens, all are
/// the outcome.
fn explored(before: &Program, inputs: &[Tensor], mode: &Mode, both: bool) -> Option<[Exploration; 2]> {
    let of = |families: Vec<_>| {
        let settings = Settings { families, choices: 0, enclosures: 4, ..Settings::new(mode.clone()) };
        match explore(before, inputs, &[], &settings) {
            Err(ExploreError::Outcome(_)) => explore(before, inputs, &before.output_names, &settings).ok(),
            found => found.ok(),
        }
    };
    let without = default_families().filter(|family| family.name != "algebra").collect();
    let with = of(default_families().collect())?;
    let without = if both { of(without)? } else { with.clone() };
    Some([with, without])
}

fn proven(found: &Exploration) -> usize {
    found.answers.iter().filter(|answer| matches!(answer, Answer::Proven { .. })).count()
}

/// The number of proven rows that were compared, and those that have other bits; `None` if the results are of other shapes.
fn compare(found: &Exploration, results: &[Tensor]) -> Option<(usize, Vec<usize>)> {
    let mut different = Vec::new();
    let mut compared = 0;
    for (row, answer) in found.answers.iter().enumerate() {
        if !matches!(answer, Answer::Proven { .. }) {
            continue;
        }
        compared += 1;
        for (output, declared) in found.outputs.iter().zip(&found.declared) {
            let result = results.get(*output)?;
            if result.dims() != declared.dims() || result.dtype() != declared.dtype() {
                return None;
            }
            let width = declared.len() / found.answers.len().max(1);
            let is_other = |at: &usize| {
                let (one, other) = (declared.data(), result.data());
                one.bits(*at) != other.bits(*at) && !(one.get_f64(*at).is_nan() && other.get_f64(*at).is_nan())
            };
            if (row * width..(row + 1) * width).any(|at| is_other(&at)) {
                different.push(row);
                break;
            }
        }
    }
    Some((compared, different))
}

impl Count {
    fn hold(&mut self, what: &str, [with, without]: &[Exploration; 2], results: Option<Vec<Tensor>>) {
        match results.as_ref().and_then(|results| compare(with, results)) {
            Some((compared, different)) => {
                self.comparisons += compared;
                self.exceptions.extend(different.into_iter().map(|row| format!("{what}: row {row}")));
            }
            None => self.refused += 1,
        }
        let before = results.as_ref().and_then(|results| compare(without, results));
        self.exceptions_without += before.map_or(0, |(_, different)| different.len());
    }

    fn explored(&mut self, found: &[Exploration; 2]) {
        self.rows += found[0].answers.len();
        self.proven += proven(&found[0]);
        self.proven_without += proven(&found[1]);
    }

    /// One program of a folder with all that was compiled from it.
    fn program(&mut self, folder: &Path, name: &str) {
        let at = |file: &str| folder.join("cpu").join(format!("{name}.{file}"));
        let Some((before, inputs)) = program(&at("before.hlo")).zip(tensors(&at("inputs.safetensors"), "arg")) else {
            self.refused += 1;
            return;
        };
        self.programs += 1;
        let flags = ["excess_on", "excess_off"];
        let outputs: Vec<(&str, PathBuf)> = flags
            .iter()
            .map(|flag| (*flag, at(&format!("{flag}.outputs.safetensors"))))
            .filter(|(_, o)| o.exists())
            .collect();
        let modes: &[&str] = if outputs.is_empty() { &[] } else { &["xla-cpu/default/off"] };
        for mode in modes {
            let Some(found) = mode.parse().ok().and_then(|mode| explored(&before, &inputs, &mode, self.counts_both))
            else {
                self.refused += 1;
                continue;
            };
            self.explored(&found);
            for (flag, path) in &outputs {
                self.hold(&format!("{name} {mode} {flag}, XLA:CPU's own"), &found, tensors(path, "out"));
                let compiled = at(&format!("{flag}.hlo"));
                let as_compiled = "xla-cpu/default/as-compiled".parse().unwrap();
                let own = program(&compiled).and_then(|p| subject::evaluate(&p, &as_compiled, &inputs).ok());
                self.hold(&format!("{name} {mode} {flag}"), &found, own);
            }
        }
        for chip in ["v3", "v4", "v5e", "v5p", "v6e", "tpu7x"] {
            self.chip(&folder.join("tpu").join(chip), (chip, name), &before, &inputs);
        }
    }

    fn chip(&mut self, folder: &Path, (chip, name): (&str, &str), before: &Program, inputs: &[Tensor]) {
        let at = |file: &str| folder.join(format!("{name}.{file}"));
        let compiled = ["excess_on", "excess_off"].map(|flag| (flag, at(&format!("{flag}.hlo"))));
        let compiled: Vec<(&str, Program)> =
            compiled.into_iter().filter_map(|(flag, path)| Some((flag, program(&path)?))).collect();
        if compiled.is_empty() {
            return;
        }
        let own = at("before.hlo");
        let before = if own.exists() { program(&own) } else { Some(before.clone()) };
        let Some(before) = before else {
            self.refused += 1;
            return;
        };
        let all = before.computations.iter().flat_map(|computation| &computation.instructions);
        let has_dots = all.into_iter().any(|i| matches!(i.op, Op::Dot { .. }));
        let entry = &before.entry().instructions;
        let has_tokens =
            before.outputs().iter().any(|o| entry[*o].shape.dtype().is_some_and(|dtype| !dtype.is_float()));
        // A dot of floats is no exact number in any precision.
        let precisions = if has_dots && has_tokens { PRECISIONS } else { &PRECISIONS[..1] };
        let precisions = precisions.iter().map(|precision| format!("{chip}/{}", precision.name));
        let modes = precisions.map(|mode| (mode, "")).chain([(format!("{chip}/default"), "+exp=worst")]);
        for (mode, refined) in modes {
            let [off, as_compiled] = ["off", "as-compiled"].map(|excess| format!("{mode}/{excess}{refined}"));
            let found = off.parse().ok().and_then(|mode| explored(&before, inputs, &mode, self.counts_both));
            let (Some(found), Ok(as_compiled)) = (found, as_compiled.parse::<Mode>()) else {
                self.refused += 1;
                continue;
            };
            self.explored(&found);
            for (flag, compiled) in &compiled {
                let results = subject::evaluate(compiled, &as_compiled, inputs).ok();
                self.hold(&format!("{name} {off} {flag}"), &found, results);
            }
        }
    }

    fn folder(&mut self, folder: &Path) {
        let mut names = BTreeMap::new();
        for entry in std::fs::read_dir(folder.join("cpu")).unwrap() {
            let path = entry.unwrap().path();
            let name =
                path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".before.hlo"));
            names.extend(name.map(|name| (name.to_string(), ())));
        }
        for name in names.keys() {
            let start = std::time::Instant::now();
            self.program(folder, name);
            println!("{name}: {} s, {} of {} proven so far", start.elapsed().as_secs(), self.proven, self.rows);
        }
    }
}

#[test]
fn proven_rows_are_what_compilers_give() {
    let given = std::env::var("ULPGATE_DUMPS").ok();
    let mut count = Count { counts_both: given.is_some(), ..Count::default() };
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders: Vec<PathBuf> = match &given {
        Some(given) => given.split(':').map(PathBuf::from).collect(),
        None => ["hlo", "hlo_more"].iter().map(|folder| data.join(folder)).collect(),
    };
    folders.iter().for_each(|folder| count.folder(folder));
    println!("{count:#?}");
    assert!(count.exceptions.is_empty(), "{} exceptions", count.exceptions.len());
    if given.is_none() {
        assert!(count.programs > 70 && count.comparisons > 1000, "{count:?}");
        // Rows that are not close to a tie stay proven.
        assert!(count.proven * 3 > count.rows, "{count:?}");
    }
}
