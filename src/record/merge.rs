//! Joins the records of runs that shared the cases of some suites between them.

use std::collections::BTreeMap;

use super::case_record::Record;
use super::suite::{SuiteHeader, SuiteRecord};

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
        /// How many cases no part has.
        missing: u64,
        /// Cases of the suite that are not slow.
        all: u64,
    },
}

/// What has been gathered of one suite, each record with the part that it came from.
struct Gathered<'a> {
    header: &'a SuiteHeader,
    from: &'a str,
    cases: BTreeMap<String, (&'a Record, &'a str)>,
}

/// The records of all parts together, sorted by suite and case; series are judged anew. Each part has the name that
/// errors call it. The same case may be in several parts if its record is the same in all.
///
/// # Errors
/// If parts have suites of one name and different texts, if they contradict each other, or if a case of a suite is in
/// no part.
pub fn merge(parts: &[(String, Vec<SuiteRecord>)]) -> Result<Vec<SuiteRecord>, MergeError> {
    let mut suites: BTreeMap<&str, Gathered> = BTreeMap::new();
    for (from, part) in parts {
        for suite in part {
            let (header, cases) = (&suite.header, BTreeMap::new());
            let gathered = suites.entry(suite.name()).or_insert(Gathered { header, from, cases });
            if gathered.header != header {
                let (suite, a, b) = (header.name.clone(), gathered.from.to_string(), from.clone());
                return Err(MergeError::OtherSuite { suite, a, b });
            }
            for record in &suite.cases {
                let (known, a) = *gathered.cases.entry(record.id()).or_insert((record, from));
                if known != record {
                    return Err(MergeError::Differs { case: record.id(), a: a.to_string(), b: from.clone() });
                }
            }
        }
    }
    let joined = |(name, gathered): (&str, Gathered)| {
        let (all, there) = (gathered.header.cases, gathered.cases.len() as u64);
        if there < all {
            return Err(MergeError::Missing { suite: name.to_string(), missing: all - there, all });
        }
        let cases = gathered.cases.into_values().map(|(record, _)| record.clone()).collect();
        Ok(SuiteRecord::new(gathered.header.clone(), cases))
    };
    suites.into_iter().map(joined).collect()
}
