//! Where values that only names or results paired compute different things.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Binary, Compare, Op, Unary, ValueId};

use super::change::{ChangeKind, number};
use super::expression::{Combiner, ExpressionId, Expressions, Head};
use super::graph::Graph;
use super::pairing::Pair;
use super::sign;

/// What two paired values do not have in common, each as deep down as the two can be told apart.
pub(super) struct Disagreement {
    /// BEFORE's value that is told of.
    pub value: ValueId,
    /// What it computes, and what AFTER computes in its place.
    pub texts: [String; 2],
    /// What kind of change it is.
    pub kind: ChangeKind,
}

/// All disagreements of the pairs that the expressions alone would not have made, and of results that no pair accounts
/// for. What contains a value that the other program does not compute is left to the note on those.
pub(super) fn disagreements(pair: &Pair) -> Vec<Disagreement> {
    let graphs = [&pair.before, &pair.after];
    let expressions = &pair.expressions;
    let live: BTreeSet<ExpressionId> = all(&pair.after).collect();
    // An expression of AFTER that stands under another number is found by the value that has it.
    let mut roots: Vec<(Option<ValueId>, ExpressionId, ExpressionId)> = expressions
        .substitutions()
        .filter(|(one, taken_for)| live.contains(taken_for) && !pair.equal.contains(one))
        .map(|(one, taken_for)| (None, taken_for, one))
        .collect();
    let [left, right] = graphs.map(|graph| graph.import.program.outputs());
    for (one, other) in left.into_iter().zip(right) {
        let (before, after) = (&pair.before.values[one], &pair.after.values[other]);
        let selected_otherwise = before.selection.is_some() && after.selection.is_some();
        let are_equal = pair.elements.as_ref().is_some_and(|elements| elements.are_equal([one, other]));
        if before.with_sign() != after.with_sign() && !selected_otherwise && !are_equal {
            roots.push((Some(one), before.with_sign(), after.with_sign()));
        }
    }
    let unknown: [BTreeSet<ExpressionId>; 2] = {
        let [left, right] = pair.without_counterpart();
        let of = |graph: &Graph, ids: Vec<ValueId>| ids.into_iter().map(|id| graph.values[id].expression()).collect();
        [of(&pair.before, left), of(&pair.after, right)]
    };
    // What is made of something unknown: operands have lower numbers than what is made of them.
    let of_unknown = unknown.map(|unknown| {
        let mut of_unknown: Vec<bool> = Vec::with_capacity(expressions.len());
        for id in 0..expressions.len() {
            let below = expressions.get(id).1.iter().any(|operand| of_unknown[*operand]);
            of_unknown.push(below || unknown.contains(&id));
        }
        of_unknown
    });
    let mut found: Vec<Disagreement> = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, before, after) in roots {
        let root = at.or_else(|| pair.before.instance(before));
        for sides in apart(pair, before, after) {
            let is_known = |side: usize| !of_unknown[side][sides[side]];
            let Some(value) = pair.before.instance(expressions.without_sign(sides[0])).or(root) else { continue };
            if is_opaque(expressions, sides) {
                continue;
            }
            if is_known(0) && is_known(1) && seen.insert((value, sides)) {
                // What is no float may come from a loop that rounds otherwise.
                let kind = match kind(expressions, sides) {
                    ChangeKind::PrecisionChanged if !pair.before.values[value].float => ChangeKind::OperationChanged,
                    kind => kind,
                };
                found.push(Disagreement { value, texts: texts(pair, sides), kind });
            }
        }
    }
    found.sort_by_key(|d| d.value);
    found
}

/// Whether one side or the other is what nothing here has a meaning for, which is named apart ([`super::not_understood`]).
fn is_opaque(expressions: &Expressions, sides: [ExpressionId; 2]) -> bool {
    let [one, other] = sides.map(|id| expressions.get(id).0);
    one != other && [one, other].iter().any(|head| matches!(head, Head::Opaque(_)))
}

/// What two expressions on floats differ in: operations that make new bits, which have to be rounded, or others; loops in
/// what they do somewhere below, and where that is nothing but roundings, in these.
fn kind(expressions: &Expressions, sides: [ExpressionId; 2]) -> ChangeKind {
    let heads = sides.map(|id| expressions.get(id).0);
    let makes_bits = match heads {
        [Head::Loop(_), Head::Loop(_)] => {
            let labels = differing(expressions, sides);
            let only_roundings = labels.iter().flatten().all(|label| label.is_rounding);
            match labels.map(|labels| labels.is_empty()) {
                [false, true] if only_roundings => return ChangeKind::RoundingRemoved,
                [true, false] if only_roundings => return ChangeKind::RoundingAdded,
                _ => differing(expressions, sides).iter().flatten().any(|label| label.makes_bits),
            }
        }
        heads => heads.into_iter().all(makes_bits),
    };
    if makes_bits { ChangeKind::PrecisionChanged } else { ChangeKind::OperationChanged }
}

