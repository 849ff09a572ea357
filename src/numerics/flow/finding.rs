//! Findings about a flow, in plain words for a person.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use crate::analysis::Precision;

use super::elision::{Effect, Elision};
use super::node::{Use, Value};
use super::reading_kind::ReadingKind;

/// The kind of a finding; in JSON in kebab case (`two-views`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Readers of one value, or of copies of it, see it in different precisions.
    TwoViews,
    /// The same, in the program that a compiler would make.
    TwoViewsIfCompiled,
    /// A comparison of values in different precisions.
    MixedCompare,
    /// A sum whose additions are rounded to less than f32.
    NarrowSum,
    /// The same, in the program that a compiler would make.
    NarrowSumIfCompiled,
    /// A sum that no reader sees as precisely as it was added.
    RoundedAway,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// A person's name for the value: its part in its group or its operation, and its `op_name`.
    pub subject: String,
    /// The finding in a sentence.
    pub text: String,
    /// Names of the values that it is about, copies included.
    pub values: Vec<String>,
    /// `op_name` of the first of them that has one.
    pub op_name: Option<String>,
    /// The part in its group of the first of them that has one.
    pub role: Option<String>,
    /// The readers of the values by precision, widest first; empty if the finding is not about readers.
    pub views: Vec<Sight>,
    /// The modes whose compilers would bring it about; empty for a finding about the file as it is.
    pub modes: Vec<String>,
}

/// Readers that see a value in the same precision.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sight {
    /// The precision.
    pub holds: Precision,
    /// The readers' names.
    pub readers: Vec<String>,
    /// The operation of each reader, in a person's words.
    pub what: Vec<String>,
    /// Each reader's part in its group.
    pub roles: Vec<Option<String>>,
    /// Conversions that drop bits on the way, and values whose own dtype does.
    pub rounded_by: Vec<String>,
    /// The kind of each reader's operation.
    #[serde(skip)]
    pub(super) kinds: Vec<ReadingKind>,
}

impl Finding {
    fn new(kind: FindingKind, text: String, values: &[&Value]) -> Finding {
        let first = |of: fn(&Value) -> &Option<String>| values.iter().find_map(|v| of(v).clone());
        let (role, op_name) = (first(|v| &v.role), first(|v| &v.op_name));
        let called = role.clone().or_else(|| values.first().map(|v| v.what.clone())).unwrap_or_default();
        Finding {
            kind,
            subject: op_name.as_ref().map_or(called.clone(), |name| format!("{called}, {name}")),
            text,
            values: values.iter().map(|v| v.name.clone()).collect(),
            op_name,
            role,
            views: Vec::new(),
            modes: Vec::new(),
        }
    }

    /// Whether a comparison, an argmax, a sort or the like is among those that see different values.
    fn is_about_a_choice(&self) -> bool {
        let views = || self.views.iter().flat_map(|view| &view.kinds);
        self.kind == FindingKind::MixedCompare || views().any(|kind| kind.is_choice())
    }
}

/// All findings: disagreements of readers first, sums that are only rounded at the end last.
pub(super) fn findings(values: &[Value], elisions: &[Elision]) -> Vec<Finding> {
    let mut findings = two_views(values);
    findings.extend(values.iter().filter_map(mixed_compare(values)));
    findings.extend(two_views_if_compiled(values, elisions));
    // Choices come first: there a rounding changes what is chosen, not its last bit.
    findings.sort_by_key(|f| !f.is_about_a_choice());
    findings.extend(values.iter().filter_map(narrow_sum));
    findings.extend(narrow_sums_if_compiled(values, elisions));
    findings.extend(values.iter().filter_map(rounded_away));
    findings
}

