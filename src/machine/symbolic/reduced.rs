//! Reductions and windows: each result is a function of its terms in their order, by the plan that the machine sums by.

use crate::analysis::{Cumulative, Reducer, cumulative};
use crate::ir::{Binary, ComputationId, Window, movement};
use crate::tensor::DType;

use super::super::blocks::{Scan, TreeReduction};
use super::super::sum_code::Terms;
use super::super::summation::{Summation, Way};
use super::super::vector::SumOrder;
use super::gathered::Gathering;
use super::pairwise::PairwiseOperation;
use super::pointwise::round;
use super::run::{Result, Site, Tracer};
use super::symbol::{Facts, Mixer, Number, Symbol};
use super::symbol_key::{Key, ReducePlan};
use super::symbols::Symbols;

pub fn reduce(tracer: &Tracer, site: &Site, reduced: &[usize], to_apply: ComputationId) -> Result<Symbols> {
    let count = site.operands.len() / 2;
    let dims = site.dims(0);
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let reduced: Vec<usize> = (0..dims.len()).filter(|d| reduced.contains(d)).collect();
    let order = [&kept[..], &reduced].concat();
    let width: usize = reduced.iter().map(|d| dims[*d]).product();
    let rows: Vec<Vec<Symbol>> = (0..count).map(|at| movement::permute(site.of(at), dims, &order)).collect();
    let inits: Vec<Symbol> = (count..2 * count).map(|at| site.of(at)[0]).collect();
    let results: usize = kept.iter().map(|d| dims[*d]).product();
    let dtype = site.shapes[0].element_type();
    let joined = Joined::new(tracer, site, to_apply);
    let in_rows = |rows: &[Symbol], of: &dyn Fn(&[Symbol]) -> Symbol| {
        let row = |row: usize| of(&rows[row * width..(row + 1) * width]);
        Ok(Symbols::array((0..results).map(row).collect()))
    };
    if let (Some(windows), [rows]) = (Windows::new(tracer, site, to_apply, &reduced, joined, inits[0])?, &rows[..]) {
        return in_rows(rows, &|row| windows.of(row));
    }
    if let (Joined::Sum, [rows]) = (joined, &rows[..]) {
        let sum = Sum::new(&summation(tracer, site, &reduced, inits[0]));
        return in_rows(rows, &|row| sum.of(inits[0], row.iter().copied(), dtype));
    }
    // Maxima and integer sums do not round: their order makes no other result, and must make no other symbol.
    if let (Joined::Gathers(binary), [rows]) = (joined, &rows[..])
        && let Some(gathering) = Gathering::new(tracer, binary, dtype)
    {
        return in_rows(rows, &|row| gathering.of(inits[0], row));
    }
    let exact = site.operands[0].as_array().exact;
    let extents: Vec<usize> = reduced.iter().map(|d| dims[*d]).filter(|extent| *extent != 1).collect();
    let plan = match joined {
        Joined::Picks(reducer) => ReducePlan::Picks(reducer),
        _ if exact => ReducePlan::Windows { extents, dtype },
        _ => ReducePlan::Chain(Some(dtype).filter(|dtype| dtype.is_float())),
    };
    let mut mixer = Key::Reduce { plan, flush: tracer.machine.unit.flush }.mixer();
    // What a known reducer does is in its name; of any other region the whole text decides.
    if !matches!(joined, Joined::Picks(_)) {
        mixer = mixer.and(tracer.region(to_apply)?);
    }
    let mut columns: Vec<Vec<Symbol>> = vec![Vec::with_capacity(results); count];
    for row in 0..results {
        let span = row * width..(row + 1) * width;
        let terms = rows.iter().fold(mixer.and_all(inits.iter().copied()), |terms, rows| {
            terms.and_all(rows[span.clone()].iter().copied())
        });
        for (part, column) in columns.iter_mut().enumerate() {
            column.push(terms.and_count(part).symbol());
        }
    }
    Ok(Symbols::from_parts(columns.into_iter().map(Symbols::array).collect()))
}

/// The reducer that a region computes, if it is known. This includes a bf16 maximum that a compiler writes in f32, with
/// roundings that change nothing.
fn reducer(tracer: &Tracer, site: &Site, to_apply: ComputationId) -> Option<Reducer> {
    let regions = &tracer.machine.prepared.regions;
    let narrow =
        |dtype: Option<DType>| dtype.is_none_or(|dtype| !dtype.is_float() || matches!(dtype, DType::F32 | DType::BF16));
    let picking = || {
        let region = &tracer.machine.program.computations[to_apply];
        let operands = (0..site.operands.len()).filter(|at| site.shapes[*at].element_type().is_float());
        let bf16 = operands.flat_map(|at| site.of(at)).all(|symbol| symbol.is_bf16());
        let known = regions.reducer_but_for_rounding(to_apply).filter(|reducer| bf16 && reducer.picks());
        known.filter(|_| region.instructions.iter().all(|i| narrow(i.shape.dtype())))
    };
    regions.reducer(to_apply).or_else(picking)
}

