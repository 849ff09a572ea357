//! Programs that are not cut into partitions yet, but have parts that say what each device does (JAX's `shard_map`): where
//! such a part begins, whole arrays are cut, and where it ends they are put together again.
//!
//! Shardy's forms: openxla/shardy, `docs/sdy_dialect.md`; the custom calls: openxla/xla,
//! `service/spmd/shardy/constants.h`.

use crate::ir::Op;

use crate::builder::Emitter;
use crate::builder::Value;
use crate::devices::sharding_mesh::{Mesh, meshes, text};
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// Sharding of one array: for each dim the axes of the mesh along which it is cut.
struct Cut {
    mesh: Mesh,
    axes: Vec<Vec<usize>>,
}

impl Cut {
    /// Into how many parts a dim is cut.
    fn parts(&self, dim: usize) -> usize {
        self.axes.get(dim).map_or(1, |axes| axes.iter().map(|axis| self.mesh[*axis].1).product())
    }

    /// Number of the part of a dim that a device has.
    fn part(&self, dim: usize, device: usize) -> usize {
        let place = |axis: usize| {
            let inner: usize = self.mesh[axis + 1..].iter().map(|(_, size)| size).product();
            device / inner % self.mesh[axis].1
        };
        let axes = self.axes.get(dim).map_or(&[][..], Vec::as_slice);
        axes.iter().fold(0, |number, axis| number * self.mesh[*axis].1 + place(*axis))
    }
}

/// The cuts of a custom call's arrays, of `xla.sdy.in_shardings` or `xla.sdy.out_shardings`.
fn cuts(e: &Emitter, which: &str) -> Result<Vec<Cut>> {
    let wrong = |why: &str| e.refuse("frontend_attributes", why);
    let all = e.attributes().find("frontend_attributes").and_then(text).unwrap_or_default();
    let quoted = |name: &str| Some(all.split_once(name)?.1.split_once("=\"#sdy")?.1.to_string());
    let list = quoted(which).ok_or_else(|| wrong(&format!("{which} is missing")))?;
    let list = list.split_once(">]>").map_or(list.as_str(), |(list, _)| list);
    let manual = quoted("xla.sdy.manual_axes").unwrap_or_default();
    let manual = manual.split_once('}').map_or("", |(axes, _)| axes);
    let is_manual = |name: &str| manual.contains(&format!("\"{name}\""));
    let meshes = meshes(e.lowering.header());
    let form = "a sharding is <@mesh, [{\"x\"}, {}]> of whole axes of a mesh that the module's header names";
    let mut cuts = Vec::new();
    for sharding in list.split("<@").skip(1) {
        let cut = sharding.split_once(", [").and_then(|(name, dims)| {
            let mesh = meshes.iter().find(|(known, _)| known == name)?.1.clone();
            let dims = dims.split_once(']').map_or(dims, |(dims, _)| dims);
            let dim = |dim: &str| {
                let names = dim.split_once('{')?.1.split(',').map(str::trim);
                let names = names.filter(|name| !name.is_empty() && *name != "?");
                let known = names.map(|name| mesh.iter().position(|(axis, _)| format!("\"{axis}\"") == name));
                let known: Vec<usize> = known.collect::<Option<_>>()?;
                Some(known.into_iter().filter(|axis| is_manual(&mesh[*axis].0)).collect())
            };
            let axes = dims.split('}').filter(|dim| dim.contains('{')).map(dim).collect::<Option<_>>()?;
            Some(Cut { mesh, axes })
        });
        cuts.push(cut.ok_or_else(|| wrong(form))?);
    }
    Ok(cuts)
}

/// The value of a custom call where such a part begins or ends; `None` for any other call.
pub fn of_target(e: &mut Emitter, operands: &[Value]) -> Result<Option<Value>> {
    match e.attributes().word("custom_call_target") {
        Some("xla.sdy.GlobalToLocalShape") => cut(e, operands).map(Some),
        Some("xla.sdy.LocalToGlobalShape") => join(e, operands).map(Some),
        _ => Ok(None),
    }
}

