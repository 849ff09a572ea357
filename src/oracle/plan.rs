//! The elements that a pass has to evaluate: of every instruction all, some, or none.

use std::collections::HashMap;

use crate::ir::{Class, Computation, DotDims, DotPlan, Instruction, Op, Program, Shape, movement};

use super::demand::Demand;
use super::pair::Pair;

/// Enclosures of reductions that a rung found, by instruction.
pub(super) type Sums = HashMap<usize, Vec<Pair>>;

/// The elements of one instruction that are needed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Need {
    Nothing,
    Some(Vec<bool>),
    All,
}

impl Need {
    fn add(&mut self, more: &Need) {
        match (&mut *self, more) {
            (_, Need::Nothing) | (Need::All, _) => {}
            (Need::Some(mine), Need::Some(more)) if mine.len() == more.len() => {
                mine.iter_mut().zip(more).for_each(|(mine, more)| *mine |= more);
            }
            (Need::Nothing, more) => *self = more.clone(),
            _ => *self = Need::All,
        }
    }
}

/// One pass over a program's entry.
pub(super) struct Plan {
    /// One an output.
    pub demands: Vec<Demand>,
    /// One an instruction.
    pub needs: Vec<Need>,
    /// Reductions that need no evaluation.
    pub sums: Sums,
}

impl Plan {
    /// Plans a pass; `wanted` holds the open elements of each output.
    pub fn new(program: &Program, demands: Vec<Demand>, wanted: &[Need], sums: Sums) -> Plan {
        let entry = program.entry();
        let mut needs = vec![Need::Nothing; entry.instructions.len()];
        for ((output, demand), wanted) in program.outputs().into_iter().zip(&demands).zip(wanted) {
            if *demand != Demand::None {
                needs[output].add(wanted);
            }
        }
        for id in (0..needs.len()).rev() {
            let instruction = &entry.instructions[id];
            // Every single one is all: nothing has to be followed one by one.
            if matches!(&needs[id], Need::Some(wanted) if wanted.iter().all(|wanted| *wanted)) {
                needs[id] = Need::All;
            }
            if needs[id] == Need::Nothing || sums.contains_key(&id) {
                continue;
            }
            for (number, operand) in instruction.operands.iter().enumerate() {
                let need = of_operand(entry, instruction, number, &needs[id]);
                needs[*operand].add(&need);
            }
        }
        Plan { demands, needs, sums }
    }

    /// The estimated number of operations of a pass that evaluates only the needed elements.
    pub fn operations(&self, program: &Program) -> usize {
        let entry = program.entry();
        let of = |(instruction, need): (&Instruction, &Need)| {
            let elements = match need {
                Need::Nothing => 0,
                Need::Some(wanted) => wanted.iter().filter(|wanted| **wanted).count(),
                Need::All => instruction.shape.dtype().map_or(0, |_| instruction.shape.elements()),
            };
            operations(entry, instruction, elements)
        };
        entry.instructions.iter().zip(&self.needs).map(of).sum()
    }
}

/// The estimated number of operations for `elements` elements of an instruction.
pub(super) fn operations(computation: &Computation, instruction: &Instruction, elements: usize) -> usize {
    let lhs = instruction.operands.first().map_or(&[][..], |lhs| computation.instructions[*lhs].shape.dims());
    match &instruction.op {
        Op::Dot { dims, .. } => elements * dims.products(lhs),
        _ => elements,
    }
}

/// The elements of one operand that an instruction needs for its own needed elements.
fn of_operand(entry: &Computation, instruction: &Instruction, number: usize, need: &Need) -> Need {
    let Need::Some(wanted) = need else { return need.clone() };
    let shape = |operand: usize| &entry.instructions[instruction.operands[operand]].shape;
    let elements = shape(number).elements();
    match &instruction.op {
        Op::Unary(_) | Op::Binary(_) | Op::Compare { .. } | Op::Select | Op::Clamp | Op::Convert
            if elements == wanted.len() =>
        {
            need.clone()
        }
        Op::ReducePrecision { .. } => need.clone(),
        // Starts are read whole.
        op if op.first_start().is_some() => Need::All,
        op if op.class() == Class::Moves => {
            // The number of each operand's element, moved to where it goes.
            let shapes: Vec<&Shape> = (0..instruction.operands.len()).map(shape).collect();
            let mark = |operand: usize| -> Vec<Option<usize>> {
                (0..shapes[operand].elements()).map(|at| (operand == number).then_some(at)).collect()
            };
            let marks: Vec<Vec<Option<usize>>> = (0..shapes.len()).map(mark).collect();
            let parts: Vec<_> = marks.iter().zip(&shapes).map(|(m, s)| (m.as_slice(), s.dims())).collect();
            let sources = movement::apply(op, &parts, &[], &[], instruction.shape.dims());
            let mut needed = vec![false; elements];
            for source in sources.iter().zip(wanted).filter(|(_, wanted)| **wanted).filter_map(|(source, _)| *source) {
                needed[source] = true;
            }
            Need::Some(needed)
        }
        Op::Reduce { dims, .. } if elements > 1 && instruction.shape.dtype().is_some() => {
            let operand_dims = shape(number).dims();
            let mut needed = vec![false; elements];
            movement::for_each_index(operand_dims, |flat, index| {
                let kept = (0..index.len()).filter(|d| !dims.contains(d));
                needed[flat] = wanted[kept.fold(0, |at, d| at * operand_dims[d] + index[d])];
            });
            Need::Some(needed)
        }
        Op::Dot { dims, .. } => Need::Some(of_factor(dims, [shape(0).dims(), shape(1).dims()], number, wanted)),
        _ => Need::All,
    }
}

