mod cancellation;
mod limits;
mod periodic;
mod powers;

use std::cmp::Ordering;

use rug::Float;
use rug::float::Round;

use super::super::interval::Interval;
use super::{
    Pair, Tables, add, compare, cosine, div, erf, exp, expm1, log, log1p, logistic, mul, power, power_of_two, rsqrt,
    sine, sqrt, sum, tanh,
};

const PRECISION: u32 = 300;

/// Steele, Lea and Flood's SplitMix64.
struct SplitMix64(u64);

impl SplitMix64 {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// In [0, 1).
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * power_of_two(-53)
    }

    /// A number of either sign and any exponent from `low` to `high`.
    fn scaled(&mut self, low: i64, high: i64) -> f64 {
        let exponent = low + (self.bits() % (high - low + 1) as u64) as i64;
        let sign = if self.bits() & 1 == 0 { 1.0 } else { -1.0 };
        sign * (1.0 + self.unit()) * power_of_two(exponent)
    }

    /// A pair around `hi`: an f64 at times, exact at times, with an error at times.
    fn around(&mut self, hi: f64) -> Pair {
        let ulp = (hi.abs().next_up() - hi.abs()).max(f64::from_bits(4));
        let lo = if self.bits().is_multiple_of(3) { 0.0 } else { (self.unit() - 0.5) * 0.999 * ulp };
        let error = if self.bits().is_multiple_of(2) { 0.0 } else { ulp * power_of_two(-50) * self.unit() };
        // Normalised: hi is the nearest f64.
        Pair { hi, lo: if hi + lo == hi { lo } else { 0.0 }, error }
    }
}

fn center(x: Pair) -> Float {
    Float::with_val(2200, x.hi) + x.lo
}

/// The three values that a pair may stand for: its centre and both ends.
fn candidates(x: Pair) -> [Float; 3] {
    [center(x), center(x) - x.error, center(x) + x.error]
}

struct Unary {
    name: &'static str,
    pair: fn(Pair, &Tables) -> Pair,
    truth: fn(Float) -> Float,
    /// The proven relative error for an exact argument, beside an absolute one.
    proven: f64,
    absolute: f64,
    /// Exponents of the arguments.
    exponents: (i64, i64),
    positive: bool,
}

const FUNCTIONS: [Unary; 11] = [
    Unary {
        name: "exp",
        pair: exp,
        truth: Float::exp,
        proven: 99.9,
        absolute: 0.0,
        exponents: (-60, 9),
        positive: false,
    },
    Unary {
        name: "expm1",
        pair: expm1,
        truth: Float::exp_m1,
        proven: 88.0,
        absolute: 0.0,
        exponents: (-300, 9),
        positive: false,
    },
    Unary {
        name: "log",
        pair: log,
        truth: Float::ln,
        proven: 97.9,
        absolute: 0.0,
        exponents: (-890, 890),
        positive: true,
    },
    Unary {
        name: "log1p",
        pair: log1p,
        truth: Float::ln_1p,
        proven: 95.5,
        absolute: 0.0,
        exponents: (-300, 890),
        positive: false,
    },
    Unary {
        name: "tanh",
        pair: tanh,
        truth: Float::tanh,
        proven: 87.0,
        absolute: 0.0,
        exponents: (-300, 12),
        positive: false,
    },
    Unary {
        name: "logistic",
        pair: logistic,
        truth: sigmoid,
        proven: 97.0,
        absolute: 0.0,
        exponents: (-60, 12),
        positive: false,
    },
    Unary {
        name: "sqrt",
        pair: |x, _| sqrt(x),
        truth: Float::sqrt,
        proven: 102.9,
        absolute: 0.0,
        exponents: (-890, 890),
        positive: true,
    },
    Unary {
        name: "rsqrt",
        pair: |x, _| rsqrt(x),
        truth: Float::recip_sqrt,
        proven: 100.0,
        absolute: 0.0,
        exponents: (-890, 890),
        positive: true,
    },
    Unary {
        name: "sine",
        pair: sine,
        truth: Float::sin,
        proven: 99.9,
        absolute: REDUCTION,
        exponents: (-300, 18),
        positive: false,
    },
    Unary {
        name: "cosine",
        pair: cosine,
        truth: Float::cos,
        proven: 99.9,
        absolute: REDUCTION,
        exponents: (-300, 18),
        positive: false,
    },
    Unary {
        name: "erf",
        pair: erf,
        truth: Float::erf,
        proven: 100.9,
        absolute: 0.0,
        exponents: (-300, 12),
        positive: false,
    },
];

