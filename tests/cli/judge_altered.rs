//! Honest recordings that are altered by one fault each: the verdict, and the pattern that is named.

use ulpgate::file::npz;
use ulpgate::hlo::{lower_with_libraries, parse};
use ulpgate::judge::{JudgedResult, Recording, Settings, Verdict, bind, judge};
use ulpgate::num::{BF16, Direction, F16, round_f64};
use ulpgate::subject::evaluate;
use ulpgate::tensor::{Data, Tensor};

use super::judge::file;

/// A recorded result of `tests/data/judge` with changes, judged.
fn changed(program: &str, array: &str, change: impl FnOnce(&mut [f32])) -> JudgedResult {
    let text = std::fs::read_to_string(file(&format!("{program}.hlo"))).unwrap();
    let import = lower_with_libraries(&parse(&text).unwrap()).unwrap();
    let inputs = Recording::open(&file(&format!("{program}.inputs.npz"))).unwrap();
    let arguments = bind(&import.program, &import.argument_names, std::slice::from_ref(&inputs)).unwrap();
    let results = npz::read(&file(&format!("{program}.results.npz"))).unwrap();
    let (_, recorded) = results.into_iter().find(|(name, _)| name == array).unwrap();
    let mut values = recorded.data().to_f32s();
    change(&mut values);
    let tensor = Tensor::new(recorded.dims(), Data::F32(values));
    let recording = Recording::of_arrays(vec![("out0".to_string(), tensor)]);
    judge(&import.program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0)
}

/// Numbers that are not finite where every mode's are: no accuracy of the other elements makes up for them.
#[test]
fn values_that_are_not_finite_are_a_fault() {
    for value in [f32::NAN, f32::INFINITY] {
        for array in ["h_blas", "h_one"] {
            let found = changed("matmul_f32", array, |values| values[37] = value);
            let first = found.pattern.first().unwrap_or_else(|| panic!("{array} {value}: {found:?}"));
            assert_eq!((found.verdict, first.kind, &first.places[..]), (Verdict::Outside, "element", &[37][..]));
        }
    }
    let columns = |values: &[f32]| values.len() / 8;
    let found = changed("matmul_f32", "h_seq", |values| {
        let width = columns(values);
        values[2 * width..3 * width].fill(f32::NAN);
    });
    let first = &found.pattern[0];
    assert_eq!((found.verdict, first.kind, &first.places[..]), (Verdict::Outside, "rows", &[2][..]), "{found:?}");
}

/// A factor of half the terms, within what one pass errs, shows as a factor of all elements too: the terms are named.
#[test]
fn a_factor_of_some_terms_is_none_of_all() {
    let inputs = npz::read(&file("matmul_f32.inputs.npz")).unwrap();
    let [x, y] = [0, 1].map(|at| inputs[at].1.data().to_f64s());
    let sum = |at: usize| {
        let product = |k: usize| x[at / 16 * 64 + k] * y[k * 16 + at % 16] * if k < 32 { 1.002 } else { 1.0 };
        (0..64).fold(0f32, |sum, k| (f64::from(sum) + product(k)) as f32)
    };
    let found = changed("matmul_f32", "h_blas", |values| (0..values.len()).for_each(|at| values[at] = sum(at)));
    let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.verdict, first.kind), (Verdict::Outside, "scaled"), "{found:?}");
    assert!(first.says.contains("terms 0 to 31 of the 64 of dot_general.1 have a factor of 1.002"), "{}", first.says);
}

/// Rows that are right are none of those where the difference is.
#[test]
fn rows_without_a_difference_are_not_counted() {
    let found = changed("matmul_f32", "h_blas", |values| {
        (16..values.len()).for_each(|at| values[at] += ((at * 7919 % 101) as f32 - 50.0) / 16.0);
    });
    let place = found.pattern.last().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((place.kind, place.says.as_str()), ("everywhere", "7 of 8 rows and 16 columns"));
}

