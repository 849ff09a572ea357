//! Programs against the judge: what fails, made small, and what stays undecided, by cause.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use ulpgate::hlo::{lower, parse};
use ulpgate::ir::Program;
use ulpgate::oracle::{Demand, Oracle, OracleError, Rung, Truth};

use super::ast::{Graph, Op};
use super::draw::Draw;
use super::generate;
use super::judge;
use super::number::World;
use super::verdict::{Answer, Verdict, answers};

/// The name of the way to start that users have.
const DEFAULT: &str = "default";
/// Bits of the judge's first look.
const JUDGE_BITS: u32 = 320;
/// Bits of its second, which sees more than the oracle's last: for what the oracle answers and the first leaves open.
const MOST_JUDGE_BITS: u32 = 4608;

/// Every way to start that is tried, and the way that users have. All stop before the default's 4096 bits: what is open
/// by then mostly stays so, and would take most of the time.
pub fn oracles() -> [(&'static str, Oracle); 7] {
    use Rung::{Intervals, Mpfr, Pairs};
    let of = |first, start_bits, max_bits| Oracle { first: Some(first), start_bits, max_bits };
    [
        ("mpfr from 8", of(Mpfr, 8, 1024)),
        ("mpfr from 24 to 200", of(Mpfr, 24, 200)),
        ("mpfr from 200", of(Mpfr, 200, 800)),
        ("intervals, mpfr of 8", of(Intervals, 8, 8)),
        ("pairs, mpfr of 8", of(Pairs, 8, 8)),
        ("intervals, mpfr from 24", of(Intervals, 24, 512)),
        (DEFAULT, Oracle { max_bits: 1024, ..Oracle::default() }),
    ]
}

/// Why a program fails.
#[derive(Clone, Debug)]
pub struct Failure {
    pub oracle: &'static str,
    pub demand: Demand,
    /// The result that is wrong; none if the oracle panics.
    pub output: Option<usize>,
    pub what: String,
}

/// Counts over programs.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub programs: u64,
    /// Answers equal to the judge's.
    pub right: u64,
    /// Answers where the judge does not know.
    pub unjudged: u64,
    /// Results that the default oracle leaves undecided by cause: those that the judge knows, and the others.
    pub undecided: BTreeMap<String, [u64; 2]>,
    /// Programs that are refused, by reason.
    pub refused: BTreeMap<String, u64>,
    /// Programs with a failure: their number in the seed.
    pub failed: Vec<u64>,
}

impl Tally {
    pub fn merge(mut self, other: Tally) -> Tally {
        self.programs += other.programs;
        self.right += other.right;
        self.unjudged += other.unjudged;
        for (cause, counts) in other.undecided {
            let own = self.undecided.entry(cause).or_default();
            own.iter_mut().zip(counts).for_each(|(own, count)| *own += count);
        }
        for (reason, count) in other.refused {
            *self.refused.entry(reason).or_default() += count;
        }
        self.failed.extend(other.failed);
        self
    }
}

/// The program that `ulpgate` reads from the printed text.
pub fn program(graph: &Graph) -> Program {
    let text = graph.text();
    let module = parse(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    lower(&module).unwrap_or_else(|error| panic!("{error} in\n{text}")).program
}

/// The judge's verdicts on the results.
pub fn verdicts(graph: &Graph, bits: u32) -> Vec<Verdict> {
    let mut world = World::new(bits);
    let values = judge::evaluate(&mut world, graph);
    graph.outputs.iter().map(|o| Verdict::new(&mut world, &graph.nodes[*o], &values[*o])).collect()
}

/// The oracle's answer, or the message with which it panics.
pub fn run(
    oracle: &Oracle,
    program: &Program,
    graph: &Graph,
    demand: Demand,
) -> Result<Result<Truth, OracleError>, String> {
    let demands = vec![demand; graph.outputs.len()];
    let arguments = graph.arguments();
    let caught = catch_unwind(AssertUnwindSafe(|| oracle.evaluate(program, &arguments, &demands)));
    caught.map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
    })
}

/// Compares every oracle's answers with the judge's, up to the first failure.
pub fn check(graph: &Graph, tally: &mut Tally) -> Option<Failure> {
    check_some(graph, tally, |_, _| true)
}

/// [`check`] of the oracles and demands that are `asked`.
fn check_some(graph: &Graph, tally: &mut Tally, asked: impl Fn(&str, Demand) -> bool) -> Option<Failure> {
    let program = program(graph);
    let mut verdicts = self::verdicts(graph, JUDGE_BITS);
    let mut judge_bits = JUDGE_BITS;
    tally.programs += 1;
    for (name, oracle) in oracles() {
        for demand in [Demand::Rounded, Demand::Order].into_iter().filter(|demand| asked(name, *demand)) {
            let failure = |output, what| Some(Failure { oracle: name, demand, output, what });
            let truth = match run(&oracle, &program, graph, demand) {
                Err(panic) => return failure(None, format!("panic: {panic}")),
                Ok(Err(OracleError::NoMeaning { opcode, why, .. })) => {
                    *tally.refused.entry(format!("{opcode}: {why}")).or_default() += 1;
                    continue;
                }
                Ok(Err(error)) => return failure(None, format!("error: {error}")),
                Ok(Ok(truth)) => truth,
            };
            for (at, output) in truth.outputs.iter().enumerate() {
                let mut open = [0, 0];
                let mut all = answers(&verdicts[at], output);
                if judge_bits < MOST_JUDGE_BITS && all.contains(&Answer::Unjudged) {
                    judge_bits = MOST_JUDGE_BITS;
                    verdicts = self::verdicts(graph, judge_bits);
                    all = answers(&verdicts[at], output);
                }
                for answer in all {
                    match answer {
                        Answer::Right => tally.right += 1,
                        Answer::Unjudged => tally.unjudged += 1,
                        Answer::Undecided { known } => open[usize::from(!known)] += 1,
                        Answer::Wrong(what) => return failure(Some(graph.outputs[at]), what),
                    }
                }
                if name == DEFAULT && open != [0, 0] {
                    let counts = tally.undecided.entry(cause(graph, graph.outputs[at])).or_default();
                    counts.iter_mut().zip(open).for_each(|(own, count)| *own += count);
                }
            }
        }
    }
    None
}

