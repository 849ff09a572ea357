//! The records of one suite.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::suite::{Asked, Suite};

use super::case_record::Record;
use super::case_set::CaseSet;
use super::made_by::Build;
use super::series::{SeriesPlan, SeriesRecord};
use super::verdict::Verdict;

/// A suite with the records of its cases and series.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteRecord {
    /// The suite's description, with its cases and growths.
    pub header: SuiteHeader,
    /// The run that the records are of, or one of whose parts.
    pub origin: Origin,
    /// Sorted by the cases' ids.
    pub cases: Vec<Record>,
    /// Sorted by series and metric.
    pub series: Vec<SeriesRecord>,
}

/// The description of a suite by itself, without its cases. Records of one suite belong together only if their headers
/// are equal.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct SuiteHeader {
    /// The stem of the suite's file, and of its reports.
    pub name: String,
    /// The one sentence that the suite tests.
    pub claim: String,
    /// Why the claim matters.
    pub why: String,
    /// From where it is known.
    pub source: String,
    /// [`Suite::fingerprints`] of its own file and of those it names, as 16 hex digits.
    pub fingerprints: BTreeMap<String, String>,
    /// The cases that are not slow.
    pub cases: CaseSet,
    /// The slow ones.
    pub slow: CaseSet,
    /// The growths that are asked of its series.
    pub series: Vec<SeriesPlan>,
}

/// The run that records are of. All its parts have the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The build that made the records.
    pub build: Build,
    /// The cases that the run was to have.
    pub asked: Asked,
    /// These cases of the suite, those of all parts together.
    pub wanted: CaseSet,
}

impl Origin {
    /// The origin of a suite's records that this build makes.
    pub fn of(suite: &Suite, asked: &Asked) -> Origin {
        let wanted = suite.cases.iter().filter(|case| asked.takes(case)).map(|case| &case.id);
        Origin { build: Build::current(), asked: asked.clone(), wanted: CaseSet::of(wanted) }
    }
}

impl SuiteHeader {
    /// The header of a suite.
    pub fn of(suite: &Suite) -> SuiteHeader {
        let cases = |slow: bool| CaseSet::of(suite.cases.iter().filter(|case| case.slow == slow).map(|case| &case.id));
        SuiteHeader {
            name: suite.name.clone(),
            claim: suite.claim.clone(),
            why: suite.why.clone(),
            source: suite.source.clone(),
            fingerprints: suite
                .fingerprints
                .iter()
                .map(|(file, hash)| (file.clone(), format!("{hash:016x}")))
                .collect(),
            cases: cases(false),
            slow: cases(true),
            series: SeriesPlan::all_of(suite),
        }
    }
}

impl SuiteRecord {
    /// Puts the records of a suite's cases in order and judges its series.
    pub fn new(header: SuiteHeader, origin: Origin, mut cases: Vec<Record>) -> SuiteRecord {
        cases.sort_by_cached_key(Record::id);
        let series = header.series.iter().filter_map(|plan| plan.judge(&cases)).collect();
        SuiteRecord { header, origin, cases, series }
    }

    /// All suites in their order, each with those of the records that are its own, which may be none; `asked` says
    /// of which cases the run was.
    pub fn all_of(suites: &[Suite], records: Vec<Record>, asked: &Asked) -> Vec<SuiteRecord> {
        let mut of: BTreeMap<String, Vec<Record>> = BTreeMap::new();
        for record in records {
            of.entry(record.key.suite.clone()).or_default().push(record);
        }
        let record = |suite: &Suite| {
            let cases = of.remove(&suite.name).unwrap_or_default();
            SuiteRecord::new(SuiteHeader::of(suite), Origin::of(suite, asked), cases)
        };
        suites.iter().map(record).collect()
    }

    /// The ids of the cases.
    pub fn case_set(&self) -> CaseSet {
        CaseSet::of(self.cases.iter().map(Record::id))
    }

    /// The suite's name: the stem of its file.
    pub fn name(&self) -> &str {
        &self.header.name
    }

    /// The number of cases that nothing judges: they have no check, and no growth of their series was judged.
    pub fn only_measured(&self) -> usize {
        let judged: BTreeSet<String> = self.series.iter().map(|record| record.series.to_string()).collect();
        let is_alone = |case: &&Record| case.checks.is_empty() && !judged.contains(&case.key.series().to_string());
        self.cases.iter().filter(is_alone).count()
    }

    /// The verdicts of all cases and series.
    pub fn verdicts(&self) -> impl Iterator<Item = Verdict> + '_ {
        self.cases.iter().map(Record::verdict).chain(self.series.iter().map(SeriesRecord::verdict))
    }
}
