//! A-priori forward error bounds, composed operation by operation.
//!
//! For every element the pass carries an f64 value v with bounds: `machine` bounds |computed - v| for any computation
//! that follows the declared mode, `own` bounds |exact - v|, the f64 evaluation's own error. Their sum bounds the error
//! |computed - exact|. Rules are the standard ones (Higham 2002, chapters 2 and 3): an operation propagates its
//! operands' bounds by its Lipschitz constant over their range, then adds its own rounding. The roundings, flushes and
//! approximations of the mode's units are not defined here: the units promise them (`machine/vector/promise.rs`,
//! `machine/mxu/promise.rs`, `machine/sum.rs`).

mod dot;
mod element;
mod elementwise;
mod reduce;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::analysis::{self, Reducer, Regions};
use crate::ir::{Binary, Class, Op, Program, Shape, Unary, ValueId, movement};
use crate::machine::vector::{VectorUnit, reduced_format};
use crate::machine::{Mode, Prepared, conversion_steps, divides_by_one_number};
use crate::tensor::{DType, Tensor};

use super::scale::Scale;
use element::{Both, Element, own_rounding};

/// Why no bound is derived, in words.
#[derive(Debug)]
pub struct Refusal(pub String);

/// A value of the program.
pub enum Value<'a> {
    /// Known exactly: the machine has the same bits.
    Exact(&'a Tensor),
    /// Each element with its bounds, row-major.
    Known(Vec<Element>),
}

impl Value<'_> {
    fn elements(&self) -> Cow<'_, [Element]> {
        match self {
            Value::Exact(tensor) => exact(tensor).collect(),
            Value::Known(known) => Cow::Borrowed(known),
        }
    }

    fn all(&self, test: impl Fn(Element) -> bool) -> bool {
        match self {
            Value::Exact(tensor) => exact(tensor).all(test),
            Value::Known(known) => known.iter().all(|e| test(*e)),
        }
    }
}

/// f64 holds every number of a tensor but the longest integers.
fn exact(tensor: &Tensor) -> impl Iterator<Item = Element> + '_ {
    let long = tensor.dtype().is_integer() && tensor.dtype().bits() > 53;
    let own = move |v: f64| if long && v.abs() >= 1.0 / f64::EPSILON { own_rounding(v) } else { 0.0 };
    let element = move |v: f64| Element { own: own(v), ..Element::exact(v) };
    (0..tensor.len()).map(move |i| element(tensor.data().get_f64(i)))
}

/// Bounds for one program in one declared mode.
pub struct Forward<'a> {
    program: &'a Program,
    prepared: Prepared<'a>,
    regions: Regions,
    mode: &'a Mode,
    unit: VectorUnit,
    scale: &'a Scale<'a>,
}

