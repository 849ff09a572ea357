//! Growths: a metric over the sizes of a series, with the seeds of the series together.

use std::collections::BTreeMap;

use crate::check::growth;
use crate::record::{Key, Record, Series, SeriesRecord, SuiteRecord};
use crate::stat::{Fit, Interval};

/// One metric over the sizes of a series, whatever the seed.
pub struct MetricGrowth<'a> {
    /// The plan and the outcome of each seed, in the order of the seeds.
    pub seeds: Vec<&'a SeriesRecord>,
    /// The measured values, sorted by size and seed.
    pub points: Vec<GrowthPoint>,
    /// The power law through the points of all seeds; `None` where there are too few, or one seed alone was asked for.
    pub pooled: Option<PowerLaw>,
}

/// One measured value of a growth.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GrowthPoint {
    /// The size.
    pub n: u64,
    /// The seed of the case.
    pub seed: u64,
    /// The metric; zero and infinity are not fitted.
    pub value: f64,
}

impl GrowthPoint {
    /// Whether a fit uses the point: on log-log axes zero and infinity have no place.
    pub fn is_fitted(&self) -> bool {
        self.value > 0.0 && self.value.is_finite()
    }
}

/// A fitted power law, `value = exp(intercept) * n^slope`.
#[derive(Clone, Debug, PartialEq)]
pub struct PowerLaw {
    /// The line through the logarithms.
    pub fit: Fit,
    /// The mean of ln n over the points.
    mean: f64,
    /// The sum of squares of ln n about that mean.
    spread: f64,
}

impl PowerLaw {
    /// The law through points; `None` where [`growth::judge`] fits nothing.
    fn through(points: &[GrowthPoint]) -> Option<PowerLaw> {
        let pairs: Vec<(f64, f64)> = points.iter().map(|p| (p.n as f64, p.value)).collect();
        let fit = growth::judge(&pairs, 0.0).fit?;
        let drawn = points.iter().filter(|p| p.is_fitted());
        let logs: Vec<f64> = drawn.map(|p| core_math::log(p.n as f64)).collect();
        let mean = logs.iter().sum::<f64>() / logs.len() as f64;
        let spread = logs.iter().map(|x| (x - mean) * (x - mean)).sum();
        Some(PowerLaw { fit, mean, spread })
    }

    /// The value of the law at a size.
    pub fn at(&self, n: u64) -> f64 {
        core_math::exp(self.fit.intercept + self.fit.slope * core_math::log(n as f64))
    }

    /// A law of another slope at a size, which meets this one at the middle of its sizes (the mean of ln n).
    pub fn with_slope(&self, slope: f64, n: u64) -> f64 {
        let middle = self.fit.intercept + self.fit.slope * self.mean;
        core_math::exp(middle + slope * (core_math::log(n as f64) - self.mean))
    }

    /// The 95 % confidence interval of the law at a size. Source: Draper and Smith, Applied Regression Analysis, 3rd
    /// ed.,
    /// 3.1: `t s sqrt(1/points + (x - mean)^2 / spread)`, where the slope's interval is `t s / sqrt(spread)`.
    pub fn interval_at(&self, n: u64) -> Interval {
        let slope = (self.fit.slope_interval.high - self.fit.slope_interval.low) / 2.0;
        let away = core_math::log(n as f64) - self.mean;
        let half = slope * (self.spread / self.fit.points as f64 + away * away).sqrt();
        let middle = self.fit.intercept + self.fit.slope * core_math::log(n as f64);
        Interval { low: core_math::exp(middle - half), high: core_math::exp(middle + half) }
    }
}

impl MetricGrowth<'_> {
    /// The series, of which all but the seed is common.
    pub fn series(&self) -> Option<&Series> {
        self.seeds.first().map(|record| &record.series)
    }

    /// The law through the points of one seed.
    pub fn of_seed(&self, seed: u64) -> Option<PowerLaw> {
        PowerLaw::through(&self.points.iter().copied().filter(|p| p.seed == seed).collect::<Vec<_>>())
    }

    /// The law through all points: the pooled one, or that of the only seed.
    pub fn law(&self) -> Option<PowerLaw> {
        self.pooled.clone().or_else(|| PowerLaw::through(&self.points))
    }
}

/// The growths that a suite asks for, sorted by series and metric.
pub fn growths<'a>(suite: &'a SuiteRecord) -> Vec<MetricGrowth<'a>> {
    let mut seeds: BTreeMap<(Series, &str), Vec<&SeriesRecord>> = BTreeMap::new();
    for record in &suite.series {
        let any = Series { seed: 0, ..record.series.clone() };
        seeds.entry((any, &record.metric)).or_default().push(record);
    }
    let mut cases: BTreeMap<Series, Vec<&Record>> = BTreeMap::new();
    for record in &suite.cases {
        cases.entry(record.key.series()).or_default().push(record);
    }
    let growth = |((_, metric), mut seeds): ((Series, &'a str), Vec<&'a SeriesRecord>)| {
        seeds.sort_by_key(|record| record.series.seed);
        let of_seed = |record: &&SeriesRecord| cases.get(&record.series).into_iter().flatten().copied();
        let point = |record: &Record| {
            let Key { n, seed, .. } = record.key;
            Some(GrowthPoint { n, seed, value: record.figure(metric)? })
        };
        let mut points: Vec<GrowthPoint> = seeds.iter().flat_map(of_seed).filter_map(point).collect();
        points.sort_by_key(|point| (point.n, point.seed));
        let pooled = if seeds.len() > 1 { PowerLaw::through(&points) } else { None };
        MetricGrowth { seeds, points, pooled }
    };
    seeds.into_iter().map(growth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of `2 sqrt(n)`, twice as high and half as high by turns, and one of zero.
    fn points() -> Vec<GrowthPoint> {
        let point = |(at, n): (usize, u64)| {
            let away = if at % 2 == 0 { 2.0 } else { 0.5 };
            GrowthPoint { n, seed: (at % 2) as u64, value: 2.0 * (n as f64).sqrt() * away }
        };
        let mut points: Vec<GrowthPoint> = [16, 16, 64, 64, 256, 256].into_iter().enumerate().map(point).collect();
        points.push(GrowthPoint { n: 1024, seed: 0, value: 0.0 });
        points
    }

    #[test]
    fn a_law_goes_through_the_middle_of_its_points() {
        let law = PowerLaw::through(&points()).unwrap();
        let near = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
        near(law.fit.slope, 0.5);
        near(law.at(64), 16.0);
        // The middle of the sizes is 64: a zero is not fitted.
        near(law.with_slope(1.0, 64), 16.0);
        near(law.with_slope(1.0, 256), 64.0);
    }

    #[test]
    fn the_interval_of_a_law_is_narrowest_in_the_middle() {
        let law = PowerLaw::through(&points()).unwrap();
        let half = |n: u64| {
            let Interval { low, high } = law.interval_at(n);
            core_math::log(high / low) / 2.0
        };
        // s^2 = 6 ln(2)^2 / 4 over 6 points; Student's t for 4 degrees of freedom is 2.776.
        let s = core_math::log(2.0) * 1.5f64.sqrt();
        assert!((half(64) - 2.776 * s / 6f64.sqrt()).abs() < 1e-3, "{}", half(64));
        let away = core_math::log(4.0);
        let at_end = 2.776 * s * (1.0 / 6.0 + away * away / (4.0 * away * away)).sqrt();
        assert!((half(256) - at_end).abs() < 1e-3 && (half(16) - at_end).abs() < 1e-3, "{} {at_end}", half(256));
    }
}
