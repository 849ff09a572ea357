//! Order of the reads and operations in a compiler's code for a fusion. LLVM's Reassociate pass ranks operands by it.

mod chain_length;
mod operand_order;
mod read_ranks;
mod sinking;

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::ir::{Class, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::address::{self, Address, Place};
use super::calls::Calls;
use super::complex_parts::ComplexParts;
use super::innermost::{dim_before, is_loop, last_part, of_result};
use super::kernel_functions::{Functions, has_functions, results_of};
use super::known::{computed_number, left_as_it_is};

use chain_length::{NARROWED, is_call, steps};
use sinking::{Code, Sunk};

/// Steps of the longest loop that is taken for unrolled. In longer ones each branch has an order of its own, which is
/// not followed.
pub const UNROLLED: usize = 4;

/// More values than any fusion of a program has. A fusion that repeats values in different places again and again is
/// not followed.
const MOST_VALUES: usize = 20_000;

type Ranks = HashMap<(ValueId, Place), u32>;

/// The code of a fusion, and the ranks that LLVM gives its values.
pub struct Emission<'c> {
    computation: &'c Computation,
    fusion: Option<Fusion>,
    /// The partition of its code into functions; `None` if its values are emitted one by one.
    functions: Option<Functions>,
    /// Whether the code is a loop. Scalars from outside are invariant in it.
    loops: bool,
    /// Whether invariant values are computed before the innermost loop.
    hoists: bool,
    complex: Rc<ComplexParts>,
    /// Ranks of values, each at a place: the moves between the value and the result.
    ranks: Ranks,
    /// The same in the function of the users of a concatenate that is split. Its operands are arguments there.
    ranks_alone: Ranks,
    /// Reads so far. Each has the rank of its position.
    reads: u32,
    /// Reads before the innermost loop.
    reads_before: u32,
    /// Ranks of reads and calls, by the value that is read or called, its addresses and its branches.
    read: HashMap<(ValueId, Vec<Address>, Vec<ValueId>), u32>,
    /// Its values in order. LLVM then sinks some of them behind a loop (`sunk`).
    code: Code,
    sunk: Sunk,
    /// The basic block that each value is computed in, in its last place.
    blocks: HashMap<ValueId, u32>,
    /// Basic blocks so far.
    block: u32,
    /// Code of the functions that were asked for, by the number that each computes.
    inlined: HashMap<ValueId, Box<Emission<'c>>>,
    /// The functions that are called.
    calls: Calls,
    /// Values that are computed in the innermost loop.
    inside: HashSet<ValueId>,
    /// Whether the walk is before the innermost loop.
    is_before: bool,
    /// Whether the innermost loop goes over several dims, up to the one that is given.
    merges: bool,
}

impl<'c> Emission<'c> {
    /// The code of one fusion. Its results are read outside.
    pub fn new(computation: &'c Computation, fusion: Option<Fusion>) -> Emission<'c> {
        let results = results_of(computation, fusion);
        let mut emission = Emission::nothing(computation, fusion, Rc::new(ComplexParts::of(computation, fusion)));
        let has_functions = has_functions(fusion);
        emission.functions = has_functions.then(|| Functions::new(computation, fusion, &results, &emission.complex));
        let hero = emission.functions.as_ref().and_then(Functions::hero);
        let visit = |emission: &mut Emission<'c>| {
            if let Some(hero) = hero {
                emission.visit(hero);
                emission.functions.iter_mut().for_each(Functions::enter_epilogue);
            }
            results.iter().for_each(|result| emission.visit(*result));
        };
        if let Some(hero) = hero {
            // A concatenate that is taken apart is an argument of its users' function: ranks start anew there (FACTS 3.11).
            let mut alone = Emission { hoists: false, ..emission.anew() };
            alone.ranks.insert((hero, Vec::new()), ARGUMENT);
            emission.ranks_alone = alone.run(&visit, &[]).ranks;
        }
        emission.run(&visit, &results)
    }

