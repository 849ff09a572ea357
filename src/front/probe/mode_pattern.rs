//! Patterns: sets of modes, written as the values that each part of a mode may have.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::machine::{CHIPS, PRECISIONS, REFINEMENTS};
use crate::rewrite::POLICIES;

/// The parts of a mode that answers may tell, in the order in which a pattern shows them.
pub const KEYS: &[&str] =
    &["chip", "precision", "excess", "acc", "split", "dsr", "reduce", "scan", "narrow", "bins", "exp", "rsqrt"];

/// All values of a part of a mode.
pub(super) fn values_of(key: &str) -> Vec<&'static str> {
    match key {
        "chip" => CHIPS.iter().map(|chip| chip.name).collect(),
        "precision" => PRECISIONS.iter().map(|precision| precision.name).collect(),
        "excess" => POLICIES.iter().map(|policy| policy.name).collect(),
        _ => {
            let row = REFINEMENTS.iter().find(|row| row.key == key);
            row.map_or(Vec::new(), |row| (row.values)(CHIPS).into_iter().map(|(name, _)| name).collect())
        }
    }
}

/// A set of modes: every choice of one value of each key. A key that it has not may have any value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern(pub BTreeMap<&'static str, BTreeSet<&'static str>>);

impl Pattern {
    /// One value of each key.
    pub(super) fn of(values: &[(&'static str, &'static str)]) -> Pattern {
        Pattern(values.iter().map(|(key, value)| (*key, BTreeSet::from([*value]))).collect())
    }

    /// The values of a key.
    pub fn values(&self, key: &str) -> Vec<&'static str> {
        self.0.get(key).map_or_else(|| values_of(key), |values| values.iter().copied().collect())
    }

    /// Whether a mode with these values is in the set.
    pub fn holds(&self, values: &[(&str, &str)]) -> bool {
        values.iter().all(|(key, value)| self.0.get(key).is_none_or(|values| values.contains(value)))
    }

    /// The modes of both sets; `None` if there are none.
    pub(super) fn intersect(&self, other: &Pattern) -> Option<Pattern> {
        let mut both = self.clone();
        for (key, values) in &other.0 {
            let own = both.0.entry(key).or_insert_with(|| values.clone());
            own.retain(|value| values.contains(value));
            if own.is_empty() {
                return None;
            }
        }
        Some(both)
    }

    /// The number of modes.
    pub fn count(&self) -> usize {
        KEYS.iter().map(|key| self.values(key).len()).product()
    }
}

/// The number of modes of several patterns, which have none in common.
pub fn count_modes(patterns: &[Pattern]) -> usize {
    patterns.iter().map(Pattern::count).sum()
}

/// Fewer patterns for the same modes: those that differ in the values of one key become one.
pub(super) fn merge(patterns: Vec<Pattern>) -> Vec<Pattern> {
    KEYS.iter().rev().fold(patterns, |patterns, key| {
        let mut merged: BTreeMap<Pattern, BTreeSet<&'static str>> = BTreeMap::new();
        for mut pattern in patterns {
            let values = pattern.0.remove(key);
            merged.entry(pattern).or_default().extend(values.unwrap_or_default());
        }
        let with = |(mut pattern, values): (Pattern, BTreeSet<&'static str>)| {
            if !values.is_empty() {
                pattern.0.insert(key, values);
            }
            pattern
        };
        merged.into_iter().map(with).collect()
    })
}

impl fmt::Display for Pattern {
    /// As a mode, with the values of a part joined by `|`; a part that may have any value is left out, or `*`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |key: &str| {
            let all = values_of(key);
            let values: Vec<&str> = all.iter().copied().filter(|value| self.values(key).contains(value)).collect();
            if values.len() == all.len() { None } else { Some(values.join("|")) }
        };
        let base = ["chip", "precision", "excess"].map(|key| shown(key).unwrap_or_else(|| "*".to_string()));
        write!(f, "{}", base.join("/"))?;
        for key in &KEYS[base.len()..] {
            if let Some(values) = shown(key) {
                write!(f, "+{key}={values}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    /// Two patterns have the modes in common that both hold; with none in common there is no pattern.
    #[test]
    fn patterns_meet_in_the_modes_that_both_hold() {
        let v5e = Pattern::of(&[("chip", "v5e")]);
        assert_eq!(v5e.intersect(&Pattern::of(&[("chip", "v6e")])), None);
        let high = Pattern::of(&[("precision", "high")]);
        assert_eq!(v5e.intersect(&high), Some(Pattern::of(&[("chip", "v5e"), ("precision", "high")])));
        assert_eq!(v5e.intersect(&v5e).as_ref(), Some(&v5e));
        let both = v5e.intersect(&high).unwrap();
        assert!(both.holds(&[("chip", "v5e"), ("precision", "high")]) && !both.holds(&[("chip", "v6e")]));
        assert_eq!(both.count() * high.values("chip").len(), high.count());
    }
}
