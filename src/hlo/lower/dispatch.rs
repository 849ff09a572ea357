//! The handler of each opcode, by its family.

use crate::ast::Literal;
use crate::builder::{Emitter, Handlers, Value};
use crate::error::LowerError;
use crate::ir::{Op, ValueId};
use crate::opcode::{Identity, Opcode, Product, Reinterpretation, Single};
use crate::ops::collective::{self, device_number, each_device, manual};
use crate::ops::random::{rng, rng_bit_generator};
use crate::ops::{
    asynchronous, batch_norm, bitcast, complex, constant, control, custom_call, data_movement, elementary, elementwise,
    factorization, fft, gather_scatter, identity, product, ranking, reduction, scan, tuple,
};

type Result<T> = std::result::Result<T, LowerError>;

/// All handlers.
pub struct Dispatch;

impl Handlers for Dispatch {
    fn instruction(&self, e: &mut Emitter, operands: Vec<Value>) -> Result<Value> {
        let opcode = &e.instruction.opcode;
        if let Some(value) = rng::of_one_value(e, &operands)? {
            return Ok(value);
        }
        if let Opcode::Outside(part) = opcode
            && let Some(value) = collective::in_two_parts(e, *part, &operands)?
        {
            return Ok(value);
        }
        if let Some(why) = opcode.refusal() {
            return Err(e.unknown(format!("opcode `{opcode}` is not supported: {why}")));
        }
        match opcode {
            Opcode::Collective(collective) => return collective::lower(e, *collective, &operands),
            Opcode::CollectiveDone(end) => return collective::done(e, *end, &operands),
            Opcode::DeviceNumber(number) => return device_number::lower(e, *number),
            Opcode::Single(Single::CustomCall) => {
                if let Some(value) = manual::of_target(e, &operands)? {
                    return Ok(value);
                }
            }
            _ => {}
        }
        if control::is_together(e)? || !each_device::is_apart(e, &operands) {
            return on_one(e, operands);
        }
        each_device::apart(e, &operands, on_one)
    }

    fn over_arrays(&self, e: &mut Emitter, operands: Vec<ValueId>) -> Result<ValueId> {
        let claimed = e.claimed_shape()?;
        match &e.instruction.opcode {
            Opcode::Binary(binary) => elementwise::of_two(e, *binary, operands),
            Opcode::Decomposition(decomposition) => factorization::lower(e, *decomposition, &operands),
            Opcode::Elementary(function) => elementary::lower(e, *function, &operands),
            Opcode::Elementwise(function) => elementwise::lower(e, *function, operands, claimed),
            Opcode::Indexed(indexed) => gather_scatter::lower(e, *indexed, operands, claimed),
            Opcode::Movement(movement) => data_movement::lower(e, *movement, operands, claimed),
            Opcode::Product(product) => product::lower(e, *product, operands, claimed),
            Opcode::Ranking(ranking) => ranking::lower(e, *ranking, operands, claimed),
            Opcode::Reduction(reduction) => reduction::lower(e, *reduction, operands, claimed),
            Opcode::Reinterpretation(reinterpretation) => bitcast::lower(e, *reinterpretation, &operands, claimed),
            Opcode::Single(Single::CustomCall) => custom_call::over_arrays(e, operands, claimed),
            Opcode::Unary(unary) => e.emit(Op::Unary(*unary), operands, None),
            // Those of other values than arrays, and those that have no meaning here.
            Opcode::Asynchronous(_)
            | Opcode::BatchNorm(_)
            | Opcode::Collective(_)
            | Opcode::CollectiveDone(_)
            | Opcode::ComplexPart(_)
            | Opcode::Control(_)
            | Opcode::DeviceNumber(_)
            | Opcode::Identity(_)
            | Opcode::Other(_)
            | Opcode::Outside(_)
            | Opcode::Single(
                Single::Constant | Single::Fft | Single::Parameter | Single::RngBitGenerator | Single::Scan,
            )
            | Opcode::Token(_)
            | Opcode::Tuples(_) => Err(unsupported(e)),
        }
    }

    fn constant(&self, e: &mut Emitter, literal: &Literal) -> Result<Value> {
        match complex::constant(e, literal)? {
            Some(complex) => Ok(complex),
            None => constant::value(e, literal),
        }
    }
}

/// The error of an opcode that has no meaning here.
fn unsupported(e: &Emitter) -> LowerError {
    let opcode = &e.instruction.opcode;
    e.unknown(format!("opcode `{opcode}` is not supported{}", opcode.hint()))
}

/// Lowers an instruction on one device, or on all devices alike.
fn on_one(e: &mut Emitter, mut operands: Vec<Value>) -> Result<Value> {
    match &e.instruction.opcode {
        Opcode::Asynchronous(part) => asynchronous::lower(e, *part, operands),
        Opcode::BatchNorm(kind) => batch_norm::lower(e, *kind, &operands),
        Opcode::Other(_) => Err(unsupported(e)),
        Opcode::Control(control) => control::lower(e, *control, operands),
        Opcode::Identity(Identity::AddDependency) if !operands.is_empty() => Ok(operands.swap_remove(0)),
        Opcode::Identity(Identity::Copy | Identity::Domain) => identity::lower(e, Op::Copy, operands),
        Opcode::Identity(Identity::OptBarrier) => identity::lower(e, Op::OptimizationBarrier, operands),
        Opcode::Product(Product::Convolution) => {
            let operands = product::sparse::with_all_elements(e, operands)?;
            of_numbers(e, operands)
        }
        Opcode::Single(Single::CustomCall) => custom_call::lower(e, &operands),
        Opcode::Single(Single::Fft) => fft::lower(e, &operands),
        Opcode::Single(Single::RngBitGenerator) => rng_bit_generator::lower(e, &operands),
        Opcode::Single(Single::Scan) => scan::lower(e, operands),
        Opcode::Token(_) => Ok(Value::Nothing),
        Opcode::Tuples(tuples) => tuple::lower(e, *tuples, operands),
        Opcode::Reinterpretation(Reinterpretation::Bitcast) => match asynchronous::bytes(e, &operands) {
            Some(bytes) => Ok(bytes),
            None => of_numbers(e, operands),
        },
        Opcode::Binary(_)
        | Opcode::Collective(_)
        | Opcode::CollectiveDone(_)
        | Opcode::ComplexPart(_)
        | Opcode::Decomposition(_)
        | Opcode::DeviceNumber(_)
        | Opcode::Elementary(_)
        | Opcode::Elementwise(_)
        | Opcode::Identity(Identity::AddDependency)
        | Opcode::Indexed(_)
        | Opcode::Movement(_)
        | Opcode::Outside(_)
        | Opcode::Product(Product::Dot | Product::RaggedDot | Product::ScaledDot)
        | Opcode::Ranking(_)
        | Opcode::Reduction(_)
        | Opcode::Reinterpretation(Reinterpretation::BitcastConvert)
        | Opcode::Single(Single::Constant | Single::Parameter)
        | Opcode::Unary(_) => of_numbers(e, operands),
    }
}

/// Lowers an operation on complex or other numbers.
fn of_numbers(e: &mut Emitter, operands: Vec<Value>) -> Result<Value> {
    if complex::takes(e, &operands) { complex::lower(e, &operands) } else { e.over_arrays(&operands) }
}
