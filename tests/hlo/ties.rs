//! Ties for first place, of floats and of integers: which of equal elements is chosen, in what order they stand, and which update is
//! the last.

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::program::ProgramSpec;
use ulpgate::subject;
use ulpgate::tensor::{DType, Data, Tensor};

use crate::worlds::{both, program};

const MODES: [&str; 3] = ["cpu/f32/as-compiled", "v5e/default/as-compiled", "xla-cpu/default/as-compiled"];
const TYPES: [DType; 6] = [DType::F32, DType::BF16, DType::F64, DType::S32, DType::S8, DType::U32];

fn tensor(dtype: DType, values: &[i64]) -> Tensor {
    let data = match dtype.is_float() {
        true => Data::from_f64s(dtype, &values.iter().map(|v| *v as f64).collect::<Vec<_>>()),
        false => Data::from_i64s(dtype, values),
    };
    Tensor::new(&[values.len()], data.unwrap())
}

/// The machines that have the program's types: none of a TPU computes in f64.
fn modes(program: &Program) -> impl Iterator<Item = &'static str> {
    let has_double = program.double.is_some();
    MODES.into_iter().filter(move |mode| !has_double || mode.contains("cpu"))
}

/// The results on every machine, and over the real numbers.
#[track_caller]
fn gives(text: &str, arguments: &[Tensor], expected: &[&[f64]]) {
    let program = program(text);
    for mode in modes(&program) {
        let [machine, truth] = both(mode, &program, arguments);
        assert_eq!(machine, expected, "{mode}\n{text}");
        assert_eq!(truth, expected, "the truth of\n{text}");
    }
}

/// A pair of a value and its index, the better one of two: `direction` says which value is, `on_tie` which index.
fn best(dtype: DType, direction: &str, on_tie: &str, init: &str) -> String {
    format!(
        "HloModule m\nbest {{\n v = {dtype}[] parameter(0)\n i = s32[] parameter(1)\n w = {dtype}[] parameter(2)\n \
         j = s32[] parameter(3)\n better = pred[] compare(v, w), direction={direction}\n \
         equal = pred[] compare(v, w), direction=EQ\n first = pred[] compare(i, j), direction={on_tie}\n \
         tie = pred[] and(equal, first)\n keeps = pred[] or(better, tie)\n a = {dtype}[] select(better, v, w)\n \
         b = s32[] select(keeps, i, j)\n ROOT t = ({dtype}[], s32[]) tuple(a, b)\n}}\n\
         ENTRY e {{\n x = {dtype}[7] parameter(0)\n n = s32[7] iota(), iota_dimension=0\n z = {dtype}[] constant({init})\n \
         k = s32[] constant(0)\n r = ({dtype}[], s32[]) reduce(x, n, z, k), dimensions={{0}}, to_apply=best\n \
         a = {dtype}[] get-tuple-element(r), index=0\n i = s32[] get-tuple-element(r), index=1\n \
         ROOT t = ({dtype}[], s32[]) tuple(a, i)\n}}\n"
    )
}

#[test]
fn the_first_or_last_of_equal_extremes_is_found() {
    for dtype in TYPES {
        let x = tensor(dtype, &[4, 9, 1, 9, 1, 9, 5]);
        gives(&best(dtype, "GT", "LT", "0"), std::slice::from_ref(&x), &[&[9.0], &[1.0]]);
        gives(&best(dtype, "GT", "GT", "0"), std::slice::from_ref(&x), &[&[9.0], &[5.0]]);
        gives(&best(dtype, "LT", "LT", "100"), std::slice::from_ref(&x), &[&[1.0], &[2.0]]);
        gives(&best(dtype, "LT", "GT", "100"), &[x], &[&[1.0], &[4.0]]);
    }
}

