//! Cost of a sum's term in the loops that LLVM makes of the sum.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::ir::{Binary, Computation, Fusion, GatherDims, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::along::{
    Along, Dims, SHARED, SOMEWHERE, before_broadcast, before_reshape, before_transpose, between, changes_with, end_of,
    in_memory, lies_beside, minor_last, sharers,
};
use super::sum_weight::{is_opaque, without_sign};

mod computed_indices;
mod indices;
mod lane_cost;
mod live;
mod strides;
mod weight_in_term;
mod whole_runs;

use computed_indices::Counted;
use lane_cost::Work;
use strides::Strides;

/// More values than any fusion of a program has.
const MOST_VALUES: usize = 20_000;

/// The code that computes one term of a sum, over the loop of the innermost reduced dim and the one around it.
pub struct Term<'c> {
    computation: &'c Computation,
    fusion: Option<Fusion>,
    innermost: usize,
    around: Option<usize>,
    seen: HashSet<(ValueId, Along, Vec<usize>)>,
    /// Values that are computed from indices alone.
    counted: HashMap<ValueId, Counted>,
    /// Offsets of the slices through which a value is visited.
    place: Vec<usize>,
    /// Number of these offsets that are in values of the fusion. Such values are called as functions, with an address
    /// for each place.
    called: usize,
    /// Number of neighbours in the innermost loop that share an element of the visited value.
    sharers: usize,
    /// Reads of arrays in the innermost loop, with their strides.
    strides: Vec<Strides>,
    /// The operations in the innermost loop.
    operations: BTreeSet<ValueId>,
    /// Reads in the innermost loop.
    reads: Vec<Along>,
    /// Arrays that are read in the innermost loop, each with the layout of its elements in memory, once for each place.
    arrays_read: Vec<(ValueId, Along)>,
    /// Number of values that are computed before the innermost loop, and of constants.
    spread: usize,
    rows_read: usize,
    instructions: usize,
    /// Work of the innermost loop, without the additions of the sum.
    work: Work,
    /// The part of that work that varies from row to row.
    work_of_rows: Work,
    /// Number of indices of the innermost loop that are converted to floats in it; if it is unrolled, they are
    /// constants.
    converted: usize,
    /// Whether an array is read whose elements are narrower than f32.
    reads_narrow: bool,
    /// Whether the term has no loops and branches, and no calls that are not vectorized.
    regular: bool,
    /// Whether it has no operations but additions and multiplications.
    is_plain: bool,
    /// Values with several users.
    shared: HashSet<ValueId>,
    sums: bool,
    /// Whether a masked step cannot compute it.
    opaque: bool,
    /// Whether it calls functions. LLVM then does not estimate the savings of unrolling (`analyzeLoopUnrollCost`).
    calls: bool,
}

