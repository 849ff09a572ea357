//! The precision flow of an HLO file: where each value is rounded, who sees it before and who after, what sums are
//! accumulated in, and which roundings a compiler would drop.

mod dot;
mod elision;
mod finding;
mod group;
mod sum;
mod text;
mod uses;
mod value;

pub use dot::dot;
pub use elision::{Effect, Elision, elisions};
pub use finding::{Finding, FindingKind};
pub use group::Shape;
pub use sum::Accumulation;
pub use text::text;
pub use uses::{Reader, View, views};
pub use value::{Read, Use, Value};

use serde::Serialize;

use crate::analysis::Analysis;
use crate::hlo::Import;
use crate::machine::Mode;

/// A file's precision flow.
///
/// As JSON the fields keep these names: `module`; `compiled`; `modes` (those that `elisions` are about, written
/// `chip/precision/excess`); `values` ([`Value`], in the entry's order, those that only move or convert included);
/// `groups` ([`Group`]); `findings` ([`Finding`]); `elisions` ([`Elision`]); `counts` ([`Counts`]).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Flow {
    pub module: String,
    /// Whether the file is a compiler's output.
    pub compiled: bool,
    pub modes: Vec<String>,
    pub values: Vec<Value>,
    pub groups: Vec<Group>,
    pub findings: Vec<Finding>,
    pub elisions: Vec<Elision>,
    pub counts: Counts,
}

/// Values that a person calls by one name.
///
/// JSON: `shape` (`softmax`, `log_softmax`, `argmax`, `cumsum`, `sort`, `top_k`, `approx_top_k`); `values`, their names
/// in the entry's order. What each is in its group stands in the value's `role`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    pub shape: Shape,
    pub values: Vec<String>,
}

/// How many there are.
///
/// JSON: `values` of the entry; `computing`, those that are rounded to their type or pick among values; `roundings`,
/// conversions and `reduce-precision` that drop bits; `narrow_in_wide`, computing or rounding values whose numbers all
/// belong to a narrower format than their type; `two_views`, values that readers see in different precisions;
/// `elidable`, roundings that some mode drops.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    pub values: usize,
    pub computing: usize,
    pub roundings: usize,
    pub narrow_in_wide: usize,
    pub two_views: usize,
    pub elidable: usize,
}

/// The precision flow of a program. `modes` are those whose compilers are asked what they would elide.
pub fn flow(import: &Import, compiled: bool, modes: &[Mode]) -> Flow {
    let program = &import.program;
    let analysis = Analysis::new(program);
    let views = views(&analysis);
    let groups = group::groups(&analysis);
    let values = value::values(import, &analysis, &views, &groups);
    let elisions = elisions(program, modes);
    let findings = finding::findings(&values, &elisions);
    let name = |id: usize| program.entry().instructions[id].name.clone();
    let groups = groups
        .iter()
        .map(|g| Group { shape: g.shape, values: g.values.iter().map(|(id, _)| name(*id)).collect() })
        .collect();
    let counts = counts(&values, &findings, &elisions);
    let modes = modes.iter().map(Mode::to_string).collect();
    Flow { module: program.name.clone(), compiled, modes, values, groups, findings, elisions, counts }
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
        narrow_in_wide: count(&|v| (v.is_listed() || v.rounds_to.is_some()) && v.is_narrow_in_wide()),
        two_views: findings.iter().filter(|f| f.kind == FindingKind::TwoViews).count(),
        elidable: elidable.len(),
    }
}
