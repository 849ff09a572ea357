//! Dims of a program's values that always have one extent. They have to change together when a program is written for
//! fewer rows or a smaller vocabulary.
//!
//! Dims to which an operation gives one extent, or of which it requires one extent, are one axis (a union of sets;
//! Tarjan 1975). An axis is held if an attribute that does not follow from the operands' extents fixes its own (the
//! limits of a slice, the sizes that a concatenation adds up), or if the program continues in another computation.

use crate::ir::{Class, DotDims, ElementMove, Instruction, Op, Program, Shape, ValueId, WindowDim};

/// Dims of one extent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The number of its first dim, counted through the program: the same for all extents.
    pub first: usize,
    /// The number of elements along the axis.
    pub extent: usize,
    /// The instruction that holds the extent, in words; `None` if the axis may have any.
    pub held: Option<String>,
}

/// A scalar constant that says where an axis ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexBound {
    /// The constant, of the entry.
    pub constant: ValueId,
    /// The axis whose indices it bounds.
    pub axis: usize,
    /// The extent minus the constant: 0, or 1 for the last index.
    pub less: usize,
}

/// The axes of a program's entry.
#[derive(Clone, Debug)]
pub struct Axes {
    /// Each axis, in the order in which the program first has it.
    pub axes: Vec<Axis>,
    /// Constants that are an axis' extent or its last index, where indices into it are made or compared.
    pub bounds: Vec<IndexBound>,
    /// Parameters of the entry that hold indices, by their numbers, each with the axis that they are of.
    pub index_arguments: Vec<(usize, usize)>,
    /// For each value, for each array that it holds, the axis of each dim.
    of: Vec<Vec<Vec<usize>>>,
}

impl Axes {
    /// The axes of a program whose shapes fit.
    pub fn new(program: &Program) -> Axes {
        let mut finder = Finder::new(program);
        for (id, instruction) in program.entry().instructions.iter().enumerate() {
            finder.instruction(id, instruction);
        }
        finder.finish()
    }

    /// The axis of each dim of an array; of the first one, if the value is a tuple.
    pub fn of_array(&self, id: ValueId) -> &[usize] {
        self.of[id].first().map_or(&[], Vec::as_slice)
    }

    /// The axes of each array that a value holds.
    pub(super) fn of_value(&self, id: ValueId) -> &[Vec<usize>] {
        &self.of[id]
    }
}

/// The arrays that a value holds, tuples in tuples laid out flat.
fn arrays(shape: &Shape) -> Vec<&[usize]> {
    match shape {
        Shape::Array { dims, .. } => vec![dims],
        Shape::Tuple(parts) => parts.iter().flat_map(arrays).collect(),
    }
}

/// Whether a window runs over all of a dim from or to each of its elements, as running sums do.
pub(super) fn is_running(window: &WindowDim, extent: usize) -> bool {
    let last = extent as i64 - 1;
    let one = (window.stride, window.base_dilation, window.window_dilation) == (1, 1, 1);
    one && window.size == extent && [(last, 0), (0, last)].contains(&(window.pad_low, window.pad_high))
}

/// Sets of dims in the making. A dim is a number; each set has one of its dims as root.
pub(super) struct Finder<'p> {
    pub program: &'p Program,
    of: Vec<Vec<Vec<usize>>>,
    parents: Vec<usize>,
    pub extents: Vec<usize>,
    held: Vec<Option<String>>,
    /// Constants that may bound indices into a dim, by their distance from its extent.
    pub bounds: Vec<(ValueId, usize, usize)>,
    /// Parameters that hold indices into a dim.
    pub index_arguments: Vec<(usize, usize)>,
}

impl<'p> Finder<'p> {
    fn new(program: &'p Program) -> Finder<'p> {
        let mut extents = Vec::new();
        let mut number = |dims: &[usize]| {
            extents.extend(dims);
            (extents.len() - dims.len()..extents.len()).collect::<Vec<usize>>()
        };
        let of = program.entry().instructions.iter();
        let of = of.map(|i| arrays(&i.shape).into_iter().map(&mut number).collect()).collect();
        let parents = (0..extents.len()).collect();
        let held = vec![None; extents.len()];
        Finder { program, of, parents, extents, held, bounds: Vec::new(), index_arguments: Vec::new() }
    }

    fn root(&mut self, mut dim: usize) -> usize {
        while self.parents[dim] != dim {
            // Halving the way keeps later look-ups short.
            self.parents[dim] = self.parents[self.parents[dim]];
            dim = self.parents[dim];
        }
        dim
    }

    /// Makes two dims one axis, if they have one extent.
    pub fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        if a == b || self.extents[a] != self.extents[b] {
            return;
        }
        // The first dim is the root, so that axes are numbered in the order of the program.
        let (first, second) = (a.min(b), a.max(b));
        self.parents[second] = first;
        let held = self.held[second].take();
        self.held[first] = self.held[first].take().or(held);
    }

