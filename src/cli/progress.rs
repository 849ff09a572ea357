//! Progress on standard error: a bar on a terminal, plain lines elsewhere; and how to go on after an interruption.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use ulpgate_front::name::printable;
use ulpgate_front::record::Record;
use ulpgate_front::run::Progress;

/// Shows the progress of a run.
pub struct OnStderr {
    started: Instant,
    done: AtomicUsize,
    all: AtomicUsize,
    /// On a terminal.
    bar: Option<ProgressBar>,
}

impl OnStderr {
    pub fn new() -> OnStderr {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} cases, {eta} left: {msg}") {
                bar.set_style(style);
            }
            bar
        });
        OnStderr { started: Instant::now(), done: AtomicUsize::new(0), all: AtomicUsize::new(0), bar }
    }

    /// One that says on an interruption how many cases a journal kept, and ends the process as one is expected to
    /// (130).
    pub fn with_journal() -> &'static OnStderr {
        let shown: &'static OnStderr = Box::leak(Box::new(OnStderr::new()));
        // Where no handler can be set, an interruption ends the process without a word.
        let _ = ctrlc::set_handler(|| {
            shown.finish();
            let (done, all) = (shown.done.load(Relaxed), shown.all.load(Relaxed));
            let _ = writeln!(
                std::io::stderr(),
                "ulpgate: interrupted; {done} of {all} cases are kept, and `ulpgate run --resume` with the same \
                 arguments goes on from there"
            );
            std::process::exit(130);
        });
        shown
    }

    /// The time left, if the rest takes as long as the part that is done.
    fn left(&self, done: usize, all: usize) -> Duration {
        self.started.elapsed().mul_f64((all.saturating_sub(done)) as f64 / done.max(1) as f64)
    }
}

impl Progress for OnStderr {
    fn start(&self, cases: usize) {
        self.all.store(cases, Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_length(cases as u64);
        }
    }

    fn advance(&self, records: &[Record]) {
        let before = self.done.fetch_add(records.len(), Relaxed);
        let (done, all) = (before + records.len(), self.all.load(Relaxed));
        match &self.bar {
            Some(bar) => {
                if let Some(last) = records.last() {
                    bar.set_message(printable(&last.key.suite).into_owned());
                }
                bar.inc(records.len() as u64);
            }
            None => {
                let tenth = |done: usize| done * 10 / all.max(1);
                if tenth(done) > tenth(before) {
                    let left = HumanDuration(self.left(done, all));
                    let left = if done < all { format!(", about {left} left") } else { String::new() };
                    // Nobody may be left to read it.
                    let _ = writeln!(std::io::stderr(), "{done} of {all} cases done{left}");
                }
            }
        }
    }

    fn note(&self, text: &str) {
        let write = || {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "ulpgate: note: {text}");
        };
        match &self.bar {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
