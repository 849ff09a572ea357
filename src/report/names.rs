//! Which way the columns of reports improve.

use crate::check::CHECKS;
use crate::metric::{Better, find_metric};

/// Which way a report's column improves; `None` for a column that holds no figure, or one that only describes.
pub fn better_of(column: &str) -> Option<Better> {
    let name = column.split(" vs ").next().unwrap_or(column);
    if let Some(metric) = find_metric(name) {
        return Some(metric.better());
    }
    // Several checks of a kind have their setting behind their figures' names.
    let (name, _) = column.split_once('[').unwrap_or((column, ""));
    CHECKS.iter().flat_map(|c| c.figures()).find(|f| f.name == name).and_then(|f| f.better)
}
