//! The states of a value that a line compares, and their words.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::{self, Display, Formatter};

use crate::analysis::Precision;

use super::super::change::{Change, ChangeKind, number};
use super::super::element::Making;
use super::super::expression::NumberBits;
use super::super::graph::{AdditionOrder, MatmulPlan, RoundingForm, TopKSelection, TpuUnit};
use super::super::matching::Width;

/// A difference between two programs before it is put into words.
#[derive(Clone, Debug, PartialEq)]
pub struct StateChange {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// The value's name in BEFORE.
    pub name: String,
    /// `op_name` of its metadata in either program.
    pub op_name: Option<String>,
    /// The states in BEFORE and in AFTER.
    pub states: [State; 2],
}

impl StateChange {
    /// The change in words.
    pub fn into_change(self) -> Change {
        let [one, other] = self.states.each_ref().map(State::units);
        let of_unit = !one.is_empty() && !other.is_empty() && one != other;
        let [before, after] = self.states.map(|state| state.to_string());
        Change { kind: self.kind, name: self.name, op_name: self.op_name, before, after, of_unit }
    }

    /// Whether it is one of where numbers are negated, which only the signs of zeros show.
    pub fn is_of_zeros(&self) -> bool {
        self.states.iter().any(|state| matches!(state, State::NegatedBefore(_)))
    }
}

/// One side of a difference. Sets hold what the instances of one value do.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// The widths in which readers see the value that see another one than before, and those of all others.
    Readings {
        /// Readers that see it in another width than in the other program.
        seen: Vec<(SeenBy, BTreeSet<Width>)>,
        /// Readers that see it as in the other program; empty in BEFORE.
        still: Vec<(SeenBy, BTreeSet<Width>)>,
    },
    /// The width of a sum.
    Accumulation(Precision),
    /// The steps in which a sum or scan is taken.
    Steps(HashSet<Vec<usize>>),
    /// The order of additions.
    Order(HashSet<AdditionOrder>),
    /// Whether numbers are negated before an operation.
    NegatedBefore(BTreeSet<bool>),
    /// The cut of a matmul.
    Plan(HashSet<MatmulPlan>),
    /// Whether a product is added before it is rounded.
    Fused(HashSet<bool>),
    /// The operation that rounds, with all that decides the rounding.
    Rounding(HashSet<RoundedBy>),
    /// Scalings that undo each other; empty where the value is used as it is.
    ScaledBack(HashSet<RoundingForm>),
    /// The selection of a top-k.
    Selection(HashSet<TopKSelection>),
    /// The numbers that are stored for a constant.
    Stored(BTreeSet<NumberBits>),
    /// An operation that makes an element.
    Element(Making),
    /// An operation in a program's words.
    Operation(String),
}

impl State {
    /// The units of a TPU that compute the value, as far as they are known.
    fn units(&self) -> HashSet<TpuUnit> {
        let State::Rounding(roundings) = self else { return HashSet::new() };
        let unit = |rounding: &RoundedBy| match rounding {
            RoundedBy::Operation(_, unit) | RoundedBy::Products(_, unit, _) => *unit,
            RoundedBy::ByReciprocal => None,
        };
        roundings.iter().filter_map(unit).collect()
    }
}

/// A reader as a line names it: readers are listed in the order of BEFORE.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeenBy {
    /// The reader's place in BEFORE; results are behind all values.
    pub place: usize,
    /// The reader's name.
    pub name: String,
}

/// A rounding of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum RoundedBy {
    /// By an operation, on a unit where the programs use two.
    Operation(RoundingForm, Option<TpuUnit>),
    /// By a sum of products of this width.
    Products(RoundingForm, Option<TpuUnit>, Precision),
    /// By a product with a reciprocal.
    ByReciprocal,
}

impl Display for State {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            State::Readings { seen, still } => {
                write!(f, "{}", readings(seen))?;
                if still.is_empty() { Ok(()) } else { write!(f, "; still {}", readings(still)) }
            }
            State::Accumulation(width) => write!(f, "sum in {width}"),
            State::Steps(steps) => f.write_str(&joined(steps.iter().map(|steps| of_steps(steps)))),
            State::Order(orders) => f.write_str(&joined(orders)),
            State::NegatedBefore(places) => {
                let place = |before: &bool| if *before { "before it" } else { "after it, if at all" };
                let places: Vec<&str> = places.iter().map(place).collect();
                write!(f, "negated {}, which zeros show", places.join(" and "))
            }
            State::Plan(plans) => f.write_str(&joined(plans)),
            State::Fused(fused) => f.write_str(&joined(
                fused.iter().map(|fused| if *fused { "fused multiply-add" } else { "multiply, then add" }),
            )),
            State::Rounding(roundings) => f.write_str(&joined(roundings)),
            State::ScaledBack(steps) if steps.is_empty() => f.write_str("as it is"),
            State::ScaledBack(steps) => f.write_str(&joined(steps)),
            State::Selection(selections) => f.write_str(&joined(selections)),
            State::Stored(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(|stored| number(stored.get())).collect();
                f.write_str(&numbers.join(" and "))
            }
            State::Element(making) => write!(f, "{making}"),
            State::Operation(text) => f.write_str(text),
        }
    }
}

/// `a and b`, in the order of the alphabet.
fn joined<T: Display>(parts: impl IntoIterator<Item = T>) -> String {
    let parts: BTreeSet<String> = parts.into_iter().map(|part| part.to_string()).collect();
    parts.into_iter().collect::<Vec<_>>().join(" and ")
}

/// `bf16 for sub.7, result 0; f32 for reduce_sum.15`, readers in BEFORE's order.
fn readings(readings: &[(SeenBy, BTreeSet<Width>)]) -> String {
    let mut groups: BTreeMap<&BTreeSet<Width>, Vec<&SeenBy>> = BTreeMap::new();
    for (reader, widths) in readings {
        groups.entry(widths).or_default().push(reader);
    }
    let mut parts: Vec<(usize, String)> = groups
        .into_iter()
        .map(|(widths, mut readers)| {
            readers.sort();
            readers.dedup_by(|one, other| one.name == other.name);
            let names: Vec<&str> = readers.iter().map(|reader| reader.name.as_str()).collect();
            // The widest first.
            let widths = widths.iter().rev().map(Width::to_string).collect::<Vec<_>>().join(" and ");
            (readers[0].place, format!("{widths} for {}", names.join(", ")))
        })
        .collect();
    parts.sort();
    parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join("; ")
}

fn of_steps(steps: &[usize]) -> String {
    let [one] = steps else {
        let list: Vec<String> = steps.iter().map(usize::to_string).collect();
        return format!("blocks of {}", list.join(", then "));
    };
    format!("{one} at once")
}

impl Display for Width {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.over {
            Some(over) => write!(f, "{over}, then {}", self.left),
            None => write!(f, "{}", self.left),
        }
    }
}

impl Display for TpuUnit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TpuUnit::Vector => "the vector unit",
            TpuUnit::Matrix => "the matrix unit",
        })
    }
}

impl Display for RoundedBy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let on = |unit: &Option<TpuUnit>| unit.map_or(String::new(), |unit| format!(" on {unit}"));
        match self {
            RoundedBy::Operation(form, unit) => write!(f, "{form}{}", on(unit)),
            RoundedBy::Products(form, unit, width) => write!(f, "{form}{}, products in {width}", on(unit)),
            RoundedBy::ByReciprocal => f.write_str("multiply by the reciprocal"),
        }
    }
}