#[test]
fn equal_elements_keep_their_order_in_sorts_and_top_k() {
    for dtype in TYPES {
        let x = tensor(dtype, &[4, 9, 1, 9, 1, 9, 5]);
        for (direction, keys, places) in [
            ("GT", [9.0, 9.0, 9.0, 5.0, 4.0, 1.0, 1.0], [1.0, 3.0, 5.0, 6.0, 0.0, 2.0, 4.0]),
            ("LT", [1.0, 1.0, 4.0, 5.0, 9.0, 9.0, 9.0], [2.0, 4.0, 0.0, 6.0, 1.0, 3.0, 5.0]),
        ] {
            let text = format!(
                "HloModule m\nless {{\n v = {dtype}[] parameter(0)\n w = {dtype}[] parameter(1)\n i = s32[] parameter(2)\n \
                 j = s32[] parameter(3)\n ROOT c = pred[] compare(v, w), direction={direction}\n}}\n\
                 ENTRY e {{\n x = {dtype}[7] parameter(0)\n n = s32[7] iota(), iota_dimension=0\n \
                 s = ({dtype}[7], s32[7]) sort(x, n), dimensions={{0}}, is_stable=true, to_apply=less\n \
                 a = {dtype}[7] get-tuple-element(s), index=0\n i = s32[7] get-tuple-element(s), index=1\n \
                 ROOT t = ({dtype}[7], s32[7]) tuple(a, i)\n}}\n"
            );
            gives(&text, std::slice::from_ref(&x), &[&keys, &places]);
        }
        for (largest, keys, places) in [(true, [9.0, 9.0], [1.0, 3.0]), (false, [1.0, 1.0], [2.0, 4.0])] {
            let text = format!(
                "HloModule m\nENTRY e {{\n x = {dtype}[7] parameter(0)\n s = ({dtype}[2], s32[2]) topk(x), k=2, largest={largest}\n \
                 a = {dtype}[2] get-tuple-element(s), index=0\n i = s32[2] get-tuple-element(s), index=1\n \
                 ROOT t = ({dtype}[2], s32[2]) tuple(a, i)\n}}\n"
            );
            gives(&text, std::slice::from_ref(&x), &[&keys, &places]);
        }
    }
}

/// Updates of one element are applied one after the other.
#[test]
fn updates_of_one_element_come_in_their_order() {
    for dtype in TYPES {
        for (region, expected) in [
            ("ROOT r = TYPE[] add(b, b)", [4.0, 16.0, 4.0]),
            // 3 - 1, then 9 - 2, then 8 - 7.
            ("ROOT r = TYPE[] subtract(b, a)", [1.0, 1.0, 1.0]),
            ("ROOT r = TYPE[] maximum(a, b)", [2.0, 9.0, 2.0]),
        ] {
            let region = region.replace("TYPE", &dtype.to_string());
            let text = format!(
                "HloModule m\njoin {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n {region}\n}}\n\
                 ENTRY e {{\n x = {dtype}[3] parameter(0)\n u = {dtype}[5] parameter(1)\n i = s32[5,1] constant({{{{1}}, {{0}}, {{1}}, \
                 {{2}}, {{1}}}})\n ROOT s = {dtype}[3] scatter(x, i, u), update_window_dims={{}}, inserted_window_dims={{0}}, \
                 scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=join\n}}\n"
            );
            let arguments = [tensor(dtype, &[1, 1, 1]), tensor(dtype, &[3, 2, 9, 2, 8])];
            let program = program(&text);
            for mode in modes(&program) {
                let mode = mode.parse().unwrap();
                let got = subject::evaluate(&program, &mode, &arguments).unwrap().swap_remove(0);
                assert_eq!(got.data().to_f64s(), expected, "{text}");
            }
        }
    }
}

/// A window's element stays chosen while the comparison with the next one holds.
#[test]
fn the_first_or_last_of_equal_elements_takes_a_windows_update() {
    for dtype in [DType::F32, DType::S32] {
        for (direction, expected) in [("GE", [0.0, 7.0, 0.0, 5.0, 0.0, 0.0]), ("GT", [0.0, 0.0, 7.0, 0.0, 0.0, 5.0])] {
            let text = format!(
                "HloModule m\nselect {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT c = pred[] compare(a, b), \
                 direction={direction}\n}}\nadd {{\n a = {dtype}[] parameter(0)\n b = {dtype}[] parameter(1)\n ROOT c = {dtype}[] add(a, \
                 b)\n}}\nENTRY e {{\n x = {dtype}[6] parameter(0)\n s = {dtype}[2] parameter(1)\n z = {dtype}[] constant(0)\n \
                 ROOT r = {dtype}[6] select-and-scatter(x, s, z), window={{size=3 stride=3}}, select=select, scatter=add\n}}\n"
            );
            gives(&text, &[tensor(dtype, &[1, 4, 4, 6, 2, 6]), tensor(dtype, &[7, 5])], &[&expected]);
        }
    }
}

