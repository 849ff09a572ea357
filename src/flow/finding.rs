//! What a person should know of a flow, in plain words.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::Serialize;

use super::elision::{Effect, Elision};
use super::precision::Precision;
use super::value::{Use, Value};

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// Readers of one value, or of copies of it, see it in different precisions.
    TwoViews,
    /// The same, in what a compiler would make of the program.
    TwoViewsIfCompiled,
    /// A comparison of values in different precisions.
    MixedCompare,
    /// What a sum adds, and in what.
    Sum,
}

/// One finding.
///
/// JSON: `kind` (`two-views`, `two-views-if-compiled`, `mixed-compare`, `sum`); `values` it is about, copies included;
/// `op_name` of the first; `role` of the first; `views`, who sees them in which precision, widest first (`holds`,
/// `readers`, `rounded_by`); `modes` (of `two-views-if-compiled`); `text`, the finding as a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    pub values: Vec<String>,
    pub op_name: Option<String>,
    pub role: Option<String>,
    pub views: Vec<Sight>,
    pub modes: Vec<String>,
    pub text: String,
}

/// Readers that see a value in the same precision.
///
/// JSON: `holds`; `readers`, their names; `what` each is; `rounded_by`, conversions that drop bits on the way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sight {
    pub holds: Precision,
    pub readers: Vec<String>,
    pub what: Vec<String>,
    pub rounded_by: Vec<String>,
}

impl Finding {
    fn new(kind: FindingKind, values: &[&Value]) -> Finding {
        let first = |of: fn(&Value) -> &Option<String>| values.iter().find_map(|v| of(v).clone());
        Finding {
            kind,
            values: values.iter().map(|v| v.name.clone()).collect(),
            op_name: first(|v| &v.op_name),
            role: first(|v| &v.role),
            views: Vec::new(),
            modes: Vec::new(),
            text: String::new(),
        }
    }
}

/// All findings: views first, then sums.
pub(super) fn findings(values: &[Value], elisions: &[Elision]) -> Vec<Finding> {
    let mut findings = two_views(values);
    findings.extend(two_views_if_compiled(values, elisions));
    findings.extend(values.iter().filter_map(mixed_compare(values)));
    findings.extend(values.iter().filter_map(sum));
    findings
}

fn two_views(values: &[Value]) -> Vec<Finding> {
    // Copies in the order of the first of them.
    let mut classes: BTreeMap<usize, Vec<&Value>> = BTreeMap::new();
    for value in values.iter().filter(|v| !v.passage && !v.uses.is_empty() && !v.constant) {
        classes.entry(value.meaning).or_default().push(value);
    }
    let mut findings = Vec::new();
    for copies in classes.values() {
        let views = sights(copies.iter().flat_map(|v| &v.uses));
        if views.len() < 2 {
            continue;
        }
        let subject = subject(copies);
        let seen: Vec<String> = views.iter().map(|view| seen_as(view, &views)).collect();
        let text = format!("{subject} seen {}.{}", seen.join("; "), disagreement(&views));
        findings.push(Finding { views, text, ..Finding::new(FindingKind::TwoViews, copies) });
    }
    findings
}

fn subject(copies: &[&Value]) -> String {
    let first = copies[0];
    let about: Vec<&str> = [&first.role, &first.op_name].into_iter().flatten().map(String::as_str).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join("; ")) };
    let names: Vec<&str> = copies.iter().map(|v| v.name.as_str()).collect();
    match names.len() {
        1 => format!("{}{about} is", names[0]),
        n => format!("{}{about}: one value, computed {n} times, is", listed(&names)),
    }
}

/// Readers by what they see, widest first; integers are left out.
fn sights<'a>(uses: impl Iterator<Item = &'a Use>) -> Vec<Sight> {
    let mut views: Vec<Sight> = Vec::new();
    for one in uses {
        let Some(holds) = one.holds.filter(|h| *h != Precision::ANY) else { continue };
        let at = views.iter().position(|v| v.holds == holds).unwrap_or_else(|| {
            views.push(Sight { holds, readers: Vec::new(), what: Vec::new(), rounded_by: Vec::new() });
            views.len() - 1
        });
        let view = &mut views[at];
        if !view.readers.contains(&one.reader) {
            view.readers.push(one.reader.clone());
            view.what.push(one.what.clone());
        }
        if let Some(by) = one.rounded_by.as_ref().filter(|by| !view.rounded_by.contains(by)) {
            view.rounded_by.push(by.clone());
        }
    }
    views.sort_by_key(|v| std::cmp::Reverse(v.holds.fraction_bits()));
    views
}

fn seen_as(view: &Sight, all: &[Sight]) -> String {
    let by: Vec<&str> = view.rounded_by.iter().map(String::as_str).collect();
    let how = match (by.is_empty(), all.first() == Some(view)) {
        (true, true) => format!("un-rounded ({})", view.holds),
        (true, false) => format!("as {}", view.holds),
        (false, _) => format!("rounded to {} by {}", view.holds, listed(&by)),
    };
    format!("{how}: {}", readers(view))
}