/// Rows are named where all that stands out is theirs, not where they are only the worst of many.
#[test]
fn the_worst_rows_of_a_result_that_is_wrong_everywhere_are_not_the_fault() {
    let found = changed("matmul_f32", "h_blas", |values| {
        let width = values.len() / 8;
        for (at, value) in values.iter_mut().enumerate() {
            let share = if at / width == 2 { 0.9 } else { 0.01 };
            *value *= 1.0 + share * [1.0, -1.0, 0.5][at * 7 % 5 % 3];
        }
    });
    let last = found.pattern.last().unwrap();
    assert_eq!((found.verdict, last.kind), (Verdict::Outside, "everywhere"), "{found:?}");
}

/// Rows that are far away decide no mode: one pass is that of the others, although a more accurate mode is a hair nearer to all.
#[test]
fn rows_of_a_factor_are_named_beside_the_mode_of_the_others() {
    for row in 0..8 {
        let found = changed("matmul_f32", "h_one", |values| {
            let width = values.len() / 8;
            values[row * width..(row + 1) * width].iter_mut().for_each(|value| *value *= 0.5);
        });
        let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!((found.verdict, &first.places[..]), (Verdict::Outside, &[row][..]), "{found:?}");
        assert!(found.nearest.unwrap().mode.contains("/default/"));
    }
}

/// Each matrix of a batch is transposed.
#[test]
fn a_batch_of_transposed_results_is_named() {
    let text = "HloModule batch\nENTRY main { a = f32[3,6,8] parameter(0) b = f32[3,8,6] parameter(1) \
        ROOT z = f32[3,6,6] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, \
        rhs_contracting_dims={1} }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let drawn = |step: usize| (0..144).map(|at| (at * step % 1009) as f32 / 503.0 - 0.9).collect::<Vec<f32>>();
    let arguments = [Tensor::new(&[3, 6, 8], Data::F32(drawn(7919))), Tensor::new(&[3, 8, 6], Data::F32(drawn(1543)))];
    let values = evaluate(&import.program, &"v5e/highest/off".parse().unwrap(), &arguments).unwrap().remove(0);
    let places: Vec<usize> = (0..108).map(|at| at / 36 * 36 + at % 6 * 6 + at % 36 / 6).collect();
    let recording = Recording::of_arrays(vec![("out0".to_string(), values.pick(&[3, 6, 6], &places))]);
    let found = judge(&import.program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0);
    assert_eq!((found.verdict, found.pattern[0].kind), (Verdict::Outside, "transposed"), "{found:?}");
}

/// A result in f32 all of whose numbers are those of bf16.
#[test]
fn a_result_that_was_rounded_to_a_narrower_type_is_named() {
    for format in [&BF16, &F16] {
        let found = changed("layer_norm_f32", "h_np", |values| {
            values
                .iter_mut()
                .for_each(|value| *value = round_f64(format, (*value).into(), Direction::NearestEven) as f32);
        });
        let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!((found.verdict, first.kind), (Verdict::Outside, "rounded"), "{found:?}");
        let says = format!("all numbers are those of {}", format.name);
        assert!(first.says.starts_with(&says), "{}", first.says);
    }
}

/// Terms that a divisor leaves out give each row a factor of its own: they are the simpler fault.
#[test]
fn terms_that_a_divisor_leaves_out_are_named() {
    let inputs = npz::read(&file("softmax_bf16.inputs.npz")).unwrap();
    let x = inputs[0].1.data().to_f64s();
    let found = changed("softmax_bf16", "h_f64", |values| {
        for (row, values) in x.chunks(256).zip(values.chunks_mut(256)) {
            let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let terms: Vec<f64> = row.iter().map(|x| (x - largest).exp()).collect();
            let sum: f64 = terms[..230].iter().sum();
            let rounded = |x: f64| round_f64(&BF16, x, Direction::NearestEven) as f32;
            values.iter_mut().zip(&terms).for_each(|(value, term)| *value = rounded(term / sum));
        }
    });
    let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.verdict, first.kind), (Verdict::Outside, "dropped"), "{found:?}");
    assert!(first.says.contains("230 to 255"), "{}", first.says);
}

