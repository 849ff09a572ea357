//! Growth over the cases of a series.

use std::collections::BTreeMap;

use crate::check::Outcome;
use crate::check::growth;
use crate::suite::{Case, Expect, Suite};

use super::record::{Record, Verdict};

/// The fit of one metric over one series.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRecord {
    /// The series' id, with `n` in the place of the size.
    pub series: String,
    pub suite: String,
    pub metric: String,
    pub expected_slope: f64,
    pub outcome: Outcome,
    pub expect: Expect,
    pub because: Option<String>,
    /// Slope with its 95 % interval, and the residual standard deviation of log metric.
    pub slope: Option<[f64; 3]>,
    pub residual: Option<f64>,
    /// Sizes that the fit used.
    pub sizes: usize,
    pub note: String,
}

impl FitRecord {
    pub fn verdict(&self) -> Verdict {
        Verdict::of(self.outcome, self.expect)
    }
}

/// Sizes with their metric, and the fit that one of the cases plans.
struct Series<'a> {
    points: Vec<(f64, f64)>,
    case: &'a Case,
    at: usize,
    /// Cases of the series, and those of them that ran.
    planned: usize,
    ran: usize,
}

/// All fits that the suites ask for, over the records at hand, sorted by series and metric.
pub fn fits(suites: &[Suite], records: &[Record]) -> Vec<FitRecord> {
    let by_id: BTreeMap<&str, &Record> = records.iter().map(|r| (r.case.as_str(), r)).collect();
    // Cases of one series share their fits.
    let mut series: BTreeMap<(String, String), Series> = BTreeMap::new();
    for case in suites.iter().flat_map(|s| &s.cases) {
        let record = by_id.get(case.id.as_str());
        for (at, fit) in case.fits.iter().enumerate() {
            let key = (case.series(), fit.metric.clone());
            let series =
                series.entry(key).or_insert_with(|| Series { points: Vec::new(), case, at, planned: 0, ran: 0 });
            series.planned += usize::from(!case.slow || record.is_some());
            series.ran += usize::from(record.is_some());
            if let Some(value) = record.and_then(|r| r.figure(&fit.metric)) {
                series.points.push((case.subject.n as f64, value));
            }
        }
    }
    let mut fits = Vec::new();
    for ((series, metric), Series { mut points, case, at, planned, ran }) in series {
        // Part of a series says nothing of its growth.
        if ran < planned {
            continue;
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let planned = &case.fits[at];
        let judged = growth::judge(&points, planned.slope);
        fits.push(FitRecord {
            series,
            suite: case.subject.suite.clone(),
            metric,
            expected_slope: planned.slope,
            outcome: judged.outcome,
            expect: planned.expect,
            because: planned.because.clone(),
            slope: judged.fit.as_ref().map(|f| [f.slope, f.slope_interval.low, f.slope_interval.high]),
            residual: judged.fit.as_ref().map(|f| f.residual),
            sizes: judged.used,
            note: judged.note,
        });
    }
    fits
}
