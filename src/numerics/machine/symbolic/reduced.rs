//! Reductions, windows and dots: each result is a function of its terms in their order, by the plan that the machine sums by.

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
use super::pointwise::rounded;
use super::run::{Result, Site, Tracer};
use super::symbol::{Facts, Mixer, Symbol};
use super::symbols::Symbols;

pub fn reduce(tracer: &Tracer, site: &Site, reduced: &[usize], to_apply: ComputationId) -> Result<Symbols> {
    let machine = tracer.machine;
    let count = site.operands.len() / 2;
    let dims = site.dims(0);
    let kept: Vec<usize> = (0..dims.len()).filter(|d| !reduced.contains(d)).collect();
    let reduced: Vec<usize> = (0..dims.len()).filter(|d| reduced.contains(d)).collect();
    let order = [&kept[..], &reduced].concat();
    let width: usize = reduced.iter().map(|d| dims[*d]).product();
    let rows: Vec<Vec<Symbol>> = (0..count).map(|at| permuted(site.of(at), dims, &order)).collect();
    let inits: Vec<Symbol> = (count..2 * count).map(|at| site.of(at)[0]).collect();
    let dtype = site.shapes[0].element_type();
    let exact = site.operands[0].as_array().exact;
    let known = machine.prepared.regions.reducer(to_apply);
    let extents: Vec<usize> = reduced.iter().map(|d| dims[*d]).collect();
    let Mode { chip, choices, .. } = machine.mode;
    let as_compiled = chip.library.is_some() && choices.reduce == chip.sum;
    let side_by_side = SideBySide::new(site.habits.sum_loop, machine.unit.flush).is_some() && as_compiled;
    let row_sum = |dtype: DType| {
        let site = SumSite {
            dtype,
            extents: &extents,
            from_zero: inits[0].float() == Some(0.0),
            last: (0..dims.len()).rfind(|d| dims[*d] > 1).is_some_and(|d| reduced.contains(&d)),
            run: innermost_run(dims, &reduced),
            fusion: site.instruction.fusion,
        };
        RowSum::new(machine.mode, &site).plan(&extents)
    };
    let adds = known == Some(Reducer::Binary(Binary::Add)) && dtype.is_float() && dtype != DType::F64 && count == 1;
    let plan = match (adds, exact) {
        (true, false) if side_by_side && dtype == DType::F32 && width > 0 => format!("{:?}", site.habits.sum_loop),
        (true, false) => row_sum(dtype),
        (true, true) if width > 0 && side_by_side => format!("products {:?}", site.habits.sum_loop),
        (true, true) if width > 0 => match site.habits.sum_loop {
            SumLoop::ChainOfTwo => "products, two at first".to_string(),
            SumLoop::ChainOfRounded if as_compiled => format!("rounded products {}", row_sum(DType::F32)),
            _ => "products".to_string(),
        },
        _ if exact || count == 1 && dtype.is_float() && choices.reduce == SumOrder::Tree32 && !is_extreme(known) => {
            let long: Vec<&usize> = extents.iter().filter(|extent| **extent != 1).collect();
            format!("windows {long:?} {exact}")
        }
        _ => "chain".to_string(),
    };
    let mut mixer = Mixer::new(&format!("reduce {plan} {dtype} {}", machine.unit.flush));
    mixer = mixer.and(tracer.region(to_apply)?);
    mixer = mixer.and_all(inits.iter().copied());
    let results: usize = kept.iter().map(|d| dims[*d]).product();
    let mut columns: Vec<Vec<Symbol>> = vec![Vec::with_capacity(results); count];
    for row in 0..results {
        let terms = rows.iter().fold(mixer, |m, rows| m.and_all(rows[row * width..(row + 1) * width].iter().copied()));
        for (part, column) in columns.iter_mut().enumerate() {
            let result = terms.and_count(part).symbol();
            column.push(if adds { sum(result, tracer, dtype) } else { result });
        }
    }
    Ok(Symbols::from_parts(columns.into_iter().map(Symbols::array).collect()))
}

fn is_extreme(known: Option<Reducer>) -> bool {
    matches!(known, Some(Reducer::Binary(Binary::Maximum | Binary::Minimum)))
}

/// What is known of a sum, rounded to its type.
fn sum(result: Symbol, tracer: &Tracer, dtype: DType) -> Symbol {
    rounded(result.with(Facts { normal: tracer.machine.unit.flush, not_negative: false }), dtype)
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
    let in_order = !reversed && (order == ScanOrder::Sequential || matches!(order, ScanOrder::Blocked(b) if length <= b));
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
}

impl Summed {
    fn new(tracer: &Tracer, site: &Site, plan: &DotPlan, precision: [Precision; 2]) -> Summed {
        let machine = tracer.machine;
        let (m, k, n) = (plan.m, plan.k, plan.n);
        let dtypes = [site.shapes[0].dtype(), site.shapes[1].dtype()];
        let instruction = site.instruction;
        if !dtypes.iter().flatten().all(|dtype| dtype.is_float()) {
            let mixer = Mixer::new(&format!("dot {}", instruction.shape.element_type()));
            return Summed { mixer, order: None, commutes: true, rounds_operands: false };
        }
        let unit = machine.mode.dot(precision, dtypes, [m, n]);
        let mut matrix = machine.mode.matrix_unit_for(instruction.tiling.as_deref());
        // A cut that nothing reads is none.
        if matrix.accumulation != Accumulation::Tiled {
            matrix.k_block = None;
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
        Summed { mixer: Mixer::new(&format!("dot {text}")), order, commutes, rounds_operands }
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