    /// Makes the dims of two arrays one axis each, in order, if they are as many.
    pub fn join_each(&mut self, a: &[usize], b: &[usize]) {
        if a.len() == b.len() {
            a.iter().zip(b).for_each(|(a, b)| self.join(*a, *b));
        }
    }

    fn hold(&mut self, dims: &[usize], instruction: &Instruction, why: &str) {
        for dim in dims {
            let root = self.root(*dim);
            let reason = || format!("{} ({}) {why}", instruction.name, instruction.op.opcode());
            self.held[root].get_or_insert_with(reason);
        }
    }

    /// The dims of an operand that is an array.
    pub fn operand(&self, instruction: &Instruction, at: usize) -> Vec<usize> {
        self.of[instruction.operands[at]].first().cloned().unwrap_or_default()
    }

    fn instruction(&mut self, id: ValueId, instruction: &Instruction) {
        let own = self.of[id].clone();
        match (instruction.op.class(), instruction.op.movement()) {
            (Class::Source, _) => {}
            (Class::Converts | Class::Elementwise, _) => {
                for at in 0..instruction.operands.len() {
                    let from = self.operand(instruction, at);
                    own.iter().for_each(|to| self.join_each(&from, to));
                }
            }
            (_, Some(movement)) => self.movement(movement, instruction, &own),
            (Class::Moves | Class::Combines, None) => self.combine(instruction, &own),
            (Class::Ranks, None) => self.rank(instruction, &own),
            (Class::Lists, None) => self.list(instruction, &own),
            // The axes of another computation are not followed: what it holds is not known.
            (Class::Calls, None) => self.hold_all(instruction, &own, "runs a computation of its own"),
        }
    }

    /// Holds all dims of the operands and the results: right for any operation.
    fn hold_all(&mut self, instruction: &Instruction, own: &[Vec<usize>], why: &str) {
        let all = instruction.operands.iter().flat_map(|operand| self.of[*operand].clone());
        let all: Vec<Vec<usize>> = all.chain(own.iter().cloned()).collect();
        all.iter().for_each(|dims| self.hold(dims, instruction, why));
    }

    fn movement(&mut self, movement: ElementMove<'_>, instruction: &Instruction, own: &[Vec<usize>]) {
        let out: Vec<usize> = own.first().cloned().unwrap_or_default();
        let from = self.operand(instruction, 0);
        match movement {
            ElementMove::Identity => {
                let from = self.of[instruction.operands[0]].clone();
                from.iter().zip(own).for_each(|(from, to)| self.join_each(from, to));
            }
            ElementMove::Reverse { .. } => self.join_each(&from, &out),
            ElementMove::Broadcast { dims } => {
                from.iter().zip(dims).for_each(|(from, to)| self.join(*from, out[*to]));
            }
            ElementMove::Transpose { permutation } => {
                permutation.iter().zip(&out).for_each(|(from_dim, to)| self.join(from[*from_dim], *to));
            }
            ElementMove::Reshape => self.reshape(instruction, &from, &out),
            ElementMove::Slice { start, limit, stride } => {
                for (d, dim) in from.iter().enumerate() {
                    match (start[d], limit[d], stride[d]) == (0, self.extents[*dim], 1) {
                        true => self.join(*dim, out[d]),
                        false => self.hold(&[*dim, out[d]], instruction, "has limits"),
                    }
                }
            }
            ElementMove::Concatenate { dim } => {
                for at in 0..instruction.operands.len() {
                    let from = self.operand(instruction, at);
                    for (d, (from, to)) in from.iter().zip(&out).enumerate() {
                        match d == dim {
                            // One extent of several is no axis of the sum: cutting both alike would not fit.
                            true => self.hold(&[*from, *to], instruction, "adds extents up"),
                            false => self.join(*from, *to),
                        }
                    }
                }
            }
            ElementMove::Pad { low, high, interior } => {
                for (d, (from, to)) in from.iter().zip(&out).enumerate() {
                    match (low[d], high[d], interior[d]) == (0, 0, 0) {
                        true => self.join(*from, *to),
                        false => self.hold(&[*from, *to], instruction, "has edges"),
                    }
                }
            }
            ElementMove::DynamicSlice { .. } => {
                self.join_each(&from, &out);
                self.indices(&instruction.operands[1..], &from);
            }
            ElementMove::DynamicUpdateSlice => {
                let update = self.operand(instruction, 1);
                self.join_each(&from, &out);
                self.join_each(&update, &out);
                self.indices(&instruction.operands[2..], &from);
            }
            ElementMove::Gather(dims) => self.gather(dims, instruction, &out),
        }
    }

