//! Single operations with a meaning of their own: windows that are running reductions, dots that are plain matmuls.

use crate::ir::{Computation, DotDims, Op, ValueId, Window};

/// A window over all elements up to its own, or from its own on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cumulative {
    /// The dim that it runs along.
    pub dim: usize,
    /// Whether it covers the elements from its own on, as with `reverse=True`.
    pub reversed: bool,
}

/// Whether a value is one number for many elements: a constant or a broadcast, through moves and conversions.
pub fn is_spread(computation: &Computation, id: ValueId) -> bool {
    let instruction = &computation.instructions[id];
    match instruction.op {
        Op::Constant(_) | Op::Broadcast { .. } => true,
        Op::Convert | Op::Reshape | Op::Copy | Op::Transpose { .. } => is_spread(computation, instruction.operands[0]),
        _ => false,
    }
}

/// The dim along which a window covers all elements up to its own, as `cumsum` lowers (window n, low padding n - 1).
pub fn is_cumulative(window: &Window, dims: &[usize]) -> Option<usize> {
    cumulative(window, dims).filter(|c| !c.reversed).map(|c| c.dim)
}

/// The dim and direction in which a window is cumulative (window n, low or high padding n - 1); `None` for other
/// windows.
pub fn cumulative(window: &Window, dims: &[usize]) -> Option<Cumulative> {
    let trivial = |d: usize| {
        let w = window.0[d];
        w.size == 1 && w.stride == 1 && w.pad_low == 0 && w.pad_high == 0 && w.base_dilation == 1
    };
    let (along, w) = window.0.iter().enumerate().find(|(_, w)| w.size > 1)?;
    let others = w.size as i64 - 1;
    let reversed = match (w.pad_low, w.pad_high) {
        (low, 0) if low == others => false,
        (0, high) if high == others => true,
        _ => return None,
    };
    let covers = w.size == dims[along] && (w.stride, w.base_dilation, w.window_dilation) == (1, 1, 1);
    (covers && (0..dims.len()).all(|d| d == along || trivial(d))).then_some(Cumulative { dim: along, reversed })
}

/// A dot `[m,k] x [k,n]` of two float parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainMatmul {
    /// The two values.
    pub operands: [ValueId; 2],
    /// Their numbers as parameters.
    pub parameters: [usize; 2],
    /// m, k, n.
    pub sizes: [usize; 3],
}

/// The value as a plain matmul of parameters; `None` for other values.
pub fn plain_matmul(computation: &Computation, value: ValueId) -> Option<PlainMatmul> {
    let dot = &computation.instructions[value];
    let (Op::Dot { dims, .. }, [lhs, rhs]) = (&dot.op, dot.operands.as_slice()) else { return None };
    let parameter = |operand: ValueId| match computation.instructions[operand].op {
        Op::Parameter(number) => Some(number),
        _ => None,
    };
    let parameters = [parameter(*lhs)?, parameter(*rhs)?];
    let shapes = [*lhs, *rhs].map(|operand| &computation.instructions[operand].shape);
    let ([m, k], [_, n]) = (shapes[0].dims(), shapes[1].dims()) else { return None };
    let floats = shapes.iter().all(|shape| shape.dtype().is_some_and(|dtype| dtype.is_float()));
    (floats && *dims == DotDims::matmul()).then_some(PlainMatmul {
        operands: [*lhs, *rhs],
        parameters,
        sizes: [*m, *k, *n],
    })
}

#[cfg(test)]
mod tests {
    use super::{Cumulative, cumulative, is_cumulative, plain_matmul};
    use crate::ir::{Builder, DotDims, Op, Precision, Window, WindowDim};
    use crate::tensor::DType;