const REDUCTION: f64 = power_of_two(-111) * (1.0 + power_of_two(-40));

fn sigmoid(x: Float) -> Float {
    1u32 / ((-x).exp() + 1u32)
}

/// Arguments of a function: `draws` spread over its exponents, as many of moderate size, and dense ones around 1, 0 and the
/// ends of its regular domain.
fn arguments(function: &Unary, draws: usize) -> Vec<Pair> {
    let mut random = SplitMix64(function.name.len() as u64 + 77);
    let (low, high) = function.exponents;
    let mut points: Vec<f64> = (0..draws).map(|_| random.scaled(low, high)).collect();
    points.extend((0..draws).map(|_| random.scaled(-12, 8)));
    points.extend((0..2_000).map(|_| 1.0 + random.scaled(-52, -4)));
    points.extend((0..400).flat_map(|i| [1.0 + f64::from(i) * f64::EPSILON, 1.0 - f64::from(i) * f64::EPSILON / 2.0]));
    // Around multiples of ln 2 / 256 and their halves, where the reduced argument is smallest and largest.
    points.extend((-2000..2000).map(|i| f64::from(i) * std::f64::consts::LN_2 / 512.0));
    points.extend((0..2000).map(|i| 680.0 + f64::from(i) * 0.017));
    points.extend((0..2000).map(|i| f64::from(i) * 0.25));
    // Multiples of pi / 512, zeros and extremes among them, and halves between the points of the error function's table.
    points.extend((-2000..2000).map(|i| f64::from(i) * std::f64::consts::PI / 512.0));
    points.extend((0..640).flat_map(|i| [f64::from(i) / 64.0, (f64::from(i) / 64.0).next_down()]));
    // Cell edges of the logarithm's table.
    points.extend((0..=512).flat_map(|i| {
        let edge = 0.5 + f64::from(i) / 512.0;
        [edge.next_down(), edge, edge.next_up()]
    }));
    points.extend([f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 0.0, f64::INFINITY, f64::NAN, 1.0, 709.0, 690.0]);
    let signed = points.iter().flat_map(|x| if function.positive { vec![x.abs()] } else { vec![*x, -*x] });
    signed.map(|hi| random.around(hi)).collect()
}

/// A test of its own for each function.
macro_rules! within_bounds {
    ($($test:ident = $name:literal;)*) => {$(
        #[test]
        fn $test() {
            stays_within_its_bounds(FUNCTIONS.iter().find(|f| f.name == $name).unwrap(), 10_000);
        }
    )*};
}

within_bounds! {
    exp_stays_within_its_bounds = "exp";
    expm1_stays_within_its_bounds = "expm1";
    log_stays_within_its_bounds = "log";
    log1p_stays_within_its_bounds = "log1p";
    tanh_stays_within_its_bounds = "tanh";
    logistic_stays_within_its_bounds = "logistic";
    sqrt_stays_within_its_bounds = "sqrt";
    rsqrt_stays_within_its_bounds = "rsqrt";
    sine_stays_within_its_bounds = "sine";
    cosine_stays_within_its_bounds = "cosine";
    erf_stays_within_its_bounds = "erf";
}

/// Ten times as many arguments: `cargo test -p ulpgate-oracle -- --ignored --nocapture at_many_arguments`.
#[test]
#[ignore = "a minute: MPFR's functions of three million arguments"]
fn functions_stay_within_their_bounds_at_many_arguments() {
    for function in &FUNCTIONS {
        stays_within_its_bounds(function, 100_000);
    }
}

