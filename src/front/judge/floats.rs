//! Judgement of a result of floats.

use std::cell::LazyCell;
use std::collections::BTreeSet;

use crate::machine::PRECISIONS;
use crate::name::{are, quantity};
use crate::num::Format;
use crate::oracle::{Enclosed, TruthTensor};
use crate::tensor::{DType, Tensor};

use super::altered::{decimals, operands, running_variance};
use super::evidence::{Compared, Evidence, Pattern};
use super::faults;
use super::figures::{differences, figures, relative_rms};
use super::marked::sums;
use super::matmul_criterion as criterion;
use super::members::Member;
use super::{Ground, JudgedResult, Nearest, Part, Verdict};

/// Differences of orders that a result may be from the nearest mode: members are some orders of many.
const ORDERS: f64 = 4.0;

/// Factor by which a result's error may exceed that of the least accurate permitted mode.
const RATIO: f64 = 2.0;

/// Factor by which the named mode may be farther than the nearest one and still stands for it.
const HARDLY_FARTHER: f64 = 1.1;

/// Factor by which a result errs less than the mode nearest to it, from which on it is a more accurate one, and no fault of that mode.
const MORE_ACCURATE: f64 = 2.0;

/// The reason of a result that another rounding of the program's constants explains.
const BY_DECIMALS: &str = "their constants are the decimals that the program names, before rounding to its types";

/// The reason of a result that the running mean explains.
const BY_RUNNING_MEAN: &str = "they err as much as a variance by the running mean does (Welford's recurrence), whose steps round \
     numbers of the size of the mean";

/// Factor by which the worst element of a result may exceed that of a mode, beside its own scale.
const WORST_ELEMENT: f64 = 4.0;

/// Factor by which one element may exceed what orders of sums change at most in any element.
const STANDS_OUT: f64 = 6.0;

/// The same, over the root mean square of what orders change.
const STANDS_OUT_OF_RMS: f64 = 30.0;

/// Share of elements of narrow types that may round another way in an honest order without any member's doing so.
const FLIPS: f64 = 0.002;

/// One element in so many that is as a mode gives it tells that mode.
const SOME: usize = 16;

/// The members of one precision for one result.
struct Class<'a> {
    precision: usize,
    is_permitted: bool,
    members: Vec<(&'a Member, Vec<f64>)>,
    /// Root mean square and largest of what orders change.
    spread: [f64; 2],
}

