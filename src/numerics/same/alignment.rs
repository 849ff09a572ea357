//! Correspondence of the arguments, results and rows of two programs.

use crate::ir::{Program, Shape, movement};
use crate::machine::{Naming, Symbol};
use crate::tensor::Tensor;

use super::Comparand;

/// Why programs do not fit each other.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AlignmentError {
    /// An argument or a result is of another element type or rank.
    #[error(
        "{what} is {one} in the first program and {other} in the second: give programs of the same kinds of values"
    )]
    Kind {
        /// The argument or result, in words.
        what: String,
        /// Its shape in the first program.
        one: String,
        /// Its shape in the second one.
        other: String,
    },
    /// Of two arguments or results one program has the larger one, and of others the other.
    #[error("neither program's arguments contain the other's: {0}")]
    Mixed(String),
    /// They have no results in common.
    #[error("the programs have no results to compare")]
    Nothing,
}

/// Two arrays that belong together: their places in each program, and their dims.
#[derive(Clone, Debug)]
struct AlignedPair {
    at: [usize; 2],
    dims: [Vec<usize>; 2],
}

/// Corresponding arguments, results and rows of two programs.
#[derive(Clone, Debug)]
pub struct Alignment {
    arguments: Vec<AlignedPair>,
    results: Vec<AlignedPair>,
    shapes: [Vec<Shape>; 2],
    /// The program with the larger arguments.
    large: usize,
    /// Offsets of the smaller program's rows in the larger one's, one for each time it is laid over the larger one.
    offsets: Vec<usize>,
    /// Rows of the smaller and of the larger program, where there is one such pair.
    rows: Option<[usize; 2]>,
    words: Vec<String>,
}

impl Alignment {
    /// Arguments are paired by name where both programs have the same names, else by number; results by number.
    #[expect(clippy::too_many_lines, reason = "one pass with one state")]
    pub fn new(both: &[Comparand; 2], prefix: bool) -> Result<Alignment, AlignmentError> {
        let shapes = [0, 1].map(|side: usize| shapes_of(both[side].program));
        let names = [0, 1].map(|side: usize| both[side].argument_names);
        let sorted = names.map(|names| {
            let mut names = names.to_vec();
            names.sort();
            names
        });
        let by_name = sorted[0] == sorted[1] && names[0].len() == shapes[0].len();
        let place = |number: usize| match by_name {
            true => names[1].iter().position(|name| *name == names[0][number]).unwrap_or(number),
            false => number,
        };
        let mut arguments = Vec::new();
        for number in 0..shapes[0].len() {
            if let Some(other) = shapes[1].get(place(number)) {
                let name = names[0].get(number).cloned().unwrap_or(format!("argument {number}"));
                arguments.push(pair(name, [number, place(number)], [&shapes[0][number], other])?);
            }
        }
        let outputs = [0, 1].map(|side: usize| both[side].program.outputs());
        let mut results = Vec::new();
        for (number, (a, b)) in outputs[0].iter().zip(&outputs[1]).enumerate() {
            let shape = |side: usize, id: usize| both[side].program.entry().instructions[id].shape.clone();
            results.push(pair(format!("result {number}"), [number; 2], [&shape(0, *a), &shape(1, *b)])?);
        }
        if results.is_empty() {
            return Err(AlignmentError::Nothing);
        }
        let differing = || {
            let dims = arguments.iter().chain(&results).flat_map(|pair| pair.dims[0].iter().zip(&pair.dims[1]));
            dims.filter(|(a, b)| a != b).map(|(a, b)| [*a, *b])
        };
        let large = usize::from(!differing().any(|[a, b]| a > b));
        if differing().any(|[a, b]| (a > b) != (large == 0)) {
            let found: Vec<String> = differing().map(|[a, b]| format!("{a} against {b}")).collect();
            return Err(AlignmentError::Mixed(found.join(", ")));
        }
        let mut extents: Vec<[usize; 2]> = differing().map(|pair| [pair[1 - large], pair[large]]).collect();
        extents.sort_unstable();
        extents.dedup();
        let (rows, offsets) = match extents[..] {
            [[small, large]] if !prefix && small > 0 => {
                let mut offsets: Vec<usize> = (0..large / small).map(|block| block * small).collect();
                if large % small > 0 {
                    offsets.push(large - small);
                }
                (Some([small, large]), offsets)
            }
            _ => (None, vec![0]),
        };
        let mut words = Vec::new();
        if !by_name && !arguments.is_empty() {
            words.push("arguments by number".to_string());
        }
        for (side, which) in ["first", "second"].into_iter().enumerate() {
            let own: Vec<&AlignedPair> = arguments.iter().collect();
            let alone: Vec<String> = (0..shapes[side].len())
                .filter(|number| own.iter().all(|pair| pair.at[side] != *number))
                .map(|number| names[side].get(number).cloned().unwrap_or(number.to_string()))
                .collect();
            if !alone.is_empty() {
                words.push(format!("arguments of the {which} program alone: {}", alone.join(", ")));
            }
            if outputs[side].len() > results.len() {
                words.push(format!(
                    "results {} to {} of the {which} program are compared with nothing",
                    results.len(),
                    outputs[side].len() - 1
                ));
            }
        }
        match (rows, &extents[..]) {
            (Some([small, large]), _) => words.push(format!(
                "{small} rows with each {small} of {large}, {} times: the other rows have no part in a row's result",
                offsets.len()
            )),
            (None, []) => {}
            (None, extents) => {
                let pairs: Vec<String> = extents.iter().map(|[a, b]| format!("the first {a} of {b}")).collect();
                words.push(format!("beginnings alone: {}", pairs.join(", ")));
            }
        }
        Ok(Alignment { arguments, results, shapes, large, offsets, rows, words })
    }