/// The elements of one operand that a dot needs: the rows, or columns, of the wanted results.
fn of_factor(dims: &DotDims, operands: [&[usize]; 2], number: usize, wanted: &[bool]) -> Vec<bool> {
    let plan = DotPlan::new(dims, operands[0], operands[1]);
    let (m, k, n) = (plan.m, plan.k, plan.n);
    let shape = operands[number];
    let transpose = if number == 0 { plan.lhs_transpose } else { plan.rhs_transpose };
    let order = transpose.unwrap_or_else(|| (0..shape.len()).collect());
    let free = if number == 0 { m } else { n };
    let mut vectors = vec![false; plan.batch * free];
    for at in wanted.iter().enumerate().filter_map(|(at, wanted)| wanted.then_some(at)) {
        vectors[at / (m * n) * free + if number == 0 { at / n % m } else { at % n }] = true;
    }
    let strides = movement::row_major(shape);
    let arranged: Vec<usize> = order.iter().map(|d| shape[*d]).collect();
    let mut needed = vec![false; shape.iter().product()];
    movement::for_each_index(&arranged, |flat, index| {
        let vector = if number == 0 { flat / k } else { flat / (k * n) * n + flat % n };
        let place: isize = index.iter().zip(&order).map(|(i, d)| *i as isize * strides[*d]).sum();
        needed[place as usize] = vectors[vector];
    });
    needed
}

#[cfg(test)]
mod tests {
    use super::{Need, Plan, Sums};
    use crate::demand::Demand;
    use crate::ir::{Binary, Builder, DotDims, Op, Precision, Unary};
    use crate::tensor::DType;

    /// One element of a row's softmax needs its own quotient and exponential, and the whole row's sum.
    #[test]
    fn one_element_needs_its_row() {
        let mut b = Builder::new("softmax");
        let x = b.parameter("x", DType::F32, &[2, 3]).unwrap();
        let e = b.unary(Unary::Exponential, x).unwrap();
        let sum = b.reduce(Binary::Add, e, 0.0, &[1]).unwrap();
        let spread = b.broadcast(sum, &[2, 3], &[0]).unwrap();
        let p = b.binary(Binary::Divide, e, spread).unwrap();
        let program = b.finish(&[("p", p)]).unwrap();
        let wanted = [Need::Some(vec![false, false, false, false, true, false])];
        let plan = Plan::new(&program, vec![Demand::Rounded], &wanted, Sums::new());
        let second = Need::Some(vec![false, false, false, true, true, true]);
        assert_eq!(
            (&plan.needs[x], &plan.needs[e], &plan.needs[sum]),
            (&second, &second, &Need::Some(vec![false, true]))
        );
        // With the sum known, only its own.
        let sums = Sums::from([(sum, Vec::new())]);
        let plan = Plan::new(&program, vec![Demand::Rounded], &wanted, sums);
        assert_eq!(plan.needs[e], wanted[0]);
    }

    /// Of a dot in any arrangement, one result needs its row and its column, in its batch.
    #[test]
    fn one_product_needs_its_vectors() {
        let mut b = Builder::new("product");
        let x = b.parameter("x", DType::F32, &[3, 2, 4]).unwrap();
        let y = b.parameter("y", DType::F32, &[2, 5, 3]).unwrap();
        // [batch, free, contracting] is dims 1, 2, 0 of x and 0, 1, 2 of y.
        let dims =
            DotDims { lhs_batch: vec![1], rhs_batch: vec![0], lhs_contracting: vec![0], rhs_contracting: vec![2] };
        let precision = [Precision::Highest; 2];
        let dot = b.op(Op::Dot { dims, precision }, &[x, y]).unwrap();
        let program = b.finish(&[("dot", dot)]).unwrap();
        let (batch, row, column) = (1, 3, 2);
        let wanted = (0..2 * 4 * 5).map(|at| at == (batch * 4 + row) * 5 + column).collect();
        let plan = Plan::new(&program, vec![Demand::Rounded], &[Need::Some(wanted)], Sums::new());
        let of_x = (0..3 * 2 * 4).map(|at| at / 4 % 2 == batch && at % 4 == row).collect();
        let of_y = (0..2 * 5 * 3).map(|at| at / 15 == batch && at / 3 % 5 == column).collect();
        assert_eq!((&plan.needs[x], &plan.needs[y]), (&Need::Some(of_x), &Need::Some(of_y)));
    }

