use super::*;
use crate::hlo::{lower, parse};
use crate::ir::{Binary, Builder};

#[test]
fn each_instruction_is_a_line() {
    let mut b = Builder::new("head");
    let x = b.parameter("x.1", DType::BF16, &[2, 4]).unwrap();
    let wide = b.convert(x, DType::F32).unwrap();
    let max = b.reduce(Binary::Maximum, wide, f64::NEG_INFINITY, &[1]).unwrap();
    let max = b.rename(max, "max");
    let token = b.argmax(x, 1).unwrap();
    let program = b.finish(&[("max", max), ("token", token)]).unwrap();
    let text = jax_function(&program, "head").unwrap();
    assert!(text.starts_with("def head(x_1):\n    def region_"), "{text}");
    for line in [
        "    constant_2 = lax.full((), float(\"-inf\"), jnp.float32)",
        "    max = lax.reduce(convert_1, constant_2, lambda x, y: lax.max(x, y), (1,))",
        "(before, more):",
    ] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.lines().last().unwrap().starts_with("    return "), "{text}");
}

/// A loop's condition and body are functions of its whole state.
#[test]
fn a_loop_is_a_line() {
    let mut b = Builder::new("doubled");
    let take =
        |b: &mut Builder| [b.parameter("i", DType::S32, &[]).unwrap(), b.parameter("x", DType::F32, &[2]).unwrap()];
    let condition = b.region("condition", |b| {
        let [i, _] = take(b);
        let limit = b.constant(DType::S32, 3.0)?;
        b.compare(crate::ir::Compare::Lt, i, limit)
    });
    let body = b.region("body", |b| {
        let [i, x] = take(b);
        let one = b.constant(DType::S32, 1.0)?;
        let (next, twice) = (b.binary(Binary::Add, i, one)?, b.binary(Binary::Add, x, x)?);
        b.op(Op::Tuple, &[next, twice])
    });
    let op = Op::While { condition: condition.unwrap(), body: body.unwrap() };
    let x = b.parameter("x", DType::F32, &[2]).unwrap();
    let zero = b.constant(DType::S32, 0.0).unwrap();
    let last = b.op(op, &[zero, x]).unwrap();
    let result = b.tuple_element(last, 1).unwrap();
    let text = jax_function(&b.finish(&[("x", result)]).unwrap(), "f").unwrap();
    for line in [
        "    def region_0_of_loop(state):\n        (i, x) = state\n",
        "        return compare_3\n",
        "        tuple_5 = (add_3, add_4)\n        return tuple_5\n",
        "    while_2 = lax.while_loop(region_0_of_loop, region_1_of_loop, (constant_1, x))\n",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn what_has_no_line_is_named() {
    let mut b = Builder::new("least");
    let x = b.parameter("x", DType::F32, &[4]).unwrap();
    let both = b.op(Op::TopK { k: 2, largest: false }, &[x]).unwrap();
    let both = b.rename(both, "least");
    let values = b.op(Op::GetTupleElement(0), &[both]).unwrap();
    let program = b.finish(&[("values", values)]).unwrap();
    assert_eq!(jax_function(&program, "f").unwrap_err().to_string(), "least (topk) has no line in JAX here");
}

/// The function of a program that `lines` make, with the regions that they may name.
fn written(lines: &str) -> Result<String, NoLine> {
    let region = |name: &str, of: &str, root: &str| {
        format!(
            "{name} {{ a = {of}[] parameter(0)\n b = {of}[] parameter(1)\n c = {of}[] parameter(2)\n d = {of}[] parameter(3)\n \
             ROOT r = pred[] {root} }}\n"
        )
    };
    let comparators = [
        region("rising", "f32", "compare(a, b), direction=LT"),
        region("falling", "f32", "compare(a, b), direction=GT"),
        region("by_second", "f32", "compare(c, d), direction=LT"),
        region("by_integers", "s32", "compare(a, b), direction=GT"),
    ];
    let reducers = "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
                    copied { a = f32[] parameter(0)\n b = f32[] parameter(1)\n c = f32[] copy(b)\n ROOT r = f32[] add(a, c) }\n";
    let of_one = |name: &str, of: &str| {
        format!(
            "{name} {{ a = {of}[] parameter(0)\n b = {of}[] parameter(1)\n ROOT r = pred[] compare(a, b), direction=GT }}\n"
        )
    };
    let of_one = of_one("falling_alone", "f32") + &of_one("falling_integers", "s32");
    let text = format!("HloModule m\n{}{of_one}{reducers}ENTRY e {{\n {lines}\n}}\n", comparators.concat());
    jax_function(&lower(&parse(&text).unwrap()).unwrap().program, "f")
}

/// Attributes of one type have unequal values here, so that none stands in the place of another.
#[test]
fn each_attribute_stands_in_its_place() {
    for (lines, line) in [
        (
            "x = f32[2,3,4] parameter(0)\n y = f32[4,6,2] parameter(1)\n ROOT r = f32[2,3,6] dot(x, y), lhs_batch_dims={0}, \
             rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={0}, operand_precision={high,highest}",
            "r = lax.dot_general(x, y, (((2,), (0,)), ((0,), (2,))), (lax.Precision.HIGH, lax.Precision.HIGHEST), jnp.float32)",
        ),
        (
            "x = f32[2,2] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[8,17] pad(x, z), padding=1_2_3x4_5_6",
            "r = lax.pad(x, z, ((1, 2, 3), (4, 5, 6)))",
        ),
        (
            "x = f32[6,5] parameter(0)\n z = f32[] parameter(1)\n ROOT r = f32[6,16] reduce-window(x, z), window={size=2x3 \
             stride=2x1 pad=1_2x3_4 lhs_dilate=2x3 rhs_dilate=3x2}, to_apply=add",
            "r = lax.reduce_window(x, z, lambda x, y: lax.add(x, y), (2, 3), (2, 1), ((1, 2), (3, 4)), (2, 3), (3, 2))",
        ),
        (
            "x = f32[7,8,9] parameter(0)\n i = s32[5,7,1] parameter(1)\n ROOT r = f32[5,7,4] gather(x, i), offset_dims={2}, \
             collapsed_slice_dims={1}, start_index_map={2}, operand_batching_dims={0}, start_indices_batching_dims={1}, \
             index_vector_dim=2, slice_sizes={1,1,4}",
            "r = lax.gather(x, i, lax.GatherDimensionNumbers((2,), (1,), (2,), (0,), (1,)), (1, 1, 4), mode=\"promise_in_bounds\")",
        ),
        (
            "x = f32[8,9] parameter(0)\n i = s32[5] parameter(1)\n ROOT r = f32[5,9] gather(x, i), offset_dims={1}, \
             collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,9}",
            "r = lax.gather(x, lax.reshape(i, (5, 1)), lax.GatherDimensionNumbers((1,), (0,), (0,), (), ()), (1, 9), \
             mode=\"promise_in_bounds\")",
        ),
        (
            "x = f32[6,5] parameter(0)\n ROOT r = f32[2,2] slice(x), slice={[1:5:2], [0:4:3]}",
            "r = lax.slice(x, (1, 0), (5, 4), (2, 3))",
        ),
        (
            "x = f32[6,5] parameter(0)\n i = s32[] parameter(1)\n j = s32[] parameter(2)\n ROOT r = f32[2,3] \
             dynamic-slice(x, i, j), dynamic_slice_sizes={2,3}",
            "r = lax.dynamic_slice(x, (i, j), (2, 3))",
        ),
        (
            "x = f32[6,5] parameter(0)\n u = f32[2,3] parameter(1)\n i = s32[] parameter(2)\n j = s32[] parameter(3)\n \
             ROOT r = f32[6,5] dynamic-update-slice(x, u, i, j)",
            "r = lax.dynamic_update_slice(x, u, (i, j))",
        ),
        (
            "x = f32[6] parameter(0)\n ROOT r = f32[6] reduce-precision(x), exponent_bits=5, mantissa_bits=10",
            "r = lax.reduce_precision(x, 5, 10)",
        ),
        (
            "x = f32[3] parameter(0)\n ROOT r = f32[2,3,4] broadcast(x), dimensions={1}",
            "r = lax.broadcast_in_dim(x, (2, 3, 4), (1,))",
        ),
    ] {
        let text = written(lines).unwrap();
        assert!(text.contains(&format!("    {line}\n")), "{line}\n{text}");
    }
}

/// Sorts of which `lax.sort` has no key, and orders that it does not have, are named to the user.
#[test]
fn sorts_have_a_line_where_lax_orders_alike() {
    let of = |dtype: &str, comparator: &str, stable: bool| {
        written(&format!(
            "x = {dtype}[6] parameter(0)\n y = {dtype}[6] parameter(1)\n s = ({dtype}[6], {dtype}[6]) sort(x, y), \
             dimensions={{0}}, is_stable={stable}, to_apply={comparator}\n ROOT r = {dtype}[6] get-tuple-element(s), index=0"
        ))
    };
    let sorted = "lax.sort((x, y), dimension=0, is_stable=False, num_keys=1)\n";
    assert!(of("f32", "rising", false).unwrap().contains(&format!("s = {sorted}")));
    let falling = of("f32", "falling", true).unwrap();
    assert!(falling.contains("*lax.sort((lax.neg(x), y), dimension=0, is_stable=True, num_keys=1))\n"), "{falling}");
    for (dtype, comparator) in [("f32", "by_second"), ("s32", "by_integers")] {
        assert_eq!(of(dtype, comparator, false).unwrap_err().what, "sort", "{comparator}");
    }
    let one = |dtype: &str, comparator: &str| {
        written(&format!(
            "x = {dtype}[6] parameter(0)\n ROOT r = {dtype}[6] sort(x), dimensions={{0}}, to_apply={comparator}"
        ))
    };
    let text = one("f32", "falling_alone").unwrap();
    assert!(text.contains("lax.neg(lax.sort(lax.neg(x), dimension=0, is_stable=False, num_keys=1))"), "{text}");
    // The negative of the least integer is itself.
    assert_eq!(one("s32", "falling_integers").unwrap_err().what, "sort");
    let total = "x = f32[6] parameter(0)\n y = f32[6] parameter(1)\n ROOT r = pred[6] compare(x, y), direction=LT, type=TOTALORDER";
    assert_eq!(written(total).unwrap_err().what, "compare");
}

/// Parameters stand by their numbers, a region of more than one operation is a function, and no name is a region's.
#[test]
fn names_and_parameters_are_the_functions_own() {
    let sum = |region: &str| {
        written(&format!(
            "y = f32[6] parameter(1)\n z = f32[] parameter(0)\n region_0 = f32[6] negate(y)\n \
             ROOT r = f32[] reduce(region_0, z), dimensions={{0}}, to_apply={region}"
        ))
    };
    let text = sum("add").unwrap();
    assert!(text.starts_with("def f(z, y):\n    _region_0 = lax.neg(y)\n"), "{text}");
    assert!(text.contains("r = lax.reduce(_region_0, z, lambda x, y: lax.add(x, y), (0,))\n"), "{text}");
    let text = sum("copied").unwrap();
    assert!(text.contains("(a, b):\n        c = b\n        r = lax.add(a, c)\n        return r\n"), "{text}");
    assert!(!text.contains("lambda"), "{text}");
}
