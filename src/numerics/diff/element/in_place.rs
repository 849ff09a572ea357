//! Operations that make each element from those in the same place.

use crate::analysis::Precision;
use crate::ir::{Binary, Compare, CompareOrder, Op, Unary};
use crate::num::{Direction, F32, round_f64};
use crate::tensor::DType;

use super::super::graph::constant_fold;
use super::algebra::{Algebra, Element, absorb};
use super::element_function::ElementFunction;
use super::follow::{FollowedElements, FollowedOperation, Follower, holds};
use super::label::Label;
use super::made::LabelId;
use super::whole_number;

impl Follower<'_> {
    /// An operation on elements.
    pub fn pointwise(&mut self, site: &FollowedOperation) -> FollowedElements {
        let count = site.instruction.shape.elements();
        let label = self.record.number(Label::of(&site.instruction.op));
        let operand = |slot: usize, at: usize| {
            let all = site.of(slot);
            all[if all.len() == 1 { 0 } else { at }]
        };
        let each = (0..count).map(|at| match &site.instruction.op {
            Op::Convert => self.convert(site, label, operand(0, at)),
            Op::BitcastConvert => self.bits(site, label, operand(0, at)),
            Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                self.round(operand(0, at), Precision::bits(*mantissa_bits, *exponent_bits))
            }
            Op::Unary(unary) => self.unary(site, label, *unary, operand(0, at)),
            Op::Binary(binary) => self.binary(site, label, *binary, [operand(0, at), operand(1, at)]),
            Op::Compare { direction, order } => {
                self.compare(site, *direction, *order, [operand(0, at), operand(1, at)])
            }
            Op::Select => self.select(site, label, operand(0, at), [operand(1, at), operand(2, at)]),
            _ => {
                let [least, most] =
                    [Binary::Maximum, Binary::Minimum].map(|extreme| self.record.number(Label::Binary(extreme)));
                let raised = self.extreme(site, least, Binary::Maximum, [operand(0, at), operand(1, at)]);
                self.extreme(site, most, Binary::Minimum, [raised, operand(2, at)])
            }
        });
        FollowedElements::array(each.collect())
    }

    pub fn to(site: &FollowedOperation) -> DType {
        site.instruction.shape.dtype().unwrap_or(DType::Pred)
    }

    /// A number that constants alone make, rounded as the operation's type asks.
    pub fn number(site: &FollowedOperation, by: f64) -> Element {
        let to = Self::to(site);
        match to.format() {
            Some(format) if to != DType::F64 => {
                let by = round_f64(&F32, by, Direction::NearestEven);
                Element::number(round_f64(format, by, Direction::NearestEven))
            }
            _ => Element::number(by),
        }
    }

    /// Result of folding these constants on the machine.
    fn folded(&mut self, site: &FollowedOperation, numbers: &[f64]) -> Option<f64> {
        let key = (site.instruction.op.opcode(), Self::to(site), numbers.iter().map(|n| n.to_bits()).collect());
        let dtype = site.dtype(0)?;
        *self
            .folds
            .entry(key)
            .or_insert_with(|| constant_fold::number(&site.instruction.op, numbers, dtype, Self::to(site)))
    }

    fn unary(&mut self, site: &FollowedOperation, label: LabelId, unary: Unary, x: Element) -> Element {
        if let (Unary::IsFinite, Some(by)) = (unary, x.constant()) {
            return Element::number(f64::from(by.is_finite()));
        }
        let float = site.is_float(0);
        let is_pred = site.dtype(0) == Some(DType::Pred);
        let name = || ElementFunction::Unary(unary).print();
        // What has the other sign.
        let (opposite, bare) = (x.by < 0.0, Element { by: x.by.abs(), ..x });
        let element = match unary {
            Unary::Negate if float => return x.negate(),
            Unary::Not if is_pred => {
                return x.constant().map_or(x.negate(), |by| Element::number(f64::from(by == 0.0)));
            }
            Unary::Abs if float => {
                return match x.constant() {
                    Some(by) => Element::number(by.abs()),
                    None if self.algebra.is_positive(x) => x,
                    None if self.algebra.is_positive(x.negate()) => x.negate(),
                    None => {
                        let product = absorb(name(), Element { by: 1.0, ..x }.print(true));
                        self.algebra.note_positive(Element::atom(product));
                        Element { product, by: x.by.abs(), way: x.way }
                    }
                };
            }
            _ if !float => match x.integer().and_then(|by| whole_number::unary(unary, by, Self::to(site))) {
                Some(by) => return Element::number(by),
                None => return Element::atom(absorb(name(), x.print(false))),
            },
            Unary::Rsqrt => {
                let root = absorb(ElementFunction::Unary(Unary::Sqrt).print(), x.print(true));
                Element::atom(root.wrapping_neg())
            }
            Unary::Exponential if opposite => Element::atom(absorb(name(), bare.print(true)).wrapping_neg()),
            Unary::Logistic => {
                let power = absorb(ElementFunction::Unary(Unary::Exponential).print(), bare.print(true));
                let power = Element::atom(if opposite { power } else { power.wrapping_neg() });
                let terms = self.algebra.term(Element::number(1.0), true).wrapping_add(self.algebra.term(power, true));
                let sum = self.algebra.sum(terms);
                // Steps of another that takes it in several.
                [power, sum].iter().for_each(|step| self.record.hold(*step, true));
                Algebra::divide(Element::number(1.0), sum)
            }
            Unary::Tanh | Unary::Sine | Unary::Erf | Unary::Cbrt | Unary::Tan if opposite => {
                Element::atom(absorb(name(), bare.print(true))).negate()
            }
            _ => match x.constant().and_then(|by| self.folded(site, &[by])) {
                Some(by) => return Element::number(by),
                None => Element::atom(absorb(name(), x.print(true))),
            },
        };
        if matches!(unary, Unary::Exponential | Unary::Logistic) || unary == Unary::Sqrt && self.algebra.is_positive(x)
        {
            self.algebra.note_positive(element);
        }
        let is_odd = matches!(unary, Unary::Tanh | Unary::Sine | Unary::Erf | Unary::Cbrt | Unary::Tan);
        self.make(site, label, element, &[(if is_odd { bare } else { x }, true)])
    }

    fn binary(&mut self, site: &FollowedOperation, label: LabelId, binary: Binary, [a, b]: [Element; 2]) -> Element {
        let float = site.is_float(0);
        match binary {
            Binary::Maximum | Binary::Minimum if site.dtype(0) != Some(DType::Pred) => {
                self.extreme(site, label, binary, [a, b])
            }
            Binary::Multiply if float => self.product(site, label, a, b),
            Binary::Divide if float => self.quotient(site, label, a, b),
            Binary::Add if float => self.add(site, label, a, b),
            Binary::Subtract if float => self.add(site, label, a, b.negate()),
            _ if float => {
                if let (Some(x), Some(y)) = (a.constant(), b.constant())
                    && let Some(by) = self.folded(site, &[x, y])
                {
                    return Element::number(by);
                }
                let name = ElementFunction::Binary(binary).print();
                let element = Element::atom(absorb(absorb(name, a.print(true)), b.print(true)));
                self.make(site, label, element, &[(a, true), (b, true)])
            }
            _ => self.integers(site, label, binary, a, b),
        }
    }

    /// Operation on integers and predicates. It is exact, so the operation that made them is not recorded.
    fn integers(
        &mut self,
        site: &FollowedOperation,
        label: LabelId,
        binary: Binary,
        a: Element,
        b: Element,
    ) -> Element {
        let to = Self::to(site);
        if let (Some(x), Some(y)) = (a.integer(), b.integer())
            && let Some(by) = whole_number::binary(binary, x, y, to)
        {
            return Element::number(by);
        }
        let is_pred = to == DType::Pred;
        if binary == Binary::Multiply && !is_pred {
            if let Some(by) = self.algebra.masks(a) {
                return self.select(site, label, by, [b, Element::number(0.0)]);
            }
            if let Some(by) = self.algebra.masks(b) {
                return self.select(site, label, by, [a, Element::number(0.0)]);
            }
        }
        match (binary, a.constant(), b.constant()) {
            (Binary::Add, _, Some(0.0)) | (Binary::Subtract, _, Some(0.0)) | (Binary::Multiply, _, Some(1.0)) => a,
            (Binary::Add, Some(0.0), _) | (Binary::Multiply, Some(1.0), _) => b,
            (Binary::And | Binary::Or, _, Some(by)) if is_pred => {
                if (by != 0.0) == (binary == Binary::And) {
                    a
                } else {
                    b
                }
            }
            (Binary::And | Binary::Or, Some(by), _) if is_pred => {
                if (by != 0.0) == (binary == Binary::And) {
                    b
                } else {
                    a
                }
            }
            (Binary::Add | Binary::Subtract, _, _) if !is_pred => {
                let b = if binary == Binary::Subtract { b.negate() } else { b };
                let terms = self.algebra.term(a, false).wrapping_add(self.algebra.term(b, false));
                self.algebra.sum(terms)
            }
            _ => {
                let (x, y) = (a.print(false), b.print(false));
                let (x, y) = if binary.commutes() { (x.min(y), x.max(y)) } else { (x, y) };
                Element::atom(absorb(absorb(ElementFunction::Integers(binary, to).print(), x), y))
            }
        }
    }

    /// A product. By a power of two it is the number elsewhere on the scale, where no narrow exponent is in the way.
    pub fn product(&mut self, site: &FollowedOperation, label: LabelId, a: Element, b: Element) -> Element {
        if let Some((by, of)) = self.algebra.masks(b).map(|by| (by, a)).or_else(|| Some((self.algebra.masks(a)?, b))) {
            let label = self.record.number(Label::Select);
            return self.select(site, label, by, [of, Element::number(0.0)]);
        }
        match (a.constant(), b.constant()) {
            (Some(x), Some(y)) => Self::number(site, x * y),
            (_, Some(by)) if self.is_scaling(a, by) => Element { by: a.by * by, ..a },
            (Some(by), _) if self.is_scaling(b, by) => Element { by: b.by * by, ..b },
            _ => {
                // Signs are no part of how a product rounds.
                let [x, y] = [a, b].map(|e| Element { by: e.by.abs(), ..e });
                let both = if x.exactly(true) <= y.exactly(true) { [x, y] } else { [y, x] };
                let product = Algebra::multiply(a, b);
                if self.algebra.is_positive(a) && self.algebra.is_positive(b) || x.print(true) == y.print(true) {
                    self.algebra.note_positive(product);
                }
                self.make(site, label, product, &both.map(|e| (e, true)))
            }
        }
    }

    fn quotient(&mut self, site: &FollowedOperation, label: LabelId, a: Element, b: Element) -> Element {
        match (a.constant(), b.constant()) {
            (Some(x), Some(y)) => Self::number(site, x / y),
            (None, Some(by)) if self.is_scaling(a, 1.0 / by) && 1.0 / (1.0 / by) == by => {
                Element { by: a.by / by, ..a }
            }
            _ => {
                let [x, y] = [a, b].map(|e| Element { by: e.by.abs(), ..e });
                self.make(site, label, Algebra::divide(a, b), &[(x, true), (y, true)])
            }
        }
    }

    fn is_scaling(&self, of: Element, by: f64) -> bool {
        let narrow = |format: &Precision| format.exponent_bits < 8;
        let is_power = by.is_normal() && by.to_bits() << 12 == 0;
        by.abs() == 1.0 || is_power && !self.algebra.roundings(of.way).iter().any(narrow)
    }

    fn add(&mut self, site: &FollowedOperation, label: LabelId, a: Element, b: Element) -> Element {
        match (a.constant(), b.constant()) {
            (Some(x), Some(y)) => return Self::number(site, x + y),
            (_, Some(0.0)) => return a,
            (Some(0.0), _) => return b,
            // Twice a number is exact.
            _ if a == b && self.is_scaling(a, 2.0) => return Element { by: 2.0 * a.by, ..a },
            _ => {}
        }
        let terms = self.algebra.term(a, true).wrapping_add(self.algebra.term(b, true));
        let sum = self.algebra.sum(terms);
        if self.algebra.is_positive(a) && self.algebra.is_positive(b) {
            self.algebra.note_positive(sum);
        }
        // The opposite of a sum is that of the opposite terms, bit for bit; one term alone is no sum.
        let [x, y] = [a, b].map(|e| if sum.by < 0.0 { e.negate() } else { e });
        let both = if x.exactly(true) <= y.exactly(true) { [x, y] } else { [y, x] };
        let label = match self.is_fused() {
            true => self.record.number(Label::Fused),
            false if self.record.label(label) == Label::Binary(Binary::Subtract) => {
                self.record.number(Label::Binary(Binary::Add))
            }
            false => label,
        };
        self.make(site, label, sum, &both.map(|e| (e, true)))
    }

    /// The larger or smaller; the smaller is the opposite of the larger of the opposites.
    fn extreme(&mut self, site: &FollowedOperation, label: LabelId, binary: Binary, [a, b]: [Element; 2]) -> Element {
        let float = site.is_float(0);
        if let (Some(x), Some(y)) = (a.constant(), b.constant())
            && !x.is_nan()
            && !y.is_nan()
        {
            return Element::number(if (x > y) == (binary == Binary::Maximum) { x } else { y });
        }
        let least = if binary == Binary::Maximum { f64::NEG_INFINITY } else { f64::INFINITY };
        match (a.constant(), b.constant()) {
            (Some(by), _) if float && by == least => return b,
            (_, Some(by)) if float && by == least => return a,
            _ if a.exactly(float) == b.exactly(float) => return a,
            _ => {}
        }
        let turned = |e: Element| if binary == Binary::Minimum { e.negate() } else { e };
        let candidates =
            self.algebra.candidate(turned(a), float).wrapping_add(self.algebra.candidate(turned(b), float));
        let element = turned(self.algebra.maximum(candidates));
        if !float {
            return element;
        }
        let label = if binary == Binary::Minimum { self.record.number(Label::Binary(Binary::Maximum)) } else { label };
        if self.algebra.is_positive(a) && self.algebra.is_positive(b) {
            self.algebra.note_positive(element);
        }
        self.pick(site, label, element, None, [turned(a), turned(b)])
    }

    /// One of two floats. Whichever is the larger, the order does not show. Where both were rounded to one format last, it is as if the one picked were.
    fn pick(
        &mut self,
        site: &FollowedOperation,
        label: LabelId,
        element: Element,
        by: Option<Element>,
        [a, b]: [Element; 2],
    ) -> Element {
        let [(x, one), (y, other)] = [a, b].map(|e| match e.constant() {
            Some(_) => (e, None),
            None => {
                let (way, last) = self.algebra.before_last(e.way);
                (Element { way, ..e }, last)
            }
        });
        let fits = |e: Element, to: Precision| e.constant().is_some_and(|by| holds(to, by) && to.exponent_bits >= 8);
        let format = match (one, other) {
            (Some(one), Some(other)) if one == other => Some(one),
            (Some(one), None) if fits(b, one) => Some(one),
            (None, Some(other)) if fits(a, other) => Some(other),
            _ => None,
        };
        let both = if format.is_some() { [x, y] } else { [a, b] };
        let both =
            if by.is_some() || both[0].exactly(true) <= both[1].exactly(true) { both } else { [both[1], both[0]] };
        let operands: Vec<(Element, bool)> =
            by.into_iter().map(|by| (by, false)).chain(both.map(|e| (e, true))).collect();
        match by {
            Some(_) => _ = self.make(site, label, element, &operands),
            None => {
                let mut ways: Vec<u32> = both.iter().filter(|e| e.constant().is_none()).map(|e| e.way).collect();
                ways.sort_unstable();
                ways.dedup();
                let print = ways.into_iter().fold(0, |print, way| absorb(print, way.into()));
                self.make_of_many((label, None), element, print, &[both[0].way, both[1].way]);
            }
        }
        let f32s = self.algebra.of_operation(DType::F32);
        let way = match format {
            Some(format) => self.algebra.round(f32s, format),
            None => self.algebra.of_operation(Self::to(site)),
        };
        Element { way, ..element }
    }

    fn compare(
        &mut self,
        site: &FollowedOperation,
        direction: Compare,
        order: CompareOrder,
        [a, b]: [Element; 2],
    ) -> Element {
        let float = site.is_float(0);
        if let (Some(x), Some(y)) = (a.constant(), b.constant()) {
            return Element::number(f64::from(direction.of(x.partial_cmp(&y))));
        }
        let (one, flips, negates) = direction.basic(!float || order == CompareOrder::Total);
        let (a, b) = if flips { (b, a) } else { (a, b) };
        let [x, y] = [a, b].map(|e| e.print(float));
        let swaps = one == Compare::Eq && y < x;
        let (a, b, x, y) = if swaps { (b, a, y, x) } else { (a, b, x, y) };
        let name = ElementFunction::Compare(one, float.then_some(order)).print();
        let element = Element::atom(absorb(absorb(name, x), y));
        if float {
            let label = self.record.number(Label::Compare(one));
            self.make(site, label, element, &[(a, true), (b, true)]);
        }
        if negates { element.negate() } else { element }
    }

    fn select(&mut self, site: &FollowedOperation, label: LabelId, by: Element, [yes, no]: [Element; 2]) -> Element {
        let float = site.shapes.iter().skip(1).any(|shape| shape.dtype().is_some_and(DType::is_float));
        match by.constant() {
            Some(0.0) => return no,
            Some(_) => return yes,
            None if yes.exactly(float) == no.exactly(float) => return yes,
            None => {}
        }
        let (by, yes, no) = if by.by < 0.0 { (by.negate(), no, yes) } else { (by, yes, no) };
        // One or zero, or a number or zero, is a product with a mask.
        let numbers = site.dtype(1) != Some(DType::Pred);
        let element = match (numbers, yes.constant(), no.constant()) {
            (true, Some(1.0), Some(0.0)) => return self.algebra.mask(by),
            (true, Some(0.0), Some(1.0)) => return self.algebra.mask(by.negate()),
            (true, None, Some(0.0)) => Algebra::multiply(yes, self.algebra.mask(by)),
            (true, Some(0.0), None) => Algebra::multiply(no, self.algebra.mask(by.negate())),
            _ => {
                let prints = [by.print(false), yes.print(float), no.print(float)];
                Element::atom(prints.into_iter().fold(ElementFunction::Select.print(), absorb))
            }
        };
        if float && self.algebra.is_positive(yes) && self.algebra.is_positive(no) {
            self.algebra.note_positive(element);
        }
        if float { self.pick(site, label, element, Some(by), [yes, no]) } else { element }
    }
}
