//! The direction in which a change in the columns of reports counts.

use crate::check::{CHECKS, FigureDoc};
use crate::metric::find_metric;

use super::column_docs::COLUMNS;
use super::direction::ColumnDirection;

/// The direction in which a change in this column of a report counts.
pub fn direction_of(column: &str) -> ColumnDirection {
    let name = column.split(" vs ").next().unwrap_or(column);
    if let Some(metric) = find_metric(name) {
        return ColumnDirection::Figure(metric.better());
    }
    // Several checks of a kind have their setting behind their figures' names.
    let (name, _) = column.split_once('[').unwrap_or((column, ""));
    let figures = || CHECKS.iter().flat_map(|check| check.figures());
    if let Some(FigureDoc { better, .. }) = figures().find(|figure| figure.name == name) {
        return better.map_or(ColumnDirection::Describes, ColumnDirection::Figure);
    }
    if CHECKS.iter().any(|check| check.name() == name) {
        return ColumnDirection::Verdict;
    }
    COLUMNS.iter().find(|known| known.name == name).map_or(ColumnDirection::Identifies, |known| known.direction)
}
