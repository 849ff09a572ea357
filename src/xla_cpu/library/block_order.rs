//! Dots that are cut into blocks of results, each summed in its own way.

use std::iter;
use std::ops::Range;

use crate::num::flush_f32;

use crate::machine::mxu::{self, Passes, Unit};

/// Order in which the products of a dot `[m,k] x [k,n]` are summed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockOrder {
    sizes: [usize; 3],
    /// Parts of the products that are summed on their own and then added, each block by block.
    parts: Vec<Vec<Block>>,
}

/// Results whose products are summed alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
    /// Products that are summed from zero, each sum added to that of the pieces before it.
    pub pieces: Vec<Piece>,
}

/// Products that are summed at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub products: Range<usize>,
    pub form: Form,
}

/// Order in which the products of a piece are summed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One fused multiply-add after the other.
    Chain,
    /// The second of each pair before the first, fused.
    Pairs,
    /// Eight lanes of sixteen at a time, then what is left over ([`vector_product`]).
    Vector,
}

impl BlockOrder {
    /// These parts, each of blocks that hold every result once; `None` where each result is one fused chain.
    pub fn new(sizes: [usize; 3], parts: Vec<Vec<Block>>) -> Option<BlockOrder> {
        let is_chain = match &parts[..] {
            [blocks] => blocks.iter().all(|block| matches!(block.pieces[..], [Piece { form: Form::Chain, .. }])),
            _ => false,
        };
        (!is_chain && !sizes.contains(&0)).then_some(BlockOrder { sizes, parts })
    }

    /// One block of all results.
    pub fn of_all(sizes: [usize; 3], form: Form) -> Option<BlockOrder> {
        let [m, k, n] = sizes;
        BlockOrder::new(sizes, vec![vec![Block::new(0..m, 0..n, iter::once(0..k), form)]])
    }

    /// Numbers that tell how the result in this row and column is summed; `None` where it is one fused chain.
    pub fn of_place(&self, row: usize, column: usize) -> Option<Vec<usize>> {
        let of = |blocks: &Vec<Block>| {
            let block = blocks.iter().find(|block| block.rows.contains(&row) && block.columns.contains(&column));
            block.map(|block| block.pieces.clone()).unwrap_or_default()
        };
        let parts: Vec<Vec<Piece>> = self.parts.iter().map(of).collect();
        if let [part] = &parts[..]
            && let [Piece { form: Form::Chain, .. }] = part[..]
        {
            return None;
        }
        let number = |piece: &Piece| [piece.products.start, piece.products.end, piece.form as usize];
        let of_part = |part: &Vec<Piece>| [vec![part.len()], part.iter().flat_map(number).collect()].concat();
        Some(parts.iter().flat_map(of_part).collect())
    }

    /// The products of row-major operands, on the unit of a mode, into `out`.
    pub fn matmul(&self, lhs: &[f32], rhs: &[f32], unit: &Unit, out: &mut [f32]) {
        let n = self.sizes[2];
        let operands = Operands { lhs, rhs, sizes: self.sizes, unit };
        for (at, blocks) in self.parts.iter().enumerate() {
            for block in blocks {
                let sums = operands.sums(block);
                for (row, sums) in block.rows.clone().zip(sums.chunks(block.columns.len())) {
                    let results = &mut out[row * n..][block.columns.clone()];
                    let added = |(result, sum): (&mut f32, &f32)| {
                        *result = if at == 0 { *sum } else { operands.add(*result, *sum) };
                    };
                    results.iter_mut().zip(sums).for_each(added);
                }
            }
        }
    }
}

impl Block {
    /// A block whose pieces are all summed in this form.
    pub fn new(
        rows: Range<usize>,
        columns: Range<usize>,
        pieces: impl IntoIterator<Item = Range<usize>>,
        form: Form,
    ) -> Block {
        Block { rows, columns, pieces: pieces.into_iter().map(|products| Piece { products, form }).collect() }
    }
}

/// Row-major operands, and the unit that multiplies them.
struct Operands<'a> {
    lhs: &'a [f32],
    rhs: &'a [f32],
    sizes: [usize; 3],
    unit: &'a Unit,
}

