//! Start indices of any integer type, moved to where a slice lies inside of its array.

use ulpgate::ir::{Builder, GatherDims, Op};
use ulpgate::machine::Mode;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

/// Results of XLA:CPU (jaxlib 0.10.2): a u64 of 2^63 and above lies behind the end, and not before the beginning.
#[test]
fn a_start_is_the_number_that_its_type_says() {
    let starts = [
        (Data::U64(vec![1 << 63 | 5]), 4),
        (Data::U64(vec![u64::MAX]), 4),
        (Data::U64(vec![3]), 3),
        (Data::S64(vec![i64::MIN]), 0),
        (Data::S64(vec![-1]), 0),
        (Data::U32(vec![u32::MAX]), 4),
        (Data::S32(vec![-1]), 0),
        (Data::U8(vec![255]), 4),
        (Data::S8(vec![-1]), 0),
    ];
    let mode: Mode = "cpu/f32/off".parse().unwrap();
    let numbers: Vec<f32> = (0..6).map(|at| at as f32).collect();
    for (start, expected) in starts {
        let dtype = start.dtype();
        let mut b = Builder::new("starts");
        let x = b.parameter("x", DType::F32, &[6]).unwrap();
        let update = b.parameter("update", DType::F32, &[2]).unwrap();
        let start_of = b.parameter("start", dtype, &[1]).unwrap();
        let scalar = b.reshape(start_of, &[]).unwrap();
        let slice = b.op(Op::DynamicSlice { sizes: vec![2] }, &[x, scalar]).unwrap();
        let updated = b.op(Op::DynamicUpdateSlice, &[x, update, scalar]).unwrap();
        let dims = GatherDims {
            offset_dims: vec![0],
            start_index_map: vec![0],
            slice_sizes: vec![2],
            ..GatherDims::default()
        };
        let gathered = b.op(Op::Gather(dims), &[x, start_of]).unwrap();
        let program = b.finish(&[("slice", slice), ("updated", updated), ("gathered", gathered)]).unwrap();
        let arguments = [
            Tensor::new(&[6], Data::F32(numbers.clone())),
            Tensor::new(&[2], Data::F32(vec![100.0, 101.0])),
            Tensor::new(&[1], start.clone()),
        ];
        let results = subject::evaluate(&program, &mode, &arguments).unwrap();
        let part = &numbers[expected..expected + 2];
        assert_eq!(results[0].data().to_f32s(), part, "{start:?}");
        assert_eq!(results[2].data().to_f32s(), part, "{start:?}");
        let mut with_update = numbers.clone();
        with_update[expected..expected + 2].copy_from_slice(&[100.0, 101.0]);
        assert_eq!(results[1].data().to_f32s(), with_update, "{start:?}");
    }
}
