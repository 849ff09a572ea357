//! Checks over the cases of a series: what is asked, and what came of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::growth;
use crate::suite::{Expect, Suite};

use super::case::{CheckRecord, Record, decimal};
use super::key::{Key, Series};
use super::verdict::Verdict;

/// A growth that a suite asks for. Cases of one series share it.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SeriesPlan {
    pub series: Series,
    /// Column of the metric whose growth is fitted.
    pub metric: String,
    #[serde(with = "decimal")]
    pub expected_slope: f64,
    pub expect: Expect,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The sizes without which nothing is said: those of all cases that are not slow.
    pub sizes: Vec<u64>,
}

/// The fit of one metric over one series.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SeriesRecord {
    pub series: Series,
    /// Column of the metric.
    pub metric: String,
    #[serde(with = "decimal")]
    pub expected_slope: f64,
    pub check: CheckRecord,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitRecord>,
    /// Sizes that the fit used.
    pub sizes: u64,
}

/// A power law: the slope with its 95 % interval, and the residual standard deviation of the metric's logarithm.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FitRecord {
    #[serde(with = "decimal")]
    pub slope: f64,
    #[serde(with = "decimal")]
    pub low: f64,
    #[serde(with = "decimal")]
    pub high: f64,
    #[serde(with = "decimal")]
    pub residual: f64,
}

impl SeriesPlan {
    /// What a suite asks of its series, sorted by series and metric.
    pub fn all_of(suite: &Suite) -> Vec<SeriesPlan> {
        let mut plans: BTreeMap<(String, String), SeriesPlan> = BTreeMap::new();
        for case in &suite.cases {
            let key = Key::of(case);
            for fit in &case.fits {
                let series = key.series();
                let plan = plans.entry((series.to_string(), fit.metric.clone())).or_insert_with(|| SeriesPlan {
                    series,
                    metric: fit.metric.clone(),
                    expected_slope: fit.slope,
                    expect: fit.expect,
                    because: fit.because.clone(),
                    sizes: Vec::new(),
                });
                if !case.slow {
                    plan.sizes.push(key.n);
                }
            }
        }
        plans.into_values().collect()
    }

    /// The answer, once all sizes are there: part of a series says nothing of its growth.
    pub fn judge(&self, records: &[Record]) -> Option<SeriesRecord> {
        let cases: Vec<&Record> = records.iter().filter(|r| r.key.series() == self.series).collect();
        if cases.is_empty() || !self.sizes.iter().all(|n| cases.iter().any(|r| r.key.n == *n)) {
            return None;
        }
        let point = |record: &&Record| Some((record.key.n as f64, record.figure(&self.metric)?));
        let mut points: Vec<(f64, f64)> = cases.iter().filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let judged = growth::judge(&points, self.expected_slope);
        Some(SeriesRecord {
            series: self.series.clone(),
            metric: self.metric.clone(),
            expected_slope: self.expected_slope,
            check: CheckRecord {
                check: growth::NAME.to_string(),
                setting: None,
                outcome: judged.outcome,
                expect: self.expect,
                because: self.because.clone(),
                note: judged.note,
                evidence: Vec::new(),
            },
            fit: judged.fit.map(|fit| FitRecord {
                slope: fit.slope,
                low: fit.slope_interval.low,
                high: fit.slope_interval.high,
                residual: fit.residual,
            }),
            sizes: judged.used as u64,
        })
    }
}

impl SeriesRecord {
    pub fn verdict(&self) -> Verdict {
        self.check.verdict()
    }
}
