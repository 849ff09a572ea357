//! Signs of products that are added. LLVM moves negations through their factors, each pass in its own way, and
//! exchanges the products by the way. Of two products it contracts the one that is then first.

use crate::ir::{Binary, Computation, Fusion, Instruction, Op, ValueId};

use super::known::{known_number, negated_by};

/// More factors within each other than any product of a program has.
const DEEPEST: usize = 64;

/// A term of a sum, or a factor in it, as InstCombine leaves it: a negation stays where no operand absorbs it.
#[derive(Clone, Debug, PartialEq)]
pub enum Term {
    /// An unknown value, or one with other users.
    Value,
    /// A constant, with its sign, and whether its block uses it once.
    Number {
        negative: bool,
        single: bool,
    },
    Opposite(Box<Term>),
    /// A term that is computed before the innermost loop: only Reassociate looks into it.
    Outside(Box<Term>),
    Product(Box<[Term; 2]>),
    Quotient(Box<[Term; 2]>),
    Choice(Box<[Term; 2]>),
}

/// The number of reads of the elements of a value that a user takes.
type Alike<'a> = &'a dyn Fn(ValueId, ValueId) -> usize;

/// Whether a broadcast varies in the innermost loop.
type Keeps<'a> = &'a dyn Fn(ValueId) -> bool;

/// Whether its block uses a constant once.
type Single<'a> = &'a dyn Fn(f32) -> bool;

use Term::{Choice, Number, Opposite, Product, Quotient};

/// Cost of a negation in LLVM's instruction selection (`TargetLowering::getNegatedExpression`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum NegatibleCost {
    /// It cancels another negation.
    Cheaper,
    Neutral,
    Expensive,
}

impl Term {
    /// The term that `reader` has in its operand `id`. `alike` counts the reads of the elements of a value that a user
    /// takes, `keeps` says whether a broadcast varies in the innermost loop, and `single` whether a block uses a
    /// constant once.
    pub fn new(computation: &Computation, reads: [ValueId; 2], facts: (Alike, Keeps, Single)) -> Term {
        Term::within(computation, reads, facts, 0)
    }

    fn within(
        computation: &Computation,
        [id, reader]: [ValueId; 2],
        (alike, keeps, single): (Alike, Keeps, Single),
        depth: usize,
    ) -> Term {
        let Instruction { op, operands, .. } = &computation.instructions[id];
        let fusion = computation.instructions[id].fusion();
        if let Some(number) = known_number(computation, id, fusion) {
            return Number { negative: number.is_sign_negative(), single: single(number) };
        }
        if fusion != computation.instructions[reader].fusion() || depth > DEEPEST {
            return Term::Value;
        }
        let part = |operand: ValueId| Term::within(computation, [operand, id], (alike, keeps, single), depth + 1);
        let is_read_once = alike(id, reader) == 1;
        if let Some(operand) = negated_by(computation, id) {
            let term = part(operand).opposite();
            let shares = matches!(term, Product(_) | Quotient(_) | Choice(_)) && !is_read_once;
            return if shares { Term::Value } else { term };
        }
        match (op, &operands[..]) {
            _ if !is_read_once => Term::Value,
            (Op::Binary(Binary::Multiply), &[left, right]) => Term::product(part(left), part(right)),
            (Op::Binary(Binary::Divide), &[left, right]) => Term::quotient(part(left), part(right)),
            (Op::Select, &[_, on_true, on_false]) => Choice(Box::new([part(on_true), part(on_false)])),
            (Op::Broadcast { .. }, &[operand]) if keeps(id) => part(operand),
            (Op::Broadcast { .. }, &[operand]) if !peels(computation, fusion) => Term::Outside(Box::new(part(operand))),
            (op, _) if moves(op) => part(operands[0]),
            _ => Term::Value,
        }
    }

    fn product(left: Term, right: Term) -> Term {
        match (left, right) {
            (Opposite(left), Opposite(right)) => Term::product(*left, *right),
            (Opposite(term), number @ Number { .. }) | (number @ Number { .. }, Opposite(term)) => {
                Product(Box::new([*term, number.opposite()]))
            }
            (number @ Number { .. }, term) => Product(Box::new([term, number])),
            (left, right) => Product(Box::new([left, right])),
        }
    }