    /// The code of the visited values. The first visit finds the reads of each function and the instructions to sink,
    /// the second one places them.
    fn run(self, visit: &dyn Fn(&mut Emission<'c>), results: &[ValueId]) -> Emission<'c> {
        let mut first = self.anew();
        visit(&mut first);
        let mut again = self;
        // What is sunk behind a loop is read later, and gets a later rank: the order has to be known first.
        again.sunk = first.sinks(results);
        again.calls = first.calls.again();
        visit(&mut again);
        again
    }

    /// The same code before anything is visited.
    fn anew(&self) -> Emission<'c> {
        let functions = self.functions.clone();
        let Emission { loops, hoists, .. } = *self;
        let nothing = Emission::nothing(self.computation, self.fusion, Rc::clone(&self.complex));
        Emission { functions, loops, hoists, ..nothing }
    }

    fn nothing(computation: &'c Computation, fusion: Option<Fusion>, complex: Rc<ComplexParts>) -> Emission<'c> {
        let mut inside = computation.instructions.iter().filter(|instruction| instruction.fusion() == fusion);
        let loops = inside.any(|instruction| instruction.shape.elements() > 1);
        Emission {
            computation,
            fusion,
            functions: None,
            loops,
            hoists: true,
            complex,
            ranks: HashMap::new(),
            ranks_alone: HashMap::new(),
            reads: 0,
            reads_before: 0,
            read: HashMap::new(),
            code: Code::default(),
            sunk: Sunk::default(),
            blocks: HashMap::new(),
            block: 0,
            inlined: HashMap::new(),
            calls: Calls::default(),
            inside: HashSet::new(),
            is_before: false,
            merges: false,
        }
    }

    /// Whether branches, or the entry of the innermost loop, separate a value from its user. LLVM selects instructions
    /// block by block, and contracts nothing across blocks.
    pub fn parts(&self, value: ValueId, reader: ValueId) -> bool {
        let [block, reading] = [value, reader].map(|id| (self.blocks.get(&id), self.inside.contains(&id)));
        block.0.is_some() && !block.1 && reading.1 || block.0 < reading.0
    }

    fn visit(&mut self, id: ValueId) {
        let dims = self.computation.instructions[id].shape.dims();
        let hero = self.functions.as_ref().and_then(Functions::hero);
        let inner = of_result(self.computation, hero, id);
        self.visit_in(id, &[], inner.or(dims.len().checked_sub(1)), &address::begun(dims));
    }

    /// Visits a value at a place, and returns its rank. `inner` is the value's dim that the innermost loop runs along,
    /// `at` the address of its element.
    #[expect(clippy::too_many_lines, reason = "one recursion over one state")]
    fn visit_in(&mut self, id: ValueId, place: &[ValueId], inner: Option<usize>, at: &[Address]) -> u32 {
        if !self.is_before {
            self.enter_loop(id);
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
        let is_inside = instruction.fusion() == self.fusion;
        let is_called = is_inside && self.functions.as_ref().is_some_and(|functions| functions.calls(id));
        if is_called {
            self.reads += self.calls.begin();
        }
        // XLA emits what an elementwise operation reaches before the operation itself, breadth first (FACTS 3.11).
        for value in if is_inside { self.before(id) } else { Vec::new() } {
            self.visit_in(value, place, inner, at);
        }
        let sources: Vec<&Instruction> = instruction.operands.iter().map(|id| &computation.instructions[*id]).collect();
        let calls = |operand: ValueId| self.functions.as_ref().is_some_and(|functions| functions.calls(operand));
        let read_at = |position: usize, operand: &ValueId| {
            address::before((self.complex.number(id), instruction), position, at, &sources, calls(*operand))
        };
        let of_operands: Vec<Vec<Address>> = match is_inside {
            true => instruction.operands.iter().enumerate().map(|(at, operand)| read_at(at, operand)).collect(),
            false => Vec::new(),
        };
        let rank = match &instruction.op {
            Op::Constant(value) if value.len() == 1 => 0,
            // A scalar from outside is read before the loop, where it ranks as an argument does.
            _ if !is_inside && self.loops && self.hoists && instruction.shape.dims().is_empty() => 0,
            op if !is_inside || matches!(op, Op::Constant(_)) => {
                // bf16 is widened by two instructions, each of which is a rank more (FACTS 3.11).
                let widening = if instruction.shape.dtype() == Some(DType::BF16) { 2 } else { 0 };
                for part in self.complex.read_at_once(id) {
                    self.read(part, place, at);
                }
                self.read(id, place, at) + widening
            }
            // Indices are there before anything is read.
            Op::Iota { .. } => 0,
            // What is the same in all steps of the innermost loop is computed before it, where it has an order of its own.
            Op::Broadcast { dims } if self.hoists && inner.is_some_and(|inner| !self.goes_over(dims, inner)) => {
                let is_loop = inner.is_some_and(|inner| instruction.shape.dims()[inner] > 1);
                let leaves = is_loop && !self.is_before;
                if leaves {
                    self.is_before = true;
                    std::mem::swap(&mut self.reads, &mut self.reads_before);
                }
                self.visit_in(instruction.operands[0], place, None, &of_operands[0]);
                if leaves {
                    std::mem::swap(&mut self.reads, &mut self.reads_before);
                    self.is_before = false;
                }
                0
            }
            Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. } | Op::Unary(Unary::Negate) => {
                let operand = instruction.operands[0];
                let from = computation.instructions[operand].shape.dims();
                let before = dim_before(&instruction.op, inner, instruction.shape.dims(), from);
                let merged = inner.filter(|_| before.is_none() && instruction.op == Op::Reshape);
                let merged = merged.and_then(|inner| last_part(inner, instruction.shape.dims(), from));
                // A reshape that joins dims makes the innermost loop one over all of them.
                let merges = self.merges;
                self.merges |= merged.is_some();
                let rank = self.visit_in(operand, place, before.or(merged), &of_operands[0]);
                self.merges = merges;
                rank
            }
            Op::Slice { .. } | Op::DynamicSlice { .. } | Op::Reverse { .. } => {
                let place: Vec<ValueId> = place.iter().copied().chain([id]).collect();
                self.visit_in(instruction.operands[0], &place, inner, &of_operands[0])
            }
            Op::Concatenate { dim } => {
                let mut highest = 0;
                for (branch, operand) in instruction.operands.iter().enumerate() {
                    let place: Vec<ValueId> = place.iter().copied().chain([id, branch]).collect();
                    highest = highest.max(self.visit_in(*operand, &place, inner, &of_operands[branch]));
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
                let is_sum = matches!(instruction.op, Op::Reduce { .. });
                let is_loop = is_loop(computation, id);
                // What is computed in the loop over the terms is computed anew in each such loop.
                let own = if is_loop { vec![id] } else { Vec::new() };
                let place: Vec<ValueId> = place.iter().copied().chain(own).collect();
                if is_loop {
                    self.enter_block();
                }
                for (operand, at) in instruction.operands.iter().zip(&of_operands) {
                    let from = computation.instructions[*operand].shape.dims();
                    let inner = dim_before(&instruction.op, inner, instruction.shape.dims(), from);
                    self.visit_in(*operand, &place, inner, at);
                }
                if !matches!(instruction.op, Op::Gather(_)) && (!is_sum || is_loop) {
                    self.enter_block();
                }
                // Both parts of a complex sum are there at once.
                let number = self.complex.number(id);
                let rank = if number == id { self.pass() } else { self.visit_in(number, &key.1, inner, at) };
                // What is read behind a loop is in a block of its own.
                if is_loop || matches!(instruction.op, Op::ReduceWindow { .. }) {
                    self.leave_loop();
                }
                rank
            }
            _ if computed_number(computation, id, self.fusion).is_some() => 0,
            op => match left_as_it_is(computation, id, self.fusion) {
                Some(operand) => self.visit_in(operand, place, inner, at),
                None => {
                    let operands = instruction.operands.iter().zip(&of_operands);
                    let ranks = operands.map(|(operand, at)| self.visit_in(*operand, place, inner, at));
                    let highest = ranks.max().unwrap_or(0);
                    // LLVM puts operands in order while a conversion to bf16 is still a call of `xla.fptrunc`.
                    let narrows = *op == Op::Convert && instruction.shape.dtype() == Some(DType::BF16);
                    let from = if narrows || is_call(op) { self.read(id, place, at) } else { highest };
                    from + if narrows { NARROWED } else { steps(op) }
                }
            },
        };
        if is_called {
            self.calls.end();
        }
        if place.is_empty() {
            self.note(id);
        }
        self.ranks.insert(key, rank);
        self.blocks.insert(id, self.block);
        rank
    }

    /// Marks a value as computed in the innermost loop. If it was visited before the loop, so were its operands, and
    /// they are marked, too.
    fn enter_loop(&mut self, id: ValueId) {
        let mut waiting = vec![id];
        while let Some(id) = waiting.pop() {
            let Instruction { op, operands, .. } = &self.computation.instructions[id];
            let fusion = self.computation.instructions[id].fusion();
            let is_known = self.blocks.contains_key(&id) && fusion == self.fusion;
            if self.inside.insert(id) && is_known && matches!(op.class(), Class::Elementwise | Class::Converts) {
                waiting.extend(operands);
            }
        }
    }

    /// Whether the innermost loop runs along one of these dims.
    fn goes_over(&self, dims: &[usize], inner: usize) -> bool {
        dims.iter().any(|dim| *dim == inner || self.merges && *dim < inner)
    }

    /// The values that XLA computes before a value, both parts of a complex number at once.
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

    /// Whether a value's dim is that of the innermost loop, and LLVM unrolls that loop because it is short.
    fn is_along_unrolled_loop(&self, mut id: ValueId, mut dim: usize) -> bool {
        let instructions = &self.computation.instructions;
        let inside = || instructions.iter().enumerate().filter(|(_, i)| i.fusion() == self.fusion);
        // Each operand of a concatenate that is taken apart has a loop of its own.
        let hero = self.functions.as_ref().and_then(Functions::hero);
        let reader_of = |id: ValueId| inside().find(|(at, i)| *at > id && i.operands.contains(&id));
        while let Some((reader, instruction)) = reader_of(id).filter(|(reader, _)| Some(*reader) != hero) {
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

    /// Whether a value of the fusion is computed, or moved from one that is.
    fn computes(&self, id: ValueId) -> bool {
        let Instruction { op, operands, .. } = &self.computation.instructions[id];
        let fusion = self.computation.instructions[id].fusion();
        let moves = matches!(op.class(), Class::Moves | Class::Source);
        fusion == self.fusion && (!moves || operands.iter().any(|operand| self.computes(*operand)))
    }
}

/// Rank of a function's arguments, below those of its reads.
const ARGUMENT: u32 = 1;
