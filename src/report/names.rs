//! What report columns mean.

use crate::check::CHECKS;
use crate::metric::{Better, metric_named};

/// Which way a column of figures improves; `None` for a column that is no figure or improves neither way.
pub fn better_of(column: &str) -> Option<Better> {
    let name = column.split(" vs ").next().unwrap_or(column);
    if let Some(metric) = metric_named(name) {
        return Some(metric.better());
    }
    // A second check of a kind has a number behind its figures' names.
    let (stem, number) = column.rsplit_once('_').unwrap_or((column, ""));
    let stem = if number.parse::<u32>().is_ok() { stem } else { column };
    let figure = |name: &str| CHECKS.iter().flat_map(|c| c.figures()).find(|f| f.name == name);
    figure(column).or_else(|| figure(stem)).and_then(|f| f.better)
}
