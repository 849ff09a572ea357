//! Effects of errors and roundings on enclosures and on identities.

use std::collections::HashMap;

use crate::ir::ValueId;
use crate::num::{BF16, Direction, F32, Format, round_f64};

use super::super::arithmetic::Arithmetic;
use super::super::column::Column;
use super::super::elements::{FloatArray, Identities, Value};
use super::super::evaluate::Pass;
use super::super::fast::{Fast, Intervals, apply, map};
use super::super::interval::Interval;
use super::super::order::{FEW, Step};
use super::Rounding;
use super::kernels::{Hull, NearestKernel};

/// An upper bound of a number that was rounded to nearest.
pub(super) fn up(x: f64) -> f64 {
    x.next_up()
}

/// Everything within `error` of a number between two ends.
pub(super) fn widen(x: Interval, error: f64) -> Interval {
    // Infinities and NaN are no numbers that an error could be added to.
    if is_special(x) || error == 0.0 {
        return x;
    }
    Interval { lo: (x.lo - error).next_down(), hi: (x.hi + error).next_up() }
}

/// Whether this is no enclosure of finite numbers.
fn is_special(x: Interval) -> bool {
    x.is_nan() || x.lo.is_infinite() || x.hi.is_infinite()
}

fn round_to(formats: &[Format], value: f64) -> f64 {
    formats.iter().fold(value, |value, format| round_f64(format, value, Direction::NearestEven))
}

/// Both ends, rounded; one end where they are one number.
fn round_ends(formats: &[Format], x: Interval) -> Interval {
    // Rounding is monotone: the rounded ends enclose the rounding of all between them.
    let lo = round_to(formats, x.lo);
    Interval { lo, hi: if x.lo.to_bits() == x.hi.to_bits() { lo } else { round_to(formats, x.hi) } }
}

/// A zero of the sign that numbers between these ends have, where all of them have one.
fn zero_of(x: Interval) -> Interval {
    if x.lo > 0.0 || x.is_exact() && x.lo.is_sign_positive() {
        Interval::exact(0.0)
    } else if x.hi < 0.0 || x.is_exact() {
        Interval::exact(-0.0)
    } else {
        Interval::SIGNLESS_ZERO
    }
}

/// All that an operation may give whose result over the real numbers is `x`.
pub(super) fn round(x: Interval, rounding: &Rounding) -> Interval {
    if x.is_exact() && x.lo.is_infinite() {
        return Interval::exact(round_to(&rounding.formats, x.lo));
    }
    if is_special(x) {
        return if x.is_nan() { x } else { Interval::UNKNOWN };
    }
    let mut x = x;
    if rounding.relative > 0.0 || rounding.absolute > 0.0 {
        let error = |end: f64| up(up(rounding.relative * end.abs()) + rounding.absolute);
        let wider = Interval { lo: (x.lo - error(x.lo)).next_down(), hi: (x.hi + error(x.hi)).next_up() };
        // An error that is relative keeps a zero.
        let keeps_zero = rounding.absolute == 0.0 && x.lo == 0.0 && x.hi == 0.0;
        x = if keeps_zero { x } else { wider };
    }
    let (first, others) = rounding.formats.split_at(rounding.formats.len().min(1));
    let mut ends = round_ends(first, x);
    if is_below(x, rounding.floor) {
        if rounding.flushes && ends.lo > -rounding.floor && ends.hi < rounding.floor {
            return zero_of(x);
        }
        ends = Interval { lo: ends.lo.min(0.0), hi: ends.hi.max(0.0) };
    }
    let ends = round_ends(others, ends);
    if ends.lo.is_finite() && ends.hi.is_finite() {
        return if ends.lo == 0.0 && ends.hi == 0.0 { zero_of(x) } else { ends };
    }
    // Past the largest number lies an infinity, or NaN; between one and a number there is no enclosure of finite ones. What is
    // promised of a function is promised of its finite results.
    let is_one = ends.lo.to_bits() == ends.hi.to_bits() && rounding.relative == 0.0 && rounding.absolute == 0.0;
    if is_one { Interval::exact(ends.lo) } else { Interval::UNKNOWN }
}

/// Whether a number other than zero may be of a magnitude below this floor.
fn is_below(x: Interval, floor: f64) -> bool {
    // Without branches, for loops.
    (x.lo < floor) & (x.hi > -floor) & ((x.lo != 0.0) | (x.hi != 0.0)) & !x.is_unknown()
}

