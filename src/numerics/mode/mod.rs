//! Modes: `chip/precision/excess[+refinement...]`, names of the arithmetic of an emulated machine.

mod chips;
mod emulated_compiler;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use ulpgate_machine::{Arithmetic, Chip, Choices, ModeError, PrecisionRow, REFINEMENTS};

pub(crate) use chips::BACKEND_SOURCES;
use chips::ROWS;

pub use chips::{CHIPS, chip_of_dumps, find_chip};
pub use emulated_compiler::{EmulatedCompiler, emulated_compilers};

#[cfg(test)]
pub(crate) use emulated_compiler::and_compiled;

/// The arithmetic in which a program is evaluated, of a chip that has a name.
#[derive(Clone)]
pub struct Mode(Arithmetic);

impl Mode {
    /// A mode of named parts; `refinements` is a `+`-joined list, empty for the chip's own behaviour.
    ///
    /// # Errors
    /// If a name is unknown, or a refinement is given twice.
    pub fn new(chip: &str, precision: &str, excess: &str, refinements: &str) -> Result<Mode, ModeError> {
        let refined = if refinements.is_empty() { "" } else { "+" };
        format!("{chip}/{precision}/{excess}{refined}{refinements}").parse()
    }

    /// The same chip and choices with another matmul precision, and a compiler that changes nothing.
    ///
    /// # Errors
    /// If no precision has this name.
    pub fn declare(&self, precision: &str) -> Result<Mode, ModeError> {
        let mut declared = Mode::new(self.chip.name, precision, "off", "")?;
        declared.choices = self.choices;
        Ok(declared)
    }

    /// The same chip, compiler and choices with another matmul precision.
    #[must_use]
    pub fn with_precision(mut self, precision: &'static PrecisionRow) -> Mode {
        self.precision = precision;
        self
    }

    /// Every chip at each of these precisions, with each value of the refinements of these keys; the compiler stays.
    pub fn others(&self, precisions: &'static [PrecisionRow], keys: &[&str]) -> Vec<Mode> {
        let of = |chip: &&'static Chip| {
            let (chip, excess) = (*chip, self.excess);
            let of_precision = move |precision| Arithmetic { chip, precision, excess, choices: Choices::of(chip) };
            precisions.iter().map(of_precision)
        };
        let mut all: Vec<Arithmetic> = CHIPS.iter().flat_map(of).collect();
        for row in REFINEMENTS.iter().filter(|row| keys.contains(&row.key)) {
            all = all.iter().flat_map(|arithmetic| arithmetic.with_each(row, CHIPS)).collect();
        }
        all.into_iter().map(Mode).collect()
    }
}

impl Deref for Mode {
    type Target = Arithmetic;

    fn deref(&self) -> &Arithmetic {
        &self.0
    }
}

impl DerefMut for Mode {
    fn deref_mut(&mut self) -> &mut Arithmetic {
        &mut self.0
    }
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Mode, ModeError> {
        Arithmetic::read(text, &ROWS).map(Mode)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mode({self})")
    }
}

impl PartialEq for Mode {
    fn eq(&self, other: &Mode) -> bool {
        self.to_string() == other.to_string()
    }
}

#[cfg(test)]
mod tests {
    use ulpgate_machine::ModePart;

    use super::{CHIPS, Mode};

    #[test]
    fn each_chip_is_named_by_a_mode_that_prints_as_it_parses() {
        for chip in CHIPS {
            let text = format!("{}/highest/tpu", chip.name);
            assert_eq!(text.parse::<Mode>().map(|mode| mode.to_string()), Ok(text));
        }
    }

    #[test]
    fn parts_make_the_mode_that_their_text_names() {
        let mode = Mode::new("v5e", "high", "off", "acc=pairwise");
        assert_eq!(mode, "v5e/high/off+acc=pairwise".parse());
        let fault = Mode::new("v5a", "high", "off", "").map_err(|error| (error.text, error.fault.part()));
        assert_eq!(fault, Err(("v5a/high/off".to_string(), ModePart::Chip)));
    }

    /// A declared precision keeps the choices of a chip, with a compiler that changes nothing.
    #[test]
    fn declared_modes_keep_their_choices() {
        let mode: Mode = "v6e/default/tpu+acc=pairwise".parse().unwrap();
        assert_eq!(mode.declare("f32").map(|mode| mode.to_string()).as_deref(), Ok("v6e/f32/off+acc=pairwise"));
    }
}
