//! A program for fewer rows, a smaller vocabulary, a shorter context: with some of each axis' elements.

use std::collections::BTreeMap;

use crate::ir::{GatherDims, Op, Program, Shape, ShapeError, ValueId, WindowDim, infer};
use crate::tensor::{Data, Tensor};

use super::axes::{Axes, is_running};

/// The elements of an axis that are left, in order, by the axis' number. An axis that is not named keeps all.
pub type Kept = BTreeMap<usize, Vec<usize>>;

impl Axes {
    /// The program and its arguments with these elements of its axes alone: every shape with the extents that are left,
    /// attributes that follow from extents likewise, constants and arguments cut. Arguments that are indices
    /// ([`Axes::index_arguments`]) say the same elements, and constants that bound them ([`Axes::bounds`]) follow; all other
    /// numbers stay, so that a mean, say, still divides by the old extent.
    ///
    /// # Errors
    /// If an axis is left without elements, if an attribute does not fit the extents left, a slice's limit or the k of a top-k,
    /// if an index names an element that is left out, or an argument has indices of two axes that are cut otherwise.
    pub fn resize(
        &self,
        program: &Program,
        arguments: &[Tensor],
        kept: &Kept,
    ) -> Result<(Program, Vec<Tensor>), ShapeError> {
        if let Some((axis, _)) = kept.iter().find(|(_, left)| left.is_empty()) {
            return Err(ShapeError(format!("axis {axis} is left without elements")));
        }
        let entry = program.entry();
        let mut resized = program.clone();
        for id in 0..entry.instructions.len() {
            let before = &entry.instructions[id];
            let shape = self.shape(id, &before.shape, kept);
            let op = self.operation(program, id, &shape, kept);
            let instructions = &mut resized.computations[program.entry].instructions;
            (instructions[id].op, instructions[id].shape) = (op, shape);
            let now = &resized.entry().instructions[id];
            let operands: Vec<&Shape> =
                now.operands.iter().map(|operand| &resized.entry().instructions[*operand].shape).collect();
            // In the program's order, so that operands have their new shapes: what does not fit is found where it arises.
            infer(&now.op, &operands, &resized.computations[..program.entry], Some(&now.shape))?;
        }
        let mut cut = arguments.to_vec();
        for (id, instruction) in entry.instructions.iter().enumerate() {
            if let Op::Parameter(number) = instruction.op
                && let Some(argument) = cut.get_mut(number)
            {
                *argument = self.cut(id, argument, kept);
            }
        }
        for (at, (number, axis)) in self.index_arguments.iter().enumerate() {
            // Where an argument has indices of two axes, one renumbering has to hold for both.
            let extent = self.axes[*axis].extent;
            let before = self.index_arguments[..at].iter().find(|(other, _)| other == number);
            if let Some((_, other)) = before {
                if kept.get(other) != kept.get(axis) || kept.contains_key(axis) && self.axes[*other].extent != extent {
                    return Err(ShapeError(format!(
                        "argument {number} has indices of two axes that are cut otherwise"
                    )));
                }
                continue;
            }
            if let (Some(left), Some(argument)) = (kept.get(axis), cut.get_mut(*number)) {
                *argument = renumbered(argument, left, extent)?;
            }
        }
        Ok((resized, cut))
    }

    /// The elements of an axis that arguments name as indices, in order: no resized program may leave them out.
    pub fn index_elements(&self, arguments: &[Tensor], axis: usize) -> Vec<usize> {
        let own = self.index_arguments.iter().filter(|(_, of)| *of == axis);
        let indices = own.filter_map(|(number, _)| arguments.get(*number)).flat_map(|given| given.data().to_i64s());
        let places = indices.filter_map(|index| usize::try_from(index).ok());
        let mut named: Vec<usize> = places.filter(|at| *at < self.axes[axis].extent).collect();
        named.sort_unstable();
        named.dedup();
        named
    }

    fn extent(&self, axis: usize, kept: &Kept) -> usize {
        kept.get(&axis).map_or(self.axes[axis].extent, Vec::len)
    }

