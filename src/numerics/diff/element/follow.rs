//! A program, operation by operation, with an [`Element`] in the place of each number.

use std::collections::HashMap;
use std::rc::Rc;

use crate::analysis::{Analysis, Precision, accumulates_in};
use crate::ir::domain::{self, Domain, Ran};
use crate::ir::{Class, Computation, ComputationId, Instruction, Op, Shape, ValueId, movement};
use crate::tensor::{DType, Data};

use super::super::graph::ArithmeticHabits;
use super::algebra::{Algebra, Element, Print, WHOLE, absorb};
use super::element_function::{ElementFunction, OperationKey};
use super::element_room;
use super::label::{Label, OrderOfAdditions};
use super::made::{AdditionsId, LabelId, Made, MakingRecord};
use super::whole_number;

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
                FollowedElements::array((0..tensor.len()).map(|at| constant(tensor.data(), at)).collect())
            }
            (Class::Source, Op::Iota { dim }) => {
                let mut elements = Vec::with_capacity(instruction.shape.elements());
                movement::for_each_index(instruction.shape.dims(), |_, index| {
                    elements.push(counted(site, index[*dim]));
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

/// A constant's element. Integers that no f64 holds are told apart, and not computed with.
fn constant(data: &Data, at: usize) -> Element {
    let dtype = data.dtype();
    if dtype.is_float() {
        return Element::number(data.get_f64(at));
    }
    let exact = dtype.integer_of(data.get_i64(at));
    match whole_number::wrap(exact, dtype) {
        Some(number) => Element::number(number),
        None => Element::atom(ElementFunction::Integer(exact).print()),
    }
}

/// A counted number as its type holds it.
fn counted(site: &FollowedOperation, number: usize) -> Element {
    let dtype = site.instruction.shape.element_type();
    match whole_number::wrap(number as i128, dtype) {
        Some(wrapped) if !dtype.is_float() => Element::number(wrapped),
        _ => Follower::number(site, number as f64),
    }
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
    use super::*;
    use crate::ir::{Builder, Program};
    use crate::machine::{Mode, evaluate};
    use crate::tensor::Tensor;

    /// The elements of a program's results.
    fn followed(program: &Program) -> Vec<Vec<Element>> {
        let (analysis, mut algebra) = (Analysis::new(program), Algebra::default());
        let habits = ArithmeticHabits { plans_code: false, one_pass: false, chip: None, for_tpu: false };
        let mut follower = Follower::new(&analysis, habits, &mut algebra, 1, &|_| None, &|_| false);
        let Ok(values) = follower.entry() else { panic!("a program within the budget") };
        program.outputs().iter().map(|id| values[*id].all().to_vec()).collect()
    }

    /// Constants of a type, its ends among them.
    fn constants(dtype: DType) -> Tensor {
        let data = match dtype.is_float() {
            true => {
                let ends = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 3e38, -1e30, 1e-40, 65536.0, -0.0];
                Data::from_f64s(dtype, &[&ends[..], &[0.0, 1.0, -1.0, 2.5, -300.75, 255.0, 0.1, 1048576.0]].concat())
            }
            // They wrap to the type.
            false => Data::from_i64s(dtype, &[0, 1, -1, 2, 7, 100, 300, i64::MIN, i64::MAX, 1 << 31, (1 << 53) + 1]),
        };
        let data = data.unwrap();
        Tensor::new(&[data.len()], data)
    }

    /// A number that is said of an element without any argument is the one that the machine computes. `least` of the elements
    /// have one.
    #[track_caller]
    fn holds_on_machine(b: Builder, made: ValueId, least: usize) {
        let program = b.finish(&[("made", made)]).unwrap();
        let mode = "cpu/highest/off".parse::<Mode>().unwrap();
        let (elements, made) = (followed(&program).remove(0), evaluate(&program, &mode, &[]).unwrap().remove(0));
        let mut known = 0;
        for (at, element) in elements.iter().enumerate() {
            let (exact, Some(by)) = (made.data().get_f64(at), element.constant()) else { continue };
            known += 1;
            assert!(by == exact || by.is_nan() && exact.is_nan(), "{by}, not {exact} at {at} of {made:?} in {program}");
        }
        assert!(known >= least, "{known} of {} in {program}", elements.len());
    }

    const TYPES: [DType; 9] =
        [DType::F32, DType::BF16, DType::F64, DType::S8, DType::U8, DType::S32, DType::U32, DType::S64, DType::U64];

    /// Conversions between all types, of all constants, and counted numbers.
    #[test]
    fn converted_constants_are_those_of_the_machine() {
        for from in TYPES {
            for to in TYPES.into_iter().chain([DType::Pred]) {
                let mut b = Builder::new("converted");
                let of = b.op(Op::Constant(constants(from)), &[]).unwrap();
                let made = b.convert(of, to).unwrap();
                holds_on_machine(b, made, 6);
            }
            let mut b = Builder::new("counted");
            let made = b.iota(from, &[300], 0).unwrap();
            holds_on_machine(b, made, 300);
        }
        let mut b = Builder::new("predicates");
        let flags = Tensor::new(&[2], Data::from_i64s(DType::Pred, &[0, 1]).unwrap());
        let of = b.op(Op::Constant(flags), &[]).unwrap();
        let made = b.convert(of, DType::F32).unwrap();
        holds_on_machine(b, made, 2);
    }

    /// Roundings to formats of all widths, of which only some are formats of a type.
    #[test]
    fn rounded_constants_are_those_of_the_machine() {
        for (exponent_bits, mantissa_bits) in [(8, 7), (8, 23), (5, 10), (4, 12), (5, 2), (8, 12), (3, 20)] {
            let mut b = Builder::new("rounded");
            let of = b.op(Op::Constant(constants(DType::F32)), &[]).unwrap();
            let made = b.op(Op::ReducePrecision { exponent_bits, mantissa_bits }, &[of]).unwrap();
            holds_on_machine(b, made, 0);
        }
    }

    /// Integers are the same numbers in another type only if that holds all of them, and bits are those of a number as it is
    /// rounded.
    #[test]
    fn conversions_that_lose_numbers_make_other_elements() {
        let integers = [DType::S8, DType::U8, DType::S32, DType::U32];
        for (from, to) in integers.iter().flat_map(|from| integers.iter().map(move |to| (*from, *to))) {
            let mut b = Builder::new("integers");
            let x = b.parameter("x", from, &[3]).unwrap();
            let made = b.convert(x, to).unwrap();
            let program = b.finish(&[("x", x), ("made", made)]).unwrap();
            let found = followed(&program);
            assert_eq!(found[0] == found[1], whole_number::keeps(from, to), "{from} to {to}");
        }
        let mut b = Builder::new("bits");
        let x = b.parameter("x", DType::F32, &[3]).unwrap();
        let short = b.convert(x, DType::BF16).unwrap();
        let short = b.convert(short, DType::F32).unwrap();
        let results =
            [x, short].map(|of| b.op_of_shape(Op::BitcastConvert, &[of], Shape::array(DType::S32, &[3])).unwrap());
        let y = b.parameter("y", DType::BF16, &[3]).unwrap();
        let back = b.op_of_shape(Op::BitcastConvert, &[y], Shape::array(DType::S16, &[3])).unwrap();
        let back = b.op_of_shape(Op::BitcastConvert, &[back], Shape::array(DType::BF16, &[3])).unwrap();
        let program = b.finish(&[("bits", results[0]), ("short", results[1]), ("back", back), ("y", y)]).unwrap();
        let found = followed(&program);
        assert!(found[0].iter().zip(&found[1]).all(|(one, short)| one.product != short.product));
        // A float that is made of bits has the roundings of an argument of its type.
        assert!(found[2].iter().zip(&found[3]).all(|(back, y)| back.way == y.way && back.product != y.product));
    }

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