/// The values and the places that `approx_max_k` takes of a row.
fn approximate_top(dtype: DType, mode: &str, row: &[i64], k: usize) -> [Vec<f64>; 2] {
    let spec: ProgramSpec = format!("approx_max_k[k={k},dtype={dtype}]").parse().unwrap();
    let x = tensor(dtype, row);
    let x = Tensor::new(&[1, row.len()], x.data().clone());
    let results = subject::evaluate(&spec.build(row.len(), 1).unwrap(), &mode.parse().unwrap(), &[x]).unwrap();
    [0, 1].map(|result| results[result].data().to_f64s())
}

/// In rows that need no bins the best elements are taken in order, equal ones by the lower place; for k = 1 the last of equal ones is
/// (FACTS 5.1, 5.2). `ApproxTopK` takes no integers.
#[test]
fn approximate_top_k_takes_equal_elements_in_their_order() {
    // Forty elements, more than an insertion sort is for: 9 at each fourth place from 1 on, 8 at each fourth from 2 on.
    let row: Vec<i64> = (0..40).map(|at| [3, 9, 8, 1][at % 4]).collect();
    let nines: Vec<f64> = (0..10).map(|at| f64::from(4 * at + 1)).collect();
    let eights: Vec<f64> = (0..10).map(|at| f64::from(4 * at + 2)).collect();
    for dtype in [DType::F32, DType::BF16] {
        for mode in [
            "cpu/f32/as-compiled",
            "v5e/default/as-compiled",
            "tpu7x/default/as-compiled",
            "xla-cpu/default/as-compiled",
        ] {
            for k in [2, 3, 10, 13] {
                let [values, places] = approximate_top(dtype, mode, &row, k);
                assert_eq!(values[..k.min(10)], [9.0; 10][..k.min(10)], "{mode}, {dtype}, k = {k}");
                assert_eq!(places[..k.min(10)], nines[..k.min(10)], "{mode}, {dtype}, k = {k}");
                assert_eq!(places[k.min(10)..], eights[..k.saturating_sub(10)], "{mode}, {dtype}, k = {k}");
            }
            assert_eq!(approximate_top(dtype, mode, &row, 1), [vec![9.0], vec![37.0]], "{mode}, {dtype}");
        }
    }
}

/// The custom call `TopK` takes the values that its comparator puts first, equal ones by the lower place; a comparator that puts
/// neither the largest nor the smallest first is refused by name.
#[test]
fn a_top_k_takes_what_its_comparator_puts_first() {
    let text = |compared: &str| {
        format!(
            "HloModule m\n\nfirst {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] \
             parameter(3)\n{compared}}}\n\nENTRY e {{\n  x = f32[1,5] parameter(0)\n  ROOT t = (f32[1,3], s32[1,3]) custom-call(x), \
             custom_call_target=\"TopK\", called_computations={{first}}\n}}\n"
        )
    };
    let x = Tensor::new(&[1, 5], Data::F32(vec![2.0, -1.0, 7.0, -1.0, 7.0]));
    for (direction, values, places) in
        [("GT", [7.0, 7.0, 2.0], [2.0, 4.0, 0.0]), ("LT", [-1.0, -1.0, 2.0], [1.0, 3.0, 0.0])]
    {
        let program = text(&format!("  ROOT c = pred[] compare(a, b), direction={direction}\n"));
        gives(&program, std::slice::from_ref(&x), &[&values, &places]);
    }
    let square = "  s = f32[] multiply(a, a)\n  ROOT c = pred[] compare(s, b), direction=GT\n";
    let refused = lower(&parse(&text(square)).unwrap()).unwrap_err().to_string();
    assert!(refused.contains("only a comparator that takes the largest or the smallest values first"), "{refused}");
}

