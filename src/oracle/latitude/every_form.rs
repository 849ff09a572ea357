//! Results of expressions that may be computed in any form that is the same over the real numbers.
//!
//! An interval over the real numbers of enclosed operands holds the real number of an expression if those of its operands do.
//! The value of any form lies within a few errors of that number: of a product, relative to it; of a sum, relative to the
//! magnitudes that it adds up, since a form may add them in another order. That holds as long as nothing overflows or
//! underflows on the way, whatever is multiplied or divided first: each element goes with its span, a bound of the
//! products and quotients of its operands.

use crate::ir::{ComputationId, Instruction, Op, Shape, ValueId};

use super::super::column::Column;
use super::super::elements::{FloatArray, Identities, Value};
use super::super::evaluate::Pass;
use super::super::fast::{Fast, Intervals};
use super::super::oracle_error::OracleError;
use super::super::order::Step;
use super::form_loop::FormLoop;
use super::widening::Forms;

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
        // Integers have one form: their operations do not round.
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
