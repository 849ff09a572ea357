//! The tables of growths: one row a fit, one row a point.

use crate::record::{FitRecord, SeriesRecord, SuiteRecord, shortest};

use super::growths::{MetricGrowth, PowerLaw, growths};

/// The entry in place of the seed, for a fit through the points of all seeds.
pub(super) const ALL_SEEDS: &str = "all";

/// The name of the file with the fitted growths of all suites.
pub(super) const GROWTH: &str = "growth.csv";

/// The name of the file with the points of the growths of all suites.
pub(super) const POINTS: &str = "growth-points.csv";

/// One row a fitted growth, sorted by series and metric: of each seed, which its check judges, and of all seeds
/// together where there are several, which nothing judges.
pub(super) fn fits(suites: &[SuiteRecord]) -> Vec<Vec<String>> {
    let header = [
        "series",
        "metric",
        "verdict",
        "outcome",
        "program",
        "mode",
        "input",
        "seed",
        "expected_slope",
        "slope",
        "slope_low",
        "slope_high",
        "residual",
        "sizes",
        "note",
    ];
    let rows = suites.iter().flat_map(growths).flat_map(|growth| {
        let mut rows: Vec<Vec<String>> = growth.seeds.iter().map(|record| of_seed(record)).collect();
        rows.extend(pooled(&growth));
        rows
    });
    sorted(&header, rows)
}

fn of_seed(record: &SeriesRecord) -> Vec<String> {
    let verdict = [record.verdict().name(), record.check.outcome.name()];
    let fit = record.fit.as_ref();
    row(record, &record.series.seed.to_string(), verdict, fit, record.sizes, record.check.note.clone())
}

fn pooled(growth: &MetricGrowth) -> Option<Vec<String>> {
    let (PowerLaw { fit, .. }, first) = (growth.pooled.as_ref()?, growth.seeds.first()?);
    let mut sizes: Vec<u64> = growth.points.iter().filter(|point| point.is_fitted()).map(|point| point.n).collect();
    sizes.dedup();
    let (low, high) = (fit.slope_interval.low, fit.slope_interval.high);
    let note = format!(
        "slope {:.3} [{low:.3}, {high:.3}] over {} points of {} seeds, not judged",
        fit.slope,
        fit.points,
        growth.seeds.len()
    );
    let fit = FitRecord { slope: fit.slope, low, high, residual: fit.residual };
    Some(row(first, ALL_SEEDS, ["", ""], Some(&fit), sizes.len() as u64, note))
}

fn row(
    record: &SeriesRecord,
    seed: &str,
    [verdict, outcome]: [&str; 2],
    fit: Option<&FitRecord>,
    sizes: u64,
    note: String,
) -> Vec<String> {
    let of_fit = |part: fn(&FitRecord) -> f64| fit.map_or(String::new(), |fit| shortest(part(fit)));
    let [series, program, mode, input] = parts(record, seed);
    vec![
        series,
        record.metric.clone(),
        verdict.to_string(),
        outcome.to_string(),
        program,
        mode,
        input,
        seed.to_string(),
        shortest(record.expected_slope),
        of_fit(|fit| fit.slope),
        of_fit(|fit| fit.low),
        of_fit(|fit| fit.high),
        of_fit(|fit| fit.residual),
        sizes.to_string(),
        note,
    ]
}

/// The id of a series with this for its seed, its program, mode and input.
fn parts(record: &SeriesRecord, seed: &str) -> [String; 4] {
    let series = &record.series;
    let id = format!("{}/{}/{}/{}/n/{seed}", series.suite, series.program, series.subject, series.input);
    [id, series.program.clone(), series.subject.clone(), series.input.clone()]
}

/// One row a size of a series, sorted by series, metric and size: the value measured, and the fitted power law there
/// with the 95 % confidence interval of the law. All seeds together have a law and no value.
pub(super) fn points(suites: &[SuiteRecord]) -> Vec<Vec<String>> {
    let header = [
        "series",
        "metric",
        "size",
        "program",
        "mode",
        "input",
        "seed",
        "value",
        "fitted",
        "fitted_low",
        "fitted_high",
    ];
    let rows = suites.iter().flat_map(growths).flat_map(|growth| {
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in &growth.seeds {
            let (seed, law) = (record.series.seed, growth.of_seed(record.series.seed));
            let of_seed = growth.points.iter().filter(|point| point.seed == seed);
            rows.extend(of_seed.map(|p| point(record, &seed.to_string(), p.n, Some(p.value), law.as_ref())));
        }
        if let (Some(law), Some(first)) = (&growth.pooled, growth.seeds.first()) {
            let mut sizes: Vec<u64> = growth.points.iter().map(|point| point.n).collect();
            sizes.dedup();
            rows.extend(sizes.into_iter().map(|n| point(first, ALL_SEEDS, n, None, Some(law))));
        }
        rows
    });
    sorted(&header, rows)
}

fn point(record: &SeriesRecord, seed: &str, n: u64, value: Option<f64>, law: Option<&PowerLaw>) -> Vec<String> {
    let number = |value: Option<f64>| value.map_or(String::new(), shortest);
    let interval = law.map(|law| law.interval_at(n));
    let [series, program, mode, input] = parts(record, seed);
    vec![
        series,
        record.metric.clone(),
        n.to_string(),
        program,
        mode,
        input,
        seed.to_string(),
        number(value),
        number(law.map(|law| law.at(n))),
        number(interval.map(|interval| interval.low)),
        number(interval.map(|interval| interval.high)),
    ]
}

/// Rows by series and metric below their header; those of one series and metric stay in their order.
fn sorted(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> Vec<Vec<String>> {
    let mut rows: Vec<Vec<String>> = rows.collect();
    rows.sort_by(|a, b| a[..2].cmp(&b[..2]));
    rows.insert(0, header.iter().map(|name| name.to_string()).collect());
    rows
}
