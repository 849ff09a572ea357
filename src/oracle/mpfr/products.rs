//! Dots of enclosures at any precision, each as a middle and a radius.
//!
//! An entry is `middle`, off by at most `radius`. `|x||y - y'| + |x - x'||y'|` bounds the error of a dot of the middles
//! (midpoint-radius arithmetic; Rump, BIT 39(3), 1999). Many dots are made of digits, by matrix multiplications
//! (`matrices`). Of few dots, that of the middles is rounded once ([`Float::dot`] rounds correctly). This takes one
//! product of MPFR numbers a term, and two short ones for the radius; the ends of intervals would take eight.
//!
//! A dot has the linear form of the sum of its products. A product of two numbers that are both irrational is an atom
//! of its own: no combination with other numbers cancels it, so that a name of its own for the dot says as much. Three
//! kinds of dots are left to the sum of single products: results that may be zero and have no form, dots of rational
//! operands, and dots of operands that are no moderate numbers.

use std::cmp::Ordering;
use std::rc::Rc;

use rayon::prelude::*;
use rug::Float;
use rug::float::Round;

use super::Mpfr;
use super::digits::Layout;
use super::matrices::{Found, Operand, matrix_product};
use super::middle::{Entry, SHORT};
use super::reals::Reals;
use super::terms::Terms;
use crate::arithmetic::{Arithmetic, Wanted, dot};
use crate::between::Between;
use crate::deadline;
use crate::dot::exact_dot;
use crate::form::Form;

/// Fewer products than these are not worth taking apart into digits.
const FEW: usize = 4096;
/// If fewer than one dot in so many is demanded, each is computed individually.
const SPARSE: usize = 16;

/// A row or a column.
struct RowOrColumn {
    entries: Vec<Entry>,
    /// The sum of all sizes and that of all reaches, rounded up.
    sums: [Float; 2],
    largest_radius: Float,
}

impl RowOrColumn {
    /// `None` where an entry is no moderate number.
    fn new(values: impl Iterator<Item = Rc<Between>>, bits: u32) -> Option<RowOrColumn> {
        let entries: Vec<Entry> = values.map(|value| Entry::new(&value, bits)).collect::<Option<_>>()?;
        let sum =
            |of: fn(&Entry) -> &Float| Float::with_val_round(SHORT, Float::sum(entries.iter().map(of)), Round::Up).0;
        let sums = [sum(|entry| &entry.size), sum(|entry| &entry.reach)];
        let mut largest_radius = Float::new(SHORT);
        for entry in entries.iter().filter(|entry| entry.radius > 0) {
            largest_radius.max_mut(&entry.radius);
        }
        Some(RowOrColumn { entries, sums, largest_radius })
    }

    /// A bound on the error of a dot of the middles, from bounds on whole vectors.
    fn coarse_radius(&self, other: &RowOrColumn) -> Float {
        let up = |a: &Float, b: &Float| Float::with_val_round(SHORT, a * b, Round::Up).0;
        let (beside, rest) = (up(&self.sums[0], &other.largest_radius), up(&self.largest_radius, &other.sums[1]));
        Float::with_val_round(SHORT, &beside + &rest, Round::Up).0
    }

    /// The bound entry by entry.
    fn fine_radius(&self, other: &RowOrColumn) -> Float {
        let pairs = || self.entries.iter().zip(&other.entries);
        let beside = pairs().map(|(x, y)| (&x.size, &y.radius));
        let terms = beside.chain(pairs().map(|(x, y)| (&x.radius, &y.reach)));
        let terms = terms.filter(|(a, b)| !a.is_zero() && !b.is_zero());
        Float::with_val_round(SHORT, Float::dot(terms), Round::Up).0
    }
}

/// The ends of a dot; `None` where the sum of single products may say more.
fn enclosed(x: &RowOrColumn, y: &RowOrColumn, bits: u32) -> Option<(Float, Float)> {
    let pairs = || x.entries.iter().zip(&y.entries);
    let dot = Float::dot(pairs().map(|(x, y)| (&x.middle, &y.middle)));
    let (middle, ternary) = Float::with_val_round(bits, dot, Round::Nearest);
    let mut radius = x.coarse_radius(y);
    // Where that is not far below the dot, entries that are wide may stand beside small ones.
    let narrow = Float::with_val_round(SHORT, middle.abs_ref(), Round::Down).0 >> (bits - bits / 8);
    if radius > narrow {
        radius = x.fine_radius(y);
    }
    if ternary != Ordering::Equal {
        // Rounding to nearest is off by half a step at most, and a step is no more than 2^(1 - bits) of the number.
        let (mut rounding, _) = Float::with_val_round(SHORT, middle.abs_ref(), Round::Up);
        rounding >>= bits;
        radius = Float::with_val_round(SHORT, &radius + &rounding, Round::Up).0;
    }
    let lo = Float::with_val_round(bits, &middle - &radius, Round::Down).0;
    let hi = Float::with_val_round(bits, &middle + &radius, Round::Up).0;
    // A range around zero has no sign: exact sums of single products may have one.
    if lo <= 0 && hi >= 0 { None } else { Some((lo, hi)) }
}