impl<'c> Term<'c> {
    /// The code of value `id` of a fusion, the terms of a sum over the dim `innermost` and those `around`.
    pub fn new(
        computation: &'c Computation,
        fusion: Option<Fusion>,
        id: ValueId,
        (innermost, around): (usize, Option<usize>),
    ) -> Term<'c> {
        let mut term = Term {
            computation,
            fusion,
            innermost,
            around,
            seen: HashSet::new(),
            counted: HashMap::new(),
            place: Vec::new(),
            called: 0,
            sharers: 1,
            strides: Vec::new(),
            operations: BTreeSet::new(),
            reads: Vec::new(),
            arrays_read: Vec::new(),
            spread: 0,
            rows_read: 0,
            instructions: 0,
            work: Work::default(),
            work_of_rows: Work::default(),
            converted: 0,
            reads_narrow: false,
            regular: true,
            is_plain: true,
            shared: HashSet::new(),
            sums: false,
            opaque: false,
            calls: false,
        };
        let dims = computation.instructions[id].shape.dims().iter().copied().enumerate();
        term.visit(without_sign(computation, fusion, id), &dims.map(|dim| vec![dim]).collect::<Along>());
        term.instructions += term.indices();
        term
    }

    /// The number of instructions for each element, reads included.
    pub fn instructions(&self) -> usize {
        self.instructions
    }

    /// The number of arrays that are read and vary from row to row.
    pub fn arrays(&self) -> usize {
        self.rows_read + self.reads.iter().filter(|along| self.changes_around(along)).count()
    }

    /// Whether the code is one block, of operations that have forms for registers of several elements.
    pub fn is_regular(&self) -> bool {
        self.regular
    }

    pub fn sums(&self) -> bool {
        self.sums
    }

    /// Whether it has calls that a masked step cannot leave out.
    pub fn is_opaque(&self) -> bool {
        self.opaque
    }

    /// Whether a masked step can compute it. It reads adjacent elements (without the processor's masks none narrower
    /// than f32), or gathers, and has no call that cannot be left out.
    pub fn can_be_masked(&self) -> bool {
        let beside = |along: &Along| lies_beside(along, Some(self.innermost));
        let reads_whole = self.reads.iter().all(beside);
        !self.opaque && reads_whole
    }

    /// The number of instructions for each element without those that compute indices.
    pub fn operations(&self) -> usize {
        self.instructions - self.indices()
    }

    /// Whether some of the elements between two iterations of the innermost loop, or of the one around it, are read,
    /// but not the last ones. A read up to those may go beyond the end, so the last iteration stays alone
    /// (`InterleavedAccessInfo::requiresScalarEpilogue`).
    pub fn leaves_last(&self, around: bool) -> bool {
        Strides::leave_last(&self.strides, usize::from(around))
    }

    /// Whether functions are called for one element at a time.
    pub fn calls_alone(&self) -> bool {
        self.work.calls_alone > 0
    }

    /// Elements of the widest register that is used. Beside calls of functions for several elements the narrowest type
    /// that is read says how many (`LoopVectorizationCostModel::useMaxBandwidth`), else the widest.
    pub fn widest(&self) -> usize {
        if self.work.calls > 0 && self.reads_narrow { MOST_OF_A_CALL } else { WIDEST }
    }

    /// Whether a read varies in the loop around the innermost one.
    fn changes_around(&self, along: &Along) -> bool {
        self.around.is_some_and(|around| changes_with(along, around))
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn visit(&mut self, id: ValueId, along: &Along) {
        let computation = self.computation;
        let instruction = &computation.instructions[id];
        if !changes_with(along, self.innermost) {
            // It is computed before the innermost loop.
            self.spread += 1;
            self.rows_read += usize::from(self.around.is_some() && self.changes_around(along));
            return;
        }
        if self.is_counted_apart(id, along, self.innermost) {
            self.spread += 1;
            return;
        }
        if self.seen.len() >= MOST_VALUES || !self.seen.insert((id, along.clone(), self.place.clone())) {
            self.shared.insert(id);
            return;
        }
        let operands = &instruction.operands;
        if instruction.fusion() != self.fusion && !matches!(instruction.op, Op::Constant(_)) {
            return self.read(id, along);
        }
        match &instruction.op {
            Op::Constant(_) => self.spread += 1,
            Op::Iota { .. } => {
                let converts = usize::from(instruction.shape.dtype().is_some_and(DType::is_float));
                self.instructions += converts;
                self.converted += converts;
                self.is_plain = false;
            }
            Op::Broadcast { dims } => {
                let before = before_broadcast(dims, along);
                let more = if changes_with(&before, self.innermost) { sharers(dims, along, self.innermost) } else { 1 };
                self.sharers *= more;
                self.visit(operands[0], &before);
                self.sharers /= more;
            }
            Op::Transpose { permutation } => self.visit(operands[0], &before_transpose(permutation, along)),
            Op::Reshape => match before_reshape(
                computation.instructions[operands[0]].shape.dims(),
                instruction.shape.dims(),
                along,
            ) {
                Some(before) => self.visit(operands[0], &before),
                None => self.stop(),
            },
            Op::Copy => self.visit(operands[0], along),
            // The first index is part of the address.
            Op::Slice { start, stride, .. } => {
                let (length, called) = (self.place.len(), self.called);
                self.place.extend(start.iter().zip(stride).map(|(start, stride)| start * stride.max(&1)));
                if computation.instructions[operands[0]].fusion() == self.fusion {
                    self.called = self.place.len();
                }
                self.visit(operands[0], &between(along, stride));
                self.place.truncate(length);
                self.called = called;
            }
            Op::Unary(_)
            | Op::Binary(_)
            | Op::Convert
            | Op::BitcastConvert
            | Op::Compare { .. }
            | Op::Select
            | Op::Clamp
            | Op::ReducePrecision { .. } => {
                self.operations.insert(id);
                let (instructions, arithmetic) = self.weight(id, along);
                self.instructions += instructions;
                let work = Work::of(&instruction.op, arithmetic);
                self.work += work;
                if !self.around.is_none_or(|around| self.is_counted_apart(id, along, around)) {
                    self.work_of_rows += work;
                }
                self.calls |= work.calls + work.calls_alone > 0 || is_opaque(instruction);
                self.regular &= instruction.op != Op::Unary(Unary::Cbrt);
                self.opaque |= is_opaque(instruction);
                let adds = matches!(instruction.op, Op::Binary(Binary::Add | Binary::Subtract));
                self.is_plain &= adds || instruction.op == Op::Binary(Binary::Multiply);
                let added = |id: &ValueId| if adds { without_sign(computation, self.fusion, *id) } else { *id };
                let mut operands: Vec<ValueId> = operands.iter().map(added).collect();
                operands.dedup();
                for operand in &operands {
                    let dims = computation.instructions[*operand].shape.dims().len();
                    let along = if dims == along.len() { along.clone() } else { Along::new() };
                    self.visit(*operand, &along);
                }
            }
            Op::Reduce { dims, .. } if operands.len() == 2 => self.visit_sum(operands[0], dims, along),
            Op::Gather(dims) => self.visit_gather([operands[0], operands[1]], dims, along),
            _ => self.stop(),
        }
    }

    fn read(&mut self, id: ValueId, along: &Along) {
        let Instruction { shape, .. } = &self.computation.instructions[id];
        let minor = self.computation.instructions[id].minor();
        self.instructions += 1;
        let (extents, along) = (minor_last(shape.dims(), minor), minor_last(along, minor));
        let mut lies = in_memory(&extents, &along);
        if self.sharers > 1 {
            lies.push(vec![(SHARED, self.sharers)]);
        }
        self.arrays_read.push((id, lies.clone()));
        self.reads.push(lies);
        self.strides.push(Strides::new(
            (id, &self.place, self.called),
            &extents,
            &along,
            [Some(self.innermost), self.around],
        ));
        self.reads_narrow |= shape.dtype().is_some_and(|dtype| dtype.bits() < 32);
    }

    /// Visits a gather: its index vector, and its array at the position that the vector gives.
    fn visit_gather(&mut self, [array, starts]: [ValueId; 2], numbers: &GatherDims, along: &Along) {
        let dims = self.computation.instructions[starts].shape.dims();
        let mut of_vectors = (0..along.len()).filter(|d| !numbers.offset_dims.contains(d)).map(|d| &along[d]);
        let mut vector = |d: usize| if d == numbers.index_vector_dim { None } else { of_vectors.next() };
        let of_starts: Along = (0..dims.len()).map(|d| vector(d).cloned().unwrap_or_default()).collect();
        let (first, first_stride) = (self.reads.len(), self.strides.len());
        self.visit(starts, &of_starts);
        // All numbers of a vector are read.
        self.strides[first_stride..].iter_mut().for_each(|strides| strides.widen(numbers.start_index_map.len()));
        // Vectors that lie side by side are read as one run of memory.
        self.reads[first..].iter_mut().for_each(|along| along.truncate(end_of(along)));
        let is_fixed = of_starts.concat().is_empty();
        if changes_with(&of_starts, self.innermost) {
            self.opaque = true;
            let columns = numbers.start_index_map.len();
            // Measured are 6, 14 and 24 for vectors of one, two and three, a read of the vector and that of the element among
            // them. A place that stays is computed before the loop.
            self.instructions += (columns * (columns + 5)).saturating_sub(2);
            self.work.arithmetic += 3 * columns;
            self.work_of_rows.arithmetic += 3 * columns;
            self.is_plain = false;
            let vector = self.reads.last().cloned().unwrap_or_default();
            self.reads.extend(std::iter::repeat_n(vector, columns.saturating_sub(1)));
        }
        let mut offsets = numbers.offset_dims.iter().map(|d| &along[*d]);
        let inside = |(d, extent): (usize, &usize)| {
            let left_out = numbers.collapsed_slice_dims.contains(&d) || numbers.operand_batching_dims.contains(&d);
            let offset = if left_out { None } else { offsets.next().filter(|dims| !dims.is_empty()).cloned() };
            let starts = if is_fixed || *extent == 1 { Dims::new() } else { vec![(SOMEWHERE, *extent)] };
            offset.unwrap_or(starts)
        };
        let of_array: Along =
            self.computation.instructions[array].shape.dims().iter().enumerate().map(inside).collect();
        self.visit(array, &of_array);
    }

    /// Visits a reduction inside the term, whose loop is unrolled.
    fn visit_sum(&mut self, id: ValueId, dims: &[usize], along: &Along) {
        let extents = self.computation.instructions[id].shape.dims();
        let count: usize = dims.iter().map(|d| extents[*d]).product();
        let mut kept = along.iter();
        let within = |d: usize| match dims.contains(&d) {
            true => vec![(WITHIN + d, extents[d])],
            false => kept.next().cloned().unwrap_or_default(),
        };
        let within: Along = (0..extents.len()).map(within).collect();
        let (instructions, reads) = (self.instructions, self.reads.len());
        let arithmetic = [self.work.arithmetic, self.work_of_rows.arithmetic];
        self.visit(id, &within);
        let of_one = self.instructions - instructions;
        if !self.unrolls(count, of_one) {
            self.stop();
        }
        self.instructions = instructions + count.saturating_mul(of_one + 1);
        let all = |before: usize, now: usize| before + count.saturating_mul(now - before + 1);
        self.work.arithmetic = all(arithmetic[0], self.work.arithmetic);
        self.work_of_rows.arithmetic = all(arithmetic[1], self.work_of_rows.arithmetic);
        self.is_plain = false;
        self.sums = true;
        let read = self.reads.split_off(reads);
        let most = if self.regular { count } else { 1 };
        self.reads.extend(read.iter().cycle().take(read.len() * most).cloned());
    }

    /// Stops at an operation that has branches or loops of its own.
    fn stop(&mut self) {
        self.instructions += 1;
        self.regular = false;
    }
}

/// Offset of the dims of an inner reduction, which run along none of the term's.
const WITHIN: usize = 1 << 16;

/// The most columns whose elements LLVM reads as one run of memory (`MaxInterleaveGroupFactor`).
pub const RUN: usize = 8;

/// Elements of the widest register that is used.
pub const WIDEST: usize = 8;

/// Elements of the widest function that is called: XLA has logarithm and exponential for 4, 8 and 16.
const MOST_OF_A_CALL: usize = 16;