#[expect(clippy::too_many_lines, reason = "the facts of one result are gathered together")]
pub(super) fn judge(ground: &Ground, output: usize, tensor: &Tensor) -> JudgedResult {
    let program = ground.program;
    let shape = program.entry().instructions[program.outputs()[output]].shape.clone();
    let observed = tensor.data().to_f64s();
    let format = tensor.dtype().format().unwrap_or(&crate::num::F64);
    let truth = match ground.truth.as_ref().map(|truth| &truth[output]) {
        Some(TruthTensor::Float(truth)) => Some(truth.rounded.as_slice()),
        _ => None,
    };
    let enclosed = match ground.enclosed.as_ref().map(|enclosed| &enclosed[output]) {
        Some(Enclosed::Floats(floats)) => Some(floats.as_slice()),
        _ => None,
    };
    let (mut judged, same) = ground.open(output, tensor);
    judged.error = truth.and_then(|truth| figures(&observed, truth));
    // Elements outside of the enclosure.
    let is_open = |at: usize| enclosed.is_none_or(|all| all[at].is_unknown());
    let is_outside = |at: usize| {
        enclosed.is_some_and(|all| {
            let (x, value) = (all[at], observed[at]);
            !x.is_unknown() && if x.is_nan() { !value.is_nan() } else { !(x.lo <= value && value <= x.hi) }
        })
    };
    let mut bad: Vec<usize> = (0..observed.len()).filter(|at| is_outside(*at)).collect();
    judged.outside.elements = bad.len();
    judged.outside.unknown = (0..observed.len()).filter(|at| is_open(*at)).count();
    let (classes, scale) = classes(ground, output, &observed, truth, enclosed, format);
    let compared = Compared { observed: &observed, scale: &scale, dims: shape.dims() };
    let Some((class, at, distance)) = nearest(&classes, &compared, ground.part) else {
        judged.because.push("no mode evaluates the program".to_string());
        return judged;
    };
    let (member, values) = &class.members[at];
    let spread = class.spread[0];
    let claimed = named(ground).and_then(|mode| claimed(&classes, (class, distance), (&mode, ground.part), &compared));
    judged.nearest = Some(match claimed {
        Some((mode, values, distance_and_spread)) => near_to(mode, &observed, values, distance_and_spread),
        None => near_to(member.modes.first().cloned().unwrap_or_default(), &observed, values, [distance, spread]),
    });
    if let (Some(truth), Some(error)) = (truth, &judged.error) {
        // Of the named mode; of the nearest one where none is named.
        let is_named = |one: &&Member| named(ground).is_some_and(|mode| one.modes.contains(&mode));
        let of = ground.members.each.iter().find(is_named).unwrap_or(member);
        let error_of = |member: &Member| relative_rms(&member.results[output].data().to_f64s(), truth);
        let mut own = error_of(of);
        // Exact sums are near to every order: an order of sums is held to the order that errs as it does.
        if ground.settings.mode.is_none() && distance > 0.0 {
            let apart = |own: f64| (own - error.relative_rms).abs();
            let is_order =
                |class: &Class, values: &[f64]| compared.distance(&observed, values) <= ORDERS * class.spread[0];
            let orders = classes.iter().flat_map(|class| {
                class.members.iter().filter(|(_, values)| is_order(class, values)).map(|(member, _)| error_of(member))
            });
            own = orders.fold(own, |best, other| if apart(other) < apart(best) { other } else { best });
        }
        judged.ratio = (own > 0.0).then_some(error.relative_rms / own);
    }
    judged.detectable = truth.and_then(|truth| criterion::detectable(ground, output, truth, format));
    if let Some(member) = same.iter().find(|member| member.is_permitted) {
        judged.verdict = Verdict::Bits;
        judged.because.push(format!("the bits of {}", member.modes.first().map_or("", String::as_str)));
        return judged;
    }
    // NaN and infinities stand where the nearest mode has them, or where the enclosure reaches.
    let mismatched = |at: &usize| {
        let (x, y) = (observed[*at], values[*at]);
        let is_other = !(x.is_finite() && y.is_finite()) && x != y && !(x.is_nan() && y.is_nan());
        is_other && (is_open(*at) || is_outside(*at))
    };
    let strange: Vec<usize> = (0..observed.len()).filter(mismatched).collect();
    let weighing =
        Weighing { ground, output, classes: &classes, class, at, distance, compared: &compared, truth, format };
    let (is_outside, because, pattern) = weigh(&weighing, &mut bad, strange);
    judged.because = because;
    if !pattern.is_empty() && pattern.iter().all(Pattern::is_place) {
        judged.because.push(search_ended(ground));
    }
    judged.pattern = pattern;
    judged.outside.first = bad.iter().copied().take(8).collect();
    judged.verdict = match is_outside {
        Some(true) => Verdict::Outside,
        Some(false) => Verdict::Conforming,
        None => Verdict::Unknown,
    };
    judged
}

/// The end of a search that found places alone, and steps that a reader can take next.
fn search_ended(ground: &Ground) -> String {
    let claimed = if ground.settings.mode.is_none() { ", or name the claimed mode (`--mode`)" } else { "" };
    format!(
        "the search for a cause ended without one: record values between and judge those, with a program that has them as results or \
         `ulpgate layers`{claimed}"
    )
}

/// The named mode, which is what the reader claims, in the place of the nearest: where it is of the nearest one's class and an order of
/// sums from the result, or where it is hardly farther: of what is far from every mode the nearest one is an accident. A block's
/// nearest one is quick and computes the rest, so that no other stands for it. Its name, its results, its distance and the spread of
/// its class.
fn claimed<'a>(
    classes: &'a [Class],
    (nearest_class, nearest): (&Class, f64),
    (mode, part): (&str, Part),
    compared: &Compared,
) -> Option<(String, &'a [f64], [f64; 2])> {
    let of_class = |class: &'a Class| class.members.iter().map(move |(member, values)| (class, member, values));
    let is_named = |member: &Member| member.modes.iter().any(|one| one == mode);
    let (class, _, values) = classes.iter().flat_map(of_class).find(|(_, member, _)| is_named(member))?;
    let distance = compared.distance(compared.observed, values);
    let is_order = std::ptr::eq(class, nearest_class) && distance <= ORDERS * class.spread[0];
    (is_order || part != Part::Block && distance <= HARDLY_FARTHER * nearest)
        .then(|| (mode.to_string(), values.as_slice(), [distance, class.spread[0]]))
}

