//! The judgement: which reading, which class of rules, and what is wrong.

use std::collections::BTreeSet;

use crate::scaled::{Extreme, Quotient, Rounding, ScaleType, per_tensor_scale};
use crate::tensor::DType;

use super::best_way::{Ways, best_way, way_of_all};
use super::byte_reading::{self as reading, Exchange};
use super::candidate::{Ranked, RuleCandidate, Status, candidates, classes};
use super::exchanged_lines;
use super::given::{Given, ScalesError};
use super::read_case::ReadCase;
use super::rounded::{self, Block, STEPS, Types, Way, code_beside, scale_beside};
use super::scales_answer::{
    Answer, Class, Disagreement, ElementsAnswer, MOST_NUMBERS, OtherElement, PerTensorAnswer, ZeroPointsAnswer,
};
use super::zero_use::ZeroUse;

/// Elements of a block that readings are compared by.
const FEW_ELEMENTS: usize = 64;

/// Share of scales that the best rule gives and share of elements that follow, for comparing readings.
fn score(case: &ReadCase, given: &Given, values: &[f32]) -> f64 {
    let blocks: Vec<(Block, Extreme)> = case
        .sample()
        .into_iter()
        .map(|at| case.block(at))
        .map(|block| {
            let extreme = case.extreme(&block);
            (block, extreme)
        })
        .filter(|(_, extreme)| extreme.is_ordinary())
        .collect();
    if blocks.is_empty() {
        return 0.0;
    }
    let all = candidates(given, case, values);
    let steps = [0, 1, -1];
    let supports = |candidate: &RuleCandidate, step: i64| {
        let is_given = |(block, extreme): &&(Block, Extreme)| {
            candidate.permits(case, extreme, code_beside(case.types.scales, block.scale, -step))
                && candidate.permits_zero(case, extreme, block.zero)
        };
        blocks.iter().filter(is_given).count()
    };
    let most = all.iter().flat_map(|one| steps.iter().map(move |step| (one, *step)));
    let most = most.map(|(one, step)| supports(one, step)).max().unwrap_or(0);
    let looked_at: usize = blocks.iter().map(|(block, _)| block.values.len().min(FEW_ELEMENTS)).sum();
    let gs: BTreeSet<u32> = all.iter().map(|one| one.g.to_bits()).chain([1f32.to_bits()]).collect();
    let follow = |g: f32, step: i64| -> usize {
        let of = |quotient: &Quotient| -> usize {
            let way = Way { quotient: *quotient, rounding: Rounding::NearestEven, g, zero: ZeroUse::Stored };
            let of = |(block, _): &(Block, Extreme)| {
                let scale = scale_beside(case.types.scales, block.scale, step);
                scale.map_or(0, |scale| rounded::count(&case.types, &way, block, scale, FEW_ELEMENTS))
            };
            blocks.iter().map(of).sum()
        };
        // Float zero points are numbers, integer ones elements.
        let forms: &[Quotient] = match case.types.zeros {
            Some(dtype) if dtype.is_float() => &[Quotient::Exact, Quotient::LessZeroPoint, Quotient::LessMiddle],
            _ => &[Quotient::Exact],
        };
        forms.iter().map(of).max().unwrap_or(0)
    };
    let follows = gs.iter().flat_map(|g| steps.iter().map(move |step| (f32::from_bits(*g), *step)));
    let follows = follows.map(|(g, step)| follow(g, step)).max().unwrap_or(0);
    most as f64 / blocks.len() as f64 + follows as f64 / looked_at.max(1) as f64
}