fn stays_within_its_bounds(function: &Unary, draws: usize) {
    let (mut regular, mut worst, mut widest) = (0, 0.0f64, 0.0f64);
    for x in arguments(function, draws) {
        let y = (function.pair)(x, &Tables::ready());
        if y.is_irregular() {
            continue;
        }
        regular += 1;
        assert!(y.hi + y.lo == y.hi && y.error >= 0.0, "{}({x:?}) = {y:?}", function.name);
        // The centre of an exact argument is all that it may stand for.
        let different = if x.error == 0.0 { 1 } else { 3 };
        for (i, argument) in candidates(x).into_iter().take(different).enumerate() {
            let real = (function.truth)(Float::with_val(PRECISION, argument));
            let off = (center(y) - &real).abs();
            assert!(off <= y.error, "{}({x:?}) = {y:?} is off by {off:e}", function.name);
            if x.error == 0.0 && i == 0 && real.to_f64().abs() > 1e-290 {
                worst = worst.max((off / real.clone().abs()).to_f64());
                let relative = (y.error - function.absolute).max(0.0);
                widest = widest.max((relative / real.abs()).to_f64());
            }
        }
    }
    let bits = |v: f64| if v == 0.0 { 0.0 } else { -Float::with_val(53, v).log2().to_f64() };
    println!("{}: {regular} regular, measured 2^-{:.1}, proven 2^-{:.1}", function.name, bits(worst), bits(widest));
    assert!(regular >= 5 * draws / 3, "{}: only {regular} regular arguments", function.name);
    assert!(bits(widest) >= function.proven, "{}: 2^-{}", function.name, bits(widest));
}

struct Binary {
    name: &'static str,
    pair: fn(Pair, Pair) -> Pair,
    truth: fn(&Float, &Float) -> Float,
}

const OPERATIONS: [Binary; 3] = [
    Binary { name: "add", pair: add, truth: |x, y| Float::with_val(2300, x + y) },
    Binary { name: "mul", pair: mul, truth: |x, y| Float::with_val(4500, x * y) },
    Binary { name: "div", pair: div, truth: |x, y| Float::with_val(4500, x / y) },
];

#[test]
fn operations_stay_within_their_bounds() {
    operations_stay_within(20_000);
}

#[test]
#[ignore = "half a minute: exact operations on many numbers"]
fn operations_stay_within_their_bounds_at_many_arguments() {
    operations_stay_within(500_000);
}

fn operations_stay_within(draws: usize) {
    for Binary { name, pair, truth } in OPERATIONS {
        let mut random = SplitMix64(name.len() as u64 + 5);
        let mut regular = 0;
        for i in 0..draws {
            let (low, high) = if i % 2 == 0 { (-4, 4) } else { (-880, 880) };
            let hi = random.scaled(low, high);
            let x = random.around(hi);
            let hi = if i % 3 == 0 { -hi.next_up() } else { random.scaled(low, high) };
            let y = random.around(hi);
            let z = pair(x, y);
            if z.is_irregular() {
                continue;
            }
            regular += 1;
            assert!(z.hi + z.lo == z.hi && z.error >= 0.0, "{name}({x:?}, {y:?}) = {z:?}");
            for (a, b) in candidates(x).iter().zip(&candidates(y)).chain([(&candidates(x)[1], &candidates(y)[2])]) {
                let off = (center(z) - truth(a, b)).abs();
                assert!(off <= z.error, "{name}({x:?}, {y:?}) = {z:?} is off by {off:e}");
            }
        }
        assert!(regular > draws * 8 / 13, "{name}: only {regular} regular operands");
    }
}

