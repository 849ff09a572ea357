//! What is not rounded inside a fusion: products that are added at once.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::ir::{Binary, Computation, ComputationId, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::chosen_terms::{equal_choices, is_sum_with_number, number_in_choice};
use super::codegen::Codegen;
use super::elements_in_places::elements_in_places;
use super::emission::Emission;
use super::folding::Folding;
use super::innermost::Loops;
use super::invariant::Invariants;
use super::known::{known_number, negated_by};
use super::known_choice::{known_columns, known_elements};
use super::library_dot::LibraryDot;
use super::runs::Runs;
use super::signs::{Signs, Term, moves};
use super::single_numbers::SingleNumbers;
use super::sum_loop::leaves_no_loop;
use super::ways::{Ways, twins};

/// Products that are added before they are rounded.
#[derive(Default)]
pub struct Contractions {
    /// For each value, whether it is such a product, or one moved or negated.
    pub products: Vec<bool>,
    /// Of readers that take some of these rounded nevertheless, the operands' bits.
    pub rounded: HashMap<ValueId, u64>,
    /// Of sums of two products that are computed in several places, whether each element has the left one contracted: the other
    /// one is rounded.
    pub left_first: HashMap<ValueId, Arc<[bool]>>,
}

impl Contractions {
    /// The bit of the operand at a position; who has more operands than bits, a list or a concatenate, adds none of them.
    fn bit(position: usize) -> u64 {
        1 << position.min(63)
    }

    /// Whether the operand at this position is among these bits.
    pub fn holds(bits: u64, position: usize) -> bool {
        bits & Self::bit(position) != 0
    }

    /// Whether `reader` takes its operand at this position before that is rounded.
    pub fn is_exact_for(&self, reader: ValueId, position: usize, operand: ValueId) -> bool {
        let is_rounded = self.rounded.get(&reader).is_some_and(|bits| Self::holds(*bits, position));
        self.products.get(operand) == Some(&true) && !is_rounded
    }
}

