//! Modes: `chip/precision/excess[+refinement...]`.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

use crate::ir::{DotPlan, Instruction, Tiling};
use crate::name::hint;
use crate::rewrite::{POLICIES, Policy, find_policy};
use crate::tensor::DType;

use super::backend::{Backend, DotKernel};
use super::chip::{CHIPS, Chip, find_chip};
use super::mxu::{Passes, Unit};
use super::refinement::{Choices, REFINEMENTS};
use super::vector::{Implementation, StepRounding, VectorUnit};

/// A matmul precision: what dots that ask for the default get.
#[derive(Debug, PartialEq, Eq)]
pub struct PrecisionRow {
    /// The second part of a mode: `v5e/NAME/off`.
    pub name: &'static str,
    /// A description, for listings.
    pub doc: &'static str,
    /// Passes of a dot of f32 operands on a matrix unit, where the dot asks for the default precision.
    pub passes: Passes,
    /// Whether dots that ask for another precision get this one as well.
    pub overrides: bool,
}

/// Matmul precisions, cheapest first.
pub static PRECISIONS: &[PrecisionRow] = &[
    PrecisionRow {
        name: "default",
        doc: "one bf16 pass: operands rounded to nearest even (FACTS 2.1, 2.3)",
        passes: Passes::One,
        overrides: false,
    },
    PrecisionRow { name: "high", doc: "three bf16 passes (FACTS 2.3)", passes: Passes::Three, overrides: false },
    PrecisionRow { name: "highest", doc: "six bf16 passes (FACTS 2.3)", passes: Passes::Six, overrides: false },
    PrecisionRow { name: "f32", doc: "no split: plain f32 products", passes: Passes::F32, overrides: true },
];

/// The arithmetic in which a program is evaluated. Its text is resolved once, here: nothing is looked up later.
#[derive(Clone)]
pub struct Mode {
    /// The chip, with its own choices.
    pub chip: &'static Chip,
    /// The precision of dots that ask for none.
    pub precision: &'static PrecisionRow,
    /// The changes that the compiler makes to roundings, as a rewrite before evaluation.
    pub excess: &'static Policy,
    /// The chip's own choices, as refined.
    pub choices: Choices,
}

/// Why a mode is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("mode `{text}`: {fault}")]
pub struct ModeError {
    /// The mode as it was given.
    pub text: String,
    /// The fault, with the names that are known instead.
    pub fault: ModeFault,
}

/// The fault of a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeFault {
    /// It has not three parts.
    #[error("a mode is chip/precision/excess[+key=value...], such as v5e/default/off+acc=pairwise")]
    Form,
    /// No chip has this name.
    #[error("unknown chip `{0}`; {hint}", hint = hint(.0, CHIPS.iter().map(|c| c.name)))]
    Chip(String),
    /// No precision has this name.
    #[error("unknown precision `{0}`; {hint}", hint = hint(.0, PRECISIONS.iter().map(|p| p.name)))]
    Precision(String),
    /// No excess policy has this name.
    #[error("unknown excess policy `{0}`; {hint}", hint = hint(.0, POLICIES.iter().map(|p| p.name)))]
    Excess(String),
    /// A refinement without a value.
    #[error("`{0}` is not of the form key=value")]
    NoValue(String),
    /// No refinement has this key.
    #[error("unknown refinement `{0}`; {hint}", hint = hint(.0, REFINEMENTS.iter().map(|r| r.key)))]
    Refinement(String),
    /// A refinement stands twice.
    #[error("{0} is given twice")]
    Repeated(&'static str),
    /// A refinement has no such value.
    #[error("unknown value `{value}` of {key}; {hint}", hint = hint(value, known.iter().copied()))]
    Value {
        /// The refinement.
        key: &'static str,
        /// The value that was given.
        value: String,
        /// The values that there are.
        known: Vec<&'static str>,
    },
}

/// A part of a mode's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModePart {
    /// All of it.
    Whole,
    /// The first.
    Chip,
    /// The second.
    Precision,
    /// The third, up to the first `+`.
    Excess,
    /// The rest, from the first `+` on.
    Refinements,
}

impl ModeFault {
    /// The part of the mode that is at fault.
    pub fn part(&self) -> ModePart {
        match self {
            ModeFault::Form => ModePart::Whole,
            ModeFault::Chip(_) => ModePart::Chip,
            ModeFault::Precision(_) => ModePart::Precision,
            ModeFault::Excess(_) => ModePart::Excess,
            ModeFault::NoValue(_) | ModeFault::Refinement(_) | ModeFault::Repeated(_) | ModeFault::Value { .. } => {
                ModePart::Refinements
            }
        }
    }
}

impl Mode {
    /// A mode of named parts; `refinements` is a `+`-joined list, empty for the chip's own behaviour.
    ///
    /// # Errors
    /// If a name is unknown, or a refinement is given twice.
    pub fn new(chip: &str, precision: &str, excess: &str, refinements: &str) -> Result<Mode, ModeError> {
        Mode::of_parts(chip, precision, excess, refinements).map_err(|fault| {
            let refined = if refinements.is_empty() { "" } else { "+" };
            ModeError { text: format!("{chip}/{precision}/{excess}{refined}{refinements}"), fault }
        })
    }

