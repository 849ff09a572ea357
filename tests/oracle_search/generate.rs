//! Random programs: a few operations over arrays of one main shape, most of them over what was made last.

use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::DType;

use super::ast::{Comparator, Graph, Kind, Node, Op, Reducer, Window};
use super::draw::Draw;
use super::leaf;
use super::template;

pub const FLOATS: &[DType] = &[DType::F32, DType::F64, DType::BF16, DType::F16, DType::F8E5M2, DType::F8E4M3FN];
const INTEGERS: &[DType] =
    &[DType::S32, DType::S64, DType::U64, DType::U32, DType::S8, DType::U8, DType::S16, DType::U16];
const DIRECTIONS: &[Compare] = &[Compare::Lt, Compare::Gt, Compare::Eq, Compare::Ne, Compare::Le, Compare::Ge];
/// Arrays grow no larger.
const LARGEST: usize = 64;

/// A program in the making.
pub struct Generator<'d> {
    pub draw: &'d mut Draw,
    pub nodes: Vec<Node>,
    /// The dims of most arrays.
    pub main: Vec<usize>,
}

/// A program from a source of choices.
pub fn graph(draw: &mut Draw) -> Graph {
    let main = match draw.below(8) {
        0 => vec![1],
        1 => vec![2],
        2 => vec![3],
        3 => vec![2, 2],
        4 => vec![1, 4],
        5 => vec![5],
        6 => vec![2, 3],
        _ if draw.rarely(8) => draw.of(&[[0, 2], [2, 0]]).to_vec(),
        _ => vec![draw.of(&[8, 12, 16, 30])],
    };
    let mut generator = Generator { draw, nodes: Vec::new(), main };
    if generator.draw.below(3) > 0 {
        template::any(&mut generator);
    }
    for _ in 0..1 + generator.draw.below(6) {
        generator.step();
    }
    generator.finish()
}

