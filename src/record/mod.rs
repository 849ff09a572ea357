//! What is known after cases ran: typed records that reports, the gate and other programs read, kept in files that can be
//! rendered again and merged. Nothing here evaluates.
//!
//! A [`SuiteRecord`] holds one [`Record`] a case and one [`SeriesRecord`] a fitted growth. [`write_folder`] and
//! [`read_folder`] keep them as lines of JSON, [`merge`] joins those of several machines, and [`Verdict`] is what each
//! comes to.

mod case_record;
mod jsonl;
mod key;
mod merge;
mod series;
mod suite;
mod verdict;

pub use case_record::{CheckRecord, Figure, Nonconforming, Record, shortest};
pub use jsonl::{FileError, read_folder, write_folder};
pub use key::{Key, Series};
pub use merge::{MergeError, merge};
pub use series::{FitRecord, SeriesPlan, SeriesRecord};
pub use suite::{SuiteHeader, SuiteRecord};
pub use verdict::Verdict;