/// A sampler's token is the first place whose running sum passes a drawn number: an argmax over predicates.
#[test]
fn the_first_true_of_predicates_is_a_token() {
    let text = "HloModule first\n\
        pick { a = pred[] parameter(0) b = pred[] parameter(2) gt = pred[] compare(a, b), direction=GT \
        value = pred[] select(gt, a, b) eq = pred[] compare(a, b), direction=EQ i = s32[] parameter(1) \
        j = s32[] parameter(3) lt = pred[] compare(i, j), direction=LT both = pred[] and(eq, lt) \
        first = pred[] or(gt, both) at = s32[] select(first, i, j) ROOT t = (pred[], s32[]) tuple(value, at) }\n\
        ENTRY main { x = f32[2,4] parameter(0) u = f32[2] parameter(1) v = f32[2,4] broadcast(u), dimensions={0} \
        two = f32[] constant(2) twice = f32[2,4] broadcast(two), dimensions={} y = f32[2,4] multiply(x, twice) \
        passes = pred[2,4] compare(y, v), direction=GT places = s32[2,4] iota(), iota_dimension=1 \
        no = pred[] constant(false) zero = s32[] constant(0) \
        best = (pred[2], s32[2]) reduce(passes, places, no, zero), dimensions={1}, to_apply=pick \
        ROOT at = s32[2] get-tuple-element(best), index=1 }";
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let x = vec![0.1, 0.3, 0.6, 1.0, 0.2, 0.4, 0.7, 1.0];
    let arguments = [Tensor::new(&[2, 4], Data::F32(x)), Tensor::new(&[2], Data::F32(vec![1.0, 0.5]))];
    let of = |tokens: [i32; 2]| {
        let recording = Recording::of_arrays(vec![("out0".to_string(), Tensor::new(&[2], Data::S32(tokens.to_vec())))]);
        judge(&import.program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0)
    };
    assert_eq!(of([2, 1]).verdict, Verdict::Bits);
    for tokens in [[3, 1], [2, 0], [1, 1]] {
        let found = of(tokens);
        assert_eq!((found.verdict, found.outside.elements), (Verdict::Outside, 1), "{found:?}");
    }
}

/// Numbers that stay at a largest and a least one, as of a narrow type or a clamp.
#[test]
fn ends_at_which_a_result_stays_are_named() {
    let found =
        changed("matmul_f32", "h_blas", |values| values.iter_mut().for_each(|value| *value = value.clamp(-6.0, 6.0)));
    let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.verdict, first.kind), (Verdict::Outside, "saturated"), "{found:?}");
    assert!(first.says.contains("stays at -6e0 and at 6e0"), "{}", first.says);
    let found = changed("matmul_f32", "h_blas", |values| values.iter_mut().for_each(|value| *value = value.max(0.0)));
    assert!(found.pattern[0].says.contains("stays at 0e0 where it should be less"), "{found:?}");
}

/// A result without its signs.
#[test]
fn a_lost_sign_is_named() {
    let found = changed("matmul_f32", "h_blas", |values| values.iter_mut().for_each(|value| *value = value.abs()));
    assert_eq!((found.verdict, found.pattern[0].kind), (Verdict::Outside, "left-out"), "{found:?}");
    assert!(found.pattern[0].says.contains("absolute values"), "{found:?}");
}

/// Exact sums are near to every order: an honest order is held to orders that round.
#[test]
fn an_order_of_sums_errs_as_orders_of_sums_do() {
    let found = changed("matmul_f32", "h_seq", |values| {
        let inputs = npz::read(&file("matmul_f32.inputs.npz")).unwrap();
        let [x, y] = [0, 1].map(|at| inputs[at].1.data().to_f32s());
        let term = |at: usize, k: usize| x[at / 16 * 64 + k] * y[k * 16 + at % 16];
        let lane = |at: usize, lane: usize| (0..16).fold(0f32, |sum, k| sum + term(at, k * 4 + lane));
        values.iter_mut().enumerate().for_each(|(at, value)| *value = (0..4).fold(0f32, |sum, of| sum + lane(at, of)));
    });
    assert_eq!(found.verdict, Verdict::Conforming, "{found:?}");
    assert!(found.ratio.is_some_and(|ratio| (0.4..2.5).contains(&ratio)), "{found:?}");
}

