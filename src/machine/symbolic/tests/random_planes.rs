//! Steps of random programs on arrays of two dims, where one dim may be moved, chosen or summed over and the other not.

use crate::ir::{
    Binary, Compare, CompareOrder, DotDims, GatherDims, Op, Precision, ScatterDims, ShapeError, ValueId, Window,
    WindowDim,
};
use crate::tensor::DType;

use super::random_program::{LANES, RandomProgram};

/// The extents of a plane.
const DIMS: [usize; 2] = [3, LANES];

type Made = Result<ValueId, ShapeError>;

impl RandomProgram {
    /// A step on planes, or one of any kind.
    pub fn plane_step(&mut self) {
        let Some((dtype, plane)) = self.plane() else { return self.stack() };
        let other = self.plane_of(dtype);
        match self.random.below(16) {
            0 => self.stack(),
            1 => self.row(plane),
            2 => self.slid(plane, other),
            3 => self.updated(plane, other),
            4 => self.gathered(plane),
            5 => self.scattered(dtype, plane, other),
            6 => self.summed_over_one(dtype, plane),
            7 => self.windowed(dtype, plane),
            8 => self.rearranged(plane, other),
            9 => self.contracted(dtype, plane, other),
            10 => self.sorted(dtype, plane),
            _ => self.any_step(),
        }
    }

    fn plane(&mut self) -> Option<(DType, ValueId)> {
        let first = if self.random.below(3) == 0 { self.planes.len().saturating_sub(6) } else { 0 };
        let planes = self.planes[first..].to_vec();
        (!planes.is_empty()).then(|| self.random.one_of(&planes))
    }

    fn plane_of(&mut self, dtype: DType) -> ValueId {
        let alike: Vec<ValueId> = self.planes.iter().filter(|(own, _)| *own == dtype).map(|(_, id)| *id).collect();
        self.random.one_of(&alike)
    }

    /// A plane of three arrays.
    fn stack(&mut self) {
        let (dtype, first) = self.any();
        let arrays = [first, self.of(dtype), self.of(dtype)];
        let rows: Result<Vec<ValueId>, ShapeError> =
            arrays.into_iter().map(|array| self.builder.reshape(array, &[1, LANES])).collect();
        let made = rows.and_then(|rows| self.builder.op(Op::Concatenate { dim: 0 }, &rows));
        self.add(made);
    }

    /// A row of a plane as an array.
    fn row(&mut self, plane: ValueId) {
        let row = self.random.below(DIMS[0]);
        let part = self.part(plane, [row, 0], [row + 1, LANES]);
        let made = part.and_then(|part| self.builder.reshape(part, &[LANES]));
        self.add(made);
    }

    fn part(&mut self, plane: ValueId, start: [usize; 2], limit: [usize; 2]) -> Made {
        let slice = Op::Slice { start: start.to_vec(), limit: limit.to_vec(), stride: vec![1, 1] };
        self.builder.op(slice, &[plane])
    }

    /// An index that an argument decides, or a number, which may lie outside.
    fn start(&mut self) -> Option<ValueId> {
        let index = self.of(DType::S32);
        match self.random.below(2) {
            0 => {
                let at = self.random.below(LANES);
                self.element(index, at)
            }
            _ => {
                let number = self.random.one_of(&[0.0, 1.0, 2.0, 3.0, -1.0, 9.0]);
                self.builder.constant(DType::S32, number).ok()
            }
        }
    }

    /// Extents of a part of a plane.
    fn extents(&mut self) -> [usize; 2] {
        self.random.one_of(&[[1, 1], [2, 2], [3, 1], [1, 4], [2, 3], [1, 2]])
    }

    /// A dynamic slice, which takes the place of a part of another plane.
    fn slid(&mut self, plane: ValueId, other: ValueId) {
        let (sizes, starts) = (self.extents(), [self.start(), self.start()]);
        let [Some(row), Some(column)] = starts else { return };
        let part = self.op(Op::DynamicSlice { sizes: sizes.to_vec() }, &[plane, row, column]);
        let Some(part) = self.add(part) else { return };
        let zero = self.builder.constant(DType::S32, 0.0);
        let made = zero.and_then(|zero| self.builder.op(Op::DynamicUpdateSlice, &[other, part, zero, zero]));
        self.add(made);
    }