/// A result that is an f64 comes out exact, so that a tie is a tie. Zero, infinite and NaN operands are left to the
/// intervals.
#[test]
fn exact_results_are_exact_and_special_ones_irregular() {
    let exact = |x: Pair, value: f64| assert_eq!((x.as_exact(), x.error), (Some(value), 0.0));
    for i in 1..2000 {
        let x = Pair::exact(f64::from(i));
        exact(div(x, Pair::exact(1.0)), f64::from(i));
        exact(sqrt(mul(x, x)), f64::from(i));
        exact(div(mul(x, Pair::exact(3.0)), Pair::exact(3.0)), f64::from(i));
        exact(add(x, Pair::exact(0.5)), f64::from(i) + 0.5);
        exact(rsqrt(Pair::exact(power_of_two(-2 * (i as i64 % 200)))), power_of_two(i as i64 % 200));
        assert!(div(x, Pair::exact(4099.0)).error > 0.0);
        assert!(sqrt(add(mul(x, x), Pair::exact(1.0))).error > 0.0);
    }
    let tables = Tables::ready();
    for special in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300, 1e-300] {
        let x = Pair::exact(special);
        for result in
            [div(Pair::exact(1.0), x), div(x, Pair::exact(1.0)), mul(x, Pair::exact(1.0)), sqrt(x), log(x, &tables)]
        {
            assert!(result.is_irregular(), "{special}");
        }
    }
    assert!(exp(Pair::exact(0.0), &tables).is_irregular() && log(Pair::exact(1.0), &tables).is_irregular());
    for function in FUNCTIONS {
        assert!((function.pair)(Pair::UNKNOWN, &Tables::ready()).is_irregular(), "{}", function.name);
        assert!((function.pair)(Pair::exact(f64::NAN), &Tables::ready()).is_irregular(), "{}", function.name);
    }
}

/// Rounding is decided only where both ends agree: within 2^-90 of the middle of two f64 numbers it is not, unless exact.
#[test]
fn rounding_is_decided_only_when_certain() {
    let mut random = SplitMix64(3);
    for _ in 0..20_000 {
        let hi = random.scaled(-700, 700);
        let half = 0.5 * (hi.abs().next_up() - hi.abs());
        // Exactly a tie: to even.
        let tie = Pair { hi, lo: half, error: 0.0 };
        assert_eq!(tie.round_or_nan(), hi + half);
        let below = half * (1.0 - power_of_two(-36));
        let wide = Pair { hi, lo: below, error: half * power_of_two(-35) };
        assert!(wide.round_or_nan().is_nan());
        let narrow = Pair { hi, lo: below, error: half * power_of_two(-37) };
        assert_eq!(narrow.round_or_nan(), hi);
        for side in [-1.0, 1.0] {
            let end = Float::with_val(2200, hi) + below + side * narrow.error;
            assert_eq!(end.to_f64_round(Round::Nearest), hi);
        }
    }
    assert_eq!(Pair::exact(-0.0).round_or_nan().to_bits(), (-0.0f64).to_bits());
    assert!(Pair { hi: 0.0, lo: 0.0, error: f64::from_bits(1) }.round_or_nan().is_nan());
    assert!(Pair::UNKNOWN.round_or_nan().is_nan());
}

#[test]
fn intervals_enclose_and_comparisons_are_proven() {
    let mut random = SplitMix64(9);
    for _ in 0..20_000 {
        let hi = random.scaled(-700, 700);
        let (x, y) = (random.around(hi), random.around(hi));
        let interval = x.interval();
        let ends = candidates(x);
        assert!(ends.iter().all(|v| *v >= interval.lo && *v <= interval.hi), "{x:?} {interval:?}");
        let back = Pair::from_interval(interval);
        for end in [interval.lo, interval.hi] {
            assert!((center(back) - end).abs() <= back.error);
        }
        let wide = Interval { lo: hi.min(hi * 1.3), hi: hi.max(hi * 1.3) };
        let pair = Pair::from_interval(wide);
        assert!([wide.lo, wide.hi].iter().all(|end| (center(pair) - end).abs() <= pair.error));
        if let Some(ordering) = compare(x, y) {
            for a in candidates(x) {
                for b in candidates(y) {
                    assert_eq!(a.partial_cmp(&b), Some(ordering), "{x:?} {y:?}");
                }
            }
        } else {
            assert!(x.error + y.error > 0.0);
        }
    }
    assert_eq!(compare(Pair::exact(0.0), Pair::exact(-0.0)), Some(Ordering::Equal));
    assert_eq!(compare(Pair::exact(f64::NEG_INFINITY), Pair { hi: 1.0, lo: 0.0, error: 0.5 }), Some(Ordering::Less));
    assert_eq!(compare(Pair::UNKNOWN, Pair::exact(f64::INFINITY)), None);
}

