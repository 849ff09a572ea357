//! Deadlines: work that takes long ends when its time is over, within a single operation as well.
//!
//! [`until`] runs work with a deadline. Loops over many elements ask with [`check`], or with [`Pace`] where a step is short, and loops
//! that share their work between threads hand the deadline on ([`current`]). Past it the work is left by unwinding with a payload of
//! its own, which no panic hook sees, so that nothing half done is ever looked at. Where panics abort, nothing is interrupted.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;

use crate::activity;

thread_local! {
    static UNTIL: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The time that was given is over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}the time that was given is over", .during.as_ref().map(|what| format!("{what} was not done: ")).unwrap_or_default())]
pub struct OutOfTime {
    /// The operation that went on then, if it had said that it takes long ([`activity::begin`]).
    pub during: Option<String>,
}

/// The deadline of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Deadline(Option<Instant>);

/// Sets a thread's deadline until this is dropped.
struct Restore(Option<Instant>);

impl Restore {
    fn after(until: Option<Instant>) -> Restore {
        Restore(UNTIL.replace(until))
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        UNTIL.set(self.0);
    }
}

/// Runs work that ends at a time, or at the deadline around it, whichever comes first.
///
/// # Errors
/// If the time is over before the work is done. What it had changed by then is as it was left: it must not be looked at.
pub fn until<T>(at: Option<Instant>, work: impl FnOnce() -> T) -> Result<T, OutOfTime> {
    let outer = UNTIL.get();
    let at = [outer, at].into_iter().flatten().min();
    let _restore = Restore::after(at);
    let done = catch_unwind(AssertUnwindSafe(|| {
        check();
        work()
    }));
    done.map_err(|payload| match payload.downcast::<OutOfTime>() {
        Ok(out_of_time) => *out_of_time,
        Err(panic) => resume_unwind(panic),
    })
}

/// Leaves the work if its deadline is past.
#[inline]
pub fn check() {
    if let Some(until) = UNTIL.get() {
        leave_after(until);
    }
}

#[cold]
#[inline(never)]
fn leave_after(until: Instant) {
    if cfg!(panic = "unwind") && Instant::now() > until {
        resume_unwind(Box::new(OutOfTime { during: activity::latest() }));
    }
}

/// The deadline of this thread, for others that do a part of its work.
pub fn current() -> Deadline {
    Deadline(UNTIL.get())
}

impl Deadline {
    /// Does a part of the work on this thread.
    #[inline]
    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        if self.0.is_none() {
            return work();
        }
        let _restore = Restore::after(self.0);
        check();
        work()
    }
}

/// Asks for the time now and then in a loop of short steps.
#[derive(Debug, Default)]
pub struct Pace {
    spent: usize,
}

impl Pace {
    /// Steps between two looks at the clock: below a millisecond of the cheapest ones.
    const STEPS: usize = 1 << 16;

    /// Counts so many steps of work, each about an addition.
    #[inline]
    pub fn spend(&mut self, steps: usize) {
        self.spent = self.spent.saturating_add(steps);
        if self.spent >= Pace::STEPS {
            self.spent = 0;
            check();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rayon::prelude::*;

    use super::*;

    fn soon() -> Option<Instant> {
        Instant::now().checked_add(Duration::from_millis(30))
    }

    /// Steps for longer than any of these deadlines.
    fn endless() -> u64 {
        let (mut pace, begun, mut count) = (Pace::default(), Instant::now(), 0u64);
        while !count.is_multiple_of(1 << 16) || begun.elapsed() < Duration::from_secs(5) {
            pace.spend(64);
            count = std::hint::black_box(count.wrapping_add(1));
        }
        count
    }

    #[test]
    fn a_loop_ends_at_its_deadline_and_not_before() {
        assert_eq!(until(None, || 3), Ok(3));
        assert_eq!(until(Instant::now().checked_add(Duration::from_secs(3600)), || 3), Ok(3));
        let begun = Instant::now();
        assert!(until(soon(), endless).is_err());
        assert!(begun.elapsed() >= Duration::from_millis(30));
        assert!(until(Some(begun), || 3).is_err(), "a deadline that is past already");
        // Behind it there is none any more.
        check();
    }

    #[test]
    fn the_nearest_deadline_counts() {
        let far = Instant::now().checked_add(Duration::from_secs(3600));
        assert!(until(soon(), || until(far, endless)).is_ok_and(|inner| inner.is_err()));
        assert_eq!(until(far, || until(soon(), endless).is_err()), Ok(true));
    }

    #[test]
    fn threads_that_share_work_share_its_deadline() {
        let shared = || {
            let deadline = current();
            (0..4).into_par_iter().map(|_| deadline.within(endless)).sum::<u64>()
        };
        assert!(until(soon(), shared).is_err());
        let after = (0..64).into_par_iter().map(|_| UNTIL.get().is_some()).collect::<Vec<bool>>();
        assert!(!after.contains(&true), "a thread of the pool has kept it");
    }

    #[test]
    fn a_panic_is_none() {
        let panicked = catch_unwind(AssertUnwindSafe(|| until(soon(), || -> u64 { resume_unwind(Box::new("other")) })));
        assert!(panicked.is_err_and(|payload| payload.is::<&str>()));
    }

    #[test]
    fn the_operation_is_named() {
        let during = |work: &dyn Fn() -> u64| until(soon(), work).map_err(|error| error.to_string());
        let busy = || {
            let _busy = activity::begin("deadline.1 (sort, f32[9])".to_string());
            endless()
        };
        let told = during(&busy).unwrap_err();
        assert!(told.ends_with("was not done: the time that was given is over"), "{told}");
    }
}
