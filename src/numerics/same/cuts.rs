//! Cuts of K: whether one changes bits is not public, so that two models answer where a program has one and no model is asked for.

use std::time::Instant;

use crate::deadline;
use crate::ir::Program;
use crate::machine::mxu::Accumulation;
use crate::machine::{DotSite, DotUnit, EvalError, Mode};

use super::live_program::LiveProgram;
use super::{Answer, Comparand, SameError, Settings, Verdict, compare_as_set};

/// The models of a cut of K (FACTS 10.1): what is published speaks for the first.
const MODELS: [Accumulation; 2] = [Accumulation::Running, Accumulation::Tiled];

/// Compares two programs. Where a plan cuts K and the modes name no order of the matrix unit, both models of a cut must agree, or the
/// answer is open. It is open as well where the time that there is ends before the programs were followed.
///
/// # Errors
/// If arguments or results do not fit each other, or a program cannot be followed.
pub fn compare<'a>(
    one: impl Into<Comparand<'a>>,
    other: impl Into<Comparand<'a>>,
    settings: &Settings,
) -> Result<Answer, SameError> {
    let (one, other) = (one.into(), other.into());
    let until = settings.limit.and_then(|limit| Instant::now().checked_add(limit));
    match deadline::until(until, || compare_by_models([one, other], settings)) {
        Ok(Err(SameError::Evaluation { error: EvalError::OutOfTime(out_of_time), .. })) | Err(out_of_time) => {
            let missing = vec![format!("time to follow the programs: {out_of_time}")];
            Ok(Answer { verdict: Verdict::Open(missing), compared: Vec::new(), rests_on: Vec::new(), tried: 0 })
        }
        Ok(answer) => answer,
    }
}

/// [`compare`] without a limit of time.
fn compare_by_models(both: [Comparand<'_>; 2], settings: &Settings) -> Result<Answer, SameError> {
    let live = both.map(LiveProgram::of);
    let both = live.each_ref().map(LiveProgram::as_comparand);
    let is_cut = |side: usize| cuts_k(both[side].program, &settings.modes[side]);
    if !is_cut(0) && !is_cut(1) {
        return compare_as_set(both, settings);
    }
    let of = |model: Accumulation| {
        let modes = settings.modes.clone().map(|mode| under(mode, model));
        compare_as_set(both.clone(), &Settings { modes, ..settings.clone() })
    };
    let [running, tiled] = MODELS;
    Ok(join(of(running)?, of(tiled)?))
}

/// Whether a mode leaves open what a cut of K does, and the program has a cut that one of the models follows.
fn cuts_k(program: &Program, mode: &Mode) -> bool {
    let leaves_open = mode.choices.acc == Accumulation::Block && mode.chip.accumulation == Accumulation::Block;
    leaves_open
        && program.computations.iter().any(|computation| {
            let sites = computation.instructions.iter().filter_map(|i| DotSite::within(computation, i));
            sites.filter(|site| matches!(mode.dot(site), DotUnit::Matrix(_))).any(|site| {
                let unit = under(mode.clone(), Accumulation::Tiled).matrix_unit_for(site.tiling);
                unit.for_products(site.sizes[1]).k_block.is_some()
            })
        })
}

/// A mode with a model of cuts, where it names no other order.
fn under(mut mode: Mode, model: Accumulation) -> Mode {
    if mode.choices.acc == Accumulation::Block {
        mode.choices.acc = model;
    }
    mode
}

/// One answer of those under both models, the one under `running` first.
fn join(running: Answer, tiled: Answer) -> Answer {
    let [one, other] = MODELS.map(Accumulation::name);
    let tried = running.tried + tiled.tried;
    let in_words = |answer: &Answer| match &answer.verdict {
        Verdict::Same => "they are the same".to_string(),
        Verdict::Part(parting) => match &parting.meeting {
            Some(meeting) => format!("they part at {meeting}"),
            None => "they part".to_string(),
        },
        Verdict::Open(missing) => format!("open: {}", missing.join("; ")),
    };
    let agree = matches!(
        (&running.verdict, &tiled.verdict),
        (Verdict::Same, Verdict::Same) | (Verdict::Part(_), Verdict::Part(_))
    );
    if agree {
        let mut answer = Answer { tried, ..running };
        answer
            .rests_on
            .push(format!("cuts of K: under acc={one} and acc={other} alike; which of them is a TPU's is not public"));
        return answer;
    }
    let open = format!(
        "what a cut of K does, which is not public: with acc={one} {}; with acc={other} {}; a mode with either asks for one answer",
        in_words(&running),
        in_words(&tiled)
    );
    Answer { verdict: Verdict::Open(vec![open]), tried, ..running }
}
