//! The chips that modes name: those of the machine, and with the feature `xla-cpu` that of XLA:CPU.

use ulpgate_machine::{Chip, ChipRows};

#[cfg(feature = "xla-cpu")]
use ulpgate_machine::{CPU, TPU7X, V2, V3, V4, V5E, V5P, V6E};

#[cfg(not(feature = "xla-cpu"))]
pub use ulpgate_machine::CHIPS;

/// All chips, oldest first.
#[cfg(feature = "xla-cpu")]
pub static CHIPS: &[&Chip] = &[&V2, &V3, &V4, &V5E, &V5P, &V6E, &TPU7X, &CPU, &ulpgate_xla_cpu::XLA_CPU];

/// The fingerprint of the backend's sources, or a word for none: builds with it and without it are two.
#[cfg(feature = "xla-cpu")]
pub(crate) const BACKEND_SOURCES: &str = ulpgate_xla_cpu::SOURCES;
#[cfg(not(feature = "xla-cpu"))]
pub(crate) const BACKEND_SOURCES: &str = "without xla-cpu";

/// Chips that this build is without, each with the cargo feature that brings it.
const LEFT_OUT: &[(&str, &str)] = if cfg!(feature = "xla-cpu") { &[] } else { &[("xla-cpu", "xla-cpu")] };

/// The rows by which a mode's text is read.
pub(super) static ROWS: ChipRows = ChipRows { rows: CHIPS, left_out: LEFT_OUT };

/// The chip with this name.
pub fn find_chip(name: &str) -> Option<&'static Chip> {
    ROWS.find(name)
}

/// Those of these modes whose chip this build has.
#[cfg(test)]
pub(crate) fn of_this_build<'m>(modes: &[&'m str]) -> Vec<&'m str> {
    modes.iter().copied().filter(|mode| !LEFT_OUT.iter().any(|(chip, _)| mode.starts_with(chip))).collect()
}

#[cfg(all(test, not(feature = "xla-cpu")))]
mod tests {
    use super::super::Mode;

    #[test]
    fn a_mode_of_a_chip_that_is_left_out_names_the_feature_that_brings_it() {
        let error = "xla-cpu/default/off".parse::<Mode>().map_err(|error| error.to_string());
        let text =
            "mode `xla-cpu/default/off`: this build is without `xla-cpu`: build it with the cargo feature `xla-cpu`";
        assert_eq!(error.err().as_deref(), Some(text));
    }
}
