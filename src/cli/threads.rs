//! The threads that share work.

use std::error::Error;

/// Starts so many of them, or as many as the processor runs at once or `RAYON_NUM_THREADS` says.
///
/// # Errors
/// If one cannot be started: says what limits them.
pub fn start_threads(count: Option<usize>) -> Result<(), String> {
    // 0 asks for one thread a core.
    let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(count.unwrap_or(0)).build_global() else {
        return Ok(());
    };
    // Threads that run already, as in a second command of one process, are as good.
    let Some(why) = error.source() else { return Ok(()) };
    let asked = match (count, std::env::var("RAYON_NUM_THREADS")) {
        (Some(count), _) => format!(", --jobs {count}"),
        (None, Ok(count)) => format!(", RAYON_NUM_THREADS={count}"),
        (None, Err(_)) => String::new(),
    };
    Err(format!(
        "no thread can be started ({why}{asked}): raise the limit on processes (ulimit -u), or on addresses (ulimit -v)"
    ))
}
