//! Memory that evaluating a program lays out, instruction by instruction, from shapes alone.

use crate::activity::{self, Busy, MANY};
use crate::budget::{self, Reserved, TooLarge};
use crate::ir::{Class, Computation, Instruction, Op, Program, Shape, Window};

use super::pattern::{cumulative, is_cumulative};

/// The evaluator of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// On an emulated machine: floats held in f32 or f64, integers in 64 bits.
    Machine,
    /// Over the real numbers, each element in an enclosure of two ends.
    Truth,
    /// Without arguments, each element a symbol of the operation that computes it.
    Symbols,
}

/// Bytes that an element takes at least.
fn each(shape: &Shape, world: World) -> u128 {
    let dtype = shape.dtype();
    match world {
        World::Truth | World::Symbols => 16,
        World::Machine => match dtype {
            Some(dtype) if dtype.is_float() => u128::from(dtype.bits().max(32) / 8),
            Some(dtype) if dtype.is_integer() => 8,
            _ => 1,
        },
    }
}

/// Bytes of an array, or of all arrays of a tuple, as an evaluation holds them.
pub fn array_bytes(shape: &Shape, world: World) -> u128 {
    match shape {
        Shape::Array { dims, .. } => budget::bytes_of(dims.iter().copied(), each(shape, world)),
        Shape::Tuple(parts) => parts.iter().map(|part| array_bytes(part, world)).fold(0, u128::saturating_add),
    }
}

/// Bytes of an argument as its file stores it.
fn stored(shape: &Shape) -> u128 {
    match shape {
        Shape::Array { dtype, dims } => budget::bytes_of(dims.iter().copied(), u128::from(dtype.bits())).div_ceil(8),
        Shape::Tuple(parts) => parts.iter().map(stored).fold(0, u128::saturating_add),
    }
}

/// `fusion.1/add.3 (add, f32[8,128])`, `while.2 (while, a tuple of 18)`.
pub fn describe(instruction: &Instruction) -> String {
    let (name, opcode) = (&instruction.name, instruction.op.opcode());
    match &instruction.shape {
        Shape::Tuple(parts) => format!("{name} ({opcode}, a tuple of {})", parts.len()),
        shape => format!("{name} ({opcode}, {shape})"),
    }
}

/// Bytes that an instruction takes beside its operands while it is evaluated: its result and its working memory.
pub fn instruction_bytes(instruction: &Instruction, operands: &[&Shape], world: World) -> u128 {
    let sum = |terms: &mut dyn Iterator<Item = u128>| terms.fold(0, u128::saturating_add);
    let given = || sum(&mut operands.iter().map(|shape| array_bytes(shape, world)));
    let elements = |shape: &Shape| budget::bytes_of(shape.dims().iter().copied(), 1);
    let result = array_bytes(&instruction.shape, world);
    let more = match &instruction.op {
        // One number for each index.
        Op::Iota { dim } if result > 0 => instruction.shape.dims().get(*dim).map_or(0, |extent| 8 * *extent as u128),
        // A position for each update, and all elements apart.
        Op::Scatter { .. } => sum(&mut operands.iter().map(|shape| elements(shape).saturating_mul(16))),
        // An order, with keys, of copies.
        Op::Sort { .. } | Op::TopK { .. } | Op::ApproxTopK(_) | Op::PartialReduce(_) => {
            sum(&mut operands.iter().map(|shape| elements(shape).saturating_mul(16)))
        }
        // Reduced dims go last.
        Op::Reduce { .. } | Op::Dot { .. } => given(),
        // What each window shows, as a list.
        Op::ReduceWindow { .. } if world == World::Truth => work(instruction, operands, world).saturating_mul(8),
        _ => 0,
    };
    result.saturating_add(more)
}

/// Elements that an instruction looks at, one after the other: of a window that is no running total all that it shows
/// at each of its places; of others the result's.
pub fn work(instruction: &Instruction, operands: &[&Shape], world: World) -> u128 {
    let places = budget::bytes_of(instruction.shape.dims().iter().copied(), 1);
    let is_running = |window: &Window, dims: &[usize]| match world {
        World::Truth => is_cumulative(window, dims).is_some(),
        World::Machine | World::Symbols => cumulative(window, dims).is_some(),
    };
    match (&instruction.op, operands) {
        (Op::ReduceWindow { window, .. }, [array, ..]) if !is_running(window, array.dims()) => {
            budget::bytes_of(window.0.iter().map(|dim| dim.size), places)
        }
        _ => places,
    }
}

/// Elements that windows may show one after the other: minutes on one processor.
pub const MOST_WORK: u128 = 1 << 36;

