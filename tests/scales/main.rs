//! `ulpgate::scales` and `ulpgate::scaled`: tensors by public libraries are named, their bytes are made again, and faults are found.

mod command;
mod dot_sets;
mod dots;
mod faults;
mod libraries;
mod moved;
mod packed;
mod vectors;
mod zero_points;

use std::path::{Path, PathBuf};

use ulpgate::file::safetensors;
use ulpgate::scaled::{Quantized, find_rule, quantize};
use ulpgate::scales::{Answer, Given, find_tensors, judge};
use ulpgate::tensor::{DType, Data, Tensor};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/scaled/{name}.safetensors"))
}

/// The tensors of a file of tests/data/scaled.
fn library(name: &str) -> Given {
    find_tensors(&safetensors::read(&path(name)).unwrap(), &[]).unwrap()
}

fn names(answer: &Answer) -> Vec<&str> {
    answer.rules.iter().map(String::as_str).collect()
}

/// Numbers over some octaves, the same each time (xorshift64*).
fn numbers(count: usize, seed: u64) -> Vec<f32> {
    let mut state = seed | 1;
    let mut next = || {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40) as f32 / (1 << 24) as f32
    };
    (0..count).map(|_| (next() * 2.0 - 1.0) * 2f32.powi((next() * 13.0) as i32 - 6)).collect()
}

fn input(dims: &[usize], seed: u64) -> Tensor {
    Tensor::new(dims, Data::F32(numbers(dims.iter().product(), seed)))
}

/// A tensor quantised by the rule of a text, with its input.
fn quantized(x: &Tensor, rule: &str, axis: usize, block: Option<usize>) -> Given {
    let (format, rule) = find_rule(rule).unwrap();
    let Quantized { elements, scales, per_tensor, zero_points } = quantize(x, format, rule, axis, block).unwrap();
    Given {
        elements,
        scales,
        per_tensor,
        input: Some(x.clone()),
        zero_points,
        may_be_reciprocals: false,
        packed: Vec::new(),
    }
}

fn bytes(tensor: &Tensor) -> Vec<u8> {
    (0..tensor.len()).map(|at| tensor.data().bits(at) as u8).collect()
}

/// The same scales with some steps added to some of them.
fn shifted(scales: &Tensor, step: i8, which: impl Fn(usize) -> bool) -> Tensor {
    let moved = bytes(scales)
        .into_iter()
        .enumerate()
        .map(|(at, code)| if which(at) { code.wrapping_add_signed(step) } else { code });
    Tensor::new(scales.dims(), Data::Coded(scales.dtype(), moved.collect()))
}

/// Two codes of the last axis in a byte.
fn packed(codes: &Tensor, is_low_first: bool) -> Tensor {
    let both = |pair: &[u8]| if is_low_first { pair[0] | pair[1] << 4 } else { pair[1] | pair[0] << 4 };
    let mut dims = codes.dims().to_vec();
    *dims.last_mut().unwrap() /= 2;
    Tensor::new(&dims, Data::U8(bytes(codes).chunks(2).map(both).collect()))
}

fn transposed(tensor: &Tensor) -> Tensor {
    let [rows, columns] = *tensor.dims() else { panic!("{:?}", tensor.dims()) };
    let places: Vec<usize> = (0..columns).flat_map(|column| (0..rows).map(move |row| row * columns + column)).collect();
    tensor.pick(&[columns, rows], &places)
}

fn as_bytes(tensor: &Tensor) -> Tensor {
    Tensor::new(tensor.dims(), Data::U8(bytes(tensor)))
}

fn answer(given: &Given) -> Answer {
    judge(given).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn helpers_do_as_they_say() {
    let one = Tensor::new(&[2, 2], Data::Coded(DType::F4E2M1FN, vec![1, 2, 3, 4]));
    assert_eq!(bytes(&packed(&one, true)), [0x21, 0x43]);
    assert_eq!(bytes(&packed(&one, false)), [0x12, 0x34]);
    assert_eq!(bytes(&transposed(&one)), [1, 3, 2, 4]);
}