/// Places have an index of the result's own dims: of one element, of rows, and of columns.
#[test]
fn places_are_told_by_their_dims() {
    let text = "HloModule sum\nENTRY main { x = f32[3,4,5] parameter(0) y = f32[3,4,5] parameter(1) ROOT z = f32[3,4,5] add(x, y) }";
    let program = lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    let drawn =
        |salt: usize| -> Vec<f32> { (0..60).map(|at| ((at + salt) * 7919 % 1009) as f32 / 503.0 - 0.9).collect() };
    let (x, y) = (drawn(1), drawn(5));
    let arguments = [&x, &y].map(|values| Tensor::new(&[3, 4, 5], Data::F32(values.clone())));
    let judged = |is_wrong: &dyn Fn(usize) -> bool| {
        let value = |at: usize| x[at] + y[at] + if is_wrong(at) { 3.0 + (at * at % 7) as f32 } else { 0.0 };
        let values = Tensor::new(&[3, 4, 5], Data::F32((0..60).map(value).collect()));
        let recording = Recording::of_arrays(vec![("out0".to_string(), values)]);
        judge(&program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0)
    };
    for (is_wrong, told) in [
        (&|at| at == 33, "where: one element alone, [1,2,3]: "),
        (&|at| at / 5 == 7, "where: 1 of 12 rows: [1,3,:]"),
        (&|at| at % 5 == 2, "where: 1 of 5 columns: [:,:,2]"),
        (&|at| [12, 33].contains(&at), "where: 2 of 60 elements stand out: [0,2,2], [1,2,3]"),
    ] as [(&dyn Fn(usize) -> bool, &str); 4]
    {
        let found = judged(is_wrong);
        let lines = found.lines().join("\n");
        assert!(lines.contains(told), "{told}: {lines}");
        assert!(found.pattern.iter().all(|pattern| serde_json::to_value(pattern).unwrap()["is_place"] == true));
    }
}

/// A mask that hides nothing is called that, and no step that is left out.
#[test]
fn a_mask_that_hides_nothing_is_named_as_such() {
    let text = "HloModule masked\n\
        ENTRY main { x = f32[8,8] parameter(0) rows = s32[8,8] iota(), iota_dimension=0 \
        columns = s32[8,8] iota(), iota_dimension=1 shown = pred[8,8] compare(columns, rows), direction=LE \
        low = f32[] constant(-1e30) fill = f32[8,8] broadcast(low), dimensions={} \
        s = f32[8,8] select(shown, x, fill) e = f32[8,8] exponential(s) \
        one = f32[] constant(1) ones = f32[8,8] broadcast(one), dimensions={} ROOT r = f32[8,8] add(e, ones) }";
    let import = |text: &str| lower_with_libraries(&parse(text).unwrap()).unwrap();
    let (program, unmasked) = (import(text), import(&text.replace("compare(columns, rows)", "compare(rows, rows)")));
    let x: Vec<f32> = (0..64u16).map(|at| f32::from(at * 37 % 64) / 16.0 - 2.0).collect();
    let arguments = [Tensor::new(&[8, 8], Data::F32(x))];
    let values = evaluate(&unmasked.program, &"v5e/highest/off".parse().unwrap(), &arguments).unwrap().remove(0);
    let recording = Recording::of_arrays(vec![("out0".to_string(), values)]);
    let found = judge(&program.program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0);
    let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((found.verdict, first.kind), (Verdict::Outside, "mask"), "{found:?}");
    assert!(first.says.contains("hides nothing"), "{found:?}");
}

