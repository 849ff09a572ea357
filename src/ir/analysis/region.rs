//! The functions of the regions of reductions and sorts, so that nothing interprets them element by element. A region
//! is recognised by its expression, whatever its names and order.

use std::collections::HashMap;

use crate::ir::{Binary, Compare, CompareOrder, Computation, ComputationId, Instruction, Op, Program, Unary};
use crate::tensor::DType;

use super::lattice::Precision;

/// A reducer `(accumulated..., incoming...) -> ...`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reducer {
    /// One operation of the accumulated and the incoming value, in either order.
    Binary(Binary),
    /// Over (value, index): the larger value, a NaN before any number, the lower index on ties (`jnp.argmax`).
    ArgMax,
    /// As [`Reducer::ArgMax`] with the smaller value (`jnp.argmin`).
    ArgMin,
    /// Over (value, index): `acc > x ? acc : x`, so the last wins on ties and NaNs (`approx_max_k`, k = 1, FACTS 5.1).
    GreaterKeep,
}

impl Reducer {
    /// Whether its result is one of its arguments.
    pub const fn picks(self) -> bool {
        match self {
            Reducer::Binary(binary) => matches!(binary, Binary::Maximum | Binary::Minimum),
            Reducer::ArgMax | Reducer::ArgMin | Reducer::GreaterKeep => true,
        }
    }
}

/// A sort comparator over one key; the other operands are carried along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparator {
    /// Number of the sorted operand that is the key.
    pub key: usize,
    /// Whether the larger key goes first.
    pub descending: bool,
    /// The order that keys are compared in; [`CompareOrder::Total`] as well where floats are compared as integers of
    /// their bits.
    pub order: CompareOrder,
    /// Whether -0 counts as +0 and every NaN as one (`jnp.sort`).
    pub canonical: bool,
    /// The operand whose lower value goes first where keys are equal, as the TPU compiler makes a sort stable (FACTS
    /// 9).
    pub ties: Option<usize>,
}

/// Conversions between float types that are left out when a region is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Conversions {
    /// Those that widen: they change no value and no order.
    Widening,
    /// All: right over the real numbers, and over values that none of the region's conversions changes.
    All,
}

/// The regions of a program, each read once.
#[derive(Debug)]
pub struct Regions {
    /// One a computation, for [`Conversions::Widening`] and [`Conversions::All`].
    known: Vec<[Known; 2]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    reducer: Option<Reducer>,
    comparator: Option<Comparator>,
}

impl Regions {
    /// Reads every computation of scalars.
    pub fn new(program: &Program) -> Regions {
        let read = |region: &Computation| {
            let scalars = region.takes_scalars();
            // A region over arrays is no element's function.
            let known = |without| if scalars { Known::of(region, without) } else { Known::default() };
            [known(Conversions::Widening), known(Conversions::All)]
        };
        Regions { known: program.computations.iter().map(read).collect() }
    }

    fn known(&self, region: ComputationId, without: Conversions) -> Known {
        self.known[region][match without {
            Conversions::Widening => 0,
            Conversions::All => 1,
        }]
    }

    /// The reducer of a region; `None` if it is not a known one.
    pub fn reducer(&self, region: ComputationId) -> Option<Reducer> {
        self.known(region, Conversions::Widening).reducer
    }

    /// [`Regions::reducer`] of the region without all its conversions between float types.
    pub fn reducer_but_for_rounding(&self, region: ComputationId) -> Option<Reducer> {
        self.known(region, Conversions::All).reducer
    }

    /// Whether a reducer's result is one of its arguments, perhaps rounded.
    pub fn picks(&self, region: ComputationId) -> bool {
        self.reducer_but_for_rounding(region).is_some_and(Reducer::picks)
    }

    /// The comparator of a sort's region; `None` if it is not a known one.
    pub fn comparator(&self, region: ComputationId) -> Option<Comparator> {
        self.known(region, Conversions::Widening).comparator
    }