    /// The program with the larger arguments: 0 or 1.
    pub fn large(&self) -> usize {
        self.large
    }

    /// Number of times that the smaller program is laid over the larger one.
    pub fn blocks(&self) -> usize {
        self.offsets.len()
    }

    /// Whether each array belongs to the one at its own place, element by element.
    pub fn is_identity(&self) -> bool {
        let mut pairs = self.arguments.iter().chain(&self.results);
        pairs.all(|pair| pair.at[0] == pair.at[1] && pair.dims[0] == pair.dims[1]) && self.blocks() == 1
    }

    /// The alignment in words: arguments paired by number, arrays without a counterpart, and the rows or beginnings
    /// compared.
    pub fn in_words(&self) -> Vec<String> {
        self.words.clone()
    }

    /// The results that are compared, by their number in each program.
    pub fn result_numbers(&self) -> Vec<[usize; 2]> {
        self.results.iter().map(|pair| pair.at).collect()
    }

    /// Origin of the smaller array in the larger one.
    fn origin(&self, pair: &AlignedPair, block: usize) -> Vec<usize> {
        let [small, large] = [&pair.dims[1 - self.large], &pair.dims[self.large]];
        let at = |(a, b): (&usize, &usize)| if a != b && self.rows.is_some() { self.offsets[block] } else { 0 };
        small.iter().zip(large).map(at).collect()
    }

    /// Names of a program's arguments.
    pub fn namings(&self, side: usize, block: usize) -> Vec<Naming> {
        let of = |number: usize| match self.arguments.iter().position(|pair| pair.at[side] == number) {
            Some(argument) => {
                let pair = &self.arguments[argument];
                let extents = pair.dims[self.large].clone();
                let origin = if side == self.large { vec![0; extents.len()] } else { self.origin(pair, block) };
                Naming { argument, origin, extents }
            }
            // One that the other program does not have: it has fewer, and all of its own have a pair.
            None => {
                let extents = self.shapes[side][number].dims().to_vec();
                Naming { argument: number, origin: vec![0; extents.len()], extents }
            }
        };
        (0..self.shapes[side].len()).map(of).collect()
    }

