//! Lists, calls and loops, run alike over every kind of value: numbers of a machine, enclosures, symbols, prints.

use super::op::{ComputationId, Op, TRIP_BOUND};

/// Values in which a program is evaluated.
pub trait Domain {
    /// An array, or a tuple of values.
    type Value: Clone;
    /// The reason why a computation has no result.
    type Error;

    /// The tuple of these values.
    fn tuple(parts: Vec<Self::Value>) -> Self::Value;

    /// The values of a tuple; an array alone.
    fn into_parts(value: Self::Value) -> Vec<Self::Value>;

    /// The result of a computation.
    ///
    /// # Errors
    /// If the computation has no result.
    fn call(&mut self, callee: ComputationId, arguments: Vec<Self::Value>) -> Result<Self::Value, Self::Error>;

    /// Whether a scalar predicate is true; `None` where the values do not decide it.
    fn is_true(&self, predicate: &Self::Value) -> Option<bool>;

    /// Whether a loop is followed for one more trip after so many.
    fn follows_trip(&self, _trips: usize) -> bool {
        true
    }
}

/// The outcome of a list, a call or a loop.
#[derive(Clone, Debug, PartialEq)]
pub enum Ran<V> {
    /// Its value.
    Value(V),
    /// Not known: the values do not decide whether a loop goes on, or it is not followed so far.
    Open,
    /// A loop still goes on after [`TRIP_BOUND`] trips.
    Endless,
}

/// The outcome of an operation of [`super::Class::Lists`] or [`super::Class::Calls`]. Shapes must have passed [`super::infer`].
///
/// # Errors
/// If a computation that it calls has no result.
///
/// # Panics
/// For an operation of another class.
pub fn run<D: Domain>(domain: &mut D, op: &Op, mut operands: Vec<D::Value>) -> Result<Ran<D::Value>, D::Error> {
    let value = match op {
        Op::Tuple => D::tuple(operands),
        Op::GetTupleElement(index) => D::into_parts(operands.swap_remove(0)).swap_remove(*index),
        Op::Call { to_apply } => domain.call(*to_apply, operands)?,
        Op::While { condition, body } => return repeat(domain, *condition, *body, operands),
        op => unreachable!("{} neither lists nor calls", op.opcode()),
    };
    Ok(Ran::Value(value))
}

fn repeat<D: Domain>(
    domain: &mut D,
    condition: ComputationId,
    body: ComputationId,
    mut state: Vec<D::Value>,
) -> Result<Ran<D::Value>, D::Error> {
    for trips in 0.. {
        if !domain.follows_trip(trips) {
            break;
        }
        let goes_on = domain.call(condition, state.clone())?;
        match domain.is_true(&goes_on) {
            Some(false) => return Ok(Ran::Value(D::tuple(state))),
            Some(true) if trips < TRIP_BOUND => state = D::into_parts(domain.call(body, state)?),
            Some(true) => return Ok(Ran::Endless),
            None => break,
        }
    }
    Ok(Ran::Open)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computation 0 tells whether a count is below a limit, 1 adds one; a count beyond `known` is not known.
    struct Counts {
        limit: usize,
        known: usize,
        followed: usize,
    }

    #[derive(Clone, Debug, PartialEq)]
    enum Value {
        Number(usize),
        Tuple(Vec<Value>),
    }

    impl Domain for Counts {
        type Value = Value;
        type Error = ();

        fn tuple(parts: Vec<Value>) -> Value {
            Value::Tuple(parts)
        }

        fn into_parts(value: Value) -> Vec<Value> {
            match value {
                Value::Tuple(parts) => parts,
                number => vec![number],
            }
        }

        fn call(&mut self, callee: ComputationId, arguments: Vec<Value>) -> Result<Value, ()> {
            let [Value::Number(count)] = arguments[..] else { return Err(()) };
            match callee {
                0 if count > self.known => Ok(Value::Number(2)),
                0 => Ok(Value::Number(usize::from(count < self.limit))),
                _ => Ok(Value::Tuple(vec![Value::Number(count + 1)])),
            }
        }

        fn is_true(&self, predicate: &Value) -> Option<bool> {
            match predicate {
                Value::Number(flag @ (0 | 1)) => Some(*flag == 1),
                _ => None,
            }
        }

        fn follows_trip(&self, trips: usize) -> bool {
            trips < self.followed
        }
    }

    #[test]
    fn a_loop_ends_stays_open_or_is_endless() {
        let op = Op::While { condition: 0, body: 1 };
        let counted = |limit, known, followed| run(&mut Counts { limit, known, followed }, &op, vec![Value::Number(0)]);
        let state = |count| Ok(Ran::Value(Value::Tuple(vec![Value::Number(count)])));
        let all = usize::MAX;
        assert_eq!(counted(0, all, all), state(0));
        assert_eq!(counted(7, all, all), state(7));
        // The condition after the last trip is one trip more to be followed.
        assert_eq!(counted(7, all, 8), state(7));
        assert_eq!(counted(7, all, 7), Ok(Ran::Open));
        assert_eq!(counted(7, 5, all), Ok(Ran::Open));
        assert_eq!(counted(TRIP_BOUND, all, all), state(TRIP_BOUND));
        assert_eq!(counted(TRIP_BOUND + 1, all, all), Ok(Ran::Endless));
    }

    #[test]
    fn lists_hold_their_parts_and_calls_give_results() {
        let mut counts = Counts { limit: 1, known: 1, followed: 1 };
        let numbers = vec![Value::Number(3), Value::Number(4)];
        let tuple = run(&mut counts, &Op::Tuple, numbers.clone());
        assert_eq!(tuple, Ok(Ran::Value(Value::Tuple(numbers.clone()))));
        let second = run(&mut counts, &Op::GetTupleElement(1), vec![Value::Tuple(numbers)]);
        assert_eq!(second, Ok(Ran::Value(Value::Number(4))));
        let called = run(&mut counts, &Op::Call { to_apply: 1 }, vec![Value::Number(3)]);
        assert_eq!(called, Ok(Ran::Value(Value::Tuple(vec![Value::Number(4)]))));
        assert_eq!(run(&mut counts, &Op::Call { to_apply: 1 }, Vec::new()), Err(()));
    }
}
