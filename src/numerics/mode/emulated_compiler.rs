//! Compilers whose code this build emulates.

use ulpgate_machine::{Arithmetic, Choices, PRECISIONS};

use super::{CHIPS, Mode};
use crate::rewrite::{OFF, Policy};

/// A compiler whose code this build emulates.
#[derive(Clone)]
pub struct EmulatedCompiler {
    /// Its name in sentences.
    pub name: &'static str,
    /// The folder that holds the files it compiled, as `scripts/dump_hlo.py` names it.
    pub dump_folder: &'static str,
    /// Its mode with `xla_allow_excess_precision` off.
    pub off: Mode,
    /// Its mode with the flag on.
    pub on: Mode,
}

/// The compilers that this build emulates, by the age of their chips.
pub fn emulated_compilers() -> Vec<EmulatedCompiler> {
    let of_chip = |chip: &&'static ulpgate_machine::Chip| {
        let (chip, backend) = (*chip, chip.backend?);
        // The first precision is `default`.
        let mode = |excess: &'static Policy| {
            Mode(Arithmetic { chip, precision: &PRECISIONS[0], excess, choices: Choices::of(chip) })
        };
        let (off, on) = (mode(&OFF), mode(backend.excess()));
        Some(EmulatedCompiler { name: backend.title(), dump_folder: backend.dump_folder(), off, on })
    };
    CHIPS.iter().filter_map(of_chip).collect()
}

/// These modes, and each emulated compiler's chip with these settings.
#[cfg(test)]
pub(crate) fn and_compiled(modes: &[&str], settings: &str) -> Vec<String> {
    let compiled = emulated_compilers().into_iter().map(|compiler| format!("{}/{settings}", compiler.off.chip.name));
    modes.iter().map(|mode| mode.to_string()).chain(compiled).collect()
}

#[cfg(test)]
mod tests {
    use super::super::chip_of_dumps;
    use super::*;

    #[test]
    fn each_compiler_has_its_modes_and_its_folder() {
        for EmulatedCompiler { name, dump_folder, off, on } in emulated_compilers() {
            assert_eq!(chip_of_dumps(dump_folder), Some(off.chip.name), "{name}");
            assert_eq!(off.to_string(), format!("{}/default/off", off.chip.name), "{name}");
            assert!(on.excess.rewrites() && !off.excess.rewrites(), "{name}");
            assert_eq!(on.to_string().parse::<Mode>().map(|mode| mode.to_string()), Ok(on.to_string()), "{name}");
        }
        assert_eq!(chip_of_dumps("elsewhere"), None);
    }
}