/// Kind of a reducer on the machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joined {
    /// A sum of floats up to f32.
    Sum,
    /// Terms whose order and grouping do not show: the largest or smallest float up to f32, or integers and predicates.
    Gathers(Binary),
    /// The best of floats up to f32, and its index.
    Picks(Reducer),
    /// Whatever the region says, in order.
    Region,
}

impl Joined {
    fn new(tracer: &Tracer, site: &Site, to_apply: ComputationId) -> Joined {
        let dtype = site.shapes[0].element_type();
        let known = reducer(tracer, site, to_apply);
        let exact = site.operands[0].as_array().exact;
        // The unit's orders are of types that f32 holds; a sum of f64 is its region, step by step.
        let f32s = dtype.is_float() && dtype != DType::F64;
        match (known, site.operands.len() / 2) {
            (Some(Reducer::Binary(Binary::Add)), 1) if f32s => Joined::Sum,
            (Some(Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum))), 1) if f32s && !exact => {
                Joined::Gathers(binary)
            }
            (Some(Reducer::Binary(binary)), 1) if !dtype.is_float() && binary.commutes() => Joined::Gathers(binary),
            (Some(reducer @ (Reducer::ArgMax | Reducer::ArgMin | Reducer::GreaterKeep)), 2)
                if f32s && !site.shapes[1].element_type().is_float() =>
            {
                Joined::Picks(reducer)
            }
            _ => Joined::Region,
        }
    }
}

/// Addition of a sum's terms, with all parameters that decide it.
pub struct Sum {
    mixer: Mixer,
    flush: bool,
}

impl Sum {
    pub fn new(summation: &Summation) -> Sum {
        let flush = summation.rows().flushes();
        Sum { mixer: Key::Sum { plan: summation.plan(), flush }.mixer(), flush }
    }

    /// A sum of these terms, rounded to its type.
    pub fn of(&self, init: Symbol, terms: impl Iterator<Item = Symbol>, dtype: DType) -> Symbol {
        // A unit that flushes takes a subnormal term for a zero, so that a flushed term and the term are the same to
        // it.
        let taken = |symbol: Symbol| if self.flush { symbol.unflush() } else { symbol };
        let sum = self.mixer.and(init).and_all(terms.map(taken)).symbol();
        round(sum.with(Facts { normal: self.flush, ..Facts::default() }), dtype)
    }
}

/// The way of a sum of floats up to f32, or of products that are not rounded yet.
fn summation(tracer: &Tracer, site: &Site, reduced: &[usize], init: Symbol) -> Summation {
    let (dims, dtype) = (site.dims(0), site.shapes[0].element_type());
    let exact = site.operands[0].as_array().exact && reduced.iter().all(|d| dims[*d] > 0);
    let (dtype, terms) = match exact {
        true if site.operands[0].as_array().several => (DType::F32, Terms::Several),
        true => (DType::F32, Terms::Products),
        false => (dtype, Terms::Numbers),
    };
    let from_zero = init.float() == Some(0.0);
    Summation::over(tracer.machine.mode, &site.kernel.sums, (dims, reduced), (dtype, terms), from_zero)
}

/// Type to which each addition is rounded, if a sum is taken in windows.
fn step_in_windows(tracer: &Tracer, site: &Site, reduced: &[usize], init: Symbol) -> Option<DType> {
    let dtype = site.shapes[0].element_type();
    let in_windows = matches!(summation(tracer, site, reduced, init).way(), Way::Unit(sum) if sum.in_windows());
    in_windows.then(|| tracer.machine.mode.step_of(dtype).dtype())
}

pub fn reduce_window(tracer: &Tracer, site: &Site, window: &Window, to_apply: ComputationId) -> Result<Symbols> {
    let dims = site.dims(0);
    let (elements, init) = (site.of(0), site.of(1)[0]);
    let dtype = site.shapes[0].element_type();
    let joint = Joint::new(tracer, site, to_apply)?;
    let Some(Cumulative { dim, reversed }) = cumulative(window, dims) else {
        let (mode, from_zero) = (tracer.machine.mode, init.float() == Some(0.0));
        let of_windows = || Summation::of_windows(mode, &site.kernel.sums, (site.instruction, window), from_zero);
        if joint.binary() == Some(Binary::Add)
            && dtype == DType::F32
            && let Some(summation) = of_windows()
        {
            let sum = Sum::new(&summation);
            return windows(tracer, site, window, |row| sum.of(init, row.iter().copied(), dtype));
        }
        let gathering = joint.binary().and_then(|binary| Gathering::new(tracer, binary, dtype));
        return windows(tracer, site, window, |row| match &gathering {
            Some(gathering) => gathering.of(init, row),
            None => joint.chain(init, row),
        });
    };
    let length = dims[dim].max(1);
    let order = tracer.machine.mode.choices.scan;
    let inner: usize = dims[dim + 1..].iter().product();
    let mut results = elements.to_vec();
    let mut scan = Scan { apply: |a, b| joint.of(a, b), init, reversed };
    for lane in 0..elements.len() / length {
        let first = lane / inner * length * inner + lane % inner;
        let row: Vec<Symbol> = (0..length).map(|i| elements[first + i * inner]).collect();
        let scanned = scan.row(&row, order);
        scanned.into_iter().enumerate().for_each(|(i, symbol)| results[first + i * inner] = symbol);
    }
    Ok(Symbols::array(results))
}

