//! Values that depend on indices and constants alone. If LLVM unrolls the loop over them, it folds them at compile
//! time, and rounds each operation.

use std::collections::{HashMap, HashSet};

use crate::ir::{Binary, Class, Computation, Fusion, Instruction, Op, Unary, ValueId};
use crate::tensor::DType;

use super::LANES;
use super::innermost::{Loops, spreads};
use super::invariant::{
    FoldedColumns, Invariants, extents_spread, is_added_to_more, readers, stand_in_the_innermost_loop,
};
use super::sum_weight::{OF_REGISTER_OF_CALLS as CALL, weight};
use super::unroll::{ANALYZED, LOOP, is_small, is_worth_unrolling};
use super::ways::element_read;

/// A function of f32 in columns that LLVM has folded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoldedFunction {
    /// The folded columns.
    pub columns: FoldedColumns,
    /// Whether they hold the nearest value: the loop is unrolled before it is vectorized.
    pub nearest: bool,
}

/// For each exponential, logarithm, sine and cosine of f32 in a compiled fusion, the columns that LLVM folds
/// ([`find_folded_columns`]). In loops that are vectorized first, only exponentials are followed.
pub fn find_folded_functions(computation: &Computation) -> Vec<Option<FoldedFunction>> {
    let mut found = vec![None; computation.instructions.len()];
    let mut codes: HashMap<Fusion, Option<Code>> = HashMap::new();
    let mut known = Known::new();
    let mut inside: Option<Vec<bool>> = None;
    for (id, instruction) in computation.instructions.iter().enumerate() {
        let (Some(fusion), Op::Unary(unary)) = (instruction.fusion(), &instruction.op) else { continue };
        let shape = &instruction.shape;
        let is_one = is_folded(*unary) && shape.dtype() == Some(DType::F32);
        let innermost = shape.dims().iter().rposition(|extent| *extent > 1);
        let Some(innermost) = innermost.filter(|_| is_one && fusion.is_compiled()) else { continue };
        if !depends_on(computation, fusion, (id, innermost), &mut known) {
            continue;
        }
        let code = codes.entry(fusion).or_insert_with(|| Code::new(computation, fusion, &mut known));
        let Some(code) = code.as_ref().filter(|code| !code.transposes) else { continue };
        if code.reads > 0 && !inside.get_or_insert_with(|| stand_in_the_innermost_loop(computation))[id] {
            continue;
        }
        let width = shape.dims()[innermost];
        let nearest = code.is_unrolled_first(width);
        let first = if nearest { 0 } else { code.first_folded(width) };
        let followed = nearest || *unary == Unary::Exponential;
        let columns = FoldedColumns { width, first, end: width };
        found[id] = (followed && first < width).then_some(FoldedFunction { columns, nearest });
    }
    found
}

/// For each product that is contracted ([`super::find_contractions`]), the columns that LLVM folds nevertheless
/// (`Folding`).
pub fn find_folded_columns(computation: &Computation, products: &[bool]) -> Vec<Option<FoldedColumns>> {
    let mut folding = Folding::new(computation);
    products.iter().enumerate().map(|(id, contracted)| if *contracted { folding.of(id) } else { None }).collect()
}

/// The columns that LLVM folds: those of a product in a compiled fusion that depends on constants and on the index of
/// the innermost loop alone.
///
/// That loop takes 32 elements a step (8 lanes, 4 at a time), or 8 if it is long and reads arrays. LLVM unrolls it
/// below 300 instructions (`UnrollThreshold`). Up to 10 steps it estimates the savings of unrolling
/// (`UnrollMaxIterationsCountToAnalyze`): everything, if nothing is read. The remainder behind the last full step is
/// always folded (FACTS 3.11).
pub struct Folding<'c> {
    computation: &'c Computation,
    codes: HashMap<Fusion, Option<Code>>,
    known: Known,
    inside: Option<Vec<bool>>,
    loops: HashMap<Fusion, Loops>,
    invariants: Invariants<'c>,
}