impl Operands<'_> {
    fn flushed(&self, x: f32) -> f32 {
        if self.unit.flush { flush_f32(x) } else { x }
    }

    fn add(&self, a: f32, b: f32) -> f32 {
        let sum = self.flushed(self.flushed(a) + self.flushed(b));
        if sum.is_nan() { f32::NAN } else { sum }
    }

    /// The factors of a product of the result in this row and column.
    fn factors(&self, [row, column]: [usize; 2], l: usize) -> [f32; 2] {
        let [_, k, n] = self.sizes;
        [self.lhs[row * k + l], self.rhs[l * n + column]]
    }

    /// The sums of a block, row by row.
    fn sums(&self, block: &Block) -> Vec<f32> {
        let mut pieces = block.pieces.iter().map(|piece| self.piece(block, piece));
        let first = pieces.next().unwrap_or_default();
        let joined =
            |sums: Vec<f32>, own: Vec<f32>| sums.iter().zip(own).map(|(sum, own)| self.add(*sum, own)).collect();
        pieces.fold(first, joined)
    }

    fn piece(&self, block: &Block, Piece { products, form }: &Piece) -> Vec<f32> {
        match *form {
            Form::Chain => self.chain(block, products.clone()),
            Form::Pairs => {
                let other = |l: usize| products.start + ((l - products.start) ^ 1);
                let swapped = products.clone().map(|l| if other(l) < products.end { other(l) } else { l });
                self.chain(block, swapped)
            }
            Form::Vector => {
                let rows_and_columns = |row| block.columns.clone().map(move |column| [row, column]);
                let places = block.rows.clone().flat_map(rows_and_columns);
                let factors = |place| products.clone().map(|l| self.factors(place, l)).collect::<Vec<[f32; 2]>>();
                places.map(|place| vector_product(&factors(place))).collect()
            }
        }
    }

    /// The sums of products of these numbers, one after the other.
    fn chain(&self, block: &Block, numbers: impl Iterator<Item = usize>) -> Vec<f32> {
        let [_, k, n] = self.sizes;
        let numbers: Vec<usize> = numbers.collect();
        let (rows, columns) = (&block.rows, &block.columns);
        let row = |row: &[f32]| numbers.iter().map(|l| row[*l]).collect::<Vec<f32>>();
        let left: Vec<f32> = self.lhs[rows.start * k..rows.end * k].chunks(k).flat_map(row).collect();
        let right: Vec<f32> = numbers.iter().flat_map(|l| &self.rhs[l * n..][columns.clone()]).copied().collect();
        let mut sums = vec![0.0; rows.len() * columns.len()];
        mxu::matmul(&left, &right, [rows.len(), numbers.len(), columns.len()], Passes::F32, self.unit, &mut sums);
        sums
    }
}

/// A sum by oneDNN's kernel for a matrix times a vector: fused multiply-adds in eight lanes of sixteen products at a time, then eight,
/// four, two and one that are left over, rounded, joined and added.
fn vector_product(factors: &[[f32; 2]]) -> f32 {
    let add = |a: f32, b: f32| flush_f32(flush_f32(a) + flush_f32(b));
    let multiply = |[a, b]: [f32; 2]| flush_f32(flush_f32(a) * flush_f32(b));
    let join = |lanes: &[f32]| {
        let pairs: Vec<f32> = lanes.chunks(2).map(|pair| pair.iter().copied().reduce(add).unwrap_or(0.0)).collect();
        match pairs[..] {
            [a, b, c, d] => add(add(a, c), add(b, d)),
            [a, b] => add(a, b),
            _ => pairs[0],
        }
    };
    let whole = factors.len() - factors.len() % 16;
    let mut sum = 0.0;
    if whole > 0 {
        let mut lanes = [0.0f32; 8];
        for eight in factors[..whole].chunks(8) {
            for ([a, b], sum) in eight.iter().zip(&mut lanes) {
                *sum = flush_f32(flush_f32(*a).mul_add(flush_f32(*b), *sum));
            }
        }
        sum = join(&lanes);
    }
    let mut left = &factors[whole..];
    for width in [8, 4, 2, 1] {
        if let Some((now, rest)) = left.split_at_checked(width) {
            let products: Vec<f32> = now.iter().copied().map(multiply).collect();
            sum = add(sum, join(&products));
            left = rest;
        }
    }
    if sum.is_nan() { f32::NAN } else { sum }
}
