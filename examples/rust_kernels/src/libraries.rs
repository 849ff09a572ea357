//! Kernels of other crates as functions of a program's arguments, each as its documentation calls it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use candle_core::{D, Device, Tensor as Candle, WithDType};
use half::{bf16, f16};
use ndarray::{Array2, ArrayView2, Axis};
use num_traits::Float;
use ulpgate::subject::{Call, Failure};
use ulpgate::tensor::{DType, Data, Tensor};

/// A kernel: the results of a program for its arguments.
pub type Kernel = fn(&Call) -> Result<Vec<Tensor>, Failure>;

/// The kernels of one library, one an operation that it has.
pub struct Library {
    pub name: &'static str,
    pub matmul: Option<Kernel>,
    pub softmax: Option<Kernel>,
    pub argmax: Option<Kernel>,
    pub top_k: Option<Kernel>,
}

const NONE: Library = Library { name: "", matmul: None, softmax: None, argmax: None, top_k: None };

/// All libraries. Where one has no kernel for bf16, `widened` stands for what its users do: f32 arithmetic, rounded at the end.
pub static LIBRARIES: &[Library] = &[
    Library { name: "matrixmultiply", matmul: Some(|call| widened(call, matrixmultiply)), ..NONE },
    Library { name: "gemm", matmul: Some(gemm), ..NONE },
    Library { name: "faer", matmul: Some(|call| widened(call, faer)), ..NONE },
    Library { name: "ndarray", matmul: Some(ndarray_dot), softmax: Some(ndarray_softmax), ..NONE },
    Library {
        name: "candle",
        matmul: Some(candle_matmul),
        softmax: Some(candle_softmax),
        argmax: Some(candle_argmax),
        top_k: Some(candle_top_k),
    },
];

/// Rows, products and columns of `call`'s matmul.
fn sizes(call: &Call) -> [usize; 3] {
    let [lhs, rhs] = [&call.arguments[0], &call.arguments[1]];
    [lhs.dims()[0], lhs.dims()[1], rhs.dims()[1]]
}

/// The type of the program's result number `at`.
fn result_type(call: &Call, at: usize) -> Result<DType, Failure> {
    let result = call.program.outputs()[at];
    call.program.entry().instructions[result].shape.dtype().ok_or_else(|| "the result is no array".into())
}

/// Operands in f32, the product by `kernel`, rounded once to the type of the result.
fn widened(call: &Call, kernel: fn([usize; 3], &[f32], &[f32]) -> Vec<f32>) -> Result<Vec<Tensor>, Failure> {
    let [rows, products, columns] = sizes(call);
    let [lhs, rhs] = [0, 1].map(|at| call.arguments[at].data().to_f32s());
    let out = kernel([rows, products, columns], &lhs, &rhs);
    let out: Vec<f64> = out.into_iter().map(f64::from).collect();
    let data = Data::from_f64s(result_type(call, 0)?, &out).ok_or("the result is no float")?;
    Ok(vec![Tensor::new(&[rows, columns], data)])
}

fn matrixmultiply([m, k, n]: [usize; 3], lhs: &[f32], rhs: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; m * n];
    let (k_step, n_step) = (k as isize, n as isize);
    // SAFETY: the strides are those of row-major arrays of m x k, k x n and m x n elements.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            lhs.as_ptr(),
            k_step,
            1,
            rhs.as_ptr(),
            n_step,
            1,
            0.0,
            out.as_mut_ptr(),
            n_step,
            1,
        );
    }
    out
}

fn faer([m, k, n]: [usize; 3], lhs: &[f32], rhs: &[f32]) -> Vec<f32> {
    use faer::linalg::matmul::matmul;
    use faer::{Accum, MatMut, MatRef, Par};

    let mut out = vec![0.0; m * n];
    let [lhs, rhs] = [MatRef::from_row_major_slice(lhs, m, k), MatRef::from_row_major_slice(rhs, k, n)];
    matmul(MatMut::from_row_major_slice_mut(&mut out, m, n), Accum::Replace, lhs, rhs, 1.0, Par::Seq);
    out
}

/// `gemm` has f16 beside f32, and no bf16.
fn gemm(call: &Call) -> Result<Vec<Tensor>, Failure> {
    match [0, 1].map(|at| call.arguments[at].data()) {
        [Data::F16(lhs), Data::F16(rhs)] => {
            let [m, k, n] = sizes(call);
            // The crate has a type of its own name for f16, which is half's.
            let out = product([m, k, n], lhs, rhs, f16::ZERO, f16::ONE);
            Ok(vec![Tensor::new(&[m, n], Data::F16(out))])
        }
        _ => widened(call, |sizes, lhs, rhs| product(sizes, lhs, rhs, 0.0, 1.0)),
    }
}

fn product<T: Copy + 'static>([m, k, n]: [usize; 3], lhs: &[T], rhs: &[T], zero: T, one: T) -> Vec<T> {
    let mut out = vec![zero; m * n];
    let (k_step, n_step) = (k as isize, n as isize);
    // SAFETY: the strides are those of row-major arrays of m x k, k x n and m x n elements.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            n_step,
            false,
            lhs.as_ptr(),
            1,
            k_step,
            rhs.as_ptr(),
            1,
            n_step,
            zero,
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
    out
}

