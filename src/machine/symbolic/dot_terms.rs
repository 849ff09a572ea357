//! Dots: each result is a function of a row and a column, by the plan that the machine sums their products by.

use std::num::NonZeroUsize;

use crate::ir::{Binary, DotDims, DotPlan, movement};
use crate::tensor::DType;

use super::super::backend::DotKernel;
use super::super::dot_unit::{DotSite, DotUnit};
use super::super::mxu::Passes;
use super::super::summation::Summation;
use super::super::vector::SumOrder;
use super::pairwise::PairwiseOperation;
use super::pointwise::round;
use super::reduced::Sum;
use super::run::{Result, Site, Tracer};
use super::symbol::{Mixer, Number, Symbol};
use super::symbol_key::{self as key, Key};
use super::symbols::Symbols;

pub fn dot(tracer: &Tracer, site: &Site, numbers: &DotDims) -> Result<Symbols> {
    let instruction = site.instruction;
    let plan = DotPlan::new(numbers, site.dims(0), site.dims(1));
    let (m, k, n) = (plan.m, plan.k, plan.n);
    tracer.spend(instruction, plan.batch * m * n * 2)?;
    let operand = |at: usize, transpose: &Option<Vec<usize>>| match transpose {
        Some(order) => movement::permute(site.of(at), site.dims(at), order),
        None => site.of(at).to_vec(),
    };
    let (mut lhs, mut rhs) = (operand(0, &plan.lhs_transpose), operand(1, &plan.rhs_transpose));
    let dtype = instruction.shape.element_type();
    let dtypes = [site.shapes[0].dtype(), site.shapes[1].dtype()];
    let summed = Summed::new(tracer, site, &plan);
    // One pass is a rounding of the operands and an exact product of what is left: as if the program had converted
    // them itself.
    if summed.rounds_operands {
        lhs.iter_mut().chain(&mut rhs).for_each(|symbol| *symbol = round(*symbol, DType::BF16));
    }
    if let Some(sum) = &summed.on_vector_unit {
        let multiply = PairwiseOperation::new(Binary::Multiply, DType::F32, &tracer.machine.unit, tracer);
        let zero = Symbol::of(Number::Float(0.0));
        let mut out = Vec::with_capacity(plan.batch * m * n);
        for (at, i, j) in (0..plan.batch * m * n).map(|flat| (flat / (m * n), flat / n % m, flat % n)) {
            let products = (0..k).map(|l| multiply.of(lhs[(at * m + i) * k + l], rhs[(at * k + l) * n + j]));
            out.push(sum.of(zero, products, dtype));
        }
        return Ok(Symbols::array(out));
    }
    let list = Key::DotTerms.mixer();
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
                // Each product commutes, so that a dot does with its operands exchanged and transposed.
                let (a, b) = if summed.commutes { (row.min(column), row.max(column)) } else { (row, column) };
                let result = summed.mixer(i * n + j, n).and(*a).and(*b).symbol();
                let float = dtype.is_float() && dtypes[0].is_some_and(|dtype| dtype != DType::F64);
                out.push(if float { round(result, dtype) } else { result });
            }
        }
    }
    Ok(Symbols::array(out))
}

/// The order in which the products of a dot are summed, place by place.
struct Summed {
    mixer: Mixer,
    order: Option<Box<dyn DotKernel>>,
    /// Whether both operands are taken alike.
    commutes: bool,
    /// Whether operands are rounded to bf16 first: the rest is the same as for bf16 operands.
    rounds_operands: bool,
    /// The sum of products that are rounded to f32, where the vector unit computes it.
    on_vector_unit: Option<Sum>,
}

impl Summed {
    fn new(tracer: &Tracer, site: &Site, plan: &DotPlan) -> Summed {
        let machine = tracer.machine;
        let k = plan.k;
        let dtypes = [site.shapes[0].dtype(), site.shapes[1].dtype()];
        let instruction = site.instruction;
        // Integer sums wrap and have no order.
        if !dtypes.iter().flatten().all(|dtype| dtype.is_float()) {
            let mixer = Key::Dot(key::Dot::Integers(instruction.shape.element_type())).mixer();
            return Summed { mixer, order: None, commutes: true, rounds_operands: false, on_vector_unit: None };
        }
        let unit = machine.mode.dot(&DotSite::of(instruction, dtypes, plan));
        let mut matrix = machine.mode.matrix_unit_for(instruction.tiling());
        // A cut or a block that takes all products changes nothing.
        matrix = matrix.for_products(k);
        matrix.block = matrix.block.min(NonZeroUsize::new(k).unwrap_or(NonZeroUsize::MIN));
        let matrix_unit = matches!(unit, DotUnit::Matrix(_));
        let order = machine.mode.dot_kernel(instruction, dtypes, plan).filter(|_| matrix_unit);
        let dot = match unit {
            DotUnit::Matrix(_) if order.as_ref().is_some_and(|order| order.joins_parts()) => {
                key::Dot::Complex { flush: matrix.flush }
            }
            DotUnit::Double => key::Dot::Double,
            DotUnit::Vector => key::Dot::Vector { order: machine.mode.choices.reduce, flush: machine.unit.flush },
            // Operands are rounded by then.
            DotUnit::Matrix(Passes::One) => key::Dot::Matrix(Passes::Exact, matrix),
            DotUnit::Matrix(passes) => key::Dot::Matrix(passes, matrix),
        };
        // Products of parts are added in an order that tells the operands apart.
        let commutes = !matches!(unit, DotUnit::Matrix(Passes::Three | Passes::Six));
        let rounds_operands = unit == DotUnit::Matrix(Passes::One);
        let reduce = machine.mode.choices.reduce;
        let on_vector_unit = (unit == DotUnit::Vector && reduce != SumOrder::Tree32)
            .then(|| Sum::new(&Summation::of_dot(machine.mode, k)));
        Summed { mixer: Key::Dot(dot).mixer(), order, commutes, rounds_operands, on_vector_unit }
    }

    /// That of the result at place `at` of `[m,n]`.
    fn mixer(&self, at: usize, n: usize) -> Mixer {
        let numbers = self.order.as_ref().and_then(|order| order.of_place(at, n)).unwrap_or_default();
        numbers.into_iter().fold(self.mixer, Mixer::and_count)
    }
}
