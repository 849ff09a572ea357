//! Sums of products that a library takes for dots: `rewrite_sum_to_dot` of google/XNNPACK,
//! `ynnpack/subgraph/fusion.cc`, as it was in May 2026 (FACTS 3.11).

use std::collections::HashMap;

use crate::ir::{Binary, Class, Computation, Fusion, Instruction, Op, ValueId};
use crate::tensor::DType;

/// The dot that a sum of products is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LibraryDot {
    /// Numbers of rows, products and columns, for each index of the dims that stay.
    pub sizes: [usize; 3],
    /// Whether the right operand has its products innermost, beside columns.
    pub transposed: bool,
    /// Without columns, the number of indices of each operand's other dims.
    pub batches: [usize; 2],
}

impl LibraryDot {
    /// The dot that the library makes of a sum over one dim of f32 products, from zero, if the product has no other
    /// user. The first dim along which one factor is constant, or has one element, is that of the rows. The first other
    /// dim along which the other factor is constant is that of the columns. `None` if there is neither, and for
    /// squares. `uses` counts the reads of each value.
    pub fn of_sum(computation: &Computation, sum: &Instruction, uses: &[usize]) -> Option<LibraryDot> {
        let instructions = &computation.instructions;
        let (Op::Reduce { dims, .. }, &[term, init]) = (&sum.op, &sum.operands[..]) else { return None };
        let product = &instructions[term];
        let &[reduced] = &dims[..] else { return None };
        let from_zero = matches!(&instructions[init].op, Op::Constant(value) if value.data().to_f32s() == [0.0]);
        let own = product.op == Op::Binary(Binary::Multiply) && product.fusion() == sum.fusion() && uses[term] == 1;
        if !own || !from_zero || product.shape.dtype() != Some(DType::F32) || product.operands[0] == product.operands[1]
        {
            return None;
        }
        // Dims are counted from the innermost one.
        let mut known = HashMap::new();
        let [mut left, mut right] = [0, 1].map(|side| {
            let extents = extents(computation, sum.fusion(), product.operands[side], &mut known);
            extents.into_iter().rev().collect::<Vec<usize>>()
        });
        let rank = left.len();
        if right[0] == 1 {
            std::mem::swap(&mut left, &mut right);
        }
        let products = rank - 1 - reduced;
        if left[products] != right[products] {
            return None;
        }
        let mut order: Vec<usize> = (0..rank).collect();
        order.swap(0, products);
        let stays = |extents: &[usize], but: Option<usize>| {
            order[1..].iter().copied().find(|dim| extents[*dim] == 1 && Some(*dim) != but)
        };
        let rows = stays(&right, None);
        let columns = stays(&left, rows);
        rows.or(columns)?;
        let sizes = [rows.map_or(1, |dim| left[dim]), left[products], columns.map_or(1, |dim| right[dim])];
        let others = order[1..].iter().copied().filter(|dim| Some(*dim) != rows);
        let batches = [&left, &right].map(|extents| match columns {
            None => others.clone().map(|dim| extents[dim]).product(),
            Some(_) => 1,
        });
        Some(LibraryDot { sizes, transposed: products == 0 && columns.is_some(), batches })
    }
}

/// A value's extents, 1 along dims that a broadcast inside of its fusion repeats. A broadcast to a shape with dims of
/// one element stays what it is: no other operation gives those extents, so the library keeps it.
fn extents(
    computation: &Computation,
    fusion: Option<Fusion>,
    id: ValueId,
    known: &mut HashMap<ValueId, Vec<usize>>,
) -> Vec<usize> {
    if let Some(extents) = known.get(&id) {
        return extents.clone();
    }
    let instruction = &computation.instructions[id];
    let dims = instruction.shape.dims();
    let inside = instruction.fusion() == fusion;
    let found = match &instruction.op {
        Op::Broadcast { dims: along } if inside && !dims.contains(&1) => {
            let mut extents_of = vec![1; dims.len()];
            let before = extents(computation, fusion, instruction.operands[0], known);
            along.iter().zip(before).for_each(|(dim, extent)| extents_of[*dim] = extent);
            extents_of
        }
        op if inside && matches!(op.class(), Class::Elementwise | Class::Converts) => {
            let mut largest = vec![1; dims.len()];
            for operand in &instruction.operands {
                let own = extents(computation, fusion, *operand, known);
                largest.iter_mut().zip(own).for_each(|(largest, own)| *largest = own.max(*largest));
            }
            largest
        }
        _ => dims.to_vec(),
    };
    known.insert(id, found.clone());
    found
}