fn two_views(values: &[Value]) -> Vec<Finding> {
    // Copies in the order of the first of them.
    let mut classes: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    // Moves show what they move, and constants have no rounding that anyone waits for.
    for value in values.iter().filter(|v| !v.passage && !v.uses.is_empty() && !v.constant) {
        classes.entry(value.meaning).or_default().push(value);
    }
    let mut findings = Vec::new();
    for copies in classes.values() {
        let mut views = sights(copies.iter().flat_map(|v| &v.uses));
        if views.len() > 1 {
            rounded_by_type(&mut views, copies);
            let text = told(&views);
            findings.push(Finding { views, ..Finding::new(FindingKind::TwoViews, text, copies) });
        }
    }
    findings
}

/// Adds the copies whose own type rounds them to those that drop bits, in all views but the widest.
fn rounded_by_type(views: &mut [Sight], copies: &[&Value]) {
    for view in views.iter_mut().skip(1) {
        let unrounded = |one: &Use| one.holds == Some(view.holds) && one.rounded_by.is_none();
        let own = copies.iter().filter(|v| v.computes && v.uses.iter().any(unrounded));
        // The widest view is not rounded: of the others the type may be the reason, where no conversion is.
        let known: HashSet<String> = view.rounded_by.iter().cloned().collect();
        let own: Vec<String> = own.map(|v| v.name.clone()).filter(|name| !known.contains(name)).collect();
        view.rounded_by.extend(own);
    }
}

/// The finding about a value that is seen in several precisions.
fn told(views: &[Sight]) -> String {
    let names: Vec<String> = views.iter().map(|v| v.holds.to_string()).collect();
    disagreement(views).unwrap_or_else(|| format!("some readers see it in {}.", names.join(", others in ")))
}

/// Readers by the precision that they see, widest first; integers are left out.
fn sights<'a>(uses: impl Iterator<Item = &'a Use>) -> Vec<Sight> {
    let mut views: Vec<Sight> = Vec::new();
    // Readers, and what rounds, by the view that they are told with.
    let mut told: HashSet<(usize, bool, &str)> = HashSet::new();
    for one in uses {
        let Some(holds) = one.holds.filter(|h| *h != Precision::ANY) else { continue };
        let at = views.iter().position(|v| v.holds == holds).unwrap_or_else(|| {
            views.push(Sight {
                holds,
                readers: Vec::new(),
                what: Vec::new(),
                roles: Vec::new(),
                rounded_by: Vec::new(),
                kinds: Vec::new(),
            });
            views.len() - 1
        });
        let view = &mut views[at];
        if told.insert((at, true, one.reader.as_str())) {
            view.readers.push(one.reader.clone());
            view.what.push(one.what.clone());
            view.roles.push(one.role.clone());
            view.kinds.push(one.kind);
        }
        if let Some(by) = one.rounded_by.as_ref().filter(|by| told.insert((at, false, by.as_str()))) {
            view.rounded_by.push(by.clone());
        }
    }
    views.sort_by_key(|v| std::cmp::Reverse(v.holds.fraction_bits));
    views
}

/// A sentence about readers that one would expect to agree (sums, choices, the stored result), if they do not see the
/// same value.
fn disagreement(views: &[Sight]) -> Option<String> {
    let sides: Vec<Vec<&str>> = views.iter().map(kinds).filter(|kinds| !kinds.is_empty()).collect();
    let [a, b, ..] = sides.as_slice() else { return None };
    if let Some(both) = a.iter().find(|kind| b.contains(kind)) {
        return Some(format!("not every {both} sees the same value."));
    }
    let (a_named, b_named) = (a.join(" and the "), b.join(" and the "));
    Some(match a.len() {
        1 if b.len() == 1 => format!("the {a_named} and the {b_named} do not see the same value."),
        1 => format!("the {a_named} does not see the same value as the {b_named}."),
        _ => format!("the {a_named} do not see the same value as the {b_named}."),
    })
}

/// The kinds of the readers of one view, each once.
fn kinds(view: &Sight) -> Vec<&str> {
    let mut kinds: Vec<&str> = Vec::new();
    for (kind, role) in view.kinds.iter().zip(&view.roles) {
        // `sort, largest first` is a sort.
        let role = role.as_deref().map(|role| role.split(',').next().unwrap_or(role));
        if let Some(kind) = role.or_else(|| kind.noun()).filter(|kind| !kinds.contains(kind)) {
            kinds.push(kind);
        }
    }
    if kinds.is_empty() && view.kinds.contains(&ReadingKind::Result) {
        kinds.push("stored result");
    }
    kinds
}

