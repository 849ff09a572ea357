//! Operations on the elements of arrays, and their effect on identities.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::rc::Rc;

use crate::ir::{Binary, Unary};

use super::arithmetic::{Arithmetic, Bivariate, Field, Wanted};
use super::column::Column;
use super::elements::{Deferred, Element, FloatArray, Identities, World};
use super::order::{Identity, Step};

/// Shorter runs are not worth a step for all of them.
const LONG: usize = 8;

/// The most operations that are deferred on the way to an element: they bound the depth of the recursion on demand.
const DEEPEST: usize = 64;

/// Whether a function of one argument increases strictly wherever it has a value; `Some(true)` if it falls.
fn falls(unary: Unary) -> Option<bool> {
    match unary {
        Unary::Cbrt | Unary::Erf | Unary::Exponential | Unary::ExponentialMinusOne | Unary::Logistic | Unary::Tanh => {
            Some(false)
        }
        // They rise wherever they are numbers; the callers exclude NaN.
        Unary::Log | Unary::LogPlusOne | Unary::Sqrt => Some(false),
        Unary::Negate => Some(true),
        Unary::Abs
        | Unary::Ceil
        | Unary::Cosine
        | Unary::CountLeadingZeros
        | Unary::Floor
        | Unary::IsFinite
        | Unary::Not
        | Unary::PopulationCount
        | Unary::RoundNearestAfz
        | Unary::RoundNearestEven
        | Unary::Rsqrt
        | Unary::Sign
        | Unary::Sine
        | Unary::Tan => None,
    }
}

