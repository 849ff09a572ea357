//! The products that a value's users take, and the ways in which they read them.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, Unary, ValueId};

use super::super::chosen_terms::{is_sum_with_number, number_in_choice};
use super::super::innermost::Loops;
use super::super::known::{known_number, negated_by};
use super::super::known_choice::known_columns;
use super::super::signs::{Term, moves};
use super::super::single_numbers::SingleNumbers;
use super::super::ways::{Ways, twins};

/// An operand of an addition that is a product.
pub struct Product {
    /// The values from the operand back to the product.
    pub path: Vec<ValueId>,
    /// The operand as a term of the sum, with its negations.
    pub term: Term,
    /// Whether it is the last product of an exponential: that with a power of two, which is exact.
    pub exponential: bool,
    /// For each element, whether it is a product, if the operand is a concatenate that is split into its own operands.
    pub parts: Option<Arc<[bool]>>,
    /// The select between the product and its sum, and for each column whether its predicate is known, unless it is
    /// known in all.
    pub partly: Option<(ValueId, Vec<bool>)>,
}

impl Product {
    /// Whether the element at this position is a product.
    pub fn is_at(&self, place: usize) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts[place])
    }

    /// The same product with one more value on its path.
    pub fn by_way_of(mut self, id: ValueId) -> Product {
        self.path.push(id);
        self
    }
}

/// The users of a computation's values.
pub struct Reads<'c> {
    computation: &'c Computation,
    /// The number of reads of each value, one more for the root.
    uses: &'c [usize],
    users: &'c [Vec<ValueId>],
    /// For each of several products of the same two values, all of them.
    twins: HashMap<ValueId, Vec<ValueId>>,
    /// The ways in which values are read, for the fusions that were asked about.
    ways: RefCell<HashMap<Fusion, Ways>>,
    /// The loops that the dims of values run along, for the fusions that were asked about.
    loops: RefCell<HashMap<Option<Fusion>, Loops>>,
    /// The constants that a block uses once, for the fusions that were asked about.
    numbers: RefCell<HashMap<Option<Fusion>, SingleNumbers>>,
}