/// A scale of scores in front of a softmax, far from linear: the factor is what it is. A constant is named first.
#[test]
fn a_scale_in_front_of_a_softmax_is_told_with_its_own_factor() {
    let text = "HloModule attention\n\
        max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] maximum(a, b) }\n\
        add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }\n\
        ENTRY main { q = f32[16,32] parameter(0) k = f32[16,32] parameter(1) v = f32[16,32] parameter(2) \
        q2 = f32[16,32] tanh(q) k2 = f32[16,32] tanh(k) \
        s = f32[16,16] dot(q2, k2), lhs_contracting_dims={1}, rhs_contracting_dims={1} \
        c = f32[] constant(SCALE) b = f32[16,16] broadcast(c), dimensions={} t = f32[16,16] multiply(s, b) \
        low = f32[] constant(-inf) m = f32[16] reduce(t, low), dimensions={1}, to_apply=max \
        mb = f32[16,16] broadcast(m), dimensions={0} d = f32[16,16] subtract(t, mb) e = f32[16,16] exponential(d) \
        zero = f32[] constant(0) z = f32[16] reduce(e, zero), dimensions={1}, to_apply=add \
        zb = f32[16,16] broadcast(z), dimensions={0} p = f32[16,16] divide(e, zb) \
        ROOT o = f32[16,32] dot(p, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    let import = |text: &str| lower_with_libraries(&parse(text).unwrap()).unwrap().program;
    let scaled = |scale: &str| import(&text.replace("SCALE", scale));
    let scale = "c = f32[] constant(SCALE) b = f32[16,16] broadcast(c), dimensions={} t = f32[16,16] multiply(s, b) ";
    let unscaled =
        import(&text.replace(scale, "").replace("reduce(t,", "reduce(s,").replace("subtract(t,", "subtract(s,"));
    let drawn = |step: usize| (0..512).map(|at| (at * step % 1009) as f32 / 503.0 - 1.0).collect::<Vec<f32>>();
    let arguments = [7919, 1543, 3331].map(|step| Tensor::new(&[16, 32], Data::F32(drawn(step))));
    let mode = "v5e/highest/off".parse().unwrap();
    for (program, scale, kind, says) in [
        (&unscaled, "0.25", "scaled", "all 32 terms of s have a factor of 0.2500, as of another scale"),
        (&scaled("1"), "0.0625", "constant", "the constant 1.00000e0 of t is about 6.2"),
    ] {
        let values = evaluate(&scaled(scale), &mode, &arguments).unwrap().remove(0);
        let recording = Recording::of_arrays(vec![("out0".to_string(), values)]);
        let found = judge(program, &arguments, &recording, &Settings::default()).unwrap().results.remove(0);
        let first = found.pattern.first().unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!((found.verdict, first.kind), (Verdict::Outside, kind), "{found:?}");
        assert!(first.says.starts_with(says), "{}", first.says);
    }
}

/// A result of a program of one result, whose arguments are drawn: what a mode gives, changed, and judged.
fn recorded(text: &str, scales: &[f32], modes: [&str; 2], change: impl Fn(usize, [f32; 2]) -> f32) -> JudgedResult {
    let import = lower_with_libraries(&parse(text).unwrap()).unwrap();
    let shapes = import.program.entry().parameter_shapes();
    let drawn = |(number, dims): (usize, &[usize])| {
        let number_at = |at: usize| (at * [7919, 1543, 3571][number] % 1009) as f32 / 503.0 - 0.9;
        let numbers = (0..dims.iter().product()).map(|at| scales[number] * number_at(at)).collect();
        Tensor::new(dims, Data::F32(numbers))
    };
    let arguments: Vec<Tensor> = shapes.iter().map(|shape| shape.dims()).enumerate().map(drawn).collect();
    let of = |mode: &str| evaluate(&import.program, &mode.parse().unwrap(), &arguments).unwrap().remove(0);
    let results = modes.map(of);
    let [one, other] = [0, 1].map(|at: usize| results[at].data().to_f32s());
    let numbers = (0..one.len()).map(|at| change(at, [one[at], other[at]])).collect();
    let recording = vec![("out0".to_string(), Tensor::new(results[0].dims(), Data::F32(numbers)))];
    judge(&import.program, &arguments, &Recording::of_arrays(recording), &Settings::default())
        .unwrap()
        .results
        .remove(0)
}

