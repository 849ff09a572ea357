//! `--seconds`: the time that a command may take.

use std::time::{Duration, Instant};

use clap::Args;

use ulpgate_front::deadline;

use super::Failure;

/// The time that a command may take.
#[derive(Args, Clone, Default)]
pub(super) struct Limit {
    /// Seconds that it may take at most, also within an operation: then it says what it was at, and exits with 2
    #[arg(long, value_name = "S")]
    pub seconds: Option<u64>,
}

/// The time so many seconds from now.
pub(super) fn from_now(seconds: Option<u64>) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_secs(seconds?))
}

/// Does work that may take so long.
///
/// # Errors
/// If the time is over before, or the work has an error.
pub(super) fn within<T>(seconds: Option<u64>, work: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    let Some(limit) = seconds else { return work() };
    let fail = |error| Failure::Message(format!("--seconds {limit}: {error}"));
    deadline::until(from_now(seconds), work).map_err(fail)?
}
