//! The order in which a compiler's code for a fusion reads and computes: what LLVM's Reassociate pass ranks operands by.

use std::collections::{HashMap, HashSet};

use crate::ir::{Class, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::address::Address;
use super::codegen::Codegen;
use super::complex_parts::ComplexParts;
use super::kernel_functions::{Functions, has_functions, results_of};
use super::known::{computed_number, left_as_it_is};

/// Steps of the longest loop that is taken for unrolled: with more of them each branch has an order of its own, which is not followed.
pub const UNROLLED: usize = 4;

/// More values than any fusion of a program has: one that says them again and again in different places is not followed.
const MOST_VALUES: usize = 20_000;

/// When a value can be there, as LLVM ranks it.
pub struct Emission<'c> {
    computation: &'c Computation,
    fusion: Option<Fusion>,
    /// How its code is put together; `None` where its values are emitted one by one.
    functions: Option<Functions>,
    /// Whether it is a loop: what is a scalar outside does not change in it.
    loops: bool,
    /// Whether what does not change in the innermost loop is computed before it.
    hoists: bool,
    complex: ComplexParts,
    /// Ranks of values, each in a place: the moves between it and what is read outside.
    ranks: HashMap<(ValueId, Vec<ValueId>), u32>,
    /// Reads so far. Each has the rank of its position; those before the innermost loop stand in a block of their own.
    reads: u32,
    reads_before: u32,
    /// Their ranks by what is read.
    read: HashMap<(ValueId, Vec<Address>), u32>,
    /// The basic block that each value is computed in, in its last place.
    blocks: HashMap<ValueId, u32>,
    /// Basic blocks so far.
    block: u32,
    /// Values that are computed in the innermost loop.
    inside: HashSet<ValueId>,
    /// Whether it is at what is computed before that.
    is_before: bool,
    /// Whether the innermost loop goes over several dims, up to the one that is given.
    merges: bool,
}

