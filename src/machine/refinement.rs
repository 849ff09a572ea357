//! Choices of a mode, and refinements: named departures from a chip's own choices, written `+key=value` behind a mode.

use super::chip::Chip;
use super::mxu::{Accumulation, Split};
use super::select::{Binning, PlantedFault};
use super::vector::{ErrorModel, Estimate, ScanOrder, StepRounding, SumOrder};
use super::vector_dots::VectorDots;

/// The arithmetic choices that a chip makes and a mode may refine. Every part has a value: the chip's own, unless the
/// mode refines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choices {
    /// The order and rounding in which a pass of the matrix unit sums its products.
    pub acc: Accumulation,
    /// The split of f32 operands into bf16 parts.
    pub split: Split,
    /// The dots of a program as written that become f32 multiply and reduce on the vector unit.
    pub dsr: VectorDots,
    /// The errors of functions.
    pub exp: ErrorModel,
    /// The processor whose estimate a library's rsqrt refines.
    pub rsqrt: Estimate,
    /// The order of a sum on the vector unit.
    pub reduce: SumOrder,
    /// The order of a running sum.
    pub scan: ScanOrder,
    /// The type to which each addition of a bf16 sum is rounded.
    pub narrow: StepRounding,
    /// The rule that puts an element of approx_max_k into a bin.
    pub bins: Binning,
    /// A planted fault.
    pub fault: PlantedFault,
}

impl Choices {
    /// The chip's own.
    pub fn of(chip: &Chip) -> Choices {
        Choices {
            acc: chip.accumulation,
            split: Split::default(),
            dsr: VectorDots::Compiler,
            exp: chip.functions,
            rsqrt: Estimate::Zen4,
            reduce: chip.sum,
            scan: chip.scan,
            narrow: chip.narrow,
            bins: Binning::default(),
            fault: PlantedFault::default(),
        }
    }
}

/// One refinement, for listings and parsing.
pub struct RefinementRow {
    /// Its key, as in `+KEY=value`.
    pub key: &'static str,
    /// The choice that it refines, for listings.
    pub doc: &'static str,
    /// Its values by name, each with its meaning, where modes may name these chips: libraries of functions come with the chips
    /// that have them.
    pub values: fn(&[&'static Chip]) -> Vec<(&'static str, &'static str)>,
    /// Sets it to the value of this name; `false` if there is none beside these chips.
    pub(super) set: fn(&mut Choices, &str, &[&'static Chip]) -> bool,
    /// The name of the value in force, and its meaning.
    pub(super) get: fn(&Choices) -> (&'static str, &'static str),
}

/// The `values`, `set` and `get` of a refinement whose type lists its own variants.
macro_rules! row {
    ($key:ident, $type:ty, $doc:literal) => {
        RefinementRow {
            key: stringify!($key),
            doc: $doc,
            values: |_| <$type>::ALL.iter().map(|v| (v.name(), v.doc())).collect(),
            set: |choices, name, _| match <$type>::from_name(name) {
                Some(value) => {
                    choices.$key = value;
                    true
                }
                None => false,
            },
            get: |choices| (choices.$key.name(), choices.$key.doc()),
        }
    };
}

/// The error models: those of any unit, and the libraries that these chips have.
fn error_models(chips: &[&'static Chip]) -> impl Iterator<Item = ErrorModel> {
    let of_chips = chips.iter().map(|chip| chip.functions).filter(|model| model.library().is_some());
    ErrorModel::ALL.iter().copied().chain(of_chips)
}

/// All refinements, in the order in which a mode shows them.
pub static REFINEMENTS: &[RefinementRow] = &[
    row!(acc, Accumulation, "How a pass of the matrix unit sums its products (modelling choice, FACTS 2.4)."),
    row!(split, Split, "How f32 operands are split into bf16 parts (FACTS 2.3)."),
    row!(
        dsr,
        VectorDots,
        "Dots of a program as written that the vector unit takes, as multiply and reduce in f32 (FACTS 2.3)."
    ),
    RefinementRow {
        key: "exp",
        doc: "Error of functions, powers and division: none, within the bounds that the TPU compiler states (FACTS 3.3), or a library's own.",
        values: |chips| error_models(chips).map(|model| (model.name(), model.doc())).collect(),
        set: |choices, name, chips| match error_models(chips).find(|model| model.name() == name) {
            Some(model) => {
                choices.exp = model;
                true
            }
            None => false,
        },
        get: |choices| (choices.exp.name(), choices.exp.doc()),
    },
    row!(rsqrt, Estimate, "Whose estimate a library's rsqrt refines: last bits differ between processors (FACTS 3.5)."),
    row!(reduce, SumOrder, "Order of a sum on the vector unit (FACTS 3.2, 3.11)."),
    row!(scan, ScanOrder, "Order of a running sum (FACTS 3.11)."),
    row!(narrow, StepRounding, "How a bf16 sum accumulates; not public on TPUs (FACTS 9)."),
    row!(bins, Binning, "Which bin an element of approx_max_k falls into (FACTS 5.3)."),
    row!(fault, PlantedFault, "A planted fault, to prove that the checks find it."),
];

impl RefinementRow {
    /// The value that choices have, with its doc; `None` where it is the chip's own.
    pub fn value_in(&self, choices: &Choices, chip: &Chip) -> Option<(&'static str, &'static str)> {
        self.departure(choices, chip).map(|_| (self.get)(choices))
    }

    /// The name of the value in force, where it is not the chip's own.
    pub(super) fn departure(&self, choices: &Choices, chip: &Chip) -> Option<&'static str> {
        let (name, _) = (self.get)(choices);
        (name != (self.get)(&Choices::of(chip)).0).then_some(name)
    }
}
