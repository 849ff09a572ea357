//! Each distribution against its own doc.

use rug::Float;

use super::*;
use crate::metric::ExactSum;

fn values(text: &str, dtype: DType, count: usize, width: usize) -> Vec<Vec<f64>> {
    let all = rows(text, dtype, 0, count, width).unwrap().data().to_f64s();
    all.chunks(width).map(<[f64]>::to_vec).collect()
}

fn flat(text: &str, n: usize) -> Vec<f64> {
    values(text, DType::F64, n / 1000, 1000).concat()
}

/// Distance of a mean from what it should be, in standard errors estimated from the values themselves.
fn off(values: &[f64], mean: f64) -> f64 {
    let n = values.len() as f64;
    let got = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - got) * (v - got)).sum::<f64>() / (n - 1.0);
    (got - mean) / (variance / n).sqrt()
}

/// Positions sorted by falling value.
fn ranking(row: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..row.len()).collect();
    order.sort_by(|a, b| row[*b].total_cmp(&row[*a]));
    order
}

#[test]
fn moments_and_quantiles() {
    let check = |text: &str, mean: f64, of: &dyn Fn(f64) -> f64| {
        let values: Vec<f64> = flat(text, 100_000).into_iter().map(of).collect();
        let z = off(&values, mean);
        assert!(z.abs() < 4.0, "{text}: {z} standard errors");
    };
    check("normal", 0.0, &|x| x);
    check("normal[scale=3]", 9.0, &|x| x * x);
    check("uniform[scale=2]", 0.0, &|x| x);
    check("uniform[scale=2]", 4.0 / 3.0, &|x| x * x);
    check("positive", 0.75, &|x| x);
    check("positive[hi=3,lo=1]", 2.0, &|x| x);
    // Mean of a Gumbel variable: Euler's constant. Variance: pi^2 / 6.
    check("logits[gumbel=2,scale=1]", 2.0 * 0.577_215_664_901_532_9, &|x| x);
    check("ties[distinct=4,scale=0.5]", 1.25, &|x| x);
    let at_most = |limit: f64| move |x: f64| f64::from(u8::from(x <= limit));
    // Student's t by its closed distribution functions: dof 1: 1/2 + atan(x) / pi; dof 2: 1/2 + x / (2 sqrt(2 + x^2)).
    check("heavy-tail[dof=1]", 0.75, &at_most(1.0));
    check("heavy-tail[dof=1]", 0.5 + 10f64.atan() / std::f64::consts::PI, &at_most(10.0));
    check("heavy-tail[dof=2,scale=2]", 0.5 + 3.0 / (2.0 * 11f64.sqrt()), &at_most(6.0));
    check("heavy-tail[dof=2]", 0.5 - 1.0 / (2.0 * 3f64.sqrt()), &at_most(-1.0));
    check("heavy-tail[dof=0.5]", 0.5, &at_most(0.0));
    check("wide-exponent", 0.0, &|x| x.abs().log2().floor());
    check("wide-exponent", 0.0, &|x| x.signum());
    // Variance of 17 equally likely exponents: (17^2 - 1) / 12.
    check("wide-exponent", 24.0, &|x| x.abs().log2().floor().powi(2));
    check("wide-exponent", 1.5, &|x| x.abs() / 2f64.powf(x.abs().log2().floor()));
}

#[test]
fn uniforms_stay_inside_and_one_binade_stays_one() {
    assert!(flat("uniform", 10_000).iter().all(|x| (-1.0..1.0).contains(x)));
    assert!(flat("positive", 10_000).iter().all(|x| (0.5..1.0).contains(x)));
}

/// Poisson-Dirichlet: the mean of sum p^2 is 1 - 1/gumbel, for short rows and long ones.
#[test]
fn a_few_logits_carry_the_mass() {
    for (text, width, mean) in [("logits", 1000, 0.5), ("logits", 32_000, 0.5), ("logits[gumbel=4]", 4000, 0.75)] {
        let squares: Vec<f64> = values(text, DType::F32, 400, width)
            .iter()
            .map(|row| {
                let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let weights: Vec<f64> = row.iter().map(|x| core_math::exp(x - top)).collect();
                let total: f64 = weights.iter().sum();
                weights.iter().map(|w| (w / total) * (w / total)).sum()
            })
            .collect();
        let z = off(&squares, mean);
        assert!(z.abs() < 4.0, "{text}, width {width}: {z} standard errors");
    }
}