/// Whether an instruction's result is another array's, or is written out only where it is used.
fn shares(op: &Op) -> bool {
    matches!(op.class(), Class::Lists | Class::Calls)
        || matches!(op, Op::Parameter(_) | Op::Reshape | Op::Copy | Op::OptimizationBarrier | Op::Broadcast { .. })
}

/// Says that an instruction begins, if it may take long.
pub fn begin(instruction: &Instruction, operands: &[&Shape]) -> Option<Busy> {
    let elements = |shape: &Shape| match shape {
        Shape::Array { dims, .. } => budget::bytes_of(dims.iter().copied(), 1),
        Shape::Tuple(_) => 0,
    };
    let around = operands.iter().map(|shape| elements(shape)).fold(elements(&instruction.shape), u128::saturating_add);
    let is_long = matches!(instruction.op, Op::While { .. }) || around >= MANY;
    (is_long && instruction.op.class() != Class::Lists).then(|| activity::begin(describe(instruction)))
}

/// Reserves the bytes that an instruction takes beside its operands, and holds them.
///
/// # Errors
/// If that is more than the [budget](crate::budget).
pub fn reserve(instruction: &Instruction, operands: &[&Shape], world: World) -> Result<Reserved, TooLarge> {
    budget::reserve(instruction_bytes(instruction, operands, world), || describe(instruction))
}

/// Refuses a program whose arguments do not fit, together with the operands and the result of its widest operation or
/// with all values that are alive at once. An evaluation holds one to three times as much at its peak, so nothing is
/// refused that fits.
///
/// # Errors
/// If it does not fit; never if no limit is set and the system does not tell its memory.
pub fn check_memory(program: &Program, world: World) -> Result<(), TooLarge> {
    let arguments: u128 = program.entry().parameter_shapes().into_iter().map(stored).fold(0, u128::saturating_add);
    let (widest, what) = widest(program, world);
    let instructions = &program.entry().instructions;
    let outputs = program.outputs();
    let results = outputs.iter().map(|id| array_bytes(&instructions[*id].shape, world)).fold(0, u128::saturating_add);
    let (widest, what) = match results > widest {
        true => (results, outputs.last().map(|id| describe(&instructions[*id]))),
        false => (widest, what),
    };
    let needed = arguments.saturating_add(widest);
    budget::reserve(needed, || match what {
        Some(what) if arguments <= widest => format!("{what}, with its operands and the program's arguments"),
        _ => "the program, most of it for its arguments".to_string(),
    })
    .map(drop)
}

/// The most bytes that are held around one operation, and the operation.
fn widest(program: &Program, world: World) -> (u128, Option<String>) {
    let mut peaks: Vec<u128> = Vec::new();
    let (mut most, mut what) = (0, None);
    for computation in &program.computations {
        let mut peak = 0;
        for (held, id) in held(computation, world, &peaks) {
            peak = peak.max(held);
            if held > most {
                (most, what) = (held, Some((computation, id)));
            }
        }
        peaks.push(peak);
    }
    (most, what.map(|(computation, id)| describe(&computation.instructions[id])))
}

