//! Enclosures of all results that computations of a program may have.
//!
//! A pass over the program in f64 intervals. Each instruction first has the result of its operation over the real
//! numbers. Then its [`Latitude`] applies: the error of the unit that computes it, flushes, and the formats of its
//! roundings. If one of several values may be read ([`Latitude::OneOf`]), the result is their hull. Roundings are
//! monotone, so that both ends of an enclosure are rounded and nothing is lost: without a choice and without an error
//! it stays one number.
//!
//! Identities go along (`order`): a rounding is a step that never falls, so that two readers of one value see one value,
//! equal arguments have equal results, and a maximum is among its own row, while different arguments may become equal.

mod additions;
mod every_form;
mod form_loop;
mod kernels;
mod product_order;
mod settle;
#[cfg(test)]
mod tests;
mod union;
mod widening;

use std::collections::HashMap;

use crate::analysis::{World, check_memory};
use crate::ir::{Binary, Class, Computation, ComputationId, Instruction, Op, Program, Shape, ValueId};
use crate::num::Format;
use crate::tensor::{DType, Tensor};

use super::elements::Value;
use super::evaluate::{Pass, check_arguments};
use super::fast::Fast;
use super::interval::Interval;
use super::oracle_error::OracleError;
use super::plan::{Plan, Sums};
use super::prepared::Prepared;

pub use additions::Additions;
use every_form::Spans;
pub use product_order::{BLOCK, ProductOrder};
pub use widening::Forms;

/// The results of an instruction that a computation may have.
#[derive(Clone, Debug, PartialEq)]
pub enum Latitude {
    /// The result of an operation that rounds nothing. Operands below a magnitude may have been flushed first.
    Exact {
        /// Magnitudes below it may count as zero; 0 where none does.
        floor: f64,
    },
    /// The result of the operation, within errors and rounded.
    Rounded(Rounding),
    /// One of several values.
    OneOf {
        /// Earlier values of the same program, arrays of floats, all of one shape and dtype.
        options: Vec<ValueId>,
        /// The value of whose elements the options' are functions that never fall, if there is one.
        source: Option<ValueId>,
    },
    /// Anything.
    Unknown,
}

impl Latitude {
    /// The values that the enclosure of this instruction's result is made of.
    fn reads<'a>(&'a self, instruction: &'a Instruction) -> impl Iterator<Item = ValueId> + 'a {
        let (values, source) = match self {
            Latitude::OneOf { options, source } => (options.as_slice(), *source),
            Latitude::Unknown => (&[][..], None),
            Latitude::Exact { .. } | Latitude::Rounded(_) => (instruction.operands.as_slice(), None),
        };
        values.iter().copied().chain(source)
    }
}

/// Errors and roundings of one instruction, in the order in which they come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rounding {
    /// Operands below this magnitude may count as zero, and so may results once they are rounded to the first format.
    pub floor: f64,
    /// Whether such results are zeros for certain.
    pub flushes: bool,
    /// A quotient is the dividend times the reciprocal of the divisor, rounded to these formats one after the other and
    /// zero below this magnitude.
    pub reciprocal: Option<Reciprocal>,
    /// Or it may be that with one of these reciprocals.
    pub others: Vec<Reciprocal>,
    /// The operand may be off by this share of itself before a function that never falls is taken of it.
    pub operand: f64,
    /// The error of the result relative to itself.
    pub relative: f64,
    /// The absolute error of the result, beside the relative one.
    pub absolute: f64,
    /// The error of a sum of many terms, or of products.
    pub additions: Option<Additions>,
    /// The formats that the result is rounded to, one after the other.
    pub formats: Vec<Format>,
    /// Whether some elements may be left as they were before they are rounded and flushed.
    pub may_stay: bool,
    /// The forms of the result that rewrites over the real numbers may make.
    pub forms: Option<Forms>,
}

/// The formats that a reciprocal is rounded to, one after the other, and the magnitude below which it is zero.
pub type Reciprocal = (Vec<Format>, f64);

/// All that a result may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Enclosed {
    /// An enclosure for each float, row-major.
    Floats(Vec<Interval>),
    /// Integers and predicates (0 and 1), row-major; `None` where computations may differ.
    Integers(Vec<Option<i64>>),
}

impl Enclosed {
    /// The number of elements.
    pub fn elements(&self) -> usize {
        match self {
            Enclosed::Floats(floats) => floats.len(),
            Enclosed::Integers(integers) => integers.len(),
        }
    }
}

/// A program made ready to be enclosed.
pub struct Enclosure {
    prepared: Prepared,
    plan: Plan,
}