#[test]
fn near_ties_are_at_the_distance_asked_for() {
    for dtype in [DType::BF16, DType::F32, DType::F64, DType::F16, DType::F8E4M3FN] {
        for ulps in [0u64, 1, 2, 64] {
            let text = format!("near-tie[ulps={ulps}]");
            let data = rows(&text, dtype, 0, 200, 50).unwrap();
            let (format, values) = (dtype.format().unwrap(), data.data().to_f64s());
            let mut first_wins = 0;
            for row in values.chunks(50) {
                let order = ranking(row);
                let code = |rank: usize| format.encode(row[order[rank]]);
                assert_eq!(code(0) - code(1), ulps, "{text} {dtype}");
                assert!(row[order[1]] > row[order[2]], "{text} {dtype}");
                first_wins += u32::from(order[0] < order[1]);
            }
            // An exact tie ranks by position; otherwise either comes first, 100 +- 5 * 7.1 times.
            assert!(ulps == 0 || (65..=135).contains(&first_wins), "{text} {dtype}: {first_wins}");
        }
    }
    // In bf16's ulps where the values are to be bf16 numbers.
    for row in values("near-tie[bf16=1,ulps=1]", DType::F32, 20, 50) {
        let order = ranking(&row);
        assert_eq!(BF16.encode(row[order[0]]) - BF16.encode(row[order[1]]), 1);
    }
    assert_eq!(values("near-tie", DType::F32, 3, 1).len(), 3);
}

#[test]
fn clusters_hold_the_winners() {
    for (text, count, stride) in [("clustered", 40, 1), ("clustered[count=16,stride=128]", 16, 128)] {
        let mut starts = std::collections::BTreeSet::new();
        for row in values(text, DType::F32, 50, 4096) {
            let mut winners = ranking(&row)[..count].to_vec();
            winners.sort_unstable();
            starts.insert(winners[0]);
            assert!(winners.windows(2).all(|pair| pair[1] - pair[0] == stride), "{text}: {winners:?}");
        }
        assert!(starts.len() > 30, "{text}: starts repeat");
    }
}

#[test]
fn planted_values_are_there_bit_for_bit() {
    let special = |name: &str, dtype: DType| {
        let data = rows(&format!("{name}[count=2]"), dtype, 0, 100, 16).unwrap();
        let format = dtype.format().unwrap();
        let all = bits(data.data());
        let nan = format.encode(f64::NAN.abs());
        let sign = 1 << (format.width() - 1);
        let wanted: Vec<u64> = match name {
            "planted-inf" => vec![format.encode(f64::INFINITY); 2],
            "planted-neg-inf" => vec![format.encode(f64::NEG_INFINITY); 2],
            "planted-nan" => vec![nan; 2],
            "planted-neg-nan" => vec![nan | sign; 2],
            _ => vec![sign, 0],
        };
        for row in all.chunks(16) {
            let found: Vec<u64> = row.iter().copied().filter(|b| wanted.contains(b)).collect();
            assert_eq!(found, wanted, "{name} {dtype}");
        }
    };
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16, DType::F8E5M2] {
        for name in ["planted-inf", "planted-neg-inf", "planted-nan", "planted-neg-nan"] {
            special(name, dtype);
        }
    }
    special("planted-nan", DType::F8E4M3FN);
    special("planted-neg-zero", DType::F32);
    for dtype in [DType::F64, DType::F32, DType::BF16, DType::F16] {
        let format = dtype.format().unwrap();
        for row in values("planted-subnormal[count=3,negative=1]", dtype, 50, 16) {
            let subnormal = |x: &f64| *x > 0.0 && *x < format.min_normal();
            assert_eq!(row.iter().filter(|x| subnormal(x)).count(), 3, "{dtype}");
            assert_eq!(row.iter().filter(|x| **x <= 0.0).count(), 13, "{dtype}");
        }
    }
}

