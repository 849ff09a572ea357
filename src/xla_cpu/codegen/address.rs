//! Addresses in the form by which LLVM merges reads.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use crate::ir::{Instruction, Op, ValueId};

/// The moves between a value and the result: slices, sums, and concatenates each with a branch.
pub type Place = Vec<ValueId>;

/// The position of an element along a dim.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Address {
    /// A position that is known at compile time.
    Known(isize),
    /// Starts and strides: that of an index first, and then those of the arguments of called functions.
    Affine {
        /// The index: that of a result's loop, or one computed from others.
        index: u64,
        steps: Vec<(isize, isize)>,
        /// Whether a function is called with it.
        is_given: bool,
    },
}

/// The index of a dim, told apart by its origin.
fn index_of(made: impl Hash) -> Address {
    let mut hasher = DefaultHasher::new();
    made.hash(&mut hasher);
    Address::Affine { index: hasher.finish(), steps: vec![(0, 1)], is_given: false }
}

/// The addresses of a result's element: the indices of its loops.
pub fn begun(dims: &[usize]) -> Vec<Address> {
    let index = |(dim, extent): (usize, &usize)| if *extent == 1 { Address::Known(0) } else { index_of(dim) };
    dims.iter().enumerate().map(index).collect()
}

/// The addresses of the operand's element that a value reads for its element at `at`. `is_called` says whether a
/// function computes the operand.
#[expect(clippy::too_many_lines, reason = "one arm for each operation")]
pub fn before(
    (id, instruction): (ValueId, &Instruction),
    position: usize,
    at: &[Address],
    sources: &[&Instruction],
    is_called: bool,
) -> Vec<Address> {
    let from = sources[position].shape.dims();
    let to = instruction.shape.dims();
    let anew = || -> Vec<Address> {
        let index = |(dim, extent): (usize, &usize)| match extent {
            1 => Address::Known(0),
            _ => index_of((id, position, dim, at)),
        };
        from.iter().enumerate().map(index).collect()
    };
    if at.len() != to.len() {
        return anew();
    }
    let mut read = match &instruction.op {
        Op::Broadcast { dims } => dims.iter().map(|dim| at[*dim].clone()).collect(),
        Op::Transpose { permutation } => {
            let place = |dim: usize| permutation.iter().position(|from| *from == dim).unwrap_or(dim);
            (0..from.len()).map(|dim| at[place(dim)].clone()).collect()
        }
        Op::Reshape => {
            let long = |dims: &[usize]| dims.iter().copied().filter(|extent| *extent > 1).collect::<Vec<_>>();
            if long(from) != long(to) {
                return anew();
            }
            let mut of_long = at.iter().zip(to).filter(|(_, extent)| **extent > 1).map(|(at, _)| at.clone());
            let of = |extent: &usize| if *extent > 1 { of_long.next() } else { None };
            from.iter().map(of).map(|at| at.unwrap_or(Address::Known(0))).collect()
        }
        Op::Slice { start, stride, .. } => {
            let mut read = at.to_vec();
            for (at, (start, stride)) in read.iter_mut().zip(start.iter().zip(stride)) {
                at.go_on(*start as isize, *stride as isize);
            }
            read
        }
        Op::Reverse { dims } => {
            let mut read = at.to_vec();
            dims.iter().for_each(|dim| read[*dim].go_on(from[*dim] as isize - 1, -1));
            read
        }
        Op::Concatenate { dim } => {
            let mut read = at.to_vec();
            let start: usize = sources[..position].iter().map(|source| source.shape.dims()[*dim]).sum();
            read[*dim].go_on(-(start as isize), 1);
            read
        }
        Op::Reduce { dims, .. } if from.len() == to.len() + dims.len() => {
            let mut kept = at.iter().cloned();
            let of = |dim: usize| if dims.contains(&dim) { None } else { kept.next() };
            (0..from.len()).map(of).zip(anew()).map(|(kept, anew)| kept.unwrap_or(anew)).collect()
        }
        _ if from == to && !matches!(instruction.op, Op::Gather(_) | Op::ReduceWindow { .. } | Op::Pad { .. }) => {
            at.to_vec()
        }
        _ => return anew(),
    };
    if is_called {
        for at in &mut read {
            if let Address::Affine { is_given, .. } = at {
                *is_given = true;
            }
        }
    }
    read
}

impl Address {
    /// Maps the position in a slice to that in its operand: `start`, and `stride` times the position.
    fn go_on(&mut self, start: isize, stride: isize) {
        match self {
            Address::Known(at) => *at = start + *at * stride,
            Address::Affine { .. } if (start, stride) == (0, 1) => {}
            Address::Affine { steps, is_given, .. } => {
                // What a function is given that is the index as it was is that index.
                if std::mem::take(is_given) && steps[..] != [(0, 1)] {
                    steps.push((0, 1));
                }
                if let Some((from, step)) = steps.last_mut() {
                    (*from, *step) = (start + *from * stride, *step * stride);
                }
            }
        }
    }

    /// The address alone, whether or not a function is called with it.
    pub fn alone(&self) -> Address {
        let mut alone = self.clone();
        if let Address::Affine { is_given, .. } = &mut alone {
            *is_given = false;
        }
        alone
    }
}
