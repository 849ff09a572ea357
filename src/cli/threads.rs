//! The threads that share work.

use std::error::Error;

/// More would only wait for each other: 16,384 on two cores take over a minute for nothing.
const MOST: usize = 1024;

/// The number of threads that is asked for, and the name that asks: a flag's before the environment's. `None` where nothing asks, or the
/// environment's text is no number or 0: the library then takes its own.
///
/// # Errors
/// If more are asked for than any machine runs, or a flag asks for none.
fn asked_threads(flag: Option<usize>, environment: Option<&str>) -> Result<Option<(&'static str, usize)>, String> {
    let set = environment.and_then(|text| text.parse().ok()).filter(|count| *count > 0);
    let asked = flag.map(|count| ("--jobs ", count)).or(set.map(|count| ("RAYON_NUM_THREADS=", count)));
    match asked.filter(|(_, count)| !(1..=MOST).contains(count)) {
        Some((name, count)) => Err(format!("{name}{count}: the number of threads is from 1 to {MOST}")),
        None => Ok(asked),
    }
}

/// Starts so many of them, or as many as the processor runs at once or `RAYON_NUM_THREADS` says.
///
/// # Errors
/// If there are to be too many, or one cannot be started: says what limits them.
pub fn start_threads(count: Option<usize>) -> Result<(), String> {
    let set = std::env::var("RAYON_NUM_THREADS").ok();
    let asked = asked_threads(count, set.as_deref())?;
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

#[cfg(test)]
mod tests {
    use super::asked_threads;

    #[test]
    fn more_than_any_machine_runs_are_refused_whoever_asks() {
        let told = |count: usize, name: &str| Err(format!("{name}{count}: the number of threads is from 1 to 1024"));
        for count in [1025, 99_999, usize::MAX] {
            assert_eq!(asked_threads(Some(count), None), told(count, "--jobs "));
            assert_eq!(asked_threads(None, Some(&count.to_string())), told(count, "RAYON_NUM_THREADS="));
            assert_eq!(
                asked_threads(Some(2), Some(&count.to_string())),
                Ok(Some(("--jobs ", 2))),
                "the flag goes first"
            );
        }
        assert_eq!(asked_threads(Some(0), Some("4")), told(0, "--jobs "));
        for count in [1, 4, 1024] {
            assert_eq!(asked_threads(Some(count), None), Ok(Some(("--jobs ", count))));
            assert_eq!(asked_threads(None, Some(&count.to_string())), Ok(Some(("RAYON_NUM_THREADS=", count))));
        }
        for nothing in [None, Some("0"), Some("many"), Some("")] {
            assert_eq!(asked_threads(None, nothing), Ok(None), "{nothing:?}");
        }
    }
}