impl Enclosure {
    /// Makes `program` ready.
    pub fn new(program: &Program) -> Enclosure {
        let prepared = Prepared::as_it_stands(program.clone());
        let plan = Plan::new(program, Vec::new(), &[], Sums::new());
        Enclosure { prepared, plan }
    }

    /// Encloses the values `wanted` of the entry for `arguments`. Each instruction of the entry has the latitude of its
    /// place in `latitudes`. Values that none of `wanted` depends on are not evaluated.
    ///
    /// # Errors
    /// If arguments do not fit the program's parameters, or an operation has no meaning over the real numbers.
    pub fn of(
        &self,
        arguments: &[Tensor],
        latitudes: &[Latitude],
        wanted: &[ValueId],
    ) -> Result<Enclosures<'_>, OracleError> {
        let program = &self.prepared.program;
        check_arguments(program, arguments)?;
        check_memory(program, World::Truth)?;
        let mut pass = Pass::new(Fast::default(), &self.prepared, &self.plan);
        let values = pass.enclose(arguments, latitudes, wanted)?;
        Ok(Enclosures { pass, values })
    }
}

/// Values that were enclosed.
pub struct Enclosures<'a> {
    pass: Pass<'a, Fast>,
    values: Vec<Option<Value<Fast>>>,
}

impl Enclosures<'_> {
    /// The enclosure of one of the wanted values; of others, and of tuples, all elements are unknown integers.
    pub fn of(&self, id: ValueId) -> Enclosed {
        match &self.values[id] {
            Some(Value::Float(array)) => {
                Enclosed::Floats((0..array.len).map(|at| self.pass.world.number(array, at)).collect())
            }
            Some(Value::Integer(integers)) => Enclosed::Integers(integers.values.to_vec()),
            Some(Value::Tuple(_)) | None => {
                let entry = self.pass.prepared.program.entry();
                Enclosed::Integers(vec![None; entry.instructions[id].shape.elements()])
            }
        }
    }
}

/// The number of uses of each value if the values `wanted` are evaluated: 0 if none of them depends on it.
fn count_uses(entry: &Computation, latitudes: &[Latitude], wanted: &[ValueId]) -> Vec<usize> {
    let mut uses = vec![0; entry.instructions.len()];
    wanted.iter().for_each(|id| uses[*id] += 1);
    for (id, instruction) in entry.instructions.iter().enumerate().rev() {
        if uses[id] > 0 {
            latitudes[id].reads(instruction).for_each(|read| uses[read] += 1);
        }
    }
    uses
}

