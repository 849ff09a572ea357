use super::*;
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
