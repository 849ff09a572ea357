//! Around zero and one: what is left of an inexact number less itself keeps the precision of pairs, through `exp` and `log`.

use rug::Float;

use super::super::{Pair, Tables, add, exp, hull, log, power_of_two, sub, sum};
use super::{SplitMix64, candidates, center};

/// Inexact pairs, whose error is far below an ulp of their high part.
fn inexact() -> impl Iterator<Item = Pair> {
    let mut random = SplitMix64(77);
    (0..2_000).filter_map(move |_| {
        let hi = random.scaled(-40, 40);
        Some(random.around(hi)).filter(|x| x.error > 0.0)
    })
}

#[test]
fn an_inexact_number_less_itself_is_zero_within_its_error() {
    for x in inexact() {
        let nothing = sub(x, x);
        assert_eq!((nothing.hi, nothing.lo), (0.0, 0.0), "{x:?}");
        assert!(nothing.error >= 2.0 * x.error && nothing.error < 2.001 * x.error, "{x:?}: {nothing:?}");
        let total = sum(2, |_, out| {
            (out[0][0], out[1][0], out[2][0]) = (x.hi, x.lo, x.error);
            (out[0][1], out[1][1], out[2][1]) = (-x.hi, -x.lo, x.error);
        });
        assert!(total.hi == 0.0 && total.error >= 2.0 * x.error && total.error < 2.001 * x.error, "{x:?}: {total:?}");
    }
    // The sign of an exact zero is for the interval to say.
    assert!(sub(Pair::exact(3.0), Pair::exact(3.0)).is_irregular());
    assert!(add(Pair::exact(0.0), Pair::exact(-0.0)).is_irregular());
}

#[test]
fn exp_around_zero_and_log_around_one_keep_the_error() {
    let tables = &Tables::ready();
    let mut random = SplitMix64(78);
    for _ in 0..2_000 {
        let error = random.scaled(-140, -60).abs();
        let e = exp(Pair { hi: 0.0, lo: 0.0, error }, tables);
        assert_eq!(e.hi, 1.0);
        assert!(e.error < error * 1.001 + power_of_two(-99), "{error:e}: {e:?}");
        for end in [-error, error] {
            let truth = Float::with_val(2200, end).exp();
            assert!((center(e) - truth).abs() <= e.error, "{error:e}: {e:?}");
        }
        for lo in [0.0, power_of_two(-54) * random.unit(), -power_of_two(-55) * random.unit()] {
            let x = Pair { hi: 1.0, lo, error };
            let l = log(x, tables);
            assert!(!l.is_irregular() && l.error < error * 1.001 + lo.abs() * power_of_two(-97), "{x:?}: {l:?}");
            for value in candidates(x) {
                assert!((center(l) - value.ln()).abs() <= l.error, "{x:?}: {l:?}");
            }
        }
    }
    assert!(exp(Pair::exact(0.0), tables).is_irregular());
    assert!(log(Pair::exact(1.0), tables).is_irregular());
    // A low part so small that its square underflows.
    assert!(log(Pair { hi: 1.0, lo: power_of_two(-600), error: power_of_two(-610) }, tables).is_irregular());
}

#[test]
fn hulls_hold_both_and_no_more_than_needed() {
    let mut random = SplitMix64(79);
    for x in inexact() {
        // Neighbours of x, from far closer than an ulp to far apart.
        let apart = x.hi * random.scaled(-110, 2);
        for y in [add(x, Pair::exact(apart)), x, random.around(x.hi), Pair::exact(-x.hi)] {
            let both = hull(x, y);
            let (low, high) = (center(both) - both.error, center(both) + both.error);
            for value in candidates(x).into_iter().chain(candidates(y)) {
                assert!(value >= low && value <= high, "{x:?} {y:?}: {both:?}");
            }
            let width = (center(x) - center(y)).abs() + x.error + y.error;
            let ulp = x.hi.abs().max(y.hi.abs()) * f64::EPSILON;
            assert!(both.error <= width.to_f64() * 1.01 + ulp * power_of_two(-40), "{x:?} {y:?}: {both:?}");
        }
    }
    assert_eq!(hull(Pair::UNKNOWN, Pair::exact(1.0)).error, f64::INFINITY);
    assert_eq!(hull(Pair::exact(1.0), Pair::UNKNOWN).error, f64::INFINITY);
}
