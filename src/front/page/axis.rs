//! Axes of charts: the coordinates of values, and the ticks.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

/// An axis from `low` to `high`, both in the coordinate that [`ChartAxis::at`] gives.
#[derive(Clone, Debug)]
pub(super) struct ChartAxis {
    /// The quantity that it measures, with its unit.
    pub label: String,
    pub low: f64,
    pub high: f64,
    /// Coordinate and text of each tick, ascending.
    pub ticks: Vec<(f64, String)>,
    logarithmic: bool,
}

/// The most ticks side by side that do not touch.
const TICKS: i32 = 5;

impl ChartAxis {
    /// A logarithmic axis of sizes, with ticks at powers of two. `None` without sizes.
    pub fn of_sizes(label: &str, sizes: impl IntoIterator<Item = u64>) -> Option<ChartAxis> {
        let sizes: Vec<u64> = sizes.into_iter().filter(|n| *n > 0).collect();
        let (least, most) = (*sizes.iter().min()?, *sizes.iter().max()?);
        let (low, high) = (core_math::log10(least as f64) - 0.12, core_math::log10(most as f64) + 0.12);
        let (first, last) = (least.ilog2() as i32, most.ilog2() as i32);
        let step = stride(last - first);
        let tick = |exponent: i32| (core_math::log10(2f64.powi(exponent)), (1u64 << exponent).to_string());
        let ticks = (first..=last).step_by(step).map(tick).filter(|(at, _)| (low..=high).contains(at)).collect();
        Some(ChartAxis { label: label.to_string(), low, high, ticks, logarithmic: true })
    }

    /// A logarithmic axis over whole decades. `None` if no value is above zero and finite.
    pub fn log(label: &str, values: impl IntoIterator<Item = f64>) -> Option<ChartAxis> {
        let logs: Vec<f64> = values.into_iter().filter(|v| *v > 0.0 && v.is_finite()).map(core_math::log10).collect();
        let least = logs.iter().copied().reduce(f64::min)?;
        let most = logs.iter().copied().reduce(f64::max)?;
        let (first, last) = ((least - 0.05).floor() as i32, (most + 0.05).ceil() as i32);
        let ticks = (first..=last).step_by(stride(last - first)).map(|e| (f64::from(e), power_of_ten(e))).collect();
        let (low, high) = (f64::from(first), f64::from(last));
        Some(ChartAxis { label: label.to_string(), low, high, ticks, logarithmic: true })
    }

    /// A linear axis from zero to one.
    pub fn of_shares(label: &str) -> ChartAxis {
        let tick = |share: f64| (share, share.to_string());
        let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(tick).to_vec();
        ChartAxis { label: label.to_string(), low: -0.02, high: 1.04, ticks, logarithmic: false }
    }

    /// The values at both ends.
    pub fn ends(&self) -> [f64; 2] {
        [self.low, self.high].map(|at| if self.logarithmic { core_math::exp10(at) } else { at })
    }

    /// A value's coordinate; `None` if it has no place: zero on a logarithmic axis, or a value that is not finite.
    pub fn at(&self, value: f64) -> Option<f64> {
        let at = match self.logarithmic {
            true if value > 0.0 => core_math::log10(value),
            true => return None,
            false => value,
        };
        at.is_finite().then_some(at)
    }
}

/// The interface that plotters requires of an axis.
impl Ranged for ChartAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, at: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (at - self.low) / (self.high - self.low);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        // No lines between ticks.
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.iter().map(|(at, _)| *at).collect() }
    }

    fn range(&self) -> Range<f64> {
        self.low..self.high
    }
}

impl ValueFormatter<f64> for ChartAxis {
    fn format(at: &f64) -> String {
        at.to_string()
    }

    fn format_ext(&self, at: &f64) -> String {
        self.ticks.iter().find(|(tick, _)| tick == at).map_or(String::new(), |(_, text)| text.clone())
    }
}

/// The number of steps from tick to tick.
fn stride(steps: i32) -> usize {
    usize::try_from(steps.div_euclid(TICKS) + i32::from(steps.rem_euclid(TICKS) > 0)).unwrap_or(1).max(1)
}

/// `0.01` to `1000` as they are, others as `10⁻⁷`.
fn power_of_ten(exponent: i32) -> String {
    if (-2..=3).contains(&exponent) {
        return 10f64.powi(exponent).to_string();
    }
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        // Zero and four to nine stand in one row.
        digit => digit.to_digit(10).and_then(|d| char::from_u32(0x2070 + d)).unwrap_or(digit),
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(axis: &ChartAxis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, text)| text.as_str()).collect()
    }

    #[test]
    fn decades_enclose_the_values() {
        let axis = ChartAxis::log("error", [3e-7, 0.0, f64::INFINITY, 2e-4]).unwrap();
        assert_eq!((axis.low, axis.high), (-7.0, -3.0));
        assert_eq!(texts(&axis), ["10⁻⁷", "10⁻⁶", "10⁻⁵", "10⁻⁴", "10⁻³"]);
        assert_eq!(axis.at(0.0), None);
        assert_eq!(axis.at(1e-5), Some(-5.0));
        assert_eq!(axis.format_ext(&-5.0), "10⁻⁵");
        assert_eq!((axis.map(&-7.0, (0, 100)), axis.map(&-4.0, (100, 0))), (0, 25));
        assert!(ChartAxis::log("error", [0.0, f64::NAN]).is_none());
        assert_eq!(texts(&ChartAxis::log("ratio", [0.2, 40.0]).unwrap()), ["0.1", "1", "10", "100"]);
    }

    #[test]
    fn sizes_have_ticks_at_powers_of_two() {
        let axis = ChartAxis::of_sizes("n", [256, 1024, 65536]).unwrap();
        assert_eq!(texts(&axis), ["256", "1024", "4096", "16384", "65536"]);
        assert!(axis.low < axis.at(256.0).unwrap() && axis.at(65536.0).unwrap() < axis.high);
        // The largest power of two below lies within reach, or there is none.
        assert_eq!(texts(&ChartAxis::of_sizes("n", [32000]).unwrap()), ["16384"; 0]);
        assert!(ChartAxis::of_sizes("n", []).is_none());
    }
}