    fn of_parts(chip: &str, precision: &str, excess: &str, refinements: &str) -> Result<Mode, ModeFault> {
        let chip = find_chip(chip).ok_or_else(|| ModeFault::Chip(chip.to_string()))?;
        let row = PRECISIONS.iter().find(|p| p.name == precision);
        let precision = row.ok_or_else(|| ModeFault::Precision(precision.to_string()))?;
        let excess = find_policy(excess).ok_or_else(|| ModeFault::Excess(excess.to_string()))?;
        let mut choices = Choices::of(chip);
        let mut refined = Vec::new();
        for refinement in refinements.split('+').filter(|r| !r.is_empty()) {
            let pair = refinement.split_once('=');
            let (key, value) = pair.ok_or_else(|| ModeFault::NoValue(refinement.to_string()))?;
            let row = REFINEMENTS.iter().find(|r| r.key == key);
            let row = row.ok_or_else(|| ModeFault::Refinement(key.to_string()))?;
            if refined.contains(&row.key) {
                return Err(ModeFault::Repeated(row.key));
            }
            refined.push(row.key);
            if !(row.set)(&mut choices, value) {
                let known = (row.values)().into_iter().map(|(name, _)| name).collect();
                return Err(ModeFault::Value { key: row.key, value: value.to_string(), known });
            }
        }
        Ok(Mode { chip, precision, excess, choices })
    }

    /// The same chip and choices with another matmul precision, and a compiler that changes nothing.
    ///
    /// # Errors
    /// If no precision has this name.
    pub fn declare(&self, precision: &str) -> Result<Mode, ModeError> {
        let declared = Mode::new(self.chip.name, precision, "off", "")?;
        Ok(Mode { choices: self.choices, ..declared })
    }

    /// Every chip at each of these precisions, with each value of the refinements of these keys; the compiler stays.
    pub fn others(&self, precisions: &'static [PrecisionRow], keys: &[&str]) -> Vec<Mode> {
        let of = |chip: &&'static Chip| {
            let (chip, excess) = (*chip, self.excess);
            precisions.iter().map(move |precision| Mode { chip, precision, excess, choices: Choices::of(chip) })
        };
        let mut modes: Vec<Mode> = CHIPS.iter().flat_map(of).collect();
        for row in REFINEMENTS.iter().filter(|row| keys.contains(&row.key)) {
            let refined = |mode: &Mode| {
                let each = (row.values)().into_iter().filter_map(|(value, _)| {
                    let mut choices = mode.choices;
                    (row.set)(&mut choices, value).then(|| Mode { choices, ..mode.clone() })
                });
                each.collect::<Vec<_>>()
            };
            modes = modes.iter().flat_map(refined).collect();
        }
        modes
    }

    /// The steps of a sum in this type: f32, or as the mode says for a bf16 sum, and for an f16 sum alike; narrower
    /// types accumulate in f32.
    pub fn step_of(&self, dtype: DType) -> StepRounding {
        match self.choices.narrow {
            StepRounding::F32 => StepRounding::F32,
            _ => StepRounding::own(dtype),
        }
    }

    /// The vector unit as this mode has it.
    pub fn vector_unit(&self) -> VectorUnit {
        let Chip { flush, divide, zero_tie, eup, .. } = *self.chip;
        VectorUnit {
            flush,
            divide,
            zero_tie,
            eup,
            implementation: Implementation::Default,
            error: self.choices.exp,
            estimate: self.choices.rsqrt,
        }
    }

    /// [`Mode::matrix_unit`] for a matmul that a compiled file cuts up.
    pub fn matrix_unit_for(&self, tiling: Option<&Tiling>) -> Unit {
        let k_block = tiling.and_then(|tiling| tiling.k_block).and_then(NonZeroUsize::new);
        Unit { k_block, ..self.matrix_unit() }
    }

    /// The backend, where the mode leaves the sums of dots as it compiles them.
    pub(super) fn backend_of_dots(&self) -> Option<&'static dyn Backend> {
        self.chip.backend.filter(|_| self.choices.acc == self.chip.accumulation)
    }

    /// The order in which a library or a backend's code sums the products of a dot; `None` where the unit does.
    pub(super) fn dot_kernel(
        &self,
        instruction: &Instruction,
        dtypes: [Option<DType>; 2],
        plan: &DotPlan,
    ) -> Option<Box<dyn DotKernel>> {
        self.backend_of_dots()?.dot(instruction, dtypes, plan)
    }

    /// The matrix unit as this mode has it.
    pub fn matrix_unit(&self) -> Unit {
        let chip = self.chip;
        Unit {
            // No chip's block is empty; a unit without blocks would be one that has only one.
            block: NonZeroUsize::new(chip.mxu_block).unwrap_or(NonZeroUsize::MAX),
            accumulation: self.choices.acc,
            split: self.choices.split,
            flush: chip.flush && !chip.matrix_unit,
            fused: chip.plans_code() && !chip.matrix_unit,
            k_block: None,
        }
    }
}

impl FromStr for Mode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Mode, ModeError> {
        let (base, refinements) = text.split_once('+').unwrap_or((text, ""));
        let parts: Vec<&str> = base.split('/').collect();
        let [chip, precision, excess] = parts[..] else {
            return Err(ModeError { text: text.to_string(), fault: ModeFault::Form });
        };
        Mode::new(chip, precision, excess, refinements)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.chip.name, self.precision.name, self.excess.name)?;
        for row in REFINEMENTS {
            if let Some(value) = row.departure(&self.choices, self.chip) {
                write!(f, "+{}={value}", row.key)?;
            }
        }
        Ok(())
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
    use super::{Mode, ModeFault, ModePart};

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
