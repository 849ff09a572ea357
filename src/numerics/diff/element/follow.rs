//! A program, operation by operation, with an [`Element`] in the place of each number.

use std::collections::HashMap;
use std::rc::Rc;

use crate::analysis::{Analysis, Precision, accumulates_in};
use crate::ir::domain::{self, Domain, Ran};
use crate::ir::{Class, Computation, ComputationId, Instruction, Op, Shape, ValueId, movement};
use crate::tensor::DType;

use super::super::graph::ArithmeticHabits;
use super::algebra::{Algebra, Element, Print, WHOLE, absorb};
use super::element_function::{ElementFunction, OperationKey};
use super::element_room;
use super::label::{Label, OrderOfAdditions};
use super::made::{AdditionsId, LabelId, Made, MakingRecord};

/// Elements that operations of one program read and make at most; beyond, nothing is said about it.
const BUDGET: u64 = 9_000_000;

/// Trips of one loop that are followed.
const TRIPS: usize = 2048;

/// The elements of a value.
#[derive(Clone, Debug)]
pub enum FollowedElements {
    Array(Rc<Vec<Element>>),
    Tuple(Vec<FollowedElements>),
}

impl FollowedElements {
    pub fn array(elements: Vec<Element>) -> FollowedElements {
        FollowedElements::Array(Rc::new(elements))
    }

    /// The elements of an array; none of a tuple.
    pub fn all(&self) -> &[Element] {
        match self {
            FollowedElements::Array(elements) => elements,
            FollowedElements::Tuple(_) => &[],
        }
    }

    fn parts(self) -> Vec<FollowedElements> {
        match self {
            FollowedElements::Tuple(parts) => parts,
            array => vec![array],
        }
    }

    fn arrays(&self) -> Vec<&[Element]> {
        match self {
            FollowedElements::Array(elements) => vec![elements],
            FollowedElements::Tuple(parts) => parts.iter().flat_map(FollowedElements::arrays).collect(),
        }
    }
}

/// The program is larger than the budget, or takes what it is not given.
pub struct Abandoned;

pub type FollowResult<T> = Result<T, Abandoned>;

/// An operation of many operands, and the order of its additions, where that is known.
pub type Labels = (LabelId, Option<AdditionsId>);

/// One program on its way.
pub struct Follower<'a> {
    pub analysis: &'a Analysis<'a>,
    pub habits: ArithmeticHabits,
    pub algebra: &'a mut Algebra,
    pub record: MakingRecord,
    /// Fingerprint of the program, BEFORE or AFTER. Fingerprints of elements without a counterpart are made from it,
    /// such as those of a loop that is not followed.
    pub own: Print,
    /// The entry's statement of the order of a value's additions.
    pub orders: &'a dyn Fn(ValueId) -> Option<OrderOfAdditions>,
    /// Whether the entry's values add a product that is not rounded before.
    pub fused: &'a dyn Fn(ValueId) -> bool,
    /// Results of constant folding on the machine.
    pub folds: HashMap<(&'static str, DType, Vec<u64>), Option<f64>>,
    left: u64,
    /// The entry's value that is being computed, and whether it is the entry's own operation.
    at: ValueId,
    depth: usize,
}

impl Domain for Follower<'_> {
    type Value = FollowedElements;
    type Error = Abandoned;

    fn tuple(parts: Vec<FollowedElements>) -> FollowedElements {
        FollowedElements::Tuple(parts)
    }

    fn into_parts(value: FollowedElements) -> Vec<FollowedElements> {
        value.parts()
    }

    fn call(&mut self, callee: ComputationId, arguments: Vec<FollowedElements>) -> FollowResult<FollowedElements> {
        Follower::call(self, callee, &arguments)
    }

    fn is_true(&self, predicate: &FollowedElements) -> Option<bool> {
        predicate.all().first().and_then(|element| element.integer()).map(|flag| flag != 0)
    }

    fn follows_trip(&self, trips: usize) -> bool {
        trips < TRIPS
    }
}

/// An operation with the elements of its operands.
pub struct FollowedOperation<'s> {
    pub instruction: &'s Instruction,
    pub operands: Vec<FollowedElements>,
    pub shapes: Vec<&'s Shape>,
}