    /// [`Regions::comparator`] of the region without all its conversions between float types.
    pub fn comparator_but_for_rounding(&self, region: ComputationId) -> Option<Comparator> {
        self.known(region, Conversions::All).comparator
    }
}

/// [`Regions::comparator`] of a region on its own.
pub fn comparator(region: &Computation) -> Option<Comparator> {
    Known::of(region, Conversions::Widening).comparator
}

impl Known {
    fn of(region: &Computation, without: Conversions) -> Known {
        let mut terms = Terms::default();
        let root = terms.root(region, without);
        let parameters = region.instructions.iter().filter(|i| matches!(i.op, Op::Parameter(_))).count();
        let is_float = first_type(region).is_none_or(DType::is_float);
        Known { reducer: terms.reducer(root, is_float), comparator: terms.comparator(root, parameters / 2) }
    }
}

/// The type of a region's first parameter.
fn first_type(region: &Computation) -> Option<DType> {
    let first = region.instructions.iter().find(|instruction| instruction.op == Op::Parameter(0));
    first.and_then(|parameter| parameter.shape.dtype())
}

/// Number of a term in its [`Terms`].
type TermId = usize;

/// The operation of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Head {
    Parameter(usize),
    /// Bits of the number as an f64; every NaN is one.
    Float(u64),
    Integer(i64),
    Convert(Option<DType>),
    BitcastConvert(Option<DType>),
    Unary(Unary),
    Binary(Binary),
    Compare(Compare, CompareOrder),
    Select,
    Tuple,
    Element(usize),
    /// A value of no known region.
    Other(usize),
}

/// The terms of one region: equal ones have one number. A known region is recognised by building its term.
#[derive(Default)]
struct Terms {
    list: Vec<(Head, Vec<TermId>)>,
    numbers: HashMap<(Head, Vec<TermId>), TermId>,
}

impl Terms {
    fn term(&mut self, head: Head, mut operands: Vec<TermId>) -> TermId {
        let commutes = match head {
            Head::Binary(binary) => binary.commutes(),
            Head::Compare(Compare::Eq | Compare::Ne, _) => true,
            _ => false,
        };
        if commutes {
            operands.sort_unstable();
        }
        let next = self.list.len();
        let number = *self.numbers.entry((head.clone(), operands.clone())).or_insert(next);
        if number == next {
            self.list.push((head, operands));
        }
        number
    }

    /// The term of a region's result.
    fn root(&mut self, region: &Computation, without: Conversions) -> TermId {
        let mut terms: Vec<TermId> = Vec::with_capacity(region.instructions.len());
        for (id, instruction) in region.instructions.iter().enumerate() {
            let operands: Vec<TermId> = instruction.operands.iter().map(|o| terms[*o]).collect();
            let term = match &instruction.op {
                Op::Convert if is_left_out(region, instruction, without) => operands[0],
                op => self.term(head(op, instruction, id), operands),
            };
            terms.push(term);
        }
        terms[region.root]
    }

    fn parameter(&mut self, number: usize) -> TermId {
        self.term(Head::Parameter(number), vec![])
    }

    fn binary(&mut self, binary: Binary, a: TermId, b: TermId) -> TermId {
        self.term(Head::Binary(binary), vec![a, b])
    }

    fn compare(&mut self, direction: Compare, order: CompareOrder, a: TermId, b: TermId) -> TermId {
        self.term(Head::Compare(direction, order), vec![a, b])
    }

    fn select(&mut self, predicate: TermId, on_true: TermId, on_false: TermId) -> TermId {
        self.term(Head::Select, vec![predicate, on_true, on_false])
    }