fn readers(view: &Sight) -> String {
    let named = view.readers.iter().zip(&view.what).map(|(reader, what)| match what.as_str() {
        "result" => format!("result {reader}"),
        _ => format!("{reader} ({what})"),
    });
    let named: Vec<String> = named.collect();
    listed(&named.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Says so where readers that one would expect to agree (sums, choices, the stored result) do not see the same value.
fn disagreement(views: &[Sight]) -> String {
    let short = |what: &str| {
        let last = what.rsplit(' ').next().unwrap_or(what);
        let known = ["sum", "cumsum", "max", "min", "argmax", "argmin", "sort", "topk", "ApproxTopK", "PartialReduce"];
        match what.starts_with("compare") {
            true => Some("comparison".to_string()),
            false => known.contains(&last).then(|| last.to_string()),
        }
    };
    let kinds = |view: &Sight| {
        let mut kinds: Vec<String> = Vec::new();
        for kind in view.what.iter().filter_map(|w| short(w)) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.is_empty() && view.what.iter().any(|w| w == "result") {
            kinds.push("stored result".to_string());
        }
        kinds
    };
    let sides: Vec<Vec<String>> = views.iter().map(kinds).filter(|kinds| !kinds.is_empty()).collect();
    match sides.as_slice() {
        [a, b, ..] if a == b => format!(" Not every {} sees the same value.", a.join(" and every ")),
        [a, b, ..] if a.len() + b.len() == 2 => format!(" The {} and the {} do not see the same value.", a[0], b[0]),
        [a, b, ..] => {
            format!(" The {} do not see the same value as the {}.", a.join(" and the "), b.join(" and the "))
        }
        _ => String::new(),
    }
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
            let after = |one: &Use| {
                let changed = elisions.iter().find(|e| {
                    e.mode == *mode
                        && e.reader.as_ref() == Some(&one.reader)
                        && e.operand == one.operand
                        && e.effect == Effect::RoundingRemoved
                });
                match changed {
                    Some(e) => Use { holds: Some(e.to), rounded_by: None, ..one.clone() },
                    None => one.clone(),
                }
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
            let seen: Vec<String> = views.iter().map(|view| seen_as(view, &views)).collect();
            let under = listed(&modes.iter().map(String::as_str).collect::<Vec<_>>());
            let is = subject(&[value]);
            let is = is.strip_suffix(" is").unwrap_or(&is);
            let text = format!("Under {under}, {is} would be seen {}.{}", seen.join("; "), disagreement(&views));
            findings.push(Finding { views, modes, text, ..Finding::new(FindingKind::TwoViewsIfCompiled, &[value]) });
        }
    }
    findings
}

fn mixed_compare(values: &[Value]) -> impl Fn(&Value) -> Option<Finding> {
    let constants: HashSet<&String> = values.iter().filter(|v| v.constant).map(|v| &v.name).collect();
    move |value| {
        if value.opcode != "compare" {
            return None;
        }
        let side = |operand: usize| value.reads.iter().find(|r| r.operand == operand && !constants.contains(&r.value));
        let (left, right) = (side(0)?, side(1)?);
        let (a, b) = (left.holds?, right.holds?);
        if a == b || a == Precision::ANY || b == Precision::ANY {
            return None;
        }
        let text =
            format!("{} ({}) compares {} in {a} with {} in {b}.", value.name, value.what, left.value, right.value);
        Some(Finding { text, ..Finding::new(FindingKind::MixedCompare, &[value]) })
    }
}

fn sum(value: &Value) -> Option<Finding> {
    // A sum of one number only moves it.
    let accumulation = value.accumulation.as_ref().filter(|a| a.terms > 1)?;
    let about: Vec<&str> = [&value.role, &value.op_name].into_iter().flatten().map(String::as_str).collect();
    let about = if about.is_empty() { String::new() } else { format!(" ({})", about.join("; ")) };
    let read: Vec<String> = value
        .reads
        .iter()
        .filter_map(|r| Some((r, r.holds?)))
        .map(|(r, holds)| match &r.rounded_by {
            Some(by) => format!("{} rounded to {holds} by {by}", r.value),
            None => format!("{} as {holds}", r.value),
        })
        .collect();
    let of = if read.is_empty() { "numbers".to_string() } else { read.join(", ") };
    let mut text =
        format!("{}{about} sums {} numbers in {}: {of}.", value.name, accumulation.terms, accumulation.dtype);
    if let Some(to) = accumulation.rounded_to {
        text.push_str(&format!(" Each partial sum is rounded to {to}."));
    }
    if matches!(accumulation.dtype.as_str(), "bf16" | "f16") {
        text.push_str(" Whether the hardware accumulates in f32 is not public.");
    }
    Some(Finding { text, ..Finding::new(FindingKind::Sum, &[value]) })
}

/// `a`, `a and b`, `a, b and c`.
pub(super) fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => one.to_string(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}
