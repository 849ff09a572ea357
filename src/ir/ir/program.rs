//! The containers: shapes, instructions, computations, programs.

use std::sync::Arc;

use crate::tensor::{DType, Data, Tensor};

use super::compiled::{Compiled, Fusion};
use super::library_function::LibraryFunction;
use super::mark::Mark;
use super::op::{ComputationId, Op};
use super::setting::{ResultAccuracy, Setting};
use super::tiling::Tiling;

/// Position of an instruction in its computation; operands always lie before their user.
pub type ValueId = usize;
/// The type of a value: an array, or a tuple of types.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Elements of one type, row-major.
    Array {
        /// The elements' type.
        dtype: DType,
        /// Extents, the slowest dim first; none for a scalar.
        dims: Vec<usize>,
    },
    /// Several values as one, each of its own type.
    Tuple(Vec<Shape>),
}

impl Shape {
    /// The most elements that an array may have, extents of 0 aside: steps and positions in it fit in a machine word, whatever
    /// is computed of them.
    pub const MOST_ELEMENTS: usize = 1 << 40;

    /// Whether its extents other than 0 multiply to no more than [`Shape::MOST_ELEMENTS`], in all parts of a tuple.
    pub fn is_countable(&self) -> bool {
        let product = |product: usize, extent: &usize| product.checked_mul((*extent).max(1));
        match self {
            Shape::Array { dims, .. } => {
                dims.iter().try_fold(1, product).is_some_and(|elements| elements <= Shape::MOST_ELEMENTS)
            }
            Shape::Tuple(parts) => parts.iter().all(Shape::is_countable),
        }
    }

    /// An array of these dims; a scalar without any.
    pub fn array(dtype: DType, dims: &[usize]) -> Shape {
        Shape::Array { dtype, dims: dims.to_vec() }
    }

    /// The element type of an array; `None` for a tuple.
    pub fn dtype(&self) -> Option<DType> {
        match self {
            Shape::Array { dtype, .. } => Some(*dtype),
            Shape::Tuple(_) => None,
        }
    }

    /// The element type of a value that shape checking has found to be an array.
    ///
    /// # Panics
    /// For a tuple.
    pub fn element_type(&self) -> DType {
        match self {
            Shape::Array { dtype, .. } => *dtype,
            Shape::Tuple(_) => unreachable!("shape checking gives arrays to operations on elements"),
        }
    }

    /// The dims of an array; none for a tuple.
    pub fn dims(&self) -> &[usize] {
        match self {
            Shape::Array { dims, .. } => dims,
            Shape::Tuple(_) => &[],
        }
    }

    /// The number of elements of an array, or of all arrays of a tuple.
    pub fn elements(&self) -> usize {
        match self {
            Shape::Array { dims, .. } => dims.iter().product(),
            Shape::Tuple(parts) => parts.iter().map(Shape::elements).sum(),
        }
    }

    /// The same with f32 in the place of bf16, in tuples as well.
    pub fn widen(&self) -> Shape {
        match self {
            Shape::Array { dtype: DType::BF16, dims } => Shape::array(DType::F32, dims),
            Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(Shape::widen).collect()),
            other => other.clone(),
        }
    }

    /// The same dims with another element type; a tuple stays as it is.
    pub fn with_dtype(&self, dtype: DType) -> Shape {
        match self {
            Shape::Array { dims, .. } => Shape::Array { dtype, dims: dims.clone() },
            tuple => tuple.clone(),
        }
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Shape::Array { dtype, dims } => {
                let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                write!(f, "{dtype}[{}]", dims.join(","))
            }
            Shape::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(Shape::to_string).collect();
                write!(f, "({})", parts.join(", "))
            }
        }
    }
}

/// One operation applied to earlier values.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// Unique within its computation.
    pub name: String,
    /// The operation.
    pub op: Op,
    /// The operands, all of them earlier values.
    pub operands: Vec<ValueId>,
    /// The result's type, as [`super::infer`] finds it.
    pub shape: Shape,
    /// Its meaning beside the operation, if there is one.
    pub mark: Option<Mark>,
    /// A compiled file's record of it.
    pub compiled: Option<Arc<Compiled>>,
    /// Its settings that the machine does not follow, with those that hold for all of the fusion or call around it;
    /// `None` if there are none.
    pub settings: Option<Arc<[Setting]>>,
}

impl Instruction {
    /// An instruction of a program as written.
    pub fn new(name: impl Into<String>, op: Op, operands: Vec<ValueId>, shape: Shape) -> Instruction {
        Instruction { name: name.into(), op, operands, shape, mark: None, compiled: None, settings: None }
    }

