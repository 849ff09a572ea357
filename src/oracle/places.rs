//! Knowledge of sorted elements whose order is open.

use super::arithmetic::Arithmetic;
use super::elements::{Element, FloatArray, World};
use super::radix;

/// The element at one place of a sorted lane.
pub(super) struct Place {
    /// Its position, if it is certain.
    pub element: Option<usize>,
    /// Positions of two elements: its number lies between the lower end of the first and the upper end of the second.
    pub ends: [usize; 2],
}

/// Knowledge of the order of sorted elements.
pub(super) enum Lane {
    /// The element at each place, by its position.
    Sorted(Vec<usize>),
    /// The knowledge of each place.
    Partly(Vec<Place>),
    Open,
}

impl Lane {
    /// The position of the element at a place, if it is known.
    pub fn element(&self, place: usize) -> Option<usize> {
        match self {
            Lane::Sorted(order) => Some(order[place]),
            Lane::Partly(places) => places[place].element,
            Lane::Open => None,
        }
    }
}

/// The places of lanes whose element is open, with their positions.
pub(super) fn open_places(lanes: &[(Vec<usize>, Lane)]) -> impl Iterator<Item = (&Lane, usize, usize)> {
    let places = lanes
        .iter()
        .flat_map(|(positions, lane)| positions.iter().enumerate().map(move |(place, at)| (lane, place, *at)));
    places.filter(|(lane, place, _)| lane.element(*place).is_none())
}

impl<A: Arithmetic> World<A> {
    /// The element at each place of the sorted numbers.
    ///
    /// The number at place i has rank i: it is not below the lower end of rank i and not above the upper end of rank i.
    /// The place of an element is certain if the enclosures of all others are apart from its own, on the proper side.
    pub fn places(&self, array: &FloatArray<A>, positions: &[usize], descending: bool) -> Vec<Place> {
        let end = |upper: bool| {
            move |at: usize| {
                let (lo, hi) = self.arithmetic.bounds(&self.number(array, at));
                if upper { hi } else { lo }
            }
        };
        let (lo, hi) = (end(false), end(true));
        let [by_lo, by_hi] =
            [radix::sort_order(positions, descending, false, lo), radix::sort_order(positions, descending, false, hi)];
        // Of the end that faces the elements before a place, and of that which faces those behind it, the closest.
        let (front, back): (&dyn Fn(usize) -> f64, &dyn Fn(usize) -> f64) =
            if descending { (&hi, &lo) } else { (&lo, &hi) };
        let order = if descending { &by_lo } else { &by_hi };
        let is_before = |a: f64, b: f64| if descending { a > b } else { a < b };
        let mut behind = vec![None; order.len()];
        for i in (1..order.len()).rev() {
            let own = front(order[i]);
            behind[i - 1] =
                Some(behind[i].map_or(own, |closest: f64| if is_before(own, closest) { own } else { closest }));
        }
        let is_apart = |i: usize| {
            let from_before = i == 0 || is_before(back(order[i - 1]), front(order[i]));
            from_before && behind[i].is_none_or(|closest| is_before(back(order[i]), closest))
        };
        let place = |i: usize| Place { element: is_apart(i).then_some(order[i]), ends: [by_lo[i], by_hi[i]] };
        (0..positions.len()).map(place).collect()
    }

    /// The element at a place of a lane that was sorted by `key`; unknown for an array that was only moved along
    /// (`None`).
    pub fn at_place(&mut self, key: Option<&FloatArray<A>>, lane: &Lane, place: usize) -> Element<A::Number> {
        match (key, lane.element(place), lane) {
            (Some(key), Some(at), _) => self.element(key, at),
            (Some(key), None, Lane::Partly(places)) => {
                let [least, most] = places[place].ends.map(|at| self.element(key, at));
                self.between([&least, &most])
            }
            _ => self.unknown(),
        }
    }

    /// A number that lies between the lower end of one element and the upper end of another, whichever element it is.
    fn between(&mut self, [least, most]: [&Element<A::Number>; 2]) -> Element<A::Number> {
        let infinity = |e: &Element<A::Number>| self.arithmetic.as_exact(&e.number).filter(|v| v.is_infinite());
        match (infinity(least), infinity(most)) {
            (None, None) => {}
            (Some(one), Some(other)) if one == other => return self.exact(one),
            // Between an infinity and a number there is no enclosure of finite numbers.
            _ => return self.unknown(),
        }
        let mut hull = self.arithmetic.hull(&least.number, &most.number);
        if self.may_be_zero(&hull) {
            // Any of its zeros.
            for zero in [0.0, -0.0] {
                hull = self.arithmetic.hull(&hull, &self.arithmetic.exact(zero));
            }
        }
        self.fresh(hull)
    }
}