/// Each window, its elements in row-major order.
fn windows(tracer: &Tracer, site: &Site, window: &Window, of: impl Fn(&[Symbol]) -> Symbol) -> Result<Symbols> {
    let dims = site.dims(0);
    let strides = movement::row_major(dims);
    let extents: Vec<usize> = window.0.iter().map(|w| w.size).collect();
    let out_dims = site.instruction.shape.dims();
    let shown = out_dims.iter().chain(&extents).try_fold(1usize, |shown, extent| shown.checked_mul(*extent));
    // Overlapping windows show an element many times: the budget is of what is looked at, not of what there is.
    tracer.spend(site.instruction, shown.unwrap_or(usize::MAX))?;
    let mut results = Vec::with_capacity(out_dims.iter().product());
    let mut row = Vec::new();
    movement::for_each_index(out_dims, |_, out| {
        row.clear();
        movement::for_each_index(&extents, |_, inside| {
            row.extend(window.element(dims, &strides, out, inside).map(|at| site.of(0)[at]));
        });
        results.push(of(&row));
    });
    Ok(Symbols::array(results))
}

/// Combination of two elements by a region.
enum Joint<'t> {
    /// As an operation does.
    Operation(Binary, PairwiseOperation<'t>),
    /// As nothing else does.
    Region(Mixer),
}

impl<'t> Joint<'t> {
    fn new(tracer: &'t Tracer<'t>, site: &Site, to_apply: ComputationId) -> Result<Joint<'t>> {
        let dtype = site.shapes[0].element_type();
        let exact = site.operands[0].as_array().exact;
        Ok(match reducer(tracer, site, to_apply) {
            Some(Reducer::Binary(binary)) if !exact => {
                Joint::Operation(binary, PairwiseOperation::new(binary, dtype, &tracer.machine.unit, tracer))
            }
            _ => {
                let mixer = Key::Joined { dtype, exact, flush: tracer.machine.unit.flush }.mixer();
                Joint::Region(mixer.and(tracer.region(to_apply)?))
            }
        })
    }

    fn binary(&self) -> Option<Binary> {
        match self {
            Joint::Operation(binary, _) => Some(*binary),
            Joint::Region(_) => None,
        }
    }

    fn of(&self, a: Symbol, b: Symbol) -> Symbol {
        match self {
            Joint::Operation(_, operation) => operation.of(a, b),
            Joint::Region(mixer) => mixer.and(a).and(b).symbol(),
        }
    }

    /// One element after the other, from the init.
    fn chain(&self, init: Symbol, row: &[Symbol]) -> Symbol {
        row.iter().fold(init, |state, symbol| self.of(state, *symbol))
    }
}

/// A reduction in windows, each of them a chain.
struct Windows<'t> {
    tree: TreeReduction,
    joint: Joint<'t>,
    init: Symbol,
    /// Whether each window is summed from +0: then an init that is a zero adds nothing.
    sums: bool,
    dtype: DType,
}

impl<'t> Windows<'t> {
    /// `None` where the machine reduces otherwise.
    fn new(
        tracer: &'t Tracer<'t>,
        site: &Site,
        to_apply: ComputationId,
        reduced: &[usize],
        joined: Joined,
        init: Symbol,
    ) -> Result<Option<Windows<'t>>> {
        let dtype = site.shapes[0].element_type();
        let extents: Vec<usize> = reduced.iter().map(|d| site.dims(0)[*d]).collect();
        let one = site.operands.len() == 2 && !site.operands[0].as_array().exact && !extents.contains(&0);
        let sums = joined == Joined::Sum;
        let joint = match joined {
            _ if !one => return Ok(None),
            // Where all is -0 such a sum is -0, and a chain from +0 is not.
            Joined::Sum if !init.is_not_minus_zero() => return Ok(None),
            Joined::Sum => match step_in_windows(tracer, site, reduced, init) {
                Some(step) => Joint::Operation(
                    Binary::Add,
                    PairwiseOperation::new(Binary::Add, step, &tracer.machine.unit, tracer),
                ),
                None => return Ok(None),
            },
            Joined::Region if dtype.is_float() && tracer.machine.mode.choices.reduce == SumOrder::Tree32 => {
                Joint::new(tracer, site, to_apply)?
            }
            _ => return Ok(None),
        };
        Ok(Some(Windows { tree: TreeReduction::new(&extents), joint, init, sums, dtype }))
    }

    fn of(&self, row: &[Symbol]) -> Symbol {
        let zero = Symbol::of(Number::Float(0.0));
        let chain = |window: &[Symbol]| match (self.sums, self.init.float() == Some(0.0)) {
            (true, true) => self.joint.chain(zero, &window[1..]),
            (true, false) => self.joint.chain(zero, window),
            (false, _) => self.joint.chain(window[0], &window[1..]),
        };
        let reduced = self.tree.reduce(row, self.init, chain);
        if self.sums { round(reduced, self.dtype) } else { reduced }
    }
}
