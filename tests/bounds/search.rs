//! A search for results that conform and are found all the same: random programs over the operations that `bound`
//! knows, in random modes, over inputs at the edges of their formats.

use super::bench::Bench;
use ulpgate::check::{Judgement, Outcome};
use ulpgate::ir::{Binary, Builder, Op, Precision, Program, ShapeError, Unary, ValueId};
use ulpgate::machine::mxu::Accumulation;
use ulpgate::machine::vector::SumOrder;
use ulpgate::machine::{CHIPS, Mode, PRECISIONS, REFINEMENTS};
use ulpgate::num;
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::tensor::{DType, Data, Tensor};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    fn exponent(&mut self, low: i32, high: i32) -> f64 {
        num::exp2i(low + self.below((high - low + 1) as usize) as i32)
    }
}

/// The kind of numbers that a program's inputs are.
#[derive(Clone, Copy, PartialEq)]
enum Flavour {
    /// Around 1, with ties of narrower formats.
    Moderate,
    /// Magnitudes far apart.
    Wide,
    /// Around and below the smallest normal number.
    Tiny,
    /// Pairs that nearly cancel.
    Cancelling,
    /// With infinities and NaNs.
    Special,
}

const FLAVOURS: [Flavour; 8] = [
    Flavour::Moderate,
    Flavour::Moderate,
    Flavour::Wide,
    Flavour::Wide,
    Flavour::Tiny,
    Flavour::Cancelling,
    Flavour::Cancelling,
    Flavour::Special,
];

/// One number: a zero, a neighbour of a power of two, a tie of bf16 or beside one, or any of its magnitude.
fn number(random: &mut Random, flavour: Flavour, dtype: DType) -> f64 {
    let magnitude = match (flavour, dtype) {
        (Flavour::Wide, DType::F16) => random.exponent(-20, 5),
        (Flavour::Wide, _) => random.exponent(-110, 25),
        (Flavour::Tiny, DType::F16) => random.exponent(-24, -10),
        (Flavour::Tiny, _) => random.exponent(-149, -118),
        _ => random.exponent(-3, 1),
    };
    let place = num::exp2i(-(if random.below(2) == 0 { 8 } else { 23 }));
    let fraction = match random.below(8) {
        0 => 0.0,
        1 => place,
        2 => 1.0 - place,
        3 => (random.below(128) as f64 + 0.5) / 128.0 + (random.below(3) as f64 - 1.0) * num::exp2i(-23),
        _ => random.unit(),
    };
    let sign = if random.below(2) == 0 { 1.0 } else { -1.0 };
    match random.below(40) {
        0 => 0.0 * sign,
        1 if flavour == Flavour::Special => f64::INFINITY * sign,
        2 if flavour == Flavour::Special => f64::NAN,
        3 if flavour == Flavour::Wide && dtype != DType::F16 => sign * num::exp2i(-140),
        _ => sign * magnitude * (1.0 + fraction),
    }
}

fn numbers(random: &mut Random, flavour: Flavour, dtype: DType, dims: [usize; 2]) -> Tensor {
    let mut values: Vec<f64> = (0..dims[0] * dims[1]).map(|_| number(random, flavour, dtype)).collect();
    if flavour == Flavour::Cancelling {
        for pair in values.chunks_mut(2) {
            if let [a, b] = pair {
                *b = -*a * (1.0 + (random.below(5) as f64 - 2.0) * num::exp2i(-23));
            }
        }
    }
    Tensor::new(&dims, Data::from_f64s(dtype, &values).unwrap())
}

/// A program in a mode.
struct Case {
    program: Program,
    mode: Mode,
    arguments: Vec<Tensor>,
    finite: bool,
    /// Whether a sum starts elsewhere than at zero.
    has_init: bool,
}

fn mode(random: &mut Random) -> Mode {
    let (chip, precision) = (random.of(CHIPS).name, PRECISIONS[random.below(PRECISIONS.len())].name);
    let kept = |key: &str| matches!(key, "acc" | "split" | "dsr" | "exp" | "reduce" | "scan" | "narrow");
    let mut refinements = Vec::new();
    for row in REFINEMENTS.iter().filter(|row| kept(row.key)) {
        if random.below(3) == 0 {
            refinements.push(format!("{}={}", row.key, random.of(&(row.values)(ulpgate::machine::CHIPS)).0));
        }
    }
    Mode::new(chip, precision, "off", &refinements.join("+")).unwrap()
}

const DTYPES: [DType; 6] = [DType::F32, DType::F32, DType::F32, DType::BF16, DType::BF16, DType::F16];