/// The figures of a mode that is near: its distance is told in units of what orders of sums change, the spread.
fn near_to(mode: String, observed: &[f64], values: &[f64], [distance, spread]: [f64; 2]) -> Nearest {
    Nearest {
        mode,
        relative_rms: relative_rms(observed, values),
        orders: if distance == 0.0 { 0.0 } else { distance / spread },
        differences: differences(observed, values),
    }
}

/// A result beside its nearest member.
struct Weighing<'a> {
    ground: &'a Ground<'a>,
    output: usize,
    classes: &'a [Class<'a>],
    /// The class of the nearest member, and its place there.
    class: &'a Class<'a>,
    at: usize,
    /// The distance from that member.
    distance: f64,
    compared: &'a Compared<'a>,
    truth: Option<&'a [f64]>,
    format: &'static Format,
}

/// Whether a result is outside, `None` if nothing is known; the reasons; and the faults that explain it. `bad` are the elements
/// outside of the enclosure, and those that stand out are added; `strange` are finite where the nearest member's are not, or the reverse.
#[expect(clippy::too_many_lines, reason = "the facts of one result are weighed together")]
fn weigh(weighing: &Weighing, bad: &mut Vec<usize>, strange: Vec<usize>) -> (Option<bool>, Vec<String>, Vec<Pattern>) {
    let Weighing { ground, output, classes, class, at, distance, compared, truth, format } = *weighing;
    let (member, values) = &class.members[at];
    let (observed, spread) = (compared.observed, class.spread);
    let name = PRECISIONS[class.precision].name;
    let mut because = Vec::new();
    let outside = bad.len();
    let is_consistent = distance <= ORDERS * spread[0];
    // Elements that stand out where the rest is an order of sums.
    let scaled = |at: usize| ((observed[at] - values[at]) / compared.scale[at]).abs();
    let near = (0..observed.len()).filter(|at| scaled(*at) <= ORDERS * spread[0]).count();
    let standing = standing(class, values, compared, format);
    let strange_at = strange.clone();
    // Where values between are rounded to a narrow type, one that rounds another way stands out: then accuracy decides.
    let is_accurate = truth.is_some_and(|truth| class.is_permitted && is_as_accurate(class, compared, [truth, truth]));
    let is_mixed = !standing.is_empty() && near * 2 > observed.len() && !is_accurate;
    let apart: Vec<usize> = standing.iter().chain(&strange).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let evidence = Evidence { ground, output, member, values, compared, apart: &apart, format };
    if !bad.is_empty() {
        let (count, are) = (bad.len(), are(bad.len()));
        because.push(format!("{count} of {} elements {are} outside of what is permitted", observed.len()));
    }
    let is_finite_alike = strange.is_empty();
    // A decimal in the place of the constant that it is rounded to moves elements past what choices of a compiler give.
    let is_beside = !is_accurate && is_finite_alike && class.is_permitted && !(bad.is_empty() && standing.is_empty());
    let of_decimals = LazyCell::new(|| decimals::truth(ground, output));
    if let Some(truth) = truth.filter(|_| is_beside)
        && let Some(other) = &*of_decimals
        && is_as_accurate(class, compared, [other, truth])
    {
        return (Some(false), vec![BY_DECIMALS.to_string()], Vec::new());
    }
    let is_of_running_mean =
        LazyCell::new(|| truth.is_some_and(|truth| class.is_permitted && errs_as_running_mean(&evidence, truth)));
    if is_beside && *is_of_running_mean {
        return (Some(false), vec![BY_RUNNING_MEAN.to_string()], Vec::new());
    }
    if !is_finite_alike {
        let (elements, are) = (quantity(strange.len(), "element"), are(strange.len()));
        because.push(format!("{elements} {are} not finite where the mode's are, or the reverse"));
        bad.extend(strange);
        bad.sort_unstable();
        bad.dedup();
    }
    if is_mixed {
        because.push(format!(
            "{near} of {} elements are as {name} gives them but for the order of sums, and {} {} not",
            observed.len(),
            standing.len(),
            are(standing.len())
        ));
        bad.extend(&standing);
        bad.sort_unstable();
        bad.dedup();
    }
    if is_consistent && !class.is_permitted {
        because.push(format!("they are as {name} gives them, which the named mode does not permit"));
        return (Some(true), because, Vec::new());
    }
    let is_whole = bad.len() == outside && is_finite_alike && !is_mixed;
    if !bad.is_empty() && is_whole && is_accurate && faults::factor(&evidence).is_none() {
        let conforms = format!("they are as accurate as {name} is, row by row, and no fault explains the difference");
        let beside = format!(
            "values are rounded at other places: {outside} of {} elements are none that a compiler's choices give",
            observed.len()
        );
        return (Some(false), vec![conforms, beside], Vec::new());
    }
    // What errs far more than every permitted mode is no order of sums, however near the nearest one is.
    let errors = truth.map(|truth| {
        let permitted = classes.iter().filter(|class| class.is_permitted).flat_map(|class| &class.members);
        let worst = permitted.map(|(_, values)| compared.distance(values, truth)).fold(0.0, f64::max);
        (compared.distance(observed, truth), worst)
    });
    let errs_no_more = errors.is_none_or(|(own, worst)| own <= RATIO * worst);
    if bad.is_empty() && is_consistent && errs_no_more {
        let factor = faults::factor(&evidence);
        if let Some(factor) = factor {
            let pattern = faults::explain(&evidence, true);
            let what = if pattern.iter().all(|one| one.kind == factor.kind) { "a factor" } else { "a fault" };
            because.push(format!("{what} explains the difference from the nearest mode"));
            return (Some(true), because, if pattern.is_empty() { vec![factor] } else { pattern });
        }
        let how = match sums(ground.program).is_empty() {
            true => "by no more than is permitted",
            false => "as orders of sums do",
        };
        because.push(format!("they differ from {name} {how}"));
        return (Some(false), because, Vec::new());
    }
    if bad.is_empty() {
        // Between the modes: what errs no more than a permitted one, without a fault that explains it.
        let (Some(truth), Some((own, worst))) = (truth, errors) else {
            because.push("they are no order of sums of a mode, and the truth is not known".to_string());
            return (None, because, Vec::new());
        };
        if errs_no_more {
            if let Some(operands) = operands(&evidence) {
                because.push(format!("they err no more than a permitted mode: {}", operands.says));
                return (Some(false), because, Vec::new());
            }
            // Beside a mode that errs far more than the result does, the difference is that mode's own error.
            let is_better = own * MORE_ACCURATE <= compared.distance(values, truth);
            let pattern = if is_better { Vec::new() } else { faults::explain(&evidence, true) };
            if !pattern.is_empty() {
                because.push("a fault explains the difference from the nearest mode".to_string());
                return (Some(true), because, pattern);
            }
            if let Some(why) = criterion::rejection(ground, output, observed, truth, format) {
                because.push(why);
                return (Some(true), because, faults::explain(&evidence, false));
            }
            because.push(match own <= distance {
                true => format!("they are more accurate than {name}"),
                false => format!("they err no more than a permitted mode: {:.2} of the least accurate", own / worst),
            });
            return (Some(false), because, Vec::new());
        }
        if of_decimals.as_ref().is_some_and(|truth| compared.distance(observed, truth) <= RATIO * worst) {
            because.push(BY_DECIMALS.to_string());
            return (Some(false), because, Vec::new());
        }
        if is_finite_alike && *is_of_running_mean {
            because.push(BY_RUNNING_MEAN.to_string());
            return (Some(false), because, Vec::new());
        }
        because.push(format!("they err {:.1} times as much as the least accurate permitted mode", own / worst));
    }
    (Some(true), because, explained(weighing, &evidence, &strange_at))
}

