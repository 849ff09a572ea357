//! The arithmetic that a mode names, and the reading of its text: `chip/precision/excess[+refinement...]`.

use std::fmt;
use std::num::NonZeroUsize;

use crate::ir::{DotPlan, Instruction, Tiling};
use crate::name::hint;
use crate::rewrite::{POLICIES, Policy, find_policy};
use crate::tensor::DType;

use super::backend::{Backend, DotKernel};
use super::chip::Chip;
use super::mxu::{Passes, Unit};
use super::refinement::{Choices, REFINEMENTS, RefinementRow};
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

impl PrecisionRow {
    /// The number of cheaper precisions: its place in [`PRECISIONS`].
    pub fn place(&self) -> usize {
        PRECISIONS.iter().take_while(|row| row.name != self.name).count()
    }
}

/// Rows of chips that a mode's text may name.
#[derive(Clone, Copy, Debug)]
pub struct ChipRows {
    /// The chips.
    pub rows: &'static [&'static Chip],
    /// Chips that this build is without.
    pub left_out: &'static [LeftOut],
}

/// A chip that a build is without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The chip's name.
    pub chip: &'static str,
    /// The cargo feature that brings it.
    pub feature: &'static str,
    /// The folder of its compiler's files ([`Backend::dump_folder`](super::Backend::dump_folder)).
    pub dump_folder: &'static str,
}

impl ChipRows {
    /// The chip with this name.
    pub fn find(&self, name: &str) -> Option<&'static Chip> {
        self.rows.iter().copied().find(|chip| chip.name == name)
    }

    /// The name of the chip whose compiler's files lie in this folder, left out of this build or not.
    pub fn of_dump_folder(&self, folder: &str) -> Option<&'static str> {
        let of_row = |chip: &&'static Chip| chip.backend.is_some_and(|backend| backend.dump_folder() == folder);
        let row = self.rows.iter().copied().find(of_row).map(|chip| chip.name);
        row.or_else(|| self.left_out.iter().find(|chip| chip.dump_folder == folder).map(|chip| chip.chip))
    }
}

/// The arithmetic in which a program is evaluated. Its text is resolved once, here: nothing is looked up later.
#[derive(Clone)]
pub struct Arithmetic {
    /// The chip, with its own choices.
    pub chip: &'static Chip,
    /// The precision of dots that ask for none.
    pub precision: &'static PrecisionRow,
    /// The changes that the compiler makes to roundings, as a rewrite before evaluation.
    pub excess: &'static Policy,
    /// The chip's own choices, as refined.
    pub choices: Choices,
}

/// Why a mode is refused. `Debug` prints the sentence: it is what a test prints that returns the error.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("mode `{text}`: {fault}")]
pub struct ModeError {
    /// The mode as it was given.
    pub text: String,
    /// The fault, with the names that are known instead.
    pub fault: ModeFault,
}

impl fmt::Debug for ModeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The fault of a mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeFault {
    /// It has not three parts.
    #[error("a mode is chip/precision/excess[+key=value...], such as v5e/default/off+acc=pairwise")]
    Form,
    /// No chip has this name.
    #[error("unknown chip `{name}`; {hint}", hint = hint(name, known.iter().copied()))]
    Chip {
        /// The name that was given.
        name: String,
        /// The names that there are.
        known: Vec<&'static str>,
    },
    /// This build is without the chip.
    #[error("this build is without `{chip}`: build it with the cargo feature `{feature}`")]
    LeftOut {
        /// The chip.
        chip: &'static str,
        /// The cargo feature that brings it.
        feature: &'static str,
    },
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
            ModeFault::Chip { .. } | ModeFault::LeftOut { .. } => ModePart::Chip,
            ModeFault::Precision(_) => ModePart::Precision,
            ModeFault::Excess(_) => ModePart::Excess,
            ModeFault::NoValue(_) | ModeFault::Refinement(_) | ModeFault::Repeated(_) | ModeFault::Value { .. } => {
                ModePart::Refinements
            }
        }
    }
}

impl Arithmetic {
    /// The arithmetic that a mode's text names, its chip by these rows.
    ///
    /// # Errors
    /// If the text is of another form, a name is unknown, or a refinement is given twice.
    pub fn read(text: &str, chips: &ChipRows) -> Result<Arithmetic, ModeError> {
        let (base, refinements) = text.split_once('+').unwrap_or((text, ""));
        let parts: Vec<&str> = base.split('/').collect();
        let found = match parts[..] {
            [chip, precision, excess] => Arithmetic::of_parts([chip, precision, excess], refinements, chips),
            _ => Err(ModeFault::Form),
        };
        found.map_err(|fault| ModeError { text: text.to_string(), fault })
    }

