//! Results of expressions that may be computed in any form that is the same over the real numbers.
//!
//! An interval over the real numbers of enclosed operands holds the real number of an expression if those of its operands do.
//! The value of any form lies within a few errors of that number: of a product, relative to it; of a sum, relative to the
//! magnitudes that it adds up, since a form may add them in another order. That holds as long as nothing overflows or
//! underflows on the way, whatever is multiplied or divided first: each element goes with its span, a bound of the
//! products and quotients of its operands.

use crate::ir::{Binary, ComputationId, Instruction, Op, Shape, Unary, ValueId};

use super::super::column::Column;
use super::super::elements::{FloatArray, Identities, Value};
use super::super::evaluate::Pass;
use super::super::fast::{Fast, Intervals};
use super::super::interval::Interval;
use super::super::oracle_error::OracleError;
use super::super::order::Step;
use super::form_loop::FormLoop;

/// Binary exponents up to which products and quotients are normal numbers of f32, with some room.
pub(super) const NORMAL: f64 = 120.0;

/// The latitude of all forms of an expression.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forms {
    /// Off by this share of itself, or of a sum or difference by this share of the magnitudes of both operands.
    pub share: f64,
    /// And by so much.
    pub absolute: f64,
    /// Whether zeros may be of either sign, and NaN may be a number.
    pub forgets_signs: bool,
}

impl Forms {
    /// The latitude of both together.
    pub(super) fn or(self, other: Forms) -> Forms {
        Forms {
            share: self.share.max(other.share),
            absolute: self.absolute.max(other.absolute),
            forgets_signs: self.forgets_signs || other.forgets_signs,
        }
    }
}

/// For values that may be of several forms: of each element the binary exponents that its factors reach. The lower end is a
/// bound of all products of its factors and of its divisors' reciprocals, the upper end of those of all reciprocals as well.
pub(super) struct Spans {
    known: Vec<Option<Value<Fast>>>,
}

impl Spans {
    pub fn new(values: usize) -> Spans {
        Spans { known: (0..values).map(|_| None).collect() }
    }

    pub fn forget(&mut self, value: ValueId) {
        self.known[value] = None;
    }
}

/// The span of a number that is no expression itself.
pub(super) fn span(x: Interval) -> Interval {
    // Above the binary logarithm by one at most.
    let exponent = |x: f64| if x == 0.0 { 0.0 } else { ((x.to_bits() >> 52 & 0x7ff) as f64) - 1022.0 };
    let (least, largest) = if x.lo > 0.0 || x.hi < 0.0 {
        (x.lo.abs().min(x.hi.abs()), x.lo.abs().max(x.hi.abs()))
    } else {
        (0.0, x.lo.abs().max(x.hi.abs()))
    };
    let as_factor = exponent(largest).max(0.0);
    // A divisor that may be zero has no quotient; one that is zero gives what every form gives.
    let is_open = least == 0.0 && largest > 0.0;
    let as_divisor = if is_open { f64::INFINITY } else { exponent(largest).abs().max(exponent(least).abs() + 1.0) };
    if x.is_nan() { Interval::exact(0.0) } else { Interval { lo: as_factor, hi: as_divisor } }
}

/// The span of a result from those of its operands.
pub(super) fn combined(op: &Op, spans: &[Interval], operands: &[Interval], result: Interval) -> Interval {
    let own = span(result);
    match (op, spans) {
        (Op::Binary(Binary::Multiply), [a, b]) => Interval { lo: a.lo + b.lo, hi: a.hi + b.hi },
        (Op::Binary(Binary::Divide), [a, b]) => Interval { lo: a.lo + b.hi, hi: a.hi + b.hi },
        (Op::Binary(Binary::Add | Binary::Subtract), [a, b]) => {
            // A common factor may be taken out of a sum that is small.
            let reach = a.lo.max(b.lo) + 1.0;
            Interval { lo: reach, hi: own.hi + reach }
        }
        (Op::Binary(Binary::Power), [a, _]) => match operands[1] {
            exponent if exponent.is_exact() && exponent.lo.abs() <= 3.0 => {
                let times = exponent.lo.abs().max(1.0);
                let factor = if exponent.lo < 0.0 { a.hi } else { a.lo };
                Interval { lo: times * factor, hi: times * a.hi }
            }
            _ => own,
        },
        (Op::Unary(Unary::Sqrt), [a]) => *a,
        (Op::Unary(Unary::Rsqrt), [a]) => Interval { lo: a.hi, hi: a.hi },
        // Its exponent may be added to others: what underflows by itself need not together.
        (Op::Unary(Unary::Exponential), _) if own.hi > NORMAL => Interval { lo: f64::INFINITY, hi: f64::INFINITY },
        _ => own,
    }
}

