//! Elements that each place of a fusion's value computes. The moves between the value and the result give its places.
//! Each place has its own code, and its own order of operands.

use std::collections::HashMap;

use crate::ir::{Computation, Fusion, Op, ValueId};

use super::address::Place;
use super::innermost::is_loop;
use super::kernel_functions::results_of;
use super::ways::element_read;

/// The most elements that are followed, counted over all values and places.
const MOST: usize = 1 << 20;

/// For each place of `value`, whether each element is computed there; `None` if that takes too long.
pub fn elements_in_places(
    computation: &Computation,
    fusion: Option<Fusion>,
    value: ValueId,
) -> Option<HashMap<Place, Vec<bool>>> {
    let instructions = &computation.instructions;
    let elements = |id: ValueId| instructions[id].shape.elements();
    let mut found: Vec<HashMap<Place, Vec<bool>>> = vec![HashMap::new(); instructions.len()];
    for result in results_of(computation, fusion).into_iter().filter(|result| *result >= value) {
        found[result].insert(Vec::new(), vec![true; elements(result)]);
    }
    let mut left = MOST;
    for id in (value + 1..instructions.len()).rev().filter(|id| instructions[*id].fusion() == fusion) {
        let instruction = &instructions[id];
        for (place, read) in std::mem::take(&mut found[id]) {
            for (branch, operand) in instruction.operands.iter().enumerate().filter(|(_, operand)| **operand >= value) {
                left = left.checked_sub(elements(id) + elements(*operand))?;
                let mut place = place.clone();
                match instruction.op {
                    Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Reverse { .. } => place.push(id),
                    Op::Reduce { .. } if is_loop(computation, id) => place.push(id),
                    Op::Concatenate { .. } => place.extend([id, branch]),
                    _ => {}
                }
                let own = found[*operand].entry(place).or_insert_with(|| vec![false; elements(*operand)]);
                for at in (0..read.len()).filter(|at| read[*at]) {
                    match element_read(computation, id, branch, at) {
                        Some(Some(at)) => own[at] = true,
                        Some(None) => {}
                        None => {
                            own.fill(true);
                            break;
                        }
                    }
                }
            }
        }
    }
    Some(std::mem::take(&mut found[value]))
}