#[test]
fn ramps_and_ties_are_exact() {
    // flashinfer issue 2604.
    let ramp = values("ramp", DType::F32, 1, 65536).remove(0);
    assert_eq!(ramp[ranking(&ramp)[1023]], 0.984375);
    assert_eq!(ramp[65], 1.0 / 64.0);
    let distinct: std::collections::BTreeSet<u64> =
        values("ties[distinct=3]", DType::BF16, 4, 500).concat().into_iter().map(f64::to_bits).collect();
    assert_eq!(distinct.len(), 3);
    assert!(values("ties[distinct=1,scale=0.25]", DType::BF16, 2, 9).concat().iter().all(|x| *x == 0.25));
}

/// Exact condition numbers of all outputs of a product, for odd and even k, in f32 and bf16.
#[test]
fn condition_numbers_are_reached() {
    for (k, dtype, cond) in [
        (256, DType::F32, 1e8),
        (255, DType::F32, 1e8),
        (1024, DType::F32, 1e20),
        (1024, DType::BF16, 1e3),
        (512, DType::BF16, 1e10),
        (2048, DType::F16, 1e6),
        (300, DType::F64, 1e100),
    ] {
        let (m, n) = (4, 64);
        let text = format!("ill-conditioned[cond={cond:e}]");
        let spec: InputSpec = text.parse().unwrap();
        let arguments = [argument("lhs", dtype, &[m, k]), argument("rhs", dtype, &[k, n])];
        let tensors = generate(&spec, &key(&spec.to_string()), &arguments, 10..10 + m as u64).unwrap();
        let (lhs, rhs) = (tensors[0].data().to_f64s(), tensors[1].data().to_f64s());
        let mut reached = Vec::new();
        for i in 0..m {
            for j in 0..n {
                let (mut sum, mut size) = (Float::with_val(3000, 0), Float::with_val(3000, 0));
                for l in 0..k {
                    let product = Float::with_val(200, lhs[i * k + l]) * rhs[l * n + j];
                    size += Float::with_val(200, product.abs_ref());
                    sum += product;
                }
                let quotient: Float = size / sum.abs();
                reached.push(2.0 * quotient.to_f64() / cond);
            }
        }
        let deviations: Vec<f64> = reached.iter().map(|r| (r - 1.0) / (1.34 / (k as f64).sqrt())).collect();
        // Outputs of one column share its |b| and are correlated: count them as one, 64 in all. Then the mean has a
        // standard error of 1/8 and the root mean square one of 0.09.
        let mean = deviations.iter().sum::<f64>() / deviations.len() as f64;
        let rms = (deviations.iter().map(|d| d * d).sum::<f64>() / deviations.len() as f64).sqrt();
        assert!(mean.abs() < 0.5 && (0.7..1.3).contains(&rms), "{text} {dtype} {k}: {mean} {rms}");
        assert!(deviations.iter().all(|d| d.abs() < 5.0), "{text} {dtype} {k}: {deviations:?}");
    }
    // The smallest sizes leave the condition number to chance, but what remains is exactly the one product: in every
    // output of a row the same but for its sign.
    for k in 3..12 {
        let tensors = generate(&"ill-conditioned".parse().unwrap(), &key("small"), &product(4, k, 4), 0..4).unwrap();
        let (lhs, rhs) = (tensors[0].data().to_f64s(), tensors[1].data().to_f64s());
        for i in 0..4 {
            let dot = |j: usize| (0..k).map(|l| lhs[i * k + l] * rhs[l * 4 + j]).collect::<ExactSum>().value().abs();
            // q = floor(log2(1e8) / 2) = 13.
            assert!(lhs[i * k..][..k].contains(&(dot(0) * 8192.0)) && dot(0) > 0.0, "k = {k}");
            assert!((1..4).all(|j| dot(j) == dot(0)), "k = {k}");
        }
    }
}
