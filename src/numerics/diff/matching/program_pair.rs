//! Pairs values that the expressions leave unmatched: by name, in order, and by the results they end in.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::hlo::Import;
use crate::ir::ValueId;
use crate::machine::Chip;

use super::super::element::Sides;
use super::super::expression::{ExpressionId, Expressions};
use super::super::graph::ArithmeticHabits;
use super::super::graph::Graph;
use super::super::graph::Value;

/// Two programs over the same expressions.
pub struct Pair<'a> {
    pub before: Graph<'a>,
    pub after: Graph<'a>,
    pub expressions: Expressions,
    /// Element by element, where values as a whole left something open and the programs are not too large.
    pub elements: Option<Sides>,
    /// Expressions of AFTER that were taken for one of BEFORE because they have the same elements.
    pub equal: BTreeSet<ExpressionId>,
}

impl<'a> Pair<'a> {
    /// AFTER is read from its parameters on: each value that BEFORE does not compute is taken for its counterpart, if
    /// it has one, before those that use it are read, so that these match by themselves. What has no counterpart at first
    /// may have one when others are matched: AFTER is read again as long as that matches more.
    pub fn new(before: &'a Import, after: &'a Import, chip: Option<&'static Chip>) -> Pair<'a> {
        let mut expressions = Expressions::default();
        let habits = ArithmeticHabits {
            plans_code: chip.is_some_and(Chip::plans_code),
            one_pass: before.for_tpu || after.for_tpu,
            chip,
            for_tpu: false,
        };
        let [mut before, mut after] = [before, after].map(|import| {
            let for_tpu = import.is_compiled && import.for_tpu;
            Graph::new(import, ArithmeticHabits { for_tpu, ..habits })
        });
        // BEFORE first: its expressions get the lower numbers, and AFTER's are matched with them.
        before.read(&mut expressions, &mut |_, _, _| None);
        after.read(&mut expressions, &mut |_, _, _| None);
        let of_before = expressions_of(&before);
        let parts = [&before, &after].map(|graph| parts_of(graph, &expressions));
        expressions.share(parts[0].intersection(&parts[1]).copied());
        let mut fewest = usize::MAX;
        // Following elements costs far more than reading: it is for pairs that reading leaves open.
        let is_matched = Open::new(&before, &after, &of_before, &expressions, None).keys.iter().all(HashMap::is_empty);
        let elements = if is_matched { None } else { Sides::new(&before, &after) };
        let mut equal = BTreeSet::new();
        loop {
            let mut open = Open::new(&before, &after, &of_before, &expressions, elements.as_ref());
            if fewest == usize::MAX && elements.is_some() {
                after.read(&mut expressions, &mut |id, value, e| open.settle_equal(id, value, e, &mut equal));
                open = Open::new(&before, &after, &of_before, &expressions, elements.as_ref());
            }
            // Each reading matches more than the one before, so there is an end.
            if open.len() == 0 || open.len() >= fewest {
                break;
            }
            fewest = open.len();
            if open.has_counterparts() {
                expressions.forget_substitutions();
                after.read(&mut expressions, &mut |id, value, expressions| {
                    open.settle_equal(id, value, expressions, &mut equal)
                        .or_else(|| open.settle(id, value, expressions))
                });
            }
            if open.len() == fewest {
                // A result is what it was, however it is computed.
                for (one, other) in results(&before, &after) {
                    expressions.identify(one, other);
                }
                expressions.forget_substitutions();
                after.read(&mut expressions, &mut |_, _, _| None);
            }
        }
        Pair { before, after, expressions, elements, equal }
    }

    /// The values of one expression: BEFORE's and AFTER's.
    pub fn both(&self, id: ExpressionId) -> [Vec<&Value>; 2] {
        [&self.before, &self.after].map(|graph| graph.instances(id).iter().map(|v| &graph.values[*v]).collect())
    }

    /// Whether the values of two expressions have the same elements. The comparison of how they are made is separate.
    pub fn have_same_elements(&self, sides: [ExpressionId; 2]) -> bool {
        let Some(elements) = &self.elements else { return false };
        let of = |side: usize, graph: &Graph| {
            let at = graph.instance(self.expressions.without_sign(sides[side]))?;
            elements.content(side, at)
        };
        of(0, &self.before).is_some_and(|content| of(1, &self.after) == Some(content))
    }

    /// Expressions that both programs make.
    pub fn common(&self) -> BTreeSet<ExpressionId> {
        let after = expressions_of(&self.after);
        expressions_of(&self.before).into_keys().filter(|id| after.contains_key(id)).collect()
    }

    /// The expressions that a program makes and that have no part in the other, each with its first value, steps of
    /// sums and scans apart.
    pub fn without_counterpart(&self) -> [Vec<ValueId>; 2] {
        let alone = |side: usize, of: &Graph, other: &Graph| {
            let is_accounted = |id| self.elements.as_ref().is_some_and(|elements| elements.is_accounted(side, id));
            let parts = parts_of(other, &self.expressions);
            let mut alone: Vec<ValueId> = expressions_of(of)
                .iter()
                .filter(|(id, value)| {
                    of.values[**value].float && !parts.contains(id) && !self.expressions.is_step(**id)
                })
                .map(|(_, value)| *value)
                .filter(|id| !is_accounted(*id))
                .collect();
            alone.sort_unstable();
            alone
        };
        [alone(0, &self.before, &self.after), alone(1, &self.after, &self.before)]
    }
}

/// The expressions of the values that a program computes, each with the first of them.
pub fn expressions_of(graph: &Graph) -> BTreeMap<ExpressionId, ValueId> {
    let mut made = BTreeMap::new();
    for (id, value) in graph.values.iter().enumerate().filter(|(_, value)| value.is_computed()) {
        made.entry(value.expression()).or_insert(id);
    }
    made
}

/// All that the expressions of a program's values are made of, themselves included.
fn parts_of(graph: &Graph, expressions: &Expressions) -> HashSet<ExpressionId> {
    expressions.parts(graph.values.iter().filter(|v| v.live).flat_map(|v| v.expressions.iter().copied()))
}

/// The name and size that values are paired by.
type NameKey<'a> = (&'a str, usize);

