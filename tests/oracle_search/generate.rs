//! Random programs: a few operations over arrays of one main shape, most of them over what was made last.

use ulpgate::ir::{Binary, Unary};
use ulpgate::tensor::DType;

use super::ast::{Graph, Node, Op, Reducer};
use super::draw::Draw;
use super::leaf;
use super::template;

pub const FLOATS: &[DType] = {
    use DType::*;
    &[
        F32,
        F64,
        BF16,
        F16,
        F8E5M2,
        F8E4M3FN,
        F32,
        F64,
        BF16,
        F8E4M3,
        F8E3M4,
        F8E4M3FNUZ,
        F8E4M3B11FNUZ,
        F8E5M2FNUZ,
        F8E8M0FNU,
        F4E2M1FN,
    ]
};
pub const INTEGERS: &[DType] = {
    use DType::*;
    &[S32, S64, U64, U32, S8, U8, S16, U16, S32, U32, S1, S2, S4, U1, U2, U4]
};
/// Arrays grow no larger.
pub const LARGEST: usize = 64;

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
    pub fn pick(&mut self, wanted: impl Fn(&Node) -> bool) -> Option<usize> {
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

    pub fn integer(&mut self) -> usize {
        let main = self.main.clone();
        match self.pick(|n| n.dtype.is_integer() && n.dims == main) {
            Some(known) => known,
            None => {
                let dtype = self.draw.of(INTEGERS);
                self.leaf(dtype, &main)
            }
        }
    }

    pub fn any(&mut self) -> usize {
        match self.draw.below(6) {
            0 => self.integer(),
            1 => self.predicate(),
            _ => self.float(),
        }
    }

    pub fn predicate(&mut self) -> usize {
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
    pub fn init(&mut self, binary: Binary, dtype: DType, neutral: bool) -> usize {
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
                    Unary::Cbrt,
                    Unary::Cosine,
                    Unary::Erf,
                    Unary::Sine,
                    Unary::Tan,
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
}

pub const FLOAT_BINARIES: &[Binary] = &[
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::Divide,
    Binary::Maximum,
    Binary::Minimum,
    Binary::Remainder,
    Binary::Atan2,
    Binary::Power,
];