impl Mpfr {
    /// Dots of exactly known rows and columns.
    pub(super) fn exact_products(&self, lhs: &[f64], rhs: &[f64], [m, k, n]: [usize; 3]) -> Vec<Rc<Between>> {
        let of = |at: usize| {
            let row = lhs[at / n * k..(at / n + 1) * k].iter().copied();
            let column = (0..k).map(|l| rhs[l * n + at % n]);
            Rc::new(Between::of_exact(exact_dot(row, column), self.bits))
        };
        (0..m * n).map(of).collect()
    }

    /// Dots of enclosures, those that are wanted.
    pub(super) fn products(
        &mut self,
        [lhs, rhs]: [&Reals; 2],
        starts: [usize; 2],
        [m, k, n]: [usize; 3],
        wanted: Wanted,
    ) -> Vec<Rc<Between>> {
        let is_wanted = |at: usize| wanted.is_none_or(|wanted| wanted[at]);
        let left = Operand { reals: lhs, layout: Layout { start: starts[0], vector: k, entry: 1, length: k } };
        let right = Operand { reals: rhs, layout: Layout { start: starts[1], vector: 1, entry: n, length: k } };
        let rows: Vec<usize> = (0..m).filter(|i| (0..n).any(|j| is_wanted(i * n + j))).collect();
        let columns: Vec<usize> = (0..n).filter(|j| (0..m).any(|i| is_wanted(i * n + j))).collect();
        let asked = (0..m * n).filter(|at| is_wanted(*at)).count();
        // Taking apart costs as much as a whole product: it pays only if a good part of the results is wanted.
        let is_dense = asked * k >= FEW && SPARSE * asked >= rows.len() * columns.len();
        let known = if is_dense { matrix_product([left, right], &rows, &columns, self.bits) } else { None };
        let known =
            known.unwrap_or_else(|| self.by_middles([left, right], &rows, &columns, &|i, j| is_wanted(i * n + j)));
        let terms = [(left, &rows), (right, &columns)].map(|(operand, vectors)| Terms::new(operand, vectors));
        let mut numbers = vec![self.unknown(); m * n];
        for (at, found) in known.into_iter().enumerate() {
            deadline::check();
            let [i, j] = [at / columns.len(), at % columns.len()];
            let (row, column) = (rows[i], columns[j]);
            if !is_wanted(row * n + column) {
                continue;
            }
            let between = match found {
                Found::Unknown => continue,
                _ if Terms::are_rational(&terms, [i, j]) => None,
                Found::Between(lo, hi) => Some(Between::real(lo, hi)),
                Found::Number => Some(Between::real(-infinity(), infinity())),
                Found::Open => None,
            };
            // A form makes ties certain that no precision decides, as of two equal sums in other orders.
            let is_rational = Terms::are_rational(&terms, [i, j]);
            let has_form = between.is_some() || !is_rational && Terms::are_constant(&terms, [i, j]);
            let form = if has_form { Terms::form(&terms, [i, j]) } else { None };
            numbers[row * n + column] = match (between, form.as_ref().and_then(Form::as_rational)) {
                (_, Some(value)) if value.is_zero() => Rc::new(
                    self.zero_of(&(0..k).map(|l| (left.entry(row, l), right.entry(column, l))).collect::<Vec<_>>()),
                ),
                (_, Some(value)) => Rc::new(Between::of_rational(value, self.bits)),
                (Some(between), None) => Rc::new(self.with_form(between, form)),
                (None, None) => dot(self, [lhs, rhs], [starts[0] + row * k, starts[1] + column], [k, n]),
            };
        }
        numbers
    }