    /// Places of a result's elements in the smaller and in the larger program.
    fn places(&self, pair: &AlignedPair, block: usize) -> impl Iterator<Item = [usize; 2]> + use<> {
        let origin = self.origin(pair, block);
        let strides = movement::row_major(&pair.dims[self.large]);
        let mut places = Vec::new();
        movement::for_each_index(&pair.dims[1 - self.large], |flat, index| {
            let at = index.iter().zip(&origin).zip(&strides).map(|((i, from), stride)| (i + from) * *stride as usize);
            places.push([flat, at.sum()]);
        });
        places.into_iter()
    }

    /// Whether all results have the same symbols.
    pub fn same_results(&self, small: &[Vec<Symbol>], large: &[Vec<Symbol>], block: usize) -> bool {
        self.results.iter().all(|pair| {
            let (a, b) = (&small[pair.at[1 - self.large]], &large[pair.at[self.large]]);
            match pair.dims[0] == pair.dims[1] {
                true => a == b,
                false => self.places(pair, block).all(|[i, j]| a[i] == b[j]),
            }
        })
    }

    /// The first element in which a result differs, as its number, and its places in the first and the second program.
    pub fn first_difference(
        &self,
        results: [&[Tensor]; 2],
        block: usize,
        differ: impl Fn(&Tensor, usize, &Tensor, usize) -> bool,
    ) -> Option<(usize, [usize; 2])> {
        self.results.iter().enumerate().find_map(|(number, pair)| {
            let (a, b) = (&results[1 - self.large][pair.at[1 - self.large]], &results[self.large][pair.at[self.large]]);
            let [i, j] = self.places(pair, block).find(|[i, j]| differ(a, *i, b, *j))?;
            Some((number, if self.large == 1 { [i, j] } else { [j, i] }))
        })
    }

    /// The arguments of the smaller program, cut from those of the larger one; `alone` makes those that it has alone.
    pub fn cut(&self, large: &[Tensor], block: usize, alone: impl Fn(usize, &Shape) -> Tensor) -> Vec<Tensor> {
        let side = 1 - self.large;
        let of = |number: usize| match self.arguments.iter().find(|pair| pair.at[side] == number) {
            Some(pair) => {
                let tensor = &large[pair.at[self.large]];
                let origin = self.origin(pair, block);
                let strides = movement::row_major(&pair.dims[self.large]);
                let mut places = Vec::with_capacity(pair.dims[side].iter().product());
                movement::for_each_index(&pair.dims[side], |_, index| {
                    let place = index.iter().zip(&origin).zip(&strides);
                    places.push(place.map(|((i, from), stride)| (i + from) * *stride as usize).sum());
                });
                pick(tensor, &pair.dims[side], &places)
            }
            None => alone(number, &self.shapes[side][number]),
        };
        (0..self.shapes[side].len()).map(of).collect()
    }

    /// Shapes of a program's arguments.
    pub fn shapes(&self, side: usize) -> &[Shape] {
        &self.shapes[side]
    }

    /// Elements of both programs' arguments.
    pub fn elements(&self) -> u64 {
        self.shapes.iter().flatten().map(|shape| shape.elements() as u64).sum::<u64>().max(1)
    }
}

/// Elements of a tensor.
fn pick(tensor: &Tensor, dims: &[usize], places: &[usize]) -> Tensor {
    if tensor.dims() == dims {
        return tensor.clone();
    }
    tensor.pick(dims, places)
}

fn shapes_of(program: &Program) -> Vec<Shape> {
    program.entry().parameter_shapes().into_iter().cloned().collect()
}

fn pair(what: String, at: [usize; 2], shapes: [&Shape; 2]) -> Result<AlignedPair, AlignmentError> {
    let [one, other] = shapes;
    if one.dtype() != other.dtype() || one.dims().len() != other.dims().len() {
        return Err(AlignmentError::Kind { what, one: one.to_string(), other: other.to_string() });
    }
    Ok(AlignedPair { at, dims: [one.dims().to_vec(), other.dims().to_vec()] })
}