    fn updated(&mut self, plane: ValueId, other: ValueId) {
        let (sizes, starts) = (self.extents(), [self.start(), self.start()]);
        let [Some(row), Some(column)] = starts else { return };
        let Ok(update) = self.part(other, [0, 0], sizes) else { return };
        let made = self.op(Op::DynamicUpdateSlice, &[plane, update, row, column]);
        self.add(made);
    }

    /// Four index vectors of so many elements, each of them open or known.
    fn index_vectors(&mut self, elements: usize) -> Made {
        let mut columns = Vec::new();
        for _ in 0..elements {
            let index = self.of(DType::S32);
            columns.push(self.builder.reshape(index, &[LANES, 1])?);
        }
        self.builder.op(Op::Concatenate { dim: 1 }, &columns)
    }

    fn gathered(&mut self, plane: ValueId) {
        let (start_index_map, sizes) =
            self.random.one_of(&[(&[0, 1][..], [1, 1]), (&[1, 0], [1, 1]), (&[0], [1, 4]), (&[1], [3, 1])]);
        let Ok(indices) = self.index_vectors(start_index_map.len()) else { return };
        let kept = sizes.iter().position(|size| *size > 1);
        let dims = GatherDims {
            offset_dims: kept.map(|_| 1).into_iter().collect(),
            collapsed_slice_dims: (0..2).filter(|dim| Some(*dim) != kept).collect(),
            start_index_map: start_index_map.to_vec(),
            index_vector_dim: 1,
            slice_sizes: sizes.to_vec(),
            ..GatherDims::default()
        };
        let Ok(gathered) = self.op(Op::Gather(dims), &[plane, indices]) else { return };
        self.add::<()>(Ok(gathered));
    }

    fn scattered(&mut self, dtype: DType, plane: ValueId, other: ValueId) {
        let binary = self.random.one_of(&[Binary::Add, Binary::Maximum, Binary::Minimum]);
        if !binary.takes(dtype) {
            return;
        }
        let to_apply = self.builder.binary_region(binary, dtype).unwrap();
        let (along, inserted) = self.random.one_of(&[(&[0, 1][..], &[0, 1][..]), (&[1, 0], &[0, 1]), (&[0], &[0])]);
        let update = match inserted.len() {
            2 => {
                let row = self.part(other, [0, 0], [1, LANES]);
                row.and_then(|row| self.builder.reshape(row, &[LANES]))
            }
            // Of four windows one is there twice.
            _ => {
                let first = self.part(other, [0, 0], [1, LANES]);
                first.and_then(|first| self.builder.op(Op::Concatenate { dim: 0 }, &[other, first]))
            }
        };
        let (Ok(update), Ok(indices)) = (update, self.index_vectors(along.len())) else { return };
        let dims = ScatterDims {
            update_window_dims: if inserted.len() == 2 { vec![] } else { vec![1] },
            inserted_window_dims: inserted.to_vec(),
            scatter_dims_to_operand_dims: along.to_vec(),
            index_vector_dim: 1,
            ..ScatterDims::default()
        };
        let made = self.op(Op::Scatter { dims, to_apply }, &[plane, indices, update]);
        self.add(made);
    }

    /// A reduction over one dim or both, from a number or an element.
    fn summed_over_one(&mut self, dtype: DType, plane: ValueId) {
        let binary = self.random.one_of(&[Binary::Add, Binary::Maximum, Binary::Multiply]);
        if !binary.takes(dtype) {
            return;
        }
        let to_apply = self.builder.binary_region(binary, dtype).unwrap();
        let Some(init) = self.init(dtype) else { return };
        let dims = self.random.one_of(&[&[0][..], &[1], &[0, 1], &[1, 0]]);
        let reduced = self.op(Op::Reduce { dims: dims.to_vec(), to_apply }, &[plane, init]);
        let Some(reduced) = self.add(reduced) else { return };
        let along = match dims {
            [0] => vec![1],
            [1] => vec![0],
            _ => vec![],
        };
        let made = self.builder.broadcast(reduced, &DIMS, &along);
        self.add(made);
    }

    fn init(&mut self, dtype: DType) -> Option<ValueId> {
        let other = self.of(dtype);
        match self.random.below(3) {
            0 => self.element(other, 0),
            _ => {
                let number = self.random.one_of(&[0.0, -0.0, 1.0]);
                self.builder.constant(dtype, number).ok()
            }
        }
    }

