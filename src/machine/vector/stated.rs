//! Error bounds that the TPU compiler states of its functions, by implementation (FACTS 3.3, `scripts/function_accuracy.py`).

use std::sync::LazyLock;

use crate::ir::{ResultAccuracy, Unary};

use super::eup::Eup;

/// The table that the script wrote.
const TABLE: &str = include_str!("function_accuracy.csv");

/// An implementation of a function, of which a compiler may have two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Implementation {
    /// The one that nothing is asked of.
    #[default]
    Default,
    /// The more accurate one, for `result_accuracy={mode=highest}` and for tolerances that the default one does not meet.
    Highest,
}

/// A bound of an error: the absolute one or the relative one, whichever allows more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct StatedBound {
    /// In the result's own units.
    pub absolute: f64,
    /// In units of the exact value.
    pub relative: f64,
}

impl StatedBound {
    /// A relative bound alone.
    pub const fn relative(relative: f64) -> StatedBound {
        StatedBound { absolute: 0.0, relative }
    }

    /// The bound of the error of a result of this magnitude.
    pub fn at(self, magnitude: f64) -> f64 {
        self.absolute.max(self.relative * magnitude)
    }
}

/// All that is known of a function's errors: each of the tolerances holds, and results below the floor may be zeros.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ErrorBound {
    /// The tolerances, of which one at least is there.
    pub tolerances: &'static [StatedBound],
    /// The magnitude below which a result may be lost.
    pub floor: f64,
}

impl ErrorBound {
    /// The bound of the error of a result of this magnitude that is not lost.
    pub fn at(self, magnitude: f64) -> f64 {
        self.tolerances.iter().map(|tolerance| tolerance.at(magnitude)).fold(f64::INFINITY, f64::min)
    }

    /// The tolerance that is the least for results of this magnitude, a relative one rather than an absolute one.
    pub fn least_at(self, magnitude: f64) -> StatedBound {
        let least = |a: StatedBound, b: &StatedBound| if b.at(magnitude) < a.at(magnitude) { *b } else { a };
        self.tolerances.iter().fold(StatedBound::relative(f64::INFINITY), least)
    }
}

/// The bounds of one implementation.
struct Row {
    chip: &'static str,
    function: &'static str,
    /// `None` where there is one implementation alone.
    implementation: Option<Implementation>,
    tolerances: Vec<StatedBound>,
    floor: f64,
}

/// Absolute parts below this are those of results that are flushed.
const FLUSHED: f64 = f64::from_bits((1023 - 100) << 52);

/// The rows of the table, in its order.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows: Vec<Row> = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        let Some((named, tolerance)) = read(line) else { continue };
        let same = |row: &&mut Row| {
            (row.chip, row.function, row.implementation) == (named.chip, named.function, named.implementation)
        };
        let (flushed, kept) = match tolerance {
            StatedBound { absolute, relative } if absolute < FLUSHED && relative > 0.0 => {
                (absolute, StatedBound::relative(relative))
            }
            tolerance => (0.0, tolerance),
        };
        match rows.last_mut().filter(same) {
            Some(row) => {
                row.tolerances.push(kept);
                row.floor = row.floor.max(flushed);
            }
            None => rows.push(Row { tolerances: vec![kept], floor: flushed, ..named }),
        }
    }
    rows
});

/// A line that states a tolerance, and the row that it belongs to; `None` for any other line.
fn read(line: &'static str) -> Option<(Row, StatedBound)> {
    let mut cells = line.split(',');
    let (chip, function) = (cells.next()?, cells.next()?);
    let implementation = match cells.next()? {
        "single" => None,
        "default" => Some(Implementation::Default),
        "highest" => Some(Implementation::Highest),
        _ => return None,
    };
    let power = |cell: &str| if cell.is_empty() { Some(0.0) } else { cell.parse::<f64>().ok().map(core_math::exp2) };
    let (_, absolute, relative) = (cells.next()?, power(cells.next()?)?, power(cells.next()?)?);
    let row = Row { chip, function, implementation, tolerances: Vec::new(), floor: 0.0 };
    Some((row, StatedBound { absolute, relative }))
}

