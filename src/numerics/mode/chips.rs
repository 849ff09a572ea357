//! The chips that modes name: those of the machine and, with its cargo feature, that of a backend.

use ulpgate_machine::{Chip, ChipRows};

pub(crate) use built::BACKEND_SOURCES;
pub use built::CHIPS;
use built::LEFT_OUT;

#[cfg(feature = "xla-cpu")]
mod built {
    use ulpgate_machine::{CPU, Chip, LeftOut, TPU7X, V2, V3, V4, V5E, V5P, V6E};

    /// All chips, oldest first.
    pub static CHIPS: &[&Chip] = &[&V2, &V3, &V4, &V5E, &V5P, &V6E, &TPU7X, &CPU, &ulpgate_xla_cpu::XLA_CPU];

    /// The fingerprint of the backend's sources: builds with it and without it are two.
    pub const BACKEND_SOURCES: &str = ulpgate_xla_cpu::SOURCES;

    /// Chips that this build is without.
    pub const LEFT_OUT: &[LeftOut] = &[];
}

#[cfg(not(feature = "xla-cpu"))]
mod built {
    use ulpgate_machine::LeftOut;

    pub use ulpgate_machine::CHIPS;

    /// A word for no backend: builds with one and without are two.
    pub const BACKEND_SOURCES: &str = "without xla-cpu";

    /// Chips that this build is without.
    pub const LEFT_OUT: &[LeftOut] = &[LeftOut { chip: "xla-cpu", feature: "xla-cpu", dump_folder: "cpu" }];
}

/// The rows by which a mode's text is read.
pub(super) static ROWS: ChipRows = ChipRows { rows: CHIPS, left_out: LEFT_OUT };

/// The chip with this name.
pub fn find_chip(name: &str) -> Option<&'static Chip> {
    ROWS.find(name)
}

/// The name of the chip whose compiler's files lie in this folder, left out of this build or not.
pub fn chip_of_dumps(folder: &str) -> Option<&'static str> {
    ROWS.of_dump_folder(folder)
}
