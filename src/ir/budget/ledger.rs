//! Memory of arrays that threads hold, added up.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use crate::deadline;

/// The time after which a thread that waits looks again at its deadline and at the memory of the system.
const OFTEN: Duration = Duration::from_millis(50);

/// Bytes by the thread that holds them.
#[derive(Debug)]
pub(super) struct Ledger {
    held: OnceLock<Mutex<HashMap<ThreadId, Holder>>>,
    released: Condvar,
}

/// A thread that holds memory.
#[derive(Clone, Copy, Debug, Default)]
struct Holder {
    bytes: u128,
    /// Whether it waits for others.
    waits: bool,
}

/// Memory that a thread holds until this is dropped.
#[derive(Debug)]
#[must_use = "what is held is given back where this is dropped"]
pub struct Reserved(Option<(&'static Ledger, ThreadId, u128)>);

impl Reserved {
    /// Holds nothing: for what is too little to be asked for.
    pub const fn empty() -> Reserved {
        Reserved(None)
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if let Some((ledger, thread, bytes)) = self.0 {
            ledger.release(thread, bytes);
        }
    }
}

impl Ledger {
    /// Nobody holds anything.
    pub(super) const fn new() -> Ledger {
        Ledger { held: OnceLock::new(), released: Condvar::new() }
    }

    fn held(&self) -> MutexGuard<'_, HashMap<ThreadId, Holder>> {
        self.held.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes so many bytes of what is `free` (`None`: nobody knows), once others leave as many. What this thread holds already does
    /// not count: it is laid out by now, or is what these bytes are a part of.
    ///
    /// # Errors
    /// The bytes that there are for it, if it does not fit, if all others wait as well, or if they hold on for longer than `patience`.
    pub(super) fn take(
        &'static self,
        bytes: u128,
        free: &dyn Fn() -> Option<u128>,
        patience: Duration,
    ) -> Result<Reserved, u128> {
        let (own, begun) = (thread::current().id(), Instant::now());
        let mut held = self.held();
        loop {
            let others = || held.iter().filter(|(thread, holder)| **thread != own && holder.bytes > 0);
            let of_others = others().fold(0u128, |sum, (_, holder)| sum.saturating_add(holder.bytes));
            match free() {
                Some(free) if bytes > free => return Err(free),
                Some(free) if bytes.saturating_add(of_others) > free => {
                    if others().all(|(_, holder)| holder.waits) || begun.elapsed() > patience {
                        return Err(free.saturating_sub(of_others));
                    }
                }
                _ => {
                    let holder = held.entry(own).or_default();
                    holder.bytes = holder.bytes.saturating_add(bytes);
                    return Ok(Reserved(Some((self, own, bytes))));
                }
            }
            if let Some(holder) = held.get_mut(&own) {
                holder.waits = true;
            }
            // Somebody else may be all that this one waited for.
            self.released.notify_all();
            held = self.released.wait_timeout(held, OFTEN).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(holder) = held.get_mut(&own) {
                holder.waits = false;
            }
            drop(held);
            deadline::check();
            held = self.held();
        }
    }

    fn release(&self, thread: ThreadId, bytes: u128) {
        let mut held = self.held();
        if let Some(holder) = held.get_mut(&thread) {
            holder.bytes = holder.bytes.saturating_sub(bytes);
            if holder.bytes == 0 {
                held.remove(&thread);
            }
        }
        self.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;

    const LONG: Duration = Duration::from_secs(20);

    fn hundred() -> Option<u128> {
        Some(100)
    }

    #[test]
    fn what_fits_alone_and_not_together_takes_turns() {
        static LEDGER: Ledger = Ledger::new();
        static AT_ONCE: AtomicUsize = AtomicUsize::new(0);
        static MOST: AtomicUsize = AtomicUsize::new(0);
        let turn = || {
            for _ in 0..20 {
                let reserved = LEDGER.take(60, &hundred, LONG).map_err(|free| free.to_string()).unwrap();
                MOST.fetch_max(AT_ONCE.fetch_add(1, SeqCst) + 1, SeqCst);
                thread::sleep(Duration::from_micros(200));
                AT_ONCE.fetch_sub(1, SeqCst);
                drop(reserved);
            }
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(turn))));
        assert_eq!(MOST.load(SeqCst), 1);
        assert!(LEDGER.held().is_empty());
    }

    #[test]
    fn what_fits_together_waits_for_nobody() {
        static LEDGER: Ledger = Ledger::new();
        let _one = LEDGER.take(40, &hundred, LONG).unwrap_or_else(|free| panic!("{free}"));
        let other = thread::spawn(|| LEDGER.take(60, &hundred, Duration::ZERO).is_ok());
        assert!(other.join().unwrap());
    }

    #[test]
    fn what_never_fits_is_refused_at_once() {
        static LEDGER: Ledger = Ledger::new();
        assert_eq!(LEDGER.take(101, &hundred, LONG).err(), Some(100));
        assert!(LEDGER.take(u128::MAX, &|| None, LONG).is_ok());
    }

    #[test]
    fn who_holds_on_for_long_is_not_waited_for() {
        static LEDGER: Ledger = Ledger::new();
        let _held = LEDGER.take(60, &hundred, LONG).unwrap_or_else(|free| panic!("{free}"));
        let other = thread::spawn(|| LEDGER.take(60, &hundred, Duration::from_millis(20)).err());
        assert_eq!(other.join().unwrap(), Some(40));
    }

    /// Each holds what the other one needs.
    #[test]
    fn two_that_wait_for_each_other_do_not_wait_for_ever() {
        static LEDGER: Ledger = Ledger::new();
        static BOTH_HOLD: Barrier = Barrier::new(2);
        let one = || {
            let _outer = LEDGER.take(40, &hundred, LONG).unwrap_or_else(|free| panic!("{free}"));
            BOTH_HOLD.wait();
            LEDGER.take(70, &hundred, LONG).is_ok()
        };
        let begun = Instant::now();
        let other = thread::spawn(one);
        let own = one();
        assert_ne!(own, other.join().unwrap(), "one gives way, and the other one goes on");
        assert!(begun.elapsed() < LONG / 2);
    }

    #[test]
    fn a_wait_ends_at_its_deadline() {
        static LEDGER: Ledger = Ledger::new();
        let _held = LEDGER.take(60, &hundred, LONG).unwrap_or_else(|free| panic!("{free}"));
        let wait = || {
            deadline::until(Instant::now().checked_add(Duration::from_millis(30)), || {
                LEDGER.take(60, &hundred, LONG).is_ok()
            })
        };
        assert!(thread::scope(|scope| scope.spawn(wait).join().unwrap()).is_err());
    }
}
