//! The largest errors of functions on chips, as the authors of JAX measured them over all arguments (FACTS 3.3).

use std::sync::LazyLock;

use crate::ir::Unary;
use crate::num::F32;

use super::super::eup::Eup;
use super::super::stated::{ErrorBound, Implementation, StatedBound};

/// The table of JAX's `docs/accuracy.md`; of `expm1` and `log1p`, which libtpu 0.0.50 has better, what its `tests/numerics` held before.
const TABLE: &str = include_str!("measured_errors.csv");

/// The name of a reciprocal in the table.
const RECIPROCAL: &str = "reciprocal";

/// A row: function, implementation, and a bound a generation.
type Row = (&'static str, Implementation, [StatedBound; 4]);

/// The rows of the table, in its order.
static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| TABLE.lines().filter_map(read).collect());

/// A line of the table; `None` for its head.
fn read(line: &'static str) -> Option<Row> {
    let mut cells = line.split(',');
    let function = cells.next()?;
    let implementation = match cells.next()? {
        "default" => Implementation::Default,
        "highest" => Implementation::Highest,
        _ => return None,
    };
    let bounds: Vec<StatedBound> = cells.map(|cell| cell.parse().ok().map(of_ulps)).collect::<Option<_>>()?;
    Some((function, implementation, bounds.try_into().ok()?))
}

/// The bound of an error of so many units in the last place, which are no more than an epsilon of the exact value each.
fn of_ulps(ulps: f64) -> StatedBound {
    StatedBound::relative(ulps * f64::from(f32::EPSILON))
}

/// The measured bound of a function's implementation; `None` where nothing was measured.
pub fn measurement(eup: Eup, unary: Unary, implementation: Implementation) -> Option<ErrorBound> {
    let tolerance = &find(unary.name(), implementation)?[column(eup)?];
    Some(ErrorBound { tolerances: std::slice::from_ref(tolerance), floor: 2.0 * F32.min_normal() })
}

/// The errors of a reciprocal a generation, found once: each quotient asks for one.
static RECIPROCALS: LazyLock<Option<&[StatedBound; 4]>> = LazyLock::new(|| find(RECIPROCAL, Implementation::Default));

/// The largest relative error of a reciprocal that was measured on this generation.
pub fn of_reciprocal(eup: Eup) -> f64 {
    column(eup).zip(*RECIPROCALS).map_or(0.0, |(column, bounds)| bounds[column].at(1.0))
}

fn find(function: &str, implementation: Implementation) -> Option<&'static [StatedBound; 4]> {
    ROWS.iter().find(|row| (row.0, row.1) == (function, implementation)).map(|row| &row.2)
}

/// The column of a generation.
fn column(eup: Eup) -> Option<usize> {
    match eup {
        Eup::PreV5 | Eup::V5e => Some(0),
        Eup::V5 => Some(1),
        Eup::V6 => Some(2),
        Eup::V7 => Some(3),
        Eup::Exact => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::stated::statement;
    use super::*;

    const ALL: [Eup; 5] = [Eup::PreV5, Eup::V5e, Eup::V5, Eup::V6, Eup::V7];

    /// Every line but the two of the head is a row, and its function is one that there is.
    #[test]
    fn the_table_is_read_whole() {
        assert_eq!(ROWS.len() + 2, TABLE.lines().count());
        for (function, ..) in ROWS.iter() {
            assert!(*function == RECIPROCAL || Unary::ALL.iter().any(|unary| unary.name() == *function), "{function}");
        }
        assert_eq!(of_reciprocal(Eup::V5e), 198.0 * f64::from(f32::EPSILON));
        assert_eq!(of_reciprocal(Eup::Exact), 0.0);
    }

    /// Measured errors are inside of the bounds that hold. An error of so many units in the last place is half as large a part
    /// of a number just below a power of two, and the table does not say of which number it is.
    #[test]
    fn every_measured_error_is_inside_of_its_bound() {
        for eup in ALL {
            for unary in Unary::ALL {
                for implementation in [Implementation::Default, Implementation::Highest] {
                    let Some(measured) = measurement(eup, *unary, implementation) else { continue };
                    let bound = eup.bound(*unary, implementation);
                    // Of results of any magnitude, that a bound has an absolute part.
                    let most = (-20..7).map(|power| 2f64.powi(power)).map(|y| bound.at(y) / y).fold(0.0, f64::max);
                    assert!(2.0 * most >= measured.at(1.0), "{eup:?} {} {implementation:?}", unary.name());
                }
            }
        }
    }

    /// The compiler states the bounds of v5p for v5e, and a v5e errs as v2 to v4 do: 4,030 units in the last place of a logarithm, of
    /// which 64 are stated.
    #[test]
    fn a_v5e_errs_more_than_the_compiler_states_of_it() {
        for unary in [Unary::Log, Unary::LogPlusOne, Unary::Tanh] {
            let stated = statement(Eup::V5e, unary, Implementation::Default).unwrap();
            let measured = measurement(Eup::V5e, unary, Implementation::Default).unwrap();
            assert!(measured.at(8.0) > 10.0 * stated.at(8.0), "{}", unary.name());
            let bound = |eup: Eup| eup.bound(unary, Implementation::Default);
            assert_eq!(bound(Eup::V5e), bound(Eup::PreV5), "{}", unary.name());
            assert!(bound(Eup::V5).at(8.0) < bound(Eup::V5e).at(8.0), "{}", unary.name());
        }
    }

    /// The first row of JAX's table, `docs/accuracy.md`: units in the last place, which count from the smallest normal number on.
    #[test]
    fn generations_have_their_own_columns() {
        let generations = [Eup::PreV5, Eup::V5e, Eup::V5, Eup::V6, Eup::V7];
        let ulps = generations.map(|eup| {
            let bound = measurement(eup, Unary::Exponential, Implementation::Default).unwrap();
            assert_eq!(bound.floor, 2f64.powi(-125));
            bound.at(1.0) * 2f64.powi(23)
        });
        assert_eq!(ulps, [116.0, 116.0, 109.5, 64.5, 65.0]);
        assert!(measurement(Eup::Exact, Unary::Exponential, Implementation::Default).is_none());
    }
}