    /// An operation that combines elements; one that has no arm here holds all of its dims.
    fn combine(&mut self, instruction: &Instruction, own: &[Vec<usize>]) {
        let out: Vec<usize> = own.first().cloned().unwrap_or_default();
        match &instruction.op {
            Op::Scatter { dims, .. } => self.scatter(dims, instruction, own),
            Op::Reduce { dims, .. } => {
                let arrays = instruction.operands.len() / 2;
                let first = self.operand(instruction, 0);
                let left: Vec<usize> = (0..first.len()).filter(|d| !dims.contains(d)).map(|d| first[d]).collect();
                for (at, to) in own.iter().enumerate().take(arrays) {
                    let from = self.operand(instruction, at);
                    self.join_each(&first, &from);
                    self.join_each(&left, to);
                }
            }
            Op::ReduceWindow { window, .. } => {
                let from = self.operand(instruction, 0);
                for (window, (from, to)) in window.0.iter().zip(from.iter().zip(&out)) {
                    let extent = self.extents[*from];
                    match *window == WindowDim::of_size(1) || is_running(window, extent) {
                        true => self.join(*from, *to),
                        false => self.hold(&[*from, *to], instruction, "has a window"),
                    }
                }
            }
            Op::Dot { dims, .. } => {
                let [lhs, rhs] = [0, 1].map(|at| self.operand(instruction, at));
                self.dot(dims, &lhs, &rhs, &out);
            }
            Op::Opaque(_) => self.hold_all(instruction, own, "runs a computation of its own"),
            _ => self.hold_all(instruction, own, "is not known along its dims"),
        }
    }

    /// An operation that ranks along the last dim, or along one dim of arrays that are ordered together.
    fn rank(&mut self, instruction: &Instruction, own: &[Vec<usize>]) {
        let out: Vec<usize> = own.first().cloned().unwrap_or_default();
        if let Op::Sort { .. } = instruction.op {
            for (at, to) in own.iter().enumerate() {
                let from = self.operand(instruction, at);
                self.join_each(&from, &out);
                self.join_each(&from, to);
            }
            return;
        }
        let from = self.operand(instruction, 0);
        // The ranked dim and the result's are no one axis: k of them are left.
        let last = from.len() - 1;
        for to in own {
            self.join_each(&from[..last], &to[..last]);
            match &instruction.op {
                Op::TopK { .. } => self.join(out[last], to[last]),
                _ => self.hold(&[from[last], to[last]], instruction, "sizes bins by it"),
            }
        }
    }

    fn list(&mut self, instruction: &Instruction, own: &[Vec<usize>]) {
        let from: Vec<Vec<usize>> = match instruction.op {
            Op::GetTupleElement(index) => {
                let tuple = instruction.operands[0];
                let Shape::Tuple(parts) = &self.program.entry().instructions[tuple].shape else { return };
                let before: usize = parts[..index].iter().map(|part| arrays(part).len()).sum();
                self.of[tuple][before..before + own.len()].to_vec()
            }
            _ => instruction.operands.iter().flat_map(|operand| self.of[*operand].clone()).collect(),
        };
        from.iter().zip(own).for_each(|(from, to)| self.join_each(from, to));
    }