impl<'c> Folding<'c> {
    /// The folding of a computation's products, analysed when they are asked for.
    pub fn new(computation: &'c Computation) -> Folding<'c> {
        Folding {
            computation,
            codes: HashMap::new(),
            known: Known::new(),
            inside: None,
            loops: HashMap::new(),
            invariants: Invariants::new(computation),
        }
    }

    /// Whether a product is computed apart from its sum in all columns.
    pub fn takes_all(&mut self, product: ValueId) -> bool {
        self.of(product).is_some_and(|columns| columns.first == 0 && columns.end == columns.width)
    }

    /// The folded columns of one product.
    fn of(&mut self, id: ValueId) -> Option<FoldedColumns> {
        let Folding { computation, codes, known, inside, loops, invariants } = self;
        let Instruction { shape, .. } = &computation.instructions[id];
        let fusion = computation.instructions[id].fusion()?;
        let dims = shape.dims();
        let innermost = dims.iter().rposition(|extent| *extent > 1)?;
        let is_known = depends_on(computation, fusion, (id, innermost), known);
        let width = dims[innermost];
        let all = FoldedColumns { width, first: 0, end: width };
        let mut of_loop = None;
        if !is_known {
            let is_row = extents_spread(computation, fusion, id).len() == 1;
            let of_branches = || invariants.leave_branches(id);
            let of_row = if is_row { invariants.first_step(id).or_else(of_branches) } else { None };
            let found = of_row.or_else(|| leaves_loops_over_rows(computation, fusion, id).then_some(all));
            if is_row || found.is_some() {
                return found;
            }
            if let Some(columns) = columns_of_a_row(computation, fusion, id) {
                let code = codes.entry(fusion).or_insert_with(|| Code::new(computation, fusion, known));
                let leaves = code.as_ref().is_some_and(|code| code.transposes && code.is_unrolled_first(columns));
                return leaves.then_some(all);
            }
            let loops = loops.entry(fusion).or_insert_with(|| Loops::new(computation, Some(fusion)));
            if !leaves_a_loop(computation, fusion, id, loops) {
                return None;
            }
            of_loop = loops.columns(id);
        }
        let code = codes.entry(fusion).or_insert_with(|| Code::new(computation, fusion, known));
        let code = code.as_ref().filter(|code| !code.transposes || of_loop.is_some())?;
        let mut is_inside = || inside.get_or_insert_with(|| stand_in_the_innermost_loop(computation))[id];
        let over = || loop_over(computation, fusion, (id, innermost), &mut HashMap::new());
        let columns = of_loop.unwrap_or_else(over);
        let is_unrolled =
            if code.has_functions() { code.is_unrolled_first(columns) } else { code.is_unrolled(columns) };
        if !is_known || code.has_others {
            return ((!is_known || is_inside()) && is_unrolled).then_some(all);
        }
        let first = if code.has_functions() && is_unrolled { 0 } else { code.first_folded(columns) };
        (code.reads == 0 || is_inside()).then_some(FoldedColumns { first, ..all })
    }
}

/// Number of interleaved registers in a short loop.
const REGISTERS: usize = 4;

/// Operations and reads of the longest loop that is a short one (LLVM's `SmallLoopCost`, 20, less what each loop has).
const SHORT: usize = 13;

/// The innermost loop of a fusion.
#[derive(Default)]
struct Code {
    /// Operations for each element, beside the index made a float and the store.
    operations: usize,
    /// Operations that are folded if the loop is unrolled.
    folded: usize,
    /// Reads that vary from element to element. All others count as one.
    reads: usize,
    reads_rows: bool,
    /// Exponentials and logarithms, which LLVM does not look through when it estimates the savings of unrolling.
    functions: usize,
    /// Calls of sine and cosine. With one of them, registers are not interleaved.
    calls: usize,
    /// Whether there are functions that are not folded here.
    has_others: bool,
    /// Whether elements are in another order than they are read.
    transposes: bool,
}

impl Code {
    /// The loop of a fusion; `None` if it has moves or sums of unknown cost.
    fn new(computation: &Computation, fusion: Fusion, known: &mut Known) -> Option<Code> {
        let instructions = &computation.instructions;
        let mut code = Code::default();
        let mut read = HashSet::new();
        for (id, instruction) in instructions.iter().enumerate().filter(|(_, i)| i.fusion() == Some(fusion)) {
            let dims = instruction.shape.dims();
            let spreads = spreads(instruction);
            let outside =
                instruction.operands.iter().filter(|operand| instructions[**operand].fusion() != Some(fusion));
            for operand in outside.filter(|operand| !matches!(instructions[**operand].op, Op::Constant(_))) {
                code.reads_rows |= spreads;
                code.reads += usize::from(!spreads && read.insert(*operand));
            }
            code.transposes |= matches!(instruction.op, Op::Transpose { .. });
            let folded = operations(&instruction.op);
            code.has_others |= folded.is_none();
            let operations = match (folded, &instruction.op) {
                (Some(operations), _) => operations,
                (None, Op::Unary(_)) => weight(computation, id).0,
                _ => return None,
            };
            if dims.iter().all(|extent| *extent == 1) {
                continue;
            }
            code.operations += operations;
            code.functions += usize::from(matches!(instruction.op, Op::Unary(Unary::Exponential | Unary::Log)));
            code.calls += usize::from(matches!(instruction.op, Op::Unary(Unary::Sine | Unary::Cosine)));
            let innermost = dims.iter().rposition(|extent| *extent > 1);
            if innermost.is_some_and(|dim| operations > 0 && depends_on(computation, fusion, (id, dim), known)) {
                code.folded += operations;
            }
        }
        code.reads = code.reads.max(usize::from(code.reads_rows));
        Some(code)
    }