/// The bounds that are stated of a function's implementation; `None` where none are.
pub(super) fn statement(eup: Eup, unary: Unary, implementation: Implementation) -> Option<ErrorBound> {
    let chip = eup.stated_for()?;
    let row = ROWS.iter().find(|row| {
        (row.chip, row.function) == (chip, unary.name())
            && row.implementation.is_none_or(|which| which == implementation)
    })?;
    Some(ErrorBound { tolerances: &row.tolerances, floor: row.floor })
}

/// Whether the compiler of a generation states bounds of a function; that of tpu7x states none.
pub(super) fn is_stated(eup: Eup, unary: Unary) -> bool {
    eup != Eup::V7 && statement(eup, unary, Implementation::Default).is_some()
}

/// The implementation that the compiler takes for an accuracy that is asked of a function: the default one where it meets the
/// tolerance, and the other one elsewhere. The compiler refuses a tolerance that no implementation meets, one in ulps alone
/// among them; here it gets the more accurate one. Functions of which nothing is stated have one implementation.
pub(in super::super) fn choose(eup: Eup, unary: Unary, asked: Option<ResultAccuracy>) -> Implementation {
    let Some(default) = statement(eup, unary, Implementation::Default).filter(|_| has_two(eup, unary)) else {
        return Implementation::Default;
    };
    match asked {
        None => Implementation::Default,
        Some(ResultAccuracy::Highest) => Implementation::Highest,
        Some(ResultAccuracy::Tolerance { atol, rtol, ulps: _ }) => {
            let [atol, rtol] = [atol, rtol].map(f64::from_bits);
            let meets = |tolerance: &StatedBound| match tolerance.relative {
                // Measured: an absolute tolerance that stands alone has to be greater than the bound.
                0.0 => atol > tolerance.absolute,
                relative => rtol >= relative && atol >= tolerance.absolute,
            };
            let flushes = default.floor <= atol;
            if flushes && default.tolerances.iter().any(meets) {
                Implementation::Default
            } else {
                Implementation::Highest
            }
        }
    }
}

