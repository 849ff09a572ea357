//! Candidates for the scales of a tensor: a rule with a per-tensor scale, and classes of those that the bytes cannot tell apart.

use std::collections::BTreeSet;

use crate::num::{Direction, round_f64};
use crate::scaled::{Extreme, Rule, ScaleType, per_tensor_scale, rules_of};

use super::given::Given;
use super::read_case::ReadCase;
use super::rounded::{Block, Way, code_beside};
use super::scales_answer::Class;

/// The part of the per-tensor scale in a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    /// The format has none, and the file neither.
    None,
    /// The file's is used.
    Used,
    /// The file has one, and the scales do without it.
    Ignored,
    /// The file has none, and the scales lie over the largest magnitude / 2688.
    Missing,
    /// The file has its reciprocal.
    Inverse,
    /// The file has another one than the scales lie over.
    Wrong,
    /// The rule has zero points, and the file none.
    WithoutZeros,
}

impl Status {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Status::None => "none",
            Status::Used => "used",
            Status::Ignored => "ignored",
            Status::Missing => "missing",
            Status::Inverse => "inverse",
            Status::Wrong => "wrong",
            Status::WithoutZeros => "none",
        }
    }
}

/// A rule with the per-tensor scale that it is tried with.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleCandidate {
    pub rule: &'static Rule,
    pub g: f32,
    pub status: Status,
}

impl RuleCandidate {
    /// Codes of a block's scale; empty where the rule leaves it open.
    pub fn codes(&self, case: &ReadCase, extreme: &Extreme) -> Vec<u64> {
        self.rule.codes(extreme, case.types.element, case.types.scales, self.g)
    }

    /// Whether the rule gives a block this code, or leaves it open.
    pub fn permits(&self, case: &ReadCase, extreme: &Extreme, code: i64) -> bool {
        let codes = self.codes(case, extreme);
        codes.is_empty() || codes.iter().any(|permitted| *permitted as i64 == code)
    }

    /// Whether the rule gives a block this zero point, or leaves it open.
    pub fn permits_zero(&self, case: &ReadCase, extreme: &Extreme, zero: Option<f64>) -> bool {
        let Some(zero) = zero else { return true };
        self.zero_point(case, extreme).is_none_or(|own| own == zero)
    }

    /// A block's zero point in the type that they are stored in; `None` where the rule leaves it open.
    pub fn zero_point(&self, case: &ReadCase, extreme: &Extreme) -> Option<f64> {
        let zero = self.rule.zero_point(extreme, case.types.element)?;
        let format = case.types.zeros.and_then(|dtype| dtype.format());
        Some(format.map_or(zero, |format| round_f64(format, zero, Direction::NearestEven)))
    }

    /// The fault of the per-tensor scale, if the candidate has one.
    pub fn fault(&self) -> Option<&'static str> {
        match self.status {
            Status::None | Status::Used => None,
            Status::WithoutZeros => Some("the zero points are missing: the rule has one for each scale"),
            Status::Ignored => Some("the per-tensor scale is ignored: the scales follow from the input alone"),
            Status::Missing => {
                Some("the per-tensor scale is missing: the scales lie over the largest magnitude / 2688")
            }
            Status::Inverse => Some("the per-tensor scale is the reciprocal of the one that the scales lie over"),
            Status::Wrong => Some("the per-tensor scale is wrong: the scales lie over the largest magnitude / 2688"),
        }
    }
}

/// All candidates of a reading, those without a fault first.
pub(super) fn candidates(given: &Given, case: &ReadCase, values: &[f32]) -> Vec<RuleCandidate> {
    let all = rules_of(case.types.scales, case.types.element);
    if case.types.scales != ScaleType::E4M3 {
        let status = |rule: &Rule| match rule.has_zero_points() && case.scales.zeros.is_none() {
            true => Status::WithoutZeros,
            false => Status::None,
        };
        let of = |rule: &'static Rule| RuleCandidate { rule, g: 1.0, status: status(rule) };
        return all.into_iter().map(of).collect();
    }
    let levels = match given.per_tensor {
        Some(g) => vec![
            (g, true, Status::Used),
            (1.0, false, Status::Ignored),
            (1.0 / g, true, Status::Inverse),
            (per_tensor_scale(values), true, Status::Wrong),
        ],
        None => vec![(1.0, false, Status::None), (per_tensor_scale(values), true, Status::Missing)],
    };
    let of = |(g, has_per_tensor, status): (f32, bool, Status)| {
        let rules = all.iter().filter(move |rule| rule.has_per_tensor() == has_per_tensor);
        rules.map(move |rule| RuleCandidate { rule, g, status }).collect::<Vec<_>>()
    };
    levels.into_iter().flat_map(of).collect()
}

/// Candidates that agree with the same judged blocks.
pub(super) struct Ranked {
    pub members: Vec<RuleCandidate>,
    supports: usize,
    refutes: usize,
    /// Whether the class explains all judged blocks.
    pub is_whole: bool,
    /// Bytes of zero, infinite and NaN blocks against those of the class's libraries.
    pub edges: &'static str,
    /// Codes of edge blocks that are taken although no library of the class has them.
    other_edges: Vec<(EdgeKind, i64)>,
}