/// For each value of a computation, whether it is an f32 product, or one moved or negated, whose only reader adds or
/// subtracts it in the same fusion, or sums it up with others (`sums` says which regions do): a compiler that contracts
/// (LLVM's `AllowFPOpFusion::Fast`, as XLA:CPU sets it) makes one fused multiply-add of both. Of two products the left one
/// is contracted, as in LLVM's `visitFADDForFMACombine`; the left operand of an addition is the one of lower rank
/// (`Emission::exchanges`), or what a negated product is subtracted from. An exponential ends in a product, and is exact
/// however that is taken: where it is the left one, the other is rounded.
///
/// A library that takes a sum of products for a dot does not round them either ([`LibraryDot`]).
///
/// A product that does not change along the innermost dim is computed before the innermost loop, and rounded there; so is one
/// that is the same for all rows where that loop is unrolled (`invariant.rs`), and one before branches behind which the sum is.
/// Who reads other elements of a product than those at its own place has code of its own for it (`ways.rs`), and rounds there or
/// does not. `uses` is how often each value is read, the root once more.
pub fn find_contractions(
    computation: &Computation,
    uses: &[usize],
    codegen: &Codegen,
    sums: impl Fn(ComputationId) -> bool,
) -> Contractions {
    let instructions = &computation.instructions;
    let mut contracted = vec![false; instructions.len()];
    let users = computation.users();
    let twins = twins(computation, &users);
    let reads = Reads {
        computation,
        codegen,
        uses,
        users: &users,
        twins,
        ways: RefCell::default(),
        loops: RefCell::default(),
        numbers: RefCell::default(),
    };
    // Who adds a product to another number, or hands it on to who does.
    let mut exact: HashSet<(ValueId, ValueId)> = HashSet::new();
    let mut emissions: HashMap<Fusion, Emission> = HashMap::new();
    let mut runs: HashMap<Fusion, Option<Runs>> = HashMap::new();
    let mut by_place: HashMap<ValueId, Arc<[bool]>> = HashMap::new();
    let invariants = Invariants::new(computation);
    let mut folding = Folding::new(computation, codegen);
    for (id, instruction) in instructions.iter().enumerate() {
        contracted[id] |= instruction.fusion == Some(Fusion::Joined);
        let in_library = matches!(instruction.fusion, Some(Fusion::Custom { .. })) && codegen.sums_are_dots;
        if in_library
            && let Op::Reduce { to_apply, .. } = instruction.op
            && sums(to_apply)
            && LibraryDot::of_sum(computation, instruction, uses).is_some()
        {
            contracted[instruction.operands[0]] = true;
        }
        let compiled = instruction.fusion.is_some_and(Fusion::is_compiled);
        let adds = match instruction.op {
            Op::Binary(Binary::Add | Binary::Subtract) => true,
            Op::Reduce { to_apply, .. } => sums(to_apply),
            _ => false,
        };
        if !compiled || !adds || instruction.shape.dtype() != Some(DType::F32) {
            continue;
        }
        let mut terms: Vec<Product> = match equal_choices(computation, uses, instruction) {
            Some(choices) => {
                let term = |[choice, chosen]: &[ValueId; 2]| Some(reads.product(*chosen, *choice)?.by_way_of(*choice));
                choices.iter().filter_map(term).collect()
            }
            None => instruction.operands.iter().filter_map(|operand| reads.product(*operand, id)).collect(),
        };
        if let (true, Op::Binary(Binary::Subtract)) = (codegen.masks, &instruction.op)
            && terms.iter().all(|term| term.partly.is_some())
            && let Some(product) = reads.product_behind_choice(instruction)
        {
            terms = vec![product];
        }
        if terms.len() > 1 || matches!(instruction.op, Op::Reduce { .. }) {
            terms.retain(|term| term.partly.is_none());
        }
        if let (Some(fusion), Op::Binary(_)) = (instruction.fusion, &instruction.op) {
            let emission = emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion), codegen));
            let is_gone = |sum: Option<ValueId>| sum.is_some_and(|sum| leaves_no_loop(computation, sum, codegen));
            let leaves = |product: ValueId| reads.loops(Some(fusion), |loops| loops.leaves(product, id, is_gone));
            let runs = runs.entry(fusion).or_insert_with(|| Runs::new(computation, fusion, codegen));
            let parts = |product: ValueId| runs.as_ref().is_some_and(|runs| runs.parts(product, id));
            let is_apart = |product: ValueId| {
                emission.parts(product, id) || invariants.leaves(product, codegen) || leaves(product) || parts(product)
            };
            terms.retain(|term| !term.path.last().is_some_and(|product| is_apart(*product)));
            if terms.len() > 1 {
                terms.retain(|term| !term.path.last().is_some_and(|product| folding.takes_all(*product)));
            }
        }
        let taken = match (&terms[..], &instruction.op, instruction.fusion) {
            ([left, right], Op::Binary(binary), Some(fusion)) => {
                let signs = || Signs::new(*binary == Binary::Subtract, [left.term.clone(), right.term.clone()]);
                let emission =
                    emissions.entry(fusion).or_insert_with(|| Emission::new(computation, Some(fusion), codegen));
                let exchanges = emission.exchanges(id, [left.path[0], right.path[0]]);
                let is_left = |exchanges: bool| signs().first(|| exchanges) == 0;
                let of_places: Vec<bool> = exchanges.values().map(|exchanges| is_left(*exchanges)).collect();
                let first = of_places.first().copied().unwrap_or_else(|| is_left(false));
                let differ = of_places.iter().any(|is_left| *is_left != first);
                let elements = differ.then(|| elements_in_places(computation, Some(fusion), id)).flatten();
                match elements.is_some() || left.parts.is_some() || right.parts.is_some() {
                    true => {
                        let mut left_first = vec![first; instruction.shape.elements()];
                        for (place, is_left) in exchanges.keys().zip(of_places).rev() {
                            let own = elements.iter().filter_map(|elements| elements.get(place)).flatten();
                            left_first.iter_mut().zip(own).filter(|(_, own)| **own).for_each(|(at, _)| *at = is_left);
                        }
                        for (at, is_left) in left_first.iter_mut().enumerate() {
                            *is_left = left.is_at(at) && (*is_left || !right.is_at(at));
                        }
                        by_place.insert(id, left_first.into());
                        vec![left, right]
                    }
                    false => vec![if first { left } else { right }],
                }
            }
            ([Product { path, partly: Some(choice), .. }], ..) => {
                let Some(known) = known_elements(computation, (id, path), choice) else { continue };
                let is_left = instruction.operands[0] == path[0];
                by_place.insert(id, known.iter().map(|is_known| *is_known == is_left).collect());
                vec![&terms[0]]
            }
            ([only], ..) => vec![only],
            _ => continue,
        };
        for product in taken.iter().filter(|product| !product.exponential) {
            product.path.iter().for_each(|id| contracted[*id] = true);
            let readers = || [id].into_iter().chain(product.path.iter().copied());
            exact.extend(product.path.iter().flat_map(|read| readers().map(|reader| (reader, *read))));
        }
    }
    let mut rounded: HashMap<ValueId, u64> = HashMap::new();
    for product in (0..instructions.len()).filter(|id| contracted[*id] && uses[*id] > 1) {
        for reader in users[product].iter().filter(|reader| !exact.contains(&(**reader, product))) {
            let operands = instructions[*reader].operands.iter().enumerate();
            let positions = operands.filter(|(_, operand)| **operand == product).map(|(position, _)| position);
            positions.for_each(|position| *rounded.entry(*reader).or_default() |= Contractions::bit(position));
        }
    }
    Contractions { products: contracted, rounded, left_first: by_place }
}

