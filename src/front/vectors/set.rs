//! The vectors of one format as tensors.

use rayon::prelude::*;

use crate::deadline;
use crate::machine::scaled_dot::{ScaledOrder, scaled_dot};
use crate::num::F32;
use crate::oracle;
use crate::scaled::{BlockDot, FORMATS, Format, ScaleType};
use crate::tensor::{DType, Data, Tensor};

use super::VectorsError;
use super::draw::{ELEMENTS_OF_A_VECTOR, KINDS, Vector, draw};

/// Elements of a tile: two tiles a vector, each of several blocks.
pub const TILE: usize = 64;

/// The formats that have vectors: those with scales by blocks.
pub fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| matches!(format.scales, ScaleType::E8M0 | ScaleType::E4M3))
}

/// One vector with its results.
struct VectorResults {
    vector: Vector,
    /// The exact result, then those of the three accumulators.
    results: [f32; 4],
}

/// Names of the results, in the order of [`VectorResults::results`].
const RESULTS: [&str; 4] = ["exact", "blocks", "in_unit", "dequantized"];

fn judged(format: &'static Format, number: usize) -> Result<VectorResults, VectorsError> {
    let vector = draw(format, number);
    let block = format.block.unwrap_or(ELEMENTS_OF_A_VECTOR);
    let elements = |codes: &[u8]| codes.iter().map(|code| format.element.decode(*code)).collect();
    let scales = |codes: &[u8]| codes.iter().map(|code| format.scales.decode(u64::from(*code))).collect();
    let numbers = [elements(&vector.a), elements(&vector.b), scales(&vector.scale_a), scales(&vector.scale_b)];
    let dot = BlockDot::new([1, ELEMENTS_OF_A_VECTOR, 1], block, numbers)
        .map_err(|source| VectorsError::Dot { format: format.name, source })?;
    // f64 holds every f32.
    let exact = oracle::scaled_dot::scaled_dot(&dot, &F32)[0] as f32;
    let orders = [ScaledOrder::Tiles(TILE), ScaledOrder::InUnit(TILE), ScaledOrder::Dequantized];
    let [blocks, in_unit, dequantized] = orders.map(|order| scaled_dot(&dot, order)[0]);
    Ok(VectorResults { vector, results: [exact, blocks, in_unit, dequantized] })
}

/// The first `count` vectors of a format: `a`, `b`, `scale_a`, `scale_b`, `kind` and the results, a row a vector.
///
/// # Errors
/// If a vector's numbers make no dot.
pub fn tensors(format: &'static Format, count: usize) -> Result<Vec<(String, Tensor)>, VectorsError> {
    let deadline = deadline::current();
    let of = |number: usize| deadline.within(|| judged(format, number));
    let all: Vec<VectorResults> = (0..count).into_par_iter().map(of).collect::<Result<_, _>>()?;
    let rows = |row: &dyn Fn(&Vector) -> Vec<u8>| all.iter().flat_map(|one| row(&one.vector)).collect::<Vec<u8>>();
    let coded = |codes: Vec<u8>, dtype: Option<DType>| {
        let dims = [count, codes.len() / count.max(1)];
        let data = match dtype {
            Some(dtype) => Data::Coded(dtype, codes),
            None => Data::U8(codes),
        };
        Tensor::new(&dims, data)
    };
    // Elements of four bits are packed, and those of six have no type of files.
    let is_short = format.element.bits() < 8;
    let packed = |codes: &[u8]| -> Vec<u8> {
        if format.element.bits() > 4 {
            return codes.to_vec();
        }
        codes.chunks(2).map(|pair| pair[0] & 0xf | pair.get(1).map_or(0, |high| high << 4)).collect()
    };
    let element = format.element.dtype.filter(|_| !is_short);
    let scale = (format.scales == ScaleType::E4M3).then_some(DType::F8E4M3FN);
    let mut tensors = vec![
        ("a".to_string(), coded(rows(&|vector| packed(&vector.a)), element)),
        ("b".to_string(), coded(rows(&|vector| packed(&vector.b)), element)),
        ("scale_a".to_string(), coded(rows(&|vector| vector.scale_a.clone()), scale)),
        ("scale_b".to_string(), coded(rows(&|vector| vector.scale_b.clone()), scale)),
    ];
    let kinds = (0..count).map(|number| (number % KINDS.len()) as u8).collect();
    tensors.push(("kind".to_string(), Tensor::new(&[count], Data::U8(kinds))));
    for (at, name) in RESULTS.into_iter().enumerate() {
        let results = all.iter().map(|one| one.results[at]).collect();
        tensors.push((name.to_string(), Tensor::new(&[count], Data::F32(results))));
    }
    Ok(tensors)
}