    fn has_functions(&self) -> bool {
        self.functions + self.calls > 0 || self.has_others
    }

    /// The first of so many columns that is folded; all columns behind it are folded, too.
    fn first_folded(&self, width: usize) -> usize {
        let Code { operations, folded, reads, functions, calls, .. } = *self;
        let operations = operations + reads;
        let registers = if calls > 0 || reads > 0 && operations > SHORT { 1 } else { REGISTERS };
        let step = LANES * registers;
        let steps = width / step;
        // Beside the operations there are the index made a float and the store, an index and an address for each register, and
        // where arrays are read another index.
        let instructions = registers * (operations + 2) + registers + usize::from(reads > 0);
        let saved = registers * (folded + 1) + registers + LOOP;
        let unrolled = is_small(steps, instructions)
            || steps <= ANALYZED
                && functions + calls == 0
                && (reads == 0 || is_worth_unrolling(steps, instructions + LOOP, saved));
        if unrolled { 0 } else { steps * step }
    }

    /// Whether the loop over so many columns is unrolled before it is vectorized: an element has an index, the same as
    /// a float, an address and the store, and each function is one instruction.
    fn is_unrolled_first(&self, width: usize) -> bool {
        let Code { operations, reads, functions, calls, .. } = *self;
        is_small(width, operations + reads + LOOP - functions * (FUNCTION - 1) - calls * (CALL - 1))
    }

