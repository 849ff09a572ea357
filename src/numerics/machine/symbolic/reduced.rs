//! Reductions and windows: each result is a function of its terms in their order, by the plan that the machine sums by.

use crate::analysis::{Cumulative, Reducer, SumLoop, cumulative};
use crate::ir::{Binary, ComputationId, Op, Window, movement};
use crate::tensor::DType;

use super::super::mode::Mode;
use super::super::reduce::innermost_run;
use super::super::side_by_side::SideBySide;
use super::super::sum::{RowSum, SumSite};
use super::super::vector::{ScanOrder, StepRounding, SumOrder};
use super::pairwise::{Operation, is_ordered};
use super::pointwise::round;
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
    let rows: Vec<Vec<Symbol>> = (0..count).map(|at| permute(site.of(at), dims, &order)).collect();
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
    pub fn new(plan: &str, flush: bool) -> SumPlan {
        SumPlan { mixer: Mixer::new(&format!("sum {plan} {flush}")), flush }
    }

    /// A sum of these terms, rounded to its type.
    pub fn of(&self, init: Symbol, terms: impl Iterator<Item = Symbol>, dtype: DType) -> Symbol {
        let taken = |symbol: Symbol| if self.flush { symbol.unflush() } else { symbol };
        let sum = self.mixer.and(init).and_all(terms.map(taken)).symbol();
        round(sum.with(Facts { normal: self.flush, not_negative: false }), dtype)
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
        let mut terms: Vec<Symbol> = row.iter().map(|s| if unit.flush { s.unflush() } else { *s }).collect();
        let init = if init == self.neutral { None } else { Some(init) };
        if let ([one], None) = (&terms[..], init) {
            return if unit.flush { one.flush() } else { *one };
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

pub fn permute(elements: &[Symbol], dims: &[usize], order: &[usize]) -> Vec<Symbol> {
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
            results[first + i * inner] = if adds { round(result, dtype) } else { result };
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
            if let Some(at) = window.element(dims, &strides, out, inside) {
                state = state.and(site.of(0)[at]);
            }
        });
        results.push(state.symbol());
    });
    Ok(results)
}