/// Values that a compiler would show un-rounded to some readers only.
fn two_views_if_compiled(values: &[Value], elisions: &[Elision]) -> Vec<Finding> {
    let mut of_value: HashMap<&str, Vec<&Elision>> = HashMap::new();
    for elision in elisions {
        of_value.entry(&elision.value).or_default().push(elision);
    }
    let mut findings = Vec::new();
    for value in values {
        let Some(elisions) = of_value.get(value.name.as_str()) else { continue };
        // Modes with the same outcome are told together.
        let mut outcomes: Vec<(Vec<Sight>, Vec<String>)> = Vec::new();
        let mut modes: Vec<&String> = elisions.iter().map(|e| &e.mode).collect();
        modes.dedup();
        for mode in modes {
            let mut removed: HashMap<(Option<&String>, Option<usize>), &Elision> = HashMap::new();
            for elision in elisions.iter().filter(|e| e.mode == *mode && e.effect == Effect::RoundingRemoved) {
                removed.entry((elision.reader.as_ref(), elision.operand)).or_insert(elision);
            }
            let after = |one: &Use| match removed.get(&(Some(&one.reader), one.operand)) {
                Some(e) => Use { holds: Some(e.to), rounded_by: None, ..one.clone() },
                None => one.clone(),
            };
            let uses: Vec<Use> = value.uses.iter().map(after).collect();
            let views = sights(uses.iter());
            if views.len() < 2 {
                continue;
            }
            match outcomes.iter_mut().find(|(same, _)| *same == views) {
                Some((_, modes)) => modes.push(mode.clone()),
                None => outcomes.push((views, vec![mode.clone()])),
            }
        }
        for (views, modes) in outcomes {
            let text = format!("compiled by these rules, {}", told(&views));
            findings.push(Finding { views, modes, ..Finding::new(FindingKind::TwoViewsIfCompiled, text, &[value]) });
        }
    }
    findings
}

fn mixed_compare(values: &[Value]) -> impl Fn(&Value) -> Option<Finding> {
    let constants: HashSet<&String> = values.iter().filter(|v| v.constant).map(|v| &v.name).collect();
    move |value| {
        if value.kind != ReadingKind::Comparison {
            return None;
        }
        let side = |operand: usize| value.reads.iter().find(|r| r.operand == operand && !constants.contains(&r.value));
        let (left, right) = (side(0)?, side(1)?);
        let (a, b) = (left.holds?, right.holds?);
        // A constant compares in any precision.
        if a == b || a == Precision::ANY || b == Precision::ANY {
            return None;
        }
        let text = format!("compares {} in {a} with {} in {b}.", left.value, right.value);
        Some(Finding::new(FindingKind::MixedCompare, text, &[value]))
    }
}

fn narrow_sum(value: &Value) -> Option<Finding> {
    // A sum of one number only moves it.
    let sum = value.accumulation.as_ref().filter(|a| a.terms > 1)?;
    let text = match sum.rounded_to {
        Some(to) => format!("adds {} numbers and rounds each partial sum to {to}.", sum.terms),
        None if matches!(sum.dtype.as_str(), "f32" | "f64") => return None,
        None => format!(
            "adds {} numbers in {}. Hardware may add in f32 and round once: the file does not say.",
            sum.terms, sum.dtype
        ),
    };
    Some(Finding::new(FindingKind::NarrowSum, text, &[value]))
}