/// [`round`] of all.
fn round_all(numbers: &Intervals, rounding: &Rounding) -> Intervals {
    let errs = rounding.relative > 0.0 || rounding.absolute > 0.0;
    let whole = |x: Interval, _: Interval| round(x, rounding);
    let both = [numbers, numbers];
    match (rounding.formats.as_slice(), errs) {
        // These five roundings are worth a vector loop each; any other goes number by number.
        ([one], false) if *one == F32 => apply(NearestKernel::<true, false, false>::of(rounding), whole, both),
        ([one], true) if *one == F32 => apply(NearestKernel::<true, false, true>::of(rounding), whole, both),
        ([one], false) if *one == BF16 => apply(NearestKernel::<false, true, false>::of(rounding), whole, both),
        ([one, two], false) if [*one, *two] == [F32, BF16] => {
            apply(NearestKernel::<true, true, false>::of(rounding), whole, both)
        }
        ([one, two], true) if [*one, *two] == [F32, BF16] => {
            apply(NearestKernel::<true, true, true>::of(rounding), whole, both)
        }
        _ => map(numbers, |x| round(x, rounding)),
    }
}

/// [`either`] of the same element of several arrays, of which there is one at least.
fn any_of(arrays: impl IntoIterator<Item = Intervals>) -> Option<Intervals> {
    arrays.into_iter().reduce(|x, y| apply(Hull, either, [&x, &y]))
}

/// The enclosure of a value that is one of two.
fn either(x: Interval, y: Interval) -> Interval {
    let one = x.lo.to_bits() == y.lo.to_bits() && x.hi.to_bits() == y.hi.to_bits() || x.is_nan() && y.is_nan();
    match is_special(x) || is_special(y) {
        _ if one => x,
        true => Interval::UNKNOWN,
        false => x.hull(y),
    }
}

