//! Formulas that people take for each other: an epsilon outside of a root, a square that is none, a mean that is subtracted, a maximum
//! that is not, fewer of the largest, other counts to divide by, a difference without its first term, a softmax too many.

use crate::analysis::{Reducer, Regions};
use crate::ir::{Binary, Computation, Instruction, Op, Unary, ValueId};
use crate::tensor::{DType, Data, Tensor};

use super::super::evidence::{Pattern, Runner};
use super::softmax_axis::softmax;
use super::{constant_number, keep, result_with_all, values};

/// Places of a ranking of which the last ones are left out, at most.
const MOST_PLACES: usize = 16;

/// A value of a program and other numbers in its place.
struct Other {
    id: ValueId,
    kind: &'static str,
    says: String,
    numbers: Vec<f64>,
}

/// The formula that explains most.
pub(super) fn formulas(runner: &mut Runner) -> Option<Pattern> {
    let evidence = runner.evidence;
    let program = evidence.ground.program;
    let entry = program.entry();
    let is_asked =
        |instruction: &Instruction| instruction.shape.dtype().is_some_and(DType::is_float) && !is_copy(&instruction.op);
    let known = values(runner, &is_asked);
    let mut others: Vec<Other> = Vec::new();
    let regions = Regions::new(program);
    for (id, tensor) in known.iter().enumerate() {
        let Some(tensor) = tensor else { continue };
        let maximum = match &entry.instructions[id].op {
            Op::Reduce { to_apply, .. } => {
                regions.reducer_but_for_rounding(*to_apply) == Some(Reducer::Binary(Binary::Maximum))
            }
            _ => false,
        };
        if maximum {
            others.extend(earlier_softmax(entry, id, &known));
            let says = format!("{} is left out: 0 stands in its place", entry.instructions[id].name);
            others.push(Other { id, kind: "left-out", says, numbers: vec![0.0; tensor.len()] });
        }
        others.extend(fewer_of_the_largest(entry, id, tensor));
        others.extend(epsilon(entry, id, &known));
        others.extend(magnitude(entry, id, &known));
        others.extend(first_term(entry, id, &known));
        others.extend(divisors(entry, id, &known));
    }
    // What has no mean to speak of is left: any value may be centred, so these come last.
    others.extend(known.iter().enumerate().filter_map(|(id, tensor)| centred(entry, id, tensor.as_ref()?)));
    let mut best: Option<Pattern> = None;
    for other in others {
        let Some(tensor) = &known[other.id] else { continue };
        let Some(data) = Data::from_f64s(tensor.dtype(), &other.numbers) else { continue };
        let altered = Tensor::new(tensor.dims(), data);
        if altered == *tensor {
            continue;
        }
        let Some(result) = result_with_all(runner, &[(other.id, altered)]) else { return best };
        keep(&mut best, evidence, &result, other.kind, other.says, None);
    }
    best
}

fn is_copy(op: &Op) -> bool {
    matches!(op, Op::Constant(_) | Op::Broadcast { .. } | Op::Reshape | Op::Copy | Op::Transpose { .. })
}

/// The values of a ranking with zeros in the place of its last ones, as of one expert where two are asked for.
fn fewer_of_the_largest(entry: &Computation, id: ValueId, tensor: &Tensor) -> Vec<Other> {
    let instruction = &entry.instructions[id];
    let ranks = instruction.operands.first().map(|operand| &entry.instructions[*operand]);
    let (Op::GetTupleElement(0), Some(Op::TopK { k, .. })) = (&instruction.op, ranks.map(|ranks| &ranks.op)) else {
        return Vec::new();
    };
    let numbers = tensor.data().to_f64s();
    let kept = |kept: usize| Other {
        id,
        kind: "dropped",
        says: format!("of the {k} largest of {}, the last {} are left out", instruction.name, k - kept),
        numbers: numbers.iter().enumerate().map(|(at, x)| if at % k < kept { *x } else { 0.0 }).collect(),
    };
    (1..*k.min(&MOST_PLACES)).map(kept).collect()
}

/// A softmax of the values whose maximum is taken, before the one of the program: as of a loss that takes logits and is given
/// probabilities.
fn earlier_softmax(entry: &Computation, id: ValueId, known: &[Option<Tensor>]) -> Option<Other> {
    let instruction = &entry.instructions[id];
    let Op::Reduce { dims, .. } = &instruction.op else { return None };
    let (id, [dim]) = (*instruction.operands.first()?, dims.as_slice()) else { return None };
    let logits = known[id].as_ref()?;
    let numbers = softmax(&logits.data().to_f64s(), logits.dims(), *dim);
    let says = format!("a softmax of {} is taken before that of the program", entry.instructions[id].name);
    Some(Other { id, kind: "twice", says, numbers })
}

/// The operands of a sum of a value and a constant.
fn plus_constant(entry: &Computation, id: ValueId) -> Option<(ValueId, f64)> {
    let instruction = &entry.instructions[id];
    let (Op::Binary(Binary::Add), [a, b]) = (&instruction.op, instruction.operands.as_slice()) else { return None };
    let constant = |id: ValueId| constant_number(entry, id).filter(|number| number.is_finite());
    constant(*b).map(|number| (*a, number)).or_else(|| constant(*a).map(|number| (*b, number)))
}

