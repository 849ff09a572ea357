//! Programs made ready to run: what depends neither on the mode nor on the arguments is worked out once.

use std::sync::OnceLock;
use std::time::Instant;

use crate::analysis::{Regions, World, array_bytes, check_memory, find_producers};
use crate::budget::{self, TooLarge};
use crate::deadline;
use crate::ir::{Binary, Computation, ComputationId, Double, Op, Program, Shape, ValueId};
use crate::tensor::Tensor;

use super::backend::{Backend, Kernel, dead_kernel, default_plan, plan_live};
use super::divisor::divides_by_one_number;
use super::eval_error::EvalError;
use super::evaluate::Machine;
use super::mode::Arithmetic;
use super::scalar::Template;
use super::value::Value;

/// A program made ready for the machine, to be evaluated in any mode with any arguments, on any thread.
pub struct Prepared<'p> {
    pub(super) program: &'p Program,
    /// Whether unused values are other forms of used ones, and no dead code.
    has_choices: bool,
    pub(super) regions: Regions,
    /// One a computation, worked out when it is first asked for: for the chip with a backend, where sums have the orders of its
    /// code or the mode's own, and for chips without.
    planned: OnceLock<Vec<Frame>>,
    reordered: OnceLock<Vec<Frame>>,
    unplanned: OnceLock<Vec<Frame>>,
    /// Whether the program fits in memory, worked out when it is first run.
    room: OnceLock<Result<(), TooLarge>>,
    /// Computations of scalars, to be interpreted element by element; `None` for those that take arrays.
    templates: Vec<Option<Result<Template<'p>, EvalError>>>,
}

/// Facts about the instructions of one computation, found once.
pub(super) struct Frame {
    /// The number of uses of each value; the root has one more.
    pub uses: Vec<usize>,
    /// The values of constants.
    pub constants: Vec<Option<Value>>,
    /// The plan of each instruction.
    pub kernels: Vec<Kernel>,
    /// For each reduction what is computed for it alone.
    pub producers: Vec<Vec<ValueId>>,
    /// Whether an instruction is such a producer.
    pub is_producer: Vec<bool>,
}

impl Frame {
    /// The frame of a machine with this backend, whose orders of sums it keeps or not.
    fn new(
        computation: &Computation,
        backend: Option<(&dyn Backend, bool)>,
        regions: &Regions,
        has_choices: bool,
    ) -> Frame {
        let uses = uses(computation);
        let of_live = |alive: &Computation, uses: &[usize]| match backend {
            Some((backend, keeps_orders)) => backend.plan(alive, uses, regions, keeps_orders),
            None => default_plan(alive, uses),
        };
        let mut kernels = match has_choices {
            true => of_live(computation, &uses),
            false => plan_live(computation, of_live, dead_kernel()),
        };
        for (kernel, instruction) in kernels.iter_mut().zip(&computation.instructions) {
            kernel.by_one_number = divides_by_one_number(computation, instruction);
            kernel.packs_quotients = instruction.op == Op::Binary(Binary::Divide) && instruction.is_packed();
        }
        // Products in flight are f64 and not f32: tiles have no place for them.
        let producers = find_producers(computation, &uses, |id| !kernels[id].code.is_in_flight());
        let mut is_producer = vec![false; computation.instructions.len()];
        producers.iter().flatten().for_each(|id| is_producer[*id] = true);
        let constant = |op: &Op| match op {
            Op::Constant(value) => Some(Value::of_tensor(value)),
            _ => None,
        };
        let constants = computation.instructions.iter().map(|i| constant(&i.op)).collect();
        Frame { constants, kernels, uses, producers, is_producer }
    }
}

/// The number of users of each value; the root has one more.
fn uses(computation: &Computation) -> Vec<usize> {
    let mut uses = computation.uses();
    // Whoever asked for the result uses the root as well: it outlives the last instruction.
    uses[computation.root] += 1;
    uses
}

/// Arguments as the machine holds them, to be given to any number of evaluations; a clone shares them.
#[derive(Clone)]
pub struct Bound(Vec<Value>);

