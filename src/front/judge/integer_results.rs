//! Judgement of tokens and other integers.

use serde::Serialize;

use crate::ir::movement::index_text;
use crate::name::{are, quantity};
use crate::oracle::interval::Interval;
use crate::oracle::{Enclosed, TruthTensor};
use crate::tensor::Tensor;

use super::marked::RankingScores;
use super::recording::Found;
use super::{Ground, JudgeError, JudgedResult, Recording, Verdict};

/// A token, or another integer, that differs from the declared one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Token {
    /// Its flat position.
    pub element: usize,
    /// The recorded token.
    pub recorded: i64,
    /// The token of the nearest mode.
    pub declared: i64,
    /// Lead of the true score that belongs in its place, the best one or of `top_k` the place's own, over the true score of the
    /// recorded token, in ulps of the scores' type; `None` where it is not known.
    pub margin_ulp: Option<f64>,
    /// Whether something permitted gives the recorded token; `None` where that is not known.
    pub is_explained: Option<bool>,
    /// The explanation.
    pub because: String,
}

/// Tokens that are listed at most.
const TOLD: usize = 64;

#[expect(clippy::too_many_lines, reason = "the facts of one result are gathered together")]
pub(super) fn judge(
    ground: &Ground,
    found: &Found,
    tensor: &Tensor,
    recording: &Recording,
) -> Result<JudgedResult, JudgeError> {
    let output = found.output;
    let (mut judged, same) = ground.open(output, tensor);
    judged.tokens = Some(Vec::new());
    let is_its_name = |name: &String| [&judged.name, &found.recorded_as].contains(&name);
    let is_named = ground.settings.tokens.as_ref().is_none_or(is_its_name);
    let contradicted = match &ground.settings.scores {
        Some(scores) if is_named => against_scores(recording, scores, tensor)?,
        _ => Vec::new(),
    };
    if let Some((element, ulps)) = contradicted.first() {
        judged.because.push(format!(
            "{} {} not the largest of the scores beside; element {} is behind by {ulps} ulp",
            quantity(contradicted.len(), "token"),
            are(contradicted.len()),
            index_text(tensor.dims(), *element)
        ));
        judged.outside.first = contradicted.iter().map(|(at, _)| *at).take(8).collect();
        judged.outside.elements = contradicted.len();
        judged.verdict = Verdict::Outside;
    }
    if let Some(member) = same.iter().find(|member| member.is_permitted) {
        if contradicted.is_empty() {
            judged.verdict = Verdict::Bits;
            judged.because.push(format!("the tokens of {}", member.modes.first().map_or("", String::as_str)));
        }
        return Ok(judged);
    }
    let differences = |member: &&super::members::Member| {
        (0..tensor.len()).filter(|at| member.results[output].data().get_i64(*at) != tensor.data().get_i64(*at)).count()
    };
    let permitted = ground.members.each.iter().filter(|member| member.is_permitted);
    let Some(nearest) = permitted.min_by_key(differences) else {
        judged.because.push("no permitted mode evaluates the program".to_string());
        return Ok(judged);
    };
    let declared = &nearest.results[output];
    let mut tokens = Vec::new();
    let (mut outside, mut unknown) = (Vec::new(), Vec::new());
    for element in (0..tensor.len()).filter(|at| declared.data().get_i64(*at) != tensor.data().get_i64(*at)) {
        let token = token(ground, output, element, tensor.data().get_i64(element), declared.data().get_i64(element));
        match token.is_explained {
            Some(true) => {}
            Some(false) => outside.push(element),
            None => unknown.push(element),
        }
        if tokens.len() < TOLD || token.is_explained != Some(true) && tokens.len() < 2 * TOLD {
            tokens.push(token);
        }
    }
    judged.because.push(format!(
        "{} of {} differ from {}: {} are explained, {} are not, {} are open",
        differences(&nearest),
        tensor.len(),
        nearest.modes.first().map_or("", String::as_str),
        differences(&nearest) - outside.len() - unknown.len(),
        outside.len(),
        unknown.len()
    ));
    judged.tokens = Some(tokens);
    if judged.verdict != Verdict::Outside {
        judged.verdict = match (outside.is_empty(), unknown.is_empty()) {
            (false, _) => Verdict::Outside,
            (true, false) => Verdict::Unknown,
            (true, true) => Verdict::Conforming,
        };
        judged.outside.first = outside.iter().copied().take(8).collect();
        judged.outside.elements = outside.len();
    }
    judged.outside.unknown = unknown.len();
    Ok(judged)
}

/// One token, with its margin and whether anything permitted explains it.
fn token(ground: &Ground, output: usize, element: usize, recorded: i64, declared: i64) -> Token {
    let known = match ground.enclosed.as_ref().map(|enclosed| &enclosed[output]) {
        Some(Enclosed::Integers(integers)) => integers[element],
        _ => None,
    };
    let mode = |member: &&super::members::Member| {
        member.is_permitted && member.results[output].data().get_i64(element) == recorded
    };
    let ranked = ground.scores[output].as_ref();
    let (margin_ulp, may_be) = match ranked {
        Some(ranked) => by_scores(ground, ranked, element, recorded),
        None => (None, None),
    };
    let (is_explained, because) = if let Some(member) = ground.members.each.iter().find(mode) {
        (Some(true), format!("{} gives it", member.modes.first().map_or("", String::as_str)))
    } else if known.is_some_and(|known| known != recorded) {
        let because = match margin_ulp {
            Some(0.0) => "the scores are equal, and the program takes the first of equal ones",
            _ => "nothing permitted changes the declared one",
        };
        (Some(false), because.to_string())
    } else {
        match may_be {
            Some(true) => (Some(true), "its score may be the largest under what is permitted".to_string()),
            Some(false) => (Some(false), "its score is never among the largest, whatever is permitted".to_string()),
            None => (None, "nothing is known of what is permitted".to_string()),
        }
    };
    Token { element, recorded, declared, margin_ulp, is_explained, because }
}

