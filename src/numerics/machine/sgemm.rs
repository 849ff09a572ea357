//! The order of oneDNN's f32 matrix products on a processor with AVX2 and without AVX-512 (v3.7.3, `src/cpu/x64/gemm/f32/`
//! `jit_avx_gemm_f32.cpp`, `gemm_driver.cpp`, `jit_avx_gemv_t_f32_kern.cpp`; FACTS 3.11).

use std::ops::Range;

use super::block_order::{Block, Form, Piece};

/// Products, rows and columns that the kernel takes at a time, each with the most that it leaves whole.
const PRODUCTS: [usize; 2] = [256, 256];
const ROWS: [usize; 2] = [48, 72];
const COLUMNS: [usize; 2] = [4032, 6048];
/// Products that it takes at a time where it copies its operands first.
const COPIED: usize = 384;

/// Rows or columns that the kernel multiplies alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Band {
    range: Range<usize>,
    /// Whether even and odd products are summed apart.
    apart: bool,
    fused: bool,
}

/// The blocks of a product of these rows and columns, whose products come in `pieces`, one call of the library each.
pub fn blocks(rows: Range<usize>, columns: Range<usize>, pieces: &[Range<usize>]) -> Vec<Block> {
    if rows.len() == 1 {
        // Every product is added to what is there already.
        let all = pieces.iter().cloned().reduce(|all, piece| all.start..piece.end);
        return vec![Block::new(rows, columns, all, Form::FUSED)];
    }
    if columns.len() == 1 {
        return vec![Block::new(rows, columns, pieces.iter().cloned(), Form::Vector { onto: true })];
    }
    let sizes = [rows.len(), columns.len()];
    let of_piece = |products: &Range<usize>, form: Form| {
        let copies = copies(sizes, products.len());
        let (form, cut) = if copies { (Form::FUSED, halves(products)) } else { (form, cut(products, PRODUCTS)) };
        cut.into_iter().map(move |products| Piece { products, form })
    };
    let (rows, columns) = (bands(&rows, ROWS, row_band), bands(&columns, COLUMNS, column_band));
    let places = rows.iter().flat_map(|rows| columns.iter().map(move |columns| (rows, columns)));
    let block = |(rows, columns): (&Band, &Band)| {
        let form = match (rows.apart || columns.apart, rows.fused) {
            (true, fused) => Form::EvenAndOdd { fused },
            (false, true) => Form::FUSED,
            (false, false) => Form::ROUNDED,
        };
        let pieces = pieces.iter().flat_map(|products| of_piece(products, form)).collect();
        Block { rows: rows.range.clone(), columns: columns.range.clone(), pieces }
    };
    places.map(block).collect()
}

/// Halves of products that are more than the library takes where it copies its operands.
pub fn halves(range: &Range<usize>) -> Vec<Range<usize>> {
    cut(range, [COPIED, COPIED])
}

/// A range in pieces of `size`, the last two alike if they are more than `whole`.
fn cut(range: &Range<usize>, [size, whole]: [usize; 2]) -> Vec<Range<usize>> {
    let (mut cut, mut at) = (Vec::new(), range.start);
    while at < range.end {
        let width = match range.end - at {
            left if left >= 2 * size => size,
            left if left > whole => left.div_ceil(2),
            left => left,
        };
        cut.push(at..at + width);
        at += width;
    }
    cut
}

/// Whether the library copies its operands before it multiplies so many rows and columns: of large ones only.
fn copies([n, m]: [usize; 2], k: usize) -> bool {
    const LARGE: usize = 378;
    if 1.0 / m as f64 + 1.0 / n as f64 >= 0.0038 {
        return false;
    }
    let deep = k >= LARGE && (m >= LARGE || n <= LARGE);
    deep || !(m <= 128 && n <= 128 || n <= 16 || k <= 2 || m <= 64)
}

/// Rows in sixes; of those that are left over three or less have even and odd products apart, and two or less none fused.
fn row_band(size: usize) -> [(usize, bool, bool); 2] {
    let left = size % 6;
    [(size - left, false, true), (left, left <= 3, left > 2)]
}

/// Columns in sixteens; eight or less that are left over have even and odd products apart.
fn column_band(size: usize) -> [(usize, bool, bool); 2] {
    let left = if size % 16 > 8 { 0 } else { size % 16 };
    [(size - left, false, true), (left, true, true)]
}

/// The bands of a side: of each of its pieces the sizes of two, whether even and odd products are apart, and whether they are fused.
fn bands(side: &Range<usize>, sizes: [usize; 2], split: fn(usize) -> [(usize, bool, bool); 2]) -> Vec<Band> {
    let mut bands: Vec<Band> = Vec::new();
    let mut at = side.start;
    for (size, apart, fused) in cut(side, sizes).into_iter().flat_map(|piece| split(piece.len())) {
        match bands.last_mut() {
            _ if size == 0 => {}
            Some(last) if (last.apart, last.fused) == (apart, fused) => last.range.end = at + size,
            _ => bands.push(Band { range: at..at + size, apart, fused }),
        }
        at += size;
    }
    bands
}
