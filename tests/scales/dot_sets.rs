//! Dots of scaled blocks by `scripts/scaled_dots.py`: every order's bits, and the commands that tell one order from the others.

use std::path::Path;
use std::process::Command;

use ulpgate::file::safetensors;
use ulpgate::machine::{Mode, Prepared};
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{DType, Data, Tensor};

use super::path;

/// A set: name, types of elements and of scales as the program has them, K and block.
type Set = (&'static str, DType, DType, usize, usize);

const SETS: [Set; 12] = [
    ("e4m3_e8m0", DType::F8E4M3FN, DType::F8E8M0FNU, 1024, 32),
    ("e5m2_e8m0", DType::F8E5M2, DType::F8E8M0FNU, 2048, 32),
    ("e2m1_e8m0", DType::F4E2M1FN, DType::F8E8M0FNU, 4096, 32),
    ("e2m1_e4m3", DType::F4E2M1FN, DType::F8E4M3FN, 2048, 16),
    ("e4m3_f32", DType::F8E4M3FN, DType::F32, 8192, 32),
    ("e4m3_bf16", DType::F8E4M3FN, DType::BF16, 1500, 32),
    ("e4m3_ragged", DType::F8E4M3FN, DType::F8E8M0FNU, 3000, 32),
    ("s8_f32", DType::S8, DType::F32, 4096, 128),
    ("zeros", DType::F8E4M3FN, DType::F8E8M0FNU, 1024, 32),
    ("nan_scale", DType::F8E4M3FN, DType::F8E8M0FNU, 1024, 32),
    ("nan_element", DType::F8E4M3FN, DType::F32, 1024, 32),
    ("infinite_scale", DType::F8E4M3FN, DType::F32, 1024, 32),
];

/// Results by their names in the file, the program's order, and the chip whose unit adds so many products at once.
const ORDERS: [(&str, &str, &str); 8] = [
    ("tiles.512", "order=tiles", "v5e"),
    ("tiles.256", "order=tiles,tile=256", "v5e"),
    ("flat", "order=flat", "v5e"),
    ("in_unit.512.128", "order=in_unit", "v5e"),
    ("in_unit.256.128", "order=in_unit,tile=256", "v5e"),
    ("in_unit.512.256", "order=in_unit", "tpu7x"),
    ("in_unit.256.256", "order=in_unit,tile=256", "tpu7x"),
    ("tiles.512.bf16", "order=tiles,out=bf16", "v5e"),
];

fn read() -> Vec<(String, Tensor)> {
    safetensors::read(&path("dot_sets")).unwrap()
}

fn find(tensors: &[(String, Tensor)], name: &str) -> Option<Tensor> {
    tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor.clone())
}

/// A set's operands in the program's types: bytes of the file are codes.
fn operands(tensors: &[(String, Tensor)], (name, element, scale, ..): Set) -> Vec<Tensor> {
    let parts = [("a", element), ("b", element), ("scale_a", scale), ("scale_b", scale)];
    let of = |(part, dtype): (&str, DType)| match find(tensors, &format!("{name}.{part}")).unwrap() {
        stored if stored.dtype() == dtype => stored,
        stored => Tensor::new(stored.dims(), Data::Coded(dtype, super::bytes(&stored))),
    };
    parts.map(of).to_vec()
}

fn program(order: &str, (_, element, scale, _, block): Set) -> String {
    format!("scaled_dot[block={block},columns=4,elements={},{order},rows=3,scales={}]", element.name(), scale.name())
}

/// Bits of all numbers; one NaN is like another.
fn bits(tensor: &Tensor) -> Vec<u64> {
    let of = |at: usize| if tensor.data().get_f64(at).is_nan() { u64::MAX } else { tensor.data().bits(at) };
    (0..tensor.len()).map(of).collect()
}

#[test]
fn every_set_has_numpys_bits_in_every_order() {
    let tensors = read();
    for set in SETS {
        let arguments = operands(&tensors, set);
        let mut count = 0;
        for (result, order, chip) in ORDERS {
            let mode: Mode = format!("{chip}/default/off+acc=exact").parse().unwrap();
            let Some(stored) = find(&tensors, &format!("{}.{result}", set.0)) else { continue };
            let program = program(order, set).parse::<ProgramSpec>().unwrap().build(set.3, 3).unwrap();
            let prepared = Prepared::new(&program);
            let got = prepared.evaluate(&mode, &prepared.bind(&arguments).unwrap()).unwrap();
            assert_eq!(got[0].dtype(), stored.dtype(), "{} {result}", set.0);
            assert_eq!(bits(&got[0]), bits(&stored), "{} {result}", set.0);
            count += 1;
        }
        let is_held = matches!(set.2, DType::F8E8M0FNU | DType::F8E4M3FN);
        assert_eq!(count, if is_held { 8 } else { 4 }, "{}", set.0);
    }
}

/// The edges are in the sets: zeros, and NaN of scales, of elements, and of zeros under an infinite scale.
#[test]
fn sets_of_edges_have_them_in_their_results() {
    let tensors = read();
    let flat = |name: &str| find(&tensors, &format!("{name}.flat")).unwrap().data().to_f32s();
    assert_eq!(flat("zeros")[4..8], [0.0; 4]);
    assert!(flat("zeros")[..4].iter().all(|value| *value != 0.0));
    for name in ["nan_scale", "nan_element", "infinite_scale"] {
        let nans = flat(name).iter().filter(|value| value.is_nan()).count();
        assert!((1..12).contains(&nans), "{name}: {nans}");
    }
}

fn judged(file: &Path, program: &str, k: usize) -> (Option<i32>, String) {
    let text = file.to_str().unwrap();
    let arguments = ["judge", text, "--program", program, "--n", &k.to_string(), "--inputs", text];
    let output = Command::new(env!("CARGO_BIN_EXE_ulpgate")).args(arguments).output().unwrap();
    (output.status.code(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
}

/// A recording is the same bits under its own order alone: `judge` knows the tile, and scales within the unit.
#[test]
fn judge_tells_tiles_of_k_and_scales_within_the_unit_apart() {
    let (tensors, folder) = (read(), tempfile::tempdir().unwrap());
    let file = folder.path().join("dot.safetensors");
    for set in [SETS[0], SETS[5]] {
        let names = ["a", "b", "scale_a", "scale_b"];
        let mut recording: Vec<(String, Tensor)> =
            names.iter().map(|name| name.to_string()).zip(operands(&tensors, set)).collect();
        for (result, ..) in &ORDERS[..5] {
            let Some(stored) = find(&tensors, &format!("{}.{result}", set.0)) else { continue };
            recording.truncate(4);
            recording.push(("out".to_string(), stored));
            safetensors::write(&file, &recording).unwrap();
            for (other, order, _) in &ORDERS[..5] {
                if find(&tensors, &format!("{}.{other}", set.0)).is_none() {
                    continue;
                }
                let (code, told) = judged(&file, &program(order, set), set.3);
                assert_eq!(told.contains(": BITS"), result == other, "{}: {result} as {other}: {told}", set.0);
                assert!(code == Some(0) || result != other, "{}: {result} as {other}: {told}", set.0);
            }
        }
    }
}
