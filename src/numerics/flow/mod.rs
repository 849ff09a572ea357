//! The precision flow of an HLO file: the rounding of each value, its readers before and after that, the accumulation
//! of sums, and the roundings that a compiler would drop.
//!
//! [`flow`] gathers it: the readers of a value ([`views`]), the values ([`Value`]), groups of them with a name
//! (`group`), the changes that compilers would make ([`elisions`]), and the findings ([`Finding`]). [`text()`] and
//! [`dot()`] show it.

mod accumulation;
mod collective_order;
mod elision;
mod enumeration;
mod finding;
mod graphviz;
mod group;
mod node;
mod reading_kind;
mod text;
mod unknown;
mod uses;

pub use accumulation::Accumulation;
pub use collective_order::Collective;
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
use crate::machine::{Mode, ModeError, emulated_compilers};

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
    /// The number of devices that run it. A value that differs between them is one for each, `NAME@DEVICE`.
    pub devices: usize,
    /// The reductions between devices that a compiled file has a plan of, in the file's order.
    pub collectives: Vec<Collective>,
    /// Instructions that have no meaning here, in the file's order. The flow treats each as a function of its operands.
    pub unknown: Vec<Unknown>,
    /// The modes that `elisions` are about, as they print: `v5e/default/tpu`.
    pub modes: Vec<String>,
    /// The values of the entry in its order, those that only move or convert included.
    pub values: Vec<Value>,
    /// The groups that were recognised, in the order of their last values.
    pub groups: Vec<Group>,
    /// The findings, choices first.
    pub findings: Vec<Finding>,
    /// Roundings that compilers would drop or add, in the order of `modes`.
    pub elisions: Vec<Elision>,
    /// The numbers of these.
    pub counts: FlowCounts,
}

/// Values that a person calls by one name. [`Value::role`] has the part of each in its group.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The function that they compute together.
    pub shape: Shape,
    /// Their names, in the entry's order.
    pub values: Vec<String>,
}

/// Numbers of the entry's values, in all and of some kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct FlowCounts {
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

/// Modes of compilers without code of their own here, to be asked about a file that is not compiled yet. The policy `gpu` does not
/// depend on the chip.
const REWRITERS: [&str; 2] = ["v5e/default/gpu", "v5e/default/tpu"];

/// The modes whose compilers are asked for their elisions: the one that is named, else all for a program that is not
/// compiled yet.
///
/// # Errors
/// If the name is no mode.
pub fn compilers(name: Option<&str>, compiled: bool) -> Result<Vec<Mode>, ModeError> {
    match name {
        Some(name) => Ok(vec![name.parse()?]),
        None if compiled => Ok(Vec::new()),
        None => {
            let emulated = emulated_compilers().into_iter().map(|compiler| Ok(compiler.on));
            emulated.chain(REWRITERS.iter().map(|name| name.parse())).collect()
        }
    }
}

/// The precision flow of a program; `compiled` says whether it is a compiler's output, `modes` are those whose
/// compilers are asked for their elisions.
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
    let (unknown, collectives) = (unknown::unknown(import), collective_order::collectives(import));
    Flow { module, compiled, devices, collectives, unknown, modes, values, groups, findings, elisions, counts }
}

fn counts(values: &[Value], findings: &[Finding], elisions: &[Elision]) -> FlowCounts {
    let count = |test: &dyn Fn(&Value) -> bool| values.iter().filter(|v| test(v)).count();
    let mut elidable: Vec<_> = elisions
        .iter()
        .filter(|e| e.effect == Effect::RoundingRemoved)
        .map(|e| (&e.value, &e.reader, e.operand))
        .collect();
    elidable.sort();
    elidable.dedup();
    FlowCounts {
        values: values.len(),
        computing: count(&Value::is_listed),
        roundings: count(&|v| v.rounds_to.is_some()),
        rounding_dots: count(&|v| v.reads.iter().any(|read| read.rounded_by.as_ref() == Some(&v.name))),
        narrow_in_wide: count(&|v| (v.is_listed() || v.rounds_to.is_some()) && v.is_narrow_in_wide()),
        two_views: findings.iter().filter(|f| f.kind == FindingKind::TwoViews).count(),
        elidable: elidable.len(),
    }
}
