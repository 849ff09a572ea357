//! Reductions, windows and dots: each result is a function of its terms in their order, by the plan that the machine sums by.

use std::num::NonZeroUsize;

use crate::analysis::{Cumulative, Reducer, SumLoop, cumulative};
use crate::ir::{Binary, ComputationId, DotDims, DotPlan, LibraryFunction, Op, Precision, Window, movement};
use crate::tensor::DType;

use super::super::contraction_order::ContractionOrder;
use super::super::dot_order::DotOrder;
use super::super::mode::{DotUnit, Mode};
use super::super::mxu::{Accumulation, Passes};
use super::super::reduce::innermost_run;
use super::super::side_by_side::SideBySide;
use super::super::sum::{RowSum, SumSite};
use super::super::vector::{ScanOrder, StepRounding, SumOrder};
use super::pointwise::{Operation, is_ordered, rounded};
use super::run::{Result, Site, Tracer};
use super::symbol::{Facts, Mixer, Number, Symbol};
use super::symbols::Symbols;

pub fn reduce(tracer: &Tracer, site: &Site, reduced: &[usize], to_apply: ComputationId) -> Result<Symbols> {
    let count = site.operands.len() / 2;
    let dims = site.dims(0);
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let reduced: Vec<usize> = (0..dims.len()).filter(|d| reduced.contains(d)).collect();
    let order = [&kept[..], &reduced].concat();
    let width: usize = reduced.iter().map(|d| dims[*d]).product();
    let rows: Vec<Vec<Symbol>> = (0..count).map(|at| permuted(site.of(at), dims, &order)).collect();
    let inits: Vec<Symbol> = (count..2 * count).map(|at| site.of(at)[0]).collect();
    let results: usize = kept.iter().map(|d| dims[*d]).product();
    let dtype = site.shapes[0].element_type();
    let joined = Joined::new(tracer, site, to_apply, &rows, &inits);
    if let (Joined::Sum, [rows]) = (joined, &rows[..]) {
        let sum = sum_plan(tracer, site, &reduced, inits[0]);
        let row = |row: usize| sum.of(inits[0], rows[row * width..(row + 1) * width].iter().copied(), dtype);
        return Ok(Symbols::array((0..results).map(row).collect()));
    }
    if let (Joined::Extreme(largest), [rows]) = (joined, &rows[..]) {
        let extreme = Extreme::new(tracer, largest);
        let row = |row: usize| extreme.of(inits[0], &rows[row * width..(row + 1) * width]);
        return Ok(Symbols::array((0..results).map(row).collect()));
    }
    let exact = site.operands[0].as_array().exact;
    let extents: Vec<usize> = reduced.iter().map(|d| dims[*d]).filter(|extent| *extent != 1).collect();
    let windows = count == 1 && dtype.is_float() && tracer.machine.mode.choices.reduce == SumOrder::Tree32;
    let plan = match joined {
        Joined::Picks(reducer) => format!("{reducer:?}"),
        _ if windows || exact => format!("windows {extents:?} {exact} {dtype}"),
        _ if dtype.is_float() => format!("chain {dtype}"),
        _ => "chain".to_string(),
    };
    let mut mixer = Mixer::new(&format!("reduce {plan} {}", tracer.machine.unit.flush));
    if !matches!(joined, Joined::Picks(_)) {
        mixer = mixer.and(tracer.region(to_apply)?);
    }
    // Integers come to the same in any order.
    let integers = match joined {
        Joined::Integers(binary) => Some(binary),
        _ => None,
    };
    let mut columns: Vec<Vec<Symbol>> = vec![Vec::with_capacity(results); count];
    for row in 0..results {
        let span = row * width..(row + 1) * width;
        let mut terms = mixer;
        if let Some(binary) = integers {
            let operation = Operation::new(binary, dtype, &tracer.machine.unit, tracer);
            let (known, mut open): (Vec<Symbol>, Vec<Symbol>) =
                rows[0][span].iter().chain(&inits).partition(|symbol| symbol.is_known());
            open.sort_unstable();
            let known = known.into_iter().reduce(|a, b| operation.of(a, b)).filter(|known| {
                // Nothing is joined with what changes nothing.
                open.is_empty() || operation.of(*known, open[0]) != open[0]
            });
            match (known, &open[..]) {
                (Some(known), []) => columns[0].push(known),
                (None, [one]) => columns[0].push(*one),
                (None, [one, other]) => columns[0].push(operation.of(*one, *other)),
                (Some(known), [one]) => columns[0].push(operation.of(known, *one)),
                _ => columns[0].push(terms.and_all(known).and_all(open).symbol()),
            }
            continue;
        } else {
            terms = rows.iter().fold(terms.and_all(inits.iter().copied()), |terms, rows| {
                terms.and_all(rows[span.clone()].iter().copied())
            });
        }
        for (part, column) in columns.iter_mut().enumerate() {
            column.push(terms.and_count(part).symbol());
        }
    }
    Ok(Symbols::from_parts(columns.into_iter().map(Symbols::array).collect()))
}