/// `xla.sdy.GlobalToLocalShape`: what each device has of whole arrays.
fn cut(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    over(e, operands, "xla.sdy.in_shardings", |e, cut, operand| {
        let id = match operand {
            Value::Array(id) => *id,
            _ => return Err(e.fail("a whole array is needed")),
        };
        let dims = e.shape(id).dims().to_vec();
        if (0..dims.len()).any(|dim| !dims[dim].is_multiple_of(cut.parts(dim).max(1))) {
            return Err(e.fail(format!("{} has no equal parts for all devices", e.shape(id))));
        }
        let mut made: Vec<(Vec<usize>, Value)> = Vec::new();
        let mut each = Vec::new();
        for device in 0..e.lowering.devices.count() {
            let size = |dim: usize| dims[dim] / cut.parts(dim).max(1);
            let start: Vec<usize> = (0..dims.len()).map(|dim| cut.part(dim, device) * size(dim)).collect();
            // Devices along an axis that does not cut the array hold the same part.
            if let Some((_, known)) = made.iter().find(|(known, _)| *known == start) {
                each.push(known.clone());
                continue;
            }
            let limit = (0..dims.len()).map(|dim| start[dim] + size(dim)).collect();
            let op = Op::Slice { start: start.clone(), limit, stride: vec![1; dims.len()] };
            let own = Value::Array(e.emit(op, vec![id], None)?);
            made.push((start, own.clone()));
            each.push(own);
        }
        Ok(Value::of_devices(each))
    })
}

/// `xla.sdy.LocalToGlobalShape`: whole arrays of what each device has. Of what devices have alike the first one's is taken.
fn join(e: &mut Emitter, operands: &[Value]) -> Result<Value> {
    over(e, operands, "xla.sdy.out_shardings", |e, cut, operand| {
        let rank = match operand.on(0) {
            Value::Array(id) => e.shape(id).dims().len(),
            _ => return Err(e.fail("an array is needed")),
        };
        joined(e, cut, operand, &mut Vec::new(), rank)
    })
}

/// The parts of an array that begin with these, one a dim, put together along the other dims.
fn joined(e: &mut Emitter, cut: &Cut, operand: &Value, begin: &mut Vec<usize>, rank: usize) -> Result<Value> {
    let dim = begin.len();
    if dim == rank {
        let has = |device: &usize| begin.iter().enumerate().all(|(dim, part)| cut.part(dim, *device) == *part);
        let device = (0..e.lowering.devices.count()).find(has).ok_or_else(|| e.fail("no device has a part"))?;
        return Ok(operand.on(device));
    }
    let mut arrays = Vec::new();
    for part in 0..cut.parts(dim) {
        begin.push(part);
        match joined(e, cut, operand, begin, rank)? {
            Value::Array(id) => arrays.push(id),
            _ => return Err(e.fail("an array is needed")),
        }
        begin.pop();
    }
    match arrays[..] {
        [one] => Ok(Value::Array(one)),
        _ => Ok(Value::Array(e.emit(Op::Concatenate { dim }, arrays, None)?)),
    }
}

/// Applies `of_one` to each operand with its cut; several results are a tuple.
fn over(
    e: &mut Emitter,
    operands: &[Value],
    which: &str,
    of_one: impl Fn(&mut Emitter, &Cut, &Value) -> Result<Value>,
) -> Result<Value> {
    let cuts = cuts(e, which)?;
    if cuts.len() != operands.len() || operands.is_empty() {
        let why = format!("{} operands, but {which} tells of {}", operands.len(), cuts.len());
        return Err(e.refuse("frontend_attributes", why));
    }
    let mut results = Vec::new();
    for (cut, operand) in cuts.iter().zip(operands) {
        results.push(of_one(e, cut, operand)?);
    }
    Ok(Value::of_parts(results))
}