impl Pass<'_, Fast> {
    /// The values of the entry; those whose last user is past are dropped, but for those wanted.
    fn enclose(
        &mut self,
        arguments: &[Tensor],
        latitudes: &[Latitude],
        wanted: &[ValueId],
    ) -> Result<Vec<Option<Value<Fast>>>, OracleError> {
        let prepared = self.prepared;
        let (program, entry) = (&prepared.program, prepared.program.entry());
        let mut uses = count_uses(entry, latitudes, wanted);
        let mut values: Vec<Option<Value<Fast>>> = Vec::with_capacity(entry.instructions.len());
        let mut spans = Spans::new(entry.instructions.len());
        // Readers of one value mostly have the same options.
        let mut alike: HashMap<&[ValueId], ValueId> = HashMap::new();
        for (id, instruction) in entry.instructions.iter().enumerate() {
            if uses[id] == 0 {
                values.push(None);
                continue;
            }
            let operands: Vec<Value<Fast>> = instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
            let shapes: Vec<&Shape> = instruction.operands.iter().map(|o| &entry.instructions[*o].shape).collect();
            let value = match (&instruction.op, &latitudes[id]) {
                (Op::Parameter(number), _) => self.tensor_value(&arguments[*number]),
                (Op::Constant(value), _) => self.tensor_value(value),
                (_, Latitude::Unknown) => self.forget(&instruction.shape),
                (_, Latitude::OneOf { options, source }) => {
                    let before = alike.insert(options, id).and_then(|other| values[other].as_ref());
                    let options: Vec<Value<Fast>> = options.iter().filter_map(|o| values[*o].clone()).collect();
                    self.one_of(id, &options, source.and_then(|source| values[source].as_ref()), before)
                }
                (_, Latitude::Exact { floor }) => {
                    self.unrounded(program.entry, instruction, operands, &shapes, *floor)?
                }
                (_, Latitude::Rounded(rounding)) => {
                    self.computed((program.entry, id), instruction, operands, (&shapes, &mut spans), rounding)?
                }
            };
            values.push(Some(value));
            let read: Vec<ValueId> = latitudes[id].reads(instruction).collect();
            self.hand_on(&mut spans, (program.entry, id), instruction, &shapes, &read)?;
            for read in read {
                uses[read] -= 1;
                if uses[read] == 0 {
                    values[read] = None;
                    spans.forget(read);
                }
            }
        }
        Ok(values)
    }

    /// The result of an operation that rounds nothing, of operands that it may flush. An operation that ranks elements
    /// moves them unflushed: its results may be either, so they get fresh identities, unrelated to operands flushed
    /// elsewhere.
    fn unrounded(
        &mut self,
        computation: ComputationId,
        instruction: &Instruction,
        operands: Vec<Value<Fast>>,
        shapes: &[&Shape],
        floor: f64,
    ) -> Result<Value<Fast>, OracleError> {
        let sees_bits = matches!(instruction.op.class(), Class::Moves | Class::Lists | Class::Source);
        let floor = if sees_bits { 0.0 } else { floor };
        let ranks = instruction.op.class() == Class::Ranks;
        let may_be_flushed = ranks && operands.iter().any(|operand| self.may_flush(operand, floor));
        let operands: Vec<Value<Fast>> = operands.into_iter().map(|operand| self.flush(operand, floor)).collect();
        let value = self.instruction(computation, instruction, &operands, shapes, None)?;
        let value = self.without_integers_of_nan(instruction, &operands, value);
        Ok(if may_be_flushed { self.apart(value) } else { value })
    }

    /// The result of a conversion to integers, of which those of NaN are open: a chip makes 0 of it, or the largest integer.
    fn without_integers_of_nan(
        &self,
        instruction: &Instruction,
        operands: &[Value<Fast>],
        value: Value<Fast>,
    ) -> Value<Fast> {
        let (Op::Convert, [Value::Float(array)], Value::Integer(integers)) = (&instruction.op, operands, &value) else {
            return value;
        };
        let is_nan = |at: usize| self.world.number(array, at).is_nan();
        match instruction.shape.dtype() {
            Some(to) if to != DType::Pred && (0..array.len).any(is_nan) => {
                let known = integers.values.iter().enumerate().map(|(at, v)| v.filter(|_| !is_nan(at)));
                Value::integer(to, known.collect())
            }
            _ => value,
        }
    }

    fn computed(
        &mut self,
        (computation, id): (ComputationId, ValueId),
        instruction: &Instruction,
        operands: Vec<Value<Fast>>,
        (shapes, spans): (&[&Shape], &mut Spans),
        rounding: &Rounding,
    ) -> Result<Value<Fast>, OracleError> {
        let operands: Vec<Value<Fast>> =
            operands.into_iter().map(|operand| self.flush(operand, rounding.floor)).collect();
        if let Some(additions) = &rounding.additions {
            return self.add_up(computation, instruction, operands, shapes, (additions, rounding));
        }
        let value = match &rounding.reciprocal {
            Some(reciprocal) => self.product((computation, id), instruction, &operands, shapes, reciprocal)?,
            None => self.instruction(computation, instruction, &operands, shapes, None)?,
        };
        let mut ways = vec![value];
        for reciprocal in &rounding.others {
            ways.push(self.product((computation, id), instruction, &operands, shapes, reciprocal)?);
        }
        if let (true, [Value::Float(exact)]) = (rounding.operand > 0.0, &operands[..]) {
            let off = Rounding { relative: rounding.operand, ..Rounding::default() };
            let operand = Value::Float(self.settle(id, exact.clone(), &off));
            ways.push(self.instruction(computation, instruction, &[operand], shapes, None)?);
        }
        if let Some(forms) = &rounding.forms {
            ways = self.in_every_form(id, instruction, (&operands, spans), ways, forms);
        }
        if ways.len() > 1 {
            return Ok(self.one_way(id, &ways, rounding));
        }
        Ok(match ways.remove(0) {
            Value::Float(array) => Value::Float(self.settle(id, array, rounding)),
            other => other,
        })
    }

    /// The dividend times the reciprocal of the divisor, as real numbers but for the reciprocal.
    fn product(
        &mut self,
        (computation, id): (ComputationId, ValueId),
        instruction: &Instruction,
        operands: &[Value<Fast>],
        shapes: &[&Shape],
        (formats, floor): &Reciprocal,
    ) -> Result<Value<Fast>, OracleError> {
        let inverse = Rounding { floor: *floor, flushes: true, formats: formats.clone(), ..Rounding::default() };
        let divisor = operands[1].floats().clone();
        let ones = self.world.exacts(vec![1.0; divisor.len]);
        let quotient = self.world.binary_all(Binary::Divide, &ones, &divisor, true, None);
        let inverse = Value::Float(self.settle(id, quotient, &inverse));
        let product = Instruction { op: Op::Binary(Binary::Multiply), ..instruction.clone() };
        self.instruction(computation, &product, &[operands[0].clone(), inverse], shapes, None)
    }
}
