//! The union of two latitudes: computations of one, of the other, or of one for some elements and the other for the
//! rest.

use super::{Additions, Latitude, Rounding};

impl Latitude {
    /// A latitude that allows all that either allows; unknown where the two are of different kinds.
    ///
    /// A larger floor and a larger error allow no less than smaller ones; so does a lower ceiling. A fact stays certain
    /// only if both latitudes have it.
    pub fn or(self, other: Latitude) -> Latitude {
        match (self, other) {
            (Latitude::Exact { floor }, Latitude::Exact { floor: other }) => {
                Latitude::Exact { floor: floor.max(other) }
            }
            (Latitude::Rounded(one), Latitude::Rounded(other)) => {
                one.or(other).map_or(Latitude::Unknown, Latitude::Rounded)
            }
            (one, other) if one == other => one,
            _ => Latitude::Unknown,
        }
    }
}

impl Latitude {
    /// This latitude, of which some elements may be left as they were before they are rounded.
    pub fn or_unrounded(self) -> Latitude {
        match self {
            Latitude::Rounded(rounding) => Latitude::Rounded(Rounding { may_stay: true, ..rounding }),
            other => other,
        }
    }
}

impl Rounding {
    fn or(self, other: Rounding) -> Option<Rounding> {
        if self.formats != other.formats {
            return None;
        }
        let additions = match (self.additions, other.additions) {
            (Some(one), Some(other)) => Some(one.or(other)),
            (None, None) => None,
            _ => return None,
        };
        // Of two ways to divide, the plain quotient stands for either; it is one more way where neither takes it.
        let is_one = self.reciprocal == other.reciprocal;
        let (reciprocal, ways) =
            if is_one { (self.reciprocal, [None, None]) } else { (None, [self.reciprocal, other.reciprocal]) };
        let mut others = self.others;
        for way in other.others.into_iter().chain(ways.into_iter().flatten()) {
            if !others.contains(&way) {
                others.push(way);
            }
        }
        Some(Rounding {
            floor: self.floor.max(other.floor),
            flushes: self.flushes && other.flushes && self.floor == other.floor,
            reciprocal,
            others,
            operand: self.operand.max(other.operand),
            relative: self.relative.max(other.relative),
            absolute: self.absolute.max(other.absolute),
            additions,
            formats: self.formats,
            may_stay: self.may_stay || other.may_stay,
            forms: match (self.forms, other.forms) {
                (Some(one), Some(other)) => Some(one.or(other)),
                (one, other) => one.or(other),
            },
        })
    }
}

impl Additions {
    fn or(self, other: Additions) -> Additions {
        let intake = match (self.intake, other.intake) {
            (Some((below, loses)), Some((others, more))) => Some((below.max(others), loses.max(more))),
            (one, other) => one.or(other),
        };
        Additions {
            share: self.share.max(other.share),
            least: self.least.zip(other.least).map(|(one, other)| one.min(other)),
            lost: self.lost.max(other.lost),
            inits: self.inits.max(other.inits),
            largest: self.largest.min(other.largest),
            intake,
            // A share stands for orders as well.
            order: self.order.zip(other.order).map(|(one, other)| Box::new(one.or(*other))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, F32};

    #[test]
    fn what_either_allows_both_together_allow() {
        let floors = Latitude::Exact { floor: 1.0 }.or(Latitude::Exact { floor: 2.0 });
        assert_eq!(floors, Latitude::Exact { floor: 2.0 });
        let one = Rounding { floor: 1.0, flushes: true, relative: 0.5, formats: vec![F32], ..Rounding::default() };
        let other = Rounding { floor: 2.0, flushes: true, absolute: 3.0, formats: vec![F32], ..Rounding::default() };
        let both = Rounding { floor: 2.0, flushes: false, relative: 0.5, absolute: 3.0, ..one.clone() };
        assert_eq!(Latitude::Rounded(one.clone()).or(Latitude::Rounded(other)), Latitude::Rounded(both));
        assert_eq!(Latitude::Rounded(one.clone()).or(Latitude::Rounded(one.clone())), Latitude::Rounded(one.clone()));
        for other in [Latitude::Exact { floor: 0.0 }, Latitude::Unknown] {
            assert_eq!(Latitude::Rounded(one.clone()).or(other), Latitude::Unknown);
        }
        let narrow = Rounding { formats: vec![BF16], ..one.clone() };
        assert_eq!(Latitude::Rounded(one).or(Latitude::Rounded(narrow)), Latitude::Unknown);
    }

    #[test]
    fn quotients_of_two_ways_are_computed_in_both() {
        let by = |floor: f64| Rounding { reciprocal: Some((vec![F32], floor)), ..Rounding::default() };
        let plain = Rounding::default();
        let both = |ways: &[f64]| {
            let others = ways.iter().map(|floor| (vec![F32], *floor)).collect();
            Latitude::Rounded(Rounding { others, ..Rounding::default() })
        };
        assert_eq!(Latitude::Rounded(by(1.0)).or(Latitude::Rounded(by(1.0))), Latitude::Rounded(by(1.0)));
        assert_eq!(Latitude::Rounded(by(1.0)).or(Latitude::Rounded(by(2.0))), both(&[1.0, 2.0]));
        assert_eq!(Latitude::Rounded(by(1.0)).or(Latitude::Rounded(plain)), both(&[1.0]));
    }

    #[test]
    fn sums_err_by_the_worse_of_two_promises() {
        let additions = |share: f64, largest: f64, intake: Option<(f64, f64)>| {
            let additions =
                Additions { share, least: Some(1.0 / share), lost: share, inits: 1, largest, intake, order: None };
            Latitude::Rounded(Rounding { additions: Some(additions), ..Rounding::default() })
        };
        let (one, other) = (additions(1.0, 8.0, None), additions(2.0, 9.0, Some((3.0, 4.0))));
        assert_eq!(one.clone().or(other.clone()), additions(2.0, 8.0, Some((3.0, 4.0))));
        assert_eq!(other.or(one.clone()), additions(2.0, 8.0, Some((3.0, 4.0))));
        assert_eq!(one.or(Latitude::Rounded(Rounding::default())), Latitude::Unknown);
    }
}
