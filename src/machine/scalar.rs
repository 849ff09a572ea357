//! Regions of scalars that are none of the known reducers or comparators: interpreted, one application at a time.

use crate::deadline::Pace;
use crate::ir::{Binary, Class, Compare, CompareOrder, Computation, ComputationId, Op, Program, ResultAccuracy, Unary};
use crate::tensor::DType;

use super::eval_error::{EvalError, refuse};
use super::evaluate::Machine;
use super::integer;
use super::number::Scalar;
use super::value::Value;
use super::vector::{self, Side};

/// A region made ready: every value has a slot, calls are unfolded, constants are in place.
pub(super) struct Template<'p> {
    steps: Vec<Step<'p>>,
    slots: Vec<Scalar>,
    dtypes: Vec<DType>,
    parameters: usize,
    results: Vec<usize>,
}

struct Step<'p> {
    op: &'p Op,
    accuracy: Option<ResultAccuracy>,
    operands: Vec<usize>,
    slot: usize,
}

impl<'p> Template<'p> {
    /// # Errors
    /// If the region holds an operation that has no meaning for scalars.
    pub fn new(program: &'p Program, region: ComputationId) -> Result<Template<'p>, EvalError> {
        let computation = &program.computations[region];
        let shapes = computation.parameter_shapes();
        let mut template = Template {
            steps: Vec::new(),
            slots: Vec::new(),
            dtypes: Vec::new(),
            parameters: shapes.len(),
            results: Vec::new(),
        };
        let parameters = shapes.iter().map(|s| vec![template.slot(s.element_type())]).collect();
        // Calls are unfolded once, so that the inner loop is one list of steps.
        template.results = template.unfold(program, computation, parameters)?;
        Ok(template)
    }

    fn slot(&mut self, dtype: DType) -> usize {
        self.slots.push(Scalar::Pred(false));
        self.dtypes.push(dtype);
        self.slots.len() - 1
    }

    /// Adds a computation's steps; returns the slots of its root, several for a tuple.
    fn unfold(
        &mut self,
        program: &'p Program,
        computation: &'p Computation,
        arguments: Vec<Vec<usize>>,
    ) -> Result<Vec<usize>, EvalError> {
        let mut slots: Vec<Vec<usize>> = Vec::with_capacity(computation.instructions.len());
        for instruction in &computation.instructions {
            let of = |operand: usize| slots[instruction.operands[operand]].clone();
            let refuse = |why: &str| Err(refuse(instruction, format!("{why} in region {}", computation.name)));
            let is_scalar = instruction.shape.elements() == 1;
            let own = match (&instruction.op, instruction.op.class()) {
                (Op::Parameter(number), _) => arguments[*number].clone(),
                (Op::Tuple, _) => instruction.operands.iter().flat_map(|o| slots[*o].clone()).collect(),
                (Op::GetTupleElement(index), _) => vec![of(0)[*index]],
                (Op::Call { to_apply }, _) => {
                    let arguments = instruction.operands.iter().map(|o| slots[*o].clone()).collect();
                    self.unfold(program, &program.computations[*to_apply], arguments)?
                }
                _ if !is_scalar => return refuse("only scalars are known"),
                (Op::Copy | Op::Reshape | Op::OptimizationBarrier | Op::Broadcast { .. }, _) => of(0),
                (Op::Constant(value), _) => {
                    let slot = self.slot(instruction.shape.element_type());
                    self.slots[slot] = one(&Value::of_tensor(value));
                    vec![slot]
                }
                (op, Class::Elementwise | Class::Converts) => {
                    let operands = instruction.operands.iter().map(|o| slots[*o][0]).collect();
                    let slot = self.slot(instruction.shape.element_type());
                    self.steps.push(Step { op, accuracy: instruction.accuracy(), operands, slot });
                    vec![slot]
                }
                (_, Class::Source | Class::Moves | Class::Combines | Class::Ranks | Class::Lists | Class::Calls) => {
                    return refuse("it has no meaning");
                }
            };
            slots.push(own);
        }
        Ok(slots[computation.root].clone())
    }
}

/// A region as a machine applies it.
pub(super) struct Region<'a> {
    machine: &'a Machine<'a>,
    template: &'a Template<'a>,
    slots: Vec<Scalar>,
    pace: Pace,
}

