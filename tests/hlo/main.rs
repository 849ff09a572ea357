//! HLO files: read, printed, lowered, run, shown, compared, and in suites.

mod compiled;
mod diff;
mod eval;
mod lower;
mod opcodes;
mod show;
mod show_runs;
mod suites;
mod text;
