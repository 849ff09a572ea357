//! Dots of scaled blocks: the truth, and the public order of TorchTPU's kernel bit for bit.

use ulpgate::file::safetensors;
use ulpgate::machine::scaled_dot::{ScaledOrder, scaled_dot};
use ulpgate::num::{F8E4M3FN, F8E8M0FNU, F32, F64};
use ulpgate::oracle::scaled_dot;
use ulpgate::scaled::{BlockDot, BlockDotError};
use ulpgate::tensor::{DType, Tensor};

use super::path;

const FILES: [&str; 4] = ["dot_mx_tight", "dot_mx", "dot_rowcol_tight", "dot_rowcol"];

/// Numbers of a tensor of codes or floats.
fn decoded(tensor: &Tensor) -> Vec<f64> {
    let bits = |at| tensor.data().bits(at);
    let of = |format: &'static ulpgate::num::Format| (0..tensor.len()).map(|at| format.decode(bits(at))).collect();
    match tensor.dtype() {
        DType::U8 => of(&F8E8M0FNU),
        DType::F8E4M3FN => of(&F8E4M3FN),
        _ => tensor.data().to_f64s(),
    }
}

/// The dot of a file, and its stored results by name.
fn read(name: &str) -> (BlockDot, impl Fn(&str) -> Tensor) {
    let tensors = safetensors::read(&path(name)).unwrap();
    let find = move |name: &str| tensors.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let numbers = ["a", "b", "scale_a", "scale_b"].map(|name| {
        let tensor = find(name);
        // Bytes of elements are e4m3.
        let is_element = name.len() == 1 && tensor.dtype() == DType::U8;
        if is_element {
            tensor.data().to_f64s().iter().map(|code| F8E4M3FN.decode(*code as u64)).collect()
        } else {
            decoded(&tensor)
        }
    });
    (BlockDot::new([6, 1024, 5], 32, numbers).unwrap(), find)
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn the_truth_is_the_exact_sum_rounded_once() {
    for name in FILES {
        let (dot, stored) = read(name);
        let truth = scaled_dot::scaled_dot(&dot, &F64);
        assert_eq!(truth, stored("exact").data().to_f64s(), "{name}");
        let single: Vec<f64> = scaled_dot::scaled_dot(&dot, &F32);
        let once: Vec<f64> = truth.iter().map(|value| f64::from(*value as f32)).collect();
        assert_eq!(single, once, "{name}");
    }
}

#[test]
fn the_public_order_is_followed_bit_for_bit() {
    for name in FILES {
        let (dot, stored) = read(name);
        for (order, result) in [
            (ScaledOrder::Tiles(512), "ordered"),
            (ScaledOrder::Flat, "ordered_flat"),
            (ScaledOrder::FusedTiles(512), "ordered_fma"),
        ] {
            assert_eq!(bits(&scaled_dot(&dot, order)), bits(&stored(result).data().to_f32s()), "{name} {result}");
        }
    }
    // The orders part.
    let (dot, _) = read("dot_rowcol_tight");
    let all = [ScaledOrder::Tiles(512), ScaledOrder::Tiles(256), ScaledOrder::Flat, ScaledOrder::FusedTiles(512)];
    let all = all.map(|order| bits(&scaled_dot(&dot, order)));
    assert!((0..4).all(|one| (one + 1..4).all(|other| all[one] != all[other])));
}

/// One row and column by hand: block dots 1 and 2^-24, and scales that are powers of two.
#[test]
fn every_order_rounds_where_it_says() {
    let a = vec![1.0, 0.0, 2f64.powi(-9), 2f64.powi(-9)];
    let b = vec![1.0, 0.0, 2f64.powi(-8), 2f64.powi(-8)];
    let scales = vec![1.0, 2f64.powi(-8)];
    let dot = BlockDot::new([1, 4, 1], 2, [a, b, scales, vec![1.0, 1.0]]).unwrap();
    // 2 * 2^-17 * 2^-8 = 2^-24, half an ulp of 1: a tie to even.
    let of = |order| f64::from(scaled_dot(&dot, order)[0]);
    for order in [ScaledOrder::Tiles(2), ScaledOrder::Flat, ScaledOrder::InUnit(4), ScaledOrder::Dequantized] {
        assert_eq!(of(order), 1.0, "{order:?}");
    }
    assert_eq!(scaled_dot::scaled_dot(&dot, &F64), [1.0 + 2f64.powi(-24)]);
    assert_eq!(scaled_dot::scaled_dot(&dot, &F32), [1.0]);
}

/// Terms 2^80, 1 and -2^80 in one tile: a sum in f64 loses the middle one.
#[test]
fn a_tile_within_the_unit_is_added_exactly() {
    let numbers = |signs: [f64; 3], powers: [i32; 3]| {
        let scales = powers.map(|power| 2f64.powi(power)).to_vec();
        [vec![1.0; 3], signs.to_vec(), scales.clone(), scales]
    };
    let of = |signs, powers, tile| {
        let dot = BlockDot::new([1, 3, 1], 1, numbers(signs, powers)).unwrap();
        scaled_dot(&dot, ScaledOrder::InUnit(tile))[0]
    };
    assert_eq!(of([1.0, 1.0, -1.0], [40, 0, 40], 3), 1.0);
    assert_eq!(of([1.0, 1.0, -1.0], [40, 0, 40], 1), 0.0);
    // Half an ulp, and 2^-120 above it: the f64 of the sum is a tie, the sum is none.
    assert_eq!(of([1.0; 3], [0, -12, -60], 3), 1.0 + f32::EPSILON);
    assert_eq!(of([1.0, 1.0, -1.0], [0, -12, -60], 3), 1.0);
}

/// The built-in program is the library's order, on every chip whose blocks are added exactly.
#[test]
fn the_program_is_the_public_order() {
    use ulpgate::machine::{Mode, Prepared};
    use ulpgate::program::ProgramSpec;
    for (name, scales) in
        [("dot_mx_tight", "f8e8m0fnu"), ("dot_mx", "f8e8m0fnu"), ("dot_rowcol_tight", "f32"), ("dot_rowcol", "f32")]
    {
        let (_, stored) = read(name);
        for (order, result) in [("tile=512", "ordered"), ("order=flat", "ordered_flat")] {
            let text = format!("scaled_dot[columns=5,{order},rows=6,scales={scales}]");
            let program = text.parse::<ProgramSpec>().unwrap().build(1024, 6).unwrap();
            let arguments: Vec<Tensor> = ["a", "b", "scale_a", "scale_b"]
                .iter()
                .map(|name| match stored(name) {
                    tensor if tensor.dtype() != DType::U8 => tensor,
                    tensor => {
                        let codes = tensor.data().to_i64s().iter().map(|code| *code as u8).collect();
                        let dtype = if name.len() == 1 { DType::F8E4M3FN } else { DType::F8E8M0FNU };
                        Tensor::new(tensor.dims(), ulpgate::tensor::Data::Coded(dtype, codes))
                    }
                })
                .collect();
            let mode: Mode = "v5e/default/off+acc=exact".parse().unwrap();
            let prepared = Prepared::new(&program);
            let got = prepared.evaluate(&mode, &prepared.bind(&arguments).unwrap()).unwrap();
            assert_eq!(bits(&got[0].data().to_f32s()), bits(&stored(result).data().to_f32s()), "{name} {order}");
        }
    }
}

/// A dot with codes of e4m3 and scales of e8m0, whose last block of 32 is ragged where `k` is no multiple.
fn ragged(k: usize) -> (BlockDot, Vec<Tensor>) {
    let blocks = k.div_ceil(32);
    // Codes of both signs from 2^-2 to 2^4, and scales over twelve octaves, in no order: sums round at every step.
    let mixed = |at: usize| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
    let code = |at: usize| (0x28 + mixed(at) % 0x30) as u8 | (mixed(at + 77) as u8 & 0x80);
    let scale = |at: usize| 121 + (mixed(at + 7_000) % 12) as u8;
    let tensor = |dims: [usize; 2], dtype, of: &dyn Fn(usize) -> u8| {
        Tensor::new(&dims, ulpgate::tensor::Data::Coded(dtype, (0..dims[0] * dims[1]).map(of).collect()))
    };
    let all = vec![
        tensor([3, k], DType::F8E4M3FN, &code),
        tensor([k, 4], DType::F8E4M3FN, &|at| code(at + 5)),
        tensor([3, blocks], DType::F8E8M0FNU, &scale),
        tensor([blocks, 4], DType::F8E8M0FNU, &|at| scale(at + 2)),
    ];
    let numbers = [0, 1, 2, 3].map(|at: usize| all[at].data().to_f64s());
    (BlockDot::new([3, k, 4], 32, numbers).unwrap(), all)
}

/// K of 70 is two blocks of 32 and one of 6: program, machine and truth take the same numbers. Each block's dot is exact here.
#[test]
fn ragged_last_blocks_are_of_both_worlds() {
    use ulpgate::machine::{Mode, Prepared};
    use ulpgate::program::ProgramSpec;
    let mode: Mode = "v5e/default/off+acc=exact".parse().unwrap();
    for k in [70, 1000, 1024] {
        let (dot, arguments) = ragged(k);
        let run = |order: &str, tile: usize| {
            let text = format!("scaled_dot[columns=4,order={order},rows=3,tile={tile}]");
            let program = text.parse::<ProgramSpec>().unwrap().build(k, 3).unwrap();
            let prepared = Prepared::new(&program);
            let got = prepared.evaluate(&mode, &prepared.bind(&arguments).unwrap()).unwrap();
            got[0].data().to_f32s()
        };
        for (order, tile, own) in [
            ("tiles", 128, ScaledOrder::Tiles(128)),
            ("flat", 128, ScaledOrder::Flat),
            ("in_unit", 128, ScaledOrder::InUnit(128)),
            // Half of the products that the unit of v5e adds at once: of whole ones one tile is the same as several.
            ("in_unit", 64, ScaledOrder::InUnit(64)),
        ] {
            assert_eq!(bits(&run(order, tile)), bits(&scaled_dot(&dot, own)), "{k} {order} {tile}");
        }
        if k > 1000 {
            assert_ne!(bits(&run("in_unit", 64)), bits(&run("in_unit", 1024)), "one tile and several");
        }
        // The inputs tell one tile from several, and each order from the others.
        let several = [ScaledOrder::Tiles(128), ScaledOrder::Flat, ScaledOrder::InUnit(128), ScaledOrder::InUnit(1024)];
        let several = several.map(|order| bits(&scaled_dot(&dot, order)));
        assert!(k < 1000 || (0..4).all(|one| (one + 1..4).all(|other| several[one] != several[other])), "{k}");
        let kept = "scaled_dot[order=in_unit,scales=f32]".parse::<ProgramSpec>().unwrap().build(k, 3);
        assert!(kept.unwrap_err().to_string().contains("order=in_unit takes"));
        // The elements behind the last whole block count.
        let truth = scaled_dot::scaled_dot(&dot, &F64);
        let numbers = arguments.iter().map(|tensor| tensor.data().to_f64s()).collect::<Vec<_>>();
        let [a, b, s, t] = numbers.as_slice() else { panic!() };
        let blocks = k.div_ceil(32);
        let by_hand = |at: usize| {
            (0..k)
                .map(|p| a[at / 4 * k + p] * s[at / 4 * blocks + p / 32] * b[p * 4 + at % 4] * t[p / 32 * 4 + at % 4])
                .sum::<f64>()
        };
        // Products are multiples of 2^-10 below 2^8, their scales reach over 22 octaves: an f64 holds every sum.
        assert_eq!(truth, (0..12).map(by_hand).collect::<Vec<_>>(), "{k}");
    }
}

#[test]
fn numbers_that_make_no_dot_are_refused() {
    let one = || vec![1.0];
    let counts = BlockDot::new([1, 2, 1], 2, [one(), one(), one(), one()]);
    assert!(matches!(counts, Err(BlockDotError::Counts { expected: [2, 2, 1, 1], found: [1, 1, 1, 1], .. })));
    assert!(matches!(BlockDot::new([1, 1, 1], 0, [one(), one(), one(), one()]), Err(BlockDotError::Counts { .. })));
    let element = BlockDot::new([1, 1, 1], 1, [vec![f64::NAN], one(), one(), one()]);
    assert!(matches!(element, Err(BlockDotError::Element(_))));
    let scale = BlockDot::new([1, 1, 1], 1, [one(), one(), vec![0.1], one()]);
    assert_eq!(scale, Err(BlockDotError::Scale(0.1)));
}