impl<A: Arithmetic> World<A> {
    /// A function of one argument of all elements, or at least of those that are wanted.
    pub fn unary_all(&mut self, unary: Unary, x: &FloatArray<A>, wanted: Wanted) -> FloatArray<A> {
        let numbers = self.arithmetic.unary_all(unary, &x.numbers, wanted);
        let len = x.len;
        if let (Some(falls), Identities::Known { classes, keys }) = (falls(unary), &x.identities)
            && self.arithmetic.all_numbers(&numbers)
        {
            let step = Step::Unary(unary);
            let classes = self.classes.after_each(step, classes);
            // A monotone function keeps the order of its arguments, so that the order of results needs no digit of
            // them.
            let keys = if falls { keys.map(|key| -key) } else { keys.clone() };
            return FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None };
        }
        let mut identities = Vec::with_capacity(len);
        for at in 0..len {
            let (argument, number) = (self.element(x, at), self.arithmetic.at(&numbers, at));
            identities.push(self.unary_identity(unary, &argument, &number));
        }
        let classes = Column::new(identities.iter().map(|i| i.class).collect());
        let keys = Column::new(identities.iter().map(|i| i.key).collect());
        FloatArray { len, numbers, identities: Identities::Known { classes, keys }, rounded: None }
    }

    fn unary_identity(&mut self, unary: Unary, x: &Element<A::Number>, number: &A::Number) -> Identity {
        if self.arithmetic.is_nan(number) {
            // Negation and the absolute value are operations on the sign bit (IEEE 754-2019 5.5.1); what arithmetic makes or
            // passes on is the NaN without a sign and payload of its own (6.2.3, 6.3).
            return Identity::exact(match (unary, self.exact_value(x)) {
                (Unary::Negate, Some(nan)) => -nan,
                (Unary::Abs, Some(nan)) => nan.abs(),
                _ => f64::NAN,
            });
        }
        let sign = self.sign(&x.number);
        let positive = sign == Some(Ordering::Greater);
        // Some functions are monotone only where the sign is known, such as 1 / sqrt(x) on positive numbers.
        let flips = match (unary, falls(unary)) {
            (_, Some(falls)) => Some(falls),
            (Unary::Rsqrt, _) if positive => Some(true),
            (Unary::Abs, _) if positive => return x.identity,
            (Unary::Abs, _) if sign == Some(Ordering::Less) => Some(true),
            _ => None,
        };
        let Some(flips) = flips else {
            let (class, at) = x.identity.name();
            return Identity::fresh(self.classes.after(Step::UnaryAt(unary, at), class));
        };
        // Negation and the absolute value of a negative number are one function.
        let unary = if unary == Unary::Abs { Unary::Negate } else { unary };
        let class = self.classes.after(Step::Unary(unary), x.identity.class);
        Identity { class, key: if flips { -x.identity.key } else { x.identity.key } }
    }

    /// An operation on two arrays of one shape, for all elements or at least for those that are wanted. Results are
    /// identified as functions of `x` with `y` as parameter, or the other way round if `left_is_parameter`.
    #[expect(clippy::too_many_lines, reason = "one arm for each operation")]
    pub fn binary_all(
        &mut self,
        binary: Binary,
        x: &FloatArray<A>,
        y: &FloatArray<A>,
        left_is_parameter: bool,
        wanted: Wanted,
    ) -> FloatArray<A> {
        let operation = match binary {
            Binary::Add => Field::Add,
            Binary::Subtract => Field::Subtract,
            Binary::Multiply => Field::Multiply,
            Binary::Divide => Field::Divide,
            Binary::Remainder => {
                // A remainder jumps at each multiple of the divisor: no key of the operands orders its results.
                let remainder = |at| {
                    let [a, b] = [x, y].map(|array| self.number(array, at));
                    let number = self.arithmetic.remainder(&a, &b);
                    self.fresh(number)
                };
                let out = (0..x.len).map(remainder).collect();
                return self.collect(out);
            }
            Binary::Atan2 | Binary::Power => {
                let function = if binary == Binary::Power { Bivariate::Power } else { Bivariate::Atan2 };
                let of = |at| {
                    let [a, b] = [x, y].map(|array| self.element(array, at));
                    let number = self.arithmetic.bivariate(function, &a.number, &b.number);
                    // What is one known number needs no history: it equals that number wherever it comes from. Every NaN that a
                    // function makes is the one without a sign and payload (IEEE 754-2019 6.2.3).
                    let identity = match self.arithmetic.as_exact(&number) {
                        Some(nan) if nan.is_nan() => Identity::exact(f64::NAN),
                        Some(exact) => Identity::exact(exact),
                        None => {
                            let (class, at) = a.identity.name();
                            let step = Step::BivariateAt(function, at, b.identity.name());
                            Identity::fresh(self.classes.after(step, class))
                        }
                    };
                    Element { number, identity }
                };
                let out = (0..x.len).map(of).collect();
                return self.collect(out);
            }
            Binary::Maximum | Binary::Minimum => {
                let largest = binary == Binary::Maximum;
                let extreme = |at| {
                    let [a, b] = [x, y].map(|array| self.element(array, at));
                    self.extreme(&a, &b, largest)
                };
                let out = (0..x.len).map(extreme).collect();
                return self.collect(out);
            }
            Binary::And
            | Binary::MultiplyHigh
            | Binary::Or
            | Binary::ShiftLeft
            | Binary::ShiftRightArithmetic
            | Binary::ShiftRightLogical
            | Binary::Xor => unreachable!("shape checking gives integers to {}", binary.name()),
        };
        let len = x.len;
        let numbers = self.arithmetic.binary_all(operation, &x.numbers, &y.numbers, wanted);
        let numbers = if operation == Field::Subtract { self.cancelled(x, y, numbers) } else { numbers };
        let identities = match self.binary_steps(operation, x, y, left_is_parameter, &numbers) {
            Some((classes, keys)) => Identities::Known { classes, keys },
            None => {
                // Few elements are ever compared, so identities are made when one is. A chain of such holds the operands of
                // each of its links, and is therefore cut.
                let fresh = self.classes.fresh(len as u64);
                let depth = [x, y].map(FloatArray::depth).into_iter().max().unwrap_or(0);
                let (x, y, depth) = match depth {
                    DEEPEST.. => (self.with_identities(x), self.with_identities(y), 0),
                    _ => (x.clone(), y.clone(), depth),
                };
                let known = RefCell::default();
                Identities::Deferred(Rc::new(Deferred { operation, left_is_parameter, x, y, fresh, depth, known }))
            }
        };
        FloatArray { len, numbers, identities, rounded: None }
    }

    /// Differences with those made +0 whose operands are one finite value, which no enclosure shows.
    fn cancelled(&mut self, x: &FloatArray<A>, y: &FloatArray<A>, differences: A::Numbers) -> A::Numbers {
        let mut zeros = Vec::new();
        for at in self.arithmetic.around(&differences, 0.0) {
            let (a, b) = (self.element(x, at), self.element(y, at));
            if a.identity.is(&b.identity) && self.is_finite(&a.number) {
                zeros.push(at);
            }
        }
        if zeros.is_empty() {
            return differences;
        }
        let mut all: Vec<A::Number> = (0..x.len).map(|at| self.arithmetic.at(&differences, at)).collect();
        zeros.into_iter().for_each(|at| all[at] = self.arithmetic.exact(0.0));
        self.arithmetic.collect(all)
    }

    /// Whether this is a finite number, for certain.
    fn is_finite(&self, x: &A::Number) -> bool {
        self.arithmetic.is_number(x) && self.arithmetic.as_exact(x).is_none_or(f64::is_finite)
    }

    /// The identities of all results, where long runs of them take the same step.
    fn binary_steps(
        &mut self,
        operation: Field,
        x: &FloatArray<A>,
        y: &FloatArray<A>,
        left_is_parameter: bool,
        numbers: &A::Numbers,
    ) -> Option<(Column<u64>, Column<f64>)> {
        let (variable, parameter) = if left_is_parameter { (y, x) } else { (x, y) };
        let (Identities::Known { classes, keys }, Identities::Known { classes: other_classes, keys: other_keys }) =
            (&variable.identities, &parameter.identities)
        else {
            return None;
        };
        let runs = [classes.run(), other_classes.run(), other_keys.run()];
        let run = runs.into_iter().min().filter(|run| runs.iter().all(|r| r.is_multiple_of(*run)))?;
        if run < LONG || operation == Field::Divide && left_is_parameter || !self.arithmetic.all_numbers(numbers) {
            return None;
        }
        let mut stepped = Vec::with_capacity(x.len / run);
        let mut flips = Vec::with_capacity(x.len / run);
        for at in (0..x.len).step_by(run) {
            let other = self.element(parameter, at);
            let (step, falls) = self.binary_step(operation, None, &other, left_is_parameter)?;
            stepped.push(self.classes.after(step, *classes.at(at)));
            flips.push(falls);
        }
        let keys = if flips.iter().all(|f| !f) {
            keys.clone()
        } else {
            Column::new((0..x.len).map(|at| if flips[at / run] { -keys.at(at) } else { *keys.at(at) }).collect())
        };
        Some((Column::runs(stepped, run), keys))
    }

    /// The identity of one result; `None` where the operation leaves no relation to its operands.
    pub fn binary_identity(
        &mut self,
        operation: Field,
        x: &Element<A::Number>,
        y: &Element<A::Number>,
        left_is_parameter: bool,
        number: &A::Number,
    ) -> Option<Identity> {
        if self.arithmetic.is_nan(number) {
            return Some(Identity::exact(f64::NAN));
        }
        let (variable, parameter) = if left_is_parameter { (y, x) } else { (x, y) };
        let (step, falls) = self.binary_step(operation, Some(variable), parameter, left_is_parameter)?;
        let class = self.classes.after(step, variable.identity.class);
        let key = variable.identity.key;
        Some(Identity { class, key: if falls { -key } else { key } })
    }

    /// The strictly increasing function that an operation is of its variable, or of its negated variable; `None` if it
    /// is not.
    fn binary_step(
        &self,
        operation: Field,
        variable: Option<&Element<A::Number>>,
        parameter: &Element<A::Number>,
        left_is_parameter: bool,
    ) -> Option<(Step, bool)> {
        // With an infinite parameter the function is not strictly increasing.
        if !self.arithmetic.as_exact(&parameter.number).is_none_or(f64::is_finite) {
            return None;
        }
        let signs = (variable.and_then(|v| self.sign(&v.number)), self.sign(&parameter.number));
        let negative = |o: Ordering| o == Ordering::Less;
        // Whether it increases in the variable, falls, or neither is known; and on which side of zero.
        let (falls, is_below_zero) = match (operation, left_is_parameter, signs) {
            (Field::Add, ..) | (Field::Subtract, false, _) => (false, false),
            (Field::Subtract, true, _) => (true, false),
            (Field::Multiply, _, (_, Some(p))) | (Field::Divide, false, (_, Some(p))) if p != Ordering::Equal => {
                (negative(p), false)
            }
            (Field::Divide, true, (Some(v), Some(p))) if v != Ordering::Equal && p != Ordering::Equal => {
                (!negative(p), negative(v))
            }
            _ => return None,
        };
        let parameter = parameter.identity.name();
        Some((Step::Binary { operation, left_is_parameter, is_below_zero, parameter }, falls))
    }

    /// The order of a number against zero, where the enclosure decides it.
    fn sign(&self, x: &A::Number) -> Option<Ordering> {
        let (lo, hi) = self.arithmetic.bounds(x);
        match (lo.partial_cmp(&0.0)?, hi.partial_cmp(&0.0)?) {
            (low, high) if low == high => Some(low),
            _ => None,
        }
    }
}
