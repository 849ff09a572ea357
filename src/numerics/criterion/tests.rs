//! Honest runs and planted faults.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::*;
use crate::machine::mxu::{Accumulation, Passes, matmul};
use crate::machine::{DotSite, Mode};
use crate::mode::and_compiled;
use crate::num::{BF16, Direction, F32, exp2i, round_f64};
use crate::stat::clopper_pearson;
use crate::tensor::DType;

/// Operands of a product, its outputs' truths, and all of them.
struct Drawn {
    lhs: Vec<f64>,
    rhs: Vec<f64>,
    sizes: [usize; 3],
    truth: Vec<f64>,
}

/// A distribution of operands.
#[derive(Clone, Copy, Debug)]
enum Of {
    Normal,
    Positive,
    Spread,
}

impl Drawn {
    fn new(seed: u64, of: Of, dtype: DType, sizes: [usize; 3]) -> Drawn {
        let [m, k, n] = sizes;
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let format = if dtype == DType::BF16 { &BF16 } else { &F32 };
        let mut draw = |count: usize| -> Vec<f64> {
            let mut one = || {
                let [u, v, w]: [f64; 3] = [rng.random(), rng.random(), rng.random()];
                let normal = (-2.0 * (1.0 - u).ln()).sqrt() * (std::f64::consts::TAU * v).cos();
                let value = match of {
                    Of::Normal => normal,
                    Of::Positive => u,
                    Of::Spread => normal * (6.0 * w).exp2(),
                };
                round_f64(format, value, Direction::NearestEven)
            };
            (0..count).map(|_| one()).collect()
        };
        let (lhs, rhs) = (draw(m * k), draw(k * n));
        let truth = product(&lhs, &rhs, sizes, |_, _| 1.0);
        Drawn { lhs, rhs, sizes, truth }
    }

    fn dots(&self) -> Dots<'_> {
        Dots::new(&self.lhs, &self.rhs, self.sizes, (0..self.truth.len()).collect()).unwrap()
    }

    /// The emulated machine's results.
    fn run(&self, mode: &str, dtype: DType) -> Vec<f64> {
        let mode: Mode = mode.parse().unwrap();
        let passes = match mode.dot(&DotSite::as_written([Some(dtype); 2], self.sizes)) {
            crate::machine::DotUnit::Matrix(passes) => passes,
            other => panic!("{other:?}"),
        };
        self.run_on(&mode.matrix_unit(), passes)
    }

    fn run_on(&self, unit: &crate::machine::mxu::Unit, passes: Passes) -> Vec<f64> {
        let narrow = |values: &[f64]| values.iter().map(|v| *v as f32).collect::<Vec<_>>();
        let mut out = vec![0.0; self.truth.len()];
        matmul(&narrow(&self.lhs), &narrow(&self.rhs), self.sizes, passes, unit, &mut out);
        out.into_iter().map(f64::from).collect()
    }

    fn arithmetic(&self, mode: &str, dtype: DType) -> DotArithmetic {
        let mode: Mode = mode.parse().unwrap();
        DotArithmetic::of_mode(&mode, &DotSite::as_written([Some(dtype); 2], self.sizes), &F32).unwrap()
    }

    fn honest(&self, mode: &str, dtype: DType) -> Honest {
        Honest::of_dots(&self.arithmetic(mode, dtype), &self.dots())
    }

    fn decide(&self, honest: &Honest, computed: &[f64]) -> Decision {
        let observed = Observation { computed, truth: &self.truth, format: &F32 };
        Criterion::DEFAULT.decide(honest, &observed, Some(&self.dots())).unwrap()
    }
}

/// The product with a weight for each place in K and output, in f64.
fn product(lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3], weight: impl Fn(usize, usize) -> f64) -> Vec<f64> {
    let dot =
        |i: usize, j: usize| (0..k).map(|at| weight(at, i * n + j) * lhs[i * k + at] * rhs[at * n + j]).sum::<f64>();
    (0..m * n).map(|output| dot(output / n, output % n)).collect()
}

const MODES: [(&str, DType); 8] = [
    ("v5e/default/off", DType::F32),
    ("v6e/default/off", DType::F32),
    ("v5e/high/off", DType::F32),
    ("v5e/highest/off", DType::F32),
    ("v5e/default/off", DType::BF16),
    ("cpu/f32/off", DType::F32),
    ("v5e/f32/off+acc=pairwise", DType::F32),
    ("v5e/f32/off", DType::F32),
];