/// Errors of four elements, less than one pass has: a factor of some term explains most of them, and is no fault.
#[test]
fn a_factor_of_some_terms_explains_no_few_elements() {
    let text = "HloModule few\nadd { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] add(p, q) }\n\
                max { p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] maximum(p, q) }\n\
                ENTRY main { a = f32[2,64] parameter(0)\n k = f32[64,32] parameter(1)\n v = f32[32,2] parameter(2)\n \
                s = f32[2,32] dot(a, k), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n low = f32[] constant(-inf)\n \
                zero = f32[] constant(0)\n m = f32[2] reduce(s, low), dimensions={1}, to_apply=max\n \
                mb = f32[2,32] broadcast(m), dimensions={0}\n d = f32[2,32] subtract(s, mb)\n e = f32[2,32] exponential(d)\n \
                t = f32[2] reduce(e, zero), dimensions={1}, to_apply=add\n tb = f32[2,32] broadcast(t), dimensions={0}\n \
                w = f32[2,32] divide(e, tb)\n ROOT z = f32[2,2] dot(w, v), lhs_contracting_dims={1}, rhs_contracting_dims={0} }";
    let modes = ["v5e/highest/off", "v5e/default/off"];
    let size = std::cell::Cell::new(0f32);
    recorded(text, &[0.1, 1.0, 1.0], modes, |_, [accurate, one_pass]| {
        size.set(size.get() + (one_pass - accurate).powi(2) / 4.0);
        accurate
    });
    let size = size.get().sqrt();
    assert!(size > 1e-5, "{size}");
    for errors in [[-0.37, -0.36, 0.21, -0.71], [0.8, -0.3, 0.23, -0.17], [-0.44, 0.09, -0.75, -0.21]] {
        let found = recorded(text, &[0.1, 1.0, 1.0], modes, |at, [accurate, _]| accurate + size * errors[at]);
        assert_eq!(found.verdict, Verdict::Conforming, "{found:?}");
        assert!(found.because[0].starts_with("they err no more than a permitted mode"), "{found:?}");
    }
}

/// The running mean is that of one array: a covariance has none, whose variance would excuse anything.
#[test]
fn a_covariance_is_no_variance_by_the_running_mean() {
    let text = |other: &str| {
        format!(
            "HloModule cov\nadd {{ p = f32[] parameter(0)\n q = f32[] parameter(1)\n ROOT r = f32[] add(p, q) }}\n\
             ENTRY main {{ x = f32[16,64] parameter(0)\n y = f32[16,64] parameter(1)\n zero = f32[] constant(0)\n \
             n = f32[] constant(64)\n nb = f32[16] broadcast(n), dimensions={{}}\n \
             sx = f32[16] reduce(x, zero), dimensions={{1}}, to_apply=add\n mx = f32[16] divide(sx, nb)\n \
             bx = f32[16,64] broadcast(mx), dimensions={{0}}\n dx = f32[16,64] subtract(x, bx)\n \
             sy = f32[16] reduce(y, zero), dimensions={{1}}, to_apply=add\n my = f32[16] divide(sy, nb)\n \
             by = f32[16,64] broadcast(my), dimensions={{0}}\n dy = f32[16,64] subtract(y, by)\n \
             p = f32[16,64] multiply(dx, {other})\n s = f32[16] reduce(p, zero), dimensions={{1}}, to_apply=add\n \
             ROOT z = f32[16] divide(s, nb) }}"
        )
    };
    for other in ["dx", "dy"] {
        let found = recorded(&text(other), &[1.0, 1.0], ["v5e/highest/off"; 2], |_, [value, _]| 1.3 * value);
        assert_eq!((found.verdict, found.pattern[0].kind), (Verdict::Outside, "factor"), "{found:?}");
    }
}