/// What the machine makes of a reducer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// A sum of floats up to f32.
    Sum,
    /// The largest or smallest of floats up to f32.
    Extreme(bool),
    /// The best of floats up to f32, and its index.
    Picks(Reducer),
    /// An operation of integers or predicates that is associative and commutes.
    Integers(Binary),
    /// Whatever the region says, in order.
    Region,
}

impl Joined {
    fn new(tracer: &Tracer, site: &Site, to_apply: ComputationId, rows: &[Vec<Symbol>], inits: &[Symbol]) -> Joined {
        let regions = &tracer.machine.prepared.regions;
        let dtype = site.shapes[0].element_type();
        let narrow = |at: usize| {
            !site.shapes[at].element_type().is_float() || rows[at].iter().chain([&inits[at]]).all(|s| s.is_bf16())
        };
        let bf16 = || (0..rows.len()).all(narrow);
        // A bf16 reduction that a compiler writes in f32, with roundings that change nothing.
        let picking = || {
            let region = &tracer.machine.program.computations[to_apply];
            let narrow = region.instructions.iter().all(|i| match i.shape.dtype() {
                Some(dtype) if dtype.is_float() => matches!(dtype, DType::F32 | DType::BF16),
                _ => true,
            });
            let known = regions.reducer_but_for_rounding(to_apply).filter(|reducer| narrow && reducer.picks());
            known.filter(|_| bf16())
        };
        let known = regions.reducer(to_apply).or_else(picking);
        let exact = site.operands[0].as_array().exact;
        let f32s = dtype.is_float() && dtype != DType::F64;
        match (known, rows.len()) {
            (Some(Reducer::Binary(Binary::Add)), 1) if f32s => Joined::Sum,
            (Some(Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum))), 1) if f32s && !exact => {
                Joined::Extreme(binary == Binary::Maximum)
            }
            (Some(Reducer::Binary(binary)), 1) if !dtype.is_float() && binary.commutes() => Joined::Integers(binary),
            (Some(reducer @ (Reducer::ArgMax | Reducer::ArgMin | Reducer::GreaterKeep)), 2)
                if f32s && !site.shapes[1].element_type().is_float() =>
            {
                Joined::Picks(reducer)
            }
            _ => Joined::Region,
        }
    }
}

/// How a sum adds, with all that decides it.
pub struct SumPlan {
    mixer: Mixer,
    flush: bool,
}

impl SumPlan {
    fn new(plan: &str, flush: bool) -> SumPlan {
        SumPlan { mixer: Mixer::new(&format!("sum {plan} {flush}")), flush }
    }

    /// A sum of these terms, rounded to its type.
    fn of(&self, init: Symbol, terms: impl Iterator<Item = Symbol>, dtype: DType) -> Symbol {
        let taken = |symbol: Symbol| if self.flush { symbol.unflushed() } else { symbol };
        let sum = self.mixer.and(init).and_all(terms.map(taken)).symbol();
        rounded(sum.with(Facts { normal: self.flush, not_negative: false }), dtype)
    }
}