/// The rates of false alarms that honest runs are held to: two at which some may show, and that of [`Criterion::DEFAULT`].
const RATES: [f64; 3] = [0.1, 0.01, 1e-6];

/// Honest runs of one mode on operands of one distribution.
struct Calibration {
    runs: u64,
    /// The runs that are called outside, at each of [`RATES`].
    alarms: [u64; 3],
    /// The runs that are called more accurate, at the last of them.
    upgrades: u64,
    /// The largest statistic of any run over its limit, at the last of them.
    excess: f64,
    /// The means of z^2 and of z over all runs.
    mean_square: f64,
    mean: f64,
}

impl Calibration {
    fn new(mode: &str, dtype: DType, of: Of, runs: u64) -> Calibration {
        let criteria = RATES.map(|rate| Criterion::new(rate).unwrap());
        let one = |seed: u64| {
            let drawn = Drawn::new(seed, of, dtype, [4, 256, 16]);
            let honest = drawn.honest(mode, dtype);
            let computed = drawn.run(mode, dtype);
            let observed = Observation { computed: &computed, truth: &drawn.truth, format: &F32 };
            let dots = drawn.dots();
            let [often, seldom, hardly] =
                criteria.map(|criterion| criterion.decide(&honest, &observed, Some(&dots)).unwrap());
            let is_outside = [&often, &seldom, &hardly].map(|found| u64::from(found.standing == Standing::Outside));
            let Statistics { mean_square, mean, .. } = hardly.statistics;
            let upgrade = u64::from(hardly.standing == Standing::MoreAccurate);
            (is_outside, upgrade, hardly.excess, mean_square, mean)
        };
        let found: Vec<_> = (0..runs).into_par_iter().map(one).collect();
        let share = |sum: f64| sum / runs as f64;
        Calibration {
            runs,
            alarms: [0, 1, 2].map(|rate| found.iter().map(|(alarms, ..)| alarms[rate]).sum()),
            upgrades: found.iter().map(|(_, upgrade, ..)| upgrade).sum(),
            excess: found.iter().map(|(_, _, excess, ..)| *excess).fold(0.0, f64::max),
            mean_square: share(found.iter().map(|(_, _, _, square, _)| square).sum()),
            mean: share(found.iter().map(|(.., mean)| mean).sum()),
        }
    }

    /// A row of the table.
    fn row(&self, mode: &str, dtype: DType, of: Of) -> String {
        let Calibration { alarms: [often, seldom, hardly], upgrades, excess, mean_square, mean, .. } = self;
        format!(
            "| {mode} {} | {of:?} | {often} | {seldom} | {hardly} | {upgrades} | {excess:.2} | {mean_square:.3} | {mean:+.3} |",
            dtype.name()
        )
    }

    /// No rate is exceeded: the Clopper-Pearson interval of each share of alarms, at 1 - 10^-6, reaches below it.
    fn check(&self, case: &str) {
        for (alarms, rate) in self.alarms.into_iter().zip(RATES) {
            let interval = clopper_pearson(alarms, self.runs, 1.0 - 1e-6).unwrap();
            assert!(interval.low <= rate, "{case}: {alarms} of {} at a rate of {rate}", self.runs);
        }
        assert!((0.75..1.25).contains(&self.mean_square), "{case}: mean z^2 {}", self.mean_square);
    }
}

/// Holds so many honest runs of each mode to the rates; prints a row for each.
fn calibrate(runs: u64, print: bool) {
    let compiled: Vec<String> = and_compiled(&[], "f32/off");
    let compiled = compiled.iter().map(|mode| (mode.as_str(), DType::F32));
    for (mode, dtype) in MODES.into_iter().chain(compiled) {
        for of in [Of::Normal, Of::Positive, Of::Spread] {
            let found = Calibration::new(mode, dtype, of, runs);
            if print {
                println!("{}", found.row(mode, dtype, of));
            }
            found.check(&format!("{mode} {} {of:?}", dtype.name()));
        }
    }
}

#[test]
fn honest_runs_are_seldom_outside() {
    calibrate(6, false);
}

