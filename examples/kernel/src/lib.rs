//! A kernel of one's own, and a test of it by ulpgate: the crate that docs/rust.md shows.

/// Softmax over each row of a row-major matrix `x` of `columns` columns, in f32: sums from left to right.
pub fn softmax(x: &[f32], columns: usize) -> Vec<f32> {
    let mut p = Vec::with_capacity(x.len());
    for row in x.chunks(columns) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let exponentials: Vec<f32> = row.iter().map(|x| (x - max).exp()).collect();
        let sum: f32 = exponentials.iter().sum();
        p.extend(exponentials.iter().map(|e| e / sum));
    }
    p
}