impl Case {
    fn new(seed: u64) -> Case {
        let random = &mut Random(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mode = mode(random);
        let (flavour, dtype) = (random.of(&FLAVOURS), random.of(&DTYPES));
        let width = match random.below(8) {
            0 => 1 + random.below(3),
            1 => 100 + random.below(300),
            _ => 8 + random.below(60),
        };
        let dims = [1 + random.below(4), width];
        let arguments: Vec<Tensor> = (0..2).map(|_| numbers(random, flavour, dtype, dims)).collect();
        let mut made =
            Making { b: Builder::new("search"), pool: Vec::new(), all: Vec::new(), has_init: false, dtype, dims };
        let root = made.body(random, flavour).unwrap();
        let outputs: Vec<(&str, ValueId)> =
            std::iter::once(("result", root)).chain(made.all.iter().map(|id| ("step", *id))).collect();
        let program = made.b.finish(&outputs).unwrap();
        // A TPU has no f64.
        let mode = if program.double.is_some() { "cpu/f32/off".parse().unwrap() } else { mode };
        Case { program, mode, arguments, finite: flavour != Flavour::Special, has_init: made.has_init }
    }

    fn bench(&self) -> Bench<'_> {
        Bench { program: &self.program, mode: self.mode.clone(), arguments: &self.arguments }
    }

    /// Whether a step has an infinity or NaN that its truth has not. That is a finding, and not what is searched for.
    fn leaves_the_range(&self, got: &[Tensor]) -> bool {
        let finite = |t: &Tensor, i: usize| t.data().get_f64(i).is_finite();
        if got.iter().all(|t| (0..t.len()).all(|i| finite(t, i))) {
            return false;
        }
        let demands = vec![Demand::Rounded; got.len()];
        let truth = Oracle::default().evaluate(&self.program, &self.arguments, &demands).unwrap();
        let left = |(t, truth): (&Tensor, &TruthTensor)| match truth {
            TruthTensor::Float(truth) => (0..t.len()).any(|i| truth.rounded[i].is_finite() && !finite(t, i)),
            _ => false,
        };
        got.iter().zip(&truth.outputs).any(left)
    }

    /// The modes whose results this mode's bound covers: orders with shorter chains.
    fn covered(&self) -> Vec<Mode> {
        let mut modes = vec![self.mode.clone()];
        if self.mode.choices.reduce == SumOrder::Chain {
            let orders = if self.has_init { &[SumOrder::Lanes][..] } else { &[SumOrder::Lanes, SumOrder::Tree32] };
            modes.extend(orders.iter().map(|order| {
                let mut mode = self.mode.clone();
                mode.choices.reduce = *order;
                mode
            }));
        }
        if self.mode.matrix_unit().accumulation == Accumulation::Chain {
            modes.extend([Accumulation::Block, Accumulation::Pairwise, Accumulation::Exact].map(|order| {
                let mut mode = self.mode.clone();
                mode.choices.acc = order;
                mode
            }));
        }
        modes
    }
}

/// A program in the making: values of one type and shape to choose from, and all values.
struct Making {
    b: Builder,
    pool: Vec<ValueId>,
    all: Vec<ValueId>,
    has_init: bool,
    dtype: DType,
    dims: [usize; 2],
}

type Made = Result<ValueId, ShapeError>;

impl Making {
    fn body(&mut self, random: &mut Random, flavour: Flavour) -> Made {
        for name in ["x", "y"] {
            let id = self.b.parameter(name, self.dtype, &self.dims)?;
            self.pool.push(id);
        }
        for _ in 0..random.below(4) {
            let id = self.step(random, flavour)?;
            self.pool.push(id);
            self.all.push(id);
        }
        let (x, y) = (random.of(&self.pool), random.of(&self.pool));
        let root = match random.below(7) {
            0 | 1 => self.step(random, flavour)?,
            2 | 3 => self.reduced(random, x)?,
            // A row over its own sum, as softmax has it.
            4 => {
                let weights = self.b.unary(Unary::Abs, x)?;
                let sum = self.b.reduce(Binary::Add, weights, 0.0, &[1])?;
                let sum = self.b.broadcast(sum, &self.dims, &[0])?;
                self.all.extend([weights, sum]);
                self.b.binary(Binary::Divide, y, sum)?
            }
            kind => {
                let precision = random.of(&[Precision::Default, Precision::High, Precision::Highest]);
                let turned = self.b.op(Op::Transpose { permutation: vec![1, 0] }, &[y])?;
                let out = random.of(&[DType::F32, self.dtype]);
                let dot = self.b.matmul(x, turned, precision, out)?;
                if kind == 5 {
                    return Ok(dot);
                }
                // The result is an operand of the next dot.
                let square = self.b.convert(dot, self.dtype)?;
                self.all.extend([dot, square]);
                self.b.matmul(square, x, precision, DType::F32)?
            }
        };
        self.all.push(root);
        Ok(match random.below(5) {
            0 => self.b.convert(root, random.of(&[DType::BF16, DType::F16, DType::F32]))?,
            _ => root,
        })
    }