/// Kind of a block that arithmetic does not decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EdgeKind {
    Zero,
    Infinite,
    Nan,
}

fn edge(extreme: &Extreme) -> Option<EdgeKind> {
    match () {
        () if extreme.has_nan => Some(EdgeKind::Nan),
        () if extreme.value == 0.0 => Some(EdgeKind::Zero),
        () if extreme.value.is_infinite() => Some(EdgeKind::Infinite),
        () => None,
    }
}

const AS_LIBRARY: &str = "as a library of the class";
const OF_NO_LIBRARY: &str = "of no known library of the class";
const NO_EDGES: &str = "no such blocks";

impl Ranked {
    /// The class as answers have it.
    pub fn class(&self) -> Class {
        let distinct = |of: fn(&Rule) -> String| {
            let mut found: Vec<String> = Vec::new();
            for member in &self.members {
                let text = of(member.rule);
                if !found.contains(&text) {
                    found.push(text);
                }
            }
            found
        };
        Class {
            rules: distinct(|rule| rule.name.to_string()),
            sub_rules: distinct(|rule| rule.sub_rule.to_string()),
            libraries: distinct(|rule| rule.library.to_string()),
            how: distinct(|rule| rule.how.to_string()),
            supports: self.supports,
            refutes: self.refutes,
        }
    }

    /// Whether the class gives a block this zero point.
    pub fn permits_zero(&self, case: &ReadCase, extreme: &Extreme, zero: Option<f64>) -> bool {
        self.members[0].permits_zero(case, extreme, zero)
    }

    /// Whether the class gives a block this code.
    pub fn permits(&self, case: &ReadCase, extreme: &Extreme, code: i64) -> bool {
        let is_other_edge = || edge(extreme).is_some_and(|kind| self.other_edges.contains(&(kind, code)));
        self.members[0].permits(case, extreme, code) || is_other_edge()
    }
}

/// Codes of zero, infinite and NaN blocks, if all blocks of a kind agree and some library has them for some rule.
fn known_edges(case: &ReadCase, all: &[RuleCandidate], blocks: &[(Block, Extreme)]) -> Option<Vec<(EdgeKind, i64)>> {
    let mut seen: Vec<(EdgeKind, i64)> = Vec::new();
    for (block, extreme) in blocks {
        let Some(kind) = edge(extreme) else { continue };
        let code = block.scale as i64;
        if !all.iter().any(|one| one.permits(case, extreme, code)) {
            return None;
        }
        let differs = seen.iter().any(|(other, before)| *other == kind && *before != code);
        // A maximum that loses NaN gives each block its own code.
        if differs && kind != EdgeKind::Nan {
            return None;
        }
        if !seen.contains(&(kind, code)) {
            seen.push((kind, code));
        }
    }
    Some(seen)
}

/// Classes of candidates, the best first, for scales that are `offset` steps lower than the rule's.
pub(super) fn classes(
    case: &ReadCase,
    all: &[RuleCandidate],
    blocks: &[(Block, Extreme)],
    offset: i64,
    way: &Way,
) -> Vec<Ranked> {
    let agreement = |one: &RuleCandidate| -> Vec<bool> {
        blocks
            .iter()
            .map(|(block, extreme)| {
                let zero = block.zero.map(|zero| way.zero.of(zero));
                one.permits(case, extreme, code_beside(case.types.scales, block.scale, offset))
                    && one.permits_zero(case, extreme, zero)
            })
            .collect()
    };
    let columns: Vec<Vec<bool>> = all.iter().map(agreement).collect();
    let is_edge: Vec<bool> = blocks.iter().map(|(_, extreme)| edge(extreme).is_some()).collect();
    let ordinary = |column: &[bool]| column.iter().zip(&is_edge).all(|(agrees, is_edge)| *agrees || *is_edge);
    let has_edges = is_edge.contains(&true);
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut seen: BTreeSet<Vec<bool>> = BTreeSet::new();
    for column in &columns {
        if !seen.insert(column.clone()) {
            continue;
        }
        let members = all.iter().zip(&columns).filter(|(_, other)| *other == column).map(|(one, _)| *one).collect();
        let supports = column.iter().filter(|agrees| **agrees).count();
        let refutes = column.len() - supports;
        let edges = if !has_edges {
            NO_EDGES
        } else if column.iter().zip(&is_edge).all(|(agrees, is_edge)| *agrees || !is_edge) {
            AS_LIBRARY
        } else {
            OF_NO_LIBRARY
        };
        ranked.push(Ranked { members, supports, refutes, is_whole: refutes == 0, edges, other_edges: Vec::new() });
    }
    ranked.sort_by_key(|one| one.refutes);
    let is_whole = ranked.first().is_some_and(|first| first.is_whole);
    if !is_whole
        && offset == 0
        && let Some(edges) = known_edges(case, all, blocks)
    {
        // A library's newer version may treat edges as another one does.
        let members: Vec<RuleCandidate> =
            all.iter().zip(&columns).filter(|(_, column)| ordinary(column)).map(|(one, _)| *one).collect();
        if !members.is_empty() {
            let supports = blocks.len();
            let whole =
                Ranked { members, supports, refutes: 0, is_whole: true, edges: OF_NO_LIBRARY, other_edges: edges };
            ranked.insert(0, whole);
        }
    }
    ranked
}
