//! Sorts and top-k: each result is a function of its row.

use crate::analysis::Comparator;
use crate::ir::{CompareOrder, ComputationId};

use super::algebra::{Element, Print, absorb};
use super::element_function::ElementFunction;
use super::follow::{FollowResult, FollowedElements, FollowedOperation, Follower};
use super::label::Label;

/// Order of rows.
struct RowOrder {
    /// The fingerprint of the order.
    print: Print,
    /// Whether equal keys keep their order, by the sort itself or by a comparator that looks where they stood.
    stable: bool,
    /// Whether only equal bits are equal keys, so that it does not matter which goes first.
    total: bool,
}

impl RowOrder {
    fn new(descending: bool, order: CompareOrder, canonical: bool, stable: bool) -> RowOrder {
        let print = ElementFunction::Sort { descending, order, canonical }.print();
        RowOrder { print, stable, total: order == CompareOrder::Total && !canonical }
    }
}

impl Follower<'_> {
    /// A sort along a dim. What its comparator does not say in one of the known ways is a function of all.
    pub fn sort(
        &mut self,
        site: &FollowedOperation,
        dim: usize,
        stable: bool,
        to_apply: ComputationId,
    ) -> FollowResult<FollowedElements> {
        let regions = &self.analysis.regions;
        let known = regions.comparator(to_apply).filter(|_| regions.comparator_but_for_rounding(to_apply).is_some());
        let Some(Comparator { key, descending, order, canonical, ties }) = known else {
            return Ok(self.whole(site));
        };
        let dims = site.dims(0);
        let (width, inner) = (dims[dim].max(1), dims[dim + 1..].iter().product::<usize>());
        self.spend(site.operands.iter().map(|operand| operand.all().len()).sum())?;
        let lanes: Vec<usize> =
            (0..site.of(0).len() / width).map(|lane| lane / inner * width * inner + lane % inner).collect();
        let row = |slot: usize, first: usize| (0..width).map(move |i| site.of(slot)[first + i * inner]);
        let counts = |slot: usize| {
            let ascends = |first: &usize| row(slot, *first).enumerate().all(|(i, e)| e.constant() == Some(i as f64));
            lanes.iter().all(ascends)
        };
        let by_place = ties.is_some_and(counts);
        if ties.is_some() && !by_place {
            return Ok(self.whole(site));
        }
        let order = RowOrder::new(descending, order, canonical, stable || by_place);
        let mut results: Vec<Vec<Element>> = (0..site.operands.len()).map(|slot| site.of(slot).to_vec()).collect();
        for first in lanes {
            let keys: Vec<Element> = row(key, first).collect();
            for (slot, results) in results.iter_mut().enumerate() {
                let carried: Option<Vec<Element>> = (slot != key).then(|| row(slot, first).collect());
                let sorted = self.row_in_order(site, &order, (key, &keys), (slot, carried.as_deref()));
                sorted.into_iter().enumerate().for_each(|(i, element)| results[first + i * inner] = element);
            }
        }
        let mut results: Vec<FollowedElements> = results.into_iter().map(FollowedElements::array).collect();
        Ok(if results.len() == 1 { results.remove(0) } else { FollowedElements::Tuple(results) })
    }

    /// The first of each row, and where they stood: a stable sort's.
    pub fn top(&mut self, site: &FollowedOperation, k: usize, largest: bool) -> FollowResult<FollowedElements> {
        let Some(width) = site.dims(0).last().copied().filter(|width| *width > 0) else { return Ok(self.whole(site)) };
        self.spend(site.of(0).len() * 2)?;
        let order = RowOrder::new(largest, CompareOrder::Total, false, true);
        let places: Vec<Element> = (0..width).map(|i| Element::number(i as f64)).collect();
        let (mut values, mut indices) = (Vec::new(), Vec::new());
        for keys in site.of(0).chunks(width) {
            values.extend(self.row_in_order(site, &order, (0, keys), (0, None)).into_iter().take(k));
            indices.extend(self.row_in_order(site, &order, (0, keys), (1, Some(&places))).into_iter().take(k));
        }
        Ok(FollowedElements::Tuple(vec![FollowedElements::array(values), FollowedElements::array(indices)]))
    }

    /// The keys of a row in order, or what is carried along with them.
    fn row_in_order(
        &mut self,
        site: &FollowedOperation,
        order: &RowOrder,
        (key, keys): (usize, &[Element]),
        (slot, carried): (usize, Option<&[Element]>),
    ) -> Vec<Element> {
        let float = site.is_float(key);
        let carried_float = carried.is_some() && site.is_float(slot);
        let way = |elements: &[Element]| {
            let ways = || elements.iter().filter(|e| e.constant().is_none()).map(|e| e.way);
            ways().next().filter(|first| ways().all(|way| way == *first))
        };
        // Where all were rounded alike it is as if what they are in order were.
        let (of_keys, of_carried) = (way(keys), carried.map_or(Some(0), way));
        let bare = |e: &Element, way: Option<u32>| if way.is_some() { Element { way: 0, ..*e } } else { *e };
        let fold = |state: Print, print: Print| absorb(state, print);
        let name = order.print;
        let name = if order.total && carried.is_none() { name } else { absorb(name, order.stable.into()) };
        let (content, exact) = match carried {
            // Rounding keeps the order of keys but may make them equal: the order of carried operands then depends on it.
            Some(carried) => {
                let both = |state: Print, strict: bool| {
                    let state =
                        keys.iter().map(|e| if strict { e.exactly(float) } else { e.print(float) }).fold(state, fold);
                    let of = |e: &Element| match strict {
                        true => bare(e, of_carried).exactly(carried_float),
                        false => e.print(carried_float),
                    };
                    carried.iter().map(of).fold(absorb(state, 1), fold)
                };
                (both(name, false), both(name, true))
            }
            None => {
                let sum = |print: &dyn Fn(&Element) -> Print| {
                    keys.iter().fold(0, |sum: Print, e| sum.wrapping_add(absorb(1, print(e))))
                };
                let loose = sum(&|e| e.print(float));
                (absorb(name, loose), absorb(name, sum(&|e| bare(e, of_keys).exactly(float))))
            }
        };
        let label = self.record.number(Label::Sort);
        let dtype = site.dtype(slot);
        let own = if carried.is_some() { of_carried } else { of_keys };
        let way = match (own, dtype) {
            (Some(way), _) => way,
            (None, Some(dtype)) => self.algebra.of_operation(dtype),
            (None, None) => 0,
        };
        let each = (0..keys.len()).map(|i| {
            let element = Element::atom(absorb(content, i as Print));
            self.make_of_many((label, None), element, exact, &[]);
            Element { way, ..element }
        });
        each.collect()
    }
}
