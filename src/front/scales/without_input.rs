//! Rules that bytes alone exclude: each gives the largest element of a block a range.

use crate::num::exp2i;
use crate::scaled::{Element, Rounding, Rule, ScaleType, rules_of};

use super::byte_reading::{self as reading, Elements, Scales};
use super::given::{Given, ScalesError};
use super::read_case::MOST_BLOCKS;
use super::rounded::scale_beside;
use super::scales_answer::{Answer, Exclusion, MOST_NUMBERS, PerTensorAnswer, ZeroPointsAnswer};
use super::text::numbers;

/// Range of a block's largest magnitude over its scale, before it is rounded to an element; `None` of rules that promise none.
fn range(rule: &Rule, element: &Element) -> Option<(f64, f64)> {
    // Symmetric rules of unsigned integers lie around the middle element.
    let max = if element.min() == 0.0 { (element.max() - 1.0) / 2.0 } else { element.max() };
    let power = element.max_exponent().map_or(max, exp2i);
    let half_step = element.fraction_bits().map_or(0.0, |bits| exp2i(-(bits as i32) - 1));
    let integer = |divisor: f64| (divisor * (1.0 - 1.0 / 256.0), divisor * (1.0 + 1.0 / 256.0));
    Some(match rule.name {
        "FLOOR" => (power, 2.0 * power),
        "CEIL" => (power / 2.0, power),
        "EVEN" => ((2.0 - half_step) / 2.0 * power, (2.0 - half_step) * power),
        // An f32 log2 may be one low next to a power of two.
        "RCEIL" => (max / 2.0, max * (1.0 + 2f64.powi(-6))),
        "NEAREST-LOG2" => (max * std::f64::consts::FRAC_1_SQRT_2, max * std::f64::consts::SQRT_2),
        "NEAREST-VALUE" => (max * 0.75, max * 1.5),
        // The scale was rounded to four significant bits.
        "NVFP4" | "NVFP4-1" => (6.0 * (1.0 - 2f64.powi(-4)), 6.0 * (1.0 + 2f64.powi(-4))),
        "AMAX-127" => integer(127.0),
        "AMAX-127.5" => integer(127.5),
        "AMAX-128" => integer(128.0),
        "AMAX-7" => integer(7.0),
        "AMAX-7.5" => integer(7.5),
        "AMAX-8" => integer(8.0),
        "AMAX-MAX" => integer(max),
        // The least element is one farther from zero than the largest.
        "NO-CLIP" => (max, max + 1.0),
        // Either end, or the zero point, may be rounded inward.
        "MINMAX" | "MINMAX-WITHOUT-ZERO" | "MINMAX-FLOAT" | "MIN-FLOAT" => {
            (element.max() - element.min() - 1.0, element.max() - element.min())
        }
        _ => return None,
    })
}

/// The magnitude of the element that a number, or its negative where `sign` is -1, is rounded to.
fn rounded(element: &Element, value: f64, sign: f64) -> f64 {
    element.decode(element.round(value * sign, 1.0, Rounding::NearestEven).code).abs()
}

/// One block's elements as far as rules bound them.
struct Ends {
    /// Its number.
    block: usize,
    /// The least and the largest element.
    low: f64,
    high: f64,
    /// The code of its scale.
    code: u64,
    /// Its zero point.
    zero: Option<f64>,
}

impl Ends {
    /// The number that a rule bounds: the largest magnitude, or the distance between both ends.
    fn measure(&self, rule: &Rule, element: &Element) -> f64 {
        let zero = self.zero.unwrap_or(0.0);
        let (least, largest) = (element.min(), element.max());
        match rule.name {
            // A zero point that was clamped leaves the elements anywhere.
            "MINMAX-WITHOUT-ZERO" if zero <= least || zero >= largest => largest - least,
            "MINMAX-WITHOUT-ZERO" => self.high - self.low,
            "MINMAX" => self.high.max(zero) - self.low.min(zero),
            "MINMAX-FLOAT" | "MIN-FLOAT" => self.high - self.low,
            _ => (self.high - zero).max(zero - self.low),
        }
    }
}