    /// The reducer that a term is. Elements that are no floats have no NaN, and JAX leaves out the question for one.
    fn reducer(&mut self, root: TermId, is_float: bool) -> Option<Reducer> {
        let [p0, p1, p2, p3] = [0, 1, 2, 3].map(|number| self.parameter(number));
        if let (Head::Binary(binary), [a, b]) = (&self.list[root].0, self.list[root].1.as_slice()) {
            let known = matches!(
                binary,
                Binary::Add
                    | Binary::Multiply
                    | Binary::Maximum
                    | Binary::Minimum
                    | Binary::And
                    | Binary::Or
                    | Binary::Xor
            );
            let of_both = (*a, *b) == (p0, p1) || (*a, *b) == (p1, p0);
            return (known && of_both).then_some(Reducer::Binary(*binary));
        }
        let float = CompareOrder::Partial;
        let greater = self.compare(Compare::Gt, float, p0, p2);
        let picked = [(p0, p2), (p1, p3)].map(|(ours, theirs)| self.select(greater, ours, theirs));
        if root == self.term(Head::Tuple, picked.to_vec()) {
            return Some(Reducer::GreaterKeep);
        }
        let is_nan = self.compare(Compare::Ne, float, p0, p0);
        let tie = self.compare(Compare::Eq, float, p0, p2);
        let lower = self.compare(Compare::Lt, float, p1, p3);
        let earlier = self.binary(Binary::And, tie, lower);
        // Only floats can be NaN: JAX leaves the question out for integers, and some programs ask it all the same.
        let forms = if is_float { &[true][..] } else { &[true, false] };
        [(Compare::Gt, Reducer::ArgMax), (Compare::Lt, Reducer::ArgMin)].into_iter().find_map(|(direction, found)| {
            let beyond = self.compare(direction, float, p0, p2);
            let mut is_of_form = |asks_for_nan: &bool| {
                let better = if *asks_for_nan { self.binary(Binary::Or, beyond, is_nan) } else { beyond };
                let first = self.binary(Binary::Or, earlier, better);
                let picked = [self.select(better, p0, p2), self.select(first, p1, p3)];
                root == self.term(Head::Tuple, picked.to_vec())
            };
            forms.iter().any(&mut is_of_form).then_some(found)
        })
    }

    /// The comparator over so many operands that a term computes; `None` for other terms.
    fn comparator(&mut self, root: TermId, operands: usize) -> Option<Comparator> {
        if let (Head::Select, [tied, earlier, first]) = (&self.list[root].0, self.list[root].1.as_slice()) {
            // Where neither key goes first, the lower of another operand does.
            let (tied, earlier, first) = (*tied, *earlier, *first);
            let found = self.by_key(first, operands)?;
            let (head, sides) = self.list[first].clone();
            let second = self.term(head, sides.into_iter().rev().collect());
            let neither = self.compare(Compare::Eq, CompareOrder::Partial, first, second);
            let ties = (0..operands).filter(|ties| *ties != found.key).find(|ties| {
                let [a, b] = [2 * ties, 2 * ties + 1].map(|number| self.parameter(number));
                earlier == self.compare(Compare::Lt, CompareOrder::Partial, a, b)
            })?;
            return (tied == neither).then_some(Comparator { ties: Some(ties), ..found });
        }
        self.by_key(root, operands)
    }

    /// A comparison of one operand's two elements.
    fn by_key(&mut self, root: TermId, operands: usize) -> Option<Comparator> {
        let (Head::Compare(direction, order), [a, b]) = (&self.list[root].0, self.list[root].1.as_slice()) else {
            return None;
        };
        let (direction, order, a, b) = (*direction, *order, *a, *b);
        (0..operands).find_map(|key| {
            [false, true].into_iter().find_map(|canonical| {
                let sides = [2 * key, 2 * key + 1].map(|number| self.side(number, canonical));
                let order = [None, Some(DType::S16), Some(DType::S32)].into_iter().find_map(|integer| {
                    let sides = sides.map(|side| match integer {
                        Some(dtype) => self.ordered_bits(side, dtype),
                        None => side,
                    });
                    let order = if integer.is_some() { CompareOrder::Total } else { order };
                    // lax.sort of a descending key compares the other way round with the sides exchanged.
                    let exchanged = [b, a] == sides;
                    ([a, b] == sides || exchanged).then_some((order, exchanged))
                });
                let (order, exchanged) = order?;
                let descending = match direction {
                    Compare::Lt => exchanged,
                    Compare::Gt => !exchanged,
                    _ => return None,
                };
                Some(Comparator { key, descending, order, canonical, ties: None })
            })
        })
    }

