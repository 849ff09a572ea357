//! The order in which LLVM puts the operands of an addition (`ReassociatePass::canonicalizeOperands`).

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::ir::ValueId;

use super::super::address::Place;

use super::{Emission, Ranks};

impl<'c> Emission<'c> {
    /// Whether LLVM exchanges the operands of `reader`, which adds them, for each of its places. It puts the operand of
    /// lower rank first (`ReassociatePass::canonicalizeOperands`). A value that is invariant in the innermost loop has
    /// rank 0, a read the rank of its position, and any other value one more than the highest rank of its operands.
    /// Operands of equal rank stay in the order of the functions from which they were inlined, and then of the function
    /// of a concatenate's users.
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

    /// The order of two operands in the innermost function on the way to a place that orders them.
    fn order_in_functions(&mut self, reader: ValueId, operands: [ValueId; 2], place: &[ValueId]) -> Ordering {
        let Some(functions) = &self.functions else { return Ordering::Equal };
        let is_called =
            |id: &ValueId| functions.calls(*id) && self.computation.instructions[*id].fusion() == self.fusion;
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

    /// The code of one function, whose operands LLVM orders before it inlines the function.
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
