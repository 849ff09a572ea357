//! Operations as they are drawn.

use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::num::Format;
use ulpgate::tensor::DType;

use super::ast::{Comparator, Kind, Node, Op, Reducer, Window};
use super::generate::{FLOAT_BINARIES, FLOATS, Generator, INTEGERS, LARGEST};

const DIRECTIONS: &[Compare] = &[Compare::Lt, Compare::Gt, Compare::Eq, Compare::Ne, Compare::Le, Compare::Ge];

impl Generator<'_> {
    pub fn compare(&mut self) {
        let x = self.any();
        let y = self.like(x);
        let order = if self.nodes[x].dtype.is_float() && self.draw.rarely(4) {
            CompareOrder::Total
        } else {
            CompareOrder::Partial
        };
        let (direction, dims) = (self.draw.of(DIRECTIONS), self.nodes[x].dims.clone());
        let (x, y) = if self.draw.rarely(3) { (y, x) } else { (x, y) };
        self.add(Op::Compare { direction, order }, &[x, y], DType::Pred, &dims);
    }

    pub fn choose(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        let y = self.like(x);
        if self.draw.rarely(2) {
            let z = self.like(x);
            self.add(Op::Clamp, &[y, x, z], dtype, &dims);
        } else {
            let p = self.predicate();
            self.add(Op::Select, &[p, x, y], dtype, &dims);
        }
    }

    pub fn convert(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        match self.draw.below(6) {
            0 | 1 => {
                let to = self.draw.of(FLOATS);
                self.add(Op::Convert, &[x], to, &dims);
            }
            2 => {
                let to = self.draw.of(INTEGERS);
                self.add(Op::Convert, &[x], to, &dims);
            }
            3 => {
                self.add(Op::Convert, &[x], DType::Pred, &dims);
            }
            4 => {
                let fits: Vec<DType> =
                    FLOATS.iter().chain(INTEGERS).copied().filter(|d| d.bits() == dtype.bits()).collect();
                if dtype != DType::Pred {
                    let to = self.draw.of(&fits);
                    self.add(Op::BitcastConvert, &[x], to, &dims);
                }
            }
            _ => {
                let op = if dtype.format().is_some_and(Format::has_infinities) {
                    Op::ReducePrecision { exponent_bits: 5, mantissa_bits: self.draw.of(&[10, 7, 2]) }
                } else {
                    [Op::Copy, Op::Barrier][self.draw.below(2)].clone()
                };
                self.add(op, &[x], dtype, &dims);
            }
        }
    }

    fn reducer(&mut self, dtype: DType) -> Binary {
        match dtype {
            DType::Pred => self.draw.of(&[Binary::And, Binary::Or, Binary::Maximum]),
            dtype if dtype.is_float() => {
                self.draw.of(&[Binary::Add, Binary::Maximum, Binary::Add, Binary::Minimum, Binary::Multiply])
            }
            _ => self.draw.of(&[
                Binary::Add,
                Binary::Maximum,
                Binary::Minimum,
                Binary::Multiply,
                Binary::And,
                Binary::Or,
                Binary::Xor,
            ]),
        }
    }

    pub fn reduce(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if dims.is_empty() {
            return;
        }
        let dim = if self.draw.rarely(3) { 0 } else { dims.len() - 1 };
        let kept: Vec<usize> = (0..dims.len()).filter(|d| *d != dim).map(|d| dims[d]).collect();
        if dtype.format().is_some_and(Format::has_infinities) && self.draw.rarely(3) {
            let largest = self.draw.below(3) > 0;
            let result = 1 - self.draw.below(2);
            let gives = if result == 0 { dtype } else { DType::S32 };
            self.add(Op::ArgExtreme { dim, largest, result }, &[x], gives, &kept);
            return;
        }
        let binary = self.reducer(dtype);
        let init = self.init(binary, dtype, false);
        let reducer = match self.draw.below(8) {
            6 if dtype.is_float() => Reducer::SquareSum,
            7 if dtype != DType::Pred => Reducer::Magnitude,
            _ => Reducer::Binary(binary),
        };
        if self.draw.rarely(8) {
            let all = (0..dims.len()).collect();
            self.add(Op::Reduce { dims: all, reducer }, &[x, init], dtype, &[]);
            return;
        }
        let reduced = self.add(Op::Reduce { dims: vec![dim], reducer }, &[x, init], dtype, &kept);
        if self.draw.below(2) == 0 {
            let along = (0..dims.len()).filter(|d| *d != dim).collect();
            self.add(Op::Broadcast { dims: along }, &[reduced], dtype, &dims);
        }
    }

    pub fn window(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if dims.is_empty() {
            return;
        }
        let binary = self.reducer(dtype);
        let init = self.init(binary, dtype, true);
        let whole = Window { size: 1, stride: 1, low: 0, high: 0, base_dilation: 1, window_dilation: 1 };
        let mut windows = vec![whole; dims.len()];
        let last = dims.len() - 1;
        let n = dims[last];
        if n == 0 {
            return;
        }
        windows[last] = match self.draw.below(3) {
            0 => Window { size: n, low: n as i64 - 1, ..whole },
            1 => Window { size: n, high: n as i64 - 1, ..whole },
            _ => Window {
                size: 1 + self.draw.below(3),
                stride: 1 + self.draw.below(2),
                low: self.draw.below(3) as i64,
                high: self.draw.below(3) as i64,
                base_dilation: 1 + self.draw.below(2),
                window_dilation: 1 + self.draw.below(2),
            },
        };
        let w = windows[last];
        let padded = ((n - 1) * w.base_dilation + 1) as i64 + w.low + w.high;
        let extent = ((w.size - 1) * w.window_dilation + 1) as i64;
        if padded < extent {
            return;
        }
        let mut out = dims.clone();
        out[last] = ((padded - extent) as usize) / w.stride + 1;
        self.add(Op::Window { windows, binary }, &[x, init], dtype, &out);
    }

    pub fn order(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if dims.is_empty() || dtype == DType::Pred {
            return;
        }
        let last = dims.len() - 1;
        if dims[last] > 0 && self.draw.rarely(3) {
            let k = 1 + self.draw.below(dims[last]);
            let result = self.draw.below(2);
            let gives = if result == 0 { dtype } else { DType::S32 };
            let largest = self.draw.below(4) > 0;
            let out = [&dims[..last], &[k]].concat();
            self.add(Op::TopK { k, largest, result }, &[x], gives, &out);
            return;
        }
        let float = dtype.is_float();
        let mut operands = vec![x];
        let carried = self.draw.below(3);
        if carried == 1 {
            operands.push(self.add(Op::Iota { dim: last }, &[], DType::S32, &dims));
        } else if carried == 2 {
            operands.push(self.like(x));
        }
        let kinds = [Kind::Partial, Kind::Total, Kind::Canonical, Kind::Magnitude, Kind::Ties];
        let kind = match self.draw.of(&kinds) {
            Kind::Total | Kind::Canonical if !float => Kind::Partial,
            // As JAX writes it, it has a NaN and a zero of the type.
            Kind::Canonical if matches!(dtype, DType::F4E2M1FN | DType::F8E8M0FNU) => Kind::Total,
            Kind::Ties if operands.len() == 1 => Kind::Partial,
            kind => kind,
        };
        let comparator = Comparator { kind, descending: self.draw.rarely(2) };
        let (stable, result) = (self.draw.below(3) > 0, self.draw.below(operands.len()));
        let gives = self.nodes[operands[result]].dtype;
        self.add(Op::Sort { dim: last, stable, comparator, result }, &operands, gives, &dims);
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn movement(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if dims.is_empty() || dims.contains(&0) {
            return;
        }
        let (rank, last) = (dims.len(), dims.len() - 1);
        let n = dims[last];
        match self.draw.below(9) {
            0 => {
                self.add(Op::Reverse { dims: vec![last] }, &[x], dtype, &dims);
            }
            1 => {
                let (mut start, mut limit, mut stride) = (vec![0; rank], dims.clone(), vec![1; rank]);
                start[last] = self.draw.below(n);
                limit[last] = start[last] + 1 + self.draw.below(n - start[last]);
                stride[last] = 1 + self.draw.below(2);
                let mut out = dims.clone();
                out[last] = (limit[last] - start[last]).div_ceil(stride[last]);
                self.add(Op::Slice { start, limit, stride }, &[x], dtype, &out);
            }
            2 if 2 * dims.iter().product::<usize>() <= LARGEST => {
                let y = self.like(x);
                let mut out = dims.clone();
                out[last] *= 2;
                self.add(Op::Concatenate { dim: last }, &[x, y], dtype, &out);
            }
            3 => {
                let fill = self.leaf(dtype, &[]);
                let (mut low, mut high, mut interior) = (vec![0; rank], vec![0; rank], vec![0; rank]);
                low[last] = self.draw.below(4) as i64 - 1;
                high[last] = self.draw.below(3) as i64;
                interior[last] = self.draw.below(2);
                let size = n as i64 + ((n - 1) * interior[last]) as i64 + low[last] + high[last];
                if size > 0 && size as usize <= LARGEST {
                    let mut out = dims.clone();
                    out[last] = size as usize;
                    self.add(Op::Pad { low, high, interior }, &[x, fill], dtype, &out);
                }
            }
            4 if rank == 2 => {
                let out = [dims[1], dims[0]];
                self.add(Op::Transpose { permutation: vec![1, 0] }, &[x], dtype, &out);
            }
            5 => {
                let starts: Vec<usize> = (0..rank).map(|_| self.start()).collect();
                let mut sizes = dims.clone();
                sizes[last] = 1 + self.draw.below(n);
                let operands = [&[x], starts.as_slice()].concat();
                self.add(Op::DynamicSlice { sizes: sizes.clone() }, &operands, dtype, &sizes);
            }
            6 => {
                let mut sizes = dims.clone();
                sizes[last] = 1 + self.draw.below(n);
                let update = self.leaf(dtype, &sizes);
                let index = self.start();
                let starts = vec![index; rank];
                let operands = [&[x, update], starts.as_slice()].concat();
                self.add(Op::DynamicUpdateSlice, &operands, dtype, &dims);
            }
            7 => {
                let count = 1 + self.draw.below(3);
                let of = self.draw.of(INTEGERS);
                let made = self.pick(|node| node.dtype.is_integer() && node.dims.len() == 1 && node.len() <= 8);
                let rows = match made {
                    Some(made) => made,
                    None => self.leaf(of, &[count]),
                };
                let out = [&[self.nodes[rows].len()], &dims[1..]].concat();
                if out.iter().product::<usize>() <= LARGEST {
                    self.add(Op::Take, &[x, rows], dtype, &out);
                }
            }
            _ => {
                let out = [dims.iter().product()];
                self.add(Op::Reshape, &[x], dtype, &out);
            }
        }
    }

    /// A scalar integer.
    fn start(&mut self) -> usize {
        if let Some(made) = self.pick(|n| n.dtype.is_integer() && n.dims.is_empty()) {
            return made;
        }
        let dtype = self.draw.of(INTEGERS);
        self.leaf(dtype, &[])
    }

    pub fn integers(&mut self) {
        if self.draw.rarely(6) {
            let (p, dims) = (self.predicate(), self.main.clone());
            let q = self.like(p);
            match self.draw.below(4) {
                0 => self.add(Op::Unary(Unary::Not), &[p], DType::Pred, &dims),
                1 => self.binary(Binary::And, p, q),
                2 => self.binary(Binary::Or, p, q),
                _ => self.binary(Binary::Xor, p, q),
            };
            return;
        }
        if self.draw.rarely(6) {
            let (dims, dtype) = (self.main.clone(), self.draw.of(&[DType::F32, DType::S64, DType::BF16, DType::U8]));
            self.add(Op::Iota { dim: dims.len() - 1 }, &[], dtype, &dims);
            return;
        }
        let x = self.integer();
        if self.draw.rarely(4) {
            let unary = self.draw.of(&[
                Unary::Negate,
                Unary::Abs,
                Unary::Sign,
                Unary::Not,
                Unary::CountLeadingZeros,
                Unary::PopulationCount,
            ]);
            self.unary(unary, x);
            return;
        }
        let y = self.like(x);
        let binary = self.draw.of(&[
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
            Binary::Power,
            Binary::Remainder,
            Binary::ShiftLeft,
            Binary::ShiftRightArithmetic,
            Binary::ShiftRightLogical,
            Binary::Maximum,
            Binary::Minimum,
            Binary::And,
            Binary::Or,
            Binary::Xor,
        ]);
        self.binary(binary, x, y);
    }

    /// A loop or a conditional.
    pub fn branch(&mut self) {
        let x = self.float();
        let y = self.like(x);
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if self.draw.rarely(2) {
            let op = Op::While { trips: self.draw.below(4), binary: self.draw.of(FLOAT_BINARIES) };
            self.add(op, &[x, y], dtype, &dims);
            return;
        }
        let p = match self.pick(|n| n.dtype == DType::Pred && n.dims.is_empty()) {
            Some(p) => p,
            None => self.leaf(DType::Pred, &[]),
        };
        let functions = [Unary::Negate, Unary::Exponential, Unary::Log, Unary::Abs];
        let functions = [self.draw.of(&functions), self.draw.of(&functions)];
        self.add(Op::Conditional(functions), &[p, x, y], dtype, &dims);
    }

    pub fn dot(&mut self) {
        let x = self.float();
        let y = self.like(x);
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        let of = |contracting, batch| Op::Dot { lhs_contracting: contracting, rhs_contracting: contracting, batch };
        match dims.as_slice() {
            [_] => self.add(of(0, false), &[x, y], dtype, &[]),
            [_, n] if self.draw.rarely(3) => self.add(of(0, false), &[x, y], dtype, &[*n, *n]),
            [m, _] if self.draw.rarely(3) => self.add(of(1, true), &[x, y], dtype, &[*m]),
            [m, _] => self.add(of(1, false), &[x, y], dtype, &[*m, *m]),
            _ => x,
        };
    }
}
