//! Observations of a judge on a case, in a form that merges batch by batch in order, and its final judgement.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Witness;

/// Counts, largest values and sums by name, points of a fit, values for quantiles, the first pieces of evidence, the
/// weightiest witnesses, the elements that the oracle left open, and the reason if the check abstains. A judge chooses
/// the names.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: BTreeMap<&'static str, u64>,
    peaks: BTreeMap<&'static str, f64>,
    sums: BTreeMap<&'static str, f64>,
    points: Vec<(f64, f64)>,
    values: Vec<f64>,
    evidence: Vec<String>,
    witnesses: Vec<(f64, Witness)>,
    open: u64,
    open_evidence: Vec<String>,
    refusal: Option<String>,
}

/// Pieces of evidence, and witnesses, that a record keeps.
const KEPT_EVIDENCE: usize = 3;

impl Tally {
    /// Adds `by` to a count.
    pub fn count(&mut self, name: &'static str, by: u64) {
        *self.counts.entry(name).or_default() += by;
    }

    /// Keeps the largest of the values given under this name; NaN counts as infinite.
    pub fn peak(&mut self, name: &'static str, value: f64) {
        let value = if value.is_nan() { f64::INFINITY } else { value };
        let kept = self.peaks.entry(name).or_insert(f64::NEG_INFINITY);
        *kept = kept.max(value);
    }

    /// Adds a value to a sum, which is rounded to f64 at each step.
    pub fn add(&mut self, name: &'static str, value: f64) {
        *self.sums.entry(name).or_default() += value;
    }

    /// Keeps a point of the final fit, as `(x, y)`.
    pub fn point(&mut self, x: f64, y: f64) {
        self.points.push((x, y));
    }

    /// Keeps a value, for quantiles.
    pub fn value(&mut self, value: f64) {
        self.values.push(value);
    }

    /// Keeps a line that shows what was found, such as an element with its bits. Only the first three are made.
    pub fn evidence(&mut self, make: impl FnOnce() -> String) {
        if self.evidence.len() < KEPT_EVIDENCE {
            self.evidence.push(make());
        }
    }

    /// Whether a witness of this weight would be kept, if it is of another row than those that are.
    pub fn wants(&self, weight: f64) -> bool {
        self.witnesses.len() < KEPT_EVIDENCE || self.witnesses.last().is_some_and(|(least, _)| heavy(weight) > *least)
    }

    /// Keeps a witness of a finding: one a row, the three weightiest, of equal ones the first. NaN weighs as much as
    /// infinity.
    pub fn witness(&mut self, weight: f64, make: impl FnOnce() -> Witness) {
        if !self.wants(weight) {
            return;
        }
        let (weight, witness) = (heavy(weight), make());
        if let Some(at) = self.witnesses.iter().position(|(_, other)| other.row == witness.row) {
            if self.witnesses[at].0 >= weight {
                return;
            }
            self.witnesses.remove(at);
        }
        let place = self.witnesses.iter().position(|(other, _)| *other < weight).unwrap_or(self.witnesses.len());
        self.witnesses.insert(place, (weight, witness));
        self.witnesses.truncate(KEPT_EVIDENCE);
    }

    /// Counts elements that the oracle left open, and keeps a line that names them; of these, too, only the first three
    /// are made.
    pub fn leave_open(&mut self, by: usize, make: impl FnOnce() -> String) {
        self.open += by as u64;
        if by > 0 && self.open_evidence.len() < KEPT_EVIDENCE {
            self.open_evidence.push(make());
        }
    }

    /// Notes why the check cannot judge, so that it abstains; the first reason stays.
    pub fn refuse(&mut self, why: impl Into<String>) {
        self.refusal.get_or_insert(why.into());
    }

    /// The count of this name; 0 if nothing was counted.
    pub fn count_of(&self, name: &str) -> u64 {
        self.counts.get(name).copied().unwrap_or(0)
    }