    fn shape(&self, id: ValueId, shape: &Shape, kept: &Kept) -> Shape {
        fn fill<'a>(
            shape: &Shape,
            arrays: &mut impl Iterator<Item = &'a Vec<usize>>,
            extent: &dyn Fn(usize) -> usize,
        ) -> Shape {
            match shape {
                Shape::Array { dtype, .. } => {
                    let dims = arrays.next().map(|axes| axes.iter().map(|axis| extent(*axis)).collect());
                    Shape::Array { dtype: *dtype, dims: dims.unwrap_or_default() }
                }
                Shape::Tuple(parts) => Shape::Tuple(parts.iter().map(|part| fill(part, arrays, extent)).collect()),
            }
        }
        fill(shape, &mut self.of_value(id).iter(), &|axis| self.extent(axis, kept))
    }

    /// The elements left of an array that a value is.
    fn cut(&self, id: ValueId, tensor: &Tensor, kept: &Kept) -> Tensor {
        let axes = self.of_array(id);
        let mut places = vec![0];
        for (axis, extent) in axes.iter().zip(tensor.dims()) {
            let all: Vec<usize>;
            let left = match kept.get(axis) {
                Some(left) => left,
                None => {
                    all = (0..*extent).collect();
                    &all
                }
            };
            places = places.iter().flat_map(|place| left.iter().map(move |at| place * extent + at)).collect();
        }
        let dims: Vec<usize> = axes.iter().map(|axis| self.extent(*axis, kept)).collect();
        tensor.pick(&dims, &places)
    }

    /// An operation whose result has another shape now.
    fn operation(&self, program: &Program, id: ValueId, shape: &Shape, kept: &Kept) -> Op {
        let instruction = &program.entry().instructions[id];
        let operand = || self.of_array(instruction.operands[0]);
        let out = self.of_array(id);
        match &instruction.op {
            Op::Constant(value) => match self.bounds.iter().find(|bound| bound.constant == id) {
                Some(bound) => {
                    // A bound follows its axis: clamped indices would else reach behind the last element.
                    let last = self.extent(bound.axis, kept) as i64 - bound.less as i64;
                    Op::Constant(Tensor::scalar_int(value.dtype(), last).unwrap_or_else(|| value.clone()))
                }
                None => Op::Constant(self.cut(id, value, kept)),
            },
            Op::Slice { start, limit, stride } => {
                let limits = operand().iter().zip(out).zip(limit);
                let limit = limits.map(|((from, to), limit)| if from == to { self.extent(*to, kept) } else { *limit });
                Op::Slice { start: start.clone(), limit: limit.collect(), stride: stride.clone() }
            }
            Op::DynamicSlice { .. } => Op::DynamicSlice { sizes: shape.dims().to_vec() },
            Op::Gather(dims) => {
                let dropped =
                    |d: &usize| dims.collapsed_slice_dims.contains(d) || dims.operand_batching_dims.contains(d);
                // The result shows the slice's extents but for dims that it drops, and these are 1.
                let mut shown = dims.offset_dims.iter().map(|d| shape.dims()[*d]);
                let sizes =
                    (0..dims.slice_sizes.len()).map(|d| if dropped(&d) { 1 } else { shown.next().unwrap_or(1) });
                Op::Gather(GatherDims { slice_sizes: sizes.collect(), ..dims.clone() })
            }
            Op::ReduceWindow { window, to_apply } => {
                let mut window = window.clone();
                for (dim, axis) in window.0.iter_mut().zip(operand()) {
                    let (before, now) = (self.axes[*axis].extent, self.extent(*axis, kept));
                    if *dim != WindowDim::of_size(1) && is_running(dim, before) {
                        let last = now as i64 - 1;
                        (dim.pad_low, dim.pad_high) = if dim.pad_low > 0 { (last, 0) } else { (0, last) };
                        dim.size = now;
                    }
                }
                Op::ReduceWindow { window, to_apply: *to_apply }
            }
            Op::TopK { largest, .. } => {
                let k = out.last().map_or(0, |axis| self.extent(*axis, kept));
                Op::TopK { k, largest: *largest }
            }
            other => other.clone(),
        }
    }
}

