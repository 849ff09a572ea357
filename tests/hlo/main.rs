//! HLO files: read, printed, lowered, run, shown, compared, and in suites.

mod compiled;
mod complex;
mod decompositions;
mod devices;
mod diff;
mod eval;
mod explore;
mod language_model;
mod libraries;
mod linear;
mod lower;
mod not_understood;
mod opcodes;
mod precisions;
mod proven;
mod published_results;
mod show;
mod show_runs;
mod suites;
mod text;
mod ties;
mod unequal;
mod weights;
mod why;
mod windows;
mod worlds;
