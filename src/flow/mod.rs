//! The precision flow of an HLO file: where each value is rounded, who sees it before and who after, what sums are
//! accumulated in, and which roundings a compiler would drop.
//!
//! [`flow`] gathers it: who sees a value ([`views`]), what each value is ([`Value`]), what a person calls groups of
//! them (`group`), what compilers would do ([`elisions`]), and what is remarkable ([`Finding`]). [`text()`] and [`dot()`]
//! show it.

mod accumulation;
mod elision;
mod finding;
mod graphviz;
mod group;
mod node;
mod text;
mod unknown;
mod uses;

pub use accumulation::Accumulation;
pub use elision::{Effect, Elision, elisions};
pub use finding::{Finding, FindingKind};
pub use graphviz::dot;
pub use group::Shape;
pub use node::{Read, Use, Value};
pub use text::text;
pub use unknown::Unknown;
pub use uses::{Reader, View, views};

use serde::Serialize;

use crate::analysis::Analysis;
use crate::hlo::Import;
use crate::machine::{Mode, ModeError};

/// A file's precision flow.
///
/// As JSON, fields keep their names here and in all that a flow holds; `None` is `null`, and a precision is written by
/// its name ([`crate::analysis::Precision::name`]).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    /// The program's name.
    pub module: String,
    /// Whether the file is a compiler's output.
    pub compiled: bool,
    /// How many devices run it. What differs between them is a value for each, `NAME@DEVICE`.
    pub devices: usize,
    /// What nothing here has a meaning for, in the file's order. The rest is told as if it were a function of its operands.
    pub unknown: Vec<Unknown>,
    /// The modes that `elisions` are about, as they print: `v5e/default/tpu`.
    pub modes: Vec<String>,
    /// The values of the entry in its order, those that only move or convert included.
    pub values: Vec<Value>,
    /// The groups that were recognised, in the order of their last values.
    pub groups: Vec<Group>,
    /// What a person should know, choices first.
    pub findings: Vec<Finding>,
    /// What compilers would drop or add, in the order of `modes`.
    pub elisions: Vec<Elision>,
    /// How many there are of each.
    pub counts: Counts,
}

/// Values that a person calls by one name. What each is in its group stands in [`Value::role`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// What they compute together.
    pub shape: Shape,
    /// Their names, in the entry's order.
    pub values: Vec<String>,
}

/// How many of the entry's values there are, in all and of some kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All.
    pub values: usize,
    /// Those that make or pick floats, or read some ([`Value::is_listed`]).
    pub computing: usize,
    /// Conversions and `reduce-precision` that drop bits.
    pub roundings: usize,
    /// Dots of a compiled file that round an operand to bf16, as the matrix unit takes it.
    pub rounding_dots: usize,
    /// Computing or rounding values whose numbers all belong to a narrower format than their dtype.
    pub narrow_in_wide: usize,
    /// Values that readers see in different precisions, copies counted as one.
    pub two_views: usize,
    /// Roundings that some mode drops for some reader.
    pub elidable: usize,
}

/// Whom to ask about a file that is not compiled yet. The policy `gpu` does not depend on the chip.
const COMPILERS: [&str; 3] = ["xla-cpu/default/cpu", "v5e/default/gpu", "v5e/default/tpu"];

/// The modes whose compilers are asked what they would elide: the one that is named, else all of a program that is not
/// compiled yet.
///
/// # Errors
/// If the name is no mode.
pub fn compilers(name: Option<&str>, compiled: bool) -> Result<Vec<Mode>, ModeError> {
    let names = match &name {
        Some(name) => std::slice::from_ref(name),
        None if compiled => &[],
        None => &COMPILERS[..],
    };
    names.iter().map(|name| name.parse()).collect()
}

/// The precision flow of a program; `compiled` says whether it is a compiler's output, `modes` are those whose
/// compilers are asked what they would elide.
pub fn flow(import: &Import, compiled: bool, modes: &[Mode]) -> Flow {
    let program = &import.program;
    let analysis = Analysis::new(program);
    let views = views(&analysis);
    let groups = group::groups(&analysis);
    let values = node::values(import, &analysis, &views, &groups);
    let elisions = elisions(program, modes);
    let findings = finding::findings(&values, &elisions);
    let name = |id: usize| program.entry().instructions[id].name.clone();
    let groups = groups
        .iter()
        .map(|g| Group { shape: g.shape, values: g.values.iter().map(|(id, _)| name(*id)).collect() })
        .collect();
    let counts = counts(&values, &findings, &elisions);
    let modes = modes.iter().map(Mode::to_string).collect();
    let (module, devices) = (program.name.clone(), import.devices);
    let unknown = unknown::unknown(import);
    Flow { module, compiled, devices, unknown, modes, values, groups, findings, elisions, counts }
}

fn counts(values: &[Value], findings: &[Finding], elisions: &[Elision]) -> Counts {
    let count = |test: &dyn Fn(&Value) -> bool| values.iter().filter(|v| test(v)).count();
    let mut elidable: Vec<_> = elisions
        .iter()
        .filter(|e| e.effect == Effect::RoundingRemoved)
        .map(|e| (&e.value, &e.reader, e.operand))
        .collect();
    elidable.sort();
    elidable.dedup();
    Counts {
        values: values.len(),
        computing: count(&Value::is_listed),
        roundings: count(&|v| v.rounds_to.is_some()),
        rounding_dots: count(&|v| v.reads.iter().any(|read| read.rounded_by.as_ref() == Some(&v.name))),
        narrow_in_wide: count(&|v| (v.is_listed() || v.rounds_to.is_some()) && v.is_narrow_in_wide()),
        two_views: findings.iter().filter(|f| f.kind == FindingKind::TwoViews).count(),
        elidable: elidable.len(),
    }
}