#[test]
fn sums_stay_within_their_bounds() {
    let mut random = SplitMix64(1);
    for (round, length) in [1, 2, 15, 16, 17, 64, 65, 1000, 4096, 100_000].into_iter().cycle().take(60).enumerate() {
        let spread = if round % 2 == 0 { 3 } else { 60 };
        let terms: Vec<Pair> = (0..length)
            .map(|_| {
                let hi = random.scaled(-spread, spread);
                // Cancellation, in a third of them.
                random.around(if round % 3 == 0 { hi } else { hi.abs() })
            })
            .collect();
        let total = sum(terms.len(), |start, out| {
            *out = [[0.0; 64]; 3];
            for (i, x) in terms[start..].iter().take(64).enumerate() {
                (out[0][i], out[1][i], out[2][i]) = (x.hi, x.lo, x.error);
            }
        });
        assert!(!total.is_irregular() && total.hi + total.lo == total.hi);
        for side in [-1.0, 0.0, 1.0] {
            let mut real = Float::with_val(2200, 0);
            terms.iter().for_each(|x| real += Float::with_val(2200, x.hi) + x.lo + side * x.error);
            let off = (center(total) - real).abs();
            assert!(off <= total.error, "{length} terms: {total:?} is off by {off:e}");
        }
        let carried: f64 = terms.iter().map(|x| x.error).sum();
        if round % 3 != 0 {
            assert!(total.error <= carried * 1.001 + total.hi * power_of_two(-102), "{length} terms: {total:?}");
        }
    }
    let exact: Vec<f64> = (0..1000).map(f64::from).collect();
    let total = sum(1000, |start, out| {
        *out = [[0.0; 64]; 3];
        exact[start..].iter().take(64).enumerate().for_each(|(i, v)| out[0][i] = *v);
    });
    assert_eq!(total.as_exact(), Some(499_500.0));
}

/// The error of a result that is not exact is that of its proof, no less and hardly more, for operands with errors and
/// without.
#[test]
fn errors_are_those_of_the_proofs() {
    let (mut random, tables) = (SplitMix64(21), Tables::ready());
    let u2 = |bits: i64| power_of_two(-bits);
    for i in 0..4_000 {
        let (hi_x, hi_y) = (random.scaled(-5, 5).abs(), random.scaled(-5, 5));
        let inexact = |random: &mut SplitMix64, hi: f64| Pair { lo: hi * u2(55), ..random.around(hi) };
        let (x, y) = (inexact(&mut random, hi_x), inexact(&mut random, hi_y));
        // Errors that swallow the rounding, or that it swallows.
        let widen = |x: Pair, part: f64| Pair { error: x.hi.abs() * part, ..x };
        let (x, y) = match i % 4 {
            0 => (Pair { error: 0.0, ..x }, Pair { error: 0.0, ..y }),
            1 => (widen(x, u2(30)), Pair { error: 0.0, ..y }),
            2 => (Pair { error: 0.0, ..x }, widen(y, u2(25))),
            _ => (widen(x, u2(98)), widen(y, u2(97))),
        };
        let (dx, dy, size_x, size_y) = (x.error, y.error, x.hi.abs(), y.hi.abs());
        let held = |name: &str, got: Pair, proven: f64| {
            assert!(!got.is_irregular(), "{name}({x:?}, {y:?})");
            assert!(got.error >= proven, "{name}({x:?}, {y:?}) claims {:e} of {proven:e}", got.error);
            assert!(got.error <= proven * (1.0 + u2(13)), "{name}({x:?}, {y:?}) gives {:e} for {proven:e}", got.error);
        };
        let sum = add(x, y);
        held("add", sum, dx + dy + sum.hi.abs() * u2(104));
        let product = mul(x, y);
        held("mul", product, size_x * dy + size_y * dx + dx * dy + product.hi.abs() * u2(103));
        let quotient = div(x, y);
        held("div", quotient, (dx + quotient.hi.abs() * dy) / size_y + quotient.hi.abs() * u2(101));
        let root = sqrt(x);
        held("sqrt", root, dx / root.hi + root.hi * u2(103));
        let natural = exp(x, &tables);
        held("exp", natural, natural.hi * (u2(100) + dx));
        let logarithm = log(x, &tables);
        held("log", logarithm, dx / size_x + logarithm.hi.abs() * u2(98));
        let reduction = if size_x > std::f64::consts::PI / 512.0 { u2(111) } else { 0.0 };
        for (name, wave) in [("sine", sine(x, &tables)), ("cosine", cosine(x, &tables))] {
            held(name, wave, dx + wave.hi.abs() * u2(100) + reduction);
        }
        let near_one = erf(x, &tables);
        if size_x < 9.0 {
            held("erf", near_one, dx * std::f64::consts::FRAC_2_SQRT_PI + near_one.hi * u2(101));
        }
        let raised = power(x, y, &tables);
        let exponent = (y.hi * logarithm.hi).abs();
        let carried = y.hi.abs() * (dx / size_x + logarithm.hi.abs() * u2(98)) + logarithm.hi.abs() * dy;
        if exponent < 600.0 && carried < u2(21) {
            held("power", raised, raised.hi * (u2(100) + carried + dy * (dx / size_x) + exponent * u2(103)));
        }
    }
}