/// Judges a file's tensors with the input.
pub(super) fn with_input(given: &Given, values: &[f32], dtype: DType) -> Result<Answer, ScalesError> {
    let element_readings = reading::elements(given)?;
    let mut readings = Vec::new();
    for elements in &element_readings {
        for scales in reading::scales(given, elements)? {
            readings.push((elements, scales));
        }
    }
    let zeros = given.zero_points.as_ref().map(crate::tensor::Tensor::dtype);
    let mut best: Option<(f64, usize)> = None;
    for (at, (elements, scales)) in readings.iter().enumerate() {
        let types = Types { element: elements.element, scales: scales.scale_type, dtype, zeros };
        let case = ReadCase { elements, scales, types, values };
        let is_turned = scales.exchange != Exchange::None || elements.exchange != Exchange::None;
        let is_odd = matches!(scales.scale_type, ScaleType::Inverse(_)) && !given.may_be_reciprocals;
        let score = score(&case, given, values) - if is_turned { 0.05 } else { 0.0 } - if is_odd { 0.05 } else { 0.0 };
        if best.is_none_or(|(most, _)| score > most + 1e-9) {
            best = Some((score, at));
        }
    }
    let Some((elements, scales)) = best.and_then(|(_, at)| readings.get(at)) else {
        let input = given.input.as_ref().map_or(String::new(), |input| format!(", input {:?}", input.dims()));
        let (elements, scales) = (given.elements.dims().to_vec(), given.scales.dims().to_vec());
        return Err(ScalesError::Dims { elements, dtype: given.elements.dtype(), scales, input });
    };
    let types = Types { element: elements.element, scales: scales.scale_type, dtype, zeros };
    let case = ReadCase { elements, scales, types, values };
    let found = answer(&case, given, values)?;
    if found.agrees || zeros.is_some() || !elements.element.is_integer() {
        return Ok(found);
    }
    Ok(without_zero_points(&case, given, values)?.unwrap_or(found))
}