    /// A parameter of a comparator, as `jnp.sort` prepares it.
    fn side(&mut self, parameter: usize, canonical: bool) -> TermId {
        let p = self.parameter(parameter);
        if !canonical {
            return p;
        }
        let [nan, zero] = [f64::NAN, 0.0].map(|value| self.term(Head::Float(canonical_bits(value)), vec![]));
        let is_nan = self.compare(Compare::Ne, CompareOrder::Partial, p, p);
        let is_zero = self.compare(Compare::Eq, CompareOrder::Partial, zero, p);
        let number = self.select(is_zero, zero, p);
        self.select(is_nan, nan, number)
    }

    /// A float's bits as an integer of the same order, the form that compilers give TOTALORDER.
    fn ordered_bits(&mut self, float: TermId, dtype: DType) -> TermId {
        let integer = self.term(Head::BitcastConvert(Some(dtype)), vec![float]);
        let [zero, mask] = [0, (1 << (dtype.bits() - 1)) - 1].map(|number| self.term(Head::Integer(number), vec![]));
        let is_negative = self.compare(Compare::Lt, CompareOrder::Partial, integer, zero);
        let turned = self.binary(Binary::Xor, integer, mask);
        self.select(is_negative, turned, integer)
    }
}

fn canonical_bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// The operation of an instruction, whose operands are terms of their own.
fn head(op: &Op, instruction: &Instruction, id: usize) -> Head {
    match op {
        Op::Parameter(number) => Head::Parameter(*number),
        Op::Constant(value) if value.len() == 1 && value.dtype().is_float() => {
            Head::Float(canonical_bits(value.data().get_f64(0)))
        }
        Op::Constant(value) if value.len() == 1 => Head::Integer(value.data().get_i64(0)),
        Op::Convert => Head::Convert(instruction.shape.dtype()),
        Op::BitcastConvert => Head::BitcastConvert(instruction.shape.dtype()),
        Op::Unary(unary) => Head::Unary(*unary),
        Op::Binary(binary) => Head::Binary(*binary),
        Op::Compare { direction, order } => Head::Compare(*direction, *order),
        Op::Select => Head::Select,
        Op::Tuple => Head::Tuple,
        Op::GetTupleElement(index) => Head::Element(*index),
        _ => Head::Other(id),
    }
}

/// Whether the region is read without this conversion.
fn is_left_out(region: &Computation, instruction: &Instruction, without: Conversions) -> bool {
    let precision = |of: &Instruction| Precision::of_dtype(of.shape.dtype()?);
    let from = precision(&region.instructions[instruction.operands[0]]);
    from.zip(precision(instruction)).is_some_and(|(from, to)| from.within(to) || without == Conversions::All)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Builder;
    use crate::tensor::DType;

    #[test]
    fn only_what_it_is_is_recognised() {
        let mut b = Builder::new("regions");
        let subtract = b.binary_region(Binary::Subtract, DType::F32).unwrap();
        let add = b.binary_region(Binary::Add, DType::F32).unwrap();
        let x = b.parameter("x", DType::F32, &[4]).unwrap();
        let program = b.finish(&[("x", x)]).unwrap();
        let regions = Regions::new(&program);
        assert_eq!(regions.reducer(subtract), None);
        assert_eq!(regions.reducer(add), Some(Reducer::Binary(Binary::Add)));
    }
}