/// How the machine sums floats up to f32, or products that are not rounded yet.
fn sum_plan(tracer: &Tracer, site: &Site, reduced: &[usize], init: Symbol) -> SumPlan {
    let machine = tracer.machine;
    let dims = site.dims(0);
    let dtype = site.shapes[0].element_type();
    let extents: Vec<usize> = reduced.iter().map(|d| dims[*d]).collect();
    let width: usize = extents.iter().product();
    let Mode { chip, choices, .. } = machine.mode;
    let as_compiled = chip.library.is_some() && choices.reduce == chip.sum;
    let side_by_side = SideBySide::new(site.habits.sum_loop, machine.unit.flush).is_some() && as_compiled;
    let row_sum = |dtype: DType| {
        let site = SumSite {
            dtype,
            extents: &extents,
            from_zero: init.float() == Some(0.0),
            last: (0..dims.len()).rfind(|d| dims[*d] > 1).is_some_and(|d| reduced.contains(&d)),
            run: innermost_run(dims, reduced),
            fusion: site.instruction.fusion,
        };
        RowSum::new(machine.mode, &site).plan(&extents)
    };
    let exact = site.operands[0].as_array().exact;
    let plan = match (exact, width > 0) {
        (false, true) if side_by_side && dtype == DType::F32 => format!("{:?}", site.habits.sum_loop),
        (false, _) | (true, false) => row_sum(dtype),
        (true, true) if side_by_side => format!("products {:?}", site.habits.sum_loop),
        (true, true) => match site.habits.sum_loop {
            SumLoop::ChainOfTwo => "products, two at first".to_string(),
            SumLoop::ChainOfRounded if as_compiled => format!("rounded products {}", row_sum(DType::F32)),
            _ => "products".to_string(),
        },
    };
    SumPlan::new(&plan, machine.unit.flush)
}

/// The largest or smallest of a row.
struct Extreme<'t> {
    tracer: &'t Tracer<'t>,
    mixer: Mixer,
    /// The init that every number beats.
    neutral: Symbol,
}