impl Bound {
    pub(super) fn into_values(self) -> Vec<Value> {
        self.0
    }

    /// The argument of this number.
    pub(super) fn argument(&self, number: usize) -> Option<Value> {
        self.0.get(number).cloned()
    }
}

/// Arguments that are the same in many calls, such as weights, converted once; a clone shares them.
#[derive(Clone, Default)]
pub struct Held(Vec<Option<Value>>);

impl Held {
    /// Converts those that are there, one a parameter.
    pub fn new(arguments: &[Option<Tensor>]) -> Held {
        Held(arguments.iter().map(|argument| argument.as_ref().map(Value::of_tensor)).collect())
    }
}

impl<'p> Prepared<'p> {
    /// Makes a program ready whose unused values are other forms of those that are used: a choice puts one in the place of another
    /// ([`super::Replay::read`]), so that none is dead.
    pub fn of_choices(program: &'p Program) -> Prepared<'p> {
        Prepared { has_choices: true, ..Prepared::new(program) }
    }

    /// Makes `program` ready.
    pub fn new(program: &'p Program) -> Prepared<'p> {
        let template = |region: ComputationId| {
            // A region is called once an element: its types are looked up here and not there.
            let takes_scalars = program.computations[region].takes_scalars();
            takes_scalars.then(|| Template::new(program, region))
        };
        let regions = Regions::new(program);
        Prepared {
            program,
            has_choices: false,
            planned: OnceLock::new(),
            reordered: OnceLock::new(),
            unplanned: OnceLock::new(),
            room: OnceLock::new(),
            regions,
            templates: (0..program.computations.len()).map(template).collect(),
        }
    }

    /// The program that this is of.
    pub fn program(&self) -> &'p Program {
        self.program
    }

    /// Arguments for the program's parameters, converted once.
    ///
    /// # Errors
    /// If there are more or fewer arguments than parameters, or one is of another shape.
    pub fn bind(&self, arguments: &[Tensor]) -> Result<Bound, EvalError> {
        self.bind_beside(&Held::default(), arguments)
    }

    /// [`Prepared::bind`], where some arguments are held already: these are the elements of their tensors here.
    ///
    /// # Errors
    /// As [`Prepared::bind`].
    pub fn bind_beside(&self, held: &Held, arguments: &[Tensor]) -> Result<Bound, EvalError> {
        let parameters = self.program.entry().parameter_shapes();
        if let Some(extra) = arguments.get(parameters.len()) {
            let (number, given) = (parameters.len(), Shape::array(extra.dtype(), extra.dims()).to_string());
            return Err(EvalError::Argument { number, given, expected: "no more arguments".to_string() });
        }
        for (number, shape) in parameters.into_iter().enumerate() {
            let given = arguments.get(number).map(|t| Shape::array(t.dtype(), t.dims()));
            if given.as_ref() != Some(shape) {
                let given = given.map_or("missing".to_string(), |s| s.to_string());
                return Err(EvalError::Argument { number, given, expected: shape.to_string() });
            }
        }
        // Held weights are shared by all calls, and memory was asked for once, when they were converted.
        let is_held = |number: usize| matches!(held.0.get(number), Some(Some(_)));
        let own =
            self.program.entry().parameter_shapes().into_iter().enumerate().filter(|(number, _)| !is_held(*number));
        let bytes = own.map(|(_, shape)| array_bytes(shape, World::Machine)).fold(0, u128::saturating_add);
        let _held = budget::reserve(bytes, || "the program's arguments".to_string())?;
        let value = |(number, tensor): (usize, &Tensor)| match held.0.get(number) {
            Some(Some(held)) => held.clone(),
            _ => Value::of_tensor(tensor),
        };
        Ok(Bound(arguments.iter().enumerate().map(value).collect()))
    }

    /// The results in `mode`. The program is taken as it is: the mode's excess policy is a rewrite that comes before.
    ///
    /// # Errors
    /// If an operation is not supported for its types.
    pub fn evaluate(&self, mode: &Arithmetic, arguments: &Bound) -> Result<Vec<Tensor>, EvalError> {
        self.evaluate_until(mode, arguments, None)
    }

    /// [`Prepared::evaluate`], which gives up at a time.
    ///
    /// # Errors
    /// As [`Prepared::evaluate`], and [`EvalError::OutOfTime`] where the results were not there in time.
    pub fn evaluate_until(
        &self,
        mode: &Arithmetic,
        arguments: &Bound,
        until: Option<Instant>,
    ) -> Result<Vec<Tensor>, EvalError> {
        self.room.get_or_init(|| check_memory(self.program, World::Machine)).clone()?;
        let machine = self.machine(mode)?;
        let results = || machine.results(arguments.0.clone());
        // Whoever is not one of the threads that share work hands every piece of it over, and waits: in a loop's body that adds up.
        let handed_over = || {
            let deadline = deadline::current();
            rayon::scope(|_| deadline.within(results))
        };
        let work = || if self.program.has_loop() { handed_over() } else { results() };
        if until.is_some() { deadline::until(until, work)? } else { work() }
    }

    /// Whether the program can be evaluated in `mode` at all, as far as its types show: every evaluation asks this first.
    ///
    /// # Errors
    /// If it computes in f64, and the chip has none.
    pub fn check_mode(&self, mode: &Arithmetic) -> Result<(), EvalError> {
        match &self.program.double {
            Some(Double { name, opcode }) if !mode.chip.has_f64 => {
                Err(EvalError::NoDouble { name: name.clone(), opcode: opcode.clone(), chip: mode.chip.name })
            }
            _ => Ok(()),
        }
    }

    /// The machine that runs the program.
    ///
    /// # Errors
    /// As [`Prepared::check_mode`].
    pub(super) fn machine<'a>(&'a self, mode: &'a Arithmetic) -> Result<Machine<'a>, EvalError> {
        self.check_mode(mode)?;
        Ok(Machine { program: self.program, prepared: self, mode, unit: mode.vector_unit() })
    }

    /// The frame of each computation in a mode. Here alone a mode with an order of its own for sums takes the place of the
    /// backend's orders.
    pub(super) fn frames(&self, mode: &Arithmetic) -> &[Frame] {
        // A mode that names an order asks what the sum would be in it: then a code's own order is no answer.
        let keeps_orders = mode.choices.reduce == mode.chip.sum;
        let backend = mode.chip.backend.map(|backend| (backend, keeps_orders));
        let frames = match backend {
            Some((_, true)) => &self.planned,
            Some((_, false)) => &self.reordered,
            None => &self.unplanned,
        };
        let frame = |computation| Frame::new(computation, backend, &self.regions, self.has_choices);
        frames.get_or_init(|| self.program.computations.iter().map(frame).collect())
    }

    /// A region to be interpreted element by element.
    pub(super) fn template(&self, region: ComputationId) -> Result<&Template<'p>, EvalError> {
        match &self.templates[region] {
            Some(template) => template.as_ref().map_err(EvalError::clone),
            None => unreachable!("shape checking gives regions of scalars"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Builder, Unary};
    use crate::tensor::{DType, Data};

    /// Only machines with a backend have code.
    #[test]
    fn no_code_is_planned_for_a_tpu() {
        let mut builder = Builder::new("fused");
        let x = builder.parameter("x", DType::F32, &[2]).unwrap();
        let y = builder.unary(Unary::Negate, x).unwrap();
        let program = builder.finish(&[("y", y)]).unwrap();
        let planned = |program: &Program, mode: &str| {
            let prepared = Prepared::new(program);
            let arguments = prepared.bind(&[Tensor::new(&[2], Data::F32(vec![1.0, 2.0]))]).unwrap();
            prepared.evaluate(&mode.parse().unwrap(), &arguments).unwrap();
            prepared.planned.get().is_some()
        };
        for (mode, has_code) in [
            ("v5e/default/off", false),
            ("tpu7x/highest/off", false),
            ("cpu/f32/off", false),
            ("planned/f32/off", true),
        ] {
            assert_eq!(planned(&program, mode), has_code, "{mode}");
        }
    }
}
