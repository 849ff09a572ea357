//! Programs of the search, a tree of their own.

use ulpgate::ir::{Binary, Compare, CompareOrder, Unary};
use ulpgate::tensor::{DType, Data, Tensor};

/// A program: nodes over earlier nodes, of which some are its results.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub nodes: Vec<Node>,
    pub outputs: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub op: Op,
    pub operands: Vec<usize>,
    pub dtype: DType,
    pub dims: Vec<usize>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// A parameter or a constant, by the codes of its elements.
    Leaf {
        codes: Vec<u64>,
        parameter: bool,
    },
    Iota {
        dim: usize,
    },
    Convert,
    BitcastConvert,
    ReducePrecision {
        exponent_bits: u32,
        mantissa_bits: u32,
    },
    Copy,
    Barrier,
    Broadcast {
        dims: Vec<usize>,
    },
    Reshape,
    Transpose {
        permutation: Vec<usize>,
    },
    Slice {
        start: Vec<usize>,
        limit: Vec<usize>,
        stride: Vec<usize>,
    },
    Concatenate {
        dim: usize,
    },
    Pad {
        low: Vec<i64>,
        high: Vec<i64>,
        interior: Vec<usize>,
    },
    Reverse {
        dims: Vec<usize>,
    },
    DynamicSlice {
        sizes: Vec<usize>,
    },
    DynamicUpdateSlice,
    /// Rows of the operand, by a vector of indices.
    Take,
    Unary(Unary),
    Binary(Binary),
    Compare {
        direction: Compare,
        order: CompareOrder,
    },
    Select,
    Clamp,
    /// Operands: an array and a scalar init.
    Reduce {
        dims: Vec<usize>,
        reducer: Reducer,
    },
    /// Of one array with its positions; gives the value (0) or the position (1).
    ArgExtreme {
        dim: usize,
        largest: bool,
        result: usize,
    },
    /// Operands: an array and a scalar init that changes nothing.
    Window {
        windows: Vec<Window>,
        binary: Binary,
    },
    /// Of one key and what is carried along; gives one of them.
    Sort {
        dim: usize,
        stable: bool,
        comparator: Comparator,
        result: usize,
    },
    /// Gives the values (0) or the indices (1).
    TopK {
        k: usize,
        largest: bool,
        result: usize,
    },
    Dot {
        lhs_contracting: usize,
        rhs_contracting: usize,
        /// Whether dim 0 of both is a batch.
        batch: bool,
    },
    /// Of two arrays x and y: so many times x becomes the result of the operation on both, and y becomes x.
    While {
        trips: usize,
        binary: Binary,
    },
    /// Operands: a scalar predicate and two arrays, each for one of two functions.
    Conditional([Unary; 2]),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reducer {
    Binary(Binary),
    /// The one of larger magnitude, the first of equals. Nobody recognises it.
    Magnitude,
    /// a + b b, of floats.
    SquareSum,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub size: usize,
    pub stride: usize,
    pub low: i64,
    pub high: i64,
    pub base_dilation: usize,
    pub window_dilation: usize,
}

/// The comparison of a sort's keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comparator {
    pub kind: Kind,
    pub descending: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The float or integer comparison.
    Partial,
    /// TOTALORDER.
    Total,
    /// TOTALORDER of what `jnp.sort` makes of floats: -0 is +0, every NaN is the one.
    Canonical,
    /// By magnitude: no comparator that anybody recognises.
    Magnitude,
    /// Partial; where neither goes first, the lower of the second operand, as the TPU compiler makes a sort stable.
    Ties,
}