impl<'t> Extreme<'t> {
    fn new(tracer: &'t Tracer, largest: bool) -> Extreme<'t> {
        let unit = &tracer.machine.unit;
        let neutral = Symbol::of(Number::Float(if largest { f32::NEG_INFINITY } else { f32::INFINITY }));
        let mixer = Mixer::new(&format!("extreme {largest} {} {:?}", unit.flush, unit.zero_tie));
        Extreme { tracer, mixer, neutral }
    }

    fn of(&self, init: Symbol, row: &[Symbol]) -> Symbol {
        let unit = &self.tracer.machine.unit;
        if row.is_empty() {
            return init;
        }
        let mut terms: Vec<Symbol> = row.iter().map(|s| if unit.flush { s.unflushed() } else { *s }).collect();
        let init = if init == self.neutral { None } else { Some(init) };
        if let ([one], None) = (&terms[..], init) {
            return if unit.flush { one.flushed() } else { *one };
        }
        let all = || terms.iter().copied().chain(init);
        let not_negative = all().all(Symbol::is_not_negative);
        let narrow = all().all(Symbol::is_bf16);
        if !is_ordered(unit, self.tracer.permits.one_zero, all()) {
            terms.sort_unstable();
            terms.dedup();
        }
        let result = self.mixer.and_all(init).and_all(terms).symbol();
        let result = result.with(Facts { normal: unit.flush, not_negative });
        if narrow { result.in_type(DType::BF16) } else { result }
    }
}

fn permuted(elements: &[Symbol], dims: &[usize], order: &[usize]) -> Vec<Symbol> {
    if order.is_sorted() {
        return elements.to_vec();
    }
    let out: Vec<usize> = order.iter().map(|d| dims[*d]).collect();
    movement::apply(&Op::Transpose { permutation: order.to_vec() }, &[(elements, dims)], &[], &[], &out)
}

pub fn reduce_window(tracer: &Tracer, site: &Site, window: &Window, to_apply: ComputationId) -> Result<Symbols> {
    let dims = site.dims(0);
    let (elements, init) = (site.of(0), site.of(1)[0]);
    let region = tracer.region(to_apply)?;
    let dtype = site.shapes[0].element_type();
    let flush = tracer.machine.unit.flush;
    let Some(Cumulative { dim, reversed }) = cumulative(window, dims) else {
        let mixer = Mixer::new(&format!("window {dtype} {flush}")).and(region).and(init);
        return Ok(Symbols::array(windows(tracer, site, window, mixer)?));
    };
    let length = dims[dim].max(1);
    let order = tracer.machine.mode.choices.scan;
    let known = tracer.machine.prepared.regions.reducer(to_apply);
    let adds = known == Some(Reducer::Binary(Binary::Add)) && dtype.is_float() && dtype != DType::F64 && !reversed;
    let step = if adds { StepRounding::own(dtype) } else { StepRounding::F32 };
    // In order, a result hangs on what lies before it; in blocks and from behind, on how long the row is as well.
    let in_order =
        !reversed && (order == ScanOrder::Sequential || matches!(order, ScanOrder::Blocked(b) if length <= b));
    let plan = if in_order { String::new() } else { format!("{order:?} {length} {reversed}") };
    let mixer = Mixer::new(&format!("scan {plan} {step:?} {dtype} {flush}")).and(region).and(init);
    let inner: usize = dims[dim + 1..].iter().product();
    let mut results = elements.to_vec();
    for lane in 0..elements.len() / length {
        let first = lane / inner * length * inner + lane % inner;
        let of = |i: usize| elements[first + i * inner];
        let whole = mixer.and_all((0..length).map(of));
        let mut before = mixer;
        for i in 0..length {
            before = before.and(of(i));
            let result = if in_order { before.symbol() } else { whole.and_count(i).symbol() };
            let result = result.with(Facts { normal: adds && flush, not_negative: false });
            results[first + i * inner] = if adds { rounded(result, dtype) } else { result };
        }
    }
    Ok(Symbols::array(results))
}

/// Each window from the init, its elements in row-major order.
fn windows(tracer: &Tracer, site: &Site, window: &Window, mixer: Mixer) -> Result<Vec<Symbol>> {
    let dims = site.dims(0);
    let strides = movement::row_major(dims);
    let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
    let out_dims = site.instruction.shape.dims();
    tracer.spend(site.instruction, out_dims.iter().chain(&extents).product())?;
    let mut results = Vec::with_capacity(out_dims.iter().product());
    movement::for_each_index(out_dims, |_, out| {
        let mut state = mixer;
        movement::for_each_index(&extents, |_, inside| {
            let mut at = 0;
            for (d, w) in window.0.iter().enumerate() {
                let position = (out[d] * w.stride + inside[d] * w.window_dilation) as i64 - w.pad_low;
                let dilation = w.base_dilation as i64;
                if position < 0 || position % dilation != 0 || position / dilation >= dims[d] as i64 {
                    return;
                }
                at += (position / dilation) as isize * strides[d];
            }
            state = state.and(site.of(0)[at as usize]);
        });
        results.push(state.symbol());
    });
    Ok(results)
}

pub fn dot(tracer: &Tracer, site: &Site, numbers: &DotDims, precision: [Precision; 2]) -> Result<Symbols> {
    let instruction = site.instruction;
    let plan = DotPlan::new(numbers, site.dims(0), site.dims(1));
    let (m, k, n) = (plan.m, plan.k, plan.n);
    tracer.spend(instruction, plan.batch * m * n * 2)?;
    let operand = |at: usize, transpose: &Option<Vec<usize>>| match transpose {
        Some(order) => permuted(site.of(at), site.dims(at), order),
        None => site.of(at).to_vec(),
    };
    let (mut lhs, mut rhs) = (operand(0, &plan.lhs_transpose), operand(1, &plan.rhs_transpose));
    let dtype = instruction.shape.element_type();
    let dtypes = [site.shapes[0].dtype(), site.shapes[1].dtype()];
    let summed = Summed::new(tracer, site, &plan, precision);
    if summed.rounds_operands {
        lhs.iter_mut().chain(&mut rhs).for_each(|symbol| *symbol = rounded(*symbol, DType::BF16));
    }
    if let Some(sum) = &summed.on_vector_unit {
        let multiply = Operation::new(Binary::Multiply, DType::F32, &tracer.machine.unit, tracer);
        let zero = Symbol::of(Number::Float(0.0));
        let mut out = Vec::with_capacity(plan.batch * m * n);
        for (at, i, j) in (0..plan.batch * m * n).map(|flat| (flat / (m * n), flat / n % m, flat % n)) {
            let products = (0..k).map(|l| multiply.of(lhs[(at * m + i) * k + l], rhs[(at * k + l) * n + j]));
            out.push(sum.of(zero, products, dtype));
        }
        return Ok(Symbols::array(out));
    }
    let list = Mixer::new("terms");
    let mut out = Vec::with_capacity(plan.batch * m * n);
    for at in 0..plan.batch {
        let rows: Vec<Symbol> =
            (0..m).map(|i| list.and_all(lhs[(at * m + i) * k..][..k].iter().copied()).symbol()).collect();
        let mut columns = vec![list; n];
        for row in rhs[at * k * n..(at + 1) * k * n].chunks(n.max(1)) {
            columns.iter_mut().zip(row).for_each(|(column, symbol)| *column = column.and(*symbol));
        }
        let columns: Vec<Symbol> = columns.into_iter().map(|column| column.and_count(k).symbol()).collect();
        for (i, row) in rows.iter().enumerate() {
            for (j, column) in columns.iter().enumerate() {
                let (a, b) = if summed.commutes { (row.min(column), row.max(column)) } else { (row, column) };
                let result = summed.mixer(i * n + j, j).and(*a).and(*b).symbol();
                let float = dtype.is_float() && dtypes[0].is_some_and(|dtype| dtype != DType::F64);
                out.push(if float { rounded(result, dtype) } else { result });
            }
        }
    }
    Ok(Symbols::array(out))
}

/// How the products of a dot are summed, place by place.
struct Summed {
    mixer: Mixer,
    order: Option<DotOrder>,
    /// Whether both operands are taken alike.
    commutes: bool,
    /// Whether operands are rounded to bf16 first: what follows is what bf16 operands meet.
    rounds_operands: bool,
    /// The sum of products that are rounded to f32, where the vector unit computes it.
    on_vector_unit: Option<SumPlan>,
}

impl Summed {
    fn new(tracer: &Tracer, site: &Site, plan: &DotPlan, precision: [Precision; 2]) -> Summed {
        let machine = tracer.machine;
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let dtypes = [site.shapes[0].dtype(), site.shapes[1].dtype()];
        let instruction = site.instruction;
        if !dtypes.iter().flatten().all(|dtype| dtype.is_float()) {
            let mixer = Mixer::new(&format!("dot {}", instruction.shape.element_type()));
            return Summed { mixer, order: None, commutes: true, rounds_operands: false, on_vector_unit: None };
        }
        let unit = machine.mode.dot(precision, dtypes, [m, n]);
        let mut matrix = machine.mode.matrix_unit_for(instruction.tiling.as_deref());
        // A cut or a block that takes all products is none.
        matrix.k_block = matrix.k_block.filter(|cut| matrix.accumulation == Accumulation::Tiled && cut.get() < k);
        matrix.block = matrix.block.min(NonZeroUsize::new(k).unwrap_or(NonZeroUsize::MIN));
        if matrix.accumulation == Accumulation::Tiled && matrix.k_block.is_none() {
            matrix.accumulation = Accumulation::Block;
        }
        let f32s = dtypes.iter().all(|dtype| *dtype == Some(DType::F32));
        let convolution = match machine.library_function(instruction) {
            Some(LibraryFunction::Convolution(convolution)) if f32s => Some(convolution),
            _ => None,
        };
        let in_library = machine.library_computes(instruction);
        let last = [plan.lhs_transpose.is_none(), plan.rhs_transpose.is_some()];
        let order = match convolution {
            Some(convolution) if in_library => Some(DotOrder::of_convolution([m, k, n], plan.batch, convolution)),
            Some(_) => None,
            None => DotOrder::of(machine.mode, in_library, [m, k, n], last).filter(|_| f32s),
        };
        let contraction =
            convolution.filter(|_| !in_library).and_then(|convolution| ContractionOrder::new([m, k, n], convolution));
        let matrix_unit = matches!(unit, DotUnit::Matrix(_));
        let order = order.filter(|_| matrix_unit && contraction.is_none());
        let text = match unit {
            DotUnit::Double => "f64".to_string(),
            DotUnit::Vector => {
                format!("vector {:?} {:?}", machine.mode.choices.reduce, machine.unit.flush)
            }
            DotUnit::Matrix(passes) => match &contraction {
                Some(contraction) => format!("{contraction:?} {matrix:?}"),
                None if passes == Passes::One => format!("{:?} {matrix:?}", Passes::Exact),
                None => format!("{passes:?} {matrix:?}"),
            },
        };
        // Products of parts are added in an order that tells the operands apart.
        let commutes = !matches!(unit, DotUnit::Matrix(Passes::Three | Passes::Six));
        let rounds_operands = contraction.is_none() && unit == DotUnit::Matrix(Passes::One);
        let reduce = machine.mode.choices.reduce;
        let on_vector_unit = (unit == DotUnit::Vector && reduce != SumOrder::Tree32).then(|| {
            let site = SumSite { dtype: DType::F32, extents: &[k], from_zero: true, last: true, run: k, fusion: None };
            SumPlan::new(&RowSum::new(machine.mode, &site).plan(&[k]), machine.unit.flush)
        });
        Summed { mixer: Mixer::new(&format!("dot {text}")), order, commutes, rounds_operands, on_vector_unit }
    }

    fn mixer(&self, at: usize, column: usize) -> Mixer {
        match self.order.as_ref().and_then(|order| order.of_place(at, column)) {
            Some([lanes, rest, paired, runs, depth]) => {
                let mixer = self.mixer.and_count(lanes).and_count(rest).and_count(paired);
                mixer.and_count(runs).and_count(depth)
            }
            None => self.mixer,
        }
    }
}
