//! The chips that modes name.

use ulpgate_machine::{CPU, Chip, ChipRows, TPU7X, V2, V3, V4, V5E, V5P, V6E};
use ulpgate_xla_cpu::XLA_CPU;

/// All chips, oldest first.
pub static CHIPS: &[&Chip] = &[&V2, &V3, &V4, &V5E, &V5P, &V6E, &TPU7X, &CPU, &XLA_CPU];

/// The rows by which a mode's text is read.
pub(super) static ROWS: ChipRows = ChipRows { rows: CHIPS, left_out: &[] };

/// The chip with this name.
pub fn find_chip(name: &str) -> Option<&'static Chip> {
    ROWS.find(name)
}
