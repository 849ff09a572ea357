//! Operations that give each element in another format.

use crate::analysis::Precision;
use crate::num::{Direction, FORMATS, round_f64};
use crate::tensor::DType;

use super::algebra::{Element, absorb};
use super::element_function::ElementFunction;
use super::follow::{FollowedOperation, Follower, holds};
use super::made::LabelId;
use super::whole_number;

impl Follower<'_> {
    pub fn convert(&mut self, site: &FollowedOperation, label: LabelId, x: Element) -> Element {
        let (from_float, to) = (site.is_float(0), Self::to(site));
        match (from_float, to.is_float(), x.constant()) {
            (true, true, Some(by)) => Self::number(site, by),
            // Zeros and ones are numbers of every format.
            (_, true, None) if self.algebra.masks(x).is_some() => x,
            (false, _, None) if site.dtype(0) == Some(DType::Pred) && to != DType::Pred => self.algebra.mask(x),
            (true, true, None) => match Precision::of_dtype(to) {
                Some(format) => self.round(x, format),
                None => x,
            },
            (false, true, Some(by)) => Self::number(site, by),
            (true, false, Some(by)) if to != DType::Pred && by.is_finite() => {
                Element::number(whole_number::saturate(by, to))
            }
            (false, false, Some(by)) if to != DType::Pred => match whole_number::wrap(by as i128, to) {
                Some(by) => Element::number(by),
                None => Element::atom(absorb(ElementFunction::Convert(to, to).print(), x.print(false))),
            },
            (_, _, Some(by)) if to == DType::Pred => Element::number(f64::from(by != 0.0)),
            // Wide enough integers are the same numbers.
            (false, false, None) if whole_number::keeps(site.dtype(0).unwrap_or(to), to) => x,
            _ => {
                let name = ElementFunction::Convert(site.dtype(0).unwrap_or(to), to).print();
                let element = Element::atom(absorb(name, x.print(from_float)));
                if from_float || to.is_float() { self.make(site, label, element, &[(x, from_float)]) } else { element }
            }
        }
    }

    pub fn bits(&mut self, site: &FollowedOperation, label: LabelId, x: Element) -> Element {
        let (from_float, to) = (site.is_float(0), Self::to(site));
        if site.dtype(0) == Some(to) {
            return x;
        }
        let name = ElementFunction::Bits(site.dtype(0).unwrap_or(to), to).print();
        let element = Element::atom(absorb(name, x.exactly(from_float)));
        let made = self.make(site, label, element, &[(x, from_float)]);
        Element { way: self.algebra.of_argument(to), ..made }
    }

    pub fn round(&mut self, x: Element, to: Precision) -> Element {
        let Some(by) = x.constant() else { return Element { way: self.algebra.round(x.way, to), ..x } };
        let format = FORMATS.iter().find(|format| Precision::of(format) == to);
        match format {
            Some(format) => Element::number(round_f64(format, by, Direction::NearestEven)),
            None if holds(to, by) && to.exponent_bits >= 8 => x,
            None => Element {
                way: self.algebra.round(0, to),
                ..Element::atom(absorb(ElementFunction::Round.print(), x.exactly(true)))
            },
        }
    }
}
