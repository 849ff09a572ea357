//! Operations that make each element from many: sums and maxima, windows, dots.

use std::collections::BTreeSet;

use crate::analysis::{Precision, Reducer};
use crate::ir::{self, Binary, ComputationId, DotDims, DotPlan, Window, movement};
use crate::machine::DotSite;
use crate::num::BF16;
use crate::tensor::DType;

use super::super::graph::roles;
use super::algebra::{Algebra, Element, Print, RoundingsId, absorb};
use super::element_function::{ElementFunction, RegionKey};
use super::follow::{Abandoned, FollowResult, FollowedElements, FollowedOperation, Follower, Labels, holds};
use super::label::Label;

/// Operations whose order and grouping do not show over the real numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JointOperation {
    Sum,
    Maximum,
    Minimum,
    /// Of predicates.
    Both(Binary),
}

impl Follower<'_> {
    /// A reduction of one array along dims; what is no sum or extreme of floats is a function of all that it is given.
    pub fn reduce(
        &mut self,
        site: &FollowedOperation,
        dims: &[usize],
        to_apply: ComputationId,
    ) -> FollowResult<FollowedElements> {
        let joint = self.joint(site, to_apply);
        let over = site.dims(0);
        let kept: Vec<usize> = (0..over.len()).filter(|d| !dims.contains(d)).collect();
        let mut reduced = dims.to_vec();
        reduced.sort_unstable();
        let order = [&kept[..], &reduced].concat();
        let width: usize = dims.iter().map(|d| over[*d]).product();
        if width == 0 {
            return Err(Abandoned);
        }
        self.spend(site.of(0).len())?;
        let arrays: Vec<Vec<Element>> =
            (0..site.operands.len() / 2).map(|slot| movement::permute(site.of(slot), over, &order)).collect();
        let (Some(joint), [elements]) = (joint, &arrays[..]) else {
            return Ok(self.rows(site, to_apply, &arrays, width));
        };
        let (init, float) = (site.of(1)[0], site.is_float(0));
        let label = self.labels(site, joint, width, false);
        let rows = elements.chunks(width).map(|row| self.row(site, joint, label, (row, init), float)).collect();
        Ok(FollowedElements::array(rows))
    }

    /// A reduction of several arrays, or by a region with no name: each result is a function of its rows.
    fn rows(
        &mut self,
        site: &FollowedOperation,
        to_apply: ComputationId,
        arrays: &[Vec<Element>],
        width: usize,
    ) -> FollowedElements {
        let regions = &self.analysis.regions;
        let name = |reducer: Option<Reducer>| match reducer {
            Some(reducer) => ElementFunction::Reduce(reducer).print(),
            None => {
                let region = RegionKey::new(&self.analysis.program.computations, to_apply);
                ElementFunction::ReduceByRegion(region).print()
            }
        };
        let [loosely, strictly] = [regions.reducer_but_for_rounding(to_apply), regions.reducer(to_apply)].map(name);
        let floats: Vec<bool> = (0..arrays.len()).map(|slot| site.is_float(slot)).collect();
        let label = self.record.number(Label::Reduce);
        let mut results = vec![Vec::new(); arrays.len()];
        for row in 0..arrays[0].len() / width {
            let [mut content, mut exact] = [loosely, strictly];
            for (slot, float) in floats.iter().enumerate() {
                let init = site.of(arrays.len() + slot)[0];
                for element in arrays[slot][row * width..(row + 1) * width].iter().chain([&init]) {
                    (content, exact) = (absorb(content, element.print(*float)), absorb(exact, element.exactly(*float)));
                }
            }
            for (slot, results) in results.iter_mut().enumerate() {
                let element = Element::atom(absorb(content, slot as Print));
                self.make_of_many((label, None), element, exact, &[]);
                let way = site.dtype(slot).map_or(0, |dtype| self.algebra.of_operation(dtype));
                results.push(Element { way, ..element });
            }
        }
        let mut results: Vec<FollowedElements> = results.into_iter().map(FollowedElements::array).collect();
        if results.len() == 1 { results.remove(0) } else { FollowedElements::Tuple(results) }
    }

    /// The reductions of the windows over the operand.
    pub fn windows(
        &mut self,
        site: &FollowedOperation,
        window: &Window,
        to_apply: ComputationId,
    ) -> FollowResult<FollowedElements> {
        let Some(joint) = self.joint(site, to_apply) else { return Ok(self.whole(site)) };
        let dims = site.dims(0);
        let out_dims = site.instruction.shape.dims();
        let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
        self.spend(out_dims.iter().chain(&extents).product())?;
        let strides = movement::row_major(dims);
        let (init, float) = (site.of(1)[0], site.is_float(0));
        // The order of a window's sum depends on all of its extents.
        let seen: Vec<usize> = extents.iter().zip(dims).map(|(extent, size)| *extent.min(size)).collect();
        let width: usize = seen.iter().product();
        let label = self.labels(site, joint, width, true);
        let mut rows = Vec::with_capacity(out_dims.iter().product());
        movement::for_each_index(out_dims, |_, out| {
            let mut row = Vec::new();
            movement::for_each_index(&extents, |_, inside| {
                row.extend(window.element(dims, &strides, out, inside).map(|at| site.of(0)[at]));
            });
            rows.push(row);
        });
        let rows = rows.iter().map(|row| self.row(site, joint, label, (row, init), float)).collect();
        Ok(FollowedElements::array(rows))
    }

    /// Labels of a reduction of `width` elements; the order shows only in sums.
    fn labels(&mut self, site: &FollowedOperation, joint: JointOperation, width: usize, in_windows: bool) -> Labels {
        let label = match joint {
            JointOperation::Sum => self.sum_of(width, in_windows, site.instruction),
            JointOperation::Maximum => Label::Binary(Binary::Maximum),
            JointOperation::Minimum => Label::Binary(Binary::Minimum),
            JointOperation::Both(by) => Label::Binary(by),
        };
        (self.record.number(label), self.order())
    }

    fn joint(&self, site: &FollowedOperation, to_apply: ComputationId) -> Option<JointOperation> {
        let one = site.operands.len() == 2 && site.dtype(0).is_some();
        match self.analysis.regions.reducer_but_for_rounding(to_apply).filter(|_| one)? {
            Reducer::Binary(Binary::Add) => Some(JointOperation::Sum),
            Reducer::Binary(Binary::Maximum) => Some(JointOperation::Maximum),
            Reducer::Binary(Binary::Minimum) => Some(JointOperation::Minimum),
            Reducer::Binary(by @ (Binary::And | Binary::Or)) => Some(JointOperation::Both(by)),
            _ => None,
        }
    }

    /// One result, from its terms and an init; a neutral init is no term.
    fn row(
        &mut self,
        site: &FollowedOperation,
        joint: JointOperation,
        label: Labels,
        (row, init): (&[Element], Element),
        float: bool,
    ) -> Element {
        let is_neutral = match joint {
            JointOperation::Sum => init.constant() == Some(0.0),
            JointOperation::Maximum => init.constant() == Some(f64::NEG_INFINITY),
            JointOperation::Minimum => init.constant() == Some(f64::INFINITY),
            JointOperation::Both(by) => init.constant() == Some(f64::from(by == Binary::And)),
        };
        let all = || row.iter().copied().chain(Some(init).filter(|_| !is_neutral));
        let mut rest = all();
        if let (Some(one), None) = (rest.next(), rest.next()) {
            return one;
        }
        let (ways, format) = match joint {
            JointOperation::Maximum | JointOperation::Minimum => self.rounded_last(all()),
            _ => (all().filter(|e| e.constant().is_none()).map(|e| e.way).collect::<BTreeSet<RoundingsId>>(), None),
        };
        let operands = match joint {
            JointOperation::Sum => all().fold(0, |sum: Print, e| sum.wrapping_add(absorb(OPERAND, e.exactly(float)))),
            // Whatever the order, the largest is the largest: how the numbers were rounded is all that counts.
            _ => ways.iter().fold(0, |print, way| absorb(print, (*way).into())),
        };
        let way = match format {
            Some(_) => ways.first().copied().unwrap_or_default(),
            None => row.first().map_or(0, |element| element.way),
        };
        let element = match joint {
            // A sum of constants is one.
            JointOperation::Sum if !float && all().all(|element| element.constant().is_some()) => {
                return Element::number(all().map(|element| element.by).sum());
            }
            JointOperation::Sum => {
                let terms = all().fold(0, |sum: Print, e| sum.wrapping_add(self.algebra.term(e, float)));
                self.algebra.sum(terms)
            }
            JointOperation::Both(by) => {
                let name = ElementFunction::Any(by).print();
                let mut prints: Vec<Print> = all().map(|e| e.print(false)).collect();
                prints.sort_unstable();
                prints.dedup();
                Element::atom(prints.into_iter().fold(name, absorb))
            }
            JointOperation::Maximum | JointOperation::Minimum => {
                let turned = |e: Element| if joint == JointOperation::Minimum { e.negate() } else { e };
                let candidates =
                    all().fold(0, |sum: Print, e| sum.wrapping_add(self.algebra.candidate(turned(e), float)));
                turned(self.algebra.maximum(candidates))
            }
        };
        if float {
            self.make_of_many(label, element, operands, &[way]);
            let way = match format {
                Some(format) => {
                    let f32s = self.algebra.of_operation(DType::F32);
                    self.algebra.round(f32s, format)
                }
                None => site.instruction.shape.dtype().map_or(0, |dtype| self.algebra.of_operation(dtype)),
            };
            return Element { way, ..element };
        }
        element
    }

    /// The roundings of the numbers among which one is picked. If all were rounded last to one format, the pick counts
    /// as rounded to it: the result is the ways before that rounding, and the format.
    fn rounded_last(
        &mut self,
        all: impl Iterator<Item = Element> + Clone,
    ) -> (BTreeSet<RoundingsId>, Option<Precision>) {
        let numbers = all.clone().filter_map(|e| e.constant());
        let ways: BTreeSet<RoundingsId> = all.filter(|e| e.constant().is_none()).map(|e| e.way).collect();
        let before: Vec<(RoundingsId, Option<Precision>)> =
            ways.iter().map(|way| self.algebra.before_last(*way)).collect();
        let format = before.first().and_then(|(_, last)| *last);
        let fits = |to: Precision, by: f64| holds(to, by) && to.exponent_bits >= 8;
        match format {
            Some(to)
                if before.iter().all(|(_, last)| *last == format) && numbers.into_iter().all(|by| fits(to, by)) =>
            {
                (before.into_iter().map(|(way, _)| way).collect(), format)
            }
            _ => (ways, None),
        }
    }

    /// Sums of products.
    pub fn dot(
        &mut self,
        site: &FollowedOperation,
        numbers: &DotDims,
        precision: [ir::Precision; 2],
    ) -> FollowResult<FollowedElements> {
        let plan = DotPlan::new(numbers, site.dims(0), site.dims(1));
        let (m, k, n) = (plan.m, plan.k, plan.n);
        if k == 0 {
            return Err(Abandoned);
        }
        self.spend(plan.batch * m * n * k)?;
        let operand = |at: usize, order: &Option<Vec<usize>>| match order {
            Some(order) => movement::permute(site.of(at), site.dims(at), order),
            None => site.of(at).to_vec(),
        };
        let (mut lhs, mut rhs) = (operand(0, &plan.lhs_transpose), operand(1, &plan.rhs_transpose));
        let bf16 = Precision::of(&BF16);
        let dot = DotSite::between(site.instruction, [site.shapes[0], site.shapes[1]]);
        if roles::takes_bf16(dot, self.habits) {
            for element in lhs.iter_mut().chain(&mut rhs).filter(|element| element.constant().is_none()) {
                element.way = self.algebra.round(element.way, bf16);
            }
        }
        // The product of two bf16 numbers is exact in f32, and one product is all of the sum: it is rounded as any other. A
        // matrix unit splits others into parts.
        let narrow = self.is_within(&lhs, bf16) && self.is_within(&rhs, bf16);
        let float = site.is_float(0);
        let is_whole = narrow || !self.habits.one_pass || roles::is_on_vector_unit(dot, self.habits);
        let is_product = k == 1 && float && is_whole;
        let label = self.record.number(match is_product {
            true => Label::Binary(Binary::Multiply),
            false => Label::Dot { products: k, precision: (!narrow).then_some(precision) },
        });
        let order = self.order();
        let mut elements = Vec::with_capacity(plan.batch * m * n);
        for (at, i, j) in (0..plan.batch * m * n).map(|flat| (flat / (m * n), flat / n % m, flat % n)) {
            let pair = |l: usize| (lhs[(at * m + i) * k + l], rhs[(at * k + l) * n + j]);
            if is_product {
                let (a, b) = pair(0);
                elements.push(self.product(site, label, a, b));
                continue;
            }
            let (mut terms, mut operands): (Print, Print) = (0, 0);
            for (a, b) in (0..k).map(pair) {
                let product = Algebra::multiply(a, b);
                terms = terms.wrapping_add(self.algebra.term(product, float));
                let (x, y) = (a.exactly(float), b.exactly(float));
                operands = operands.wrapping_add(absorb(x.min(y), x.max(y)));
            }
            let element = if k == 1 { Algebra::multiply(pair(0).0, pair(0).1) } else { self.algebra.sum(terms) };
            if float {
                self.make_of_many((label, order), element, operands, &[pair(0).0.way, pair(0).1.way]);
            }
            let way = site.instruction.shape.dtype().map_or(0, |dtype| self.algebra.of_operation(dtype));
            elements.push(Element { way, ..element });
        }
        Ok(FollowedElements::array(elements))
    }
}

const OPERAND: Print = 0x6f70;
