//! Angles around multiples of pi / 2, where little is left of them, and the functions around zero.

use rug::Float;
use rug::float::Constant;

use super::super::tan;
use super::{Pair, SplitMix64, Tables, candidates, center, cosine, power_of_two, sine};

const PRECISION: u32 = 2200;

/// The pairs nearest to five times so many multiples of pi / 512 up to 2^20, and numbers at and around them.
fn angles(count: usize) -> Vec<Pair> {
    let mut random = SplitMix64(91);
    let step = Float::with_val(PRECISION, Constant::Pi) / 512u32;
    let mut counts: Vec<u32> = (0..count as u32).collect();
    counts.extend((0..2 * count).map(|_| 128 * (random.bits() % 1_335_000) as u32));
    counts.extend((0..2 * count).map(|_| (random.bits() % 170_000_000) as u32));
    let mut all = Vec::new();
    for count in counts {
        let angle = Float::with_val(PRECISION, &step * count);
        let hi = angle.to_f64();
        let lo = Float::with_val(PRECISION, &angle - hi).to_f64();
        let single = f64::from(hi as f32);
        for (hi, lo) in [(hi, lo), (hi, 0.0), (hi.next_up(), 0.0), (single, 0.0), (-hi, -lo)] {
            all.push(Pair { hi, lo, error: 0.0 });
            all.push(Pair { hi, lo, error: hi.abs() * power_of_two(-100) });
        }
    }
    all.retain(|x| x.hi.abs() > 1e-100);
    all
}

#[test]
fn angles_near_multiples_of_the_step_stay_enclosed() {
    angles_stay_enclosed(500);
}

#[test]
#[ignore = "half a minute: MPFR's functions of many angles"]
fn angles_near_multiples_of_the_step_stay_enclosed_at_many_arguments() {
    angles_stay_enclosed(10_000);
}

fn angles_stay_enclosed(count: usize) {
    let tables = &Tables::ready();
    type Case = (&'static str, fn(Pair, &Tables) -> Pair, fn(Float) -> Float);
    let cases: [Case; 3] = [("sine", sine, Float::sin), ("cosine", cosine, Float::cos), ("tan", tan, Float::tan)];
    for (name, function, truth) in cases {
        let mut regular = 0;
        for x in angles(count) {
            let y = function(x, tables);
            if y.is_irregular() {
                assert!(name == "tan", "{name}({x:?})");
                continue;
            }
            regular += 1;
            assert!(y.hi + y.lo == y.hi, "{name}({x:?}) = {y:?}");
            let different = if x.error == 0.0 { 1 } else { 3 };
            for argument in candidates(x).into_iter().take(different) {
                let off = (center(y) - truth(Float::with_val(300, argument))).abs();
                assert!(off <= y.error, "{name}({x:?}) = {y:?} is off by {off:e}");
            }
            if name != "tan" {
                let claimed = x.error + power_of_two(-111) + y.hi.abs() * power_of_two(-100);
                assert!(y.error <= claimed * (1.0 + power_of_two(-40)), "{name}({x:?}) = {y:?}");
            }
        }
        assert!(regular > 40 * count, "{name}: {regular}");
    }
}

/// A bound far above the error would be worth little. Measured errors are 2^-104 of most results.
#[test]
fn little_is_lost_besides_what_is_proven() {
    let (mut random, tables) = (SplitMix64(92), &Tables::ready());
    for _ in 0..5_000 {
        let hi = random.scaled(-20, 18);
        let x = Pair { error: 0.0, ..random.around(hi) };
        for (y, real) in [(sine(x, tables), center(x).sin()), (cosine(x, tables), center(x).cos())] {
            let off = (center(y) - &real).abs();
            let allowed = real.abs() * power_of_two(-102) + power_of_two(-112);
            assert!(off <= allowed, "{x:?}: {y:?} is off by {off:e}");
        }
    }
}

/// Around zero no reduction is made, and none is charged.
#[test]
fn nothing_absolute_is_lost_around_zero() {
    let tables = &Tables::ready();
    let half_step = std::f64::consts::PI / 512.0;
    for hi in [half_step * 0.999, 1e-3, 1e-30, 1e-200] {
        let x = Pair::exact(hi);
        assert!(sine(x, tables).error <= hi * power_of_two(-99), "{hi:e}");
        assert!(tan(x, tables).error <= hi * power_of_two(-98), "{hi:e}");
        let nothing = Pair { hi: 0.0, lo: 0.0, error: hi * power_of_two(-30) };
        let y = sine(nothing, tables);
        assert!((y.hi, y.lo) == (0.0, 0.0) && y.error >= nothing.error && y.error <= nothing.error * 1.000_001);
        assert_eq!(cosine(nothing, tables).hi, 1.0);
    }
    // The sine of pi as f64 holds it is 1.2e-16: next to all of its error is that of the reduction, which the proof puts at 2^-111.
    for hi in [half_step * 1.001, std::f64::consts::PI] {
        assert!(sine(Pair::exact(hi), tables).error >= power_of_two(-111), "{hi:e}");
    }
}
