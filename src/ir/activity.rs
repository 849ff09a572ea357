//! Operations that take long: whoever begins one says so, and whoever watches can tell a person what a program is at.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Elements from which on an operation may take long.
pub const MANY: u128 = 1 << 14;

struct Activity {
    id: u64,
    begun: Instant,
    what: String,
    told: bool,
}

static GOING_ON: Mutex<Vec<Activity>> = Mutex::new(Vec::new());

fn going_on() -> MutexGuard<'static, Vec<Activity>> {
    GOING_ON.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An operation that goes on until this is dropped.
#[must_use]
pub struct Busy(u64);

impl Drop for Busy {
    fn drop(&mut self) {
        going_on().retain(|activity| activity.id != self.0);
    }
}

/// Says that an operation begins, named by what is done.
pub fn begin(what: String) -> Busy {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let id = NEXT.fetch_add(1, Relaxed);
    going_on().push(Activity { id, begun: Instant::now(), what, told: false });
    Busy(id)
}

/// The operation that began last of those that have gone on for so long, if it was not given before. Those around it count as
/// given with it.
pub fn long_one(than: Duration) -> Option<String> {
    let mut all = going_on();
    let mut found = None;
    for activity in all.iter_mut().filter(|activity| !activity.told && activity.begun.elapsed() >= than) {
        activity.told = true;
        found = Some(activity.what.clone());
    }
    found
}

/// The operation that began last of those that go on.
pub fn latest() -> Option<String> {
    going_on().last().map(|activity| activity.what.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_told_once() {
        let _outer = begin("a loop".to_string());
        let inner = begin("its dot".to_string());
        assert_eq!(long_one(Duration::from_secs(3600)), None);
        assert_eq!(long_one(Duration::ZERO), Some("its dot".to_string()));
        assert_eq!(long_one(Duration::ZERO), None);
        drop(inner);
        let _next = begin("another dot".to_string());
        assert_eq!(long_one(Duration::ZERO), Some("another dot".to_string()));
    }
}