impl Pass<'_, Fast> {
    /// The enclosure of an operation in every form, in each of the ways in which it may be computed itself, before it is rounded.
    pub(super) fn in_every_form(
        &mut self,
        id: ValueId,
        instruction: &Instruction,
        (operands, spans): (&[Value<Fast>], &mut Spans),
        ways: Vec<Value<Fast>>,
        forms: &Forms,
    ) -> Vec<Value<Fast>> {
        let are_floats = operands.iter().chain(&ways).all(|value| matches!(value, Value::Float(_)));
        let (true, Some(first), Some(last)) = (are_floats, operands.first(), operands.last()) else { return ways };
        let known = |at: usize| instruction.operands.get(at).and_then(|operand| spans.known[*operand].clone());
        let known = [known(0), known(operands.len() - 1)];
        let given = [first, last].map(|operand| &operand.floats().numbers);
        let loops = FormLoop {
            op: &instruction.op,
            operands: operands.len(),
            given,
            known: [0, 1].map(|at| known[at].as_ref().map(|known| &known.floats().numbers)),
            forms,
        };
        let found: Vec<[Intervals; 2]> = ways.iter().map(|way| loops.enclose(&way.floats().numbers)).collect();
        let mut wider = Vec::new();
        for (way, [numbers, own]) in ways.iter().zip(found) {
            let array = way.floats();
            if forms.share > 0.0 {
                spans.known[id] = Some(Value::Float(self.as_spans(own, array.len)));
            }
            wider.push(Value::Float(self.after_step(array.clone(), numbers, Step::Erring(id))));
        }
        wider
    }

    /// An array of spans, which are moved and never compared: they share an identity.
    fn as_spans(&mut self, numbers: Intervals, len: usize) -> FloatArray<Fast> {
        let classes = Column::same(self.world.classes.fresh(1), len);
        let identities = Identities::Known { classes, keys: Column::same(0.0, len) };
        FloatArray { len, numbers, identities, rounded: None }
    }

    /// Spans go where their elements go.
    pub(super) fn hand_on(
        &mut self,
        spans: &mut Spans,
        (computation, id): (ComputationId, ValueId),
        instruction: &Instruction,
        shapes: &[&Shape],
        read: &[ValueId],
    ) -> Result<(), OracleError> {
        let Some(known) = read.iter().find_map(|read| spans.known[*read].clone()) else { return Ok(()) };
        if spans.known[id].is_some() {
            return Ok(());
        }
        spans.known[id] = match instruction.op {
            Op::Copy | Op::Convert => Some(known),
            Op::Reshape | Op::Transpose { .. } | Op::Broadcast { .. } => {
                Some(self.instruction(computation, instruction, &[known], shapes, None)?)
            }
            _ => None,
        };
        Ok(())
    }
}

/// A real number, widened by the error of every form. `magnitudes` is the sum of magnitudes that a sum adds up; `reach`
/// bounds the binary exponents on the way.
pub(super) fn widened(x: Interval, reach: f64, forms: &Forms, magnitudes: Option<f64>) -> Interval {
    if x.is_nan() {
        return if forms.forgets_signs { Interval::UNKNOWN } else { x };
    }
    let is_zero = x.lo == 0.0 && x.hi == 0.0;
    if is_zero && forms.forgets_signs {
        return Interval::SIGNLESS_ZERO;
    }
    if forms.share == 0.0 || x.is_exact() && x.lo.is_infinite() {
        return x;
    }
    if x.is_unknown() || reach.is_nan() || reach > NORMAL {
        return Interval::UNKNOWN;
    }
    let base = |end: f64| magnitudes.unwrap_or(end.abs());
    // A product that a zero is a factor of is zero in every form.
    if is_zero && base(0.0) == 0.0 {
        return x;
    }
    // What underflows on the way is multiplied by no more than what is left.
    let lost = 2f64.powi((reach - NORMAL).ceil() as i32);
    let error = |end: f64| (((forms.share * base(end)).next_up() + forms.absolute).next_up() + lost).next_up();
    Interval { lo: (x.lo - error(x.lo)).next_down(), hi: (x.hi + error(x.hi)).next_up() }
}