/// Something that a loop does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Label {
    text: String,
    makes_bits: bool,
    is_rounding: bool,
}

impl Label {
    fn of(head: &Head) -> Label {
        let is_rounding = matches!(head, Head::Rounded(_));
        Label { text: label(head), makes_bits: makes_bits(head), is_rounding }
    }
}

fn makes_bits(head: &Head) -> bool {
    use Binary::{Maximum, Minimum};
    match head {
        Head::Unary(unary) => !matches!(unary, Unary::Negate | Unary::Abs | Unary::Sign),
        Head::Binary(binary) => !matches!(binary, Maximum | Minimum),
        Head::Reduce { by, .. } | Head::Scan { by, .. } => !matches!(by, Combiner::Known(Maximum | Minimum)),
        Head::Reciprocal | Head::FromIntegers | Head::Constant(_) => true,
        Head::Rounded(_) | Head::Accumulated(_) | Head::Fused => true,
        _ => false,
    }
}

fn all(graph: &Graph) -> impl Iterator<Item = ExpressionId> {
    graph.values.iter().filter(|v| v.live).flat_map(|v| v.unsigned.iter().copied())
}

/// The deepest places in which two expressions differ.
fn apart(pair: &Pair, before: ExpressionId, after: ExpressionId) -> Vec<[ExpressionId; 2]> {
    let expressions = &pair.expressions;
    let mut found = Vec::new();
    let mut open = vec![[before, after]];
    let mut passed = BTreeSet::new();
    // Whether operands have the same elements, which may lie elsewhere: then that is what differs.
    let mut hides = false;
    while let Some(sides) = open.pop() {
        if sides[0] == sides[1] || !passed.insert(sides) {
            continue;
        }
        if sides != [before, after] && pair.have_same_elements(sides) {
            hides = true;
            continue;
        }
        // Where more differs than the sign, that is told of.
        let unsigned = sides.map(|id| expressions.without_sign(id));
        if unsigned != sides && unsigned[0] != unsigned[1] {
            open.push(unsigned);
            continue;
        }
        let [(head, operands), (other, others)] = sides.map(|id| expressions.get(id));
        if matches!((head, other), (Head::Loop(_), Head::Loop(_))) {
            if !differing(expressions, sides).iter().all(Vec::is_empty) {
                found.push(sides);
            }
            continue;
        }
        if !alike(head, other) || operands.len() != others.len() {
            found.push(sides);
            continue;
        }
        let Some(below) = operand_pairs(expressions, head, operands, others) else {
            found.push(sides);
            continue;
        };
        // A constant is told of with the operation that uses it.
        match below.iter().flatten().any(|id| is_leaf(expressions, *id)) {
            true => found.push(sides),
            false => open.extend(below),
        }
    }
    if found.is_empty() && hides {
        found.push([before, after]);
    }
    found
}

/// Whether two expressions do the same with their operands. Where elements lie is no matter of precision, so a gather is
/// a slice.
fn alike(one: &Head, other: &Head) -> bool {
    let places = |one: &Head, other: &Head| matches!((one, other), (Head::Gather { .. }, Head::Slice(_)));
    one == other || places(one, other) || places(other, one)
}

fn is_leaf(expressions: &Expressions, id: ExpressionId) -> bool {
    expressions.get(id).1.is_empty()
}

/// The operands that differ, side by side; `None` where it cannot be said which stands for which.
fn operand_pairs(
    expressions: &Expressions,
    head: &Head,
    operands: &[ExpressionId],
    others: &[ExpressionId],
) -> Option<Vec<[ExpressionId; 2]>> {
    if !head.commutes() {
        let pairs: Vec<_> = operands.iter().zip(others).map(|(a, b)| [*a, *b]).filter(|[a, b]| a != b).collect();
        // Operands that changed places.
        let crossed = pairs.len() > 1 && pairs.iter().any(|[a, _]| pairs.iter().any(|[_, b]| a == b));
        return (!crossed).then_some(pairs);
    }
    let (mut left, mut right) = (operands.to_vec(), others.to_vec());
    left.retain(|id| match right.iter().position(|other| other == id) {
        Some(at) => {
            right.remove(at);
            false
        }
        None => true,
    });
    let alike = |a: ExpressionId, b: ExpressionId| alike(expressions.get(a).0, expressions.get(b).0);
    if let ([a, b], [c, d]) = (&left[..], &right[..]) {
        let straight = alike(*a, *c) || alike(*b, *d);
        let crossed = alike(*a, *d) || alike(*b, *c);
        return match (straight, crossed) {
            (true, _) => Some(vec![[*a, *c], [*b, *d]]),
            (false, true) => Some(vec![[*a, *d], [*b, *c]]),
            (false, false) => None,
        };
    }
    Some(left.into_iter().zip(right).map(|(a, b)| [a, b]).collect())
}

