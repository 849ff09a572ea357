//! Says on standard error which operation takes long, within a second.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use ulpgate_front::activity;

use super::terminal::{erase_passing_note, passing_note};

/// The time after which an operation is reported.
const LONG: Duration = Duration::from_millis(800);
/// The time between two looks.
const OFTEN: Duration = Duration::from_millis(100);

/// Watches until it is dropped.
pub struct Watch {
    is_over: Arc<AtomicBool>,
}

impl Watch {
    /// Begins to watch. If no thread can be started, nothing is reported.
    pub fn start() -> Watch {
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let watch = move || {
            while !ends.load(Relaxed) {
                thread::sleep(OFTEN);
                if let Some(what) = activity::long_one(LONG) {
                    passing_note(&format!("note: {what} takes long"));
                }
            }
        };
        let _ = thread::Builder::new().name("watch".to_string()).spawn(watch);
        Watch { is_over }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        erase_passing_note();
    }
}
