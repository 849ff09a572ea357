//! A source, the values that it printed, and what the machine gives for the programs that were written for them.

use std::path::{Path, PathBuf};

use half::bf16;
use serde::Deserialize;
use ulpgate::explore::{Settings, enclose, families_of_results, outside_of_printed, printed_range};
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::input::{Argument, InputKey, InputSpec, generate};
use ulpgate::ir::Program;
use ulpgate::machine::Mode;
use ulpgate::num::Format;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

use crate::printed::{Digits, Printed};

/// Standard errors of a mean within which a printed mean lies.
const ERRORS: f64 = 4.0;

/// A source.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// Project and thread or page.
    pub source: String,
    /// The chip, as the source tells it.
    pub chip: String,
    /// The date of print: a year, a month or a day.
    pub date: String,
    /// The program that was run there, and whatever else one has to know.
    pub ran: String,
    pub value: Vec<Value>,
}

/// A number or array that it printed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Its name in the table.
    pub what: String,
    pub mode: String,
    /// HLO text.
    #[serde(default)]
    program: String,
    /// An HLO file of the repository in its place.
    #[serde(default)]
    file: String,
    /// The program whose exact results errors are measured from, where that is another one.
    #[serde(default)]
    truth: String,
    /// One an argument: `f32[2,2] 1 2 3 4`, `bf16[512,128] codes but 0x4300`, `FILE:NAME` of the folder, or `normal` or `1 + uniform[scale=0.01]`, drawn.
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    measure: Measure,
    /// The result that it is of.
    #[serde(default)]
    result: usize,
    /// Printed numbers, row-major, separated by spaces; an interval as `low..high`.
    pub printed: String,
    /// Whether the numbers were printed with so many digits, and not as many as tell them from their neighbours.
    #[serde(default)]
    rounded: bool,
    pub verdict: Verdict,
    /// The count of elements that are equal, where not all are.
    equal: Option<usize>,
    /// The mode whose error is the stated bound: what was printed is no farther from the truth. Or `explore`: what the chip's own
    /// errors permit of each operation, where errors of several add up.
    bound: Option<String>,
    /// The reason why it is only inside, or not reproduced.
    #[serde(default)]
    pub because: String,
    /// The reason why `explore` is not asked whether it is permitted, or knows nothing of it.
    #[serde(default)]
    pub not_explored: String,
}

/// Printed elements against what `explore` permits.
pub struct Explored {
    /// Elements that are permitted by nothing.
    pub outside: usize,
    /// Elements that may be anything.
    pub unknown: usize,
}

/// A figure made of the results.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Measure {
    /// The elements of one result.
    #[default]
    Elements,
    /// The mean of |a - b| over all pairs of elements of the first half of the results and the second.
    MeanDifference,
    /// The same, of a sample of as many elements as there are, times the share of elements that are not masked.
    MeanOfHalf,
    /// The count of elements that differ from the exact ones, the largest difference, and the largest relative one.
    Errors,
    /// The largest difference from the exact elements.
    LargestError,
    /// The same over the largest magnitude of the exact elements.
    ShareOfLargest,
    /// The largest distance from the f32 next to the exact element, in units in the last place.
    LargestUlps,
    /// The largest distance from the exact element in units in the last place, up to the next half, as JAX's tests take it: where
    /// subnormals are zeros, the smallest normal number is one unit away.
    HalvesOfUlps,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
pub enum Verdict {
    #[serde(rename = "equal")]
    Equal,
    #[serde(rename = "inside")]
    Inside,
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

/// The outcome of a comparison.
pub struct Found {
    pub verdict: Verdict,
    /// One a printed number; none where the program was refused.
    pub numbers: Vec<f64>,
    pub equal: usize,
    /// The reason why there are none.
    pub refused: Option<String>,
}

impl Found {
    /// The difference from what its file says.
    pub fn contradiction(&self, value: &Value) -> Option<String> {
        let equal =
            value.equal.unwrap_or(if value.verdict == Verdict::Equal { self.numbers.len() } else { self.equal });
        let refused = self.refused.as_ref().map_or(String::new(), |why| format!(" ({why})"));
        (self.verdict != value.verdict || self.equal != equal).then(|| {
            let (is, says) = (self.verdict, value.verdict);
            format!(
                "{is:?}, {} of {} equal{refused}, and the file says {says:?}, {equal}: {:?}",
                self.equal,
                self.numbers.len(),
                self.numbers.first()
            )
        })
    }
}

impl Set {
    pub fn read(path: &Path) -> Set {
        let text = std::fs::read_to_string(path).unwrap();
        toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published").join(name)
}

impl Value {
    pub fn numbers(&self) -> Vec<Printed> {
        self.printed.split_whitespace().map(Printed::of).collect()
    }

