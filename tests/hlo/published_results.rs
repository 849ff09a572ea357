//! Values that real TPUs printed (FACTS 2.5, 3.3): none lies outside of what `explore` permits of the program that printed it.

// Published digits, kept as published.
#![allow(clippy::excessive_precision)]

use std::path::PathBuf;

use ulpgate::explore::{
    Outside, Settings, default_families, enclose, families_of_results, outside_of_printed, printed_range,
};
use ulpgate::file::safetensors;
use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::tensor::{DType, Data, Tensor};

fn program(text: &str) -> Program {
    lower(&parse(text).unwrap()).unwrap().program
}

fn f32s(dims: &[usize], values: &[f32]) -> Tensor {
    Tensor::new(dims, Data::F32(values.to_vec()))
}

fn printed(text: &str) -> Vec<[f64; 2]> {
    text.split(' ').map(|number| printed_range(number).unwrap()).collect()
}

/// The places of each result that are outside; `printed` has the results by their position, in digits.
fn found(program: &Program, arguments: &[Tensor], settings: &Settings, results: &[(usize, &str)]) -> Vec<Outside> {
    let (_, enclosed) = enclose(program, arguments, settings).unwrap();
    let of = |(output, text): &(usize, &str)| {
        let range = printed(text);
        assert_eq!(range.len(), enclosed[*output].elements());
        outside_of_printed(&enclosed[*output..=*output], &[range]).remove(0)
    };
    results.iter().map(of).collect()
}

fn settings(mode: &str) -> Settings {
    Settings { families: families_of_results().collect(), ..Settings::new(mode.parse().unwrap()) }
}

/// Asserts that printed values lie within the enclosure, and that all of it is known.
#[track_caller]
fn permits(program: &Program, arguments: &[Tensor], mode: &str, results: &[(usize, &str)]) {
    for found in found(program, arguments, &settings(mode), results) {
        assert!(found.elements.is_empty() && found.unknown == 0, "{mode}: {found:?}");
    }
}

fn matmul([m, k, n]: [usize; 3], precision: &str) -> Program {
    program(&format!(
        "HloModule m\nENTRY e {{\n x = f32[{m},{k}] parameter(0)\n y = f32[{k},{n}] parameter(1)\n ROOT r = f32[{m},{n}] dot(x, y), \
         lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}, operand_precision={{{precision},{precision}}}\n}}\n"
    ))
}

/// jax #9973 on a TPU, #16349 on a v3, and the PyTorch/XLA tutorial on a v4. One pass is what was printed; more passes are permitted
/// nowhere to give it.
#[test]
fn products_of_matrices() {
    let x = f32s(&[2, 2], &[0.3744, 0.1656, 0.4707, 0.1663]);
    let y = f32s(&[2, 2], &[0.3946, 0.1186, 0.1569, 0.3145]);
    let results = [(0, "0.17405128 0.09669876 0.21180916 0.10805416")];
    let arguments = [x, y];
    for chip in ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"] {
        permits(&matmul([2, 2, 2], "default"), &arguments, &format!("{chip}/default/off"), &results);
        let six = found(&matmul([2, 2, 2], "highest"), &arguments, &settings(&format!("{chip}/default/off")), &results);
        assert!(six[0].elements.len() >= 3, "{chip} {six:?}");
    }
    let x = [-1.6171875, 1.28125, -1.140625, -0.48828125, -0.1953125, 1.5390625, -0.37109375, -0.1787109375];
    let y = [-0.384765625, -1.46875, 0.546875, 2.09375, 1.1171875, 0.1611328125, -0.5390625, -0.890625];
    let arguments = [f32s(&[2, 4], &x), f32s(&[4, 2], &y)];
    permits(
        &matmul([2, 4, 2], "default"),
        &arguments,
        "v3/default/off",
        &[(0, "0.31184387 5.3089447 0.5985794 3.6086464")],
    );
    // The tutorial's one product was on the matrix unit.
    let arguments = [(); 2].map(|()| f32s(&[1, 1], &[1.00390625]));
    permits(&matmul([1, 1, 1], "default"), &arguments, "v4/default/off+dsr=off", &[(0, "1.0000000")]);
    permits(&matmul([1, 1, 1], "highest"), &arguments, "v4/default/off+dsr=off", &[(0, "1.0078277587890625")]);
}

/// maxtext #4413: the loss of the second of three steps on a TPU7x, whose compiler leaves a product of a matrix and a vector on the
/// matrix unit, and on a v6e, whose compiler does not.
#[test]
fn losses_of_two_generations() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/diloco");
    let before = program(&std::fs::read_to_string(folder.join("before.hlo")).unwrap());
    let named = safetensors::read(&folder.join("inputs.safetensors")).unwrap();
    let of = |at: usize| named.iter().find(|(name, _)| *name == format!("arg{at}")).unwrap().1.clone();
    let arguments: Vec<Tensor> = (0..4).map(of).collect();
    permits(&before, &arguments, "tpu7x/default/off", &[(1, "0.647502")]);
    permits(&before, &arguments, "v6e/default/off", &[(1, "0.65000009")]);
    let other = found(&before, &arguments, &settings("v6e/default/off"), &[(1, "0.647502")]);
    assert_eq!(other[0].elements, [0]);
}

/// jax PR #8869 (5^1.5) and multinerf #75 (20 dB there and back on a v3): functions err as the chip's do. A power is not known.
#[test]
fn functions() {
    let power = program(
        "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n y = f32[] parameter(1)\n ROOT r = f32[] power(x, y)\n}\n",
    );
    let arguments = [5.0, 1.5].map(|value| f32s(&[], &[value]));
    for chip in ["v2", "v3", "v4", "v5e", "v5p", "v6e", "tpu7x"] {
        let found = found(&power, &arguments, &settings(&format!("{chip}/default/off")), &[(0, "11.180714")]);
        assert!(found[0].elements.is_empty(), "{chip} {found:?}");
    }
    let decibels = program(
        "HloModule m\nENTRY e {\n x = f32[] parameter(0)\n a = f32[] constant(-0.230258509)\n b = f32[] constant(-4.34294481)\n \
         s = f32[] multiply(x, a)\n e = f32[] exponential(s)\n l = f32[] log(e)\n ROOT r = f32[] multiply(l, b)\n}\n",
    );
    let arguments = [f32s(&[], &[20.0])];
    permits(&decibels, &arguments, "v3/default/off", &[(0, "20.000242")]);
    // A compiler alone does not do that: exp and log of a mode are correctly rounded.
    let compiler = Settings { families: default_families().collect(), ..settings("v3/default/off") };
    assert_eq!(found(&decibels, &arguments, &compiler, &[(0, "20.000242")])[0].elements, [0]);
}

/// JAX's back-compatibility data of 2023: `tpu_Lu`, of whose loops nothing is known here.
#[test]
fn a_decomposition_is_permitted() {
    let lu = program(
        "HloModule m\nENTRY e {\n x = f32[3,3] parameter(0)\n \
         ROOT r = (f32[3,3], s32[3], s32[3]) custom-call(x), custom_call_target=\"LuDecomposition\"\n}\n",
    );
    let ramp: Vec<f64> = (0..9).map(f64::from).collect();
    let arguments = [Tensor::new(&[3, 3], Data::from_f64s(DType::F32, &ramp).unwrap())];
    let results = [(0, "6. 7. 8. 0. 1. 2. 0.5 0.5 0."), (1, "2 2 2"), (2, "2 0 1")];
    for found in found(&lu, &arguments, &settings("v3/default/off"), &results) {
        assert!(found.elements.is_empty(), "{found:?}");
    }
}