/// What only one of two expressions does anywhere below. Loops carry what compilers please, in any order, so that
/// places are left out; how often something is done counts where both loops carry as many values, and so as many
/// counters. Roundings are always counted.
fn differing(expressions: &Expressions, sides: [ExpressionId; 2]) -> [Vec<Label>; 2] {
    let [one, other] = sides.map(|id| expressions.get(id).1.len());
    let counts = one == other;
    let [left, right] = sides.map(|id| {
        let mut labels = BTreeMap::<Label, usize>::new();
        for part in expressions.parts([id]).into_iter().filter(|part| !is_of_the_loop(expressions, *part)) {
            *labels.entry(Label::of(expressions.get(part).0)).or_default() += 1;
        }
        labels
    });
    let only = |own: &BTreeMap<Label, usize>, other: &BTreeMap<Label, usize>| -> Vec<Label> {
        let is_more = |label: &Label, count: usize| match other.get(label) {
            Some(others) => (counts || label.is_rounding) && *others < count,
            None => true,
        };
        own.iter().filter(|(label, count)| is_more(label, **count)).map(|(label, _)| label.clone()).collect()
    };
    [only(&left, &right), only(&right, &left)]
}

/// Whether an expression has to do with how a loop runs: what it carries, what its first trip takes instead, and where
/// elements lie.
fn is_of_the_loop(expressions: &Expressions, id: ExpressionId) -> bool {
    let (head, operands) = expressions.get(id);
    match head {
        Head::Loop(_) | Head::Argument(_) | Head::Integers | Head::Select => true,
        Head::Slice(_) | Head::Gather { .. } | Head::Reverse | Head::Concatenate | Head::Update => true,
        Head::Compare(Compare::Eq | Compare::Ne) => operands.iter().all(|id| is_leaf(expressions, *id)),
        _ => false,
    }
}

/// What both sides of a disagreement are called.
fn texts(pair: &Pair, sides: [ExpressionId; 2]) -> [String; 2] {
    let expressions = &pair.expressions;
    let graphs = [&pair.before, &pair.after];
    if let [(Head::Loop(_), _), (Head::Loop(_), _)] = sides.map(|id| expressions.get(id)) {
        return differing(expressions, sides).map(|labels| match labels.is_empty() {
            true => "loop without it".to_string(),
            false => {
                let labels: Vec<String> = labels.into_iter().map(|label| label.text).collect();
                format!("loop with {}", labels.join(", "))
            }
        });
    }
    if expressions.without_sign(sides[0]) == expressions.without_sign(sides[1]) {
        return sign::texts(pair, sides);
    }
    let first = pair.before.instance(sides[0]).map(|at| pair.before.name(at));
    let named = [0, 1].map(|side| operation(graphs[side], expressions, sides[side], first));
    if named[0] != named[1] {
        return named;
    }
    let in_full = [0, 1].map(|side| {
        let operands = expressions.get(sides[side]).1;
        let names: Vec<String> = operands.iter().map(|id| called(graphs[side], expressions, *id)).collect();
        let size = match expressions.get(sides[side]).0 {
            Head::Reduce { results, .. } | Head::Index { results, .. } => format!(" to {results} elements"),
            _ => String::new(),
        };
        format!("{}{size} of {}", named[side], names.join(", "))
    });
    if in_full[0] != in_full[1] {
        return in_full;
    }
    let [one, other] = in_full;
    [one, format!("another {other}")]
}