impl FollowedOperation<'_> {
    pub fn of(&self, operand: usize) -> &[Element] {
        self.operands[operand].all()
    }

    pub fn dims(&self, operand: usize) -> &[usize] {
        self.shapes[operand].dims()
    }

    /// The type of an operand.
    pub fn dtype(&self, operand: usize) -> Option<DType> {
        self.shapes.get(operand).and_then(|shape| shape.dtype())
    }

    pub fn is_float(&self, operand: usize) -> bool {
        self.dtype(operand).is_some_and(DType::is_float)
    }
}

impl<'a> Follower<'a> {
    pub fn new(
        analysis: &'a Analysis<'a>,
        habits: ArithmeticHabits,
        algebra: &'a mut Algebra,
        own: Print,
        orders: &'a dyn Fn(ValueId) -> Option<OrderOfAdditions>,
        fused: &'a dyn Fn(ValueId) -> bool,
    ) -> Self {
        let record = MakingRecord::default();
        Follower {
            analysis,
            habits,
            algebra,
            record,
            own,
            orders,
            fused,
            folds: HashMap::new(),
            left: BUDGET,
            at: 0,
            depth: 0,
        }
    }

    /// The elements of all values of the entry.
    pub fn entry(&mut self) -> FollowResult<Vec<FollowedElements>> {
        let entry = self.analysis.program.entry();
        let mut values: Vec<FollowedElements> = Vec::with_capacity(entry.instructions.len());
        for (id, instruction) in entry.instructions.iter().enumerate() {
            self.at = id;
            let value = match instruction.op {
                _ if !self.analysis.live()[id] => FollowedElements::array(Vec::new()),
                Op::Parameter(number) => self.argument(number, &instruction.shape)?,
                _ => self.step(entry, instruction, &values)?,
            };
            values.push(value);
        }
        Ok(values)
    }

    /// The elements of an argument.
    fn argument(&mut self, number: usize, shape: &Shape) -> FollowResult<FollowedElements> {
        if let Shape::Tuple(parts) = shape {
            let parts = parts.iter().enumerate().map(|(n, part)| self.argument(number << 8 | n, part));
            return Ok(FollowedElements::Tuple(parts.collect::<FollowResult<_>>()?));
        }
        element_room::fits(shape.elements(), self.left).then_some(()).ok_or(Abandoned)?;
        let way = shape.dtype().map_or(WHOLE, |dtype| self.algebra.of_argument(dtype));
        let name = ElementFunction::Argument(number).print();
        let elements: Vec<Element> =
            (0..shape.elements()).map(|at| Element { way, ..Element::atom(absorb(name, at as Print)) }).collect();
        elements.iter().for_each(|element| self.record.note_source(*element, self.at));
        Ok(FollowedElements::array(elements))
    }

    fn step(
        &mut self,
        of: &Computation,
        instruction: &Instruction,
        values: &[FollowedElements],
    ) -> FollowResult<FollowedElements> {
        let operands = instruction.operands.iter().map(|id| values[*id].clone()).collect();
        let shapes = instruction.operands.iter().map(|id| &of.instructions[*id].shape).collect();
        self.apply(&FollowedOperation { instruction, operands, shapes })
    }

    /// The result of a computation.
    fn call(&mut self, callee: ComputationId, arguments: &[FollowedElements]) -> FollowResult<FollowedElements> {
        let computation = &self.analysis.program.computations[callee];
        let mut values: Vec<FollowedElements> = Vec::with_capacity(computation.instructions.len());
        self.depth += 1;
        for instruction in &computation.instructions {
            let value = match instruction.op {
                Op::Parameter(number) => arguments.get(number).cloned().ok_or(Abandoned)?,
                _ => self.step(computation, instruction, &values)?,
            };
            values.push(value);
        }
        self.depth -= 1;
        values.get(computation.root).cloned().ok_or(Abandoned)
    }

    pub fn spend(&mut self, elements: usize) -> FollowResult<()> {
        element_room::fits(elements, self.left).then_some(()).ok_or(Abandoned)?;
        self.left = self.left.checked_sub(elements as u64 + 8).ok_or(Abandoned)?;
        Ok(())
    }

