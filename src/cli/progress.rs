//! Progress on standard error: a bar on a terminal, plain lines elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::record::Record;
use crate::run::Progress;

/// Shows how far a run is.
pub enum OnStderr {
    Bar(ProgressBar),
    /// Cases done, and cases in all.
    Lines(Mutex<(usize, usize)>),
}

impl OnStderr {
    pub fn new() -> OnStderr {
        if !std::io::stderr().is_terminal() {
            return OnStderr::Lines(Mutex::new((0, 0)));
        }
        let bar = ProgressBar::new(0);
        if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {elapsed} {msg}") {
            bar.set_style(style);
        }
        OnStderr::Bar(bar)
    }
}

impl Progress for OnStderr {
    fn start(&self, cases: usize) {
        match self {
            OnStderr::Bar(bar) => bar.set_length(cases as u64),
            OnStderr::Lines(lines) => lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).1 = cases,
        }
    }

    fn advance(&self, records: &[Record]) {
        match self {
            OnStderr::Bar(bar) => {
                if let Some(last) = records.last() {
                    bar.set_message(last.key.suite.clone());
                }
                bar.inc(records.len() as u64);
            }
            OnStderr::Lines(lines) => {
                let (done, all) = &mut *lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                let tenth = |done: usize| done * 10 / (*all).max(1);
                let before = tenth(*done);
                *done += records.len();
                if tenth(*done) > before {
                    // Nobody may be left to read it.
                    let _ = writeln!(std::io::stderr(), "{done} of {all} cases done");
                }
            }
        }
    }

    fn finish(&self) {
        if let OnStderr::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