    fn step(&mut self, random: &mut Random, flavour: Flavour) -> Made {
        let (x, y) = (random.of(&self.pool), random.of(&self.pool));
        let b = &mut self.b;
        match random.below(14) {
            0 => b.unary(Unary::Negate, x),
            1 => b.unary(Unary::Abs, x),
            2 => b.unary(Unary::Exponential, x),
            3 => {
                let size = b.unary(Unary::Abs, x)?;
                let below = b.unary(Unary::Negate, size)?;
                b.unary(Unary::Exponential, below)
            }
            4 | 5 => b.binary(Binary::Add, x, y),
            6 => b.binary(Binary::Subtract, x, y),
            7 | 8 => b.binary(Binary::Multiply, x, y),
            9 => b.binary(Binary::Divide, x, y),
            10 => {
                let by = number(random, flavour, self.dtype);
                let by = b.constant(self.dtype, if by == 0.0 || by.is_nan() { 3.0 } else { by })?;
                let by = b.splat(by, &self.dims)?;
                b.binary(random.of(&[Binary::Divide, Binary::Multiply]), x, by)
            }
            11 => b.binary(random.of(&[Binary::Maximum, Binary::Minimum]), x, y),
            12 => {
                let through = b.convert(x, random.of(&[DType::BF16, DType::F16, DType::F32, DType::F64]))?;
                b.convert(through, self.dtype)
            }
            _ => {
                let (exponent_bits, mantissa_bits) = random.of(&[(8, 7), (5, 10), (8, 3), (8, 23), (6, 4)]);
                b.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[x])
            }
        }
    }

    fn reduced(&mut self, random: &mut Random, x: ValueId) -> Made {
        let op = random.of(&[Binary::Add, Binary::Add, Binary::Maximum, Binary::Minimum]);
        let init = match (op, random.below(2)) {
            (Binary::Add, 0) => 0.0,
            (Binary::Maximum, 0) => f64::NEG_INFINITY,
            (Binary::Minimum, 0) => f64::INFINITY,
            _ => (random.unit() - 0.5) * random.exponent(-20, 3),
        };
        self.has_init |= op == Binary::Add && init != 0.0;
        self.b.reduce(op, x, init, &[1])
    }
}

fn figure(judged: &Judgement, name: &str) -> Option<f64> {
    judged.figures.iter().find(|(figure, _)| *figure == name).map(|(_, value)| *value)
}

/// The outcomes of the cases of some seeds.
#[derive(Debug, Default)]
struct Found {
    /// Elements inside their bounds.
    elements: usize,
    /// Elements without a bound, and of programs that left the range of a format.
    refused: usize,
    overflowed: usize,
    /// Elements of results of which the oracle leaves one open.
    undecided: usize,
    /// Results that come within a tenth of their bound.
    tight: usize,
    findings: Vec<String>,
}

impl Found {
    fn search(&mut self, seed: u64) {
        let case = Case::new(seed);
        for mode in case.covered() {
            let got = Bench { mode: mode.clone(), ..case.bench() }.run();
            let elements = got[0].len();
            if case.leaves_the_range(&got) {
                self.overflowed += elements;
                continue;
            }
            let judged = case.bench().judge(&got);
            match judged.outcome {
                Outcome::Pass => {
                    self.elements += elements;
                    self.tight += usize::from(figure(&judged, "error_over_bound").is_some_and(|ratio| ratio > 0.9));
                }
                Outcome::Abstain => self.refused += elements,
                Outcome::Undecided => self.undecided += elements,
                Outcome::Finding => self.findings.push(format!(
                    "seed {seed}, {mode} by the bound of {}: {} {:?}\n{}",
                    case.mode, judged.note, judged.evidence, case.program
                )),
            }
        }
    }
}

fn searched(seeds: std::ops::Range<u64>, elements: usize) -> Found {
    let mut found = Found::default();
    for seed in seeds {
        found.search(seed);
        if found.elements >= elements {
            break;
        }
    }
    println!(
        "{} elements inside their bounds, {} results tight; {} without a bound, {} out of range, {} undecided; \
         {} findings",
        found.elements,
        found.tight,
        found.refused,
        found.overflowed,
        found.undecided,
        found.findings.len()
    );
    found
}

#[test]
fn what_conforms_is_no_finding() {
    let found = searched(0..6_000, usize::MAX);
    assert!(found.findings.is_empty(), "{}", found.findings[..found.findings.len().min(5)].join("\n"));
    // A bound that allows anything, or says nothing, would find nothing.
    assert!(found.elements > 5 * (found.refused + found.overflowed) / 2 && found.tight > 500, "{found:?}");
}

