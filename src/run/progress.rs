//! Progress: a bar on a terminal, plain lines elsewhere, nothing where asked for.

use std::io::{IsTerminal, Write};
use std::sync::Mutex;

use indicatif::{ProgressBar, ProgressStyle};

use crate::record::Record;

/// Shows how far a run is.
#[derive(Debug, Default)]
pub struct Progress {
    bar: Option<ProgressBar>,
    /// Cases done and cases in all, where there is no bar.
    lines: Option<Mutex<(usize, usize)>>,
}

impl Progress {
    /// Shows nothing.
    pub fn silent() -> Progress {
        Progress::default()
    }

    /// A bar on standard error if that is a terminal, else a line there for each tenth of the cases.
    pub fn on_stderr() -> Progress {
        if std::io::stderr().is_terminal() {
            let bar = ProgressBar::new(0);
            if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} cases, {elapsed} {msg}") {
                bar.set_style(style);
            }
            Progress { bar: Some(bar), lines: None }
        } else {
            Progress { bar: None, lines: Some(Mutex::new((0, 0))) }
        }
    }

    /// Says how many cases there are.
    pub(super) fn start(&self, total: usize) {
        if let Some(bar) = &self.bar {
            bar.set_length(total as u64);
        }
        self.with_lines(|(_, all)| *all = total);
    }

    /// Says which cases are done, all of one suite.
    pub(super) fn advance(&self, records: &[Record]) {
        if let (Some(bar), Some(last)) = (&self.bar, records.last()) {
            bar.set_message(last.key.suite.clone());
            bar.inc(records.len() as u64);
        }
        self.with_lines(|(done, all)| {
            let tenth = |done: usize| done * 10 / (*all).max(1);
            let before = tenth(*done);
            *done += records.len();
            if tenth(*done) > before {
                // Nobody may be left to read it.
                let _ = writeln!(std::io::stderr(), "{done} of {all} cases done");
            }
        });
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn with_lines(&self, change: impl FnOnce(&mut (usize, usize))) {
        if let Some(lines) = &self.lines {
            change(&mut lines.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        }
    }
}
