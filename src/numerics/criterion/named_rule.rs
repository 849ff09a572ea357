//! Criteria of other projects for dots, with their constants: each a statistic over its limit, at most 1 where they accept.

use crate::num::{BF16, F16, F32, F64, Format};

/// Results of dots of one number of products, beside their truth.
#[derive(Clone, Copy, Debug)]
pub struct DotResults<'a> {
    /// The computed values.
    pub computed: &'a [f64],
    /// The real values, rounded to nearest f64.
    pub truth: &'a [f64],
    /// The sum of `|a| |b|` of each.
    pub magnitude: &'a [f64],
    /// Products of each.
    pub products: usize,
    /// The format that holds partial sums, as it is claimed.
    pub accumulator: &'static Format,
    /// The format of the results.
    pub out: &'static Format,
    /// Whether operands are of eight bits.
    pub is_fp8: bool,
}

/// A criterion of another project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedRule {
    /// Arm TOSA's rule for DOT_PRODUCT (reference_model, `verify_dot_product`): each error, its mean and its variance.
    TosaDot,
    /// The ratio of netlib's level 3 testers (SBLAT3): below 16.
    Netlib,
    /// `torch.testing.assert_close` with its tolerances by type.
    Allclose,
    /// llama.cpp's `test-backend-ops` for MUL_MAT: a normalized mean square error of 5e-4.
    Nmse,
}

impl NamedRule {
    /// All of them.
    pub const ALL: [NamedRule; 4] = [NamedRule::TosaDot, NamedRule::Netlib, NamedRule::Allclose, NamedRule::Nmse];

    /// The name in suites.
    pub const fn name(self) -> &'static str {
        match self {
            NamedRule::TosaDot => "tosa-dot",
            NamedRule::Netlib => "netlib",
            NamedRule::Allclose => "allclose",
            NamedRule::Nmse => "nmse",
        }
    }

    /// The rule of this name.
    pub fn from_name(name: &str) -> Option<NamedRule> {
        NamedRule::ALL.into_iter().find(|rule| rule.name() == name)
    }

    /// The statistic of the results over the rule's limit, the largest of several: the rule accepts up to 1. 0 without results.
    pub fn ratio(self, results: &DotResults) -> f64 {
        match self {
            NamedRule::TosaDot => tosa_dot(results),
            NamedRule::Netlib => netlib(results),
            NamedRule::Allclose => allclose(results),
            NamedRule::Nmse => nmse(results),
        }
    }
}

/// KSB = ceil(K / 2^((frac_acc - frac_out) / 2)); each error in `max(bnd 2^-(frac + 1), min normal)` at most 2 KSB; of T errors the
/// squares add up to `1.6 KSB T` at most, and the sum is at most `sqrt(10 1.6 KSB T)`, which the rule asks of its data sets 3, 4 and 5.
/// Operands of eight bits have limits of their own.
fn tosa_dot(results: &DotResults) -> f64 {
    let gap = f64::from(results.accumulator.fraction_bits.saturating_sub(results.out.fraction_bits)) / 2.0;
    let ksb = (results.products as f64 / core_math::exp2(gap)).ceil();
    let few = ksb.min(64.0);
    let (bound, variance) = match results.is_fp8 {
        true => (2.0 * ksb.max(few * 1024.0), 1.6 * ksb.max(few * 1024.0 * 1024.0)),
        false => (2.0 * ksb, 1.6 * ksb),
    };
    let u = results.out.unit_roundoff();
    let (mut worst, mut sum, mut squares, mut count) = (0.0f64, 0.0, 0.0, 0.0);
    for ((computed, truth), magnitude) in results.computed.iter().zip(results.truth).zip(results.magnitude) {
        count += 1.0;
        let is_accepted = match truth.is_nan() {
            true => Some(computed.is_nan()),
            false if magnitude.is_nan() || magnitude * (1.0 + bound * u) > results.out.max_finite() => Some(true),
            false if *magnitude == 0.0 => Some(*computed == 0.0 && *truth == 0.0),
            false => None,
        };
        match is_accepted {
            Some(true) => continue,
            Some(false) => return f64::INFINITY,
            None => {}
        }
        let error = (computed - truth) / (magnitude * u).max(results.out.min_normal());
        if !error.is_finite() {
            return f64::INFINITY;
        }
        worst = worst.max(error.abs());
        sum += error;
        squares += error * error;
    }
    if count == 0.0 {
        return 0.0;
    }
    let bias = sum.abs() / (10.0 * variance * count).sqrt();
    (worst / bound).max(squares / (variance * count)).max(bias)
}

/// `max |c' - c| / (eps sum |a| |b|) < 16`, eps the distance of 1 to the next number.
fn netlib(results: &DotResults) -> f64 {
    let eps = 2.0 * results.out.unit_roundoff();
    let each = results.computed.iter().zip(results.truth).zip(results.magnitude);
    each.map(|((computed, truth), gauge)| match (computed - truth).abs() {
        0.0 => 0.0,
        error if error.is_finite() => error / (eps * gauge) / 16.0,
        _ => f64::INFINITY,
    })
    .fold(0.0, f64::max)
}

