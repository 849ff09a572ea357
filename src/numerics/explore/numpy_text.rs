//! Arrays as expressions in Python.

use crate::tensor::{DType, Tensor};

/// An array as an expression of NumPy, exactly; `None` for a type that NumPy and `jax.numpy` do not have.
pub fn numpy_array(tensor: &Tensor) -> Option<String> {
    let dtype = dtype(tensor.dtype())?;
    let values: Vec<String> = (0..tensor.len()).map(|at| number(tensor, at)).collect();
    let dims: Vec<String> = tensor.dims().iter().map(usize::to_string).collect();
    Some(match tensor.dims() {
        [] => format!("np.array({}, {dtype})", values.join("")),
        [_] => format!("np.array([{}], {dtype})", values.join(", ")),
        _ => format!("np.array([{}], {dtype}).reshape({})", values.join(", "), dims.join(", ")),
    })
}

/// The name in `jax.numpy`.
pub(super) fn dtype(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::Pred => "jnp.bool_",
        DType::S8 => "jnp.int8",
        DType::S16 => "jnp.int16",
        DType::S32 => "jnp.int32",
        DType::S64 => "jnp.int64",
        DType::U8 => "jnp.uint8",
        DType::U16 => "jnp.uint16",
        DType::U32 => "jnp.uint32",
        DType::U64 => "jnp.uint64",
        DType::F8E4M3FN => "jnp.float8_e4m3fn",
        DType::F8E5M2 => "jnp.float8_e5m2",
        DType::F16 => "jnp.float16",
        DType::BF16 => "jnp.bfloat16",
        DType::F32 => "jnp.float32",
        DType::F64 => "jnp.float64",
        _ => return None,
    })
}

/// An element in Python: the shortest decimal that gives an f64 back.
pub(super) fn number(tensor: &Tensor, at: usize) -> String {
    let data = tensor.data();
    match tensor.dtype() {
        DType::Pred => if data.get_i64(at) != 0 { "True" } else { "False" }.to_string(),
        DType::U64 => data.bits(at).to_string(),
        dtype if dtype.is_float() => match data.get_f64(at) {
            value if value.is_finite() => format!("{value:?}"),
            value => format!("float(\"{value}\")"),
        },
        _ => data.get_i64(at).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_exact() {
        let tensor = Tensor::new(&[2, 2], crate::tensor::Data::F32(vec![0.1, -0.0, f32::INFINITY, 1e-40]));
        let text = numpy_array(&tensor).unwrap();
        assert!(text.starts_with("np.array([0.10000000149011612, -0.0, float(\"inf\"), 9.99"), "{text}");
        assert!(text.ends_with("], jnp.float32).reshape(2, 2)"), "{text}");
    }

    #[test]
    fn types_have_the_names_of_numpy() {
        for dtype in crate::tensor::DTYPES.iter().copied() {
            let expected = match dtype.name() {
                "pred" => "jnp.bool_".to_string(),
                "bf16" => "jnp.bfloat16".to_string(),
                "f8e4m3fn" | "f8e5m2" => format!("jnp.float8_{}", &dtype.name()[2..]),
                name if dtype.is_float() => format!("jnp.float{}", &name[1..]),
                name if dtype.is_signed() => format!("jnp.int{}", &name[1..]),
                name => format!("jnp.uint{}", &name[1..]),
            };
            assert!(super::dtype(dtype).is_none_or(|name| name == expected), "{dtype}");
        }
        assert_eq!(super::dtype(DType::F8E5M2), Some("jnp.float8_e5m2"));
    }

    #[test]
    fn the_largest_integer_is_positive() {
        let tensor = Tensor::new(&[2], crate::tensor::Data::from_i64s(DType::U64, &[-1, 3]).unwrap());
        assert_eq!(numpy_array(&tensor).unwrap(), "np.array([18446744073709551615, 3], jnp.uint64)");
    }
}
