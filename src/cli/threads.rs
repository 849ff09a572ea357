//! The threads that share work.

use std::error::Error;

/// More would only wait for each other: 16,384 on two cores take over a minute for nothing.
const MOST: usize = 1024;

/// Starts so many of them, or as many as the processor runs at once or `RAYON_NUM_THREADS` says.
///
/// # Errors
/// If there are to be too many, or one cannot be started: says what limits them.
pub fn start_threads(count: Option<usize>) -> Result<(), String> {
    // A number that is none, or 0, is left to the library, which then takes its own.
    let set = std::env::var("RAYON_NUM_THREADS").ok().and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    let asked = count.map(|count| ("--jobs ", count)).or(set.map(|count| ("RAYON_NUM_THREADS=", count)));
    if let Some((name, count)) = asked.filter(|(_, count)| !(1..=MOST).contains(count)) {
        return Err(format!("{name}{count}: the number of threads is from 1 to {MOST}"));
    }
    let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0)).build_global() else {
        return Ok(());
    };
    // Threads that run already, as in a second command of one process, are as good.
    let Some(why) = error.source() else { return Ok(()) };
    let asked = asked.map_or(String::new(), |(name, count)| format!(", {name}{count}"));
    Err(format!(
        "no thread can be started ({why}{asked}): raise the limit on processes (ulimit -u), or on addresses (ulimit -v)"
    ))
}