impl Generator<'_> {
    fn finish(self) -> Graph {
        let Generator { draw, nodes, .. } = self;
        let mut outputs = vec![nodes.len() - 1];
        let computed: Vec<usize> = (0..nodes.len() - 1).filter(|n| !matches!(nodes[*n].op, Op::Leaf { .. })).collect();
        for _ in 0..draw.below(3) {
            let more = if computed.is_empty() { 0 } else { computed[computed.len() - 1 - draw.below(computed.len())] };
            if !outputs.contains(&more) {
                outputs.push(more);
            }
        }
        Graph { nodes, outputs }.pruned()
    }

    pub fn add(&mut self, op: Op, operands: &[usize], dtype: DType, dims: &[usize]) -> usize {
        self.nodes.push(Node { op, operands: operands.to_vec(), dtype, dims: dims.to_vec() });
        self.nodes.len() - 1
    }

    pub fn leaf(&mut self, dtype: DType, dims: &[usize]) -> usize {
        let codes = leaf::codes(self.draw, dtype, dims.iter().product());
        let parameter = self.draw.below(2) == 0;
        self.leaf_of(codes, parameter, dtype, dims)
    }

    /// A leaf with these elements. Constants of HLO text have no NaN but one, so other NaNs are parameters.
    pub fn leaf_of(&mut self, codes: Vec<u64>, parameter: bool, dtype: DType, dims: &[usize]) -> usize {
        let nan = |code: &u64| {
            dtype.format().is_some_and(|f| f.decode(*code).is_nan()) && *code != leaf::code(dtype, f64::NAN)
        };
        let parameter = parameter || codes.is_empty() || codes.iter().any(nan);
        self.add(Op::Leaf { codes, parameter }, &[], dtype, dims)
    }

    /// A scalar spread over the main dims.
    pub fn splat(&mut self, dtype: DType, value: f64) -> usize {
        let dims = self.main.clone();
        let scalar = self.leaf_of(vec![leaf::code(dtype, value)], false, dtype, &[]);
        self.add(Op::Broadcast { dims: vec![] }, &[scalar], dtype, &dims)
    }

    pub fn unary(&mut self, unary: Unary, x: usize) -> usize {
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        let dtype = if unary == Unary::IsFinite { DType::Pred } else { dtype };
        self.add(Op::Unary(unary), &[x], dtype, &dims)
    }

    pub fn binary(&mut self, binary: Binary, x: usize, y: usize) -> usize {
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        self.add(Op::Binary(binary), &[x, y], dtype, &dims)
    }

    /// A reduction of the last dim, spread again over the operand's dims.
    pub fn reduced(&mut self, binary: Binary, init: f64, x: usize) -> usize {
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        let last = dims.len() - 1;
        let init = self.leaf_of(vec![leaf::code(dtype, init)], false, dtype, &[]);
        let reducer = Reducer::Binary(binary);
        let reduced = self.add(Op::Reduce { dims: vec![last], reducer }, &[x, init], dtype, &dims[..last]);
        self.add(Op::Broadcast { dims: (0..last).collect() }, &[reduced], dtype, &dims)
    }

    /// An earlier node of this kind, the last one often.
    fn pick(&mut self, wanted: impl Fn(&Node) -> bool) -> Option<usize> {
        let found: Vec<usize> = (0..self.nodes.len()).rev().filter(|n| wanted(&self.nodes[*n])).collect();
        if found.is_empty() {
            return None;
        }
        let last = self.draw.below(2) == 0;
        Some(if last { found[0] } else { found[self.draw.below(found.len())] })
    }

    /// Floats of the main dims.
    pub fn float(&mut self) -> usize {
        let main = self.main.clone();
        match self.pick(|n| n.dtype.is_float() && n.dims == main) {
            Some(known) => known,
            None => {
                let dtype = self.draw.of(FLOATS);
                self.leaf(dtype, &main)
            }
        }
    }

    fn integer(&mut self) -> usize {
        let main = self.main.clone();
        match self.pick(|n| n.dtype.is_integer() && n.dims == main) {
            Some(known) => known,
            None => {
                let dtype = self.draw.of(INTEGERS);
                self.leaf(dtype, &main)
            }
        }
    }

    fn any(&mut self) -> usize {
        match self.draw.below(6) {
            0 => self.integer(),
            1 => self.predicate(),
            _ => self.float(),
        }
    }

    fn predicate(&mut self) -> usize {
        let main = self.main.clone();
        self.pick(|n| n.dtype == DType::Pred && n.dims == main).unwrap_or_else(|| self.leaf(DType::Pred, &main))
    }

    /// Another operand of the same shape: a leaf, or what there is.
    pub fn like(&mut self, x: usize) -> usize {
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if self.draw.below(2) == 0 {
            return self.leaf(dtype, &dims);
        }
        self.pick(|n| n.dtype == dtype && n.dims == dims).unwrap_or(x)
    }

    /// A scalar that changes nothing in a reduction, or any.
    fn init(&mut self, binary: Binary, dtype: DType, neutral: bool) -> usize {
        if !neutral && self.draw.rarely(4) {
            return self.leaf(dtype, &[]);
        }
        let ones = u64::MAX >> (64 - dtype.bits());
        let top = 1u64 << (dtype.bits() - 1);
        let code = match (binary, dtype) {
            (Binary::Add | Binary::Or | Binary::Xor, _) => 0,
            (Binary::Multiply, dtype) if dtype.is_float() => leaf::code(dtype, 1.0),
            (Binary::Maximum, DType::Pred) => 0,
            (Binary::Multiply | Binary::Minimum, DType::Pred) => 1,
            (Binary::Multiply, _) => 1,
            (Binary::Maximum, dtype) if dtype.is_float() => leaf::code(dtype, f64::NEG_INFINITY),
            (Binary::Minimum, dtype) if dtype.is_float() => leaf::code(dtype, f64::INFINITY),
            (Binary::Maximum, dtype) => {
                if dtype.is_signed() {
                    top
                } else {
                    0
                }
            }
            (Binary::Minimum, dtype) => {
                if dtype.is_signed() {
                    top - 1
                } else {
                    ones
                }
            }
            (_, DType::Pred) => 1,
            _ => ones,
        };
        // A format without infinities has a number at its end.
        let nan = dtype.format().is_some_and(|f| f.decode(code).is_nan());
        let code = match (nan, dtype.format()) {
            (true, Some(format)) => {
                leaf::code(dtype, if binary == Binary::Maximum { -format.max_finite() } else { format.max_finite() })
            }
            _ => code,
        };
        self.leaf_of(vec![code], false, dtype, &[])
    }

    /// One more operation.
    fn step(&mut self) {
        match self.draw.below(20) {
            0..=3 => {
                let x = self.float();
                let unary = self.draw.of(&[
                    Unary::Negate,
                    Unary::Abs,
                    Unary::Exponential,
                    Unary::Log,
                    Unary::Sqrt,
                    Unary::Tanh,
                    Unary::Logistic,
                    Unary::IsFinite,
                    Unary::Rsqrt,
                    Unary::ExponentialMinusOne,
                    Unary::LogPlusOne,
                    Unary::Sign,
                    Unary::Floor,
                    Unary::Ceil,
                    Unary::RoundNearestAfz,
                    Unary::RoundNearestEven,
                ]);
                self.unary(unary, x);
            }
            4..=6 => {
                let (x, binary) = (self.float(), self.draw.of(FLOAT_BINARIES));
                let y = self.like(x);
                let (x, y) = if self.draw.rarely(3) { (y, x) } else { (x, y) };
                self.binary(binary, x, y);
            }
            7 | 8 => self.compare(),
            9 => self.choose(),
            10 | 11 => self.convert(),
            12 | 13 => self.reduce(),
            14 => self.window(),
            15 => self.order(),
            16 => self.movement(),
            17 => self.integers(),
            18 => match self.draw.below(4) {
                0 => self.branch(),
                _ => self.dot(),
            },
            _ => {
                template::any(self);
            }
        }
    }

    fn compare(&mut self) {
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

    fn choose(&mut self) {
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

    fn convert(&mut self) {
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
                let op = if dtype.is_float() {
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

    fn reduce(&mut self) {
        let x = self.any();
        let Node { dtype, dims, .. } = self.nodes[x].clone();
        if dims.is_empty() {
            return;
        }
        let dim = if self.draw.rarely(3) { 0 } else { dims.len() - 1 };
        let kept: Vec<usize> = (0..dims.len()).filter(|d| *d != dim).map(|d| dims[d]).collect();
        if dtype.is_float() && dtype != DType::F8E4M3FN && self.draw.rarely(3) {
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

    fn window(&mut self) {
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

    fn order(&mut self) {
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
            Kind::Ties if operands.len() == 1 => Kind::Partial,
            kind => kind,
        };
        let comparator = Comparator { kind, descending: self.draw.rarely(2) };
        let (stable, result) = (self.draw.below(3) > 0, self.draw.below(operands.len()));
        let gives = self.nodes[operands[result]].dtype;
        self.add(Op::Sort { dim: last, stable, comparator, result }, &operands, gives, &dims);
    }

    fn movement(&mut self) {
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

    fn integers(&mut self) {
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
            let unary = self.draw.of(&[Unary::Negate, Unary::Abs, Unary::Sign, Unary::Not]);
            self.unary(unary, x);
            return;
        }
        let y = self.like(x);
        let binary = self.draw.of(&[
            Binary::Add,
            Binary::Subtract,
            Binary::Multiply,
            Binary::Divide,
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
    fn branch(&mut self) {
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

    fn dot(&mut self) {
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

pub const FLOAT_BINARIES: &[Binary] = &[
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::Remainder,
];
