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

/// RMS norm over each row of `x`, times `gain`, in f32: squares are added in eight lanes.
pub fn rms_norm(x: &[f32], gain: &[f32], epsilon: f32) -> Vec<f32> {
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks(gain.len()) {
        let mut lanes = [0f32; 8];
        for part in row.chunks(8) {
            lanes.iter_mut().zip(part).for_each(|(lane, x)| *lane += x * x);
        }
        let mean = lanes.iter().sum::<f32>() / gain.len() as f32;
        let scale = 1.0 / (mean + epsilon).sqrt();
        out.extend(row.iter().zip(gain).map(|(x, gain)| x * scale * gain));
    }
    out
}
