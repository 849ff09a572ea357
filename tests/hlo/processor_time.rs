//! Processor time of a piece of work, which other processes of the machine do not lengthen as they do the time on the clock.

use std::fs;
use std::time::Instant;

/// Seconds that this thread has computed: by its count of nanoseconds (Linux), elsewhere by the clock.
fn computed(begun: Instant) -> f64 {
    let of_thread = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = of_thread.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    nanoseconds.map_or_else(|| begun.elapsed().as_secs_f64(), |nanoseconds| nanoseconds * 1e-9)
}

/// Seconds that are worth measuring: the system counts a thread's time some milliseconds at a time.
const ENOUGH: f64 = 0.05;

/// The least of three times that this thread computes for some work, in seconds: each the mean over as many runs as take long enough.
pub fn least_seconds(work: impl Fn()) -> f64 {
    let begun = Instant::now();
    let once = || {
        let before = computed(begun);
        for runs in 1.. {
            work();
            let seconds = computed(begun) - before;
            if seconds > ENOUGH {
                return seconds / f64::from(runs);
            }
        }
        f64::INFINITY
    };
    (0..3).map(|_| once()).fold(f64::INFINITY, f64::min)
}