/// `multiply by 0.5`, `compare GE`, `reduce by maximum`: as the instruction of that name has it, else the first.
fn operation(graph: &Graph, expressions: &Expressions, id: ExpressionId, named: Option<&str>) -> String {
    let (head, operands) = expressions.get(id);
    let (instructions, stands_as) = (&graph.entry().instructions, expressions.stands_as(id));
    let computing = graph.instances(stands_as).iter().copied().filter(|at| {
        let is_it = |op: &Op| matches!(op, Op::Compare { .. } | Op::Unary(_) | Op::Binary(_) | Op::Dot { .. });
        graph.values[*at].is_made() && is_it(&instructions[*at].op)
    });
    let computing = computing.min_by_key(|at| (named != Some(graph.name(*at)), *at));
    let name = match computing.map(|at| &instructions[at].op) {
        Some(Op::Compare { direction, .. }) => format!("compare {}", direction.name()),
        // A sum with a negated operand is a difference.
        Some(Op::Binary(Binary::Add | Binary::Subtract)) if matches!(head, Head::Binary(_)) => label(head),
        Some(op) if !matches!(head, Head::Scan { .. }) => op.opcode().to_string(),
        _ => label(head),
    };
    // The expression has the sign of a factor before it.
    let factor = computing.and_then(|at| graph.values[at].by).filter(|_| name == "multiply").map(number);
    let number = factor.or_else(|| operands.iter().find_map(|operand| exactly(graph, expressions, *operand)));
    match (number, head, name.as_str()) {
        (Some(number), _, "multiply") => format!("multiply by {number}"),
        (Some(number), _, "add") => format!("add {number}"),
        (Some(number), Head::Reduce { .. }, _) if operands.len() > 1 => format!("{name} from {number}"),
        (Some(number), Head::Binary(_) | Head::Compare(_), _) => format!("{name} with {number}"),
        _ => name,
    }
}

/// What an operation is called where there is no instruction for it.
fn label(head: &Head) -> String {
    let by = |combiner: &Combiner| match combiner {
        Combiner::Known(binary) => binary.name(),
        Combiner::Region(_) => "a region",
    };
    match head {
        Head::Parameter(n) => format!("parameter {n}"),
        Head::Argument(n) => format!("argument {n}"),
        Head::Constant(bits) => number(f64::from_bits(*bits)),
        Head::Table(_) => "array of constants".to_string(),
        Head::Integers | Head::Counts => "integers".to_string(),
        Head::FromIntegers => "convert of integers".to_string(),
        Head::FromPredicates => "convert of predicates".to_string(),
        Head::Unary(unary) => unary.name().to_string(),
        Head::Reciprocal => "reciprocal".to_string(),
        Head::Binary(binary) => binary.name().to_string(),
        Head::Compare(direction) => format!("compare {}", direction.name()),
        Head::Rounded(format) => format!("rounding to {format}"),
        Head::Fused => "fused multiply-add".to_string(),
        Head::Accumulated(format) => format!("sum in {format}"),
        Head::Select => "select".to_string(),
        Head::Reduce { by: combiner, .. } => format!("reduce by {}", by(combiner)),
        Head::Index { largest: true, .. } => "index of the largest".to_string(),
        Head::Index { largest: false, .. } => "index of the smallest".to_string(),
        Head::Scan { by: combiner, .. } => format!("scan by {}", by(combiner)),
        Head::Sorted { descending } => if *descending { "largest first" } else { "smallest first" }.to_string(),
        Head::Candidates => "best of each bin".to_string(),
        Head::Slice(cuts) => {
            let cuts: Vec<String> =
                cuts.iter().map(|(start, limit, stride)| format!("{start}:{limit}:{stride}")).collect();
            format!("slice [{}]", cuts.join(", "))
        }
        Head::Reverse => "reverse".to_string(),
        Head::Concatenate => "concatenate".to_string(),
        Head::Pad(edges) => {
            let edges: Vec<String> =
                edges.iter().map(|edge| format!("{}_{}_{}", edge.low, edge.high, edge.interior)).collect();
            format!("pad {}", edges.join("x"))
        }
        Head::Update => "update".to_string(),
        Head::Scatter { by: combiner, .. } => format!("scatter by {}", by(combiner)),
        Head::Gather { elements } => format!("gather of {elements}"),
        Head::Loop(_) => "loop".to_string(),
        Head::Opaque(opaque) => opaque.name.clone(),
        Head::Other(name) => name.clone(),
    }
}

/// The number that an expression is in this program, before it was taken as bf16.
fn exactly(graph: &Graph, expressions: &Expressions, id: ExpressionId) -> Option<String> {
    let rounded = expressions.value(id)?;
    let exact = graph.instances(id).iter().find_map(|at| graph.values[*at].scalar);
    Some(number(exact.unwrap_or(rounded)))
}

/// A value as an operand: its name or number.
fn called(graph: &Graph, expressions: &Expressions, id: ExpressionId) -> String {
    let name = |at: ValueId| graph.name(at).rsplit('/').next().unwrap_or_default().to_string();
    exactly(graph, expressions, id)
        .or_else(|| graph.instance(id).map(name))
        .unwrap_or_else(|| label(expressions.get(id).0))
}