impl<'c> Emission<'c> {
    /// The code of one fusion, results of which are read outside.
    pub fn new(computation: &'c Computation, fusion: Option<Fusion>, codegen: &Codegen) -> Emission<'c> {
        let mut emission = Emission::nothing(computation, fusion);
        emission.hoists = codegen.hoists_first;
        let results = results_of(computation, fusion);
        let has_functions = has_functions(fusion, codegen);
        emission.functions = has_functions.then(|| Functions::new(computation, fusion, &results, &emission.complex));
        if let Some(hero) = emission.functions.as_ref().and_then(Functions::hero) {
            emission.visit(hero);
            emission.functions.iter_mut().for_each(Functions::enter_epilogue);
        }
        results.into_iter().for_each(|result| emission.visit(result));
        emission
    }

    fn nothing(computation: &'c Computation, fusion: Option<Fusion>) -> Emission<'c> {
        let mut inside = computation.instructions.iter().filter(|instruction| instruction.fusion == fusion);
        let loops = inside.any(|instruction| instruction.shape.elements() > 1);
        Emission {
            computation,
            fusion,
            functions: None,
            loops,
            hoists: true,
            complex: ComplexParts::of(computation, fusion),
            ranks: HashMap::new(),
            reads: 0,
            reads_before: 0,
            read: HashMap::new(),
            blocks: HashMap::new(),
            block: 0,
            inside: HashSet::new(),
            is_before: false,
            merges: false,
        }
    }

    /// Whether LLVM exchanges what stands for the operands of `reader`, which adds them: it puts the operand of lower rank
    /// first (`ReassociatePass::canonicalizeOperands`). What does not change in the innermost loop has rank 0, a read that of
    /// the position that it stands at, everything else one more than the highest rank among its operands.
    pub fn exchanges(&self, reader: ValueId, [left, right]: [ValueId; 2]) -> bool {
        let places = self.ranks.keys().filter(|(id, _)| *id == reader).map(|(_, place)| place);
        places.min().is_some_and(|place| {
            let rank = |operand: ValueId| self.ranks.get(&(operand, place.clone()));
            rank(right) < rank(left)
        })
    }

    /// Whether branches lie between a value and the one that reads it, or the beginning of the innermost loop: LLVM selects instructions
    /// block by block, and fuses nothing across.
    pub fn parts(&self, value: ValueId, reader: ValueId) -> bool {
        let [block, reading] = [value, reader].map(|id| (self.blocks.get(&id), self.inside.contains(&id)));
        block.0.is_some() && !block.1 && reading.1 || block.0 < reading.0
    }

    fn visit(&mut self, id: ValueId) {
        self.visit_in(id, &[], self.computation.instructions[id].shape.dims().len().checked_sub(1));
    }

    /// `inner` is the value's dim along which the innermost loop goes.
    fn visit_in(&mut self, id: ValueId, place: &[ValueId], inner: Option<usize>) -> u32 {
        if !self.is_before {
            self.inside.insert(id);
        }
        let key = (id, place.to_vec());
        if let Some(rank) = self.ranks.get(&key) {
            return *rank;
        }
        if self.ranks.len() >= MOST_VALUES {
            return 0;
        }
        let computation = self.computation;
        let instruction = &computation.instructions[id];
        let inner = inner.filter(|inner| *inner < instruction.shape.dims().len());
        let is_inside = instruction.fusion == self.fusion;
        for value in if is_inside { self.before(id) } else { Vec::new() } {
            self.visit_in(value, place, inner);
        }
        let rank = match &instruction.op {
            Op::Constant(value) if value.len() == 1 => 0,
            _ if !is_inside && self.loops && self.hoists && instruction.shape.dims().is_empty() => 0,
            op if !is_inside || matches!(op, Op::Constant(_)) => {
                let widening = if instruction.shape.dtype() == Some(DType::BF16) { 2 } else { 0 };
                // Of two reads of one address LLVM keeps the first.
                let read = self.address(place).map(|address| (id, address));
                match read.as_ref().and_then(|read| self.read.get(read)) {
                    Some(rank) => *rank,
                    None => {
                        let rank = self.pass() + widening;
                        self.read.extend(read.map(|read| (read, rank)));
                        rank
                    }
                }
            }
            // Indices are there before anything is read.
            Op::Iota { .. } => 0,
            // What is the same in all steps of the innermost loop is computed before it, where it has an order of its own.
            Op::Broadcast { dims } if self.hoists && inner.is_some_and(|inner| !self.goes_over(dims, inner)) => {
                let is_loop = inner.is_some_and(|inner| instruction.shape.dims()[inner] > 1);
                let is_before = self.is_before;
                self.is_before |= is_loop;
                self.visit_in(instruction.operands[0], place, None);
                self.is_before = is_before;
                0
            }
            Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } | Op::Unary(Unary::Negate) => {
                let operand = instruction.operands[0];
                let from = computation.instructions[operand].shape.dims();
                let before = dim_before(&instruction.op, inner, instruction.shape.dims(), from);
                let merged = inner.filter(|_| before.is_none() && instruction.op == Op::Reshape);
                let merged = merged.and_then(|inner| last_part(inner, instruction.shape.dims(), from));
                let merges = self.merges;
                self.merges |= merged.is_some();
                let rank = self.visit_in(operand, place, before.or(merged));
                self.merges = merges;
                rank
            }
            Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Reverse { .. } => {
                let place: Vec<ValueId> = place.iter().copied().chain([id]).collect();
                self.visit_in(instruction.operands[0], &place, inner)
            }
            Op::Concatenate { dim } => {
                let mut highest = 0;
                for (branch, operand) in instruction.operands.iter().enumerate() {
                    let place: Vec<ValueId> = place.iter().copied().chain([id, branch]).collect();
                    highest = highest.max(self.visit_in(*operand, &place, inner));
                }
                match self.functions.as_ref().and_then(Functions::hero) {
                    // Each branch goes on in a loop of its own.
                    Some(hero) if hero == id => highest,
                    // Which branch is taken is known of each iteration.
                    _ if self.is_along_unrolled_loop(id, *dim) => highest,
                    _ => {
                        self.block += 1;
                        // Of branches that only read, one read of a chosen address is made.
                        if instruction.operands.iter().any(|operand| self.computes(*operand)) {
                            self.enter_block();
                        }
                        self.pass()
                    }
                }
            }
            Op::Reduce { .. } | Op::Pad { .. } | Op::Gather(_) | Op::ReduceWindow { .. } => {
                for operand in &instruction.operands {
                    let from = computation.instructions[*operand].shape.dims();
                    let inner = dim_before(&instruction.op, inner, instruction.shape.dims(), from);
                    self.visit_in(*operand, place, inner);
                }
                let first = computation.instructions[instruction.operands[0]].shape.dims();
                let is_reduce = matches!(instruction.op, Op::Reduce { .. });
                if !matches!(instruction.op, Op::Gather(_)) && (!is_reduce || summed(&instruction.op, first).is_some())
                {
                    self.enter_block();
                }
                self.pass()
            }
            _ if computed_number(computation, id, self.fusion).is_some() => 0,
            op => match left_as_it_is(computation, id, self.fusion) {
                Some(operand) => self.visit_in(operand, place, inner),
                None => {
                    let ranks = instruction.operands.iter().map(|operand| self.visit_in(*operand, place, inner));
                    let highest = ranks.max().unwrap_or(0);
                    let from = if is_call(op) { self.pass() } else { highest };
                    from + steps(op)
                }
            },
        };
        self.ranks.insert(key, rank);
        self.blocks.insert(id, self.block);
        rank
    }

    /// Whether one of these dims is gone over in the innermost loop.
    fn goes_over(&self, dims: &[usize], inner: usize) -> bool {
        dims.iter().any(|dim| *dim == inner || self.merges && *dim < inner)
    }

    /// What XLA computes before a value, of complex numbers both parts at once.
    fn before(&self, id: ValueId) -> Vec<ValueId> {
        let factors = |id: ValueId| self.complex.factors(id);
        let Some(functions) = &self.functions else { return factors(id).into_iter().flatten().flatten().collect() };
        let instructions = &self.computation.instructions;
        let numbers_in = |[re, im]: [ValueId; 2]| match factors(im) {
            Some(factors) => factors.to_vec(),
            None if matches!(instructions[im].op, Op::Constant(_)) => {
                instructions[re].operands.iter().map(|operand| [*operand, im]).collect()
            }
            None => {
                let [re, im] = [re, im].map(|part| instructions[part].operands.iter().copied());
                re.zip(im).map(|(re, im)| [re, im]).collect()
            }
        };
        functions.before(self.computation, self.fusion, id, factors, numbers_in)
    }

    /// Whether a value's dim is that of the innermost loop, and the loop is so short that LLVM unrolls it.
    fn is_along_unrolled_loop(&self, mut id: ValueId, mut dim: usize) -> bool {
        let instructions = &self.computation.instructions;
        let inside = || instructions.iter().enumerate().filter(|(_, i)| i.fusion == self.fusion);
        while let Some((reader, instruction)) = inside().find(|(at, i)| *at > id && i.operands.contains(&id)) {
            dim = match &instruction.op {
                Op::Transpose { permutation } => permutation.iter().position(|from| *from == dim).unwrap_or(dim),
                Op::Broadcast { dims } => dims[dim],
                op if matches!(op.class(), Class::Elementwise | Class::Converts)
                    || matches!(op, Op::Copy | Op::Pad { .. }) =>
                {
                    dim
                }
                _ => return false,
            };
            id = reader;
        }
        let dims = instructions[id].shape.dims();
        dims[dim] <= UNROLLED && dims.iter().rposition(|extent| *extent > 1) == Some(dim)
    }

    /// The address that is read behind slices and in branches of a concatenate, as LLVM sees it at first: index times stride and
    /// start for each dim, anew in each function that is called on the way, or a number.
    fn address(&self, place: &[ValueId]) -> Option<Vec<Address>> {
        let instructions = &self.computation.instructions;
        let mut address: Option<Vec<Address>> = None;
        let mut place = place.iter().copied();
        while let Some(id) = place.next() {
            let Instruction { op, shape, operands, .. } = &instructions[id];
            let begun = |extent: &usize| if *extent == 1 { Address::Known(0) } else { Address::Affine(vec![(0, 1)]) };
            let mut at = address.take().unwrap_or_else(|| shape.dims().iter().map(begun).collect());
            if at.len() != shape.dims().len() {
                return None;
            }
            match op {
                Op::Slice { start, stride, .. } => {
                    let calls = self.functions.as_ref().is_some_and(|functions| functions.calls(operands[0]));
                    for (at, (start, stride)) in at.iter_mut().zip(start.iter().zip(stride)) {
                        at.go_on(*start as isize, *stride as isize);
                        if let (true, Address::Affine(steps)) = (calls, at) {
                            steps.push((0, 1));
                        }
                    }
                }
                Op::Concatenate { dim } => {
                    let branch = place.next()?;
                    let before = operands[..branch].iter().map(|operand| instructions[*operand].shape.dims()[*dim]);
                    at[*dim].go_on(-(before.sum::<usize>() as isize), 1);
                    // What one branch reads no other knows of.
                    at[*dim].enter((id as isize, branch as isize));
                }
                _ => return None,
            }
            address = Some(at);
        }
        address
    }

    /// What calls and branches leave is there where they end.
    fn pass(&mut self) -> u32 {
        let reads = if self.is_before { &mut self.reads_before } else { &mut self.reads };
        *reads += 1;
        BLOCK + *reads
    }

    /// Behind a loop or a branch, as in it, another basic block begins: what is read there has a higher rank than all that came
    /// before, however much was computed of that (`ReassociatePass::BuildRankMap`).
    fn enter_block(&mut self) {
        self.reads = self.reads.next_multiple_of(BLOCK);
    }

    /// Whether anything is computed of what a value is read from.
    fn computes(&self, id: ValueId) -> bool {
        let Instruction { op, fusion, operands, .. } = &self.computation.instructions[id];
        let moves = matches!(op.class(), Class::Moves | Class::Source);
        *fusion == self.fusion && (!moves || operands.iter().any(|operand| self.computes(*operand)))
    }
}

/// The ranks of a basic block; indices have those of the first one.
const BLOCK: u32 = 1 << 16;

/// The last dim of more than one element along which a term is summed.
fn summed(op: &Op, term: &[usize]) -> Option<usize> {
    let Op::Reduce { dims, .. } = op else { return None };
    dims.iter().copied().filter(|dim| term[*dim] > 1).max()
}

/// The dim of an operand along which the innermost loop goes, where it goes along `inner` of the result; `None` for none.
fn dim_before(op: &Op, inner: Option<usize>, to: &[usize], from: &[usize]) -> Option<usize> {
    match op {
        Op::Reduce { dims, .. } if from.len() == to.len() + dims.len() => {
            let kept = |inner| (0..from.len()).filter(|dim| !dims.contains(dim)).nth(inner);
            summed(op, from).or_else(|| inner.and_then(kept))
        }
        Op::Broadcast { dims } => dims.iter().position(|dim| Some(*dim) == inner),
        Op::Transpose { permutation } => permutation.get(inner?).copied(),
        Op::Reshape => {
            let behind = |dims: &[usize], dim: usize| dims[dim + 1..].iter().product::<usize>();
            let inner = inner?;
            (0..from.len()).find(|dim| from[*dim].is_multiple_of(to[inner]) && behind(from, *dim) == behind(to, inner))
        }
        Op::Gather(_) | Op::ReduceWindow { .. } => {
            let is_last = inner.is_some_and(|inner| inner + 1 == to.len());
            from.len().checked_sub(1).filter(|_| is_last)
        }
        _ => inner,
    }
}

/// The innermost one of the dims that a reshape joins to one.
fn last_part(dim: usize, to: &[usize], from: &[usize]) -> Option<usize> {
    let behind = |dims: &[usize], dim: usize| dims[dim + 1..].iter().product::<usize>();
    (0..from.len())
        .find(|part| from[*part] > 1 && to[dim].is_multiple_of(from[*part]) && behind(from, *part) == behind(to, dim))
}

/// Whether it is a call of a function that LLVM knows nothing of (`xla.tanh`, `cbrtf`), or has one in it: that stands where it
/// is as a read does.
fn is_call(op: &Op) -> bool {
    let Op::Unary(unary) = op else { return false };
    matches!(
        unary,
        Unary::Cbrt | Unary::Erf | Unary::ExponentialMinusOne | Unary::LogPlusOne | Unary::Rsqrt | Unary::Tanh
    )
}

/// How many instructions, each of the one before, an operation is; what comes behind a call is counted from there.
fn steps(op: &Op) -> u32 {
    match op {
        // The product with what the call gives, and two choices.
        Op::Unary(Unary::ExponentialMinusOne | Unary::Logistic) => 3,
        Op::Clamp => 2,
        _ if is_call(op) => 0,
        _ => 1,
    }
}

/// Whether the innermost dim of a broadcast is one of its operand's.
pub fn keeps_innermost(along: &[usize], dims: &[usize]) -> bool {
    along.last().is_some_and(|last| last + 1 == dims.len())
}
