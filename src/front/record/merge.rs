//! Joins the records of runs that shared the cases of some suites between them.

use std::collections::BTreeMap;

use crate::suite::Asked;

use super::case_record::Record;
use super::case_set::CaseSet;
use super::made_by::Build;
use super::suite::{Origin, SuiteHeader, SuiteRecord};

/// Why records do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// Two parts have a suite of one name and different texts.
    #[error("{a} and {b} are of different texts of the suite {suite}: run both of the same")]
    OtherSuite {
        /// The suite's name.
        suite: String,
        /// The part that came first, by the name given to [`merge`].
        a: String,
        /// The part that has another text.
        b: String,
    },
    /// Two parts, or a part and this program, are of different builds.
    #[error("{a} is of {of_a} and {b} of {of_b}, which may compute other results: run all parts with one build")]
    OtherBuild {
        /// The part that came first, by the name given to [`merge`].
        a: String,
        /// The build that made it.
        of_a: Box<Build>,
        /// The other part, or `this program`.
        b: String,
        /// The build that made that.
        of_b: Box<Build>,
    },
    /// Two parts have different records of one case.
    #[error("{a} and {b} differ in {case}: they are of different programs, or one of them is damaged")]
    Differs {
        /// The case's id.
        case: String,
        /// The part that came first, by the name given to [`merge`].
        a: String,
        /// The part that has another record.
        b: String,
    },
    /// No part ran some of a suite's cases.
    #[error("{missing} of {all} cases of the suite {suite} are missing: add the folder of the part that ran them")]
    Missing {
        /// The suite's name.
        suite: String,
        /// The number of cases that no part has.
        missing: u64,
        /// Cases that there should be: those that the parts were asked for, or all of the suite.
        all: u64,
    },
    /// The parts have cases that they were not asked for.
    #[error(
        "the {there} cases of the suite {suite} are not the {all} that its parts were asked for: one of them is damaged"
    )]
    OtherCases {
        /// The suite's name.
        suite: String,
        /// The number of cases that the parts have together.
        there: u64,
        /// The number that there should be.
        all: u64,
    },
}

/// The records gathered for one suite, each with the part that it came from.
struct GatheredRecords<'a> {
    header: &'a SuiteHeader,
    from: &'a str,
    /// One a part that has the suite.
    origins: Vec<&'a Origin>,
    cases: BTreeMap<String, (&'a Record, &'a str)>,
}

/// The records of all parts together, sorted by suite and case; series are judged anew. Each part has the name that
/// errors call it. The same case may be in several parts if its record is the same in all.
///
/// Parts of one run have together the cases that the run was asked for. Parts that were asked for different ones have
/// all cases of the suite, the slow ones too if one was asked for these.
///
/// # Errors
/// If parts are of different builds, or of another one than this, have suites of one name and different texts, or
/// contradict each other; or if their cases are not those that there should be.
pub fn merge(parts: &[(String, Vec<SuiteRecord>)]) -> Result<Vec<SuiteRecord>, MergeError> {
    same_build(parts)?;
    let mut suites: BTreeMap<&str, GatheredRecords> = BTreeMap::new();
    for (from, part) in parts {
        for suite in part {
            let (header, origins, cases) = (&suite.header, Vec::new(), BTreeMap::new());
            let gathered = suites.entry(suite.name()).or_insert(GatheredRecords { header, from, origins, cases });
            if gathered.header != header {
                let (suite, a, b) = (header.name.clone(), gathered.from.to_string(), from.clone());
                return Err(MergeError::OtherSuite { suite, a, b });
            }
            gathered.origins.push(&suite.origin);
            for record in &suite.cases {
                let (known, a) = *gathered.cases.entry(record.id()).or_insert((record, from));
                if known != record {
                    return Err(MergeError::Differs { case: record.id(), a: a.to_string(), b: from.clone() });
                }
            }
        }
    }
    let joined = |(name, gathered): (&str, GatheredRecords)| {
        let origin = gathered.origin();
        let (there, wanted) = (CaseSet::of(gathered.cases.keys()), origin.wanted);
        let (suite, all) = (name.to_string(), wanted.count);
        if there.count < all {
            return Err(MergeError::Missing { suite, missing: all - there.count, all });
        }
        if there != wanted {
            return Err(MergeError::OtherCases { suite, there: there.count, all });
        }
        let cases = gathered.cases.into_values().map(|(record, _)| record.clone()).collect();
        Ok(SuiteRecord::new(gathered.header.clone(), origin, cases))
    };
    suites.into_iter().map(joined).collect()
}

impl GatheredRecords<'_> {
    /// The run that all parts are of; of parts of several runs one that has all cases.
    fn origin(&self) -> Origin {
        let first = self.origins.first().filter(|first| self.origins.iter().all(|other| other == *first));
        if let Some(origin) = first {
            return Origin::clone(origin);
        }
        let slow = self.origins.iter().any(|origin| origin.asked.slow);
        let (usual, slow_ones) = (self.header.cases, if slow { self.header.slow } else { CaseSet::default() });
        Origin { build: Build::current(), asked: Asked { filter: None, slow }, wanted: usual.plus(slow_ones) }
    }
}

/// Holds all parts to be of one build, and that to be this one, which judges the series.
fn same_build(parts: &[(String, Vec<SuiteRecord>)]) -> Result<(), MergeError> {
    let builds = || parts.iter().flat_map(|(from, part)| part.iter().map(move |suite| (from, &suite.origin.build)));
    let this = Build::current();
    let Some((a, of_a)) = builds().next() else { return Ok(()) };
    let other = builds().find(|(_, build)| *build != of_a).map(|(b, of_b)| (b.clone(), of_b));
    let other = other.or_else(|| (*of_a != this).then(|| ("this program".to_string(), &this)));
    match other {
        Some((b, of_b)) => {
            let [of_a, of_b] = [of_a, of_b].map(|build| Box::new(build.clone()));
            Err(MergeError::OtherBuild { a: a.clone(), of_a, b, of_b })
        }
        None => Ok(()),
    }
}