    /// A dot of finite numbers that is zero, with its sign as far as it is known: -0 only if nothing but -0 is added.
    fn zero_of(&self, factors: &[(Rc<Between>, Rc<Between>)]) -> Between {
        let products: Vec<Between> = factors.iter().map(|(x, y)| self.mul(x, y)).collect();
        let is_negative = |product: &Between| matches!(product, Between::Exact(value) if value.is_sign_negative());
        if !products.is_empty() && products.iter().all(is_negative) {
            return Between::exact(-0.0);
        }
        Between::rest_zero(products.iter().any(|product| !product.may_be_negative_zero()))
    }

    /// Dots of the middles one by one, those that are wanted.
    fn by_middles(
        &self,
        operands: [Operand; 2],
        rows: &[usize],
        columns: &[usize],
        is_wanted: &(dyn Fn(usize, usize) -> bool + Sync),
    ) -> Vec<Found> {
        let bits = self.bits;
        let [rows_known, columns_known] = [(operands[0], rows), (operands[1], columns)].map(|(operand, vectors)| {
            let entries = |vector: usize| (0..operand.layout.length).map(move |l| operand.entry(vector, l));
            vectors.iter().map(|vector| RowOrColumn::new(entries(*vector), bits)).collect::<Vec<Option<RowOrColumn>>>()
        });
        let of = |at: usize| {
            let [i, j] = [at / columns.len(), at % columns.len()];
            let ends = match (&rows_known[i], &columns_known[j]) {
                (Some(row), Some(column)) if is_wanted(rows[i], columns[j]) => enclosed(row, column, bits),
                _ => None,
            };
            ends.map_or(Found::Open, |(lo, hi)| Found::Between(lo, hi))
        };
        let deadline = deadline::current();
        (0..rows.len() * columns.len()).into_par_iter().map(|at| deadline.within(|| of(at))).collect()
    }
}