    fn apply(&mut self, site: &FollowedOperation) -> FollowResult<FollowedElements> {
        let (instruction, operands) = (site.instruction, &site.operands);
        let read: usize = operands.iter().flat_map(FollowedElements::arrays).map(<[Element]>::len).sum();
        self.spend(instruction.shape.elements() + read)?;
        let op = &instruction.op;
        Ok(match (op.class(), op) {
            (Class::Source, Op::Constant(tensor)) => {
                let data = tensor.data();
                let float = data.dtype().is_float();
                let number = |i| if float { data.get_f64(i) } else { data.get_i64(i) as f64 };
                FollowedElements::array((0..data.len()).map(|i| Element::number(number(i))).collect())
            }
            (Class::Source, Op::Iota { dim }) => {
                let mut elements = Vec::with_capacity(instruction.shape.elements());
                movement::for_each_index(instruction.shape.dims(), |_, index| {
                    elements.push(Element::number(index[*dim] as f64));
                });
                FollowedElements::array(elements)
            }
            (Class::Source, _) => return Err(Abandoned),
            (Class::Moves, Op::Copy | Op::OptimizationBarrier | Op::Reshape) => operands[0].clone(),
            (Class::Moves, _) if op.first_start().is_some() => self.picked(site),
            (Class::Moves, _) => moved(site, operands.len(), &[], &[]),
            (Class::Converts | Class::Elementwise, _) => self.pointwise(site),
            (Class::Combines, Op::Reduce { dims, to_apply }) => self.reduce(site, dims, *to_apply)?,
            (Class::Combines, Op::ReduceWindow { window, to_apply }) => self.windows(site, window, *to_apply)?,
            (Class::Combines, Op::Dot { dims, precision }) => self.dot(site, dims, *precision)?,
            (Class::Ranks, Op::Sort { dim, stable, to_apply }) => self.sort(site, *dim, *stable, *to_apply)?,
            (Class::Ranks, Op::TopK { k, largest }) => self.top(site, *k, *largest)?,
            (Class::Combines | Class::Ranks, _) => self.whole(site),
            (Class::Calls, _) if self.habits.plans_code => self.unknown(site),
            (Class::Lists | Class::Calls, _) => match domain::run(self, op, operands.clone())? {
                Ran::Value(value) => value,
                Ran::Open | Ran::Endless => self.unknown(site),
            },
        })
    }

    /// Elements at places: moved where these are known, else functions of all that is given.
    fn picked(&mut self, site: &FollowedOperation) -> FollowedElements {
        let first = site.instruction.op.first_start().unwrap_or(site.operands.len());
        let starts: Option<Vec<i64>> =
            (first..site.operands.len()).flat_map(|at| site.of(at)).map(|element| element.integer()).collect();
        let starts_dims = if matches!(site.instruction.op, Op::Gather(_)) { site.dims(1) } else { &[] };
        match starts {
            Some(starts) => moved(site, first, &starts, starts_dims),
            None => self.whole(site),
        }
    }

    /// Elements that the other program does not have: for operations that are not followed, and for code that adds
    /// unrounded products, of which only the expressions know the terms.
    fn unknown(&self, site: &FollowedOperation) -> FollowedElements {
        let own = absorb(absorb(self.own, self.at as Print), ElementFunction::Unknown(&site.instruction.name).print());
        let mut part = 0;
        results(&site.instruction.shape, &mut |elements| {
            part += 1;
            let name = absorb(own, part);
            (0..elements).map(|at| Element::atom(absorb(name, at as Print))).collect()
        })
    }

    /// Results that may each depend on all operands.
    pub fn whole(&mut self, site: &FollowedOperation) -> FollowedElements {
        let instruction = site.instruction;
        let operation = OperationKey::new(&self.analysis.program.computations, &instruction.op);
        let mut content = ElementFunction::Whole(operation).print();
        let mut exact = content;
        for (slot, (operand, shape)) in site.operands.iter().zip(&site.shapes).enumerate() {
            let float = site.is_float(slot);
            let dims = ElementFunction::Operand(shape).print();
            (content, exact) = (absorb(content, dims), absorb(exact, dims));
            for element in operand.arrays().into_iter().flatten() {
                (content, exact) = (absorb(content, element.print(float)), absorb(exact, element.exactly(float)));
            }
        }
        let label = self.record.number(Label::of(&instruction.op));
        let ways = self.record.ways(&[]);
        let made = Made { print: exact, label, order: None, ways, at: self.at };
        let way = instruction.shape.dtype().map_or(WHOLE, |dtype| self.algebra.of_operation(dtype));
        let mut part = 0;
        let value = results(&instruction.shape, &mut |elements| {
            part += 1;
            let name = absorb(content, part);
            (0..elements).map(|at| Element { way, ..Element::atom(absorb(name, at as Print)) }).collect()
        });
        value.arrays().into_iter().flatten().for_each(|element| self.record.note(*element, made));
        value
    }

