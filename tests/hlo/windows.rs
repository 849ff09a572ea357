//! Windows over several arrays and the gradient of a maximum over windows, against what XLA:CPU of jax 0.10.2 computes.

use ulpgate::hlo::{lower, parse};
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{both, program};

/// 5 rows of 6.
const ARRAY: [f32; 30] = [
    3.0,
    -4.0,
    -3.0,
    -2.0,
    -3.0,
    3.0,
    3.0,
    1.0,
    -4.0,
    -4.0,
    -2.0,
    -1.0,
    1.0,
    0.0,
    -2.0,
    f32::NAN,
    2.0,
    2.0,
    -4.0,
    -3.0,
    0.0,
    -1.0,
    3.0,
    0.0,
    -1.0,
    -1.0,
    1.0,
    1.0,
    -3.0,
    2.0,
];
/// 3 rows of 6.
const SOURCE: [f32; 18] = [7.0, 8.0, 7.0, 3.0, 3.0, 6.0, 6.0, 6.0, 7.0, 3.0, 8.0, 1.0, 1.0, 8.0, 8.0, 3.0, 2.0, 3.0];

const PADDED: &str = "size=3x2 stride=2x1 pad=1_1x0_1";

fn select_and_scatter(direction: &str, window: &str, source: [usize; 2]) -> String {
    let [rows, columns] = source;
    format!(
        "HloModule m\n\nselect {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = pred[] compare(a, b), \
         direction={direction}\n}}\n\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, \
         b)\n}}\n\nENTRY e {{\n  x = f32[5,6] parameter(0)\n  s = f32[{rows},{columns}] parameter(1)\n  i = f32[] \
         constant(100)\n  ROOT r = f32[5,6] select-and-scatter(x, s, i), window={{{window}}}, select=select, scatter=add\n}}\n"
    )
}

/// The array, with a number where it has none.
fn ordered() -> Vec<f32> {
    ARRAY.iter().map(|x| if x.is_nan() { -0.5 } else { *x }).collect()
}

/// The number of most elements, and the positions and numbers of the others.
fn but_for(others: &[(usize, f64)]) -> Vec<f64> {
    let mut all = vec![100.0; ARRAY.len()];
    others.iter().for_each(|(at, number)| all[*at] = *number);
    all
}

#[track_caller]
fn scattered(text: &str, array: &[f32], source: [usize; 2], numbers: &[f32], expected: &[(usize, f64)]) {
    let arguments =
        [Tensor::new(&[5, 6], Data::F32(array.to_vec())), Tensor::new(&source, Data::F32(numbers.to_vec()))];
    for results in both("xla-cpu/default/as-compiled", &program(text), &arguments) {
        assert_eq!(results, [but_for(expected)], "{text}");
    }
}

#[test]
fn the_element_that_a_window_prefers_takes_its_number() {
    // Windows overlap, three sides are padded; ties go to the first under GE, to the last under LT.
    let text = |direction: &str| select_and_scatter(direction, PADDED, [3, 6]);
    let largest = [
        (0, 107.0),
        (3, 110.0),
        (5, 109.0),
        (6, 106.0),
        (7, 114.0),
        (17, 101.0),
        (20, 107.0),
        (22, 116.0),
        (24, 101.0),
        (26, 116.0),
        (29, 103.0),
    ];
    scattered(&text("GE"), &ordered(), [3, 6], &SOURCE, &largest);
    let smallest = [
        (1, 107.0),
        (4, 103.0),
        (8, 114.0),
        (9, 120.0),
        (10, 108.0),
        (11, 107.0),
        (18, 107.0),
        (19, 108.0),
        (21, 108.0),
        (23, 103.0),
        (28, 105.0),
    ];
    scattered(&text("LT"), &ordered(), [3, 6], &SOURCE, &smallest);
    // A comparison with NaN is false: NaN is taken, and then what comes behind it.
    let text = select_and_scatter("GE", "size=3x2 stride=2x2", [2, 3]);
    let behind = [(0, 107.0), (5, 107.0), (12, 106.0), (15, 108.0), (22, 107.0), (26, 106.0)];
    scattered(&text, &ARRAY, [2, 3], &[7.0, 8.0, 7.0, 6.0, 6.0, 7.0], &behind);
}

#[test]
fn a_region_that_is_no_comparison_of_both_is_refused() {
    for region in ["compare(b, a), direction=GE", "compare(a, a), direction=GE"] {
        let text = select_and_scatter("GE", PADDED, [3, 6]).replacen("compare(a, b), direction=GE", region, 1);
        let why = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(why.contains("of `select` regions comparisons of both parameters are supported"), "{why}");
    }
    for (window, why) in [
        ("size=3x2 stride=1x1 pad=1_1x0_1", "the window has other places than f32[3,6]"),
        ("size=9x2", "the window has no place in f32[5,6]"),
        ("size=3x2x1", "with a size for each dim of f32[5,6]"),
        ("size=65x64 pad=64_64x64_64", "a window of 4096 elements at most"),
    ] {
        let text = select_and_scatter("GE", window, [3, 6]);
        let error = lower(&parse(&text).unwrap()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn several_arrays_are_reduced_together_in_each_window() {
    let text = "HloModule m\n\nargmax {\n  v = f32[] parameter(0)\n  i = s32[] parameter(1)\n  w = f32[] parameter(2)\n  \
                j = s32[] parameter(3)\n  gt = pred[] compare(v, w), direction=GT\n  eq = pred[] compare(v, w), direction=EQ\n  \
                lt = pred[] compare(i, j), direction=LT\n  and = pred[] and(eq, lt)\n  or = pred[] or(gt, and)\n  \
                value = f32[] select(or, v, w)\n  index = s32[] select(or, i, j)\n  ROOT t = (f32[], s32[]) tuple(value, \
                index)\n}\n\nENTRY e {\n  x = f32[5,6] parameter(0)\n  i = s32[5,6] parameter(1)\n  low = f32[] \
                constant(-inf)\n  none = s32[] constant(-1)\n  ROOT r = (f32[4,3], s32[4,3]) reduce-window(x, i, low, none), \
                window={size=2x3 stride=1x2 pad=0_1x1_0 rhs_dilate=2x1}, to_apply=argmax\n}\n";
    let indices: Vec<i64> = (0..30).collect();
    let arguments = [
        Tensor::new(&[5, 6], Data::F32(ordered())),
        Tensor::new(&[5, 6], Data::from_i64s(DType::S32, &indices).unwrap()),
    ];
    let values = vec![3.0, 0.0, 3.0, 3.0, 1.0, 3.0, 1.0, 1.0, 2.0, -3.0, 0.0, 3.0];
    let places = vec![0.0, 13.0, 5.0, 6.0, 7.0, 22.0, 12.0, 26.0, 16.0, 19.0, 20.0, 22.0];
    for results in both("xla-cpu/default/as-compiled", &program(text), &arguments) {
        assert_eq!(results, [values.clone(), places.clone()]);
    }
}