    fn of_parts(
        [chip, precision, excess]: [&str; 3],
        refinements: &str,
        chips: &ChipRows,
    ) -> Result<Arithmetic, ModeFault> {
        let unknown = || match chips.left_out.iter().find(|left_out| left_out.chip == chip) {
            Some(LeftOut { chip, feature, .. }) => ModeFault::LeftOut { chip, feature },
            None => ModeFault::Chip { name: chip.to_string(), known: chips.rows.iter().map(|row| row.name).collect() },
        };
        let chip = chips.find(chip).ok_or_else(unknown)?;
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
            // The later one would win in silence.
            if refined.contains(&row.key) {
                return Err(ModeFault::Repeated(row.key));
            }
            refined.push(row.key);
            if !(row.set)(&mut choices, value, chips.rows) {
                let known = (row.values)(chips.rows).into_iter().map(|(name, _)| name).collect();
                return Err(ModeFault::Value { key: row.key, value: value.to_string(), known });
            }
        }
        Ok(Arithmetic { chip, precision, excess, choices })
    }

    /// This with each value that a refinement has beside these chips, in their order.
    pub fn with_each(&self, row: &RefinementRow, chips: &[&'static Chip]) -> Vec<Arithmetic> {
        let refined = |(value, _): (&'static str, &'static str)| {
            let mut choices = self.choices;
            (row.set)(&mut choices, value, chips).then(|| Arithmetic { choices, ..self.clone() })
        };
        (row.values)(chips).into_iter().filter_map(refined).collect()
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
            packed: false,
            error: self.choices.exp,
            estimate: self.choices.rsqrt,
        }
    }

    /// [`Arithmetic::matrix_unit`] for a matmul that a compiled file cuts up.
    pub fn matrix_unit_for(&self, tiling: Option<&Tiling>) -> Unit {
        let k_block = tiling.and_then(|tiling| tiling.k_block).and_then(NonZeroUsize::new);
        Unit { k_block, ..self.matrix_unit() }
    }

    /// The backend, where the mode leaves the sums of dots as it compiles them.
    pub(super) fn backend_of_dots(&self) -> Option<&'static dyn Backend> {
        // A mode that names an accumulation asks for dots in it: then no library is called.
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
            // bf16 passes keep subnormals: whether a matrix unit flushes is not public (modelling choice).
            flush: chip.flush && !chip.matrix_unit,
            fused: chip.plans_code() && !chip.matrix_unit,
            k_block: None,
        }
    }
}

impl fmt::Display for Arithmetic {
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

impl fmt::Debug for Arithmetic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arithmetic({self})")
    }
}

/// The same as [`Arithmetic::read`] over the machine's own chips and a stand-in for one that plans code.
#[cfg(test)]
impl std::str::FromStr for Arithmetic {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Arithmetic, ModeError> {
        Arithmetic::read(text, &super::planning_chip::CHIPS)
    }
}

#[cfg(test)]
mod tests {
    use super::{Arithmetic, ModeFault, ModePart};

    #[test]
    fn modes_print_as_they_parse() {
        for text in ["v5e/default/off", "v6e/highest/tpu+acc=pairwise", "cpu/f32/cpu", "v3/high/gpu+split=rne+dsr=off"]
        {
            assert_eq!(text.parse::<Arithmetic>().map(|m| m.to_string()).as_deref(), Ok(text));
        }
    }

    #[test]
    fn defaults_and_order_of_refinements_are_canonical() {
        let mode = "v5e/default/off+dsr=off+acc=block".parse::<Arithmetic>().map(|m| m.to_string());
        assert_eq!(mode.as_deref(), Ok("v5e/default/off+dsr=off"));
    }

    #[test]
    fn unknown_parts_are_named_with_the_nearest_known_one() {
        let why = |text: &str| text.parse::<Arithmetic>().map_err(|e| e.to_string()).err().unwrap_or_default();
        assert!(why("v5a/default/off").contains("did you mean `v5e`"));
        assert!(why("v5e/hihg/off").contains("did you mean `high`"));
        assert!(why("v5e/default/of").contains("did you mean `off`"));
        assert!(why("v5e/default/off+ac=chain").contains("did you mean `acc`"));
        assert!(why("v5e/default/off+acc=chains").contains("did you mean `chain`"));
        assert!(why("v5e").contains("chip/precision/excess"));
    }

    #[test]
    fn an_error_tells_which_part_is_at_fault() {
        let fault = |text: &str| text.parse::<Arithmetic>().unwrap_err().fault;
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