/// An operand of an addition that is a product.
struct Product {
    /// The values from the operand back to the product.
    path: Vec<ValueId>,
    /// What the sum has in it.
    term: Term,
    /// Whether it is the last product of an exponential: that with a power of two, which is exact.
    exponential: bool,
    /// Which elements it is, if it is among the operands of a concatenate that is taken apart.
    parts: Option<Arc<[bool]>>,
    /// A choice behind which it is, and the columns in which that is known, if these are not all.
    partly: Option<(ValueId, Vec<bool>)>,
}

impl Product {
    /// Whether the element at this place is one.
    fn is_at(&self, place: usize) -> bool {
        self.parts.as_ref().is_none_or(|parts| parts[place])
    }

    /// The same behind one value more.
    fn by_way_of(mut self, id: ValueId) -> Product {
        self.path.push(id);
        self
    }
}

/// Who reads a computation's values.
struct Reads<'c> {
    computation: &'c Computation,
    codegen: &'c Codegen,
    /// How often each value is read, the root once more.
    uses: &'c [usize],
    users: &'c [Vec<ValueId>],
    /// Products of the same two values.
    twins: HashMap<ValueId, Vec<ValueId>>,
    /// And in which ways, for fusions in which that was asked.
    ways: RefCell<HashMap<Fusion, Ways>>,
    /// And along which loops their dims run.
    loops: RefCell<HashMap<Option<Fusion>, Loops>>,
    /// And the numbers that stand once in a block.
    numbers: RefCell<HashMap<Option<Fusion>, SingleNumbers>>,
}