/// On a TPU the last of equal elements is a bin's (FACTS 5.3): of bins of two chunks and more no winner is in an even chunk.
#[test]
fn the_last_of_equal_elements_is_its_bins() {
    for mode in ["v5e/default/as-compiled", "v6e/default/as-compiled"] {
        let [values, places] = approximate_top(DType::F32, mode, &[5; 8192], 8);
        assert_eq!(values, [5.0; 8]);
        assert!(places.iter().all(|place| (*place as usize / 128) % 2 == 1), "{mode}: {places:?}");
    }
}

/// A nucleus of numbers of any type: sorted downward, equal ones by the lower place, and kept while the mass before one is below the
/// threshold. 9, 9, 9, 5, 4, 1, 1 have 0, 9, 18, 27, 32, 36, 37 before them.
#[test]
fn a_nucleus_takes_equal_elements_in_their_order_up_to_the_threshold() {
    for dtype in TYPES {
        let x = tensor(dtype, &[4, 9, 1, 9, 1, 9, 5]);
        for (threshold, kept) in [(18, 2), (19, 3), (27, 3), (9, 1), (1, 1), (36, 5), (37, 6)] {
            let text = format!(
                "HloModule m\nmore {{\n v = {dtype}[] parameter(0)\n w = {dtype}[] parameter(1)\n i = s32[] parameter(2)\n \
                 j = s32[] parameter(3)\n ROOT c = pred[] compare(v, w), direction=GT\n}}\n\
                 sum {{\n v = {dtype}[] parameter(0)\n w = {dtype}[] parameter(1)\n ROOT s = {dtype}[] add(v, w)\n}}\n\
                 ENTRY e {{\n x = {dtype}[7] parameter(0)\n n = s32[7] iota(), iota_dimension=0\n \
                 s = ({dtype}[7], s32[7]) sort(x, n), dimensions={{0}}, is_stable=true, to_apply=more\n \
                 p = {dtype}[7] get-tuple-element(s), index=0\n tokens = s32[7] get-tuple-element(s), index=1\n \
                 z = {dtype}[] constant(0)\n mass = {dtype}[7] reduce-window(p, z), window={{size=7 pad=6_0}}, to_apply=sum\n \
                 before = {dtype}[7] subtract(mass, p)\n t = {dtype}[] constant({threshold})\n \
                 ts = {dtype}[7] broadcast(t), dimensions={{}}\n keep = pred[7] compare(before, ts), direction=LT\n \
                 kept = s32[7] convert(keep)\n ROOT r = (s32[7], s32[7]) tuple(tokens, kept)\n}}\n"
            );
            let flags: Vec<f64> = (0..7).map(|at| f64::from(u8::from(at < kept))).collect();
            gives(&text, std::slice::from_ref(&x), &[&[1.0, 3.0, 5.0, 6.0, 0.0, 2.0, 4.0], &flags]);
        }
    }
}

/// The built-in sampler: of four equal logits each has a quarter of the mass, and the third has half of it before it.
#[test]
fn the_nucleus_of_equal_logits_ends_at_the_threshold() {
    for (p, kept) in [("0.5", [1.0, 1.0, 0.0, 0.0]), ("0.75", [1.0, 1.0, 1.0, 0.0]), ("0.25", [1.0, 0.0, 0.0, 0.0])] {
        let program = format!("top_p[dtype=f32,p={p}]").parse::<ProgramSpec>().unwrap().build(4, 1).unwrap();
        let x = Tensor::new(&[1, 4], Data::F32(vec![2.0; 4]));
        for mode in MODES {
            let [machine, truth] = both(mode, &program, std::slice::from_ref(&x));
            for results in [machine, truth] {
                assert_eq!(results, [vec![0.0, 1.0, 2.0, 3.0], kept.to_vec()], "{mode}, p = {p}");
            }
        }
    }
}