/// Whether a result errs no more than one whose variances are by the running mean, as a whole and at its worst.
fn errs_as_running_mean(evidence: &Evidence, truth: &[f64]) -> bool {
    let (compared, observed) = (evidence.compared, evidence.compared.observed);
    running_variance(evidence).is_some_and(|values| {
        compared.distance(observed, truth) <= RATIO * compared.distance(&values, truth)
            && compared.largest(observed, truth) <= WORST_ELEMENT * compared.largest(&values, truth)
    })
}

/// The faults beside the nearest member; where none is named, beside the most accurate precision: of what is far from every mode the
/// nearest one is an accident, and its roundings hide a fault that the right one shows.
fn explained(weighing: &Weighing, evidence: &Evidence, strange: &[usize]) -> Vec<Pattern> {
    let pattern = faults::explain(evidence, false);
    let Some(accurate) = weighing.classes.iter().max_by_key(|class| class.precision) else { return pattern };
    if !pattern.iter().all(Pattern::is_place) || accurate.precision == weighing.class.precision {
        return pattern;
    }
    let Some((member, values)) = accurate.members.first() else { return pattern };
    let standing = standing(accurate, values, weighing.compared, weighing.format);
    let apart: Vec<usize> = standing.iter().chain(strange).copied().collect::<BTreeSet<_>>().into_iter().collect();
    let other = faults::explain(&Evidence { member, values, apart: &apart, ..*evidence }, false);
    if other.iter().all(Pattern::is_place) { pattern } else { other }
}