/// An operand may be off by less than 2^-20 of itself: from there on second-order terms are no longer covered.
#[test]
fn operands_that_are_hardly_known_are_irregular() {
    let (tables, one) = (Tables::ready(), Pair::exact(1.0));
    for hi in [1.5, -3.25, 0.1, 700.0] {
        let off = |error: f64| Pair { hi, lo: 0.0, error };
        let limit = hi.abs() * power_of_two(-20);
        assert!(div(one, off(limit)).is_irregular() && !div(one, off(limit.next_down())).is_irregular(), "{hi}");
        if hi > 0.0 {
            assert!(sqrt(off(limit)).is_irregular() && !sqrt(off(limit.next_down())).is_irregular(), "{hi}");
            assert!(log(off(limit), &tables).is_irregular() && !log(off(limit.next_down()), &tables).is_irregular());
        }
        let limit = power_of_two(-20);
        if hi < 600.0 {
            assert!(exp(off(limit), &tables).is_irregular() && !exp(off(limit.next_down()), &tables).is_irregular());
        }
    }
}

/// The sum of f64 terms that all fall into one lane.
fn sum_in_one_lane(terms: &[Pair]) -> Pair {
    sum(16 * terms.len(), |start, out| {
        *out = [[0.0; 64]; 3];
        for (i, x) in terms[start / 16..].iter().take(4).enumerate() {
            (out[0][16 * i], out[1][16 * i], out[2][16 * i]) = (x.hi, x.lo, x.error);
        }
    })
}

/// Terms far below two others, which cancel: what is left is nothing but the roundings of the third part.
#[test]
fn sums_count_the_roundings_of_their_low_part() {
    let mut random = SplitMix64(31);
    let large = [1.0, power_of_two(-60) * (1.0 + f64::EPSILON)];
    let mut terms: Vec<f64> = large.to_vec();
    terms.extend((0..1000).map(|_| random.scaled(-126, -124)));
    terms.extend(large.map(|x| -x));
    let mut real = Float::with_val(2200, 0);
    terms.iter().for_each(|x| real += *x);
    let total = sum_in_one_lane(&terms.iter().map(|x| Pair::exact(*x)).collect::<Vec<_>>());
    let off = (center(total) - real).abs();
    assert!(off > 0.0, "the terms were to be rounded: {total:?}");
    assert!(off <= total.error, "{total:?} is off by {off:e}");
}

/// Errors are summed with roundings of their own, all of which may go down.
#[test]
fn the_sum_of_errors_is_not_rounded_down() {
    let mut terms = vec![Pair { hi: 1.0, lo: 0.0, error: 1.0 }];
    terms.extend((0..1 << 14).map(|_| Pair { hi: 1.0, lo: 0.0, error: power_of_two(-54) }));
    let errors = 1.0 + power_of_two(14 - 54);
    let total = sum_in_one_lane(&terms);
    assert!(total.error >= errors && total.error < errors * 1.000_001, "{total:?}");
}