/// For each instruction of a computation the bytes that are held while it is evaluated, with those of the computations
/// that it calls.
fn held(computation: &Computation, world: World, peaks: &[u128]) -> Vec<(u128, usize)> {
    let instructions = &computation.instructions;
    let mut uses = computation.uses();
    uses[computation.root] += 1;
    let own = |id: usize| if shares(&instructions[id].op) { 0 } else { array_bytes(&instructions[id].shape, world) };
    let mut alive: u128 = 0;
    let mut held = Vec::new();
    for (id, instruction) in instructions.iter().enumerate() {
        alive = alive.saturating_add(own(id));
        let called = instruction.op.callees().filter_map(|callee| peaks.get(callee).copied()).max();
        // Others share what they are given, or are written out where they are used.
        let computes =
            matches!(instruction.op.class(), Class::Converts | Class::Elementwise | Class::Combines | Class::Ranks);
        let operands = instruction.operands.iter().map(|operand| array_bytes(&instructions[*operand].shape, world));
        let around =
            if computes { operands.fold(array_bytes(&instruction.shape, world), u128::saturating_add) } else { 0 };
        held.push((alive.saturating_add(called.unwrap_or(0)).max(around), id));
        for operand in &instruction.operands {
            uses[*operand] -= 1;
            if uses[*operand] == 0 {
                alive = alive.saturating_sub(own(*operand));
            }
        }
        if uses[id] == 0 {
            alive = alive.saturating_sub(own(id));
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, Precision};
    use crate::tensor::DType;

    /// The product of two f32[n,n].
    fn matmul(n: usize) -> Program {
        let mut builder = Builder::new("matmul");
        let [lhs, rhs] = ["lhs", "rhs"].map(|name| builder.parameter(name, DType::F32, &[n, n]).unwrap());
        let out = builder.matmul(lhs, rhs, Precision::Default, DType::F32).unwrap();
        builder.finish(&[("out", out)]).unwrap()
    }

    #[test]
    fn operands_and_the_result_of_the_widest_operation_count() {
        let matmul = matmul(1000);
        let (bytes, what) = widest(&matmul, World::Truth);
        assert_eq!(bytes, 3 * 16_000_000);
        assert!(what.is_some_and(|what| what.ends_with("(dot, f32[1000,1000])")));
        assert_eq!(widest(&matmul, World::Machine).0, 3 * 4_000_000);
    }

    /// A reduction moves the reduced dims to the end: it holds a copy of what it reduces beside its result.
    #[test]
    fn a_reduction_holds_a_copy_of_what_it_reduces() {
        for (dims, left) in [(&[0][..], 30), (&[1], 100), (&[0, 1], 1)] {
            let mut builder = Builder::new("sum");
            let x = builder.parameter("x", DType::F32, &[100, 30]).unwrap();
            let sum = builder.reduce(Binary::Add, x, 0.0, dims).unwrap();
            let program = builder.finish(&[("sum", sum)]).unwrap();
            let instructions = &program.entry().instructions;
            let operands: Vec<&Shape> = instructions[sum].operands.iter().map(|id| &instructions[*id].shape).collect();
            let bytes = instruction_bytes(&instructions[sum], &operands, World::Machine);
            // The result, the operand and the number that the sum begins from.
            assert_eq!(bytes, 4 * (left + 3_000 + 1), "{dims:?}");
        }
    }

    #[test]
    fn dims_beyond_a_word_are_only_too_large() {
        let refused = check_memory(&matmul(5_000_000_000), World::Machine).unwrap_err();
        assert!(refused.needed > 1 << 64);
    }

    #[test]
    fn a_program_beyond_memory_is_refused_by_its_widest_operation() {
        let refused = check_memory(&matmul(1_000_000), World::Machine).unwrap_err();
        assert_eq!(refused.needed, 2 * 4_000_000_000_000 + 3 * 4_000_000_000_000);
        assert!(refused.what.contains("(dot, f32[1000000,1000000]), with its operands"), "{refused}");
    }

    /// Each value is dropped behind its last use, so that a chain holds two arrays, and a value that is used late one
    /// more.
    #[test]
    fn values_count_as_long_as_they_are_used() {
        use crate::ir::{Instruction, Unary};
        let shape = Shape::array(DType::F32, &[1000]);
        let negate =
            |name: &str, operand| Instruction::new(name, Op::Unary(Unary::Negate), vec![operand], shape.clone());
        let parameter = Instruction::new("p", Op::Parameter(0), vec![], shape.clone());
        let chain = vec![parameter, negate("a", 0), negate("b", 1), negate("c", 2)];
        let computation = Computation { name: "e".to_string(), instructions: chain, root: 3 };
        let peak = |computation: &Computation| held(computation, World::Machine, &[]).into_iter().map(|h| h.0).max();
        assert_eq!(peak(&computation), Some(8000));
        let mut late = computation.clone();
        let tuple = Shape::Tuple(vec![shape.clone(), shape.clone()]);
        late.instructions.push(Instruction::new("t", Op::Tuple, vec![1, 3], tuple));
        late.root = 4;
        assert_eq!(peak(&late), Some(12000));
    }

    /// The result is held to the end, wherever its instruction stands.
    #[test]
    fn a_result_counts_until_the_end() {
        use crate::ir::{Instruction, Unary};
        let shape = Shape::array(DType::F32, &[1000]);
        let negate =
            |name: &str, operand| Instruction::new(name, Op::Unary(Unary::Negate), vec![operand], shape.clone());
        let parameter = Instruction::new("p", Op::Parameter(0), vec![], shape.clone());
        let instructions = vec![parameter, negate("a", 0), negate("b", 0), negate("c", 2)];
        let with_root = |root| Computation { name: "e".to_string(), instructions: instructions.clone(), root };
        let peak = |root| held(&with_root(root), World::Machine, &[]).into_iter().map(|h| h.0).max();
        assert_eq!((peak(1), peak(3)), (Some(12000), Some(8000)));
    }
}