    pub fn find(&self) -> Found {
        let printed = self.numbers();
        let program = match self.program() {
            Ok(program) => program,
            Err(why) => {
                return Found { verdict: Verdict::NotReproduced, numbers: vec![], equal: 0, refused: Some(why) };
            }
        };
        let arguments = self.arguments(&program);
        let mode: Mode = self.mode.parse().unwrap();
        let results =
            subject::evaluate(&program, &mode, &arguments).unwrap_or_else(|error| panic!("{}: {error}", self.what));
        let digits = match results[self.result].dtype() {
            _ if self.rounded || self.measure != Measure::Elements => Digits::Rounded,
            DType::F32 => Digits::UniqueF32,
            _ => Digits::Unique,
        };
        let truth = if self.truth.is_empty() { program.clone() } else { of_text(&self.truth, &self.what).unwrap() };
        let exact = || exact(&truth, &arguments).swap_remove(self.result);
        let (numbers, deviation) = self.measured(&results, &exact);
        assert_eq!(numbers.len(), printed.len(), "{}: numbers that were printed", self.what);
        let pairs = || printed.iter().zip(&numbers);
        let equal = pairs().filter(|(printed, got)| printed.holds(**got, digits)).count();
        let is_interval = printed.iter().any(|printed| matches!(printed, Printed::Interval(..)));
        let bounded = || match &self.bound {
            Some(bound) if bound == "explore" => {
                self.explore().is_ok_and(|found| found.outside == 0 && found.unknown == 0)
            }
            Some(mode) if !self.is_array() => {
                let worst = subject::evaluate(&program, &mode.parse().unwrap(), &arguments).unwrap();
                let (most, _) = self.measured(&worst, &exact);
                printed.iter().zip(most).all(|(printed, most)| printed.number() <= most)
            }
            Some(mode) => {
                let worst = subject::evaluate(&program, &mode.parse().unwrap(), &arguments).unwrap();
                let (worst, exact) = (worst[self.result].data().to_f64s(), exact());
                let errors = printed.iter().map(Printed::number).zip(worst).zip(exact);
                errors.into_iter().all(|((printed, worst), exact)| (printed - exact).abs() <= (worst - exact).abs())
            }
            None => deviation > 0.0 && pairs().all(|(printed, got)| (printed.number() - got).abs() <= deviation),
        };
        let verdict = match equal == numbers.len() {
            true if is_interval => Verdict::Inside,
            true => Verdict::Equal,
            false if bounded() => Verdict::Inside,
            false => Verdict::NotReproduced,
        };
        Found { verdict, numbers, equal, refused: None }
    }

    /// The numbers of which the source printed some, and the deviation of these that is chance.
    fn measured(&self, results: &[Tensor], exact: &impl Fn() -> Vec<f64>) -> (Vec<f64>, f64) {
        let got = results[self.result].data().to_f64s();
        match self.measure {
            Measure::Elements => (got, 0.0),
            Measure::MeanDifference => (vec![mean(&differences(results))], 0.0),
            Measure::MeanOfHalf => {
                let halves: Vec<f64> = differences(results).iter().map(|difference| difference / 2.0).collect();
                (vec![mean(&halves)], ERRORS * standard_error(&halves))
            }
            Measure::Errors => {
                let pairs = || {
                    got.iter().zip(exact()).map(|(got, exact)| ((got - exact).abs(), exact.abs())).collect::<Vec<_>>()
                };
                let (errors, largest) = (pairs(), |values: Vec<f64>| values.into_iter().fold(0.0, f64::max));
                let wrong = errors.iter().filter(|(error, _)| *error != 0.0).count();
                let relative = errors.iter().map(|(error, exact)| error / exact).collect();
                (vec![wrong as f64, largest(errors.iter().map(|(error, _)| *error).collect()), largest(relative)], 0.0)
            }
            Measure::LargestError => {
                let errors = got.iter().zip(exact()).map(|(got, exact)| (got - exact).abs());
                (vec![errors.fold(0.0, f64::max)], 0.0)
            }
            Measure::ShareOfLargest => {
                let exact = exact();
                let errors = got.iter().zip(&exact).map(|(got, exact)| (got - exact).abs());
                let largest = exact.iter().map(|exact| exact.abs()).fold(0.0, f64::max);
                (vec![errors.fold(0.0, f64::max) / largest], 0.0)
            }
            Measure::LargestUlps => {
                let distances = got.iter().zip(exact()).map(|(got, exact)| place(*got).abs_diff(place(exact)));
                (vec![distances.max().unwrap_or(0) as f64], 0.0)
            }
            Measure::HalvesOfUlps => {
                let format = results[self.result].dtype().format().unwrap();
                let most = got.iter().zip(exact()).map(|(got, exact)| ulps(format, *got, exact)).fold(0.25, f64::max);
                (vec![(2.0 * most).ceil() / 2.0], 0.0)
            }
        }
    }

