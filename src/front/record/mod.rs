//! Records of cases: typed results that reports, the gate and other programs read, kept in files that can be rendered
//! again and merged. Nothing here evaluates.
//!
//! A [`SuiteRecord`] holds one [`Record`] a case and one [`SeriesRecord`] a fitted growth. [`write_folder`] and
//! [`read_folder`] keep them as lines of JSON with the [`Build`] that made them, [`merge`] joins those of several
//! machines, and each has a [`Verdict`].

mod case_record;
mod case_set;
mod jsonl;
mod key;
mod made_by;
mod merge;
mod series;
mod suite;
mod verdict;

pub use case_record::{CheckRecord, Figure, Nonconforming, Record, shortest};
pub use case_set::CaseSet;
pub use jsonl::{FileError, read_folder, write_folder};
pub use key::{Key, Series};
pub use made_by::Build;
pub use merge::{MergeError, merge};
pub use series::{FitRecord, SeriesPlan, SeriesRecord};
pub use suite::{Origin, SuiteHeader, SuiteRecord};
pub use verdict::Verdict;