    /// Sums in windows that keep the extents, or running sums, from any number.
    fn windowed(&mut self, dtype: DType, plane: ValueId) {
        let binary = self.random.one_of(&[Binary::Add, Binary::Add, Binary::Maximum]);
        if !binary.takes(dtype) {
            return;
        }
        let to_apply = self.builder.binary_region(binary, dtype).unwrap();
        let Some(init) = self.init(dtype) else { return };
        let one = WindowDim::of_size(1);
        let running = |extent: usize| WindowDim { pad_low: extent as i64 - 1, ..WindowDim::of_size(extent) };
        let reverse = |extent: usize| WindowDim { pad_high: extent as i64 - 1, ..WindowDim::of_size(extent) };
        let pairs = WindowDim { pad_low: 1, ..WindowDim::of_size(2) };
        let apart = WindowDim { pad_low: 2, window_dilation: 2, ..WindowDim::of_size(2) };
        let spread = WindowDim { base_dilation: 2, stride: 2, pad_high: 1, ..WindowDim::of_size(2) };
        let windows = [
            vec![running(DIMS[0]), one],
            vec![one, running(LANES)],
            vec![one, reverse(LANES)],
            vec![pairs, pairs],
            vec![one, apart],
            vec![one, spread],
        ];
        let window = Window(windows[self.random.below(windows.len())].clone());
        let made = self.op(Op::ReduceWindow { window, to_apply }, &[plane, init]);
        self.add(made);
    }

    /// Rows and columns in another order, and with others between them.
    fn rearranged(&mut self, plane: ValueId, other: ValueId) {
        let made = match self.random.below(4) {
            0 => {
                let transpose = Op::Transpose { permutation: vec![1, 0] };
                self.op(transpose, &[plane]).and_then(|turned| self.builder.reshape(turned, &DIMS))
            }
            1 => {
                let dims = self.random.one_of(&[&[0][..], &[1], &[0, 1]]).to_vec();
                self.op(Op::Reverse { dims }, &[plane])
            }
            2 => {
                let Ok(corner) = self.part(other, [1, 1], [2, 2]) else { return };
                let fill = self.builder.reshape(corner, &[]);
                let pads = [([1, 0], [-1, 0], [0, 0]), ([0, -2], [0, 2], [0, 0]), ([0, 0], [-2, -3], [1, 1])];
                let (low, high, interior) = self.random.one_of(&pads);
                let pad = Op::Pad { low: low.to_vec(), high: high.to_vec(), interior: interior.to_vec() };
                fill.and_then(|fill| self.op(pad, &[plane, fill]))
            }
            _ => {
                let parts = [self.part(plane, [0, 0], [3, 1]), self.part(other, [0, 0], [3, 3])];
                let [Ok(first), Ok(last)] = parts else { return };
                self.op(Op::Concatenate { dim: 1 }, &[first, last])
            }
        };
        self.add(made);
    }

    /// Row by row, or all rows with all.
    fn contracted(&mut self, dtype: DType, plane: ValueId, other: ValueId) {
        if !dtype.is_float() {
            return;
        }
        let batch = match self.random.below(2) {
            0 => vec![],
            _ => vec![0],
        };
        let is_batched = !batch.is_empty();
        let dims =
            DotDims { lhs_contracting: vec![1], rhs_contracting: vec![1], lhs_batch: batch.clone(), rhs_batch: batch };
        let precision = [self.random.one_of(&[Precision::Default, Precision::High, Precision::Highest]); 2];
        let Some(dot) = self.op(Op::Dot { dims, precision }, &[plane, other]).ok() else { return };
        self.add::<()>(Ok(dot));
        let made = match is_batched {
            true => self.builder.broadcast(dot, &DIMS, &[0]),
            false => {
                let row = self.part(dot, [1, 0], [2, 3]);
                row.and_then(|row| self.builder.reshape(row, &[3]))
                    .and_then(|row| self.builder.broadcast(row, &DIMS, &[0]))
            }
        };
        self.add(made);
    }

    fn sorted(&mut self, dtype: DType, plane: ValueId) {
        let orders = [CompareOrder::Partial, CompareOrder::Total];
        let order = if dtype.is_float() { self.random.one_of(&orders) } else { CompareOrder::Partial };
        let (dim, direction) = (self.random.below(2), self.random.one_of(&[Compare::Lt, Compare::Gt]));
        let made = self.builder.sort(&[plane], dim, true, direction, order);
        self.add(made);
    }
}