/// Values that one program makes and the other does not.
struct Open<'a, 'e> {
    /// Values of BEFORE that AFTER makes by other operations, by the fingerprint of their elements.
    equals: HashMap<u128, ExpressionId>,
    elements: Option<&'e Sides>,
    of_before: &'e BTreeMap<ExpressionId, ValueId>,
    /// The keys of BEFORE's and AFTER's open values.
    keys: [HashMap<ValueId, NameKey<'a>>; 2],
    /// Full names of BEFORE's and AFTER's open values.
    names: [HashMap<ValueId, &'a str>; 2],
    /// BEFORE's and AFTER's open values of a key, in order.
    values: HashMap<NameKey<'a>, [BTreeMap<ValueId, ExpressionId>; 2]>,
}

impl<'a, 'e> Open<'a, 'e> {
    /// Steps of a reduction, scan or product are part of the whole, and have no counterpart of their own. Nor has what the
    /// other program computes in one with something else: a power whose reciprocal it takes at once.
    fn new(
        before: &Graph<'a>,
        after: &Graph<'a>,
        of_before: &'e BTreeMap<ExpressionId, ValueId>,
        expressions: &Expressions,
        elements: Option<&'e Sides>,
    ) -> Self {
        let of_after = expressions_of(after);
        let mut open = Open {
            equals: HashMap::new(),
            elements,
            of_before,
            keys: Default::default(),
            names: Default::default(),
            values: HashMap::new(),
        };
        for (side, graph, own, other) in [(0, before, of_before, after), (1, after, &of_after, before)] {
            let parts = parts_of(other, expressions);
            let is_open = |id: &ExpressionId| !parts.contains(id) && !expressions.is_step(*id);
            for id in own.iter().filter(|(expression, _)| is_open(expression)).map(|(_, id)| id) {
                if let Some(elements) = elements.filter(|elements| elements.is_accounted(side, *id)) {
                    if let (0, Some(content)) = (side, elements.in_order(side, *id)) {
                        open.equals.entry(content).or_insert(graph.values[*id].with_sign());
                    }
                    continue;
                }
                let key = (graph.base_name(*id), graph.entry().instructions[*id].shape.elements());
                open.keys[side].insert(*id, key);
                open.names[side].insert(*id, graph.name(*id));
                open.values.entry(key).or_default()[side].insert(*id, graph.values[*id].with_sign());
            }
        }
        open
    }

    /// Number of open values.
    fn len(&self) -> usize {
        self.keys.iter().map(HashMap::len).sum()
    }

    /// Whether values of some key can be paired in order.
    fn has_counterparts(&self) -> bool {
        self.values.values().any(|[left, right]| left.len() == right.len())
    }

    /// The expression of BEFORE that replaces a value of AFTER made by other operations with the same elements.
    fn settle_equal(
        &self,
        id: ValueId,
        value: &Value,
        expressions: &Expressions,
        equal: &mut BTreeSet<ExpressionId>,
    ) -> Option<ExpressionId> {
        if !value.is_computed() || self.of_before.contains_key(&value.expression()) {
            return None;
        }
        let other = self.elements?.in_order(1, id).and_then(|content| self.equals.get(&content)).copied()?;
        equal.insert(expressions.split_sign(value.with_sign()).1);
        Some(other)
    }

    /// The expression of BEFORE that replaces an open value of AFTER, before its users are read; `None` if BEFORE
    /// computes the value itself. Candidates are the open values of the same name and size, if there are as many in
    /// both programs. The one that has most in common with the value is taken. If several have as much, the first
    /// candidate goes to the first value.
    fn settle(&mut self, id: ValueId, value: &Value, expressions: &Expressions) -> Option<ExpressionId> {
        if !value.is_computed() {
            return None;
        }
        if let Some(counterpart) = self.of_before.get(&value.expression()).copied() {
            self.close(0, counterpart);
            self.close(1, id);
            return None;
        }
        let [left, right] = self.values.get(self.keys[1].get(&id)?)?;
        if left.len() != right.len() {
            return None;
        }
        let likeness =
            |(_, expression): &(&ValueId, &ExpressionId)| expressions.likeness(**expression, value.with_sign());
        let most = left.iter().map(|pair| likeness(&pair)).max()?;
        let mut alike = left.iter().filter(|pair| likeness(pair) == most);
        let (counterpart, expression) = alike.next().map(|(id, other)| (*id, *other))?;
        if alike.next().is_some() && right.keys().next() != Some(&id) {
            return None;
        }
        // The last part of a name alone is nothing in common.
        let is_named = self.names[0].get(&counterpart) == self.names[1].get(&id);
        if most.shared == 0 && !most.is_same && !is_named {
            return None;
        }
        // Nor is it the counterpart of what is more like another.
        let is_more = |other: ExpressionId| expressions.likeness(expression, other) > most;
        if right.iter().any(|(other, expression)| *other != id && is_more(*expression)) {
            return None;
        }
        self.close(0, counterpart);
        self.close(1, id);
        Some(expression)
    }

    fn close(&mut self, side: usize, id: ValueId) {
        if let Some(values) = self.keys[side].remove(&id).and_then(|key| self.values.get_mut(&key)) {
            values[side].remove(&id);
        }
    }
}

/// Results that stand for each other because they are results: (AFTER's expression, BEFORE's).
fn results(before: &Graph, after: &Graph) -> BTreeMap<ExpressionId, ExpressionId> {
    let (of_before, of_after) = (expressions_of(before), expressions_of(after));
    let mut pairs = BTreeMap::new();
    for (one, other) in before.import.program.outputs().into_iter().zip(after.import.program.outputs()) {
        let (own, others) = (&before.values[one], &after.values[other]);
        let (one, other) = (own.expression(), others.expression());
        let is_open = of_before.contains_key(&one) && !of_after.contains_key(&one);
        if is_open && of_after.contains_key(&other) && !of_before.contains_key(&other) {
            pairs.entry(others.with_sign()).or_insert(own.with_sign());
        }
    }
    pairs
}