/// The first operation on the way to an output that has no decided result of its own: its name and type.
fn cause(graph: &Graph, output: usize) -> String {
    // What stays open does so far below the last precision.
    let oracle = Oracle { max_bits: 256, ..Oracle::default() };
    let alone = Graph { nodes: graph.nodes.clone(), outputs: vec![output] }.pruned();
    let nodes = &alone.nodes;
    let describe = |id: usize| format!("{} {}", nodes[id].op.name(), nodes[id].dtype);
    for id in 0..nodes.len() {
        if matches!(nodes[id].op, Op::Leaf { .. }) {
            continue;
        }
        let one = Graph { nodes: nodes.clone(), outputs: vec![id] }.pruned();
        let open = match run(&oracle, &program(&one), &one, Demand::Rounded) {
            Ok(Ok(truth)) => truth.stats.undecided,
            _ => 1,
        };
        if open > 0 {
            return describe(id);
        }
    }
    format!("order: {}", describe(nodes.len() - 1))
}

/// One program of a seed.
pub fn generated(seed: u64, number: u64) -> Graph {
    generate::graph(&mut Draw::seeded(seed, number))
}

/// The subject of a failure, so that a smaller program fails in the same way.
fn kind(graph: &Graph, failure: &Failure) -> String {
    match failure.output {
        None => failure.what.chars().take(40).collect(),
        Some(output) => format!("{} {:?}", graph.nodes[output].op.name(), failure.demand),
    }
}

/// A smaller program that fails in the same way: without operations and results that it does not take, with zeros and
/// ones for other operands.
pub fn reduce(graph: Graph, failure: Failure) -> (Graph, Failure) {
    let (oracle, demand) = (failure.oracle, failure.demand);
    let wanted = kind(&graph, &failure);
    let attempt = |graph: Graph| -> Option<(Graph, Failure)> {
        let failure = check_some(&graph, &mut Tally::default(), |o, d| o == oracle && d == demand)?;
        (kind(&graph, &failure) == wanted).then_some((graph, failure))
    };
    let mut best = (graph, failure);
    loop {
        let before = best.0.clone();
        for output in before.outputs.iter().filter(|_| before.outputs.len() > 1) {
            let alone = Graph { nodes: before.nodes.clone(), outputs: vec![*output] }.pruned();
            if let Some(found) = attempt(alone) {
                best = found;
                break;
            }
        }
        let mut id = best.0.nodes.len();
        while id > 0 {
            id = (id - 1).min(best.0.nodes.len() - 1);
            let node = &best.0.nodes[id];
            let like =
                |other: &usize| best.0.nodes[*other].dtype == node.dtype && best.0.nodes[*other].dims == node.dims;
            let instead: Vec<usize> = (0..id).rev().filter(like).collect();
            let found = instead.into_iter().find_map(|other| attempt(best.0.replaced(id, other)));
            best = found.unwrap_or(best);
        }
        for id in 0..best.0.nodes.len() {
            let Op::Leaf { codes, .. } = &best.0.nodes[id].op else { continue };
            let one = super::leaf::one_of(best.0.nodes[id].dtype);
            for at in 0..codes.len() {
                for simple in [0, one] {
                    let mut changed = best.0.clone();
                    let Op::Leaf { codes, .. } = &mut changed.nodes[id].op else { continue };
                    if [0, one].contains(&codes[at]) {
                        continue;
                    }
                    codes[at] = simple;
                    best = attempt(changed).unwrap_or(best);
                }
            }
        }
        if best.0 == before {
            return best;
        }
    }
}

/// A failure for people: the program, its arguments with their bits, and what is wrong.
pub fn describe(graph: &Graph, failure: &Failure) -> String {
    let mut text = format!("{:?} from `{}`: ", failure.demand, failure.oracle);
    match failure.output {
        Some(output) => text.push_str(&format!("v{output}{}\n", failure.what)),
        None => text.push_str(&format!("{}\n", failure.what)),
    }
    for (id, node) in graph.nodes.iter().enumerate() {
        if let Op::Leaf { codes, parameter: true } = &node.op {
            let data = super::ast::data(node.dtype, codes);
            let hex: Vec<String> = codes.iter().map(|c| format!("{c:#x}")).collect();
            let values: Vec<String> = match node.dtype.is_float() {
                true => (0..data.len()).map(|i| format!("{:e}", data.get_f64(i))).collect(),
                false => Vec::new(),
            };
            text.push_str(&format!("v{id} = [{}] {}\n", hex.join(", "), values.join(", ")));
        }
    }
    text.push_str(&graph.text());
    text
}
