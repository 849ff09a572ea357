//! Recorded arrays and the values of the program that they are.

use std::collections::BTreeMap;

use crate::ir::{Op, Program, Shape, ValueId};
use crate::judge::{Recording, pairing_note};
use crate::name::{hint, nearest};
use crate::tensor::{DType, Data, Tensor, Unfit};

use super::LayersError;

/// One recording's values of the program.
pub(super) struct Checkpoints {
    /// By value of the entry: the array's name, and the array in the program's dims. Its type is the program's where every
    /// number fits, otherwise its own.
    pub values: BTreeMap<ValueId, (String, Tensor)>,
    /// Arrays that are no value of the program.
    pub left_out: Vec<String>,
    /// A note on arrays that were paired by nothing but their order.
    pub pairing: Option<String>,
}

impl Checkpoints {
    /// Finds the value of each array: as `mapping` says, or by the name of a result or of an instruction of the entry; where
    /// none fits and there are as many arrays as results, by position.
    ///
    /// # Errors
    /// If the mapping names a value that is not there, an array has other dims than its value, or no array is a value.
    pub fn read(
        program: &Program,
        recording: &Recording,
        mapping: &[(String, String)],
    ) -> Result<Checkpoints, LayersError> {
        let names: Vec<&str> = recording.names().collect();
        let outputs = program.outputs();
        let mut found: Vec<(ValueId, &str)> = Vec::new();
        let mut left_out: Vec<&str> = Vec::new();
        for name in &names {
            let mapped = mapping.iter().find(|(recorded, _)| recorded == name);
            match (find(program, mapped.map_or(*name, |(_, value)| value.as_str())), mapped) {
                (Some(id), _) => found.push((id, *name)),
                (None, Some((name, value))) => {
                    let instructions = program.entry().instructions.iter().map(|i| i.name.as_str());
                    let known = match nearest(value, instructions) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => hint(value, program.output_names.iter().map(String::as_str)),
                    };
                    return Err(LayersError::Map { name: name.clone(), value: value.clone(), known });
                }
                (None, None) => left_out.push(*name),
            }
        }
        let mut pairing = None;
        if found.is_empty() && names.len() == outputs.len() {
            found = outputs.iter().copied().zip(std::mem::take(&mut left_out)).collect();
            let results = program.output_names.iter().map(String::as_str);
            pairing = pairing_note(&recording.file(), &names.iter().copied().zip(results).collect::<Vec<_>>());
        }
        if found.is_empty() {
            let wanted = program.output_names.join(", ");
            return Err(LayersError::Nothing { file: recording.file(), has: names.join(", "), wanted });
        }
        let mut values = BTreeMap::new();
        for (id, name) in found {
            let shape = &program.entry().instructions[id].shape;
            if values.contains_key(&id) {
                left_out.push(name);
                continue;
            }
            values.insert(id, (name.to_string(), in_dims(recording, name, shape)?));
        }
        Ok(Checkpoints { values, left_out: left_out.into_iter().map(str::to_string).collect(), pairing })
    }

    /// The narrow type that all numbers have which the program computes in f32, if there is one: bf16 or f16.
    pub fn narrower_type(&self, program: &Program) -> Option<DType> {
        let computed = self.values.iter().filter(|(id, _)| !is_argument(program, **id)).map(|(_, (_, tensor))| tensor);
        let wide: Vec<&Data> = computed.map(Tensor::data).filter(|data| data.dtype() == DType::F32).collect();
        let fits = |dtype: &DType| wide.iter().all(|data| data.exactly(*dtype).is_ok());
        [DType::BF16, DType::F16].into_iter().find(fits).filter(|_| !wide.is_empty())
    }
}

/// The value of the entry with this name: a result, or an instruction.
fn find(program: &Program, name: &str) -> Option<ValueId> {
    if let Some(output) = program.output(name) {
        return program.outputs().get(output).copied();
    }
    let entry = program.entry();
    let is_array = |id: &ValueId| !matches!(entry.instructions[*id].shape, Shape::Tuple(_));
    entry.instructions.iter().position(|instruction| instruction.name == name).filter(is_array)
}

/// Whether a value is an argument of the program, which is an input of layers and none itself.
pub(super) fn is_argument(program: &Program, id: ValueId) -> bool {
    matches!(program.entry().instructions[id].op, Op::Parameter(_))
}

/// An array in the dims of its value, extents of 1 aside, and in the value's type; a float of another type keeps its own where
/// not every number fits.
fn in_dims(recording: &Recording, name: &str, shape: &Shape) -> Result<Tensor, LayersError> {
    let tensor = recording.array(name, shape.dtype())?;
    let dtype = recording.check_dims(name, &tensor, shape)?;
    match tensor.data().exactly(dtype) {
        Ok(data) => Ok(Tensor::new(shape.dims(), data)),
        Err(Unfit::Number(_)) if dtype.is_float() => Ok(Tensor::new(shape.dims(), tensor.data().clone())),
        Err(unfit) => Err(recording.unfit(name, &tensor, shape, unfit).into()),
    }
}