    /// Whether elements of one result were printed, and no figure made of several.
    pub fn is_array(&self) -> bool {
        self.measure == Measure::Elements
    }

    /// The printed elements against what `explore` permits of the program, functions as the chip's included.
    ///
    /// # Errors
    /// The reason why it cannot be asked.
    pub fn explore(&self) -> Result<Explored, String> {
        let program = self.program()?;
        let mode = self.mode.parse().map_err(|error| format!("{error}"))?;
        let settings = Settings { families: families_of_results().collect(), ..Settings::new(mode) };
        let (_, enclosed) =
            enclose(&program, &self.arguments(&program), &settings).map_err(|error| error.to_string())?;
        let range = |text: &str| match text.split_once("..") {
            Some((low, high)) => [low, high].map(|end| end.parse().unwrap()),
            None => printed_range(text).unwrap(),
        };
        let printed: Vec<[f64; 2]> = self.printed.split_whitespace().map(range).collect();
        assert_eq!(printed.len(), enclosed[self.result].elements(), "{}", self.what);
        let found = outside_of_printed(&enclosed[self.result..=self.result], &[printed]).remove(0);
        Ok(Explored { outside: found.elements.len(), unknown: found.unknown })
    }

    fn program(&self) -> Result<Program, String> {
        let text = match self.file.as_str() {
            "" => self.program.clone(),
            file => std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap(),
        };
        of_text(&text, &self.what)
    }

