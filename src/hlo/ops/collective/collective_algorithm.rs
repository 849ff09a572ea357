//! Sums of a collective by the plan that a compiled TPU file has of it (FACTS 6.2).

use std::ops::Range;

use crate::ast;
use crate::builder::array_operation::slice;
use crate::builder::{Emitter, Value};
use crate::devices::planned_collective::{PlannedCollective, plan};
use crate::error::LowerError;
use crate::ir::{CollectiveAlgorithm, CollectivePlan, Mark, Ring, Setting, Steps};
use crate::settings;
use crate::tensor::DType;

use super::memory_tiles::Tiles;
use super::per_member::{beside, dims_of, element_type, join};

type Result<T> = std::result::Result<T, LowerError>;

/// The sum of a group by the plan that the file has of the collective; `None` where it has none, or none that can be followed.
/// `operand` is the number of `value` among several.
pub fn sum(e: &mut Emitter, value: &Value, operand: usize, group: &[usize]) -> Result<Option<Value>> {
    let Some(algorithm) = settings::algorithm(e.instruction) else { return Ok(None) };
    let plan = plan(&algorithm).and_then(|plan| match plan.devices() {
        Some(devices) if devices == group.len() => Ok(plan),
        devices => {
            let devices = devices.unwrap_or_default();
            Err(format!("its rings hold {devices} devices, and its groups {}", group.len()))
        }
    });
    record(e, algorithm, group.len(), plan.clone());
    let Ok(plan) = plan else { return Ok(None) };
    if plan.is_pinned() {
        without_algorithm(e);
    }
    let mut members: Vec<Value> = group.iter().map(|device| value.on(*device)).collect();
    let Some(first) = members.first() else { return Ok(None) };
    let (dims, carries) = (dims_of(e, first)?, element_type(e, first)?);
    let tiles = Tiles::of(&dims, e.operand_layout(operand));
    // A plan cuts an array where its tiles end in memory, and not where its dims do.
    let count = tiles.count();
    if count > 1 {
        for member in &mut members {
            *member = beside(e, std::slice::from_ref(member), &mut |e, own| tiles.cut_up(e, own[0]))?;
        }
    }
    let mut exchange = CollectiveAdditions { base: e.lowering.fusions + 1, rings: 0, carries, e };
    let pieces = plan.sums(count, &members, &mut exchange)?;
    let CollectiveAdditions { e, base, rings, .. } = exchange;
    e.lowering.fusions = base + rings;
    let Some(mut pieces) = pieces else { return Ok(None) };
    if count > 1 {
        let together = join(e, &pieces, 0)?;
        pieces = vec![beside(e, &[together], &mut |e, own| tiles.put_together(e, own[0]))?];
    }
    Ok(pieces.pop())
}

/// Notes a collective once, for readers of the file.
fn record(
    e: &mut Emitter,
    algorithm: CollectiveAlgorithm,
    devices: usize,
    plan: std::result::Result<CollectivePlan, String>,
) {
    let ast::Instruction { name, opcode, .. } = e.instruction;
    if e.lowering.collectives.iter().any(|known| known.name == *name) {
        return;
    }
    let (name, opcode, op_name) = (name.clone(), opcode.clone(), e.attributes().op_name());
    e.lowering.collectives.push(PlannedCollective { name, opcode, op_name, devices, algorithm, plan });
}

/// Takes the algorithm out of the settings: the machine follows all that it says of bits.
fn without_algorithm(e: &mut Emitter) {
    let Some(settings) = &e.settings else { return };
    let is_other = |setting: &&Setting| !matches!(setting, Setting::CollectiveAlgorithm(_));
    let left: Vec<Setting> = settings.iter().filter(is_other).cloned().collect();
    e.settings = (!left.is_empty()).then(|| left.into());
}

/// The additions of one collective.
struct CollectiveAdditions<'x, 'e, 'a> {
    e: &'x mut Emitter<'e, 'a>,
    /// The number of its first ring, among all fusions.
    base: usize,
    /// The rings so far.
    rings: usize,
    carries: DType,
}

impl Steps<Value> for CollectiveAdditions<'_, '_, '_> {
    type Error = LowerError;

    fn cut(&mut self, value: &Value, tiles: Range<usize>) -> Result<Value> {
        beside(self.e, std::slice::from_ref(value), &mut |e, own| slice(e, own[0], 0, [tiles.start, tiles.end]))
    }

    fn add(&mut self, ring: Ring, arrived: Value, own: Value) -> Result<Value> {
        self.rings = self.rings.max(ring.number + 1);
        let region = self.e.attributes().callee("to_apply")?;
        let dims = dims_of(self.e, &arrived)?;
        let (number, carries) = (self.base + ring.number, self.carries);
        let exchange = Mark::Exchange { number, carries, is_planned: ring.is_known };
        self.e.inline_within(region, &[arrived, own], Some(dims), Some(exchange))
    }
}