/// Indices into an axis as they are when these of its elements are left. Others than its own stay.
fn renumbered(indices: &Tensor, left: &[usize], extent: usize) -> Result<Tensor, ShapeError> {
    let places = indices.data().to_i64s().into_iter().map(|index| match usize::try_from(index) {
        Ok(at) if at < extent => left.binary_search(&at).map(|place| place as i64),
        // An index out of bounds means the same of any extent: it is clamped or dropped.
        _ => Ok(index),
    });
    let places: Result<Vec<i64>, usize> = places.collect();
    let places = places.map_err(|_| ShapeError("an index names an element that is left out".to_string()))?;
    let data = Data::from_i64s(indices.dtype(), &places);
    Ok(data.map_or_else(|| indices.clone(), |data| Tensor::new(indices.dims(), data)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Binary, Builder, Compare, GatherDims, ScatterDims, Unary, Window};
    use crate::tensor::DType;

    fn ramp(dtype: DType, dims: &[usize]) -> Tensor {
        let count = dims.iter().product::<usize>();
        let data = match dtype.is_float() {
            true => Data::from_f64s(dtype, &(0..count).map(|at| at as f64).collect::<Vec<_>>()),
            false => Data::from_i64s(dtype, &(0..count).map(|at| at as i64).collect::<Vec<_>>()),
        };
        Tensor::new(dims, data.unwrap())
    }

    /// The axis of an argument's dim.
    fn axis(axes: &Axes, program: &Program, number: usize, dim: usize) -> usize {
        let is_it = |op: &Op| *op == Op::Parameter(number);
        axes.of_array(program.entry().instructions.iter().position(|i| is_it(&i.op)).unwrap())[dim]
    }

    /// Running sums, sorts, reductions and the values that they are compared with have one vocabulary.
    #[test]
    fn a_vocabulary_is_cut_everywhere() {
        let mut b = Builder::new("sampler");
        let x = b.parameter("x", DType::F32, &[4, 8]).unwrap();
        let max = b.reduce(Binary::Maximum, x, f64::NEG_INFINITY, &[1]).unwrap();
        let max = b.broadcast(max, &[4, 8], &[0]).unwrap();
        let keep = b.compare(Compare::Ge, x, max).unwrap();
        let token = b.argmax(x, 1).unwrap();
        let program = b.finish(&[("keep", keep), ("token", token)]).unwrap();
        let axes = Axes::new(&program);
        let [rows, vocabulary] = [0, 1].map(|dim| axis(&axes, &program, 0, dim));
        assert!(axes.axes.iter().all(|axis| axis.held.is_none()), "{:?}", axes.axes);
        let kept = Kept::from([(rows, vec![2]), (vocabulary, vec![1, 6, 7])]);
        let (small, cut) = axes.resize(&program, &[ramp(DType::F32, &[4, 8])], &kept).unwrap();
        assert_eq!(cut[0].data().to_f64s(), [17.0, 22.0, 23.0]);
        let shapes: Vec<String> =
            small.outputs().iter().map(|id| small.entry().instructions[*id].shape.to_string()).collect();
        assert_eq!(shapes, ["pred[1,3]", "s32[1]"]);
    }

    /// An axis limited by an attribute is held, with the name of the instruction, and no other axis is.
    #[test]
    fn a_slice_with_limits_holds_its_axis() {
        let mut b = Builder::new("first");
        let x = b.parameter("x", DType::F32, &[4, 8]).unwrap();
        let op = Op::Slice { start: vec![0, 0], limit: vec![4, 5], stride: vec![1, 1] };
        let first = b.op(op, &[x]).unwrap();
        let first = b.rename(first, "first");
        let program = b.finish(&[("first", first)]).unwrap();
        let axes = Axes::new(&program);
        let [rows, columns] = [0, 1].map(|dim| axes.axes[axis(&axes, &program, 0, dim)].held.clone());
        assert_eq!((rows, columns.as_deref()), (None, Some("first (slice) has limits")));
    }

    /// `take` as JAX writes it: negative indices count from the end.
    #[test]
    fn indices_say_the_same_elements() {
        let mut b = Builder::new("take");
        let x = b.parameter("x", DType::F32, &[8]).unwrap();
        let at = b.parameter("at", DType::S32, &[1]).unwrap();
        let extent = b.op(Op::Constant(Tensor::scalar_int(DType::S32, 8).unwrap()), &[]).unwrap();
        let extent = b.broadcast(extent, &[1], &[]).unwrap();
        let zero = b.op(Op::Constant(Tensor::scalar_int(DType::S32, 0).unwrap()), &[]).unwrap();
        let zero = b.broadcast(zero, &[1], &[]).unwrap();
        let is_negative = b.compare(Compare::Lt, at, zero).unwrap();
        let from_end = b.op(Op::Binary(Binary::Add), &[at, extent]).unwrap();
        let index = b.select(is_negative, from_end, at).unwrap();
        let dims = GatherDims {
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            slice_sizes: vec![1],
            ..GatherDims::default()
        };
        let taken = b.op(Op::Gather(dims), &[x, index]).unwrap();
        let program = b.finish(&[("taken", taken)]).unwrap();
        let axes = Axes::new(&program);
        let axis = axis(&axes, &program, 0, 0);
        assert_eq!(axes.index_arguments, [(1, axis)]);
        let index = Tensor::new(&[1], Data::S32(vec![6]));
        let given = [ramp(DType::F32, &[8]), index];
        assert_eq!(axes.index_elements(&given, axis), [6]);
        let (small, cut) = axes.resize(&program, &given, &Kept::from([(axis, vec![1, 6, 7])])).unwrap();
        assert_eq!(cut[1].data().to_i64s(), [1]);
        let constants = small.entry().instructions.iter().filter_map(|instruction| match &instruction.op {
            Op::Constant(value) => Some(value.data().get_i64(0)),
            _ => None,
        });
        assert_eq!(constants.collect::<Vec<_>>(), [3, 0]);
        let left_out = axes.resize(&program, &given, &Kept::from([(axis, vec![1, 7])]));
        assert!(left_out.unwrap_err().to_string().contains("left out"));
        let empty = axes.resize(&program, &given, &Kept::from([(axis, vec![])]));
        assert!(empty.unwrap_err().to_string().contains("without elements"));
    }

    /// One argument of two axes is renumbered for both or not at all; a constant of any size is compared with an extent.
    #[test]
    fn indices_of_two_axes_are_renumbered_alike() {
        let mut b = Builder::new("twice");
        let x = b.parameter("x", DType::F32, &[8]).unwrap();
        let y = b.parameter("y", DType::F32, &[8]).unwrap();
        let at = b.parameter("at", DType::S64, &[1]).unwrap();
        let lowest = b.op(Op::Constant(Tensor::scalar_int(DType::S64, i64::MIN).unwrap()), &[]).unwrap();
        let lowest = b.broadcast(lowest, &[1], &[]).unwrap();
        let index = b.op(Op::Binary(Binary::Maximum), &[at, lowest]).unwrap();
        let dims = GatherDims {
            collapsed_slice_dims: vec![0],
            start_index_map: vec![0],
            slice_sizes: vec![1],
            ..GatherDims::default()
        };
        let taken = [x, y].map(|of| b.op(Op::Gather(dims.clone()), &[of, index]).unwrap());
        let program = b.finish(&[("one", taken[0]), ("other", taken[1])]).unwrap();
        let axes = Axes::new(&program);
        let [one, other] = [0, 1].map(|number| axis(&axes, &program, number, 0));
        assert_eq!(axes.index_arguments, [(2, one), (2, other)]);
        let index = Tensor::new(&[1], Data::S64(vec![6]));
        let given = [ramp(DType::F32, &[8]), ramp(DType::F32, &[8]), index];
        let alike = Kept::from([(one, vec![1, 6]), (other, vec![1, 6])]);
        assert_eq!(axes.resize(&program, &given, &alike).unwrap().1[2].data().to_i64s(), [1]);
        for kept in [Kept::from([(one, vec![1, 6]), (other, vec![6])]), Kept::from([(other, vec![1, 6])])] {
            assert!(axes.resize(&program, &given, &kept).unwrap_err().to_string().contains("two axes"));
        }
    }

    /// A window lies along the dims of the array that are neither left out nor a batch, for a gather and for a scatter.
    #[test]
    fn windows_lie_along_the_dims_that_are_no_batch() {
        let mut b = Builder::new("indexed");
        let x = b.parameter("x", DType::F32, &[4, 6, 3]).unwrap();
        let places = b.parameter("places", DType::S32, &[4, 2, 1]).unwrap();
        let dims = GatherDims {
            offset_dims: vec![2],
            collapsed_slice_dims: vec![1],
            start_index_map: vec![1],
            operand_batching_dims: vec![0],
            start_indices_batching_dims: vec![0],
            index_vector_dim: 2,
            slice_sizes: vec![1, 1, 3],
        };
        let gathered = b.op(Op::Gather(dims), &[x, places]).unwrap();
        let update = b.parameter("update", DType::F32, &[4, 2, 3]).unwrap();
        let dims = ScatterDims {
            update_window_dims: vec![2],
            inserted_window_dims: vec![1],
            scatter_dims_to_operand_dims: vec![1],
            input_batching_dims: vec![0],
            scatter_indices_batching_dims: vec![0],
            index_vector_dim: 2,
        };
        let to_apply = b.binary_region(Binary::Add, DType::F32).unwrap();
        let scattered = b.op(Op::Scatter { dims, to_apply }, &[x, places, update]).unwrap();
        let program = b.finish(&[("gathered", gathered), ("scattered", scattered)]).unwrap();
        let axes = Axes::new(&program);
        let [batch, _, width] = axes.of_array(x)[..] else { panic!("{:?}", axes.of_array(x)) };
        for windows in [gathered, update] {
            assert_eq!((axes.of_array(windows)[0], axes.of_array(windows)[2]), (batch, width));
        }
        assert_eq!(axes.of_array(places)[0], batch);
        assert_ne!(batch, width);
    }

    fn window(change: impl FnOnce(&mut WindowDim)) -> Window {
        let mut columns = WindowDim::of_size(8);
        columns.pad_low = 7;
        change(&mut columns);
        Window(vec![WindowDim::of_size(1), columns])
    }

    type Build = fn(&mut Builder, ValueId) -> ValueId;

    /// Operations on x [4, 8], and what holds its columns.
    const HOLDERS: &[(&str, Build, Option<&str>)] = &[
        ("a running sum", |b, x| b.cumsum(x, 1).unwrap(), None),
        ("a window over some", |b, x| windowed(b, x, window(|columns| columns.stride = 2)), Some("has a window")),
        (
            "a window with gaps",
            |b, x| windowed(b, x, window(|columns| columns.window_dilation = 2)),
            Some("has a window"),
        ),
        (
            "every second element",
            |b, x| windowed(b, x, window(|columns| *columns = WindowDim { stride: 2, ..WindowDim::of_size(1) })),
            Some("has a window"),
        ),
        ("the last columns", |b, x| columns(b, x, 2), Some("has limits")),
        ("padding between", |b, x| padded(b, x, [0, 0], 1), Some("has edges")),
        ("padding before", |b, x| padded(b, x, [1, 0], 0), Some("has edges")),
        ("no padding", |b, x| padded(b, x, [0, 0], 0), None),
        ("side by side", |b, x| b.op(Op::Concatenate { dim: 1 }, &[x, x]).unwrap(), Some("adds extents up")),
        ("one below another", |b, x| b.op(Op::Concatenate { dim: 0 }, &[x, x]).unwrap(), None),
        ("a computation", called, Some("runs a computation of its own")),
        (
            "what another array is held by",
            |b, x| {
                let other = b.parameter("other", DType::F32, &[4, 8]).unwrap();
                columns(b, other, 2);
                b.binary(Binary::Add, x, other).unwrap()
            },
            Some("has limits"),
        ),
        (
            "the third of three",
            |b, x| {
                let rows = b.reduce(Binary::Add, x, 0.0, &[1]).unwrap();
                let three = b.op(Op::Tuple, &[rows, rows, x]).unwrap();
                b.tuple_element(three, 2).unwrap()
            },
            None,
        ),
        (
            "the best two",
            |b, x| {
                let best = b.op(Op::TopK { k: 2, largest: true }, &[x]).unwrap();
                b.tuple_element(best, 1).unwrap()
            },
            None,
        ),
    ];

    fn windowed(b: &mut Builder, x: ValueId, window: Window) -> ValueId {
        let to_apply = b.binary_region(Binary::Add, DType::F32).unwrap();
        let zero = b.constant(DType::F32, 0.0).unwrap();
        b.op(Op::ReduceWindow { window, to_apply }, &[x, zero]).unwrap()
    }

    fn columns(b: &mut Builder, x: ValueId, first: usize) -> ValueId {
        b.op(Op::Slice { start: vec![0, first], limit: vec![4, 8], stride: vec![1, 1] }, &[x]).unwrap()
    }

    fn padded(b: &mut Builder, x: ValueId, [low, high]: [i64; 2], interior: usize) -> ValueId {
        let zero = b.constant(DType::F32, 0.0).unwrap();
        let op = Op::Pad { low: vec![0, low], high: vec![0, high], interior: vec![0, interior] };
        b.op(op, &[x, zero]).unwrap()
    }

    fn called(b: &mut Builder, x: ValueId) -> ValueId {
        let to_apply = b.region("turned", |b| {
            let x = b.parameter("x", DType::F32, &[4, 8])?;
            b.unary(Unary::Negate, x)
        });
        b.op(Op::Call { to_apply: to_apply.unwrap() }, &[x]).unwrap()
    }

    /// An axis says what holds it, and one that nothing holds may be cut: every shape of the smaller program fits.
    #[test]
    fn an_axis_is_held_or_may_be_cut() {
        for (name, build, holds) in HOLDERS {
            let mut b = Builder::new("holder");
            let x = b.parameter("x", DType::F32, &[4, 8]).unwrap();
            let result = build(&mut b, x);
            let program = b.finish(&[("result", result)]).unwrap();
            let axes = Axes::new(&program);
            let held = &axes.axes[axes.of_array(x)[1]].held;
            assert!(
                held.is_some() == holds.is_some() && held.iter().zip(*holds).all(|(held, why)| held.ends_with(why)),
                "{name}: {held:?}"
            );
            for (number, axis) in axes.axes.iter().enumerate() {
                if axis.held.is_none() && axis.extent > 1 {
                    let given = [ramp(DType::F32, &[4, 8]), ramp(DType::F32, &[4, 8])];
                    let half = Kept::from([(number, (0..axis.extent / 2).collect())]);
                    let cut = axes.resize(&program, &given, &half);
                    assert!(cut.is_ok(), "{name}: {axis:?} {:?}", cut.err());
                }
            }
        }
    }

    /// Indices are the operands behind what is written: integers that are written say nothing of an axis.
    #[test]
    fn what_an_update_writes_is_no_index() {
        let mut b = Builder::new("written");
        let x = b.parameter("x", DType::S32, &[8]).unwrap();
        let update = b.parameter("update", DType::S32, &[1]).unwrap();
        let at = b.parameter("at", DType::S32, &[]).unwrap();
        let written = b.op(Op::DynamicUpdateSlice, &[x, update, at]).unwrap();
        let program = b.finish(&[("written", written)]).unwrap();
        let axes = Axes::new(&program);
        assert_eq!(axes.index_arguments, [(2, axes.of_array(x)[0])]);
    }
}
