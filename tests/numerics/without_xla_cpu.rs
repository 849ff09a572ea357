//! The crate without its feature `xla-cpu`. With the feature there is nothing to test here.
#![cfg(not(feature = "xla-cpu"))]

use ulpgate_numerics::mode::{CHIPS, Mode, chip_of_dumps, find_chip};

#[test]
fn a_mode_of_a_chip_that_is_left_out_names_the_feature_that_brings_it() {
    let error = "xla-cpu/default/off".parse::<Mode>().map_err(|error| error.to_string());
    let text = "mode `xla-cpu/default/off`: this build is without `xla-cpu`: build it with the cargo feature `xla-cpu`";
    assert_eq!(error.err().as_deref(), Some(text));
    assert_eq!(chip_of_dumps("cpu"), Some("xla-cpu"));
    assert!(find_chip("xla-cpu").is_none());
}

/// A left-out backend takes no other chip's modes with it.
#[test]
fn a_mode_of_every_other_chip_is_read_and_printed_as_it_was() {
    assert!(!CHIPS.is_empty());
    for chip in CHIPS {
        let text = format!("{}/default/off", chip.name);
        let printed = text.parse::<Mode>().map(|mode| mode.to_string()).map_err(|error| error.to_string());
        assert_eq!(printed, Ok(text));
    }
}