/// `dot` is generic: of f32 it calls matrixmultiply, of any other number it multiplies and adds in that type.
fn ndarray_dot(call: &Call) -> Result<Vec<Tensor>, Failure> {
    fn dot<T: ndarray::LinalgScalar>([m, k, n]: [usize; 3], lhs: &[T], rhs: &[T]) -> Result<Vec<T>, Failure> {
        let out = ArrayView2::from_shape((m, k), lhs)?.dot(&ArrayView2::from_shape((k, n), rhs)?);
        Ok(out.iter().copied().collect())
    }
    let [m, k, n] = sizes(call);
    let data = match [0, 1].map(|at| call.arguments[at].data()) {
        [Data::F32(lhs), Data::F32(rhs)] => Data::F32(dot([m, k, n], lhs, rhs)?),
        [Data::BF16(lhs), Data::BF16(rhs)] => Data::BF16(dot([m, k, n], lhs, rhs)?),
        [Data::F16(lhs), Data::F16(rhs)] => Data::F16(dot([m, k, n], lhs, rhs)?),
        _ => return Err("operands of another type".into()),
    };
    Ok(vec![Tensor::new(&[m, n], data)])
}

/// The crate has no softmax: this one is composed of its `fold_axis`, `mapv` and `sum_axis`, in the type of the argument.
fn ndarray_softmax(call: &Call) -> Result<Vec<Tensor>, Failure> {
    fn softmax<T: Float + 'static>(dims: &[usize], x: &[T]) -> Result<Vec<T>, Failure> {
        let x = ArrayView2::from_shape((dims[0], dims[1]), x)?;
        let max = x.fold_axis(Axis(1), T::neg_infinity(), |a, b| a.max(*b)).insert_axis(Axis(1));
        let e: Array2<T> = (&x - &max).mapv(T::exp);
        let sum = e.sum_axis(Axis(1)).insert_axis(Axis(1));
        Ok((&e / &sum).iter().copied().collect())
    }
    let x = &call.arguments[0];
    let data = match x.data() {
        Data::F32(values) => Data::F32(softmax(x.dims(), values)?),
        Data::BF16(values) => Data::BF16(softmax(x.dims(), values)?),
        Data::F16(values) => Data::F16(softmax(x.dims(), values)?),
        _ => return Err("an argument of another type".into()),
    };
    Ok(vec![Tensor::new(x.dims(), data)])
}

fn candle(tensor: &Tensor) -> Result<Candle, Failure> {
    let (dims, cpu) = (tensor.dims(), &Device::Cpu);
    Ok(match tensor.data() {
        Data::F32(values) => Candle::from_slice(values, dims, cpu)?,
        Data::BF16(values) => Candle::from_slice(values, dims, cpu)?,
        Data::F16(values) => Candle::from_slice(values, dims, cpu)?,
        _ => return Err("an argument of another type".into()),
    })
}

fn from_candle(tensor: &Candle) -> Result<Tensor, Failure> {
    fn values<T: WithDType>(tensor: &Candle) -> Result<Vec<T>, Failure> {
        Ok(tensor.flatten_all()?.to_vec1()?)
    }
    let data = match tensor.dtype() {
        candle_core::DType::F32 => Data::F32(values(tensor)?),
        candle_core::DType::BF16 => Data::BF16(values::<bf16>(tensor)?),
        candle_core::DType::F16 => Data::F16(values::<f16>(tensor)?),
        // Indices: JAX has them in s32.
        candle_core::DType::U32 => {
            Data::S32(values::<u32>(tensor)?.into_iter().map(i32::try_from).collect::<Result<_, _>>()?)
        }
        other => return Err(format!("a result of {other:?}").into()),
    };
    Ok(Tensor::new(tensor.dims(), data))
}

fn candle_matmul(call: &Call) -> Result<Vec<Tensor>, Failure> {
    Ok(vec![from_candle(&candle(&call.arguments[0])?.matmul(&candle(&call.arguments[1])?)?)?])
}

fn candle_softmax(call: &Call) -> Result<Vec<Tensor>, Failure> {
    Ok(vec![from_candle(&candle_nn::ops::softmax_last_dim(&candle(&call.arguments[0])?)?)?])
}

fn candle_argmax(call: &Call) -> Result<Vec<Tensor>, Failure> {
    Ok(vec![from_candle(&candle(&call.arguments[0])?.argmax(D::Minus1)?)?])
}

/// The first k of a descending sort: the crate has no top-k.
fn candle_top_k(call: &Call) -> Result<Vec<Tensor>, Failure> {
    let result = call.program.outputs()[0];
    let k = call.program.entry().instructions[result].shape.dims()[1];
    let x = candle(&call.arguments[0])?;
    let sorted = catch_unwind(AssertUnwindSafe(|| x.sort_last_dim(false)));
    let (values, indices) = sorted.map_err(|_| "it panics")??;
    let first = |tensor: Candle| -> Result<Tensor, Failure> { from_candle(&tensor.narrow(1, 0, k)?.contiguous()?) };
    Ok(vec![first(values)?, first(indices)?])
}