    /// The fusion that computes it.
    pub fn fusion(&self) -> Option<Fusion> {
        let parted = self.mark.as_ref().and_then(|mark| mark.parts()).map(Fusion::Apart);
        parted.or_else(|| self.compiled.as_ref()?.fusion)
    }

    /// Its tiling in a compiled file, if it is a matmul.
    pub fn tiling(&self) -> Option<&Tiling> {
        self.compiled.as_ref()?.tiling.as_deref()
    }

    /// Whether it is a dot that a TPU's compiler has left one ([`Compiled::on_matrix_unit`]).
    pub fn on_matrix_unit(&self) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.on_matrix_unit)
    }

    /// The library function that is computed in its place, on a machine that has the library.
    pub fn library(&self) -> Option<&LibraryFunction> {
        self.compiled.as_ref()?.library.as_deref()
    }

    /// Whether it is a part of a quotient or a function of complex numbers ([`Compiled::of_complex_function`]).
    pub fn of_complex_function(&self) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.of_complex_function)
    }

    /// Whether a TPU's compiler emits it packed ([`Compiled::packed`]).
    pub fn is_packed(&self) -> bool {
        self.compiled.as_ref().is_some_and(|compiled| compiled.packed)
    }

    /// The dim along which elements lie side by side, where the file says that it is another than the last one.
    pub fn minor(&self) -> Option<usize> {
        self.compiled.as_ref()?.minor
    }

    /// Changes the record; one that says nothing is dropped, so that equal instructions are equal.
    pub fn record(&mut self, change: impl FnOnce(&mut Compiled)) {
        let mut record = self.compiled.take().unwrap_or_default();
        change(Arc::make_mut(&mut record));
        self.compiled = (*record != Compiled::default()).then_some(record);
    }

    /// The instruction with a changed record.
    pub fn with_record(mut self, change: impl FnOnce(&mut Compiled)) -> Instruction {
        self.record(change);
        self
    }

    /// The accuracy that is asked of it, where it is a function of one operand; `None` for the default.
    pub fn accuracy(&self) -> Option<ResultAccuracy> {
        self.settings.as_deref().unwrap_or_default().iter().find_map(|setting| match setting {
            Setting::Accuracy(accuracy) => Some(*accuracy),
            _ => None,
        })
    }
}

/// A list of instructions with one result. Regions (reducers, comparators) are computations over scalars.
#[derive(Clone, Debug, PartialEq)]
pub struct Computation {
    /// Its name in HLO text.
    pub name: String,
    /// In an order in which they can be evaluated.
    pub instructions: Vec<Instruction>,
    /// The value that is its result.
    pub root: ValueId,
}

impl Computation {
    /// The operation that gives a value, with its operands: `div.5 = divide(exp.3, sum.4)`. A value that no place of the source names has
    /// an opcode and a number for its name, from which nobody finds the line; the operands lead there.
    pub fn definition(&self, id: ValueId) -> String {
        let Instruction { name, op, operands, .. } = &self.instructions[id];
        let operands: Vec<&str> = operands.iter().map(|operand| self.instructions[*operand].name.as_str()).collect();
        format!("{name} = {}({})", op.opcode(), operands.join(", "))
    }

    /// Shapes of the parameters in order of their number.
    pub fn parameter_shapes(&self) -> Vec<&Shape> {
        let mut parameters: Vec<(usize, &Shape)> = self
            .instructions
            .iter()
            .filter_map(|i| if let Op::Parameter(n) = i.op { Some((n, &i.shape)) } else { None })
            .collect();
        parameters.sort_by_key(|(n, _)| *n);
        parameters.into_iter().map(|(_, shape)| shape).collect()
    }

    /// A copy with f32 in the place of bf16, under another name.
    pub fn widen(&self) -> Computation {
        let mut wide = self.clone();
        wide.name.push_str(".f32");
        for instruction in &mut wide.instructions {
            instruction.shape = instruction.shape.widen();
            if let Op::Constant(value) = &instruction.op
                && value.dtype() == DType::BF16
                && let Some(data) = Data::from_f32s(DType::F32, value.data().to_f32s())
            {
                instruction.op = Op::Constant(Tensor::new(value.dims(), data));
            }
        }
        wide
    }