/// The answer with the zero points of a rule that has them, where those explain what the file's tensors alone do not.
fn without_zero_points(case: &ReadCase, given: &Given, values: &[f32]) -> Result<Option<Answer>, ScalesError> {
    let all = candidates(given, case, values);
    for one in all.iter().filter(|one| one.status == Status::WithoutZeros) {
        let zero = |at: usize| {
            let extreme = case.extreme(&case.block(at));
            one.zero_point(case, &extreme).unwrap_or(0.0)
        };
        // One block that does not follow is enough, and is found sooner than all zero points.
        let sample = case.sample();
        let fits = |at: &usize| one.permits(case, &case.extreme(&case.block(*at)), case.scales.codes[*at] as i64);
        if sample.iter().filter(|at| fits(at)).count() * 2 < sample.len() {
            continue;
        }
        let scales =
            reading::Scales { zeros: Some((0..case.scales.codes.len()).map(zero).collect()), ..case.scales.clone() };
        let dtype = if one.rule.has_integer_zero_points() { DType::S32 } else { DType::F32 };
        let types = Types { zeros: Some(dtype), ..case.types };
        let mut found = answer(&ReadCase { scales: &scales, types, ..*case }, given, values)?;
        if found.agrees {
            (found.agrees, found.faults) = (false, one.fault().map(str::to_string).into_iter().collect());
            let (disagree, first_block) = (found.blocks, Some(0));
            found.zero_points = Some(ZeroPointsAnswer {
                dtype: None,
                status: "missing",
                disagree,
                first_block,
                stored: None,
                rule: scales.zeros.and_then(|zeros| zeros.first().copied()),
            });
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[expect(clippy::too_many_lines, reason = "the parts of one record depend on those before")]
fn answer(case: &ReadCase, given: &Given, values: &[f32]) -> Result<Answer, ScalesError> {
    let (elements, scales) = (case.elements, case.scales);
    let sample: Vec<(usize, Block, Extreme)> = case
        .sample()
        .into_iter()
        .map(|at| {
            let block = case.block(at);
            let extreme = case.extreme(&block);
            (at, block, extreme)
        })
        .collect();
    if !sample.iter().any(|(_, _, extreme)| extreme.is_ordinary()) {
        return Err(ScalesError::NoBlocks);
    }
    let all = candidates(given, case, values);
    let parts: Vec<(Block, Extreme)> = sample.iter().map(|(_, block, extreme)| (block.clone(), *extreme)).collect();
    let mut gs: Vec<f32> = Vec::new();
    for g in all.iter().map(|one| one.g).chain([1.0]) {
        if !gs.contains(&g) {
            gs.push(g);
        }
    }
    let ways = best_way(case, &parts, &gs);
    let element_step = ways.step;
    let way = if element_step == 0 { way_of_all(case, &ways) } else { ways.best };
    let mut faults = Vec::new();
    faults.extend([scales.exchange, elements.exchange].into_iter().filter_map(|one| one.fault().map(str::to_string)));
    faults.extend(way.zero.fault());
    let is_reciprocal = matches!(scales.scale_type, ScaleType::Inverse(_));
    if is_reciprocal && !given.may_be_reciprocals {
        faults.push("the scales are stored as reciprocals: elements are to be divided by them".to_string());
    }
    let ranked = classes(case, &all, &parts, element_step, &way);
    let (ranked, offset) = match ranked.first() {
        Some(first) if first.is_whole || element_step != 0 => (ranked, element_step),
        _ => {
            let others = [1, -1].map(|step| (classes(case, &all, &parts, step, &way), step));
            let whole = others.into_iter().find(|(other, _)| other.first().is_some_and(|first| first.is_whole));
            whole.unwrap_or((ranked, 0))
        }
    };
    if offset != 0 {
        let (steps, side) = (offset.abs(), if offset > 0 { "low" } else { "high" });
        let steps = match scales.scale_type {
            ScaleType::Float(_) | ScaleType::Inverse(_) => format!("{}-fold", 1u64 << steps.min(63)),
            ScaleType::E8M0 | ScaleType::E4M3 => steps.to_string(),
        };
        faults.push(match element_step {
            0 => format!("all scales are {steps} too {side}: a rule explains them without that"),
            _ => format!("all scales are {steps} too {side}: the elements were rounded by others"),
        });
    }
    let Some(top) = ranked.first() else {
        return Err(ScalesError::NoBlocks);
    };
    let leader = &top.members[0];
    if let Some(fault) = leader.fault() {
        faults.push(fault.to_string());
    }
    let zero_points = zero_points(case, top, &way);
    if let Some(ZeroPointsAnswer { disagree: other @ 1.., .. }) = zero_points {
        let all = scales.codes.len();
        faults.push(format!("{other} of {all} blocks have another zero point than {}'s", leader.rule.name));
    }
    let (disagree, first_disagreement) = disagreements(case, top, offset, &way);
    if disagree > 0 {
        let all = scales.codes.len();
        faults.push(match disagree * 4 <= all {
            true => format!("{disagree} of {all} blocks have another scale than {}'s", leader.rule.name),
            false => format!("no rule explains the scales: the best one leaves {disagree} of {all} blocks"),
        });
    }
    let mut element_answer = element_answer(case, &way, &ways, &all);
    let others: usize = element_answer.by_another_scale.values().sum();
    if others > 0 && element_step == 0 {
        faults.push(format!("the elements of {others} blocks are kept from another scale than the stored one"));
    }
    if element_step != 0 {
        let its = element_answer.by_their_scale;
        if its > 0 {
            faults.push(format!("the elements of {its} blocks follow the stored scale, those of the others do not"));
        }
    } else {
        element_answer.rounded_by_rules.retain(|_| others > 0);
    }
    // Where every block follows, no lines changed places.
    let others_of_zeros = zero_points.as_ref().map_or(0, |zeros| zeros.disagree);
    if disagree + others + element_answer.by_none + others_of_zeros > 0 {
        faults.extend(exchanged_lines::fault(case, top, offset, &way));
    }
    if element_answer.by_none > 0 {
        faults.push(format!(
            "the elements of {} blocks follow from no scale near the stored one",
            element_answer.by_none
        ));
    }
    let is_used = way.g == leader.g || leader.g == 1.0 && way.g == 1.0;
    if !is_used && scales.scale_type == ScaleType::E4M3 {
        faults.push(format!("elements were divided with a per-tensor scale of {}, scales with {}", way.g, leader.g));
    }
    let shape = scales.blocks.sides().to_vec();
    let long: Vec<usize> = (0..shape.len()).filter(|at| shape[*at] > 1).collect();
    let per_tensor = (scales.scale_type == ScaleType::E4M3).then(|| PerTensorAnswer {
        given: given.per_tensor.map(f64::from),
        expected: Some(f64::from(per_tensor_scale(values))),
        status: leader.status.name(),
    });
    Ok(Answer {
        agrees: faults.is_empty(),
        format: super::format_name(elements.element, scales.scale_type),
        element_type: elements.element.name,
        scale_type: scales.scale_type.name(),
        block: shape.iter().product(),
        axis: match long[..] {
            [] => shape.len().checked_sub(1),
            [axis] => Some(axis),
            _ => None,
        },
        block_shape: shape,
        packing: elements.packing.name(),
        blocks: scales.codes.len(),
        judged: sample.len(),
        rules: top.class().rules,
        sub_rules: top.class().sub_rules,
        libraries: top.class().libraries,
        classes: ranked.iter().map(|one| one.class()).collect::<Vec<Class>>(),
        excluded: Vec::new(),
        scale_offset: -offset,
        edges: top.edges,
        per_tensor,
        zero_points,
        reciprocal: is_reciprocal,
        disagree,
        first_disagreement,
        elements: Some(element_answer),
        faults,
    })
}

/// The zero points against those of the best class; `None` of files without them.
fn zero_points(case: &ReadCase, top: &Ranked, way: &Way) -> Option<ZeroPointsAnswer> {
    let zeros = case.scales.zeros.as_ref()?;
    let extreme = |at: usize| case.extreme(&case.block(at));
    let differs = |at: &usize| !top.permits_zero(case, &extreme(*at), Some(way.zero.of(zeros[*at])));
    let mut others = (0..zeros.len()).filter(differs);
    let first_block = others.next();
    Some(ZeroPointsAnswer {
        dtype: case.types.zeros.map(DType::name),
        status: way.zero.name(),
        disagree: usize::from(first_block.is_some()) + others.count(),
        first_block,
        stored: first_block.map(|at| zeros[at]),
        rule: first_block.and_then(|at| top.members[0].zero_point(case, &extreme(at))),
    })
}

/// All blocks whose scale the best class does not give: their number, and the first with the cost of it.
fn disagreements(case: &ReadCase, top: &Ranked, offset: i64, way: &Way) -> (usize, Option<Disagreement>) {
    let (mut count, mut first) = (0, None);
    for at in 0..case.scales.codes.len() {
        let block = case.block(at);
        let extreme = case.extreme(&block);
        if top.permits(case, &extreme, code_beside(case.types.scales, block.scale, offset)) {
            continue;
        }
        count += 1;
        if first.is_none() {
            let leader = &top.members[0];
            let rule = leader.codes(case, &extreme);
            let (stored_error, stored_saturated) = cost(case, &block, block.scale, way, true);
            let (rule_error, rule_saturated) =
                rule.first().map_or((None, 0), |code| cost(case, &block, *code, way, false));
            first = Some(Disagreement {
                block: at,
                place: case.scales.blocks.place(at),
                largest: f64::from(extreme.value),
                stored: block.scale,
                rule,
                stored_error,
                rule_error,
                stored_saturated,
                rule_saturated,
            });
        }
    }
    (count, first)
}

/// Relative error of a block under a scale, with the stored elements or with elements rounded by that scale, and the clamped elements.
fn cost(case: &ReadCase, block: &Block, scale: u64, way: &Way, is_stored: bool) -> (Option<f64>, usize) {
    let number = case.types.scales.decode(scale);
    if !(number > 0.0 && number.is_finite() && block.values.iter().all(|value| value.is_finite())) {
        return (None, 0);
    }
    let (element, exact) = (case.types.element, number * f64::from(way.g));
    // A float zero point is the number that an element stands for, without a scale.
    let zero = block.zero.map_or(0.0, |zero| way.zero.of(zero));
    let has_number = matches!(way.quotient, Quotient::LessZeroPoint | Quotient::LessMiddle);
    let of = |value: &f32| {
        let x = crate::scaled::Maximum { value: *value, dtype: case.types.dtype };
        let over = way.quotient.element(&x, [number, zero], way.g, element, way.rounding);
        if case.types.zeros.is_some()
            && let Some(over) = over
        {
            return over;
        }
        element.round(f64::from(*value), exact, way.rounding)
    };
    let clamped: Vec<_> = block.values.iter().map(of).collect();
    let numbers = block.codes.iter().zip(&clamped);
    let numbers = numbers.map(|(code, rounded)| {
        let decoded = element.decode(if is_stored { *code } else { rounded.code });
        match way.quotient {
            _ if !has_number => (decoded - zero) * exact,
            Quotient::LessMiddle => zero + (decoded - (element.min() + element.max() + 1.0) / 2.0) * exact,
            _ => zero + decoded * exact,
        }
    });
    let error = rounded::relative_error(&block.values, numbers);
    (error.is_finite().then_some(error), clamped.iter().filter(|rounded| rounded.saturated).count())
}

/// An answer with the roundings and quotients that fit as many blocks as a way.
fn forms(way: &Way, ways: &Ways) -> ElementsAnswer {
    let mut found = ElementsAnswer::default();
    for other in ways.same.iter().filter(|other| other.g == way.g && other.zero == way.zero) {
        if !found.rounding.contains(&other.rounding.name()) {
            found.rounding.push(other.rounding.name());
        }
        if !found.quotient.contains(&other.quotient.name()) {
            found.quotient.push(other.quotient.name());
        }
    }
    found
}

fn element_answer(case: &ReadCase, way: &Way, ways: &Ways, all: &[RuleCandidate]) -> ElementsAnswer {
    let mut found = forms(way, ways);
    let (types, mut lost) = (&case.types, 0);
    // Scales that the elements of each block were rounded by, for the rules behind them.
    let mut behind: Vec<(Extreme, i64)> = Vec::new();
    for at in 0..case.scales.codes.len() {
        let block = case.block(at);
        let extreme = case.extreme(&block);
        let own = scale_beside(types.scales, block.scale, 0);
        let is_asked = extreme.is_ordinary() && (case.types.scales != ScaleType::E8M0 || block.scale != 255);
        let (true, Some(scale)) = (is_asked, own) else {
            found.not_asked += 1;
            continue;
        };
        let followed = rounded::follow_in_one_pass(types, way, &block, scale);
        found.saturated += followed.clamped;
        lost += followed.lost;
        found.turned_zeros += rounded::turned_zeros(types, &block);
        if followed.all || rounded::all_follow(types, way, &block, scale) {
            found.by_their_scale += 1;
            behind.push((extreme, block.scale as i64));
            continue;
        }
        if found.other_blocks.len() < MOST_NUMBERS {
            found.other_blocks.push(at);
        }
        let step = STEPS.into_iter().find(|step| {
            scale_beside(types.scales, block.scale, *step)
                .is_some_and(|scale| rounded::all_follow(types, way, &block, scale))
        });
        match step {
            Some(step) => {
                *found.by_another_scale.entry(step).or_default() += 1;
                behind.push((extreme, code_beside(types.scales, block.scale, step)));
            }
            None => found.by_none += 1,
        }
        if found.first_other.is_none() {
            let other = rounded::first_other(types, way, &block, scale);
            found.first_other = other.map(|(place, stored, expected)| OtherElement {
                block: at,
                place,
                input: f64::from(block.values[place]),
                stored,
                expected,
            });
        }
    }
    found.saturating = (found.saturated > 0).then_some(lost == 0);
    if !found.by_another_scale.is_empty() {
        let explains = |one: &&RuleCandidate| behind.iter().all(|(extreme, code)| one.permits(case, extreme, *code));
        let names: BTreeSet<&str> = all.iter().filter(explains).map(|one| one.rule.name).collect();
        found.rounded_by_rules = names.into_iter().map(str::to_string).collect();
    }
    found
}
