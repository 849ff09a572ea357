//! Convolutions whose operands have one element of each block of a dim, in both worlds.

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{self, program};

fn text(root: &str) -> String {
    format!(
        "HloModule m\n\nENTRY e {{\n  x = f32[1,8] parameter(0)\n  v = f32[2,2] parameter(1)\n  i = s32[2,2] parameter(2)\n  \
         k = (f32[2,2], s32[2,2]) tuple(v, i)\n  ROOT r = f32[1,2] convolution({root}\n}}\n"
    )
}

/// Column 0 has 10 at place 1 of its first block and 20 at place 3 of the second; column 1 has 5 at 0 and 7 at 2.
#[test]
fn a_sparse_operand_has_zeros_between_its_elements() {
    let given = [
        Tensor::new(&[1, 8], Data::F32((1..=8u8).map(f32::from).collect())),
        Tensor::new(&[2, 2], Data::F32(vec![10.0, 5.0, 20.0, 7.0])),
        Tensor::new(&[2, 2], Data::from_i64s(DType::S32, &[1, 0, 3, 2]).unwrap()),
    ];
    let root = "x, k), dim_labels=bf_io->bf, sparsity_config={rhs={sparsity=1x4 dimension=0 stride=1}}";
    let [machine, truth] = worlds::both("cpu/f32/as-compiled", &program(&text(root)), &given);
    assert_eq!(machine, truth);
    assert_eq!(machine, [[10.0 * 2.0 + 20.0 * 8.0, 5.0 * 1.0 + 7.0 * 7.0]]);
}

#[test]
fn what_has_no_meaning_is_refused() {
    for (config, why) in [
        (
            "rhs={sparsity=2x4 dimension=0 stride=1}",
            "one element of each block of 4096 at most, side by side, is supported",
        ),
        (
            "rhs={sparsity=1x4 dimension=0 stride=2}",
            "one element of each block of 4096 at most, side by side, is supported",
        ),
        ("rhs={sparsity=1x1000000000 dimension=0 stride=1}", "one element of each block of 4096 at most"),
        ("rhs={sparsity=1x4 dimension=2 stride=1}", "has no such blocks"),
        ("out={sparsity=1x4 dimension=0 stride=1}", "`out` is neither lhs nor rhs"),
    ] {
        let text = text(&format!("x, k), dim_labels=bf_io->bf, sparsity_config={{{config}}}"));
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