/// `cargo test --release --test bound_search -- --ignored --nocapture`
#[test]
#[ignore = "minutes"]
fn ten_million_elements_conform() {
    let found = searched(1 << 32..2 << 32, 10_000_000);
    assert!(found.findings.is_empty(), "{}", found.findings.join("\n"));
}

/// The result with every element passed through a function.
fn changed(tensor: &Tensor, each: impl Fn(usize, f64) -> f64) -> Tensor {
    let values: Vec<f64> = (0..tensor.len()).map(|i| each(i, tensor.data().get_f64(i))).collect();
    Tensor::new(tensor.dims(), Data::from_f64s(tensor.dtype(), &values).unwrap())
}

/// A NaN or an infinity in a result that comes near its bound.
#[test]
fn planted_nans_and_infinities_are_found() {
    let mut planted = 0;
    for seed in 0..3_000 {
        let case = Case::new(seed);
        let got = &case.bench().run()[0];
        let judged = case.bench().judge(std::slice::from_ref(got));
        let near = judged.outcome == Outcome::Pass && figure(&judged, "error_over_bound").is_some_and(|r| r > 0.9);
        if !near || !case.finite {
            continue;
        }
        let at = seed as usize % got.len();
        for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let wrong = changed(got, |i, v| if i == at { wrong } else { v });
            assert_eq!(case.bench().judge(&[wrong]).outcome, Outcome::Finding, "seed {seed}\n{}", case.program);
            planted += 1;
        }
    }
    assert!(planted > 500, "only {planted}");
}

/// Results that are rounded once are held to that: one rounding more, to a bit less than the type has, is found.
#[test]
fn planted_roundings_are_found() {
    let random = &mut Random(7);
    let dims = [1, 200];
    for text in ["cpu/f32/off", "v6e/default/off", "xla-cpu/f32/off"] {
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            for op in [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide] {
                let mut b = Builder::new("rounded");
                let parameters = ["x", "y"].map(|name| b.parameter(name, dtype, &dims).unwrap());
                let root = b.binary(op, parameters[0], parameters[1]).unwrap();
                let program = b.finish(&[("result", root)]).unwrap();
                let arguments =
                    [0, 1].map(|_| changed(&numbers(random, Flavour::Moderate, dtype, dims), |_, v| v + 0.1));
                let bench = Bench { program: &program, mode: text.parse().unwrap(), arguments: &arguments };
                let got = bench.run();
                let judged = bench.judge(&got);
                assert!(
                    figure(&judged, "error_over_bound").is_some_and(|r| r > 0.8),
                    "{text} {dtype} {op:?}: {judged:?}"
                );
                let format = dtype.format().unwrap();
                let shorter = num::Format { fraction_bits: format.fraction_bits - 1, ..*format };
                let planted = changed(&got[0], |_, v| num::round_f64(&shorter, v, num::Direction::NearestEven));
                assert_eq!(bench.judge(&[planted]).outcome, Outcome::Finding, "{text} {dtype} {op:?}");
            }
        }
    }
}

/// A sum without its largest term, and a dot without its largest product.
#[test]
fn dropped_terms_are_found() {
    let random = &mut Random(9);
    for text in
        ["v5e/highest/off", "cpu/f32/off", "xla-cpu/f32/off", "v6e/f32/off+reduce=chain", "v5e/highest/off+dsr=off"]
    {
        for dtype in [DType::F32, DType::BF16, DType::F16] {
            let dims = [1, 40];
            let x = numbers(random, Flavour::Moderate, dtype, dims);
            let sizes: Vec<f64> = x.data().to_f64s().iter().map(|v| v.abs()).collect();
            let largest = (0..40).max_by(|a, b| sizes[*a].total_cmp(&sizes[*b])).unwrap();
            let without = changed(&x, |i, v| if i == largest { 0.0 } else { v });
            let program = |dot: bool| {
                let mut b = Builder::new("terms");
                let x = b.parameter("x", dtype, &dims).unwrap();
                let root = if dot {
                    let turned = b.op(Op::Transpose { permutation: vec![1, 0] }, &[x]).unwrap();
                    b.matmul(x, turned, Precision::Default, DType::F32).unwrap()
                } else {
                    let wide = b.convert(x, DType::F32).unwrap();
                    b.reduce(Binary::Add, wide, 0.5, &[1]).unwrap()
                };
                b.finish(&[("result", root)]).unwrap()
            };
            for program in [program(false), program(true)] {
                let mode: Mode = text.parse().unwrap();
                let [arguments, dropped] = [[x.clone()], [without.clone()]];
                let got = Bench { program: &program, mode: mode.clone(), arguments: &dropped }.run();
                let judged = Bench { program: &program, mode, arguments: &arguments }.judge(&got);
                assert_eq!(judged.outcome, Outcome::Finding, "{text} {dtype}\n{program}");
            }
        }
    }
}