    /// The largest value of this name; `None` if there was none.
    pub fn peak_of(&self, name: &str) -> Option<f64> {
        self.peaks.get(name).copied()
    }

    /// The sum of this name; 0 if nothing was added.
    pub fn sum_of(&self, name: &str) -> f64 {
        self.sums.get(name).copied().unwrap_or(0.0)
    }

    /// The points, in order.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// The values, ascending.
    pub fn values_in_order(&self) -> Vec<f64> {
        let mut sorted = self.values.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }

    /// Why the check cannot judge, if it cannot.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// Adds the tally of the following batch. Batches merge in order, so sums have one order of addition.
    pub fn merge(&mut self, later: Tally) {
        for (name, by) in later.counts {
            self.count(name, by);
        }
        for (name, value) in later.peaks {
            self.peak(name, value);
        }
        for (name, value) in later.sums {
            self.add(name, value);
        }
        self.points.extend(later.points);
        self.values.extend(later.values);
        for (kept, later) in [(&mut self.evidence, later.evidence), (&mut self.open_evidence, later.open_evidence)] {
            let room = KEPT_EVIDENCE.saturating_sub(kept.len());
            kept.extend(later.into_iter().take(room));
        }
        for (weight, witness) in later.witnesses {
            self.witness(weight, || witness);
        }
        self.open += later.open;
        if let Some(why) = later.refusal {
            self.refuse(why);
        }
    }

    /// The judgement with its evidence, and with the refusal as its note: `Abstain` if the check refused; else
    /// `Finding` if `found`; else `Undecided` if the oracle left something open, with lines that name it for evidence;
    /// else `Pass`.
    pub fn judge(&self, found: bool) -> Judgement {
        let outcome = match (self.refusal(), self.open) {
            (Some(_), _) => Outcome::Abstain,
            (None, 0) if found => Outcome::Finding,
            (None, 0) => Outcome::Pass,
            _ if found => Outcome::Finding,
            _ => Outcome::Undecided,
        };
        let witnesses = self.witnesses.iter().map(|(_, witness)| witness.clone());
        Judgement {
            outcome,
            figures: Vec::new(),
            witnesses: witnesses.filter(|_| outcome == Outcome::Finding).collect(),
            evidence: if outcome == Outcome::Undecided { &self.open_evidence } else { &self.evidence }.clone(),
            note: self.refusal.clone().unwrap_or_default(),
        }
    }
}

/// Verdict of a check.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The check found nothing.
    Pass,
    /// The check found what it looks for.
    Finding,
    /// The check does not judge this case; its note says why.
    Abstain,
    /// The oracle could not decide a comparison that the verdict needs.
    Undecided,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] = [Outcome::Pass, Outcome::Finding, Outcome::Abstain, Outcome::Undecided];

    /// The outcome of this name.
    pub fn from_name(name: &str) -> Option<Outcome> {
        Outcome::ALL.into_iter().find(|outcome| outcome.name() == name)
    }

    /// The name in reports and records, such as `abstain`.
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Pass => "pass",
            Outcome::Finding => "finding",
            Outcome::Abstain => "abstain",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A verdict with its evidence.
#[derive(Clone, Debug)]
pub struct Judgement {
    /// The verdict of the check.
    pub outcome: Outcome,
    /// Figures for the report, by the names that the check documents.
    pub figures: Vec<(&'static str, f64)>,
    /// Up to three lines that show what was found, the first ones by row.
    pub evidence: Vec<String>,
    /// Elements that show a finding, the worst first: up to three, one a row.
    pub witnesses: Vec<Witness>,
    /// The judgement in words; why, where the check abstains.
    pub note: String,
}

/// A weight that can be compared.
fn heavy(weight: f64) -> f64 {
    if weight.is_nan() { f64::INFINITY } else { weight }
}

impl Judgement {
    /// Adds a figure, by the name that the check documents.
    pub fn figure(mut self, name: &'static str, value: f64) -> Judgement {
        self.figures.push((name, value));
        self
    }

