//! The registry as data, and the metrics through their accumulators.

use super::*;
use crate::num::{BF16, F32};

fn sample<'a>(got: &'a [f64], truth: &'a [f64], row_len: usize) -> Sample<'a> {
    Sample { got, truth, format: &BF16, row_len, first_index: 0, scale: None }
}

fn value(name: &str, sample: &Sample) -> Option<f64> {
    let mut accumulator = Accumulator::new(find_metric(name).unwrap());
    accumulator.add(sample);
    accumulator.value()
}

#[test]
fn names_are_sorted_and_described() {
    assert!(METRICS.windows(2).all(|pair| pair[0].name() < pair[1].name()));
    for metric in METRICS {
        assert!(metric.doc().ends_with('.'), "{}", metric.name());
        let file = format!("{}/metric/{}.rs", env!("CARGO_MANIFEST_DIR"), metric.name());
        assert!(std::path::Path::new(&file).exists(), "{file}");
    }
    assert!(find_metric("max-ulp").is_none());
}

#[test]
fn values_by_hand() {
    let truth = [1.0, 2.0, 4.0, 0.5];
    let got = [1.0078125, 2.0, 4.0625, 0.5];
    let all = sample(&got, &truth, 2);
    let (a, b) = (2f64.powi(-7), 2f64.powi(-4));
    assert_eq!(value("max_ulp", &all), Some(2.0));
    assert_eq!(value("mean_ulp", &all), Some(0.75));
    assert_eq!(value("p99_ulp", &all), Some(2.0));
    assert_eq!(value("total_abs_error", &all), Some(a + b));
    assert_eq!(value("mean_square", &all), Some((a * a + b * b) / 4.0));
    assert_eq!(value("rms", &all), Some(((a * a + b * b) / 4.0).sqrt()));
    assert_eq!(value("frobenius", &all), Some((a * a + b * b).sqrt()));
    assert_eq!(value("relative_frobenius", &all), Some(((a * a + b * b) / 21.25).sqrt()));
    assert_eq!(value("prob_sum_error", &all), Some(3.5625));
    for name in ["componentwise", "rms_componentwise"] {
        assert_eq!(value(name, &all), None, "{name}");
    }
    let scaled = Sample { scale: Some(&[1.0, 0.0, 2.0, 1.0]), ..all };
    assert_eq!(value("componentwise", &scaled), Some(b / 2.0));
    assert_eq!(value("rms_componentwise", &scaled), Some(((a * a + b * b / 4.0) / 4.0).sqrt()));
}

#[test]
fn truth_itself_is_at_distance_zero() {
    let truth = [0.5, 0.25, 0.25, 0.0, 1.0, 0.0];
    let ones = [1.0; 6];
    let all = Sample { scale: Some(&ones), ..sample(&truth, &truth, 3) };
    for metric in METRICS {
        assert_eq!(value(metric.name(), &all), Some(0.0), "{}", metric.name());
    }
}

#[test]
fn nothing_seen_has_no_value() {
    for metric in METRICS {
        assert_eq!(value(metric.name(), &sample(&[], &[], 4)), None, "{}", metric.name());
        assert_eq!(Accumulator::new(*metric).worst(), None);
    }
}

/// A wrong special must show in every metric that is about values.
#[test]
fn a_nan_among_numbers_is_infinitely_far() {
    let truth = [0.25, 0.75, 0.5, 0.5];
    let got = [0.25, f64::NAN, 0.5, 0.5];
    let ones = [1.0; 4];
    let all = Sample { scale: Some(&ones), ..sample(&got, &truth, 2) };
    for metric in METRICS {
        let mut accumulator = Accumulator::new(*metric);
        accumulator.add(&all);
        assert_eq!(accumulator.value(), Some(f64::INFINITY), "{}", metric.name());
        let by_row = ["kl_max", "kl_mean", "prob_sum_error", "total_variation"].contains(&metric.name());
        assert_eq!(accumulator.worst().map(|w| w.index), Some(if by_row { 0 } else { 1 }), "{}", metric.name());
    }
}

#[test]
fn percentile_is_the_term_of_its_rank() {
    // Errors of 1, 2, ..., n ulps: rank ceil(0.99 n).
    for (n, rank) in [(1, 1.0), (99, 99.0), (100, 99.0), (101, 100.0), (1000, 990.0)] {
        let truth = vec![0.0; n];
        let got: Vec<f64> = (1..=n).rev().map(|i| i as f64 * F32.min_subnormal()).collect();
        let all = Sample { format: &F32, ..sample(&got, &truth, 1) };
        assert_eq!(value("p99_ulp", &all), Some(rank), "n = {n}");
    }
}

/// Of equal terms the first is the worst, in whatever order the parts arrive.
#[test]
fn ties_for_the_worst_go_to_the_lowest_index() {
    let (truth, got) = ([1.0; 6], [1.0, 2.0, 2.0, 1.0, 2.0, 1.0]);
    let part = |from: usize| {
        let mut accumulator = Accumulator::new(find_metric("max_ulp").unwrap());
        accumulator.add(&Sample { first_index: from, ..sample(&got[from..from + 3], &truth[from..from + 3], 1) });
        accumulator
    };
    for (first, second) in [(0, 3), (3, 0)] {
        let mut merged = part(first);
        merged.merge(part(second));
        assert_eq!(merged.worst(), Some(Worst { value: 128.0, index: 1 }));
    }
}

/// Any split into tiles, merged in any order, gives the same bits and the same worst element.
#[test]
fn tiling_does_not_show() {
    let n = 240;
    let wave = |i: usize, m: usize| (i * m % 1009) as f64 / 1009.0 + 1e-3;
    let truth: Vec<f64> = (0..n).map(|i| wave(i, 617)).collect();
    let got: Vec<f64> = (0..n).map(|i| truth[i] * (1.0 + 1e-3 * wave(i, 331))).collect();
    let scale: Vec<f64> = (0..n).map(|i| wave(i, 89)).collect();
    let tile = |from: usize, to: usize| Sample {
        got: &got[from..to],
        truth: &truth[from..to],
        format: &F32,
        row_len: 8,
        first_index: from,
        scale: Some(&scale[from..to]),
    };
    for metric in METRICS {
        let mut whole = Accumulator::new(*metric);
        whole.add(&tile(0, n));
        for cuts in [vec![8], vec![80, 160], (8..n).step_by(8).collect()] {
            let ends = cuts.iter().copied().chain([n]);
            let mut tiles: Vec<Accumulator> = std::iter::once(0)
                .chain(cuts.iter().copied())
                .zip(ends)
                .map(|(from, to)| {
                    let mut part = Accumulator::new(*metric);
                    part.add(&tile(from, to));
                    part
                })
                .collect();
            tiles.reverse();
            let mut merged = Accumulator::new(*metric);
            tiles.into_iter().for_each(|part| merged.merge(part));
            assert_eq!(merged.value().map(f64::to_bits), whole.value().map(f64::to_bits), "{}", metric.name());
            assert_eq!(merged.worst(), whole.worst(), "{}", metric.name());
        }
    }
}