/// The largest integers of a row, of which compilers pack an element and its place into one.
#[test]
fn the_largest_packed_integers_come_in_order() {
    let text = "HloModule m, is_scheduled=true\n\nENTRY e {\n  x = s32[2,5] parameter(0)\n  ROOT r = s32[2,3] custom-call(x), \
                custom_call_target=\"TopKBatchMajorSmallK\", operand_layout_constraints={s32[2,5]{1,0}}\n}\n";
    let rows = Tensor::new(&[2, 5], Data::S32(vec![-7, 3, i32::MAX, 3, i32::MIN, 0, -1, -2, -3, -4]));
    let found = both("v5e/default/as-compiled", &program(text), &[rows]);
    let largest = vec![f64::from(i32::MAX), 3.0, 3.0, 0.0, -1.0, -2.0];
    assert_eq!(found, [[largest.clone()], [largest]]);
    for (from, to, says) in [
        ("s32", "f32", "TopKBatchMajorSmallK of f32[2,5] is not supported: it takes the integers that a key packs"),
        ("s32[2,3]", "s32[2,6]", "the largest integers of s32[2,5] are no s32[2,6]"),
    ] {
        let why = lower(&parse(&text.replace(from, to)).unwrap()).unwrap_err().to_string();
        assert!(why.contains(says), "{why}");
    }
}

/// The init of an argmax ties with a row of nothing but its value: the lower index is chosen.
#[test]
fn the_init_of_an_argmax_is_chosen_by_its_index() {
    for (own, index) in [(7, 0.0), (-1, -1.0)] {
        let text = format!(
            "HloModule m\nbetter {{ a = f32[] parameter(0)\n i = s32[] parameter(1)\n b = f32[] parameter(2)\n \
             j = s32[] parameter(3)\n more = pred[] compare(a, b), direction=GT\n nan = pred[] compare(a, a), direction=NE\n \
             g = pred[] or(more, nan)\n tie = pred[] compare(a, b), direction=EQ\n \
             lower = pred[] compare(i, j), direction=LT\n earlier = pred[] and(tie, lower)\n first = pred[] or(earlier, g)\n \
             v = f32[] select(g, a, b)\n k = s32[] select(first, i, j)\n ROOT r = (f32[], s32[]) tuple(v, k) }}\n\
             ENTRY e {{ x = f32[3] parameter(0)\n at = s32[3] iota(), iota_dimension=0\n two = f32[] constant(2)\n \
             init = s32[] constant({own})\n ROOT r = (f32[], s32[]) reduce(x, at, two, init), dimensions={{0}}, to_apply=better }}\n"
        );
        gives(&text, &[tensor(DType::F32, &[2, 2, 2])], &[&[2.0], &[index]]);
    }
}

/// The total order puts -0 before +0, and NaN behind all numbers; today's JAX writes it as `order=TOTAL`, earlier ones by the type.
#[test]
fn the_total_order_has_two_spellings() {
    let x = Tensor::new(&[4], Data::F32(vec![-0.0, 1.0, f32::NAN, 0.0]));
    let y = Tensor::new(&[4], Data::F32(vec![0.0, f32::NAN, 1.0, -0.0]));
    let text = |written: &str| {
        format!(
            "HloModule m\nENTRY e {{\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n ROOT c = pred[4] compare(x, y), \
             direction=LT{written}\n}}\n"
        )
    };
    for (written, expected) in [
        (", order=TOTAL", [1.0, 1.0, 0.0, 0.0]),
        (", type=TOTALORDER", [1.0, 1.0, 0.0, 0.0]),
        (", order=PARTIAL", [0.0; 4]),
        (", type=FLOAT", [0.0; 4]),
        ("", [0.0; 4]),
    ] {
        for mode in MODES {
            let program = program(&text(written));
            let got =
                subject::evaluate(&program, &mode.parse().unwrap(), &[x.clone(), y.clone()]).unwrap().swap_remove(0);
            assert_eq!(got.data().to_f64s(), expected, "{mode}{written}");
        }
    }
    let refused = lower(&parse(&text(", order=SIGNED")).unwrap()).unwrap_err();
    assert_eq!(refused.why, "unknown order `SIGNED`; known are PARTIAL and TOTAL");
}