    fn quotient(left: Term, right: Term) -> Term {
        match (left, right) {
            (Opposite(left), Opposite(right)) => Term::quotient(*left, *right),
            (Opposite(term), number @ Number { .. }) => Quotient(Box::new([*term, number.opposite()])),
            (number @ Number { .. }, Opposite(term)) => Quotient(Box::new([number.opposite(), *term])),
            (left, right) => Quotient(Box::new([left, right])),
        }
    }

    /// The negation of a term. A product takes it to its second factor and a quotient to its first operand. A select
    /// takes it to both sides, if one of them is a negation or a constant.
    fn opposite(self) -> Term {
        match self {
            Opposite(term) => *term,
            Number { negative, single } => Number { negative: !negative, single },
            Product(factors) => match *factors {
                [Opposite(left), right] => Term::product(*left, right),
                [left, right] => Term::product(left, right.opposite()),
            },
            Quotient(parts) => match *parts {
                [left, Opposite(right)] => Term::quotient(left, *right),
                [left, right] => Term::quotient(left.opposite(), right),
            },
            Choice(sides) if sides.iter().any(|side| matches!(side, Opposite(_) | Number { .. })) => {
                Choice(Box::new(sides.map(Term::opposite)))
            }
            term => Opposite(Box::new(term)),
        }
    }

    /// The opposite of a term that is a negation or has one for a factor or part of its own.
    fn stripped(&self) -> Option<Term> {
        let is_direct = |parts: &[Term; 2]| parts.iter().any(|part| matches!(part, Opposite(_)));
        match self {
            Opposite(_) => Some(self.clone().opposite()),
            Product(parts) | Quotient(parts) => is_direct(parts).then(|| self.clone().opposite()),
            _ => None,
        }
    }

    /// Negative numbers among the factors of a product.
    fn negative_numbers(&self) -> usize {
        let of = |part: &Term| match part {
            Number { negative, .. } => usize::from(*negative),
            part => part.negative_numbers(),
        };
        match self {
            // A choice of two products.
            Product(parts) if chooses_numbers(parts) => 0,
            Product(parts) | Quotient(parts) => parts.iter().map(of).sum(),
            Term::Outside(term) => of(term),
            _ => 0,
        }
    }

    fn cost(&self) -> NegatibleCost {
        match self {
            Term::Value | Term::Outside(_) | Number { single: false, .. } => NegatibleCost::Expensive,
            Number { single: true, .. } => NegatibleCost::Neutral,
            Opposite(_) => NegatibleCost::Cheaper,
            Product(parts) | Quotient(parts) => parts[0].cost().min(parts[1].cost()),
            Choice(sides) => match [sides[0].cost(), sides[1].cost()] {
                [NegatibleCost::Cheaper, NegatibleCost::Cheaper | NegatibleCost::Neutral]
                | [NegatibleCost::Neutral, NegatibleCost::Cheaper] => NegatibleCost::Cheaper,
                _ => NegatibleCost::Expensive,
            },
        }
    }

    /// The opposite of a term where that costs nothing: of two factors the cheaper one changes.
    fn turned(self) -> Term {
        let one_of = |[left, right]: [Term; 2]| {
            Box::new(if left.cost() <= right.cost() { [left.turned(), right] } else { [left, right.turned()] })
        };
        match self {
            Product(parts) => Product(one_of(*parts)),
            Quotient(parts) => Quotient(one_of(*parts)),
            Choice(sides) => Choice(Box::new(sides.map(Term::turned))),
            term => term.opposite(),
        }
    }
}

/// Whether a product is that of a constant and a select with a constant on one side.
fn chooses_numbers(factors: &[Term; 2]) -> bool {
    let chooses = |factor: &Term| match factor {
        Choice(sides) => sides.iter().any(|side| matches!(side, Number { .. })),
        _ => false,
    };
    let is_number = |factor: &Term| matches!(factor, Number { .. });
    factors.iter().any(chooses) && factors.iter().any(is_number)
}