/// The ends of blocks; blocks of zeros and of scales that are no normal number are left out.
fn ends(elements: &Elements, scales: &Scales) -> Vec<Ends> {
    let all = scales.codes.len();
    let few = all.min(MOST_BLOCKS);
    let of = |block: usize| {
        let code = scales.codes[block];
        scale_beside(scales.scale_type, code, 0)?;
        let is_end = match scales.scale_type {
            ScaleType::E8M0 => code >= 254,
            ScaleType::E4M3 => !(9..126).contains(&code),
            ScaleType::Float(_) | ScaleType::Inverse(_) => false,
        };
        let zero = scales.zeros.as_ref().map(|zeros| zeros[block]);
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for place in scales.blocks.positions(block) {
            let number = elements.element.decode(elements.codes[place]);
            if !number.is_finite() {
                return None;
            }
            (low, high) = (low.min(number), high.max(number));
        }
        let is_flat = low == high && (zero.is_some() || low == 0.0);
        (!is_end && low <= high && !is_flat).then_some(Ends { block, low, high, code, zero })
    };
    (0..few).map(|at| at * all / few.max(1)).filter_map(of).collect()
}

/// Answers from elements and scales alone.
pub(super) fn answer(given: &Given) -> Result<Answer, ScalesError> {
    let mut best: Option<(Answer, usize)> = None;
    let mut has_reading = false;
    for elements in reading::elements(given)? {
        for scales in reading::scales(given, &elements)? {
            has_reading = true;
            let answer = of_reading(given, &elements, &scales);
            let Some(answer) = answer else { continue };
            let excluded = answer.excluded.iter().map(|one| one.blocks).min().unwrap_or(0);
            let wrong = if answer.rules.is_empty() { excluded.max(1) } else { 0 };
            if best.as_ref().is_none_or(|(_, least)| wrong < *least) {
                best = Some((answer, wrong));
            }
        }
    }
    let dims = || ScalesError::Dims {
        elements: given.elements.dims().to_vec(),
        dtype: given.elements.dtype(),
        scales: given.scales.dims().to_vec(),
        input: String::new(),
    };
    best.map(|(answer, _)| answer).ok_or_else(|| if has_reading { ScalesError::NoBlocks } else { dims() })
}