/// Rows share one row of positions. In f64 each position is a term of its own; positions of any type keep it.
#[test]
fn an_argmax_of_rows_has_the_type_of_its_positions() {
    let types =
        [(DType::F64, "s64"), (DType::F64, "s32"), (DType::F32, "s64"), (DType::F32, "s32"), (DType::BF16, "u32")];
    for (dtype, index) in types {
        for (direction, init, extremes, places) in
            [("GT", "-inf", [3.0, 6.0], [2.0, 0.0]), ("LT", "inf", [1.0, 4.0], [0.0, 1.0])]
        {
            let alone = best(dtype, direction, "LT", init).replace("s32", index);
            // As JAX writes it: a NaN is better than any number.
            let better = format!("better = pred[] compare(v, w), direction={direction}\n");
            let more = better.replacen("better", "more", 1);
            let or_nan = "nan = pred[] compare(v, v), direction=NE\n better = pred[] or(more, nan)\n";
            let jax = alone.replace(&better, &format!("{more} {or_nan}"));
            assert_ne!(jax, alone);
            let (region, _) = jax.split_at(jax.find("ENTRY").unwrap());
            let text = format!(
                "{region}ENTRY e {{\n x = {dtype}[2,3] parameter(0)\n n = {index}[2,3] iota(), iota_dimension=1\n \
                 z = {dtype}[] constant({init})\n k = {index}[] constant(0)\n \
                 ROOT r = ({dtype}[2], {index}[2]) reduce(x, n, z, k), dimensions={{1}}, to_apply=best\n}}\n"
            );
            let x = Tensor::new(&[2, 3], tensor(dtype, &[1, 2, 3, 6, 4, 5]).data().clone());
            gives(&text, std::slice::from_ref(&x), &[&extremes, &places]);
            let program = program(&text);
            for mode in modes(&program) {
                let results = subject::evaluate(&program, &mode.parse().unwrap(), std::slice::from_ref(&x)).unwrap();
                assert_eq!(results[1].dtype().name(), index, "{mode}\n{text}");
            }
        }
    }
}

/// The smallest values as the largest opposites: places and values are those of the row.
#[test]
fn an_approximate_top_k_of_the_smallest_takes_them() {
    let text = |target: &str, config: &str, direction: &str| {
        let init = if direction == "LT" { "inf" } else { "-inf" };
        format!(
            "HloModule m\nfirst {{\n a = f32[] parameter(0)\n b = f32[] parameter(1)\n i = s32[] parameter(2)\n \
             j = s32[] parameter(3)\n ROOT r = pred[] compare(a, b), direction={direction}\n}}\n\
             ENTRY e {{\n x = f32[1,512] parameter(0)\n n = s32[1,512] iota(), iota_dimension=1\n c = f32[] constant({init})\n \
             k = s32[] constant(-1)\n ROOT t = (f32[1,128], s32[1,128]) custom-call(x, n, c, k), custom_call_target=\"{target}\", \
             called_computations={{first}}, backend_config={{{config}}}\n}}\n"
        )
    };
    // Bin `i % 128` has four values, of which the second is the smallest and the third the largest; bins 0 and 1 have
    // ties, of which the last is taken (FACTS 5.3).
    let mut row: Vec<i64> = (0..512).map(|i| [0, -1000, 1000, 7][i / 128] + i as i64 % 128).collect();
    (row[0], row[257]) = (-1000, -999);
    let smallest: Vec<f64> = (0..128).map(|i| f64::from(i - 1000)).collect();
    let places: Vec<f64> = (0..128).map(|i| if i == 1 { 257.0 } else { f64::from(128 + i) }).collect();
    let bins =
        r#""log2_reduction": 2, "reduction_dim": 1, "to_apply_type": "comparator", "top_k": 4, "recall_target": 0.8"#;
    let partial = program(&text("PartialReduce", bins, "LT"));
    let x = Tensor::new(&[1, 512], tensor(DType::F32, &row).data().clone());
    let [machine, _] = both("v5e/default/off", &partial, std::slice::from_ref(&x));
    assert_eq!(machine, [smallest, places]);
    // The same bins, then the best of them in their order.
    let config = r#""top_k": 4, "reduction_dim": 1, "recall_target": 0.8, "aggregate_to_topk": true, "reduction_input_size_override": -1"#;
    let text = text("ApproxTopK", config, "LT").replace("128]", "4]");
    let [machine, _] = both("v5e/default/off", &program(&text), &[x]);
    assert_eq!(machine, [[-1000.0, -999.0, -998.0, -997.0], [128.0, 257.0, 130.0, 131.0]]);
}
