//! The order in which LLVM puts the operands of an addition (`ReassociatePass::canonicalizeOperands`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::ir::ValueId;

use super::super::address::Place;

use super::{Emission, Ranks};

impl<'c> Emission<'c> {
    /// Whether LLVM exchanges what stands for the operands of `reader`, which adds them, in each of its places: it puts the
    /// operand of lower rank first (`ReassociatePass::canonicalizeOperands`). What does not change in the innermost loop has
    /// rank 0, a read that of the position that it stands at, everything else one more than the highest rank among its operands.
    /// Where both have one rank they stay as they were, in the order of the functions that they were inlined from, and of that which
    /// reads the operands of a concatenate.
    pub fn exchanges(&mut self, reader: ValueId, operands: [ValueId; 2]) -> BTreeMap<Place, bool> {
        let places = self.ranks.keys().filter(|(id, _)| *id == reader).map(|(_, place)| place.clone());
        let places: Vec<Place> = places.collect();
        let order = |emission: &mut Self, place: &Place| match emission.order(operands, place) {
            Ordering::Equal => {
                let order = emission.order_in_functions(reader, operands, place);
                order.then_with(|| order_by(&emission.ranks_alone, operands, place))
            }
            order => order,
        };
        let mut exchanges = BTreeMap::new();
        for place in places {
            let order = order(self, &place);
            exchanges.insert(place, order == Ordering::Greater);
        }
        exchanges
    }

    /// The order of two operands' ranks in a place.
    fn order(&self, operands: [ValueId; 2], place: &[ValueId]) -> Ordering {
        order_by(&self.ranks, operands, place)
    }

    /// Their order in the innermost function on the way to a place, or the next one around it, in which they have an order.
    fn order_in_functions(&mut self, reader: ValueId, operands: [ValueId; 2], place: &[ValueId]) -> Ordering {
        let Some(functions) = &self.functions else { return Ordering::Equal };
        let is_called = |id: &ValueId| functions.calls(*id) && self.computation.instructions[*id].fusion == self.fusion;
        let around: Vec<(ValueId, usize)> = (reader..self.computation.instructions.len())
            .rev()
            .filter(is_called)
            .flat_map(|id| (0..=place.len()).map(move |depth| (id, depth)))
            .filter(|(id, depth)| self.ranks.contains_key(&(*id, place[..*depth].to_vec())))
            .collect();
        for (id, depth) in around {
            let number = self.complex.number(id);
            let inner = match self.inlined.remove(&number) {
                Some(inner) => inner,
                None => self.of_function(number),
            };
            let within = &place[depth..];
            let is_there = inner.ranks.contains_key(&(reader, within.to_vec()));
            let order = if is_there { inner.order(operands, within) } else { Ordering::Equal };
            self.inlined.insert(number, inner);
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The code of one function, of which LLVM puts the operands in order before it is inlined.
    fn of_function(&self, number: ValueId) -> Box<Emission<'c>> {
        let emission = Emission { loops: false, hoists: false, ..self.anew() };
        let parts = (0..self.computation.instructions.len()).filter(|id| self.complex.number(*id) == number);
        let parts: Vec<ValueId> = parts.collect();
        Box::new(emission.run(&|emission| parts.iter().for_each(|part| emission.visit(*part)), &[]))
    }
}

/// The order of two operands' ranks in a place.
fn order_by(ranks: &Ranks, [left, right]: [ValueId; 2], place: &[ValueId]) -> Ordering {
    let rank = |operand: ValueId| ranks.get(&(operand, place.to_vec()));
    rank(left).cmp(&rank(right))
}
