//! Settings that the machine does not follow: two programs that differ in one are never proven the same.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Instruction, Setting};
use crate::machine::{Mode, Traced};

use super::alignment::Alignment;
use super::{Comparand, SameError, parting, some};

/// The settings of a program that may decide a bit and that its machine does not follow.
fn settings<'a>(one: &'a Comparand, mode: &Mode) -> Vec<(String, &'a Setting)> {
    let unit = mode.vector_unit();
    every(one, |instruction, setting| match instruction {
        Some(instruction) => unit.leaves_open(instruction, setting),
        None => !setting.is_promise(),
    })
}

/// Settings of both programs.
fn of_both<'a>(both: &'a [Comparand; 2], modes: &[Mode; 2]) -> [Vec<(String, &'a Setting)>; 2] {
    [0, 1].map(|side: usize| settings(&both[side], &modes[side]))
}

/// Why nothing is known of what these change.
fn why<'a>(mut settings: impl Iterator<Item = &'a Setting>) -> &'static str {
    match settings.all(|setting| matches!(setting, Setting::Accuracy(_))) {
        true => {
            "in these modes the machine follows no accuracy (`exp=worst` does, on chips whose compiler states its errors)"
        }
        false => "the machine does not follow such settings",
    }
}

/// The promises about indices that both programs are given, as one assumption.
pub fn promises(both: &[Comparand; 2]) -> Option<String> {
    let promised = both.iter().flat_map(|one| every(one, |_, setting| setting.is_promise()));
    let all = named(promised.map(|(name, setting)| format!("{setting} of {name}")))?;
    Some(format!("the indices are as promised: {all}"))
}

/// Settings of a program, in its order, each with the name of the value that it is asked of. `keeps` is asked about each with its
/// instruction, of which those of the module have none.
fn every<'a>(one: &'a Comparand, keeps: impl Fn(Option<&Instruction>, &Setting) -> bool) -> Vec<(String, &'a Setting)> {
    let entry = one.program.entry;
    let header = one.program.settings.iter().filter(|setting| keeps(None, setting));
    let mut found: Vec<(String, &Setting)> = header.map(|setting| ("the module".to_string(), setting)).collect();
    for (number, computation) in one.program.computations.iter().enumerate() {
        for (id, instruction) in computation.instructions.iter().enumerate() {
            let source = one.sources.get(id).filter(|_| number == entry);
            let name = source.map_or(&instruction.name, |source| &source.name);
            let own = instruction.settings.as_deref().unwrap_or_default();
            let kept = own.iter().filter(|setting| keeps(Some(instruction), setting));
            found.extend(kept.map(|setting| (name.clone(), setting)));
        }
    }
    found
}

/// The assumption that a proof rests on where both programs have settings.
pub fn in_words(both: &[Comparand; 2], modes: &[Mode; 2]) -> Option<String> {
    let settings = of_both(both, modes).concat();
    let all = named(settings.iter().map(|(_, setting)| setting.to_string()))?;
    let why = why(settings.iter().map(|(_, setting)| *setting));
    Some(format!("{all} has the same effect in both programs: {why}"))
}

/// A few of these, each once and in order; `None` of none.
fn named(all: impl Iterator<Item = String>) -> Option<String> {
    let all: Vec<String> = all.collect::<BTreeSet<_>>().into_iter().collect();
    (!all.is_empty()).then(|| some(&all))
}

/// The reasons why settings keep two programs from being the same that are the same but for them; `None` where they do not.
/// `trace` follows a program with its settings.
pub fn obstacles(
    both: &[Comparand; 2],
    alignment: &Alignment,
    modes: &[Mode; 2],
    trace: impl Fn(usize, usize) -> Result<Traced, SameError>,
) -> Result<Option<Vec<String>>, SameError> {
    if !both.iter().any(|one| one.program.has_settings()) {
        return Ok(None);
    }
    let mut headers = [0, 1].map(|side: usize| both[side].program.settings.clone());
    headers.iter_mut().for_each(|header| header.sort());
    let large = trace(alignment.large(), 0)?;
    for block in 0..alignment.blocks() {
        let small = trace(1 - alignment.large(), block)?;
        if headers[0] != headers[1] || !alignment.same_results(&small.results, &large.results, block) {
            let traced = if alignment.large() == 1 { [&small, &large] } else { [&large, &small] };
            let meeting = parting::find(both, traced, modes, &alignment.result_numbers());
            return Ok(Some(reasons(both, modes, meeting)));
        }
    }
    Ok(None)
}

/// The facts that a proof lacks, in words.
fn reasons(both: &[Comparand; 2], modes: &[Mode; 2], meeting: Option<parting::Meeting>) -> Vec<String> {
    let all = of_both(both, modes);
    let counts = |side: usize| {
        let mut counts: BTreeMap<&Setting, usize> = BTreeMap::new();
        all[side].iter().for_each(|(_, setting)| *counts.entry(*setting).or_default() += 1);
        counts
    };
    let counts = [counts(0), counts(1)];
    let apart = |side: usize| -> Vec<String> {
        let differs = |setting: &&Setting| counts[side].get(*setting) != counts[1 - side].get(*setting);
        let mut list: Vec<String> = Vec::new();
        for (name, setting) in all[side].iter().filter(|(_, setting)| differs(setting)) {
            let line = format!("{setting} of {name}");
            if !list.contains(&line) {
                list.push(line);
            }
        }
        list
    };
    let [one, other] = [apart(0), apart(1)].map(|list| if list.is_empty() { None } else { Some(some(&list)) });
    let told = match (one, other) {
        (None, None) => "settings that stand at other places in the two programs".to_string(),
        (Some(one), None) => format!("{one} in the first program"),
        (None, Some(other)) => format!("{other} in the second program"),
        (Some(one), Some(other)) => format!("{one} in the first program, {other} in the second"),
    };
    let why = why(all.iter().flatten().map(|(_, setting)| *setting));
    let mut missing = vec![format!("the effect of {told}: {why}; all else is proven the same")];
    missing.extend(meeting.map(|meeting| format!("the first values under other settings: {meeting}")));
    missing
}