    /// Says that this operation made an element of these operands, and gives it with its roundings.
    pub fn make(
        &mut self,
        site: &FollowedOperation,
        label: LabelId,
        element: Element,
        operands: &[(Element, bool)],
    ) -> Element {
        let print = operands
            .iter()
            .fold(self.record.print(label), |print, (operand, float)| absorb(print, operand.exactly(*float)));
        let mut ways: [u32; 3] = [WHOLE; 3];
        operands.iter().zip(&mut ways).for_each(|((operand, _), way)| *way = operand.way);
        if self.record.label(label).commutes() {
            ways.sort_unstable_by_key(|way| std::cmp::Reverse(*way));
        }
        let ways = self.record.ways(&ways[..operands.len().min(3)]);
        self.record.note(element, Made { print, label, order: None, ways, at: self.at });
        let way = site.instruction.shape.dtype().map_or(WHOLE, |dtype| self.algebra.of_operation(dtype));
        Element { way, ..element }
    }

    /// Says the same of an operation of many operands, some of which have these roundings.
    pub fn make_of_many(&mut self, (label, order): Labels, element: Element, operands: Print, ways: &[u32]) {
        let print = absorb(self.record.print(label), operands);
        let ways = self.record.ways(ways);
        self.record.note(element, Made { print, label, order, ways, at: self.at });
    }

    /// The entry value's order of additions, where that is known.
    pub fn order(&mut self) -> Option<AdditionsId> {
        let order = Some(self.at).filter(|_| self.depth == 0).and_then(|at| (self.orders)(at))?;
        Some(self.record.additions_id(order))
    }

    /// The label of a sum of so many terms.
    pub fn sum_of(&self, terms: usize, in_windows: bool, instruction: &Instruction) -> Label {
        let width = accumulates_in(self.analysis.program, &self.analysis.regions, instruction);
        Label::Sum { terms, in_windows, accumulator: width.filter(|width| width.narrows()), fused: self.is_fused() }
    }

    /// Whether the entry's own value adds a product that is not rounded before.
    pub fn is_fused(&self) -> bool {
        self.depth == 0 && (self.fused)(self.at)
    }

    /// Whether all these numbers belong to a format.
    pub fn is_within(&self, elements: &[Element], format: Precision) -> bool {
        elements.iter().all(|element| match element.constant() {
            Some(number) => holds(format, number),
            None => self.algebra.roundings(element.way).last().is_some_and(|last| last.within(format)),
        })
    }
}

/// Whether a number belongs to a format as wide as bf16 at least, as far as its fraction bits say it.
pub fn holds(format: Precision, number: f64) -> bool {
    let bits = number.to_bits() << 12;
    number == 0.0
        || !number.is_finite()
        || bits.trailing_zeros() + format.fraction_bits >= 64 && (number as f32).is_normal()
}

/// Elements that are moved and not changed; of all operands but the start indices.
fn moved(site: &FollowedOperation, count: usize, starts: &[i64], starts_dims: &[usize]) -> FollowedElements {
    let parts: Vec<(&[Element], &[usize])> = (0..count).map(|at| (site.of(at), site.dims(at))).collect();
    let dims = site.instruction.shape.dims();
    FollowedElements::array(movement::apply(&site.instruction.op, &parts, starts, starts_dims, dims))
}

fn results(shape: &Shape, of: &mut impl FnMut(usize) -> Vec<Element>) -> FollowedElements {
    match shape {
        Shape::Array { .. } => FollowedElements::array(of(shape.elements())),
        Shape::Tuple(parts) => FollowedElements::Tuple(parts.iter().map(|part| results(part, of)).collect()),
    }
}

#[cfg(test)]
mod tests {
    use super::holds;
    use crate::analysis::Precision;
    use crate::tensor::DType;

    /// One and a last bit is held, and half of that bit is not; nor is what f32 has as a subnormal.
    #[test]
    fn a_format_holds_a_number_to_its_last_bit() {
        for (dtype, bits) in [(DType::BF16, 7), (DType::F16, 10), (DType::F32, 23)] {
            let format = Precision::of_dtype(dtype).unwrap();
            for sign in [1.0, -1.0] {
                assert!(holds(format, sign * (1.0 + 2f64.powi(-bits))), "{dtype}");
                assert!(!holds(format, sign * (1.0 + 2f64.powi(-bits - 1))), "{dtype}");
            }
            assert!(holds(format, 0.0) && holds(format, f64::INFINITY) && !holds(format, 2f64.powi(-130)), "{dtype}");
        }
    }
}