fn infinity() -> Float {
    Float::with_val(SHORT, f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::Column;

    const INFINITY: f64 = f64::INFINITY;

    fn real(mpfr: &Mpfr, lo: f64, hi: f64) -> Rc<Between> {
        let end = |value| Float::with_val(f64::MANTISSA_DIGITS, value);
        Rc::new(mpfr.with_form(Between::real(end(lo), end(hi)), None))
    }

    /// A number between 0 and 1 after another.
    fn draw(state: &mut u64) -> f64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Every choice of ends gives a dot that the enclosure holds, and no sum of single products is much narrower. Entries
    /// are intervals, numbers, zeros, and numbers beside nothing.
    #[test]
    fn dots_hold_those_of_all_ends() {
        let (mut state, mut by_middles) = (7, 0);
        for round in 0..600 {
            let bits = [8, 24, 53, 160][round % 4];
            let mut mpfr = Mpfr::new(bits);
            let k = 1 + round % 5;
            let mut entry = |mpfr: &Mpfr| {
                let (x, spread) = (draw(&mut state) * 4.0 - 1.0, draw(&mut state).powi(8));
                match (draw(&mut state) * 10.0) as u32 {
                    0 => real(mpfr, 0.0, f64::from_bits(1)),
                    1 => Arithmetic::exact(mpfr, 0.0),
                    2 | 3 => Arithmetic::exact(mpfr, x),
                    _ => real(mpfr, x, x + spread),
                }
            };
            let [lhs, rhs] =
                [0; 2].map(|_| Reals::Enclosed(Column::new((0..k).map(|_| entry(&mpfr)).collect::<Vec<_>>())));
            let [got] = &mpfr.products([&lhs, &rhs], [0; 2], [1, k, 1], None)[..] else { panic!("one dot") };
            let (lo, hi) = got.ends().unwrap();
            for choice in 0..1u32 << (2 * k) {
                let end = |column: &Reals, at: usize, bit: usize| {
                    let value = column.at(at);
                    let (lo, hi) = value.ends().unwrap();
                    Float::with_val(3000, if choice >> bit & 1 == 0 { lo } else { hi })
                };
                let products = (0..k).map(|l| end(&lhs, l, l) * end(&rhs, l, k + l));
                let sum = products.fold(Float::with_val(3000, 0), |sum, product| sum + product);
                assert!(*lo <= sum && sum <= *hi, "{sum} outside of {lo} to {hi} at {bits} bits");
            }
            let slow = dot(&mut mpfr, [&lhs, &rhs], [0; 2], [k, 1]);
            let width = |x: &Between| x.ends().map(|(lo, hi)| Float::with_val(100, hi - lo)).unwrap();
            let scale = Float::with_val(100, lo.abs_ref()) + Float::with_val(100, hi.abs_ref());
            let room = width(&slow) * 4 + scale * Float::with_val(100, Float::i_exp(1, 4 - bits as i32));
            assert!(width(got) <= room, "{got:?} beside {slow:?}");
            let vector = |column: &Reals| RowOrColumn::new((0..k).map(|at| column.at(at)), bits).unwrap();
            by_middles += usize::from(enclosed(&vector(&lhs), &vector(&rhs), bits).is_some());
        }
        assert!(by_middles > 200, "{by_middles}");
    }

    /// A long dot has the form of its sum where that is short: of one atom that all entries are, of 32 atoms, but not of 33.
    #[test]
    fn long_dots_have_the_forms_of_their_sums() {
        const K: usize = 40;
        for (atoms, zeros) in [(1, 0), (K, 0), (K, K - 32), (K, K - 33)] {
            let mut mpfr = Mpfr::new(80);
            let own: Vec<Rc<Between>> = (0..atoms).map(|_| real(&mpfr, 1.0, 1.5)).collect();
            let row: Vec<Rc<Between>> = (0..K).map(|l| Rc::clone(&own[l % atoms])).collect();
            let n = 128;
            let weight = |l: usize, j: usize| if l < zeros { 0.0 } else { (l * 3 + j * 5 + 1) as f64 };
            let weights: Vec<f64> = (0..K * n).map(|at| weight(at / n, at % n)).collect();
            let [lhs, rhs] = [Reals::Enclosed(Column::new(row.clone())), Reals::Plain(Column::new(weights))];
            let dots = mpfr.products([&lhs, &rhs], [0; 2], [1, K, n], None);
            for j in [0, 1, n - 1] {
                let forms: Vec<(Form, Form)> =
                    (0..K).map(|l| (row[l].form().unwrap(), Between::exact(weight(l, j)).form().unwrap())).collect();
                let expected = Form::of_products(forms.iter().map(|(x, y)| (x, y)));
                assert_eq!(expected.is_some(), atoms == 1 || zeros == K - 32);
                // Without a form of its own it is an atom.
                match expected {
                    Some(form) => assert_eq!(dots[j].form(), Some(form)),
                    None => assert!(!own.iter().any(|atom| atom.form() == dots[j].form())),
                }
            }
        }
    }

    /// Numbers as small and as large as MPFR holds: near zero they are no larger than what the enclosure says, far from it
    /// they go the other way.
    #[test]
    fn numbers_beyond_reach() {
        let mpfr = Mpfr::new(64);
        let power = |exponent: i32| Float::with_val(64, Float::i_exp(1, exponent));
        let tiny = mpfr.with_form(Between::real(power(-(1 << 29)), power(-(1 << 28))), None);
        let entry = Entry::new(&tiny, 64).unwrap();
        assert!(entry.middle.is_zero() && entry.radius >= power(-(1 << 28)));
        let huge = mpfr.with_form(Between::real(power(1 << 28), power(1 << 29)), None);
        assert!(Entry::new(&huge, 64).is_none() && Entry::new(&Between::Unknown, 64).is_none());
        assert!(Entry::new(&Between::exact(f64::INFINITY), 64).is_none() && Entry::new(&Between::nan(), 64).is_none());
    }

    /// A dot with irrational numbers on one side has the form of its sum; with both factors of one product irrational
    /// it has none of its own.
    #[test]
    fn dots_have_forms() {
        let mut mpfr = Mpfr::new(64);
        let [a, b] = [0; 2].map(|_| real(&mpfr, 1.0, 1.5));
        let exact = |value| Rc::new(Between::exact(value));
        let column = |values: Vec<Rc<Between>>| Reals::Enclosed(Column::new(values));
        let lhs = column(vec![Rc::clone(&a), exact(3.0)]);
        let rhs = column(vec![exact(2.0), Rc::clone(&b)]);
        let [sum] = &mpfr.products([&lhs, &rhs], [0; 2], [1, 2, 1], None)[..] else { panic!("one dot") };
        let double = a.form().unwrap().add(&a.form().unwrap()).unwrap();
        let three = Form::of_products([(&b.form().unwrap(), &exact(3.0).form().unwrap())].into_iter()).unwrap();
        assert_eq!(sum.form(), double.add(&three));
        let both = column(vec![a, b]);
        let [product] = &mpfr.products([&lhs, &both], [0; 2], [1, 2, 1], None)[..] else { panic!("one dot") };
        let others = [sum.form().unwrap(), lhs.at(0).form().unwrap(), both.at(1).form().unwrap()];
        assert!(
            others.into_iter().all(|other| product.form().unwrap().subtract(&other).unwrap().as_rational().is_none())
        );
    }

    /// Both bounds of a dot are at least what entries within their radii can differ by, however wide these are.
    #[test]
    fn radii_of_dots_are_bounds() {
        let mut state = 11;
        for round in 0..300 {
            let (bits, k) = ([8, 53, 160][round % 3], 1 + round % 7);
            let mpfr = Mpfr::new(bits);
            let mut vector = || {
                let mut entry = |_| {
                    let (x, width) = (draw(&mut state) * 4.0 - 2.0, 4.0 * draw(&mut state).powi(6));
                    if draw(&mut state) < 0.2 { Arithmetic::exact(&mpfr, x) } else { real(&mpfr, x, x + width) }
                };
                RowOrColumn::new((0..k).map(&mut entry), bits).unwrap()
            };
            let (x, y) = (vector(), vector());
            let wide = |value: &Float| Float::with_val(3000, value);
            let most = x.entries.iter().zip(&y.entries).fold(wide(&Float::new(1)), |sum, (x, y)| {
                let [a, b] = [x, y].map(|entry| wide(&entry.middle).abs());
                let [r, s] = [x, y].map(|entry| wide(&entry.radius));
                sum + Float::with_val(3000, &a + &r) * Float::with_val(3000, &b + &s) - a * b
            });
            assert!(wide(&x.fine_radius(&y)) >= most, "fine: {round}");
            assert!(wide(&x.coarse_radius(&y)) >= most, "coarse: {round}");
        }
    }

    /// Nothing is left of a dot whose terms cancel or vanish, however it is computed: its zero has the sign of the sum of its
    /// products, which is -0 where all of them are.
    #[test]
    fn dots_that_vanish_have_the_sign_of_their_products() {
        const K: usize = 40;
        type Weight = fn(usize) -> f64;
        let weights: [Weight; 4] = [|_| 0.0, |_| -0.0, |l| [1.0, -1.0][l % 2], |l| [0.0, -0.0][l % 2]];
        let mut signs = [0; 2];
        for (lo, hi) in [(1.0, 1.5), (-1.5, -1.0), (-1.0, 1.0), (1.0, INFINITY), (-INFINITY, -1.0)] {
            for (weight, n) in weights.iter().flat_map(|weight| [1, 128].map(|n| (weight, n))) {
                let mut mpfr = Mpfr::new(80);
                let row = Reals::Enclosed(Column::new(vec![real(&mpfr, lo, hi); K]));
                let column = Reals::Plain(Column::new((0..K * n).map(|at| weight(at / n)).collect()));
                let dots = mpfr.products([&row, &column], [0; 2], [1, K, n], None);
                let expected = dot(&mut mpfr, [&row, &column], [0; 2], [K, n]);
                let bits = |x: &Between| x.ends().map(|(lo, hi)| [lo, hi].map(|end| end.to_f64().to_bits()));
                assert_eq!(bits(&dots[0]), bits(&expected), "{lo} to {hi} times {} and {}, {n}", weight(0), weight(1));
                for (count, zero) in signs.iter_mut().zip([0.0f64, -0.0]) {
                    *count += usize::from(bits(&dots[0]) == Some([zero.to_bits(); 2]));
                }
            }
        }
        assert!(signs.iter().all(|count| *count >= 8), "{signs:?}");
    }

    /// A range that comes to zero is none that the middles give, at either end.
    #[test]
    fn dots_that_may_be_zero_are_left_to_their_products() {
        let mpfr = Mpfr::new(53);
        let vector = |entries: &[(f64, f64)]| {
            RowOrColumn::new(entries.iter().map(|(lo, hi)| real(&mpfr, *lo, *hi)), 53).unwrap()
        };
        for (lo, hi, is_open) in [
            (0.0, 1.0, true),
            (-1.0, 0.0, true),
            (-1.0, 1.0, true),
            (0.0, 0.0, true),
            (1.0, 2.0, false),
            (-2.0, -1.0, false),
        ] {
            let found = enclosed(&vector(&[(lo, hi), (0.0, 0.0)]), &vector(&[(1.0, 1.0); 2]), 53);
            assert_eq!(found.is_none(), is_open, "{lo} to {hi}: {found:?}");
        }
    }
}
