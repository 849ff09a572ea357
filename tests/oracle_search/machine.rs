//! The machine against the truth, one operation at a time: on a unit of IEEE 754 each is the exact result, rounded once.

use ulpgate::ir::{Binary, CompareOrder, Unary};
use ulpgate::machine::{Mode, evaluate};
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::tensor::{DType, Tensor};

use super::ast::{Graph, Node, Op, Reducer};
use super::draw::Draw;
use super::leaf;
use super::search::{generated, program};

/// An operation as a program of its own, whose parameters are what it was given.
struct Alone {
    graph: Graph,
    /// Whether an operand was computed and has a NaN: its sign is the processor's then, and total orders depend on it.
    has_computed_nan: bool,
}

impl Alone {
    fn new(graph: &Graph, id: usize, results: &[Tensor]) -> Alone {
        let node = &graph.nodes[id];
        let given = node.operands.iter().map(|operand| {
            let data = results[*operand].data();
            let codes = (0..data.len()).map(|at| data.bits(at)).collect();
            Node { op: Op::Leaf { codes, parameter: true }, operands: Vec::new(), ..graph.nodes[*operand].clone() }
        });
        let mut nodes: Vec<Node> = given.collect();
        nodes.push(Node { operands: (0..nodes.len()).collect(), ..node.clone() });
        let is_computed = |operand: &&usize| !matches!(graph.nodes[**operand].op, Op::Leaf { .. });
        let has_nan = |operand: &usize| floats(&results[*operand]).any(f64::is_nan);
        let has_computed_nan = node.operands.iter().filter(is_computed).any(has_nan);
        Alone { graph: Graph { outputs: vec![nodes.len() - 1], nodes }, has_computed_nan }
    }

    fn node(&self) -> &Node {
        &self.graph.nodes[self.graph.outputs[0]]
    }

    /// Whether every result is the exact one, rounded once; of wide sums and products of small integers too.
    fn is_exact(&self) -> bool {
        let (node, from) = (self.node(), self.graph.nodes[0].dtype);
        let is_float = node.dtype.is_float();
        let of_small = || {
            let is_wide = matches!(node.dtype, DType::F32 | DType::F64);
            is_wide && self.graph.arguments().iter().all(|given| floats(given).all(is_special_or_small))
        };
        let of_terms = |binary: Binary| match binary {
            Binary::Maximum | Binary::Minimum => true,
            Binary::Power | Binary::Atan2 => !is_float,
            _ => !is_float || of_small(),
        };
        match &node.op {
            Op::Unary(unary) => !from.is_float() || is_exact(*unary),
            // Below the smallest number of this type a product of f32 is 0, and no number (FACTS 11.2).
            Op::Binary(_) if node.dtype == DType::F8E8M0FNU => false,
            Op::Binary(Binary::Power | Binary::Atan2) | Op::Conditional(_) => !is_float,
            // Over the real numbers it changes nothing.
            Op::ReducePrecision { .. } => false,
            Op::Reduce { reducer: Reducer::Binary(binary), .. }
            | Op::Window { binary, .. }
            | Op::While { binary, .. } => of_terms(*binary),
            Op::Reduce { .. } | Op::Dot { .. } => of_terms(Binary::Add),
            Op::Sort { stable, .. } => *stable && !self.has_computed_nan,
            Op::TopK { .. } | Op::Compare { order: CompareOrder::Total, .. } => !self.has_computed_nan,
            _ => true,
        }
    }

    /// The first element that is not the exact one.
    fn fault(&self, result: &Tensor) -> Option<String> {
        let truth = Oracle::default().evaluate(&program(&self.graph), &self.graph.arguments(), &[Demand::Stored]);
        let truth = truth.ok()?.outputs.remove(0);
        let is_wrong = |at: &usize| match &truth {
            TruthTensor::Skipped => false,
            TruthTensor::Float(float) => {
                let (exact, own) = (float.rounded[*at], result.data().get_f64(*at));
                let is_same = exact.to_bits() == own.to_bits() || exact.is_nan() && own.is_nan();
                !is_same && !float.open.contains(at)
            }
            TruthTensor::Integer { values, .. } => values[*at].is_some_and(|exact| exact != result.data().get_i64(*at)),
            TruthTensor::Predicate { values, .. } => {
                values[*at].is_some_and(|exact| i64::from(exact) != result.data().get_i64(*at))
            }
        };
        let at = (0..result.len()).find(is_wrong)?;
        Some(format!("[{at}] of {result:?} is not exact: {:?} of {:?}", self.node().op, self.graph.arguments()))
    }
}

fn floats(tensor: &Tensor) -> impl Iterator<Item = f64> {
    let count = if tensor.dtype().is_float() { tensor.len() } else { 0 };
    (0..count).map(|at| tensor.data().get_f64(at))
}

fn is_special_or_small(number: f64) -> bool {
    !number.is_finite() || number.abs() <= 2.0 && number.fract() == 0.0
}

fn is_exact(unary: Unary) -> bool {
    use Unary::{Abs, Ceil, Floor, IsFinite, Negate, Not, RoundNearestAfz, RoundNearestEven, Sign, Sqrt};
    matches!(unary, Abs | Ceil | Floor | IsFinite | Negate | Not | RoundNearestAfz | RoundNearestEven | Sign | Sqrt)
}

/// A drawn program, every second one of zeros, infinities, NaN and small integers.
fn drawn(number: u64) -> Graph {
    let mut graph = generated(11, number).with_parameters();
    let mut draw = Draw::seeded(12, number);
    for node in graph.nodes.iter_mut().filter(|node| number.is_multiple_of(2) && node.dtype.is_float()) {
        let Op::Leaf { codes, .. } = &mut node.op else { continue };
        for code in codes {
            let special = [0.0, -0.0, -0.0, 1.0, -1.0, 2.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            *code = leaf::code(node.dtype, draw.of(&special));
        }
    }
    graph.outputs = (0..graph.nodes.len()).collect();
    graph
}

#[test]
fn each_operation_of_the_machine_is_the_exact_one_rounded() {
    let mode: Mode = "cpu/f32/off".parse().unwrap();
    let (mut faults, mut judged) = (Vec::new(), 0);
    for number in 0..super::setting("ULPGATE_SEARCH_OPERATIONS", 4000) {
        let graph = drawn(number);
        let results = evaluate(&program(&graph), &mode, &graph.arguments()).unwrap();
        for (id, result) in results.iter().enumerate() {
            let is_given = matches!(graph.nodes[id].op, Op::Leaf { .. });
            let alone = Alone::new(&graph, id, &results);
            if is_given || !alone.is_exact() {
                continue;
            }
            judged += result.len();
            faults.extend(alone.fault(result).map(|fault| format!("program {number}: {fault}")));
        }
    }
    faults.truncate(8);
    assert!(faults.is_empty() && judged > 0, "{}", faults.join("\n"));
}