/// `|a - e| <= atol + rtol |e|` with (rtol, atol) of f16 (1e-3, 1e-5), bf16 (1.6e-2, 1e-5), f32 (1.3e-6, 1e-5), f64 (1e-7, 1e-7).
fn allclose(results: &DotResults) -> f64 {
    let of = |format: &Format| results.out.name == format.name;
    let [rtol, atol] = match () {
        () if of(&F64) => [1e-7, 1e-7],
        () if of(&F32) => [1.3e-6, 1e-5],
        () if of(&BF16) => [1.6e-2, 1e-5],
        () if of(&F16) => [1e-3, 1e-5],
        // Other types have that of equal bits.
        () => [0.0, 0.0],
    };
    let ratio = |(computed, truth): (&f64, &f64)| match (computed - truth).abs() {
        0.0 => 0.0,
        error if error.is_finite() => error / (atol + rtol * truth.abs()),
        _ => f64::INFINITY,
    };
    results.computed.iter().zip(results.truth).map(ratio).fold(0.0, f64::max)
}

/// `sum (a - b)^2 / sum a^2 <= 5e-4`, a the reference.
fn nmse(results: &DotResults) -> f64 {
    let [mut errors, mut squares] = [0.0; 2];
    for (computed, truth) in results.computed.iter().zip(results.truth) {
        errors += (computed - truth) * (computed - truth);
        squares += truth * truth;
    }
    match errors {
        0.0 => 0.0,
        errors if errors.is_finite() => errors / squares / 5e-4,
        _ => f64::INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(computed: &'a [f64], truth: &'a [f64], magnitude: &'a [f64]) -> DotResults<'a> {
        DotResults { computed, truth, magnitude, products: 100, accumulator: &F32, out: &F32, is_fp8: false }
    }

    /// Figures worked out by hand.
    #[test]
    fn each_rule_has_its_constants() {
        let u = F32.unit_roundoff();
        // Errors of 20, -20, 20, -20 units: the squares are 400 of 160.
        let (truth, magnitude) = ([4.0; 4], [8.0; 4]);
        let computed = [1.0, -1.0, 1.0, -1.0].map(|sign| 4.0 + sign * 20.0 * 8.0 * u);
        let results = of(&computed, &truth, &magnitude);
        assert_eq!(NamedRule::TosaDot.ratio(&results), 400.0 / 160.0);
        assert_eq!(NamedRule::Netlib.ratio(&results), 10.0 / 16.0);
        assert!((NamedRule::Allclose.ratio(&results) - 160.0 * u / (1e-5 + 1.3e-6 * 4.0)).abs() < 1e-12);
        let nmse = (160.0 * u).powi(2) / 16.0 / 5e-4;
        assert!((NamedRule::Nmse.ratio(&results) / nmse - 1.0).abs() < 1e-12);
        // One of one sign: the sum is 4 x 10 of sqrt(10 x 160 x 4).
        let biased = [4.0 + 80.0 * u; 4];
        assert_eq!(NamedRule::TosaDot.ratio(&of(&biased, &truth, &magnitude)), 100.0 / 160.0);
        // A narrower result has fewer terms that count: 100 / 2^8 of bf16, one.
        let off = [4.0 + 3.0 * 8.0 * BF16.unit_roundoff()];
        let narrow = DotResults { out: &BF16, ..of(&off, &[4.0], &[8.0]) };
        assert_eq!(NamedRule::TosaDot.ratio(&narrow), 9.0 / 1.6);
        let off = [4.0 + 32.0 * 8.0 * u];
        let fp8 = DotResults { is_fp8: true, products: 8, ..of(&off, &[4.0], &[8.0]) };
        assert_eq!(
            NamedRule::TosaDot.ratio(&fp8),
            (32.0 / (2.0 * 8.0 * 1024.0f64)).max(32.0 / (10.0f64 * 1.6 * 8.0 * 1048576.0).sqrt())
        );
    }

    #[test]
    fn special_values_are_taken_as_each_rule_takes_them() {
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        let tosa = |computed, truth, magnitude| NamedRule::TosaDot.ratio(&of(&[computed], &[truth], &[magnitude]));
        assert_eq!([tosa(nan, nan, 1.0), tosa(1.0, nan, 1.0)], [0.0, inf]);
        assert_eq!([tosa(inf, 1.0, 1e39), tosa(inf, 1.0, 1.0)], [0.0, inf]);
        assert_eq!([tosa(0.0, 0.0, 0.0), tosa(1e-30, 0.0, 0.0)], [0.0, inf]);
        for rule in NamedRule::ALL {
            assert_eq!(rule.ratio(&of(&[], &[], &[])), 0.0);
            assert_eq!(rule.ratio(&of(&[nan], &[1.0], &[1.0])), inf, "{}", rule.name());
            assert_eq!(NamedRule::from_name(rule.name()), Some(rule));
        }
    }
}
