//! Joins the records of runs that shared the cases of some suites between them.

use std::collections::BTreeMap;

use super::case::Record;
use super::suite::{SuiteHeader, SuiteRecord};

/// Why records do not belong together.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("{a} and {b} are of different texts of the suite {suite}: run both of the same")]
    OtherSuite { suite: String, a: String, b: String },
    #[error("{a} and {b} differ in {case}: they are of different programs, or one of them is damaged")]
    Differs { case: String, a: String, b: String },
    #[error("{missing} of {all} cases of the suite {suite} are missing: add the folder of the part that ran them")]
    Missing { suite: String, missing: u64, all: u64 },
}

/// What has been gathered of one suite, each record with the part that it came from.
struct Gathered<'a> {
    header: &'a SuiteHeader,
    from: &'a str,
    cases: BTreeMap<String, (&'a Record, &'a str)>,
}

/// The records of all parts together, each part beside its name; series are judged anew. The same case may be in several
/// parts if it is the same in all.
///
/// # Errors
/// Parts of different suites of one name, parts that contradict each other, and suites of which a case is in no part.
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