    /// The elements of one dim that a window shows at each of its places, by XLA's definition of a window.
    fn shown(w: &WindowDim, extent: usize) -> Vec<Vec<usize>> {
        let base = extent as i64 * w.base_dilation as i64 - (w.base_dilation as i64 - 1);
        let reach = (w.size as i64 - 1) * w.window_dilation as i64 + 1;
        let places = (0i64..).map(|place| place * w.stride as i64 - w.pad_low);
        let places = places.take_while(|first| first + reach <= base + w.pad_high);
        let of = |first: i64| {
            let at = (0..w.size as i64).map(|step| first + step * w.window_dilation as i64);
            let inside = at.filter(|at| (0..base).contains(at) && at % w.base_dilation as i64 == 0);
            inside.map(|at| (at / w.base_dilation as i64) as usize).collect()
        };
        places.map(of).collect()
    }

    /// Each window of a few elements: one that is called cumulative shows all elements up to its own, or from its own on,
    /// and one element of every other dim.
    #[test]
    fn cumulative_windows_show_what_they_say() {
        let mut found = [0, 0];
        let pads = [-1, 0, 1, 2];
        let all = |extent: usize| {
            let sizes = (1..=extent + 1).flat_map(move |size| pads.map(|low| (size, low)));
            let padded = sizes.flat_map(move |(size, low)| pads.map(|high| (size, low, high)));
            let steps = [(1, 1, 1), (2, 1, 1), (1, 2, 1), (1, 1, 2)];
            padded.flat_map(move |(size, pad_low, pad_high)| {
                steps.map(|(stride, base_dilation, window_dilation)| WindowDim {
                    size,
                    stride,
                    pad_low,
                    pad_high,
                    base_dilation,
                    window_dilation,
                })
            })
        };
        for (first, second) in all(3).flat_map(|first| all(2).map(move |second| (first, second))) {
            let window = Window(vec![first, second]);
            let dims = [3, 2];
            let Some(Cumulative { dim, reversed }) = cumulative(&window, &dims) else { continue };
            found[usize::from(reversed)] += 1;
            assert_eq!(is_cumulative(&window, &dims), (!reversed).then_some(dim));
            for (d, extent) in dims.into_iter().enumerate() {
                let expected = |own: usize| match (d == dim, reversed) {
                    (false, _) => own..own + 1,
                    (true, false) => 0..own + 1,
                    (true, true) => own..extent,
                };
                let expected: Vec<Vec<usize>> = (0..extent).map(|own| expected(own).collect()).collect();
                assert_eq!(shown(&window.0[d], extent), expected, "{window:?}");
            }
        }
        // Along either dim in either direction, whatever the dilation of a window of one element is.
        assert_eq!(found, [4, 4]);
    }

    /// `[m,k] x [k,n]` of two parameters, and nothing beside it.
    #[test]
    fn a_plain_matmul_contracts_rows_with_columns() {
        let mut b = Builder::new("dots");
        let x = b.parameter("x", DType::F32, &[3, 3]).unwrap();
        let y = b.parameter("y", DType::BF16, &[3, 3]).unwrap();
        let i = b.parameter("i", DType::S32, &[3, 3]).unwrap();
        let wide = b.convert(y, DType::F32).unwrap();
        let turned = DotDims { lhs_contracting: vec![0], rhs_contracting: vec![0], ..DotDims::default() };
        let precision = [Precision::Default; 2];
        let mut dot = |dims: DotDims, lhs, rhs| b.op(Op::Dot { dims, precision }, &[lhs, rhs]).unwrap();
        let plain = dot(DotDims::matmul(), x, x);
        let others = [dot(turned, x, x), dot(DotDims::matmul(), x, wide), dot(DotDims::matmul(), i, i)];
        let program = b.finish(&[("plain", plain)]).unwrap();
        let found = plain_matmul(program.entry(), plain).unwrap();
        assert_eq!((found.operands, found.parameters, found.sizes), ([x, x], [0, 0], [3, 3, 3]));
        assert!(others.iter().all(|other| plain_matmul(program.entry(), *other).is_none()));
    }
}