    fn arguments(&self, program: &Program) -> Vec<Tensor> {
        let of_program = Argument::of_program(program);
        let drawn = |at: usize, text: &str| {
            let spec: InputSpec = text.parse().unwrap();
            let key = InputKey { suite: "published".to_string(), input: spec.to_string(), n: at as u64, seed: 0 };
            let argument = std::slice::from_ref(&of_program[at]);
            let rows = 0..argument[0].rows() as u64;
            generate(&spec, &key, argument, rows).unwrap().swap_remove(0)
        };
        let of = |(at, text): (usize, &String)| match text.split_once(':') {
            Some((file, name)) => safetensors::read_one(&here(file), name).unwrap(),
            None if text.contains("] ") => literal(text),
            None => match text.split_once(" + ") {
                Some((offset, spec)) => moved(&drawn(at, spec), offset.parse().unwrap()),
                None => drawn(at, text),
            },
        };
        self.arguments.iter().enumerate().map(of).collect()
    }
}

/// The program of an HLO text.
fn of_text(text: &str, what: &str) -> Result<Program, String> {
    let module = parse(text).unwrap_or_else(|error| panic!("{what}: {error}"));
    lower(&module).map(|import| import.program).map_err(|error| error.to_string())
}

/// The distance of a result from the exact number in units in the last place, subnormals being zeros (JAX's `_ulp_diff_jax`).
fn ulps(format: &Format, got: f64, exact: f64) -> f64 {
    let tiny = format.min_normal();
    let quantum = tiny / 2f64.powi(format.fraction_bits as i32);
    let power = |magnitude: f64| 2f64.powi(magnitude.max(tiny).log2().floor() as i32);
    let overflows = exact.abs()
        >= 2.0 * power(format.max_finite()) - power(format.max_finite()) / 2f64.powi(format.fraction_bits as i32 + 1);
    if got.is_nan() || exact.is_nan() {
        return if got.is_nan() && exact.is_nan() { 0.0 } else { f64::INFINITY };
    }
    if got.is_infinite() || overflows {
        let agrees = got.is_infinite() && overflows && (got > 0.0) == (exact > 0.0);
        return if agrees { 0.0 } else { f64::INFINITY };
    }
    let contracted = |v: f64| (v.abs() - (tiny - quantum)).max(0.0).copysign(v);
    let (is_normal, is_zero) = (|v: f64| v.abs() >= tiny, |v: f64| v.abs() < tiny);
    let difference = match (is_zero(got) && is_zero(exact), is_normal(got) && is_normal(exact)) {
        (true, _) => 0.0,
        (_, true) if (got > 0.0) == (exact > 0.0) => got - exact,
        _ => contracted(got) - contracted(exact),
    };
    difference.abs() / (power(exact.abs()) / 2f64.powi(format.fraction_bits as i32))
}

/// Numbers of f64 with another one added to each.
fn moved(drawn: &Tensor, offset: f64) -> Tensor {
    Tensor::new(drawn.dims(), Data::F64(drawn.data().to_f64s().iter().map(|number| offset + number).collect()))
}

/// `f32[2,2] 1 2 3 4`.
fn literal(text: &str) -> Tensor {
    let (shape, numbers) = text.split_once("] ").unwrap();
    let (dtype, dims) = shape.split_once('[').unwrap();
    let dims: Vec<usize> = dims.split(',').filter(|dim| !dim.is_empty()).map(|dim| dim.parse().unwrap()).collect();
    if let Some(left_out) = numbers.strip_prefix("codes but 0x") {
        let left_out = u16::from_str_radix(left_out, 16).unwrap();
        let codes = (0..=u16::MAX).map(|code| bf16::from_bits(if code == left_out { 0 } else { code }));
        return Tensor::new(&dims, Data::BF16(codes.collect()));
    }
    let numbers: Vec<&str> = numbers.split_whitespace().collect();
    let data = match dtype {
        // Each is rounded once, from its digits.
        "f32" => Data::F32(numbers.iter().map(|number| number.parse().unwrap()).collect()),
        "f64" => Data::F64(numbers.iter().map(|number| number.parse().unwrap()).collect()),
        "s32" => Data::S32(numbers.iter().map(|number| number.parse().unwrap()).collect()),
        other => panic!("no literal of {other}"),
    };
    assert_eq!(data.len(), dims.iter().product::<usize>(), "{text}");
    Tensor::new(&dims, data)
}

/// The position of the f32 next to a number among all of them.
fn place(number: f64) -> i64 {
    let code = (number as f32).to_bits();
    let magnitude = i64::from(code & !(1 << 31));
    if code >> 31 == 1 { -magnitude } else { magnitude }
}

/// The results over the real numbers.
fn exact(program: &Program, arguments: &[Tensor]) -> Vec<Vec<f64>> {
    let demands = vec![Demand::Rounded; program.outputs().len()];
    let truth = Oracle::default().evaluate(program, arguments, &demands).unwrap();
    let real = |truth: TruthTensor| match truth {
        TruthTensor::Float(float) => float.rounded,
        _ => panic!("errors are those of floats"),
    };
    truth.outputs.into_iter().map(real).collect()
}

/// |a - b| of the first half of the results and the second, in order; where results are odd in number the last one is that of all
/// devices, against each of the others.
fn differences(results: &[Tensor]) -> Vec<f64> {
    let all = |results: &[Tensor]| results.iter().flat_map(|result| result.data().to_f64s()).collect::<Vec<f64>>();
    let (first, second) = match results {
        [own @ .., of_all] if own.len() % 2 == 0 => (all(own), all(&vec![of_all.clone(); own.len()])),
        _ => (all(&results[..results.len() / 2]), all(&results[results.len() / 2..])),
    };
    first.iter().zip(second).map(|(a, b)| (a - b).abs()).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn standard_error(values: &[f64]) -> f64 {
    let middle = mean(values);
    let squares = values.iter().map(|value| (value - middle).powi(2)).sum::<f64>();
    (squares / (values.len() - 1) as f64 / values.len() as f64).sqrt()
}
