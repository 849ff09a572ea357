//! DUCC's fast Fourier transforms in f32, as XLA:CPU calls them (FACTS 3.7): which factors a length is cut in, in which
//! order each pass adds, and which of several transforms run side by side.
//!
//! Source: mreineck/ducc at 3d28aad, which XLA pins (`third_party/ducc/workspace.bzl`), `src/ducc0/fft`. Compiled for AVX:
//! eight lanes, no fused multiply-adds. Lanes change no bits but where a transform of at least 300 elements is left over, which
//! then is cut in another way.

mod bluestein;
mod complex_plan;
mod flushed;
mod real_plan;
mod real_radix;
mod roots;

use crate::ir::{Fft, FftKind};
use crate::tensor::DType;

use super::THREADS;
use crate::machine::Value;

use complex_plan::ComplexPlan;
use flushed::{Complex, FlushedF32};
use real_plan::RealPlan;
use roots::Roots;

/// Transforms of one length that run side by side.
const LANES: usize = 8;
/// Bytes that side by side transforms of elements that lie together may take.
const CACHE: usize = 512 * 1024;

/// Real and imaginary parts of an array of complex numbers.
type Parts = [Vec<f32>; 2];

/// The transform of f32 operands: of one real array for RFFT, of real and imaginary parts for the others. The result is a
/// tuple of both parts, or one array for IRFFT.
pub fn fft(fft: &Fft, operands: Vec<Value>) -> Value {
    let [re, im] = transform(fft, &operands.iter().map(Value::f32s).collect::<Vec<_>>());
    let re = Value::float(DType::F32, re);
    if fft.kind == FftKind::Irfft { re } else { Value::Tuple(vec![re, Value::float(DType::F32, im)]) }
}

fn transform(fft: &Fft, parts: &[&[f32]]) -> Parts {
    let lengths = &fft.lengths;
    let last = lengths[lengths.len() - 1];
    let outer = &lengths[..lengths.len() - 1];
    let count: f64 = lengths.iter().map(|length| *length as f64).product();
    let scale = FlushedF32::new((1.0 / count) as f32);
    let spectrum = if fft.kind == FftKind::Irfft { last / 2 + 1 } else { last };
    let rows = parts[0].len() / spectrum;
    let batch = rows / outer.iter().product::<usize>().max(1);
    let dims = |last: usize| [&[batch], outer, &[last]].concat();
    if fft.kind == FftKind::Rfft {
        let plan = RealPlan::new(last);
        let mut data = Vec::with_capacity(rows * (last / 2 + 1));
        for row in parts[0].chunks(last) {
            data.extend(unpacked(&plan.forward(row.iter().map(|x| FlushedF32::new(*x)).collect())));
        }
        let axes: Vec<usize> = (1..=outer.len()).collect();
        return split(&complex(data, &dims(last / 2 + 1), &axes, true, None));
    }
    let data = parts[0]
        .iter()
        .zip(parts[1])
        .map(|(re, im)| Complex::new(FlushedF32::new(*re), FlushedF32::new(*im)))
        .collect();
    if fft.kind != FftKind::Irfft {
        let forward = fft.kind == FftKind::Fft;
        let dims = dims(last);
        let axes = ordered(&dims, lengths.len());
        return split(&complex(data, &dims, &axes, forward, (!forward).then_some(scale)));
    }
    let dims = dims(last / 2 + 1);
    let axes = ordered(&dims, outer.len());
    let data = complex(data, &dims, &axes, false, None);
    let plan = RealPlan::new(last);
    let mut out = Vec::with_capacity(rows * last);
    for row in data.chunks(last / 2 + 1) {
        out.extend(plan.backward(packed(row, last)).into_iter().map(|x| scaled(x, scale).get()));
    }
    [out, Vec::new()]
}

/// By a factor, but for 1.
fn scaled(x: FlushedF32, by: FlushedF32) -> FlushedF32 {
    if by == FlushedF32::constant(1.0) { x } else { x * by }
}

/// A half spectrum as complex numbers.
fn unpacked(half: &[FlushedF32]) -> Vec<Complex> {
    let others =
        half[1..].chunks(2).map(|pair| Complex::new(pair[0], pair.get(1).copied().unwrap_or(FlushedF32::ZERO)));
    [Complex::new(half[0], FlushedF32::ZERO)].into_iter().chain(others).collect()
}

/// The first `length` parts of them, in the order of a half spectrum.
fn packed(row: &[Complex], length: usize) -> Vec<FlushedF32> {
    let others = row[1..].iter().flat_map(|x| [x.re, x.im]);
    [row[0].re].into_iter().chain(others).take(length).collect()
}

fn split(data: &[Complex]) -> Parts {
    [data.iter().map(|x| x.re.get()).collect(), data.iter().map(|x| x.im.get()).collect()]
}

/// The axes behind the first that are transformed, from the first on: one along which elements lie together changes places
/// with the first of them.
fn ordered(dims: &[usize], count: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (1..=count).collect();
    let together = (1..count).find(|at| dims[axes[*at] + 1..].iter().product::<usize>() == 1);
    if let Some(at) = together {
        axes.swap(0, at);
    }
    axes
}

/// Complex transforms along several axes, one after the other; the first of them scales.
fn complex(
    mut data: Vec<Complex>,
    dims: &[usize],
    axes: &[usize],
    forward: bool,
    scale: Option<FlushedF32>,
) -> Vec<Complex> {
    for (at, &axis) in axes.iter().enumerate() {
        let length = dims[axis];
        let stride: usize = dims[axis + 1..].iter().product();
        let roots = Roots::new(length);
        let plan = ComplexPlan::new(length, &roots, false);
        let alone = ComplexPlan::new(length, &roots, true);
        let count = data.len() / length.max(1);
        let side_by_side = stride > 1 || 8 * (2 * length * LANES + plan.scratch(length)) <= CACHE;
        let shares = shares(data.len(), length);
        // A share's last transforms are alone where they do not fill the lanes.
        let is_alone = |number: usize| {
            let (share, first) = share_of(number, count, shares);
            !side_by_side || number - first >= share / LANES * LANES
        };
        for number in 0..count {
            let start = number / stride * stride * length + number % stride;
            let row: Vec<Complex> = (0..length).map(|i| data[start + i * stride]).collect();
            let row = if is_alone(number) { &alone } else { &plan }.transform(row, forward);
            for (i, value) in row.into_iter().enumerate() {
                data[start + i * stride] = match scale.filter(|_| at == 0) {
                    Some(scale) => Complex::new(scaled(value.re, scale), scaled(value.im, scale)),
                    None => value,
                };
            }
        }
    }
    data
}

/// Among how many threads the transforms of an array are shared out.
fn shares(elements: usize, length: usize) -> usize {
    let vectors = elements / (length * LANES).max(1);
    let vectors = if length < 1000 { vectors / 4 } else { vectors };
    vectors.min(elements / 4096).clamp(1, THREADS)
}

/// The size of the share that a transform falls in, and the first of it: earlier shares take one more where they differ.
fn share_of(number: usize, count: usize, shares: usize) -> (usize, usize) {
    let (each, more) = (count / shares, count % shares);
    let larger = more * (each + 1);
    match number < larger {
        true => (each + 1, number / (each + 1) * (each + 1)),
        false => (each, larger + (number - larger) / each.max(1) * each),
    }
}

#[cfg(test)]
mod tests;