    /// Whether the loop over so many columns is unrolled, by its size alone.
    fn is_unrolled(&self, width: usize) -> bool {
        let operations = self.operations + self.reads;
        let registers = if operations > SHORT { 1 } else { REGISTERS };
        is_small(width / (LANES * registers), registers * (operations + 1))
    }
}

/// Whether a product is invariant in the loop around the innermost one, and its sum is not. If the innermost loop is
/// unrolled, LLVM computes the product before the loop around it. There it selects instructions without the sum.
fn leaves_a_loop(computation: &Computation, fusion: Fusion, product: ValueId, loops: &Loops) -> bool {
    let passes = |op: &Op| matches!(op, Op::Broadcast { .. } | Op::Copy | Op::Reshape | Op::Transpose { .. });
    let op_of = |id: ValueId| &computation.instructions[id].op;
    let sum = readers(computation, fusion, product).find(|reader| !passes(op_of(*reader)));
    sum.is_some_and(|sum| {
        let adds = matches!(op_of(sum), Op::Binary(Binary::Add | Binary::Subtract));
        adds && has_simple_indices(computation, fusion, product) && loops.leaves(product, sum, |of| of.is_none())
    })
}

/// Whether no reshape follows a product, or all its extents are powers of two. Other parts have indices of their own.
fn has_simple_indices(computation: &Computation, fusion: Fusion, product: ValueId) -> bool {
    let is_reshape = |reader: ValueId| matches!(computation.instructions[reader].op, Op::Reshape);
    let is_power = || extents_spread(computation, fusion, product).iter().all(|extent| extent.is_power_of_two());
    !readers(computation, fusion, product).any(is_reshape) || is_power()
}

/// The columns of a fusion's result, if a product of several dims is one row of it that is the same for all rows, and
/// its sum is not. A result that is reshaped or transposed behind the sum has other loops than the sum's own dims. If
/// neighbours stay neighbours, they are read as registers, and [`leaves_a_loop`] decides.
fn columns_of_a_row(computation: &Computation, fusion: Fusion, product: ValueId) -> Option<usize> {
    let instructions = &computation.instructions;
    let passes = |op: &Op| matches!(op, Op::Broadcast { .. } | Op::Copy | Op::Reshape);
    if !is_added_to_more(computation, fusion, product, passes) || !has_simple_indices(computation, fusion, product) {
        return None;
    }
    let mut path = vec![product];
    path.extend(readers(computation, fusion, product));
    let result = &instructions[*path.last()?];
    let columns = result.shape.dims().iter().copied().rfind(|extent| *extent > 1)?;
    let rows = result.shape.elements() / columns;
    let element = |at: usize| {
        let steps = path.windows(2).rev();
        steps.into_iter().try_fold(at, |at, step| {
            let position = instructions[step[1]].operands.iter().position(|operand| *operand == step[0])?;
            element_read(computation, step[1], position, at)?
        })
    };
    let last_dim =
        result.minor().is_none_or(|minor| result.shape.dims()[minor + 1..].iter().all(|extent| *extent == 1));
    let is_same = |column: usize| {
        let first = element(column);
        first.is_some() && [1, rows / 2, rows - 1].iter().all(|row| element(row * columns + column) == first)
    };
    let stay_beside = element(1) == element(0).map(|first| first + 1);
    (last_dim && rows > 1 && !stay_beside && (0..columns).all(is_same)).then_some(columns)
}

/// Whether LLVM folds a function of a constant (`ConstantFoldScalarCall`).
fn is_folded(unary: Unary) -> bool {
    matches!(unary, Unary::Exponential | Unary::Log | Unary::Sine | Unary::Cosine)
}

/// Instructions of an exponential or a logarithm of a register, as LLVM counts them.
const FUNCTION: usize = 2;

/// Whether a product of rows and columns is computed before the loops around these, because it is invariant there, its
/// sum is not, and both of its own loops are gone. The loop over up to eight columns is unrolled, the one over four or
/// eight rows is one step of as many lanes. Eight rows pay up to six columns, or with calls of functions (FACTS 3.11).
/// Followed if all elements are read in place.
fn leaves_loops_over_rows(computation: &Computation, fusion: Fusion, product: ValueId) -> bool {
    let [rows, columns] = extents_spread(computation, fusion, product)[..] else { return false };
    let inside = || computation.instructions.iter().filter(|instruction| instruction.fusion() == Some(fusion));
    let calls = inside().any(|i| matches!(i.op, Op::Unary(Unary::Exponential | Unary::Tanh | Unary::Log)));
    let most = match rows {
        4 => 8,
        8 if calls => 8,
        8 => 6,
        _ => return false,
    };
    let stays = |op: &Op| match op.class() {
        Class::Moves => matches!(op, Op::Broadcast { .. } | Op::Reshape | Op::Copy | Op::Slice { .. }),
        Class::Elementwise | Class::Converts | Class::Source => true,
        _ => matches!(op, Op::Reduce { .. }),
    };
    let stays = inside().all(|instruction| stays(&instruction.op));
    let passes = |op: &Op| matches!(op, Op::Broadcast { .. } | Op::Copy | Op::Reshape);
    stays && columns <= most && is_added_to_more(computation, fusion, product, passes)
}

/// The number of instructions of an operation for each element; `None` for operations that are not folded.
fn operations(op: &Op) -> Option<usize> {
    Some(match op {
        Op::Constant(_) | Op::Iota { .. } | Op::Broadcast { .. } | Op::Convert | Op::Concatenate { .. } => 0,
        Op::Copy | Op::Reshape | Op::Slice { .. } | Op::Transpose { .. } => 0,
        Op::Binary(Binary::Add | Binary::Subtract | Binary::Multiply | Binary::Divide) => 1,
        // Two comparisons and a choice.
        Op::Binary(Binary::Maximum | Binary::Minimum) => 3,
        Op::Clamp => 6,
        Op::Unary(Unary::Exponential | Unary::Log) => FUNCTION,
        Op::Unary(Unary::Sine | Unary::Cosine) => CALL,
        Op::Unary(Unary::Negate | Unary::Abs | Unary::Sqrt) | Op::Compare { .. } | Op::Select => 1,
        _ => return None,
    })
}

/// Results of [`depends_on`] by value and dim, because one value may be read many times.
type Known = HashMap<(ValueId, usize), bool>;

/// Whether a value depends on constants alone and on no other index than that of the dim.
fn depends_on(computation: &Computation, fusion: Fusion, (id, dim): (ValueId, usize), known: &mut Known) -> bool {
    if let Some(depends) = known.get(&(id, dim)) {
        return *depends;
    }
    let instruction = &computation.instructions[id];
    let shape_of = |id: ValueId| &computation.instructions[id].shape;
    let mut of = |operand: ValueId, dim: usize| depends_on(computation, fusion, (operand, dim), known);
    let depends = match &instruction.op {
        Op::Constant(value) => value.len() == 1,
        _ if instruction.fusion() != Some(fusion) => return false,
        Op::Iota { dim: counted } => *counted == dim,
        Op::Broadcast { dims: to } => match to.iter().position(|to| *to == dim) {
            Some(from) => of(instruction.operands[0], from),
            None => shape_of(instruction.operands[0]).elements() == 1,
        },
        Op::Reshape if shape_of(instruction.operands[0]).dims() != instruction.shape.dims() => false,
        Op::Concatenate { dim: joined } if *joined != dim => false,
        _ => instruction.operands.iter().all(|operand| of(*operand, dim)),
    };
    known.insert((id, dim), depends);
    depends
}

/// The columns of the loop that computes a value which depends on one index. Arrays that are joined have loops of their
/// own, of which the longest counts.
fn loop_over(
    computation: &Computation,
    fusion: Fusion,
    (id, dim): (ValueId, usize),
    found: &mut HashMap<ValueId, usize>,
) -> usize {
    if let Some(columns) = found.get(&id) {
        return *columns;
    }
    let instruction = &computation.instructions[id];
    let extent = |id: ValueId| computation.instructions[id].shape.dims().get(dim).copied().unwrap_or(1);
    let columns = match &instruction.op {
        _ if instruction.fusion() != Some(fusion) => None,
        Op::Concatenate { .. } => instruction.operands.iter().map(|operand| extent(*operand)).max(),
        Op::Unary(_) | Op::Binary(_) | Op::Convert => {
            instruction.operands.iter().map(|operand| loop_over(computation, fusion, (*operand, dim), found)).min()
        }
        _ => None,
    };
    let columns = columns.unwrap_or_else(|| extent(id)).min(extent(id));
    found.insert(id, columns);
    columns
}