/// Elements that stand out beside what orders of sums change in a precision.
fn standing(class: &Class, values: &[f64], compared: &Compared, format: &Format) -> Vec<usize> {
    let limit = (STANDS_OUT * class.spread[1]).max(STANDS_OUT_OF_RMS * class.spread[0]);
    let scaled = |at: usize| ((compared.observed[at] - values[at]) / compared.scale[at]).abs();
    let ulps = |at: usize| (compared.observed[at] - values[at]).abs() / format.ulp(values[at]);
    (0..values.len()).filter(|at| scaled(*at) > limit && ulps(*at) > 1.5).collect()
}

/// The named mode, as text.
fn named(ground: &Ground) -> Option<String> {
    ground.settings.mode.as_ref().map(ToString::to_string)
}

/// Whether a result errs no more than a class does: as a whole, in each row, and at its worst; errors beside the row's own size, and
/// at its worst beside each element's scale or own size too: a small element of a row may be all wrong and change neither. The two
/// truths are those of the result and of the class.
fn is_as_accurate(class: &Class, compared: &Compared, [truth, of_class]: [&[f64]; 2]) -> bool {
    let row = compared.dims.last().copied().unwrap_or(1).max(1);
    let observed = compared.observed;
    let size =
        |line: &[f64]| (line.iter().map(|x| x * x).sum::<f64>() / line.len() as f64).sqrt().max(f64::MIN_POSITIVE);
    let scale: Vec<f64> = truth.chunks(row).flat_map(|line| vec![size(line); line.len()]).collect();
    let whole = Compared { observed, scale: &scale, dims: compared.dims };
    let is_alike = |compared: &Compared| {
        let largest = class.members.iter().map(|(_, values)| compared.largest(values, of_class)).fold(0.0, f64::max);
        compared.largest(observed, truth) <= WORST_ELEMENT * largest
    };
    // Another formula rounds other numbers: an element where they nearly cancel errs more than any order of the program's own sums.
    let own: Vec<f64> = truth.iter().map(|x| x.abs().max(f64::MIN_POSITIVE)).collect();
    let is_alike_everywhere = is_alike(compared) || is_alike(&Compared { observed, scale: &own, dims: &[] });
    is_alike_everywhere
        && class.members.iter().any(|(_, values)| {
            let own = whole.distance(values, of_class);
            let in_row = |start: usize| {
                let rows = start..start + row;
                let part = Compared { observed, scale: &scale[rows.clone()], dims: &[] };
                let distance =
                    |values: &[f64], truth: &[f64]| part.distance(&values[rows.clone()], &truth[rows.clone()]);
                distance(observed, truth) <= 2.5 * distance(values, of_class).max(own)
            };
            whole.distance(observed, truth) <= 1.05 * own
                && whole.largest(observed, truth) <= 2.0 * whole.largest(values, of_class)
                && (0..observed.len()).step_by(row).all(in_row)
        })
}

