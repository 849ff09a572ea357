//! Checks over the cases of a series: their plans and their outcomes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check::growth;
use crate::suite::{Expect, Suite};

use super::case_record::{CheckRecord, Record, decimal};
use super::key::{Key, Series};
use super::verdict::Verdict;

/// A growth that a suite asks for: one metric over one series.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SeriesPlan {
    /// The series of cases.
    pub series: Series,
    /// Column of the metric whose growth is fitted.
    pub metric: String,
    /// The slope on log-log axes that theory predicts.
    #[serde(with = "decimal")]
    pub expected_slope: f64,
    /// The outcome that the suite expects.
    pub expect: Expect,
    /// Why the suite expects a finding, or only reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The sizes that a judgement needs: those of all cases of the series that are not slow.
    pub sizes: Vec<u64>,
}

/// The fit of one metric over one series.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SeriesRecord {
    /// The series of cases.
    pub series: Series,
    /// Column of the metric.
    pub metric: String,
    /// The slope on log-log axes that theory predicts.
    #[serde(with = "decimal")]
    pub expected_slope: f64,
    /// The record of the check `growth`.
    pub check: CheckRecord,
    /// `None` where nothing could be fitted; the check's note says why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fit: Option<FitRecord>,
    /// The number of sizes with a finite error above zero: those that a fit uses.
    pub sizes: u64,
}

/// A fitted power law, metric ~ n^slope.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct FitRecord {
    /// The slope on log-log axes: the exponent.
    #[serde(with = "decimal")]
    pub slope: f64,
    /// The lower end of the slope's 95 % interval.
    #[serde(with = "decimal")]
    pub low: f64,
    /// The upper end of the slope's 95 % interval.
    #[serde(with = "decimal")]
    pub high: f64,
    /// The residual standard deviation of the metric's natural logarithm about the line.
    #[serde(with = "decimal")]
    pub residual: f64,
}

impl SeriesPlan {
    /// The growths that a suite asks for, sorted by series and metric.
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

    /// The sizes that a judgement needs and the records have no case of.
    pub fn lacks(&self, records: &[Record]) -> Vec<u64> {
        let is_there = |n: &&u64| records.iter().any(|r| r.key.n == **n && r.key.series() == self.series);
        self.sizes.iter().filter(|n| !is_there(n)).copied().collect()
    }

    /// The answer from a suite's records; `None` if a size of the series is missing, because part of a series says
    /// nothing of its growth.
    pub fn judge(&self, records: &[Record]) -> Option<SeriesRecord> {
        let cases: Vec<&Record> = records.iter().filter(|r| r.key.series() == self.series).collect();
        if cases.is_empty() || !self.lacks(records).is_empty() {
            return None;
        }
        // A size without the figure is told as one that no fit can use.
        let point = |record: &&Record| (record.key.n as f64, record.figure(&self.metric).unwrap_or(f64::NAN));
        let mut points: Vec<(f64, f64)> = cases.iter().map(point).collect();
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
                witnesses: Vec::new(),
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
    /// The verdict on the outcome, given the one that the suite expects.
    pub fn verdict(&self) -> Verdict {
        self.check.verdict()
    }
}