impl Reads<'_> {
    /// How often the elements of a value are read with which this reader computes, or those of one that is the same.
    fn alike(&self, id: ValueId, reader: ValueId) -> usize {
        let Reads { computation, codegen, uses, users, twins, ways, .. } = self;
        let alone = [id];
        let same = twins.get(&id).map_or(&alone[..], Vec::as_slice);
        let most = same.iter().map(|id| uses[*id]).sum();
        let Some(fusion) = computation.instructions[id].fusion.filter(|_| most > 1) else { return most };
        let mut ways = ways.borrow_mut();
        let ways = ways.entry(fusion).or_insert_with(|| Ways::new(computation, Some(fusion), users, uses, codegen));
        ways.alike(id, reader, same).unwrap_or(most)
    }

    /// Whether a broadcast changes along the dim of the innermost loop.
    fn keeps_innermost(&self, id: ValueId) -> bool {
        let Instruction { op, fusion, shape, .. } = &self.computation.instructions[id];
        let Op::Broadcast { dims } = op else { return true };
        self.loops(*fusion, |loops| loops.keeps(id, dims, shape.dims()))
    }

    /// In which columns of its innermost loop LLVM knows a choice when it makes the code: of one along rows, in all or none.
    fn known_columns(&self, id: ValueId) -> Vec<bool> {
        let choice = &self.computation.instructions[id];
        let last = choice.shape.dims().iter().rposition(|extent| *extent > 1);
        let innermost = self.loops(choice.fusion, |loops| loops.innermost(id)).or(last);
        let columns = innermost.map_or_else(Vec::new, |dim| known_columns(self.computation, choice, dim));
        if innermost != last && columns.contains(&false) { Vec::new() } else { columns }
    }

    /// Whether LLVM knows a choice in all columns.
    fn is_known(&self, id: ValueId) -> bool {
        let columns = self.known_columns(id);
        !columns.is_empty() && !columns.contains(&false)
    }

    /// What is asked of a fusion's loops.
    fn loops<T>(&self, fusion: Option<Fusion>, asked: impl Fn(&Loops) -> T) -> T {
        let mut loops = self.loops.borrow_mut();
        asked(loops.entry(fusion).or_insert_with(|| Loops::new(self.computation, fusion, self.codegen)))
    }

    /// Whether a value changes in the innermost loop, as far as broadcasts tell. A scalar stands in no loop.
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

    /// The product behind the right operand of a subtraction, where that is a choice between it and a zero: subtracting nothing
    /// is leaving the other operand as it is, so LLVM makes the choice afterwards, among whole registers
    /// (`foldSelectWithIdentityConstant`, for processors with AVX-512).
    fn product_behind_choice(&self, subtraction: &Instruction) -> Option<Product> {
        let Reads { computation, uses, .. } = *self;
        let id = subtraction.operands[1];
        let choice = &computation.instructions[id];
        let &[_, on_true, on_false] = &choice.operands[..] else { return None };
        let register = choice.shape.elements() >= REGISTER;
        if choice.op != Op::Select || uses[id] != 1 || choice.fusion != subtraction.fusion || !register {
            return None;
        }
        let is_zero = known_number(computation, on_false, choice.fusion).is_some_and(|number| number.to_bits() == 0);
        Some(self.product(on_true, id).filter(|_| is_zero)?.by_way_of(id))
    }

    /// Whether what reads a concatenate has a loop for each of its operands: XLA takes it apart, or the dim of it is none of those that
    /// its reader sums along, and the operand is the same in all loops of the sum, of which LLVM makes one for each
    /// (`SimpleLoopUnswitch`).
    fn is_parted_by(&self, reader: ValueId, concatenate: ValueId, dim: usize) -> bool {
        let Instruction { op, operands, fusion, .. } = &self.computation.instructions[reader];
        self.loops(*fusion, |loops| loops.hero == Some(concatenate))
            || operands[0] == concatenate && matches!(op, Op::Reduce { dims, .. } if !dims.contains(&dim))
    }

    /// The products among values of which the reader takes one for each element, as one.
    fn any_product(&self, values: &[ValueId], reader: ValueId) -> Option<Product> {
        let found = values.iter().filter_map(|value| self.product(*value, reader));
        found.reduce(|one, other| Product { path: [one.path, other.path].concat(), ..one })
    }

    /// Which elements of a concatenate along this dim are products.
    fn parts(&self, concatenate: ValueId, dim: usize) -> Arc<[bool]> {
        let Instruction { operands, shape, .. } = &self.computation.instructions[concatenate];
        let extent = |operand: &ValueId| self.computation.instructions[*operand].shape.dims()[dim];
        let of_operand = |operand: &ValueId| vec![self.product(*operand, concatenate).is_some(); extent(operand)];
        let along: Vec<bool> = operands.iter().flat_map(of_operand).collect();
        let step: usize = shape.dims()[dim + 1..].iter().product();
        (0..shape.elements()).map(|at| along[at / step % along.len()]).collect()
    }

    /// The product of the reader's fusion that `id` is, each value on the way read once as the next one reads it.
    fn product(&self, mut id: ValueId, mut reader: ValueId) -> Option<Product> {
        let Reads { computation, uses, .. } = *self;
        let fusion = computation.instructions[reader].fusion;
        let read = [id, reader];
        let mut path = Vec::new();
        loop {
            let instruction = &computation.instructions[id];
            if self.alike(id, reader) != 1 || instruction.fusion != fusion {
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

/// Elements of the smallest register of several.
const REGISTER: usize = 4;

fn is_product_of_magnitudes(computation: &Computation, uses: &[usize], product: &Instruction) -> bool {
    let [a, b] = product.operands[..] else { return false };
    let is_magnitude = |id: ValueId| {
        let Instruction { op, fusion, .. } = &computation.instructions[id];
        *op == Op::Unary(Unary::Abs) && *fusion == product.fusion
    };
    a != b && is_magnitude(a) && is_magnitude(b) && (uses[a] == 1 || uses[b] == 1)
}

#[cfg(test)]
mod tests;