impl<'a> Forward<'a> {
    /// Nothing is computed yet. `scale` is that of the program and of the arguments that [`Forward::bounds`] is given.
    pub fn new(program: &'a Program, mode: &'a Mode, scale: &'a Scale<'a>) -> Forward<'a> {
        Forward {
            program,
            prepared: Prepared::new(program),
            regions: Regions::new(program),
            mode,
            unit: mode.vector_unit(),
            scale,
        }
    }

    /// The bounds on |computed - exact| of every element of the value `wanted`, row-major; NaN where nothing is
    /// promised of an element.
    ///
    /// # Errors
    /// Says which operation on the way to the value has no derived bound, or that n u reaches 1.
    pub fn bounds(&self, arguments: &[Tensor], wanted: ValueId) -> Result<Vec<Both>, Refusal> {
        let entry = self.program.entry();
        let needed = analysis::live(entry, [wanted]);
        let mut values: Vec<Option<Value>> = Vec::with_capacity(wanted + 1);
        for (id, instruction) in entry.instructions[..=wanted].iter().enumerate() {
            if !needed[id] {
                values.push(None);
                continue;
            }
            let operands: Vec<&Value> = instruction.operands.iter().filter_map(|o| values[*o].as_ref()).collect();
            let shapes: Vec<&Shape> = instruction.operands.iter().map(|o| &entry.instructions[*o].shape).collect();
            let value = match (&instruction.op, &operands[..]) {
                (Op::Parameter(number), _) => Value::Exact(&arguments[*number]),
                (Op::Constant(value), _) => Value::Exact(value),
                (Op::Dot { .. }, [x, y]) if instruction.shape.element_type().is_float() => {
                    let dtype = instruction.shape.element_type();
                    let dot = self.dot(id, [x, y], [shapes[0], shapes[1]])?;
                    if id == wanted && dtype == DType::F32 {
                        return Ok(dot.bounds());
                    }
                    Value::Known(dot.elements([&x.elements(), &y.elements()], [shapes[0], shapes[1]], dtype))
                }
                _ => {
                    let operands: Vec<Cow<[Element]>> = operands.iter().map(|o| o.elements()).collect();
                    let operands: Vec<&[Element]> = operands.iter().map(Cow::as_ref).collect();
                    Value::Known(self.instruction(id, &operands, &shapes)?)
                }
            };
            values.push(Some(value));
        }
        let value = values.pop().flatten().ok_or_else(|| Refusal("the value is not computed".to_string()))?;
        Ok(value.elements().iter().map(Element::bounds).collect())
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    fn instruction(&self, id: ValueId, operands: &[&[Element]], shapes: &[&Shape]) -> Result<Vec<Element>, Refusal> {
        let instruction = &self.program.entry().instructions[id];
        let refuse = || Refusal(format!("no bound is derived for {} ({})", instruction.op.opcode(), instruction.name));
        if instruction.op.class() == Class::Moves {
            // A start index is data: what it picks has no bound of its own here.
            if instruction.op.first_start().is_some() {
                return Err(refuse());
            }
            let parts: Vec<_> = operands.iter().copied().zip(shapes.iter().map(|s| s.dims())).collect();
            return Ok(movement::apply(&instruction.op, &parts, &[], &[], instruction.shape.dims()));
        }
        let dtype = instruction.shape.dtype().filter(|d| d.is_float()).ok_or_else(refuse)?;
        let each = |of: &dyn Fn(Element) -> Element| Ok(operands[0].iter().map(|e| of(*e)).collect());
        match (&instruction.op, operands) {
            (Op::Convert, [_]) => {
                let from = shapes[0].dtype().ok_or_else(refuse)?;
                let rounds = |to: &DType| !from.is_part_of(*to);
                let steps = || conversion_steps(from, dtype).filter(rounds).filter_map(DType::format);
                let floor = self.unit.conversion_floor(from, dtype);
                each(&|e| steps().fold(e.flush(floor), Element::round))
            }
            (Op::ReducePrecision { exponent_bits, mantissa_bits }, [_]) => {
                let source = dtype.format().ok_or_else(refuse)?;
                match reduced_format(source, *exponent_bits, *mantissa_bits) {
                    Some((format, floor)) => {
                        let flushed = self.unit.narrowed_floor(dtype);
                        each(&|e| e.flush(flushed).round(&format).flush(floor))
                    }
                    None => each(&|e| e),
                }
            }
            (Op::Unary(Unary::Negate), [_]) => each(&|e| Element { v: -e.v, ..e }),
            (Op::Unary(Unary::Abs), [_]) => each(&|e| Element { v: e.v.abs(), ..e }),
            (Op::Unary(Unary::Exponential), [_]) => {
                let unit = self.unit.for_instruction(instruction);
                each(&|e| elementwise::exponential(e, dtype, &unit))
            }
            (Op::Binary(binary), [x, y]) => {
                let by_one_number = divides_by_one_number(self.program.entry(), instruction);
                let unit = self.unit.for_instruction(instruction);
                let pair =
                    |(x, y): (&Element, &Element)| elementwise::binary(*binary, [*x, *y], dtype, by_one_number, &unit);
                x.iter().zip(*y).map(pair).collect::<Option<_>>().ok_or_else(refuse)
            }
            (Op::Reduce { dims, to_apply }, [x, [init]]) => {
                // Only over the trailing dim.
                let width = shapes[0].dims().last().filter(|_| *dims == [shapes[0].dims().len() - 1]);
                let width = *width.filter(|width| **width > 0).ok_or_else(refuse)?;
                match self.regions.reducer(*to_apply).ok_or_else(refuse)? {
                    Reducer::Binary(Binary::Add) => {
                        let place = (self.program.entry, id);
                        let promise = self.prepared.sum_promise(self.mode, place, reduce::is_zero(init));
                        let promise = promise.ok_or_else(|| {
                            let name = &instruction.name;
                            Refusal(format!(
                                "no bound is derived for reduce ({name}): its terms join it product by product"
                            ))
                        })?;
                        reduce::sums(x, width, *init, dtype, &promise)
                    }
                    Reducer::Binary(binary @ (Binary::Maximum | Binary::Minimum)) => {
                        let largest = binary == Binary::Maximum;
                        Ok(reduce::extremes(x, width, *init, largest, self.unit.floor(dtype)))
                    }
                    _ => Err(refuse()),
                }
            }
            _ => Err(refuse()),
        }
    }
}

/// gamma_n, and the probabilistic one, which fails for one of `terms` terms with probability 2^-20 at most.
fn gamma(n: u64, terms: u64, u: f64) -> Result<Both, Refusal> {
    let refuse = || Refusal(format!("n u >= 1 for a chain of {n} additions: no bound holds"));
    let lambda = crate::stat::probabilistic_lambda(terms, u, 2f64.powi(-20)).ok_or_else(refuse)?;
    let (probable, _) = crate::stat::probabilistic_gamma(n, terms, u, lambda).ok_or_else(refuse)?;
    Ok([crate::stat::gamma(n, u).ok_or_else(refuse)?, probable])
}