    /// Dims other than 1 that a reshape leaves as they are stay axes; dims that it joins or splits are held.
    fn reshape(&mut self, instruction: &Instruction, from: &[usize], to: &[usize]) {
        let mut sides = [from, to].map(|dims| {
            let counted = dims.iter().copied().filter(|dim| self.extents[*dim] != 1);
            counted.collect::<Vec<_>>().into_iter()
        });
        loop {
            let mut groups = [Vec::new(), Vec::new()];
            let mut products = [1, 1];
            loop {
                // The shorter side takes the next dim.
                let side = usize::from(!groups[0].is_empty() && products[1] <= products[0]);
                let Some(dim) = sides[side].next() else { break };
                products[side] *= self.extents[dim];
                groups[side].push(dim);
                if products[0] == products[1] && groups.iter().all(|group| !group.is_empty()) {
                    break;
                }
            }
            match (groups[0].as_slice(), groups[1].as_slice()) {
                ([], []) => return,
                ([a], [b]) if products[0] == products[1] => self.join(*a, *b),
                (a, b) => self.hold(&[a, b].concat(), instruction, "joins or splits it"),
            }
        }
    }

    fn dot(&mut self, dims: &DotDims, lhs: &[usize], rhs: &[usize], out: &[usize]) {
        let pairs = dims.lhs_contracting.iter().zip(&dims.rhs_contracting);
        let batches = dims.lhs_batch.iter().zip(&dims.rhs_batch);
        pairs.chain(batches).for_each(|(l, r)| self.join(lhs[*l], rhs[*r]));
        let free = |side: &[usize], contracting: &[usize], batch: &[usize]| -> Vec<usize> {
            DotDims::free(side.len(), contracting, batch).into_iter().map(|d| side[d]).collect()
        };
        let batch: Vec<usize> = dims.lhs_batch.iter().map(|d| lhs[*d]).collect();
        let lhs = free(lhs, &dims.lhs_contracting, &dims.lhs_batch);
        let rhs = free(rhs, &dims.rhs_contracting, &dims.rhs_batch);
        self.join_each(&[batch, lhs, rhs].concat(), out);
    }

    fn finish(mut self) -> Axes {
        let mut axes = Vec::new();
        let mut numbers = vec![usize::MAX; self.parents.len()];
        for dim in 0..self.parents.len() {
            let root = self.root(dim);
            if numbers[root] == usize::MAX {
                numbers[root] = axes.len();
                axes.push(Axis { first: dim, extent: self.extents[root], held: self.held[root].take() });
            }
            numbers[dim] = numbers[root];
        }
        let of = self.of.iter().map(|arrays| {
            let number = |dims: &Vec<usize>| dims.iter().map(|dim| numbers[*dim]).collect();
            arrays.iter().map(number).collect()
        });
        let mut bounds: Vec<IndexBound> = Vec::new();
        for (constant, dim, less) in &self.bounds {
            let found = IndexBound { constant: *constant, axis: numbers[*dim], less: *less };
            if bounds.iter().all(|known| known.constant != *constant) {
                bounds.push(found);
            }
        }
        let mut index_arguments: Vec<(usize, usize)> =
            self.index_arguments.iter().map(|(number, dim)| (*number, numbers[*dim])).collect();
        index_arguments.sort_unstable();
        index_arguments.dedup();
        Axes { axes, bounds, index_arguments, of: of.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::is_running;
    use crate::ir::WindowDim;

    /// Windows that run over a dim show all elements up to each of them, or all from each of them on, at as many places as there
    /// are elements.
    #[test]
    fn windows_that_run_show_all_elements_from_or_to_each() {
        let mut running = 0;
        for (extent, size) in (1..5i64).flat_map(|extent| (1..7i64).map(move |size| (extent, size))) {
            for (pad_low, pad_high) in (0..6i64).flat_map(|low| (0..6i64).map(move |high| (low, high))) {
                let window = WindowDim { pad_low, pad_high, ..WindowDim::of_size(size as usize) };
                if !is_running(&window, extent as usize) {
                    continue;
                }
                running += 1;
                let places = (extent + pad_low + pad_high - size + 1).max(0);
                let shown: Vec<(i64, i64)> =
                    (0..places).map(|at| ((at - pad_low).max(0), (at - pad_low + size).min(extent))).collect();
                let up_to: Vec<(i64, i64)> = (0..extent).map(|at| (0, at + 1)).collect();
                let from: Vec<(i64, i64)> = (0..extent).map(|at| (at, extent)).collect();
                assert!(shown == up_to || shown == from, "{extent} elements, {window:?}");
                for odd in [
                    WindowDim { stride: 2, ..window },
                    WindowDim { base_dilation: 2, ..window },
                    WindowDim { window_dilation: 2, ..window },
                ] {
                    assert!(!is_running(&odd, extent as usize), "{odd:?}");
                }
            }
        }
        // One element has one window, several have one of each kind.
        assert_eq!(running, 7);
    }
}
