//! Statements of two programs about the elements that both have.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::analysis::Precision;
use crate::ir::ValueId;
use crate::tensor::DType;

use super::super::change::ChangeKind;
use super::super::graph::Graph;
use super::algebra::{Algebra, Element, Print, RoundingsId, absorb};
use super::follow::{FollowedElements, Follower};
use super::label::{Making, OrderOfAdditions};
use super::made::{Made, MakingRecord};

/// One program's elements.
struct FollowedProgram {
    values: Vec<FollowedElements>,
    floats: Vec<bool>,
    record: MakingRecord,
    contents: RefCell<HashMap<ValueId, Option<Print>>>,
}

/// The elements of both programs: BEFORE's and AFTER's.
pub struct Sides {
    algebra: Algebra,
    sides: [FollowedProgram; 2],
}

/// An element that AFTER makes otherwise.
pub struct Claim {
    /// The value of BEFORE whose operation makes it.
    pub value: ValueId,
    /// The making in BEFORE and in AFTER.
    pub makings: [Making; 2],
    pub kind: ChangeKind,
}

impl Sides {
    /// `None` where a program is too large to be followed.
    pub fn new(before: &Graph, after: &Graph) -> Option<Sides> {
        let mut algebra = Algebra::default();
        let [left, right] =
            [(before, 1), (after, 2)].map(|(graph, own)| FollowedProgram::new(graph, &mut algebra, own));
        Some(Sides { algebra, sides: [left?, right?] })
    }

    /// Whether the other program has each element of this value.
    pub fn is_accounted(&self, side: usize, id: ValueId) -> bool {
        let (own, other) = (&self.sides[side], &self.sides[1 - side].record);
        let (elements, float) = (own.values[id].all(), own.floats[id]);
        let has =
            |element: &Element| element.constant().is_some() || other.held.contains(&element.magnitude_print(float));
        !elements.is_empty() && elements.iter().all(has)
    }

    /// Fingerprint of a value's elements, in order.
    pub fn in_order(&self, side: usize, id: ValueId) -> Option<Print> {
        let own = &self.sides[side];
        let elements = own.values[id].all();
        let print = |state: Print, element: &Element| absorb(state, element.print(own.floats[id]));
        (!elements.is_empty()).then(|| elements.iter().fold(elements.len() as Print, print))
    }

    /// Fingerprint of a value's set of elements, without places and repetitions.
    pub fn content(&self, side: usize, id: ValueId) -> Option<Print> {
        let own = &self.sides[side];
        *own.contents.borrow_mut().entry(id).or_insert_with(|| {
            let mut prints: Vec<Print> = own.values[id].all().iter().map(|e| e.print(own.floats[id])).collect();
            prints.sort_unstable();
            prints.dedup();
            (!prints.is_empty())
                .then(|| prints.iter().fold(prints.len() as Print, |state, print| absorb(state, *print)))
        })
    }

    /// Whether two values have the same elements in the same places.
    pub fn are_equal(&self, [one, other]: [ValueId; 2]) -> bool {
        let [left, right] = [(0, one), (1, other)].map(|(side, id)| {
            let own = &self.sides[side];
            own.values[id].all().iter().map(move |element| element.print(own.floats[id]))
        });
        left.len() > 0 && left.eq(right)
    }

    /// Elements that both programs have and that are not made alike. `is_known` says of a value whether it is compared as a
    /// whole: where that is so on both sides nothing is said.
    pub fn claims(&self, is_known: &dyn Fn(usize, ValueId) -> bool) -> Vec<Claim> {
        let [left, right] = [0, 1].map(|side| &self.sides[side].record);
        let mut places: HashMap<(ValueId, [Making; 2]), usize> = HashMap::new();
        let mut found: Vec<Claim> = Vec::new();
        let mut add =
            |value: ValueId, makings: [Making; 2], kind: ChangeKind| match places.get(&(value, makings.clone())) {
                Some(place) => found[*place].kind = kind,
                None => {
                    places.insert((value, makings.clone()), found.len());
                    found.push(Claim { value, makings, kind });
                }
            };
        for key in left.keys() {
            let mut others = right.makers(key).peekable();
            let Some(first) = others.peek().copied() else { continue };
            let only =
                |made: &Made, in_other: &MakingRecord| in_other.makers(key).all(|other| other.print != made.print);
            let lost = left.makers(key).find(|made| only(made, right));
            let gained = others.find(|made| only(made, left));
            let has_both = lost.is_some() == gained.is_some();
            let is_lost = lost.is_some();
            let (one, other) = match (lost, gained) {
                (None, None) => {
                    // The same operation, of which both files say in which order it adds.
                    let [one, other] = [left.makers(key).next(), Some(first)];
                    let (Some(one), Some(other)) = (one, other) else { continue };
                    let (Some(a), Some(b)) = (one.order, other.order) else { continue };
                    let [a, b] = [left.additions(a), right.additions(b)];
                    if a != b && !(is_known(0, one.at) && is_known(1, other.at)) {
                        add(one.at, [a, b].map(|one| Making::InOrder(one.clone())), ChangeKind::Reordered);
                    }
                    continue;
                }
                (Some(one), gained) => (one, gained.unwrap_or(first)),
                (None, Some(other)) => match left.makers(key).next() {
                    Some(one) => (one, other),
                    None => continue,
                },
            };
            if !(is_known(0, one.at) && is_known(1, other.at)) {
                let (mut makings, kind) = self.makings(one, other);
                // One way of several that only one program has.
                if !has_both && is_lost {
                    makings[1] = Making::Not(Box::new(makings[0].clone()));
                } else if !has_both {
                    makings[0] = Making::Not(Box::new(makings[1].clone()));
                }
                add(one.at, makings, kind);
            }
        }
        found
    }

