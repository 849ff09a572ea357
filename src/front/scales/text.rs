//! The answer for people.

use std::fmt::{self, Write};

use super::scales_answer::{Answer, Class};

/// Lines of classes that are shown.
const MOST_CLASSES: usize = 8;

fn listed(names: &[String]) -> String {
    if names.is_empty() { "-".to_string() } else { names.join(", ") }
}

/// Numbers of blocks, the first few of many.
pub(super) fn numbers(blocks: &[usize]) -> String {
    const FEW: usize = 8;
    let few: Vec<String> = blocks.iter().take(FEW).map(usize::to_string).collect();
    if blocks.len() > FEW { format!("{}, ...", few.join(", ")) } else { few.join(", ") }
}

fn class_line(class: &Class, to: &mut String) -> fmt::Result {
    let Class { supports, refutes, .. } = class;
    let (rules, forms, libraries) = (listed(&class.rules), listed(&class.sub_rules), listed(&class.libraries));
    writeln!(to, "  {supports:>5} for {refutes:>5} against  {rules}  [{forms}]  {libraries}")
}

/// The answer as lines.
///
/// # Errors
/// If the text cannot grow.
#[expect(clippy::too_many_lines, reason = "the lines of one text, in order")]
pub fn text(answer: &Answer) -> Result<String, fmt::Error> {
    let mut to = String::new();
    let axis = answer.axis.map_or(format!("{:?}", answer.block_shape), |axis| format!("axis {axis}"));
    writeln!(
        to,
        "{}: {} elements, {} scales, blocks of {} along {axis}, {}",
        answer.format, answer.element_type, answer.scale_type, answer.block, answer.packing
    )?;
    if answer.excluded.is_empty() && answer.elements.is_some() {
        writeln!(to, "rule: {}  [{}]", listed(&answer.rules), listed(&answer.sub_rules))?;
        writeln!(to, "libraries: {}; zero, infinite and NaN blocks: {}", listed(&answer.libraries), answer.edges)?;
        writeln!(to, "classes, by {} of {} blocks:", answer.judged, answer.blocks)?;
        for class in answer.classes.iter().take(MOST_CLASSES) {
            class_line(class, &mut to)?;
        }
        if answer.classes.len() > MOST_CLASSES {
            writeln!(to, "  {} more classes (--json has them)", answer.classes.len() - MOST_CLASSES)?;
        }
    } else {
        writeln!(to, "without the input, by {} of {} blocks", answer.judged, answer.blocks)?;
        writeln!(to, "not excluded: {}", listed(&answer.rules))?;
        for one in &answer.excluded {
            writeln!(
                to,
                "excluded: {} by {} blocks ({}); {}",
                one.rule,
                one.blocks,
                numbers(&one.numbers),
                one.because
            )?;
        }
    }
    if let Some(per_tensor) = &answer.per_tensor {
        let value = |value: Option<f64>| value.map_or("none".to_string(), |value| value.to_string());
        writeln!(
            to,
            "per-tensor scale: {}; in the file {}, largest magnitude / 2688 is {}",
            per_tensor.status,
            value(per_tensor.given),
            value(per_tensor.expected)
        )?;
    }
    if let Some(zeros) = &answer.zero_points {
        let others = zeros.disagree;
        write!(
            to,
            "zero points: {} ({}); {others} are not the rule's",
            zeros.status,
            zeros.dtype.unwrap_or("none stored")
        )?;
        if let (Some(block), Some(stored), Some(rule)) = (zeros.first_block, zeros.stored, zeros.rule) {
            write!(to, ", the first of block {block}: {stored}, the rule gives {rule}")?;
        }
        writeln!(to)?;
    }
    if answer.reciprocal {
        writeln!(to, "scales are stored as reciprocals: elements were multiplied by them")?;
    }
    if let Some(elements) = &answer.elements {
        let saturating = match elements.saturating {
            None => "nothing is clamped",
            Some(true) => "saturating",
            Some(false) => "not saturating",
        };
        writeln!(
            to,
            "elements: {} of the quotient {}; {saturating} ({} clamped)",
            elements.rounding.join(" or "),
            elements.quotient.join(" or "),
            elements.saturated
        )?;
        let others: usize = elements.by_another_scale.values().sum();
        writeln!(
            to,
            "  blocks rounded by their scale {}, by another one {others}, by none near {}, not asked {}",
            elements.by_their_scale, elements.by_none, elements.not_asked
        )?;
        if !elements.other_blocks.is_empty() && elements.other_blocks.len() < answer.blocks {
            writeln!(to, "  blocks not rounded by their scale: {}", numbers(&elements.other_blocks))?;
        }
        if !elements.rounded_by_rules.is_empty() {
            writeln!(to, "  scales that the elements were rounded by: {}", listed(&elements.rounded_by_rules))?;
        }
        if let Some(other) = &elements.first_other {
            writeln!(
                to,
                "  first element that does not follow: block {}, place {}: {:e} is {:#04x}, not {:#04x}",
                other.block, other.place, other.input, other.stored, other.expected
            )?;
        }
    }
    if let Some(first) = &answer.first_disagreement {
        let rule: Vec<String> = first.rule.iter().map(u64::to_string).collect();
        write!(
            to,
            "first block that disagrees: {} at {:?}, largest magnitude {:e}: scale {}, the rule gives {}",
            first.block,
            first.place,
            first.largest,
            first.stored,
            rule.join(" or ")
        )?;
        if let (Some(stored), Some(rule)) = (first.stored_error, first.rule_error) {
            write!(
                to,
                "; relative error {stored:.3e} against {rule:.3e}, clamped {} against {}",
                first.stored_saturated, first.rule_saturated
            )?;
        }
        writeln!(to)?;
    }
    for fault in &answer.faults {
        writeln!(to, "FAULT: {fault}")?;
    }
    if answer.agrees && answer.elements.is_some() {
        writeln!(to, "one class explains all {} blocks", answer.blocks)?;
    }
    Ok(to)
}