impl<'a> Region<'a> {
    /// # Errors
    /// If the region holds an operation that has no meaning for scalars.
    pub fn new(machine: &'a Machine<'a>, region: ComputationId) -> Result<Region<'a>, EvalError> {
        let template = machine.prepared.template(region)?;
        Ok(Region { machine, template, slots: template.slots.clone(), pace: Pace::default() })
    }

    /// The results for these arguments, as many as there are parameters.
    pub fn apply(&mut self, arguments: impl IntoIterator<Item = Scalar>) -> impl Iterator<Item = Scalar> {
        self.slots
            .iter_mut()
            .take(self.template.parameters)
            .zip(arguments)
            .for_each(|(slot, argument)| *slot = argument);
        self.pace.spend(16);
        for step in &self.template.steps {
            self.slots[step.slot] = self.step(step);
        }
        self.template.results.iter().map(|slot| self.slots[*slot])
    }

    fn step(&self, step: &Step) -> Scalar {
        let operand = |which: usize| self.slots[step.operands[which]];
        let dtypes = &self.template.dtypes;
        let dtype = dtypes[step.slot];
        match (step.op, operand(0)) {
            (Op::Binary(binary), Scalar::Float(a)) => self.binary(*binary, dtype, a, operand(1)),
            (Op::Binary(binary), Scalar::Integer(a)) => match operand(1) {
                Scalar::Integer(b) => Scalar::Integer(integer::apply(*binary, dtype, a, b)),
                other => unreachable!("shape checking gives operands of one type, not {a} and {other:?}"),
            },
            (Op::Binary(binary), Scalar::Pred(a)) => match operand(1) {
                Scalar::Pred(b) => Scalar::Pred(integer::apply_pred(*binary, a, b)),
                other => unreachable!("shape checking gives operands of one type, not {a} and {other:?}"),
            },
            (Op::Compare { direction, order }, a) => {
                Scalar::Pred(self.compare(*direction, *order, dtypes[step.operands[0]], a, operand(1)))
            }
            (Op::Select, Scalar::Pred(flag)) => operand(if flag { 1 } else { 2 }),
            (Op::Unary(Unary::Not), Scalar::Pred(a)) => Scalar::Pred(!a),
            // The rest is rare: it goes the way of whole arrays.
            (op, _) => {
                let value = |which: usize| Value::of_scalar(dtypes[step.operands[which]], operand(which));
                let result = match op {
                    Op::Unary(unary) => {
                        let unit = self.machine.unit.for_accuracy(*unary, step.accuracy);
                        self.machine.unary(*unary, &unit, value(0))
                    }
                    Op::Binary(binary) => {
                        let (a, b) = (value(0), value(1));
                        Value::double(vector::binary_f64(*binary, a.f64s(), b.f64s(), &self.machine.unit))
                    }
                    Op::Clamp => self.machine.clamp(&[value(0), value(1), value(2)]),
                    Op::Convert => integer::convert(value(0), dtype, &self.machine.unit),
                    Op::BitcastConvert => integer::bitcast(value(0), dtype),
                    Op::ReducePrecision { exponent_bits, mantissa_bits } => {
                        integer::reduce_precision(*exponent_bits, *mantissa_bits, value(0), &self.machine.unit)
                    }
                    other => unreachable!("{} is no step of a region", other.opcode()),
                };
                one(&result)
            }
        }
    }

    fn binary(&self, binary: Binary, dtype: DType, a: f32, b: Scalar) -> Scalar {
        let Scalar::Float(b) = b else { unreachable!("shape checking gives operands of one type, not {a} and {b:?}") };
        let unit = &self.machine.unit;
        let mut result = [a];
        // Errors of quotients are those of whole arrays: one place models them.
        if unit.perturbs() {
            vector::binary(binary, dtype, &mut result, Side::whole(&[b]), unit);
        } else {
            result = [vector::binary_scalar(binary, a, b, unit)];
            vector::round_to(dtype, &mut result);
        }
        Scalar::Float(result[0])
    }

    fn compare(&self, direction: Compare, order: CompareOrder, dtype: DType, a: Scalar, b: Scalar) -> bool {
        let unit = &self.machine.unit;
        match (a, b) {
            (Scalar::Float(a), Scalar::Float(b)) if order == CompareOrder::Total => direction.of(Some(a.total_cmp(&b))),
            (Scalar::Float(a), Scalar::Float(b)) if unit.flush => {
                direction.of(crate::num::flush_f32(a).partial_cmp(&crate::num::flush_f32(b)))
            }
            (Scalar::Float(a), Scalar::Float(b)) => direction.of(a.partial_cmp(&b)),
            (Scalar::Double(a), Scalar::Double(b)) => {
                vector::compare_f64(direction, order, &[a], &[b], unit).first().copied().unwrap_or(false)
            }
            (Scalar::Integer(a), Scalar::Integer(b)) if dtype == DType::U64 => {
                direction.of(Some((a as u64).cmp(&(b as u64))))
            }
            (Scalar::Integer(a), Scalar::Integer(b)) => direction.of(Some(a.cmp(&b))),
            (Scalar::Pred(a), Scalar::Pred(b)) => direction.of(Some(a.cmp(&b))),
            (a, b) => unreachable!("shape checking gives operands of one type, not {a:?} and {b:?}"),
        }
    }
}

/// The only element of a scalar.
fn one(value: &Value) -> Scalar {
    let Some(scalar) = value.scalar(0) else { unreachable!("a scalar has an element") };
    scalar
}
