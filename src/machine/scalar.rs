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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::evaluate;
    use crate::ir::{Builder, Setting, ShapeError, ValueId};
    use crate::tensor::{Data, Tensor};

    /// A region's operations on a state and an element.
    type Body = fn(&mut Builder, ValueId, ValueId) -> Result<ValueId, ShapeError>;

    fn compared(b: &mut Builder, order: CompareOrder, x: ValueId, y: ValueId) -> Result<ValueId, ShapeError> {
        b.op(Op::Compare { direction: Compare::Lt, order }, &[x, y])
    }

    /// The bits of what a region makes of a state and each element, and of what the same operations make of whole arrays.
    fn applied(mode: &str, state: &Tensor, elements: &Tensor, body: Body) -> [Vec<u64>; 2] {
        let (dtype, count) = (elements.dtype(), elements.len());
        let mut b = Builder::new("applied");
        let init = b.parameter("state", dtype, &[]).unwrap();
        let array = b.parameter("elements", dtype, &[count]).unwrap();
        let to_apply = b
            .region("region", |b| {
                let [x, y] = [b.parameter("x", dtype, &[])?, b.parameter("y", dtype, &[])?];
                body(b, x, y)
            })
            .unwrap();
        let rows = b.reshape(array, &[count, 1]).unwrap();
        let reduced = b.op(Op::Reduce { dims: vec![1], to_apply }, &[rows, init]).unwrap();
        let states = b.splat(init, &[count]).unwrap();
        let whole = body(&mut b, states, array).unwrap();
        let mut program = b.finish(&[("reduced", reduced), ("whole", whole)]).unwrap();
        let highest: Arc<[Setting]> = vec![Setting::Accuracy(ResultAccuracy::Highest)].into();
        for instruction in program.computations.iter_mut().flat_map(|computation| &mut computation.instructions) {
            if matches!(instruction.op, Op::Unary(_)) {
                instruction.settings = Some(highest.clone());
            }
        }
        let results = evaluate(&program, &mode.parse().unwrap(), &[state.clone(), elements.clone()]).unwrap();
        let bits = |result: &Tensor| {
            let is_nan = |at| dtype.is_float() && result.data().get_f64(at).is_nan();
            (0..count).map(|at| if is_nan(at) { u64::MAX } else { result.data().bits(at) }).collect()
        };
        [bits(&results[0]), bits(&results[1])]
    }

    fn hold(mode: &str, data: impl Fn(&[usize]) -> Vec<Tensor>, bodies: &[(&str, Body)]) {
        let [states, elements] = [data(&[]), data(&[1])];
        for (name, body) in bodies {
            for state in &states {
                let [region, whole] = applied(mode, state, &elements[0], *body);
                assert_eq!(region, whole, "{name} in {mode} of {:?} and {:?}", state.data(), elements[0].data());
            }
        }
    }

    /// Scalars without dims, or all of them in one array with one.
    fn laid_out<T: Copy>(values: &[T], dims: &[usize], of: impl Fn(&[T]) -> Data) -> Vec<Tensor> {
        match dims {
            [] => values.iter().map(|value| Tensor::new(&[], of(&[*value]))).collect(),
            _ => vec![Tensor::new(&[values.len()], of(values))],
        }
    }

    const FLOATS: [f64; 14] = [
        0.0,
        -0.0,
        1e-40,
        -3e-40,
        1.5,
        -2.25,
        0.1,
        7.3,
        -33.0,
        3e38,
        1.17549435e-38,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
    ];

    /// A region of floats rounds, flushes, errs and compares as the unit does on arrays, in each type.
    #[test]
    fn regions_of_floats_give_what_arrays_give() {
        let bodies: [(&str, Body); 8] = [
            ("a difference by a comparison", |b, x, y| {
                let (less, rest) = (compared(b, CompareOrder::Partial, x, y)?, b.binary(Binary::Subtract, x, y)?);
                b.select(less, rest, y)
            }),
            ("a sum by the total order", |b, x, y| {
                let (less, sum) = (compared(b, CompareOrder::Total, x, y)?, b.binary(Binary::Add, x, y)?);
                b.select(less, sum, x)
            }),
            ("a product of products", |b, x, y| {
                let product = b.binary(Binary::Multiply, x, y)?;
                b.binary(Binary::Multiply, product, y)
            }),
            ("a quotient of quotients", |b, x, y| {
                let quotient = b.binary(Binary::Divide, x, y)?;
                b.binary(Binary::Divide, quotient, y)
            }),
            ("an exponential", |b, x, y| {
                let power = b.unary(Unary::Exponential, y)?;
                b.binary(Binary::Add, x, power)
            }),
            ("a clamp", |b, x, y| {
                let sum = b.binary(Binary::Add, x, y)?;
                b.op(Op::Clamp, &[x, sum, y])
            }),
            ("a rounding", |b, x, y| {
                let sum = b.binary(Binary::Add, x, y)?;
                b.op(Op::ReducePrecision { exponent_bits: 5, mantissa_bits: 2 }, &[sum])
            }),
            ("two predicates", |b, x, y| {
                let (less, more) = (compared(b, CompareOrder::Partial, x, y)?, compared(b, CompareOrder::Total, y, x)?);
                let not = b.unary(Unary::Not, less)?;
                let either = b.binary(Binary::Xor, not, more)?;
                b.select(either, y, x)
            }),
        ];
        for mode in ["v5e/highest/off", "cpu/f32/off", "v6e/highest/off+exp=worst"] {
            // TPUs have no f64.
            let wide = mode.starts_with("cpu").then_some(DType::F64);
            for dtype in [DType::F32, DType::BF16].into_iter().chain(wide) {
                hold(mode, |dims| laid_out(&FLOATS, dims, |v| Data::from_f64s(dtype, v).unwrap()), &bodies);
            }
        }
    }

    /// A region of integers wraps and compares in its type.
    #[test]
    fn regions_of_integers_give_what_arrays_give() {
        let bodies: [(&str, Body); 3] = [
            ("a product and a sum", |b, x, y| {
                let product = b.binary(Binary::Multiply, x, y)?;
                b.binary(Binary::Add, product, y)
            }),
            ("a quotient of a sum", |b, x, y| {
                let sum = b.binary(Binary::Add, x, y)?;
                b.binary(Binary::Divide, sum, y)
            }),
            ("a difference by a comparison", |b, x, y| {
                let (less, rest) = (b.compare(Compare::Lt, x, y)?, b.binary(Binary::Subtract, x, y)?);
                b.select(less, rest, y)
            }),
        ];
        for dtype in [DType::S8, DType::U8, DType::S32, DType::U32, DType::S64, DType::U64] {
            // They wrap to the type: the largest ones of a type without a sign are -1 and -2 here.
            let values = [0, 1, 3, 100, 127, -1, -2, -128];
            hold("v5e/highest/off", |dims| laid_out(&values, dims, |v| Data::from_i64s(dtype, v).unwrap()), &bodies);
        }
    }

    /// An argmax by its own region gives the first of equal values, and a NaN before all others.
    #[test]
    fn the_first_of_equal_values_is_the_largest() {
        let nan = f32::NAN;
        for (row, expected) in [
            ([1.0, 3.0, 3.0, 2.0], 1),
            ([5.0, 5.0, 5.0, 5.0], 0),
            ([1.0, nan, 7.0, nan], 1),
            ([nan, 8.0, 9.0, 1.0], 0),
            ([-0.0, 0.0, -1.0, 0.0], 0),
        ] {
            let mut b = Builder::new("argmax");
            let x = b.parameter("x", DType::F32, &[1, 4]).unwrap();
            let best = b.argmax(x, 1).unwrap();
            let program = b.finish(&[("best", best)]).unwrap();
            let arguments = [Tensor::new(&[1, 4], Data::F32(row.to_vec()))];
            let results = evaluate(&program, &"v5e/highest/off".parse().unwrap(), &arguments).unwrap();
            assert_eq!(results[0].data().get_i64(0), expected, "{row:?}");
        }
    }
}