/// Whether iterations of a fusion's loops may be peeled off: both parts then use the values that are computed before
/// the loop.
fn peels(computation: &Computation, fusion: Option<Fusion>) -> bool {
    computation.instructions.iter().any(|i| i.fusion() == fusion && matches!(i.op, Op::Pad { .. }))
}

/// Whether an operation moves elements without changing them.
pub fn moves(op: &Op) -> bool {
    matches!(
        op,
        Op::Copy | Op::DynamicSlice { .. } | Op::Reshape | Op::Reverse { .. } | Op::Slice { .. } | Op::Transpose { .. }
    )
}

/// A sum or a difference of two terms, each with the operand that it was at first.
pub struct Signs {
    subtracts: bool,
    terms: [(usize, Term); 2],
}

impl Signs {
    /// The sum of these, or the difference.
    pub fn new(subtracts: bool, [left, right]: [Term; 2]) -> Signs {
        Signs { subtracts, terms: [(0, left), (1, right)] }
    }

    /// The operand that is first when LLVM selects instructions; `exchanges` says whether Reassociate exchanges those
    /// of a sum.
    pub fn first(mut self, exchanges: impl FnOnce() -> bool) -> usize {
        self.combine();
        self.reassociate(exchanges);
        self.select();
        self.terms[0].0
    }

    /// Whether it is a sum when LLVM selects instructions, and has been one since Reassociate.
    pub fn adds(mut self, exchanges: impl FnOnce() -> bool) -> bool {
        self.combine();
        self.reassociate(exchanges);
        !self.subtracts && self.terms.iter().all(|(_, term)| term.cost() != NegatibleCost::Cheaper)
    }

    /// InstCombine: it subtracts no negation and no product with a number, and adds no negation.
    fn combine(&mut self) {
        let [left, right] = &mut self.terms;
        if self.subtracts {
            let has_number = |parts: &[Term; 2]| parts.iter().any(|part| matches!(part, Number { .. }));
            let opposite = match &right.1 {
                Product(parts) if has_number(parts) => Some(right.1.clone().opposite()),
                term => term.stripped(),
            };
            self.subtracts = opposite.is_none();
            right.1 = opposite.unwrap_or_else(|| right.1.clone());
        }
        if self.subtracts {
            return;
        }
        if let Some(opposite) = left.1.stripped() {
            left.1 = opposite;
            self.subtracts = true;
            self.terms.swap(0, 1);
        } else if let Some(opposite) = right.1.stripped() {
            right.1 = opposite;
            self.subtracts = true;
        }
    }

    /// Reassociate: the term of lower rank comes first in a sum, and a term with an odd number of negative factors is
    /// subtracted.
    fn reassociate(&mut self, exchanges: impl FnOnce() -> bool) {
        let is_odd = |(_, term): &(usize, Term)| term.negative_numbers() % 2 == 1;
        if self.subtracts {
            self.subtracts = !is_odd(&self.terms[1]);
            return;
        }
        if exchanges() {
            self.terms.swap(0, 1);
        }
        if is_odd(&self.terms[1]) {
            self.subtracts = true;
        } else if is_odd(&self.terms[0]) {
            self.subtracts = true;
            self.terms.swap(0, 1);
        }
    }

    /// DAGCombiner: a difference becomes a sum where the negation costs nothing, and a sum a difference where it saves
    /// one.
    fn select(&mut self) {
        loop {
            let [left, right] = [0, 1].map(|at| self.terms[at].1.cost());
            let most = if self.subtracts { NegatibleCost::Neutral } else { NegatibleCost::Cheaper };
            let at = match (right <= most, left == NegatibleCost::Cheaper && !self.subtracts) {
                (true, _) => 1,
                (false, true) => 0,
                (false, false) => return,
            };
            let term = std::mem::replace(&mut self.terms[at].1, Term::Value);
            self.terms[at].1 = term.turned();
            self.subtracts = !self.subtracts;
            if at == 0 {
                self.terms.swap(0, 1);
            }
        }
    }
}

#[cfg(test)]
mod tests;