    fn makings(&self, one: &Made, other: &Made) -> ([Making; 2], ChangeKind) {
        let [left, right] = [0, 1].map(|side| &self.sides[side].record);
        let [a, b] = [left.label(one.label), right.label(other.label)];
        let kind = match (a.is_sum() && b.is_sum(), a.rounds() || b.rounds()) {
            (true, _) => ChangeKind::Reordered,
            (false, true) => ChangeKind::PrecisionChanged,
            (false, false) => ChangeKind::OperationChanged,
        };
        let (ways, others) = (left.ways_of(one.ways), right.ways_of(other.ways));
        let named = a.without_precision();
        if ways != others && named == b.without_precision() {
            let last = |way: &RoundingsId| self.algebra.roundings(*way).last().copied().unwrap_or(Precision::UNLIMITED);
            let is_wider = ways.iter().zip(others).all(|(x, y)| last(x).within(last(y)));
            let kind = if is_wider { ChangeKind::RoundingRemoved } else { ChangeKind::RoundingAdded };
            let of = |ways: &[RoundingsId]| Making::Of(named, ways.iter().map(|way| self.roundings(*way)).collect());
            return ([of(ways), of(others)], kind);
        }
        match a == b {
            false => ([a, b].map(Making::By), kind),
            true => ([Making::By(a), Making::ByOtherOperands(b)], kind),
        }
    }

    fn roundings(&self, way: RoundingsId) -> Vec<Precision> {
        self.algebra.roundings(way).to_vec()
    }

    /// Roundings in BEFORE and in AFTER of a result that has the same elements but is rounded otherwise.
    pub fn rounded_otherwise(&self, [one, other]: [ValueId; 2]) -> Option<([Making; 2], ChangeKind)> {
        let [left, right] = [self.sides[0].values[one].all(), self.sides[1].values[other].all()];
        let (a, b) = left.iter().zip(right).find(|(a, b)| a.way != b.way && a.product != 0)?;
        let makings = [a, b].map(|element| Making::Result(self.roundings(element.way)));
        let last = |way: RoundingsId| self.algebra.roundings(way).last().copied().unwrap_or(Precision::UNLIMITED);
        let kind =
            if last(a.way).within(last(b.way)) { ChangeKind::RoundingRemoved } else { ChangeKind::RoundingAdded };
        Some((makings, kind))
    }
}

impl FollowedProgram {
    fn new(graph: &Graph, algebra: &mut Algebra, own: Print) -> Option<FollowedProgram> {
        let orders = |id: ValueId| {
            let value = &graph.values[id];
            let additions = OrderOfAdditions { order: value.order, plan: value.plan.clone() };
            (additions.order.is_some() || additions.plan.is_some()).then_some(additions)
        };
        let fused = |id: ValueId| graph.values[id].fused;
        let mut follower = Follower::new(&graph.analysis, graph.habits, algebra, own, &orders, &fused);
        let values = follower.entry().ok()?;
        let mut record = follower.record;
        let instructions = &graph.entry().instructions;
        let floats: Vec<bool> = instructions.iter().map(|i| i.shape.dtype().is_some_and(DType::is_float)).collect();
        for (value, float) in values.iter().zip(&floats) {
            record.held.extend(value.all().iter().map(|element| element.magnitude_print(*float)));
        }
        Some(FollowedProgram { values, floats, record, contents: RefCell::default() })
    }
}