/// The nearest member, or that of most elements where the nearest one is near to fewer: its class, its place there, and the distance.
/// Of a block the nearest one that is quick, where an order of sums of it explains the block: it computes the rest.
fn nearest<'a, 'b>(classes: &'b [Class<'a>], compared: &Compared, part: Part) -> Option<(&'b Class<'a>, usize, f64)> {
    let each: Vec<(&Class, usize, f64)> = classes
        .iter()
        .flat_map(|class| {
            let of = move |at: usize| (class, at, compared.distance(compared.observed, &class.members[at].1));
            (0..class.members.len()).map(of)
        })
        .collect();
    let least = |each: &mut dyn Iterator<Item = (&'b Class<'a>, usize, f64)>| each.min_by(|a, b| a.2.total_cmp(&b.2));
    let nearest = least(&mut each.iter().copied())?;
    if part == Part::Block && nearest.2 > 0.0 {
        let is_quick = |one: &&(&Class, usize, f64)| {
            let (class, at, distance) = **one;
            class.members[at].0.is_quick() && distance <= ORDERS * class.spread[0]
        };
        let quick = least(&mut each.iter().filter(is_quick).copied());
        if let Some(quick) = quick {
            return Some(quick);
        }
    }
    // Elements far away decide the distance and say nothing of the mode: that of most elements is another one perhaps.
    let near = |class: &Class, at: usize| {
        let values = &class.members[at].1;
        let is_near = |element: &usize| {
            let z = (compared.observed[*element] - values[*element]) / compared.scale[*element];
            z.abs() <= ORDERS * class.spread[0]
        };
        (0..compared.observed.len()).filter(is_near).count()
    };
    let own = near(nearest.0, nearest.1);
    if nearest.2 <= ORDERS * nearest.0.spread[0] || own * 2 > compared.observed.len() {
        return Some(nearest);
    }
    // Of a fault that is nearly everywhere some elements stay as they are: they tell the mode, where another has far fewer of them.
    let is_of_most = |count: usize| count * SOME > compared.observed.len() && count > 2 * own;
    let each = classes.iter().flat_map(|class| (0..class.members.len()).map(move |at| (class, at)));
    let of_most = each.map(|(class, at)| (near(class, at), class, at)).max_by_key(|(count, ..)| *count);
    let of_most = of_most.filter(|(count, ..)| is_of_most(*count));
    let distance = |class: &Class, at: usize| compared.distance(compared.observed, &class.members[at].1);
    Some(of_most.map_or(nearest, |(_, class, at)| (class, at, distance(class, at))))
}

/// Members by precision, and the scale of differences at each element.
fn classes<'a>(
    ground: &'a Ground,
    output: usize,
    observed: &[f64],
    truth: Option<&[f64]>,
    enclosed: Option<&[crate::oracle::interval::Interval]>,
    format: &'static Format,
) -> (Vec<Class<'a>>, Vec<f64>) {
    let mut classes: Vec<Class> = Vec::new();
    let named = ground.settings.mode.as_ref();
    let least = named.map_or(0, |mode| mode.precision.place());
    for member in &ground.members.each {
        let values = member.results[output].data().to_f64s();
        let precision = member.precisions[output];
        match classes.iter_mut().find(|class| class.precision == precision) {
            Some(class) => class.members.push((member, values)),
            None => classes.push(Class {
                precision,
                is_permitted: precision >= least,
                members: vec![(member, values)],
                spread: [0.0; 2],
            }),
        }
    }
    let middle: Vec<f64> = match (truth, classes.last()) {
        (Some(truth), _) => truth.to_vec(),
        (None, Some(class)) => class.members[0].1.clone(),
        (None, None) => observed.to_vec(),
    };
    let finite: Vec<f64> = middle.iter().copied().filter(|value| value.is_finite()).collect();
    let rms = (finite.iter().map(|value| value * value).sum::<f64>() / finite.len().max(1) as f64).sqrt();
    let ulp = |at: usize| format.ulp(if middle[at].is_finite() { middle[at] } else { rms });
    let scale: Vec<f64> = (0..observed.len())
        .map(|at| {
            let width = enclosed.map(|all| (all[at].hi - all[at].lo) / 2.0).filter(|width| width.is_finite());
            let of_value = || if middle[at].is_finite() { 0.5 * (middle[at].abs() + rms) } else { rms };
            let width = width.unwrap_or_else(|| of_value() * 2.0_f64.powi(-20)).max(ulp(at) / 2.0);
            if width > 0.0 { width } else { f64::MIN_POSITIVE }
        })
        .collect();
    let compared = Compared { observed, scale: &scale, dims: &[] };
    let is_narrow = !matches!(
        ground.program.entry().instructions[ground.program.outputs()[output]].shape.dtype(),
        Some(DType::F32 | DType::F64)
    );
    let count = observed.len().max(1) as f64;
    let flips = (FLIPS * count).max(2.0) / count;
    let steps = (0..observed.len()).map(|at| (ulp(at) / scale[at]).powi(2)).sum::<f64>() / count;
    let floor = if is_narrow { (steps * flips / (ORDERS * ORDERS)).sqrt() } else { steps.sqrt() };
    for class in &mut classes {
        let first = &class.members[0].1;
        let spread = class.members.iter().map(|(_, values)| compared.distance(values, first)).fold(floor, f64::max);
        let largest = class.members.iter().map(|(_, values)| compared.largest(values, first)).fold(floor, f64::max);
        class.spread = [spread, largest];
    }
    (classes, scale)
}