    /// The computation without some of its values. For each value, `stands_for` says which one takes its place: itself if
    /// it stays, an earlier one, or `None` if nothing uses it.
    pub fn compact(&self, stands_for: &[Option<ValueId>]) -> Computation {
        let mut moved: Vec<ValueId> = vec![0; self.instructions.len()];
        let mut instructions: Vec<Instruction> = Vec::new();
        for (id, instruction) in self.instructions.iter().enumerate() {
            match stands_for[id] {
                Some(kept) if kept == id => {
                    moved[id] = instructions.len();
                    let operands = instruction.operands.iter().map(|operand| moved[*operand]).collect();
                    instructions.push(Instruction { operands, ..instruction.clone() });
                }
                Some(earlier) => moved[id] = moved[earlier],
                None => {}
            }
        }
        Computation { name: self.name.clone(), instructions, root: moved[self.root] }
    }

    /// Whether all its parameters are scalars, as those of regions of reductions and sorts are.
    pub fn takes_scalars(&self) -> bool {
        self.parameter_shapes().iter().all(|shape| matches!(shape, Shape::Array { dims, .. } if dims.is_empty()))
    }

    /// Whether its result is this parameter as it is.
    pub fn gives_parameter(&self, number: usize) -> bool {
        self.instructions[self.root].op == Op::Parameter(number)
    }

    /// The number of times that each value is an operand.
    pub fn uses(&self) -> Vec<usize> {
        let mut uses = vec![0; self.instructions.len()];
        self.instructions.iter().flat_map(|i| &i.operands).for_each(|operand| uses[*operand] += 1);
        uses
    }

    /// For each value, the values that use it, once per use, in order.
    pub fn users(&self) -> Vec<Vec<ValueId>> {
        let mut users = vec![Vec::new(); self.instructions.len()];
        for (id, instruction) in self.instructions.iter().enumerate() {
            for operand in &instruction.operands {
                users[*operand].push(id);
            }
        }
        users
    }
}

/// An operation of a program that computes in f64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Double {
    /// Its instruction's name.
    pub name: String,
    /// Its opcode.
    pub opcode: String,
}

/// A whole program. Its results are the operands of a tuple root, or the root itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Its name in HLO text, behind `HloModule`.
    pub name: String,
    /// The entry and all computations that it calls; each lies behind those that it calls.
    pub computations: Vec<Computation>,
    /// The computation that takes the program's arguments and gives its results.
    pub entry: ComputationId,
    /// The names of the results, used by checks; one for each result.
    pub output_names: Vec<String>,
    /// Settings of the whole file that the machine does not follow, by name.
    pub settings: Vec<Setting>,
    /// The first operation that computes in f64 because the program says so; `None` if none does. F64 in which lowering works
    /// out a function of narrower numbers is not meant.
    pub double: Option<Double>,
}

impl Program {
    /// The computation that the program is; the others are called by it.
    pub fn entry(&self) -> &Computation {
        &self.computations[self.entry]
    }

    /// The values that are the program's results, in order.
    pub fn outputs(&self) -> Vec<ValueId> {
        let entry = self.entry();
        let root = &entry.instructions[entry.root];
        match root.op {
            Op::Tuple => root.operands.clone(),
            _ => vec![entry.root],
        }
    }

    /// All instructions, those of called computations too.
    pub fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.computations.iter().flat_map(|computation| &computation.instructions)
    }

    /// Whether some computation has a loop.
    pub fn has_loop(&self) -> bool {
        self.instructions().any(|instruction| matches!(instruction.op, Op::While { .. }))
    }

    /// Whether its file asks for anything that the machine does not follow.
    pub fn has_settings(&self) -> bool {
        !self.settings.is_empty() || self.instructions().any(|instruction| instruction.settings.is_some())
    }

    /// The settings that the machine does not follow, each with the name of its instruction, or with that of the module.
    pub fn named_settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        let own = self.instructions().flat_map(|instruction| {
            let settings = instruction.settings.as_deref().unwrap_or_default();
            settings.iter().map(|setting| (instruction.name.as_str(), setting))
        });
        self.settings.iter().map(|setting| ("the module", setting)).chain(own)
    }

    /// Position of the result with this name.
    pub fn output(&self, name: &str) -> Option<usize> {
        self.output_names.iter().position(|n| n == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps in an array without elements are products of its other extents.
    #[test]
    fn extents_of_0_do_not_make_others_countable() {
        let countable = |dims: &[usize]| Shape::array(DType::F32, dims).is_countable();
        assert!(countable(&[0]) && countable(&[1 << 40, 0]) && countable(&[1 << 20, 1 << 20]));
        assert!(!countable(&[1 << 63, 0]) && !countable(&[0, 1 << 41]) && !countable(&[1 << 20, 0, 1 << 21]));
        assert!(
            !Shape::Tuple(vec![Shape::array(DType::F32, &[2]), Shape::array(DType::F32, &[1 << 63, 0])]).is_countable()
        );
    }
}