    /// A pass takes one operation for each element that is needed, and for each product of a dot.
    #[test]
    fn operations_are_those_of_needed_elements() {
        let mut b = Builder::new("operations");
        let x = b.parameter("x", DType::F32, &[2, 3]).unwrap();
        let y = b.parameter("y", DType::F32, &[3, 4]).unwrap();
        let dot = b.op(Op::Dot { dims: DotDims::matmul(), precision: [Precision::Highest; 2] }, &[x, y]).unwrap();
        let root = b.unary(Unary::Tanh, dot).unwrap();
        let program = b.finish(&[("root", root)]).unwrap();
        let operations =
            |wanted: Need| Plan::new(&program, vec![Demand::Rounded], &[wanted], Sums::new()).operations(&program);
        assert_eq!(operations(Need::All), 6 + 12 + 8 * 3 + 8);
        // A row of x and a column of y.
        assert_eq!(operations(Need::Some((0..8).map(|at| at == 5).collect())), 3 + 3 + 3 + 1);
        assert_eq!(operations(Need::Nothing), 0);
    }

    #[test]
    fn needs_add_up() {
        let some = |wanted: &[bool]| Need::Some(wanted.to_vec());
        for (mine, more, sum) in [
            (Need::Nothing, Need::Nothing, Need::Nothing),
            (Need::Nothing, some(&[true, false]), some(&[true, false])),
            (some(&[true, false]), Need::Nothing, some(&[true, false])),
            (some(&[true, false, false]), some(&[false, false, true]), some(&[true, false, true])),
            (some(&[true]), Need::All, Need::All),
            (Need::All, some(&[true]), Need::All),
            // No two of one value: to be safe, all.
            (some(&[true]), some(&[false, true]), Need::All),
        ] {
            let mut need = mine.clone();
            need.add(&more);
            assert_eq!(need, sum, "{mine:?} and {more:?}");
        }
    }

    /// One element of a result needs its part of operands of other shapes, or all of an operand that every element
    /// needs.
    #[test]
    fn one_element_needs_what_is_made_into_it() {
        let mut b = Builder::new("needs");
        let x = b.parameter("x", DType::F32, &[2, 3, 2]).unwrap();
        let y = b.parameter("y", DType::F32, &[2, 2]).unwrap();
        let pick = b.parameter("pick", DType::Pred, &[]).unwrap();
        let init = b.parameter("init", DType::F32, &[]).unwrap();
        let to_apply = b.binary_region(Binary::Add, DType::F32).unwrap();
        let sum = b.op(Op::Reduce { dims: vec![1], to_apply }, &[x, init]).unwrap();
        let short = b.op(Op::ReducePrecision { exponent_bits: 8, mantissa_bits: 7 }, &[y]).unwrap();
        let chosen = b.select(pick, sum, short).unwrap();
        let program = b.finish(&[("chosen", chosen)]).unwrap();
        let wanted = Need::Some(vec![false, false, true, false]);
        let plan = Plan::new(&program, vec![Demand::Rounded], std::slice::from_ref(&wanted), Sums::new());
        for id in [sum, short, y] {
            assert_eq!(plan.needs[id], wanted);
        }
        assert_eq!([&plan.needs[pick], &plan.needs[init]], [&Need::All; 2]);
        let expected = (0..12).map(|at| at / 6 == 1 && at % 2 == 0).collect();
        assert_eq!(plan.needs[x], Need::Some(expected));
        let every = Need::Some(vec![true; 4]);
        let plan = Plan::new(&program, vec![Demand::Rounded], &[every], Sums::new());
        assert!([x, y, sum, chosen].iter().all(|id| plan.needs[*id] == Need::All));
    }

    /// The start of a slice is not known before: one element of it needs all of the array and of the starts.
    #[test]
    fn moving_slices_need_their_operands_whole() {
        let mut b = Builder::new("slices");
        let x = b.parameter("x", DType::F32, &[5]).unwrap();
        let update = b.parameter("update", DType::F32, &[2]).unwrap();
        let start = b.parameter("start", DType::S32, &[]).unwrap();
        let updated = b.op(Op::DynamicUpdateSlice, &[x, update, start]).unwrap();
        let sizes = vec![3];
        let slice = b.op(Op::DynamicSlice { sizes }, &[updated, start]).unwrap();
        let program = b.finish(&[("slice", slice)]).unwrap();
        let wanted = Need::Some(vec![false, true, false]);
        let plan = Plan::new(&program, vec![Demand::Rounded], &[wanted], Sums::new());
        for id in [x, update, start, updated] {
            assert_eq!(plan.needs[id], Need::All);
        }
    }
}