/// The table of docs/proofs/bounds.md by distribution: 10^4 runs of each, or as many as `ULPGATE_HONEST_RUNS` says.
#[test]
#[ignore = "10^4 runs a mode: minutes"]
fn ten_thousand_honest_runs_a_mode() {
    let runs = std::env::var("ULPGATE_HONEST_RUNS").map_or(10_000, |runs| runs.parse().unwrap());
    println!(
        "| mode | operands | outside at 0.1 | at 0.01 | at 1e-6 | more accurate | largest over its limit | mean z^2 | mean z |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    calibrate(runs, true);
}

/// High parts are powers of two, and two after each other cancel: their pass is exact, and the others make the whole error.
#[test]
fn the_error_of_passes_of_low_parts_is_foreseen() {
    for mode in ["v5e/high/off", "v5e/highest/off"] {
        let (mut squares, mut outputs) = (0.0, 0);
        for seed in 0..12 {
            let sizes = [4, 256, 16];
            let Drawn { lhs, rhs, .. } = Drawn::new(seed, Of::Positive, DType::F32, sizes);
            let near_one = |u: &f64| round_f64(&F32, 1.0 + u * exp2i(-8), Direction::NearestEven);
            let lhs: Vec<f64> = lhs.iter().map(near_one).collect();
            let turned = |(at, v): (usize, &f64)| {
                let pair = (at / 16 / 2 % 12) as i32;
                near_one(v) * exp2i(-pair) * if at / 16 % 2 == 0 { 1.0 } else { -1.0 }
            };
            let rhs: Vec<f64> = rhs.iter().enumerate().map(turned).collect();
            let drawn = Drawn { truth: product(&lhs, &rhs, sizes, |_, _| 1.0), lhs, rhs, sizes };
            let found = drawn.decide(&drawn.honest(mode, DType::F32), &drawn.run(mode, DType::F32));
            assert_eq!(found.standing, Standing::Conforms, "{mode} {seed}: {:?}", found.reasons);
            squares += found.statistics.mean_square * found.statistics.outputs as f64;
            outputs += found.statistics.outputs;
        }
        let mean_square = squares / outputs as f64;
        assert!(outputs == 12 * 64 && (0.7..1.4).contains(&mean_square), "{mode}: {outputs} outputs, {mean_square}");
    }
}

/// The run of 10^4 in which an output's pass of high parts loses nothing by chance.
#[test]
fn a_run_whose_high_parts_add_exactly_is_honest() {
    let mode = "v5e/highest/off";
    let drawn = Drawn::new(2994, Of::Normal, DType::F32, [4, 256, 16]);
    let found = drawn.decide(&drawn.honest(mode, DType::F32), &drawn.run(mode, DType::F32));
    assert_eq!(found.standing, Standing::Conforms, "{:?}", found.reasons);
    assert!(found.excess < 1.0);
}

/// A dropped product, a factor, a doubled product, and fewer passes.
#[test]
fn planted_faults_are_outside_and_named() {
    for (mode, dtype, k) in [
        ("v5e/default/off", DType::F32, 1024),
        ("v5e/highest/off", DType::F32, 1024),
        ("v5e/default/off", DType::BF16, 300),
        ("cpu/f32/off", DType::F32, 4096),
    ] {
        for of in [Of::Normal, Of::Positive] {
            let drawn = Drawn::new(7, of, dtype, [4, k, 16]);
            let honest = drawn.honest(mode, dtype);
            let computed = drawn.run(mode, dtype);
            let own = drawn.decide(&honest, &computed);
            assert_eq!(own.standing, Standing::Conforms, "{mode} {of:?}: {:?}", own.reasons);
            assert!((0.5..2.0).contains(&own.error_ratio), "{mode} {of:?}: {}", own.error_ratio);
            let scaled: Vec<f64> =
                computed.iter().map(|y| round_f64(&F32, y * 1.001, Direction::NearestEven)).collect();
            let found = drawn.decide(&honest, &scaled);
            assert_eq!(found.standing, Standing::Outside, "{mode} {of:?}");
            let factor = found.reasons.iter().find_map(|reason| match reason {
                Reason::Scale { factor, .. } => Some(*factor),
                _ => None,
            });
            assert!((factor.unwrap_or(0.0) - 1.001).abs() < 1e-5, "{mode} {of:?}: {:?}", found.reasons);
            for times in [0.0, 2.0] {
                let weight = |at: usize, _: usize| if at == 200 { times - 1.0 } else { 0.0 };
                let change = product(&drawn.lhs, &drawn.rhs, drawn.sizes, weight);
                let faulty: Vec<f64> = computed.iter().zip(change).map(|(y, c)| f64::from((y + c) as f32)).collect();
                let found = drawn.decide(&honest, &faulty);
                assert_eq!(found.standing, Standing::Outside, "{mode} {of:?}");
                let worst = found.reasons.iter().find_map(|reason| match reason {
                    Reason::Products { worst, .. } => Some(*worst),
                    _ => None,
                });
                let worst = worst.unwrap();
                assert_eq!(worst.place, 200, "{mode} {of:?}");
                assert!((worst.times - (times - 1.0)).abs() < 0.05, "{mode} {of:?}: {worst:?}");
            }
        }
    }
}

#[test]
fn fewer_passes_are_outside_and_more_are_an_upgrade() {
    let modes = ["v5e/default/off", "v5e/high/off", "v5e/highest/off"];
    let drawn = Drawn::new(3, Of::Normal, DType::F32, [8, 512, 32]);
    for (declared, name) in modes.iter().enumerate() {
        let honest = drawn.honest(name, DType::F32);
        for (run, mode) in modes.iter().enumerate() {
            let computed = drawn.run(mode, DType::F32);
            let found = drawn.decide(&honest, &computed);
            let expected = match run.cmp(&declared) {
                std::cmp::Ordering::Less => Standing::Outside,
                std::cmp::Ordering::Equal => Standing::Conforms,
                std::cmp::Ordering::Greater => Standing::MoreAccurate,
            };
            assert_eq!(found.standing, expected, "{mode} as {name}: {:?}", found.reasons);
        }
        let rounded: Vec<f64> = drawn.truth.iter().map(|t| f64::from(*t as f32)).collect();
        assert_eq!(drawn.decide(&honest, &rounded).standing, Standing::MoreAccurate, "{name}");
    }
}

/// Other orders and splits are permitted, whatever the mode's own are; a factor is not.
#[test]
fn other_orders_and_splits_conform() {
    use crate::machine::mxu::Split;
    let drawn = Drawn::new(5, Of::Normal, DType::F32, [4, 1024, 32]);
    let dots = drawn.dots();
    for name in ["v5e/default/off", "v5e/high/off", "v5e/highest/off", "v5e/f32/off"] {
        let arithmetic = drawn.arithmetic(name, DType::F32);
        let permitted: Vec<Honest> = arithmetic.alternatives().iter().map(|a| Honest::of_dots(a, &dots)).collect();
        let mode: Mode = name.parse().unwrap();
        for accumulation in [Accumulation::Chain, Accumulation::Pairwise, Accumulation::Block] {
            for split in Split::ALL {
                let unit = crate::machine::mxu::Unit { accumulation, split: *split, ..mode.matrix_unit() };
                let computed = drawn.run_on(&unit, arithmetic.passes);
                let decide = |computed: &[f64]| {
                    let observed = Observation { computed, truth: &drawn.truth, format: &F32 };
                    Criterion::DEFAULT.decide_any(&permitted, &observed, Some(&dots), None).unwrap()
                };
                let found = decide(&computed);
                assert!(found.standing.is_accepted(), "{name} {accumulation:?} {split:?}: {:?}", found.reasons);
                let scaled: Vec<f64> = computed.iter().map(|y| f64::from((y * 1.001) as f32)).collect();
                assert_eq!(decide(&scaled).standing, Standing::Outside, "{name} {accumulation:?} {split:?}");
            }
        }
    }
}

/// The least fault that is said to be told apart is, in 99 of 100 inputs; a tenth of it is not.
#[test]
fn the_least_detectable_factor_is_told_apart() {
    let (mode, runs) = ("v5e/default/off", 60);
    let mut found = [0, 0];
    for seed in 0..runs {
        let drawn = Drawn::new(1000 + seed, Of::Normal, DType::F32, [4, 128, 16]);
        let (honest, computed) = (drawn.honest(mode, DType::F32), drawn.run(mode, DType::F32));
        let dots = drawn.dots();
        let least = Criterion::DEFAULT.minimum_detectable(&honest, &drawn.truth, &F32, Some(&dots), &[]).unwrap();
        let least = least.scale.unwrap();
        for (found, factor) in found.iter_mut().zip([1.0, 0.1]) {
            let scaled: Vec<f64> = computed.iter().map(|y| y * (1.0 + factor * least)).collect();
            *found += u64::from(drawn.decide(&honest, &scaled).standing == Standing::Outside);
        }
    }
    assert!(found[0] >= runs - 4 && found[1] <= runs / 4, "{found:?} of {runs}");
}

#[test]
fn what_is_not_distinguishable_is_said_to_be() {
    let drawn = Drawn::new(9, Of::Positive, DType::F32, [2, 8192, 4]);
    let dots = drawn.dots();
    let [highest, high] =
        ["highest", "high"].map(|p| drawn.arithmetic(&format!("v5e/{p}/off+acc=chain+split=rne"), DType::F32));
    let least = |honest: &DotArithmetic, other: &DotArithmetic| {
        let honest = Honest::of_dots(honest, &dots);
        let others = std::slice::from_ref(other);
        Criterion::DEFAULT.minimum_detectable(&honest, &drawn.truth, &F32, Some(&dots), others).unwrap()
    };
    // Operands of one sign: accumulation in one chain errs more than the passes that three leave out.
    let said = least(&highest, &high);
    assert!(!said.others[0].1, "{said}");
    assert!(said.to_string().ends_with("three bf16 passes (rne), f32 additions in one chain: not distinguishable"));
    let one = drawn.arithmetic("v5e/default/off", DType::F32);
    assert!(least(&highest, &one).others[0].1);
    assert_eq!(said.dropped, Some(1));
}

/// Errors that are no dot's: honest runs are the yardstick.
#[test]
fn measured_errors_are_a_yardstick_too() {
    let drawn = Drawn::new(11, Of::Normal, DType::F32, [16, 256, 32]);
    let errors_of = |computed: &[f64]| -> Vec<f64> { computed.iter().zip(&drawn.truth).map(|(y, t)| y - t).collect() };
    let own = drawn.run("v5e/default/off", DType::F32);
    let honest = Honest::of_errors("v5e/default/off as measured", &[&errors_of(&own)], &drawn.truth).unwrap();
    let decide = |computed: &[f64]| {
        let observed = Observation { computed, truth: &drawn.truth, format: &F32 };
        Criterion::DEFAULT.decide(&honest, &observed, None).unwrap()
    };
    assert_eq!(decide(&own).standing, Standing::Conforms);
    assert_eq!(decide(&drawn.run("v5e/default/off+acc=chain", DType::F32)).standing, Standing::Conforms);
    assert_eq!(decide(&drawn.run("v5e/highest/off", DType::F32)).standing, Standing::MoreAccurate);
    let scaled: Vec<f64> = own.iter().map(|y| y * 1.01).collect();
    assert_eq!(decide(&scaled).standing, Standing::Outside);
    let mut one = own.clone();
    one[17] += 1.0;
    assert!(matches!(decide(&one).reasons[0], Reason::Element { at: 17, .. }));
    assert!(Honest::of_errors("none", &[], &drawn.truth).is_none());
    assert!(Honest::of_errors("short", &[&[1.0]], &drawn.truth).is_none());
}

/// Equal terms are rounded alike: no statistics hold for their errors, and the mode's own results say so.
#[test]
fn errors_that_are_not_random_are_not_judged() {
    let k = 4096;
    let (lhs, rhs) = (vec![f64::from(0.1f32); 4 * k], vec![1.0; k * 4]);
    let sizes = [4, k, 4];
    let truth = vec![f64::from(0.1f32) * k as f64; 16];
    let drawn = Drawn { lhs, rhs, sizes, truth };
    let honest = drawn.honest("cpu/f32/off", DType::F32);
    let own = drawn.run("cpu/f32/off", DType::F32);
    let off: Vec<f64> = own.iter().map(|y| y + 0.01).collect();
    let observed = Observation { computed: &off, truth: &drawn.truth, format: &F32 };
    let criterion = Criterion::DEFAULT;
    let found = criterion.decide_any(std::slice::from_ref(&honest), &observed, None, Some(&own)).unwrap();
    assert_eq!(found.standing, Standing::Unknown);
    assert!(matches!(found.reasons[0], Reason::NotRandom(_)));
    assert_eq!(criterion.decide_any(&[honest], &observed, None, None).unwrap().standing, Standing::Outside);
}

#[test]
fn values_that_no_honest_result_has_are_outside() {
    let drawn = Drawn::new(2, Of::Normal, DType::F32, [2, 64, 8]);
    let honest = drawn.honest("cpu/f32/off", DType::F32);
    let mut computed = drawn.run("cpu/f32/off", DType::F32);
    computed[3] = f64::NAN;
    assert_eq!(drawn.decide(&honest, &computed).reasons[0], Reason::Impossible { first: 3, count: 1 });
    let short = Observation { computed: &computed[1..], truth: &drawn.truth, format: &F32 };
    let refused = Criterion::DEFAULT.decide(&honest, &short, None).unwrap_err();
    assert!(refused.to_string().starts_with("there are 15 results, 16 truths"), "{refused}");
    assert!(Criterion::new(0.0).is_err() && Criterion::new(1.0).is_err());
    let none = Honest { known: vec![], deviation: vec![], magnitude: vec![], ..honest };
    let nothing = Observation { computed: &[], truth: &[], format: &F32 };
    assert_eq!(Criterion::DEFAULT.decide(&none, &nothing, None).unwrap().standing, Standing::Unknown);
    // Small integers are summed exactly: only the exact result is honest.
    let (lhs, rhs) = (vec![1.0, 2.0, 3.0, 4.0], vec![5.0, 6.0]);
    let whole = Drawn { truth: product(&lhs, &rhs, [2, 2, 1], |_, _| 1.0), lhs, rhs, sizes: [2, 2, 1] };
    let honest = whole.honest("cpu/f32/off", DType::F32);
    assert_eq!(whole.decide(&honest, &[17.0, 39.0]).standing, Standing::Conforms);
    assert_eq!(whole.decide(&honest, &[17.0, 39.000004]).standing, Standing::Outside);
}

/// A result that overflowed the other way is no honest one; a truth beyond the format's range is the infinity of its own sign.
#[test]
fn an_infinity_of_the_other_sign_is_impossible() {
    let honest = Honest {
        name: "any".to_string(),
        known: vec![0.0; 2],
        deviation: vec![1.0; 2],
        magnitude: vec![1.0; 2],
        latitude: Latitude::OF_DOTS,
    };
    let places = |computed: [f64; 2], truth: [f64; 2]| {
        let observed = Observation { computed: &computed, truth: &truth, format: &F32 };
        Criterion::DEFAULT.decide(&honest, &observed, None).unwrap().statistics.impossible
    };
    let [up, down] = [f64::INFINITY, f64::NEG_INFINITY];
    assert_eq!(places([up, down], [1e39, -1e39]), [0usize; 0]);
    assert_eq!(places([down, up], [1e39, -1e39]), [0, 1]);
    assert_eq!(places([up, down], [3e38, -3e38]), [0, 1], "f32 holds these");
}

/// Six tests share the rate: one output may err by the root of `2 ln(2 / 1e-6 * 6)` standard deviations, 5.7097, at one millionth, where one
/// test alone would allow 5.3868; times the root of 1.2 for the model (docs/proofs/bounds.md).
#[test]
fn tests_share_the_false_alarm_rate() {
    let limits = Criterion::DEFAULT.limits(&Latitude::OF_DOTS, 1, 1).unwrap();
    assert!((limits.element / 1.2f64.sqrt() - 5.7097).abs() < 1e-4, "{}", limits.element / 1.2f64.sqrt());
}

/// The smallest factor is twice the unit roundoff where results are known to the last bit: it moves each of them, and half of it leaves 1 where
/// it is, a tie of which 1 is the even side.
#[test]
fn a_factor_shows_in_results_without_an_error_from_two_units_on() {
    use crate::num::{BF16, Direction, F16, round_f64};
    for (format, least) in [(&F32, 2f64.powi(-23)), (&F16, 2f64.powi(-10)), (&BF16, 2f64.powi(-7))] {
        let truth: Vec<f64> = (0..64).map(|at| 1.0 + f64::from(at) / 64.0).collect();
        let zeros = vec![0.0; truth.len()];
        let (known, deviation, magnitude) = (zeros.clone(), zeros, vec![1.0; truth.len()]);
        let honest = Honest { name: "exact".to_string(), known, deviation, magnitude, latitude: Latitude::OF_DOTS };
        let said = Criterion::DEFAULT.minimum_detectable(&honest, &truth, format, None, &[]).unwrap();
        assert_eq!((said.scale, said.dropped), (Some(least), None), "{}", format.name);
        let scaled = |value: f64, by: f64| round_f64(format, value * (1.0 + by), Direction::NearestEven);
        assert!(truth.iter().all(|value| scaled(*value, least) != *value), "{}", format.name);
        assert_eq!(scaled(1.0, least / 2.0), 1.0, "{}", format.name);
        // Nothing scales zeros.
        let said = Criterion::DEFAULT.minimum_detectable(&honest, &vec![0.0; truth.len()], format, None, &[]).unwrap();
        assert_eq!(said.scale, None, "{}", format.name);
    }
}