    /// Sets the note, unless there is one: the reason for an abstention stays.
    pub fn note(mut self, note: String) -> Judgement {
        if self.note.is_empty() {
            self.note = note;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(count: u64, peak: f64, sum: f64, evidence: &[&str]) -> Tally {
        let mut tally = Tally::default();
        tally.count("rows", count);
        tally.peak("worst", peak);
        tally.add("total", sum);
        evidence.iter().for_each(|line| tally.evidence(|| line.to_string()));
        tally
    }

    #[test]
    fn batches_merge_in_order() {
        let mut all = seen(2, 0.5, 0.25, &["a", "b"]);
        all.merge(seen(3, 0.75, 4.0, &["c", "d"]));
        assert_eq!((all.count_of("rows"), all.peak_of("worst"), all.sum_of("total")), (5, Some(0.75), 4.25));
        assert_eq!((all.count_of("none"), all.peak_of("none"), all.sum_of("none")), (0, None, 0.0));
        // Three pieces of evidence are kept, the first ones.
        assert_eq!(all.judge(true).evidence, ["a", "b", "c"]);
        assert_eq!(seen(1, 0.0, 0.0, &["a", "b", "c", "d"]).judge(true).evidence, ["a", "b", "c"]);
        // A NaN is worse than any number.
        all.merge(seen(0, f64::NAN, 0.0, &[]));
        all.merge(seen(0, 7.0, 0.0, &[]));
        assert_eq!(all.peak_of("worst"), Some(f64::INFINITY));
    }

    fn witness(row: u64, index: u64) -> Witness {
        let hex = || "0x0".to_string();
        Witness { result: "out".to_string(), row, index, value_hex: hex(), truth_hex: hex(), tokens: Vec::new() }
    }

    #[test]
    fn the_weightiest_witnesses_are_kept_one_a_row() {
        let kept = |tally: &Tally| tally.judge(true).witnesses.iter().map(|w| w.index).collect::<Vec<_>>();
        let all = [(1.0, 0, 1), (4.0, 0, 2), (3.5, 0, 3), (3.0, 1, 4), (1.0, 2, 5), (2.0, 3, 6), (f64::NAN, 4, 7)];
        let mut whole = Tally::default();
        all.iter().for_each(|(weight, row, index)| whole.witness(*weight, || witness(*row, *index)));
        assert_eq!(kept(&whole), [7, 2, 4]);
        assert!(whole.judge(false).witnesses.is_empty());
        // However the rows are divided into batches.
        for at in 0..all.len() {
            let [mut first, mut second] = [Tally::default(), Tally::default()];
            let (before, after) = all.split_at(at);
            before.iter().for_each(|(weight, row, index)| first.witness(*weight, || witness(*row, *index)));
            after.iter().for_each(|(weight, row, index)| second.witness(*weight, || witness(*row, *index)));
            first.merge(second);
            assert_eq!(kept(&first), [7, 2, 4], "{at}");
        }
    }

    #[test]
    fn what_is_not_known_is_no_pass() {
        let mut tally = seen(1, 0.0, 0.0, &[]);
        assert_eq!([true, false].map(|found| tally.judge(found).outcome), [Outcome::Finding, Outcome::Pass]);
        tally.evidence(|| "found".to_string());
        tally.leave_open(0, || unreachable!("nothing is open"));
        tally.leave_open(2, || "row 4: open".to_string());
        assert_eq!([true, false].map(|found| tally.judge(found).outcome), [Outcome::Finding, Outcome::Undecided]);
        assert_eq!([true, false].map(|found| tally.judge(found).evidence), [["found"], ["row 4: open"]]);
        let mut later = Tally::default();
        later.refuse("first");
        later.refuse("second");
        tally.merge(later);
        assert_eq!(tally.refusal(), Some("first"));
        assert_eq!([true, false].map(|found| tally.judge(found).outcome), [Outcome::Abstain; 2]);
        assert_eq!(tally.judge(true).note("third".to_string()).note, "first");
    }
}
