//! Powers of pairs.

use rug::Float;
use rug::ops::Pow;

use super::{Pair, SplitMix64, Tables, candidates, center, power, power_of_two};

#[test]
fn powers_stay_within_their_bounds() {
    powers_stay_within(20_000);
}

#[test]
#[ignore = "half a minute: many powers of MPFR"]
fn powers_stay_within_their_bounds_at_many_arguments() {
    powers_stay_within(500_000);
}

fn powers_stay_within(draws: usize) {
    let (mut random, tables) = (SplitMix64(93), &Tables::ready());
    let (mut regular, mut widest) = (0, 0.0f64);
    for i in 0..draws {
        let (low, high) = if i % 2 == 0 { (-4, 4) } else { (-60, 60) };
        let hi = random.scaled(low, high).abs();
        let x = random.around(if i % 11 == 0 { 1.0 + hi * power_of_two(-70) } else { hi });
        let hi = if i % 5 == 0 { (i % 41) as f64 / 4.0 - 5.0 } else { random.scaled(-6, 3) };
        let y = if i % 5 == 0 { Pair::exact(hi) } else { random.around(hi) };
        let z = power(x, y, tables);
        if z.is_irregular() {
            continue;
        }
        regular += 1;
        assert!(z.hi + z.lo == z.hi && z.error >= 0.0, "{x:?}^{y:?} = {z:?}");
        let exact = x.error == 0.0 && y.error == 0.0;
        for a in candidates(x).iter().take(if x.error == 0.0 { 1 } else { 3 }) {
            for b in candidates(y).iter().take(if y.error == 0.0 { 1 } else { 3 }) {
                let real = Float::with_val(300, a).pow(Float::with_val(300, b));
                let off = (center(z) - &real).abs();
                assert!(off <= z.error, "{x:?}^{y:?} = {z:?} is off by {off:e}");
                if exact {
                    widest = widest.max((z.error / real).to_f64());
                }
            }
        }
    }
    assert!(regular > draws / 6 * 5, "{regular}");
    assert!(widest < power_of_two(-88), "{widest:e}");
}

/// By products, quotients and roots: what is exact stays so, of either sign.
#[test]
fn common_exponents_keep_what_is_exact() {
    let tables = &Tables::ready();
    let of = |x: f64, y: f64| power(Pair::exact(x), Pair::exact(y), tables);
    for i in 1..1000 {
        let x = f64::from(i);
        for base in [x, -x] {
            assert_eq!(of(base, 2.0).as_exact(), Some(x * x));
            assert_eq!(of(base, 3.0).as_exact(), Some(base * x * x));
            assert_eq!(of(base, 4.0).as_exact(), Some(x * x * x * x));
            assert_eq!(of(base, 1.0).as_exact(), Some(base));
            let scale = power_of_two(i64::from(i % 50)).copysign(base);
            assert_eq!(of(scale, -1.0).as_exact(), Some(1.0 / scale));
            assert_eq!(of(scale, -2.0).as_exact(), Some(1.0 / (scale * scale)));
        }
        assert_eq!(of(x * x, 0.5).as_exact(), Some(x));
        assert_eq!(of(power_of_two(2 * i64::from(i % 50)), -0.5).as_exact(), Some(power_of_two(-i64::from(i % 50))));
    }
    // 27 bits squared and cubed: a pair holds them where no f64 does.
    let square = of(f64::from((1 << 27) + 1), 2.0);
    assert!(square.error == 0.0 && square.lo != 0.0);
    // An exponent that is only nearly 2 is not among them.
    for y in [
        Pair { hi: 2.0, lo: 0.0, error: power_of_two(-80) },
        Pair { hi: 2.0, lo: power_of_two(-60), error: 0.0 },
        Pair { hi: 0.5, lo: -power_of_two(-60), error: 0.0 },
    ] {
        let z = power(Pair::exact(3.0), y, tables);
        let real = Float::with_val(300, 3).pow(center(y));
        assert!(z.error > 0.0 && (center(z) - real).abs() <= z.error);
        assert!(power(Pair::exact(-3.0), y, tables).is_irregular());
    }
}

#[test]
fn special_powers_are_left_to_mpfr() {
    let tables = &Tables::ready();
    let is_irregular = |x: Pair, y: Pair| power(x, y, tables).is_irregular();
    for special in [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        for other in [2.0, 3.0, 4.0, 1.0, -1.0, -2.0, 0.5, -0.5, 2.5] {
            assert!(is_irregular(Pair::exact(special), Pair::exact(other)), "{special}^{other}");
            assert!(is_irregular(Pair::exact(other), Pair::exact(special)), "{other}^{special}");
        }
    }
    for y in [0.5, -0.5, 2.5, 5.0, -3.0] {
        assert!(is_irregular(Pair::exact(-2.0), Pair::exact(y)));
        assert!(is_irregular(Pair::UNKNOWN, Pair::exact(y)));
        assert!(y == 0.5 || y == -0.5 || is_irregular(Pair::exact(1.0), Pair::exact(y)));
    }
    for y in [1.0, 2.0, 3.0, 4.0, -1.0, -2.0] {
        assert!(is_irregular(Pair::UNKNOWN, Pair::exact(y)));
    }
    assert!(is_irregular(Pair::exact(2.0), Pair::UNKNOWN));
    assert!(is_irregular(Pair::exact(10.0), Pair::exact(400.0)));
    assert!(is_irregular(Pair::exact(10.0), Pair::exact(-400.0)));
}