/// A root with its epsilon on the other side.
fn epsilon(entry: &Computation, id: ValueId, known: &[Option<Tensor>]) -> Option<Other> {
    let instruction = &entry.instructions[id];
    let says = |sum: ValueId, number: f64, side: &str| {
        format!("the constant {number:.5e} of {} is added {side} of the root", entry.instructions[sum].name)
    };
    let is_root = |op: &Op| matches!(op, Op::Unary(Unary::Sqrt | Unary::Rsqrt));
    if is_root(&instruction.op) {
        let sum = *instruction.operands.first()?;
        let (value, number) = plus_constant(entry, sum)?;
        let root = |x: &f64| x.sqrt() + number;
        let of = |x: &f64| if instruction.op == Op::Unary(Unary::Rsqrt) { 1.0 / root(x) } else { root(x) };
        let numbers = known[value].as_ref()?.data().to_f64s().iter().map(of).collect();
        return Some(Other { id, kind: "formula", says: says(sum, number, "outside"), numbers });
    }
    let (root, number) = plus_constant(entry, id)?;
    let is_sqrt = entry.instructions[root].op == Op::Unary(Unary::Sqrt);
    let numbers = known[root].as_ref()?.data().to_f64s();
    let inside = numbers.iter().map(|x| (x * x + number).sqrt()).collect();
    is_sqrt.then(|| Other { id, kind: "formula", says: says(id, number, "inside"), numbers: inside })
}

/// A square that is the magnitude, as of a mean of magnitudes in the place of a mean of squares.
fn magnitude(entry: &Computation, id: ValueId, known: &[Option<Tensor>]) -> Option<Other> {
    let instruction = &entry.instructions[id];
    let ([a, b], Op::Binary(Binary::Multiply)) = (instruction.operands.as_slice(), &instruction.op) else {
        return None;
    };
    let operand = known[*a].as_ref().filter(|_| a == b)?;
    let numbers = operand.data().to_f64s().iter().map(|x| x.abs()).collect();
    let says = format!("{} is the magnitude and not the square", instruction.name);
    Some(Other { id, kind: "formula", says, numbers })
}

/// A difference without its first term, as a cross entropy in the place of a divergence.
fn first_term(entry: &Computation, id: ValueId, known: &[Option<Tensor>]) -> Option<Other> {
    let instruction = &entry.instructions[id];
    let (Op::Binary(Binary::Subtract), [_, term]) = (&instruction.op, instruction.operands.as_slice()) else {
        return None;
    };
    let numbers = known[*term].as_ref()?.data().to_f64s().iter().map(|x| -x).collect();
    let says = format!("the first term of {} is left out", instruction.name);
    Some(Other { id, kind: "left-out", says, numbers })
}

/// Other divisors than those of a quotient, where they are counts of several sizes: the largest everywhere, as by an average that counts
/// its padding; the mean everywhere; one more and one less.
fn divisors(entry: &Computation, id: ValueId, known: &[Option<Tensor>]) -> Vec<Other> {
    let instruction = &entry.instructions[id];
    let (Op::Binary(Binary::Divide), [_, divisor]) = (&instruction.op, instruction.operands.as_slice()) else {
        return Vec::new();
    };
    let mut divisor = *divisor;
    while let (true, [source]) =
        (is_copy(&entry.instructions[divisor].op), entry.instructions[divisor].operands.as_slice())
    {
        divisor = *source;
    }
    let Some(tensor) = &known[divisor] else { return Vec::new() };
    let counts = tensor.data().to_f64s();
    let largest = counts.iter().copied().fold(0.0, f64::max);
    let is_count = |x: &f64| *x >= 0.0 && x.fract() == 0.0;
    if !counts.iter().all(is_count) || counts.iter().all(|x| *x == largest) {
        return Vec::new();
    }
    let mean = counts.iter().sum::<f64>() / counts.len() as f64;
    let other = |says: String, of: &dyn Fn(f64) -> f64| Other {
        id: divisor,
        kind: "divisor",
        says: format!("the counts {}, by which {} divides, {says}", entry.instructions[divisor].name, instruction.name),
        numbers: counts.iter().map(|x| of(*x)).collect(),
    };
    vec![
        other(format!("are {largest} everywhere, the largest of them"), &|_| largest),
        other(format!("are {mean:.4} everywhere, their mean"), &|_| mean),
        other("are one more everywhere".to_string(), &|x| x + 1.0),
        other("are one less everywhere".to_string(), &|x| x - 1.0),
    ]
}

/// A value from which the mean along its last dim is subtracted, as by a layer norm in the place of an RMS norm.
fn centred(entry: &Computation, id: ValueId, tensor: &Tensor) -> Option<Other> {
    let width = *tensor.dims().last()?;
    if width < 2 {
        return None;
    }
    let centre = |line: &[f64]| -> Vec<f64> {
        let mean = line.iter().sum::<f64>() / line.len() as f64;
        line.iter().map(|x| x - mean).collect()
    };
    let numbers: Vec<f64> = tensor.data().to_f64s().chunks(width).flat_map(centre).collect();
    let says = format!("the mean along the last dim is subtracted from {}", entry.instructions[id].name);
    Some(Other { id, kind: "formula", says, numbers })
}