impl<'c> Reads<'c> {
    /// The reads of a computation, from the number of reads and the users of each value.
    pub fn new(computation: &'c Computation, (uses, users): (&'c [usize], &'c [Vec<ValueId>])) -> Reads<'c> {
        let twins = twins(computation, users);
        let (ways, loops, numbers) = Default::default();
        Reads { computation, uses, users, twins, ways, loops, numbers }
    }

    /// The number of reads of the elements of a value that this user takes, reads of an equal product included.
    fn alike(&self, id: ValueId, reader: ValueId) -> usize {
        let Reads { computation, uses, users, twins, ways, .. } = self;
        let alone = [id];
        let same = twins.get(&id).map_or(&alone[..], Vec::as_slice);
        let most = same.iter().map(|id| uses[*id]).sum();
        let Some(fusion) = computation.instructions[id].fusion().filter(|_| most > 1) else { return most };
        let mut ways = ways.borrow_mut();
        let ways = ways.entry(fusion).or_insert_with(|| Ways::new(computation, Some(fusion), users, uses));
        ways.alike(id, reader, same).unwrap_or(most)
    }

    /// Whether a broadcast varies along the dim of the innermost loop.
    fn keeps_innermost(&self, id: ValueId) -> bool {
        let Instruction { op, shape, .. } = &self.computation.instructions[id];
        let fusion = self.computation.instructions[id].fusion();
        let Op::Broadcast { dims } = op else { return true };
        self.loops(fusion, |loops| loops.keeps(id, dims, shape.dims()))
    }

    /// For each column of its innermost loop, whether LLVM knows the predicate of a select at compile time. A select
    /// along rows is known in all columns, or the list is empty.
    fn known_columns(&self, id: ValueId) -> Vec<bool> {
        let choice = &self.computation.instructions[id];
        let last = choice.shape.dims().iter().rposition(|extent| *extent > 1);
        let innermost = self.loops(choice.fusion(), |loops| loops.innermost(id)).or(last);
        let columns = innermost.map_or_else(Vec::new, |dim| known_columns(self.computation, choice, dim));
        if innermost != last && columns.contains(&false) { Vec::new() } else { columns }
    }

    /// Whether LLVM knows the predicate of a select in all columns.
    fn is_known(&self, id: ValueId) -> bool {
        let columns = self.known_columns(id);
        !columns.is_empty() && !columns.contains(&false)
    }

    /// The answer to a question about a fusion's loops.
    pub fn loops<T>(&self, fusion: Option<Fusion>, asked: impl Fn(&Loops) -> T) -> T {
        let mut loops = self.loops.borrow_mut();
        asked(loops.entry(fusion).or_insert_with(|| Loops::new(self.computation, fusion)))
    }

    /// Whether a value varies in the innermost loop, as far as broadcasts tell. A scalar operation is in no loop.
    fn varies_inside(&self, id: ValueId) -> bool {
        let instruction = &self.computation.instructions[id];
        let mut operands = instruction.operands.iter();
        match &instruction.op {
            Op::Broadcast { .. } => self.keeps_innermost(id),
            Op::Constant(_) => instruction.shape.elements() != 1,
            Op::Binary(_) if !instruction.shape.dims().is_empty() => {
                operands.any(|operand| self.varies_inside(*operand))
            }
            Op::Unary(_) if !instruction.shape.dims().is_empty() => self.varies_inside(instruction.operands[0]),
            _ => true,
        }
    }

    /// The product in the right operand of a subtraction, if that operand selects between the product and zero. The
    /// subtraction of zero is an identity, so LLVM selects afterwards, between whole registers
    /// (`foldSelectWithIdentityConstant`, for processors with AVX-512).
    pub fn product_behind_choice(&self, subtraction: &Instruction) -> Option<Product> {
        let Reads { computation, uses, .. } = *self;
        let id = subtraction.operands[1];
        let choice = &computation.instructions[id];
        let &[_, on_true, on_false] = &choice.operands[..] else { return None };
        let register = choice.shape.elements() >= REGISTER;
        if choice.op != Op::Select || uses[id] != 1 || choice.fusion() != subtraction.fusion() || !register {
            return None;
        }
        let is_zero = known_number(computation, on_false, choice.fusion()).is_some_and(|number| number.to_bits() == 0);
        Some(self.product(on_true, id).filter(|_| is_zero)?.by_way_of(id))
    }

    /// Whether a user of a concatenate has a loop for each of its operands. Either XLA splits the concatenate, or the
    /// user sums along other dims than the joined one. In the second case one operand is read throughout a loop of the
    /// sum, and LLVM makes one loop for each operand (`SimpleLoopUnswitch`).
    fn is_parted_by(&self, reader: ValueId, concatenate: ValueId, dim: usize) -> bool {
        let Instruction { op, operands, .. } = &self.computation.instructions[reader];
        let fusion = self.computation.instructions[reader].fusion();
        self.loops(fusion, |loops| loops.hero == Some(concatenate))
            || operands[0] == concatenate && matches!(op, Op::Reduce { dims, .. } if !dims.contains(&dim))
    }

    /// The products among values of which the user takes one for each element, joined into one.
    fn any_product(&self, values: &[ValueId], reader: ValueId) -> Option<Product> {
        let found = values.iter().filter_map(|value| self.product(*value, reader));
        found.reduce(|one, other| Product { path: [one.path, other.path].concat(), ..one })
    }

    /// For each element of a concatenate along this dim, whether it is a product.
    fn parts(&self, concatenate: ValueId, dim: usize) -> Arc<[bool]> {
        let Instruction { operands, shape, .. } = &self.computation.instructions[concatenate];
        let extent = |operand: &ValueId| self.computation.instructions[*operand].shape.dims()[dim];
        let of_operand = |operand: &ValueId| vec![self.product(*operand, concatenate).is_some(); extent(operand)];
        let along: Vec<bool> = operands.iter().flat_map(of_operand).collect();
        let step: usize = shape.dims()[dim + 1..].iter().product();
        (0..shape.elements()).map(|at| along[at / step % along.len()]).collect()
    }

    /// The product behind `id` in the user's fusion, through moves, negations and known selects. Each value on the path
    /// has one read in the way that the next one reads it.
    pub fn product(&self, mut id: ValueId, mut reader: ValueId) -> Option<Product> {
        let Reads { computation, uses, .. } = *self;
        let fusion = computation.instructions[reader].fusion();
        let read = [id, reader];
        let mut path = Vec::new();
        loop {
            let instruction = &computation.instructions[id];
            if self.alike(id, reader) != 1 || instruction.fusion() != fusion {
                return None;
            }
            path.push(id);
            reader = id;
            if let Some(operand) = negated_by(computation, id) {
                id = operand;
                continue;
            }
            match &instruction.op {
                // LLVM's InstCombine makes |ab| of |a| |b|.
                Op::Binary(Binary::Multiply) if is_product_of_magnitudes(computation, uses, instruction) => {
                    return None;
                }
                Op::Binary(Binary::Multiply)
                    if number_in_choice(computation, uses, instruction, |choice| self.is_known(choice))
                        .is_some_and(|number| number != 0.0 || !is_sum_with_number(computation, read)) =>
                {
                    return None;
                }
                op @ (Op::Binary(Binary::Multiply) | Op::Unary(Unary::Exponential)) => {
                    let exponential = *op == Op::Unary(Unary::Exponential);
                    let alike = |id: ValueId, reader: ValueId| self.alike(id, reader);
                    let keeps = |id: ValueId| self.keeps_innermost(id);
                    let mut numbers = self.numbers.borrow_mut();
                    let numbers = numbers.entry(fusion).or_insert_with(|| SingleNumbers::new(computation, fusion));
                    let term = || Term::new(computation, read, (&alike, &keeps, &|number| numbers.hold(number)));
                    return self.varies_inside(id).then(|| Product {
                        path,
                        term: term(),
                        exponential,
                        parts: None,
                        partly: None,
                    });
                }
                Op::Select => {
                    let columns = self.known_columns(id);
                    let joined =
                        self.any_product(&instruction.operands[1..], id).filter(|_| columns.contains(&true))?;
                    path.extend(joined.path);
                    let partly = columns.contains(&false).then_some((id, columns));
                    let partly = if partly.is_some() && joined.partly.is_some() { return None } else { partly };
                    return Some(Product { path, partly: partly.or(joined.partly), ..joined });
                }
                Op::Concatenate { dim } if self.is_parted_by(read[1], id, *dim) => {
                    let joined = self.any_product(&instruction.operands, id)?;
                    path.extend(joined.path);
                    return Some(Product { path, parts: Some(self.parts(id, *dim)), ..joined });
                }
                Op::Broadcast { .. } if !self.keeps_innermost(id) => return None,
                op if matches!(op, Op::Broadcast { .. } | Op::Gather(_)) || moves(op) => id = instruction.operands[0],
                _ => return None,
            }
        }
    }
}

/// Elements of the smallest register of more than one element.
const REGISTER: usize = 4;

fn is_product_of_magnitudes(computation: &Computation, uses: &[usize], product: &Instruction) -> bool {
    let [a, b] = product.operands[..] else { return false };
    let is_magnitude = |id: ValueId| {
        let Instruction { op, .. } = &computation.instructions[id];
        let fusion = computation.instructions[id].fusion();
        *op == Op::Unary(Unary::Abs) && fusion == product.fusion()
    };
    a != b && is_magnitude(a) && is_magnitude(b) && (uses[a] == 1 || uses[b] == 1)
}