impl Op {
    /// The opcode with what decides about its meaning: for listings of causes.
    pub fn name(&self) -> String {
        match self {
            Op::Leaf { parameter: true, .. } => "parameter".into(),
            Op::Leaf { .. } => "constant".into(),
            Op::Iota { .. } => "iota".into(),
            Op::Convert => "convert".into(),
            Op::BitcastConvert => "bitcast-convert".into(),
            Op::ReducePrecision { .. } => "reduce-precision".into(),
            Op::Copy => "copy".into(),
            Op::Barrier => "opt-barrier".into(),
            Op::Broadcast { .. } => "broadcast".into(),
            Op::Reshape => "reshape".into(),
            Op::Transpose { .. } => "transpose".into(),
            Op::Slice { .. } => "slice".into(),
            Op::Concatenate { .. } => "concatenate".into(),
            Op::Pad { .. } => "pad".into(),
            Op::Reverse { .. } => "reverse".into(),
            Op::DynamicSlice { .. } => "dynamic-slice".into(),
            Op::DynamicUpdateSlice => "dynamic-update-slice".into(),
            Op::Take => "gather".into(),
            Op::Unary(unary) => unary.name().into(),
            Op::Binary(binary) => binary.name().into(),
            Op::Compare { direction, order: CompareOrder::Partial } => format!("compare {}", direction.name()),
            Op::Compare { direction, .. } => format!("compare {} TOTALORDER", direction.name()),
            Op::Select => "select".into(),
            Op::Clamp => "clamp".into(),
            Op::Reduce { reducer: Reducer::Binary(binary), .. } => format!("reduce {}", binary.name()),
            Op::Reduce { reducer, .. } => format!("reduce {reducer:?}"),
            Op::ArgExtreme { largest, .. } => if *largest { "argmax" } else { "argmin" }.into(),
            Op::Window { binary, .. } => format!("reduce-window {}", binary.name()),
            Op::Sort { comparator, .. } => format!("sort {:?}", comparator.kind),
            Op::TopK { .. } => "topk".into(),
            Op::Dot { .. } => "dot".into(),
            Op::While { binary, .. } => format!("while {}", binary.name()),
            Op::Conditional(_) => "conditional".into(),
        }
    }
}

impl Node {
    pub fn len(&self) -> usize {
        self.dims.iter().product()
    }
}

/// The elements with these codes.
pub fn data(dtype: DType, codes: &[u64]) -> Data {
    use half::{bf16, f16};
    macro_rules! each {
        ($variant:ident, $of:expr) => {
            Data::$variant(codes.iter().map(|code| $of(*code)).collect())
        };
    }
    match dtype {
        DType::Pred => each!(Pred, |c| c & 1 != 0),
        DType::S8 => each!(S8, |c| c as i8),
        DType::S16 => each!(S16, |c| c as i16),
        DType::S32 => each!(S32, |c| c as i32),
        DType::S64 => each!(S64, |c| c as i64),
        DType::U8 => each!(U8, |c| c as u8),
        DType::U16 => each!(U16, |c| c as u16),
        DType::U32 => each!(U32, |c| c as u32),
        DType::U64 => each!(U64, |c| c),
        DType::F16 => each!(F16, |c| f16::from_bits(c as u16)),
        DType::BF16 => each!(BF16, |c| bf16::from_bits(c as u16)),
        DType::F32 => each!(F32, |c| f32::from_bits(c as u32)),
        DType::F64 => each!(F64, f64::from_bits),
        coded => Data::Coded(coded, codes.iter().map(|code| *code as u8).collect()),
    }
}

impl Graph {
    /// The values of the parameters, in order.
    pub fn arguments(&self) -> Vec<Tensor> {
        let leaf = |node: &Node| match &node.op {
            Op::Leaf { codes, parameter: true } => Some(Tensor::new(&node.dims, data(node.dtype, codes))),
            _ => None,
        };
        self.nodes.iter().filter_map(leaf).collect()
    }

    /// Without nodes that no result needs.
    pub fn pruned(&self) -> Graph {
        let mut used = vec![false; self.nodes.len()];
        self.outputs.iter().for_each(|o| used[*o] = true);
        for id in (0..self.nodes.len()).rev() {
            if used[id] {
                self.nodes[id].operands.iter().for_each(|o| used[*o] = true);
            }
        }
        let mut moved = vec![0; self.nodes.len()];
        let mut nodes = Vec::new();
        for (id, node) in self.nodes.iter().enumerate().filter(|(id, _)| used[*id]) {
            moved[id] = nodes.len();
            let operands = node.operands.iter().map(|o| moved[*o]).collect();
            nodes.push(Node { operands, ..node.clone() });
        }
        Graph { nodes, outputs: self.outputs.iter().map(|o| moved[*o]).collect() }
    }

    /// With parameters in the place of all constants.
    pub fn with_parameters(&self) -> Graph {
        let mut graph = self.clone();
        for node in &mut graph.nodes {
            if let Op::Leaf { parameter, .. } = &mut node.op {
                *parameter = true;
            }
        }
        graph
    }

    /// With one node in the place of another, later one.
    pub fn replaced(&self, old: usize, new: usize) -> Graph {
        let mut graph = self.clone();
        let uses = graph.nodes.iter_mut().flat_map(|node| &mut node.operands).chain(&mut graph.outputs);
        uses.filter(|o| **o == old).for_each(|o| *o = new);
        graph.pruned()
    }
}