/// Sums that a compiler would add in a narrower type.
fn narrow_sums_if_compiled(values: &[Value], elisions: &[Elision]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let named: HashMap<&str, &Value> = values.iter().rev().map(|value| (value.name.as_str(), value)).collect();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    for one in elisions.iter().filter(|e| e.effect == Effect::Narrowed) {
        let Some(value) = named.get(one.value.as_str()).copied() else { continue };
        let Some(sum) = &value.accumulation else { continue };
        let text = format!("compiled by these rules, adds {} numbers in {}, not in {}.", sum.terms, one.to, one.from);
        match places.get(&(value.name.as_str(), text.clone())) {
            Some(place) => findings[*place].modes.push(one.mode.clone()),
            None => {
                places.insert((value.name.as_str(), text.clone()), findings.len());
                findings.push(Finding {
                    modes: vec![one.mode.clone()],
                    ..Finding::new(FindingKind::NarrowSumIfCompiled, text, &[value])
                });
            }
        }
    }
    findings
}

/// A dot is rounded to its type by nature; a sum that was asked for in a wide type is not.
fn rounded_away(value: &Value) -> Option<Finding> {
    let sum = value.accumulation.as_ref().filter(|a| a.terms > 1 && a.rounded_to.is_none())?;
    // A dot's sum is wide by nature; that its result is narrow says nothing.
    let holds = value.holds.filter(|h| h.name() == sum.dtype && value.kind != ReadingKind::Dot)?;
    let views = sights(value.uses.iter());
    let narrower = |view: &Sight| view.holds != holds && view.holds.within(holds);
    if views.is_empty() || !views.iter().all(narrower) {
        return None;
    }
    let text = format!("adds {} numbers in {holds}, and no reader sees the sum in {holds}.", sum.terms);
    Some(Finding { views, ..Finding::new(FindingKind::RoundedAway, text, &[value]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::{BF16, F32};

    fn sight(kinds: &[ReadingKind], roles: &[Option<&str>], holds: Precision) -> Sight {
        Sight {
            holds,
            readers: kinds.iter().map(|kind| format!("{kind:?}")).collect(),
            // A kernel of the user may have any name.
            what: kinds.iter().map(|_| "sort_by_kernel".to_string()).collect(),
            roles: roles.iter().map(|r| r.map(str::to_string)).collect(),
            rounded_by: Vec::new(),
            kinds: kinds.to_vec(),
        }
    }

    #[test]
    fn disagreements_are_sentences() {
        use ReadingKind::{ArgMax, Comparison, Maximum, Other, Result, Sort, Sum};
        let [f32, bf16] = [&F32, &BF16].map(Precision::of);
        let told = |wide: &[ReadingKind], narrow: &[ReadingKind]| {
            let none = [None; 4];
            told(&[sight(wide, &none[..wide.len()], f32), sight(narrow, &none[..narrow.len()], bf16)])
        };
        assert_eq!(told(&[Sum], &[ArgMax]), "the sum and the argmax do not see the same value.");
        assert_eq!(
            told(&[Comparison], &[Sort, ArgMax]),
            "the comparison does not see the same value as the sort and the argmax."
        );
        assert_eq!(
            told(&[Sum, Maximum], &[Result]),
            "the sum and the max do not see the same value as the stored result."
        );
        assert_eq!(told(&[ArgMax, Maximum], &[ArgMax]), "not every argmax sees the same value.");
        assert_eq!(told(&[Other], &[Other]), "some readers see it in f32, others in bf16.");
        let shift = sight(&[Other], &[Some("softmax shift")], f32);
        let sort = sight(&[Sort], &[Some("sort, largest first")], bf16);
        assert_eq!(super::told(&[shift, sort]), "the softmax shift and the sort do not see the same value.");
    }

    #[test]
    fn a_name_that_begins_like_a_choice_is_none() {
        let [f32, bf16] = [&F32, &BF16].map(Precision::of);
        let about = |kind| {
            let views = vec![sight(&[kind], &[None], f32), sight(&[ReadingKind::Other], &[None], bf16)];
            Finding { views, ..Finding::new(FindingKind::TwoViews, String::new(), &[]) }.is_about_a_choice()
        };
        assert!(about(ReadingKind::Sort) && !about(ReadingKind::Other));
    }
}