impl Pass<'_, Fast> {
    /// An array after errors and roundings.
    pub(super) fn settle(&mut self, id: ValueId, array: FloatArray<Fast>, rounding: &Rounding) -> FloatArray<Fast> {
        if *rounding == Rounding::default() {
            return array;
        }
        if rounding.may_stay {
            // One element may be rounded and an equal one not: they are equal no more.
            let numbers = apply(Hull, either, [&array.numbers, &round_all(&array.numbers, rounding)]);
            return self.world.fresh_numbers(numbers, array.len);
        }
        let numbers = round_all(&array.numbers, rounding);
        // What errs by its argument alone is a function of it, but need not rise with it.
        let errs = rounding.relative > 0.0 || rounding.absolute > 0.0;
        self.after_step(array, numbers, if errs { Step::Erring(id) } else { Step::Rounded(id) })
    }

    /// An array with other enclosures, whose identities are one step further; exact numbers if all are exact.
    pub(super) fn after_step(&mut self, array: FloatArray<Fast>, numbers: Intervals, step: Step) -> FloatArray<Fast> {
        let len = array.len;
        if let Some(values) = numbers.exact_values() {
            return self.world.exact_column(values);
        }
        let array = match array.identities {
            Identities::Deferred(_) if len <= FEW => self.world.with_identities(&array),
            _ => array,
        };
        match array.identities {
            Identities::Known { classes, keys } => {
                let classes = self.world.classes.after_all(step, &classes);
                FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
            }
            Identities::Deferred(_) => self.world.fresh_numbers(numbers, len),
        }
    }

    /// One of several values, functions of the elements of `source` that never fall. `alike` is one of the same values, if there
    /// is one already.
    pub(super) fn one_of(
        &mut self,
        id: ValueId,
        options: &[Value<Fast>],
        source: Option<&Value<Fast>>,
        alike: Option<&Value<Fast>>,
    ) -> Value<Fast> {
        let len = options[0].floats().len;
        let numbers = match alike {
            Some(alike) => Some(alike.floats().numbers.clone()),
            None => any_of(options.iter().map(|option| option.floats().numbers.clone())),
        };
        let numbers = numbers.unwrap_or_else(|| options[0].floats().numbers.clone());
        match source {
            Some(source) => Value::Float(self.after_step(source.floats().clone(), numbers, Step::Rounded(id))),
            None => Value::Float(self.world.fresh_numbers(numbers, len)),
        }
    }

    /// A quotient or a function that is computed in one of several ways, rounded: never falling functions of the first one's elements.
    pub(super) fn one_way(&mut self, id: ValueId, ways: &[Value<Fast>], rounding: &Rounding) -> Value<Fast> {
        let first = ways[0].floats().clone();
        let rounded = ways.iter().map(|way| round_all(&way.floats().numbers, rounding));
        if rounding.may_stay {
            let all = any_of(rounded.chain(ways.iter().map(|way| way.floats().numbers.clone())));
            return Value::Float(self.world.fresh_numbers(all.unwrap_or_else(|| first.numbers.clone()), first.len));
        }
        let numbers = any_of(rounded).unwrap_or_else(|| first.numbers.clone());
        let errs = rounding.relative > 0.0 || rounding.absolute > 0.0;
        let step = if errs { Step::Erring(id) } else { Step::Rounded(id) };
        let mut stepped = self.after_step(first.clone(), numbers, step);
        // Identities that nobody has asked for yet are not worth finding for a large array.
        if matches!(first.identities, Identities::Deferred(_)) && first.len > FEW {
            return Value::Float(stepped);
        }
        // An exact quotient says nothing of the divisor, on which the other ways depend: equal is what is equal in each.
        let arithmetic = &self.world.arithmetic;
        let is_exact = |numbers: &Intervals, at: usize| arithmetic.as_exact(&arithmetic.at(numbers, at)).is_some();
        let apart = |at: &usize| is_exact(&first.numbers, *at) && !is_exact(&stepped.numbers, *at);
        let apart: Vec<usize> = (0..stepped.len).filter(apart).collect();
        if let (Identities::Known { classes, keys }, false) = (&mut stepped.identities, apart.is_empty()) {
            let (mut own, mut known) = (classes.to_vec(), keys.to_vec());
            let mut equal: HashMap<Vec<(u64, u64)>, u64> = HashMap::new();
            for at in apart {
                let identity = |way: &Value<Fast>| self.world.identity(way.floats(), at);
                let of_ways = ways.iter().map(identity).map(|i| (i.class, i.key.to_bits())).collect();
                let class = equal.entry(of_ways).or_insert_with(|| self.world.classes.fresh(1));
                (own[at], known[at]) = (*class, 0.0);
            }
            (*classes, *keys) = (Column::new(own), Column::new(known));
        }
        Value::Float(stepped)
    }

    /// Whether a value has floats that may count as zero below `floor`.
    pub(super) fn may_flush(&self, value: &Value<Fast>, floor: f64) -> bool {
        matches!(value, Value::Float(array) if floor > 0.0 && !array.numbers.all(|x| !is_below(x, floor)))
    }

    /// A value whose floats below `floor` may count as zero.
    pub(super) fn flush(&mut self, value: Value<Fast>, floor: f64) -> Value<Fast> {
        if !self.may_flush(&value, floor) {
            return value;
        }
        let Value::Float(array) = value else { return value };
        let with_zero =
            |x: Interval| if is_below(x, floor) { Interval { lo: x.lo.min(0.0), hi: x.hi.max(0.0) } } else { x };
        let numbers = map(&array.numbers, with_zero);
        Value::Float(self.after_step(array, numbers, Step::Flushed))
    }

    /// The floats of a value within the same ends, tied to nothing.
    pub(super) fn apart(&mut self, value: Value<Fast>) -> Value<Fast> {
        match value {
            Value::Float(array) => Value::Float(self.world.fresh_numbers(array.numbers, array.len)),
            Value::Tuple(parts) => Value::Tuple(parts.into_iter().map(|part| self.apart(part)).collect()),
            value => value,
        }
    }

    /// The largest magnitudes that the floats of a value may have.
    pub(super) fn magnitudes(&self, value: &Value<Fast>) -> Value<Fast> {
        let Value::Float(array) = value else { return value.clone() };
        let magnitude = |at| {
            let Interval { lo, hi } = self.world.number(array, at);
            lo.abs().max(hi.abs())
        };
        Value::Float(self.world.exacts((0..array.len).map(magnitude).collect()))
    }

    /// Whether no float of a value may be negative or unknown.
    pub(super) fn is_not_negative(value: &Value<Fast>) -> bool {
        let Value::Float(array) = value else { return true };
        array.numbers.all(|x| x.lo >= 0.0)
    }

    /// A value whose floats below a magnitude may lose so much, if bf16 does not hold them.
    pub(super) fn widened_below(&mut self, value: Value<Fast>, below: f64, loses: f64) -> Value<Fast> {
        let Value::Float(array) = value else { return value };
        let is_short = |x: Interval| x.lo < below && x.hi > -below && !(x.is_exact() && BF16.contains(x.lo));
        if !(0..array.len).any(|at| is_short(self.world.number(&array, at))) {
            return Value::Float(array);
        }
        let numbers = map(&array.numbers, |x| if is_short(x) { widen(x, loses) } else { x });
        Value::Float(self.world.fresh_numbers(numbers, array.len))
    }
}
