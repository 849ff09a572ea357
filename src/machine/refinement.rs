//! Refinements: named departures from a chip's defaults, written `+key=value` behind a mode.

use super::mxu::{Accumulation, Split};
use super::select::{Binning, Fault};
use super::vector::{ErrorModel, ScanOrder, StepRounding, SumOrder};

/// The refinements of one mode; `None` is the chip's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refinements {
    pub acc: Option<Accumulation>,
    pub split: Option<Split>,
    pub dsr: Option<bool>,
    pub exp: Option<ErrorModel>,
    pub reduce: Option<SumOrder>,
    pub scan: Option<ScanOrder>,
    pub narrow: Option<StepRounding>,
    pub bins: Option<Binning>,
    pub fault: Option<Fault>,
}

/// One refinement, for listings and parsing.
pub struct RefinementRow {
    pub key: &'static str,
    pub doc: &'static str,
    /// Its values with their docs.
    pub values: fn() -> Vec<(&'static str, &'static str)>,
    pub(super) set: fn(&mut Refinements, &str) -> bool,
    pub(super) get: fn(&Refinements) -> Option<&'static str>,
}

/// The `values`, `set` and `get` of a refinement whose type lists its own variants.
macro_rules! row {
    ($key:ident, $type:ty, $doc:literal) => {
        RefinementRow {
            key: stringify!($key),
            doc: $doc,
            values: || <$type>::ALL.iter().map(|v| (v.name(), v.doc())).collect(),
            set: |refinements, name| {
                refinements.$key = <$type>::named(name);
                refinements.$key.is_some()
            },
            get: |refinements| refinements.$key.map(|v| v.name()),
        }
    };
}

/// All refinements, in the order in which a mode shows them.
pub static REFINEMENTS: &[RefinementRow] = &[
    row!(acc, Accumulation, "How a pass of the matrix unit sums its products (modelling choice, FACTS 2.4)."),
    row!(split, Split, "How f32 operands are split into bf16 parts (FACTS 2.3)."),
    RefinementRow {
        key: "dsr",
        doc: "Dot strength reduction: a dot with an operand that has no non-contracting extent above 1 is f32 (FACTS 2.3).",
        values: || vec![("on", "small dots become multiply and reduce"), ("off", "every dot uses the matrix unit")],
        set: |refinements, name| {
            refinements.dsr = match name {
                "on" => Some(true),
                "off" => Some(false),
                _ => None,
            };
            refinements.dsr.is_some()
        },
        get: |refinements| refinements.dsr.map(|on| if on { "on" } else { "off" }),
    },
    row!(
        exp,
        ErrorModel,
        "Error of exp, log, tanh, logistic and division: none, within the chip's published bounds (FACTS 3.3), or XLA:CPU's own."
    ),
    row!(reduce, SumOrder, "Order of a sum on the vector unit (FACTS 3.2)."),
    row!(scan, ScanOrder, "Order of a running sum (FACTS 3.2)."),
    row!(narrow, StepRounding, "How a bf16 sum accumulates; not public on TPUs (FACTS 9)."),
    row!(bins, Binning, "Which bin an element of approx_max_k falls into (FACTS 5.3)."),
    row!(fault, Fault, "A planted fault, to prove that the checks find it."),
];

impl RefinementRow {
    /// The value that a mode sets it to, with its doc; `None` where the mode leaves it to the chip.
    pub fn value_in(&self, mode: &super::Mode) -> Option<(&'static str, &'static str)> {
        let name = (self.get)(&mode.refinements)?;
        (self.values)().into_iter().find(|(value, _)| *value == name)
    }
}
