//! `scales`: the rule that made the scales of a quantised tensor, named from its bytes.
//!
//! A file's tensors ([`Given`]) may be read in several ways: element type, packing, axis, block. The reading is taken that explains most
//! scales and elements. Rules are then ranked by the blocks that support and refute them, as classes that these bytes cannot tell apart.

mod best_way;
mod byte_reading;
mod candidate;
mod exchange;
mod exchanged_lines;
mod given;
mod judge_scales;
mod named_tensors;
mod packed_words;
mod read_case;
mod rounded;
mod scales_answer;
mod text;
mod without_input;
mod zero_use;

use crate::scaled::{Element, ScaleType};

pub use given::{Given, Layout, ScalesError};
pub use named_tensors::{NAMES, find_tensors};
pub use read_case::MOST_BLOCKS;
pub use scales_answer::{
    Answer, Class, Disagreement, ElementsAnswer, Exclusion, OtherElement, PerTensorAnswer, ZeroPointsAnswer,
};
pub use text::text;

/// The rule behind a quantised tensor, and everything that does not follow it; without the input, the rules that bytes alone exclude.
///
/// # Errors
/// If dims or types do not fit, or no block says anything.
pub fn judge(given: &Given) -> Result<Answer, ScalesError> {
    if !given.packed.is_empty() {
        return of_packed(&given.packed);
    }
    match &given.input {
        Some(input) => judge_scales::with_input(given, &input.data().to_f32s(), input.dtype()),
        None => without_input::answer(given),
    }
}

/// The answer of the layout of packed words that leaves the fewest blocks unexplained, the first of several.
fn of_packed(packed: &[(Layout, Given)]) -> Result<Answer, ScalesError> {
    let (mut best, mut refused): (Option<(usize, Answer)>, _) = (None, ScalesError::NoBlocks);
    for (layout, given) in packed {
        let mut answer = match judge(given) {
            Ok(answer) => answer,
            Err(why) => {
                refused = why;
                continue;
            }
        };
        answer.packing = layout.name();
        if let Some(fault) = layout.fault().filter(|_| given.input.is_some()) {
            answer.faults.push(fault.to_string());
        }
        let of_elements =
            answer.elements.as_ref().map_or(0, |one| one.by_none + one.by_another_scale.values().sum::<usize>());
        let of_zeros = answer.zero_points.as_ref().map_or(0, |one| one.disagree);
        let of_faults = if answer.agrees { 0 } else { answer.faults.len() };
        let left = answer.disagree + of_elements + of_zeros + of_faults;
        answer.agrees &= answer.faults.is_empty();
        if best.as_ref().is_none_or(|(least, _)| left < *least) {
            best = Some((left, answer));
        }
    }
    best.map(|(_, answer)| answer).ok_or(refused)
}

/// The name of a format: `mxfp8`, `nvfp4`, `int8`.
fn format_name(element: &Element, scales: ScaleType) -> String {
    match (scales, element.bits()) {
        (ScaleType::E8M0, bits) => format!("mxfp{bits}"),
        (ScaleType::E4M3, 4) => "nvfp4".to_string(),
        (_, 8) if element.max_exponent().is_some() => "fp8".to_string(),
        _ => element.name.to_string(),
    }
}
