//! Modes: `chip/precision/excess[+refinement...]`, names of the arithmetic of an emulated machine.

mod chips;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use ulpgate_machine::{Arithmetic, Chip, Choices, ModeError, PrecisionRow, REFINEMENTS};

use chips::ROWS;

pub use chips::{CHIPS, find_chip};

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
            all = all.iter().flat_map(|arithmetic| row.each(arithmetic)).collect();
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
        Arithmetic::named(text, &ROWS).map(Mode)
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
    use super::Mode;
    use ulpgate_machine::{ModeFault, ModePart};

    #[test]
    fn modes_print_as_they_parse() {
        for text in ["v5e/default/off", "v6e/highest/tpu+acc=pairwise", "cpu/f32/cpu", "v3/high/gpu+split=rne+dsr=off"]
        {
            assert_eq!(text.parse::<Mode>().map(|m| m.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn defaults_and_order_of_refinements_are_canonical() {
        let mode = "v5e/default/off+dsr=off+acc=block".parse::<Mode>().map(|m| m.to_string());
        assert_eq!(mode.as_deref(), Ok("v5e/default/off+dsr=off"));
    }

    #[test]
    fn unknown_parts_are_named_with_the_nearest_known_one() {
        let why = |text: &str| text.parse::<Mode>().map_err(|e| e.to_string()).err().unwrap_or_default();
        assert!(why("v5a/default/off").contains("did you mean `v5e`"));
        assert!(why("v5e/hihg/off").contains("did you mean `high`"));
        assert!(why("v5e/default/of").contains("did you mean `off`"));
        assert!(why("v5e/default/off+ac=chain").contains("did you mean `acc`"));
        assert!(why("v5e/default/off+acc=chains").contains("did you mean `chain`"));
        assert!(why("v5e").contains("chip/precision/excess"));
    }

    #[test]
    fn an_error_tells_which_part_is_at_fault() {
        let fault = |text: &str| text.parse::<Mode>().unwrap_err().fault;
        assert_eq!(fault("v5e/highest"), ModeFault::Form);
        // Each name is one that another part knows.
        let parts = [
            ("high/high/off", ModePart::Chip),
            ("v5e/v5e/off", ModePart::Precision),
            ("v5e/high/acc", ModePart::Excess),
            ("v5e/high/off+acc", ModePart::Refinements),
            ("v5e/high/off+off=on", ModePart::Refinements),
            ("v5e/high/off+dsr=on+dsr=on", ModePart::Refinements),
            ("v5e/high/off+dsr=high", ModePart::Refinements),
        ];
        for (text, part) in parts {
            assert_eq!(fault(text).part(), part, "{text}");
        }
    }
}