#[expect(clippy::too_many_lines, reason = "one search with one state")]
fn of_reading(given: &Given, elements: &Elements, scales: &Scales) -> Option<Answer> {
    let blocks = ends(elements, scales);
    if blocks.is_empty() {
        return None;
    }
    let element = elements.element;
    let rules = rules_of(scales.scale_type, element);
    let has_level =
        |rule: &Rule| scales.scale_type != ScaleType::E4M3 || rule.has_per_tensor() == given.per_tensor.is_some();
    let (middle, has_zeros) = ((element.min() + element.max() + 1.0) / 2.0, scales.zeros.is_some());
    let mut fewest: Option<(&Rule, Vec<usize>)> = None;
    let (mut left, mut excluded): (Vec<&Rule>, Vec<Exclusion>) = (Vec::new(), Vec::new());
    for rule in rules.into_iter().filter(|rule| has_level(rule) && (has_zeros || !rule.has_zero_points())) {
        let Some((low, high)) = range(rule, element) else { continue };
        // Two's complement has one number more below zero; distances are no elements.
        let (low, high) = match has_zeros {
            true => (low.floor(), high.ceil()),
            false => (rounded(element, low, 1.0), rounded(element, high, -1.0)),
        };
        let is_outside = |ends: &&Ends| {
            let is_elsewhere = has_zeros && !rule.has_zero_points() && ends.zero != Some(middle);
            is_elsewhere || !(low..=high).contains(&ends.measure(rule, element))
        };
        let outside: Vec<&Ends> = blocks.iter().filter(is_outside).collect();
        let numbers: Vec<usize> = outside.iter().map(|ends| ends.block).collect();
        if fewest.as_ref().is_none_or(|(_, few)| numbers.len() < few.len()) {
            fewest = Some((rule, numbers.clone()));
        }
        match outside.first() {
            None => left.push(rule),
            Some(first) => {
                let (block, number, code) = (first.block, first.measure(rule, element), first.code);
                if !excluded.iter().any(|one| one.rule == rule.name) {
                    let what = if has_zeros { "range over the zero point" } else { "largest element" };
                    let because = format!(
                        "the {what} of block {block} is {number} under scale {code}; the rule gives {low} to {high}"
                    );
                    excluded.push(Exclusion {
                        rule: rule.name.to_string(),
                        blocks: outside.len(),
                        first_block: block,
                        numbers: numbers.into_iter().take(MOST_NUMBERS).collect(),
                        because,
                    });
                }
            }
        }
    }
    let mut faults = if left.is_empty() { vec!["the bytes exclude every rule".to_string()] } else { Vec::new() };
    if let (true, Some((rule, others))) = (left.is_empty(), fewest)
        && others.len() * 4 <= blocks.len()
    {
        faults.push(format!(
            "{} of {} blocks have elements that no rule gives under their scales, which may be stale; {} explains the others: {}",
            others.len(),
            blocks.len(),
            rule.name,
            numbers(&others)
        ));
        left.push(rule);
    }
    let distinct = |of: fn(&Rule) -> &'static str| {
        let mut found: Vec<String> = Vec::new();
        for rule in &left {
            if !found.iter().any(|known| known == of(rule)) {
                found.push(of(rule).to_string());
            }
        }
        found
    };
    let (names, sub_rules, libraries) =
        (distinct(|rule| rule.name), distinct(|rule| rule.sub_rule), distinct(|rule| rule.library));
    let shape = scales.blocks.sides().to_vec();
    let long: Vec<usize> = (0..shape.len()).filter(|at| shape[*at] > 1).collect();
    Some(Answer {
        agrees: faults.is_empty(),
        format: super::format_name(element, scales.scale_type),
        element_type: element.name,
        scale_type: scales.scale_type.name(),
        block: shape.iter().product(),
        axis: if long.len() > 1 { None } else { long.first().copied().or(shape.len().checked_sub(1)) },
        block_shape: shape,
        packing: elements.packing.name(),
        blocks: scales.codes.len(),
        judged: blocks.len(),
        rules: names,
        sub_rules,
        libraries,
        classes: Vec::new(),
        excluded,
        scale_offset: 0,
        edges: "not asked without the input",
        per_tensor: given.per_tensor.map(|g| PerTensorAnswer {
            given: Some(g.into()),
            expected: None,
            status: "not asked",
        }),
        zero_points: given.zero_points.as_ref().map(|zeros| ZeroPointsAnswer {
            dtype: Some(zeros.dtype().name()),
            status: "not asked",
            disagree: 0,
            first_block: None,
            stored: None,
            rule: None,
        }),
        reciprocal: false,
        disagree: 0,
        first_disagreement: None,
        elements: None,
        faults,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scaled::UINT8;
    use crate::tensor::DType;

    /// A zero point at an end of the range may have been clamped there: then the elements say nothing of the distance.
    #[test]
    fn a_clamped_zero_point_leaves_the_elements_anywhere() {
        let rules = rules_of(ScaleType::Float(DType::F32), &UINT8);
        let rule = rules.into_iter().find(|rule| rule.name == "MINMAX-WITHOUT-ZERO").unwrap();
        let of = |zero: f64| Ends { block: 0, low: 3.0, high: 9.0, code: 0, zero: Some(zero) }.measure(rule, &UINT8);
        assert_eq!([of(0.0), of(255.0), of(1.0), of(254.0)], [255.0, 255.0, 6.0, 6.0]);
    }
}
