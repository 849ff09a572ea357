//! `bound` on dots of scaled blocks: it knows the tile of K, and whether scales lie within the unit.

use super::bench::Bench;
use ulpgate::check::Outcome;
use ulpgate::ir::Program;
use ulpgate::program::ProgramSpec;
use ulpgate::tensor::{DType, Data, Tensor};

const K: usize = 2048;

fn program(order: &str) -> Program {
    format!("scaled_dot[columns=1,{order},rows=1]").parse::<ProgramSpec>().unwrap().build(K, 1).unwrap()
}

/// Elements of 1 and 1.25 and scales of 1: no rounding of the unit's, and a result below 2^12.
fn arguments() -> Vec<Tensor> {
    let tensor = |dims: &[usize], dtype, code: &dyn Fn(usize) -> u8| {
        Tensor::new(dims, Data::Coded(dtype, (0..dims.iter().product()).map(code).collect()))
    };
    vec![
        tensor(&[1, K], DType::F8E4M3FN, &|at| 0x38 + (at % 3) as u8),
        tensor(&[K, 1], DType::F8E4M3FN, &|_| 0x38),
        tensor(&[1, K / 32], DType::F8E8M0FNU, &|_| 127),
        tensor(&[K / 32, 1], DType::F8E8M0FNU, &|_| 127),
    ]
}

/// Units in the last place of 1 by which the result may be wrong before `bound` finds it.
fn permitted(order: &str) -> u32 {
    let (program, arguments) = (program(order), arguments());
    let bench = Bench { program: &program, mode: "v5e/default/off+acc=exact".parse().unwrap(), arguments: &arguments };
    let own = bench.run()[0].data().to_f32s()[0];
    let judged = |ulps: u32| {
        let wrong = Tensor::new(&[1, 1], Data::F32(vec![own * (1.0 + ulps as f32 * f32::EPSILON)]));
        bench.judge(&[wrong]).outcome
    };
    assert_eq!(judged(0), Outcome::Pass, "{order}");
    (1..1000).find(|ulps| judged(*ulps) != Outcome::Pass).unwrap_or(1000)
}

/// 64 blocks of 32: one sum is a chain of 64 additions, tiles of 512 and 256 are chains of 16 + 4 and 8 + 8, and within the unit each tile
/// is one number or a few.
#[test]
fn the_bound_of_a_scaled_dot_knows_its_tile() {
    let [flat, wide, narrow] = ["order=flat", "tile=512", "tile=256"].map(permitted);
    let [unit, one_unit] = ["order=in_unit", "order=in_unit,tile=2048"].map(permitted);
    assert!(2 * flat > 3 * wide && wide > narrow, "{flat} {wide} {narrow}");
    assert!(narrow > unit && unit > 0 && flat > one_unit, "{narrow} {unit} {one_unit}");
}