/// The margin of a token in the true scores, and whether the enclosed scores permit it.
fn by_scores(ground: &Ground, ranked: &RankingScores, element: usize, recorded: i64) -> (Option<f64>, Option<bool>) {
    let row = element / ranked.places * ranked.width;
    let Some(token) = usize::try_from(recorded).ok().filter(|token| *token < ranked.width) else {
        return (None, Some(false));
    };
    let margin = match ground.truth.as_ref().map(|truth| &truth[ranked.output]) {
        Some(TruthTensor::Float(truth)) => {
            let line = &truth.rounded[row..row + ranked.width];
            let mut descending = line.to_vec();
            descending.sort_by(|a, b| b.total_cmp(a));
            let due = descending[(element % ranked.places).min(ranked.width - 1)];
            let ulp = ground.scores_dtype(ranked).map_or(1.0, |format| format.ulp(due));
            Some((due - line[token]) / ulp).filter(|margin| margin.is_finite())
        }
        _ => None,
    };
    let may_be = match ground.enclosed.as_ref().map(|enclosed| &enclosed[ranked.output]) {
        Some(Enclosed::Floats(floats)) => {
            let line = &floats[row..row + ranked.width];
            let ahead = surely_ahead(line, token);
            let is_open = line[token].is_unknown() || line.iter().any(|other| other.is_unknown());
            if ahead > element % ranked.places {
                Some(false)
            } else if is_open {
                None
            } else {
                Some(true)
            }
        }
        Some(Enclosed::Integers(integers)) if ranked.places == 1 => {
            let greatest = ranked.is_of_predicates.then_some(1);
            first_of_integers(&integers[row..row + ranked.width], token, greatest)
        }
        _ => None,
    };
    (margin, may_be)
}

/// The scores that are above that of a token whatever is permitted.
fn surely_ahead(line: &[Interval], token: usize) -> usize {
    line.iter().filter(|other| other.lo > line[token].hi).count()
}

/// Whether the largest of these integers, the first of equal ones, may stand at `place`, unknown ones being whatever permits it;
/// `None` where that one is unknown itself and has no `greatest` number.
fn first_of_integers(line: &[Option<i64>], place: usize, greatest: Option<i64>) -> Option<bool> {
    let own = line[place].or(greatest)?;
    let is_ahead =
        |(at, other): (usize, &Option<i64>)| other.is_some_and(|other| other > own || at < place && other == own);
    Some(!line.iter().enumerate().any(is_ahead))
}

/// Tokens that are not the largest of the recorded scores of their row: their positions, and ulps that they are behind.
fn against_scores(recording: &Recording, name: &str, tokens: &Tensor) -> Result<Vec<(usize, f64)>, JudgeError> {
    if !recording.names().any(|other| other == name) {
        let names: Vec<&str> = recording.names().collect();
        return Err(JudgeError::Setting(format!(
            "--scores: no array is called `{name}`; there are {}",
            names.join(", ")
        )));
    }
    let scores = recording.array(name, None)?;
    let width = scores.dims().last().copied().unwrap_or(1).max(1);
    let format = scores.dtype().format();
    let (Some(format), true) = (format, scores.len() / width == tokens.len()) else {
        return Err(JudgeError::Setting(format!(
            "--scores: {name} is {}{:?}, which is no row of scores for each of {} tokens",
            scores.dtype(),
            scores.dims(),
            tokens.len()
        )));
    };
    let mut behind = Vec::new();
    for element in 0..tokens.len() {
        let line: Vec<f64> = (element * width..(element + 1) * width).map(|at| scores.data().get_f64(at)).collect();
        let best = line.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let token = usize::try_from(tokens.data().get_i64(element)).ok().and_then(|token| line.get(token));
        match token {
            Some(score) if *score == best || score.is_nan() => {}
            Some(score) => behind.push((element, (best - score) / format.ulp(best))),
            None => behind.push((element, f64::INFINITY)),
        }
    }
    Ok(behind)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scores whose enclosures touch or overlap may come in either order.
    #[test]
    fn scores_that_overlap_are_ahead_of_none() {
        let between = |lo: f64, hi: f64| Interval { lo, hi };
        let line = [between(1.0, 2.0), between(2.0, 3.0), between(2.5, 4.0), between(3.5, 5.0), Interval::UNKNOWN];
        assert_eq!([0, 1, 2, 3, 4].map(|token| surely_ahead(&line, token)), [2, 1, 0, 0, 0]);
    }

    /// Of equal integers the first is chosen; one that is not known is whatever permits the token.
    #[test]
    fn the_first_of_equal_integers_is_chosen() {
        let of = |line: &[Option<i64>], place| first_of_integers(line, place, None);
        assert_eq!(
            [0, 1, 2].map(|place| of(&[Some(1), Some(1), Some(0)], place)),
            [Some(true), Some(false), Some(false)]
        );
        assert_eq!([0, 2].map(|place| of(&[Some(0), None, Some(1)], place)), [Some(false), Some(true)]);
        assert_eq!(of(&[Some(1), None, Some(1)], 1), None);
        assert_eq!(first_of_integers(&[Some(0), None, Some(1)], 1, Some(1)), Some(true), "a predicate is at most 1");
        assert_eq!(first_of_integers(&[Some(1), None, Some(1)], 1, Some(1)), Some(false));
    }
}