/// Whether a generation has two implementations of a function.
pub(in super::super) fn has_two(eup: Eup, unary: Unary) -> bool {
    let is_of = |row: &&Row| Some(row.chip) == eup.stated_for() && row.function == unary.name();
    eup != Eup::V7 && ROWS.iter().filter(is_of).any(|row| row.implementation.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line but the header and the functions of which the compiler states nothing is a tolerance.
    #[test]
    fn the_table_is_read_whole() {
        assert!(TABLE.starts_with("# jax 0.10.2, libtpu 0.0.42.1: "));
        let lines: Vec<&str> = TABLE.lines().skip(2).collect();
        let unstated = ["unchecked", "unanalysed", "refused"];
        let states_nothing = |line: &&str| unstated.iter().any(|why| line.split(',').nth(2) == Some(why));
        let without = lines.iter().copied().filter(states_nothing).count();
        assert_eq!(lines.iter().filter(|line| read(line).is_some()).count() + without, lines.len());
        let held: usize = ROWS.iter().map(|row| row.tolerances.len()).sum();
        assert_eq!((held + without, ROWS.len()), (lines.len(), 100));
        // Of tpu7x nothing is stated, elsewhere of two functions.
        assert_eq!(without, 13 + 6 * 2);
    }

    /// The chips of a generation have one table, so that a generation is looked up by one of its chips.
    #[test]
    fn chips_of_a_generation_state_the_same() {
        let of = |chip: &str| -> Vec<(&str, Option<Implementation>, Vec<StatedBound>, f64)> {
            let rows = ROWS.iter().filter(|row| row.chip == chip);
            rows.map(|row| (row.function, row.implementation, row.tolerances.clone(), row.floor)).collect()
        };
        assert_eq!(of("v2").len(), 17);
        assert_eq!((of("v3"), of("v4"), of("v5p")), (of("v2"), of("v2"), of("v5e")));
        assert!(of("v5e") != of("v2") && of("v6e") != of("v5e") && of("tpu7x").is_empty());
    }

    /// Read by hand off the table.
    #[test]
    fn bounds_are_those_that_the_compiler_states() {
        let pow = |exponent: i32| 2f64.powi(exponent);
        let bound = |eup, unary, implementation| statement(eup, unary, implementation).unwrap();
        let log = bound(Eup::V5, Unary::Log, Implementation::Default);
        assert_eq!([0.5, 1.0, 8.0, 32.0, 80.0].map(|y| log.at(y)), [pow(-19), pow(-18), pow(-18), pow(-17), pow(-16)]);
        let log = bound(Eup::PreV5, Unary::Log, Implementation::Default);
        assert_eq!([0.125, 0.25, 80.0].map(|y| log.at(y)), [pow(-14), pow(-13), pow(-13)]);
        let exponential = bound(Eup::V6, Unary::Exponential, Implementation::Default);
        assert_eq!((exponential.at(4.0), exponential.floor), (pow(-15), pow(-125)));
        let exponential = bound(Eup::V5, Unary::Exponential, Implementation::Highest);
        assert_eq!((exponential.at(4.0), exponential.floor), (pow(-21), pow(-125)));
        let tanh = [Implementation::Default, Implementation::Highest].map(|which| bound(Eup::V6, Unary::Tanh, which));
        assert_eq!((tanh[0], tanh[0].at(1.0)), (tanh[1], pow(-23)));
        assert_eq!(bound(Eup::V5, Unary::Tanh, Implementation::Default).at(1.0), pow(-17));
        assert!(statement(Eup::V5, Unary::Cbrt, Implementation::Default).is_none());
        assert!(statement(Eup::Exact, Unary::Log, Implementation::Default).is_none());
    }

    /// By the sizes of code that the compiler made of these on v5e and v2: default 34,304 bytes of log on v5e, another 35,840.
    #[test]
    fn the_default_implementation_is_taken_where_it_meets_the_tolerance() {
        let of = |eup, unary, atol: f64, rtol: f64| {
            let (atol, rtol) = (atol.to_bits(), rtol.to_bits());
            choose(eup, unary, Some(ResultAccuracy::Tolerance { atol, rtol, ulps: 0 }))
        };
        let pow = |exponent: i32| 2f64.powi(exponent);
        for (eup, unary, atol, rtol, expected) in [
            (Eup::V5e, Unary::Log, 0.0, pow(-18), Implementation::Default),
            (Eup::V5e, Unary::Log, 0.0, pow(-19), Implementation::Highest),
            (Eup::V5, Unary::Log, pow(-18), pow(-22), Implementation::Default),
            (Eup::V5, Unary::Log, pow(-19), pow(-22), Implementation::Highest),
            (Eup::V5, Unary::Log, pow(-18), pow(-23), Implementation::Highest),
            (Eup::PreV5, Unary::Log, pow(-13), 0.0, Implementation::Highest),
            (Eup::PreV5, Unary::Log, pow(-13) * (1.0 + 1e-7), 0.0, Implementation::Default),
            (Eup::V5, Unary::Exponential, pow(-100), pow(-16), Implementation::Default),
            (Eup::V5, Unary::Exponential, pow(-10), pow(-17), Implementation::Highest),
            (Eup::V5, Unary::Exponential, 0.0, pow(-10), Implementation::Highest),
            // One implementation.
            (Eup::V6, Unary::Log, 0.0, pow(-60), Implementation::Default),
        ] {
            assert_eq!(of(eup, unary, atol, rtol), expected, "{eup:?} {} {atol} {rtol}", unary.name());
        }
        assert_eq!(choose(Eup::V5, Unary::Tanh, None), Implementation::Default);
        assert_eq!(choose(Eup::V5, Unary::Tanh, Some(ResultAccuracy::Highest)), Implementation::Highest);
        assert_eq!(choose(Eup::V5, Unary::Sine, Some(ResultAccuracy::Highest)), Implementation::Default);
        assert_eq!(choose(Eup::Exact, Unary::Tanh, Some(ResultAccuracy::Highest)), Implementation::Default);
        assert_eq!(choose(Eup::V7, Unary::Tanh, Some(ResultAccuracy::Highest)), Implementation::Default);
    }
}
