//! Programs made ready to run: what depends neither on the mode nor on the arguments is worked out once.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::analysis::{Reducer, Regions, World, array_bytes, check_memory, find_producers};
use crate::budget::{self, TooLarge};
use crate::deadline;
use crate::ir::{Binary, Computation, ComputationId, Double, Fusion, Instruction, Op, Program, Shape, ValueId};
use crate::tensor::Tensor;
use crate::xla_cpu::{
    Contractions, FoldedColumns, FoldedFunction, Inner, SumLoop, find_contractions, find_folded_columns,
    find_folded_functions, find_inner_products, find_kept_wide, find_sum_loops, with_code,
};

use super::divisor::divides_by_one_number;
use super::eval_error::EvalError;
use super::evaluate::Machine;
use super::mode::Mode;
use super::scalar::Template;
use super::value::Value;

/// A program made ready for the machine, to be evaluated in any mode with any arguments, on any thread.
pub struct Prepared<'p> {
    pub(super) program: &'p Program,
    pub(super) regions: Regions,
    /// One a computation, for machines that plan code and for those that do not, worked out when it is first asked for.
    planned: OnceLock<Vec<Frame>>,
    unplanned: OnceLock<Vec<Frame>>,
    /// Whether the program fits in memory, worked out when it is first run.
    room: OnceLock<Result<(), TooLarge>>,
    /// Whether the program itself says that a product is added before it is rounded ([`Fusion::Joined`]), on any machine.
    pub(super) joins: bool,
    /// Computations of scalars, to be interpreted element by element; `None` for those that take arrays.
    templates: Vec<Option<Result<Template<'p>, EvalError>>>,
}

/// Facts about the instructions of one computation, found once.
pub(super) struct Frame {
    /// The number of uses of each value; the root has one more.
    pub uses: Vec<usize>,
    /// The values of constants.
    pub constants: Vec<Option<Value>>,
    /// The habits of compilers at each instruction.
    pub habits: Vec<Habits>,
    /// For each reduction what is computed for it alone.
    pub producers: Vec<Vec<ValueId>>,
    /// Whether an instruction is such a producer.
    pub is_producer: Vec<bool>,
}

/// Patterns that a compiler finds at an instruction and computes in a shorter way.
#[derive(Clone)]
pub(super) struct Habits {
    /// Whether it is a division by a broadcast or a constant, before a compiler had its way.
    pub by_one_number: bool,
    /// A product that is added before it is rounded.
    pub contracted: bool,
    /// The operands that are such products for others, and rounded here ([`Contractions::holds`]).
    pub takes_rounded: u64,
    /// Of a sum of two such products, whether each element has the left one added before it is rounded, and not the right one.
    pub left_first: Option<Arc<[bool]>>,
    /// Its role in a term whose products join a sum one after the other.
    pub inner: Option<Inner>,
    /// The columns in which such a product is rounded nevertheless.
    pub folded: Option<FoldedColumns>,
    /// The columns in which a compiler has computed a function.
    pub folded_function: Option<FoldedFunction>,
    /// In what order it adds up, if it is a sum.
    pub sum_loop: SumLoop,
    /// A rounding to bf16 that a library leaves out.
    pub kept_wide: bool,
}

impl Habits {
    /// The columns in which a compiler has computed a function, if it contracts.
    pub fn constants(&self, contracts: bool) -> Option<FoldedFunction> {
        self.folded_function.filter(|_| contracts)
    }

    /// Whether no matter which operand is which.
    pub fn is_plain(&self) -> bool {
        !self.contracted && self.left_first.is_none()
    }

    /// For each element, whether the left one of two products is added as it is.
    pub fn first(&self) -> Option<&[bool]> {
        self.left_first.as_deref()
    }
}

impl Frame {
    /// The frame of any machine: no code is planned.
    fn unplanned(computation: &Computation) -> Frame {
        let habits = |instruction| Habits {
            by_one_number: divides_by_one_number(computation, instruction),
            contracted: false,
            takes_rounded: 0,
            left_first: None,
            inner: None,
            folded: None,
            folded_function: None,
            sum_loop: SumLoop::Chain,
            kept_wide: false,
        };
        let habits = computation.instructions.iter().map(habits).collect();
        let uses = uses(computation);
        let producers = find_producers(computation, &uses, |_| true);
        Frame::of(computation, uses, habits, producers)
    }

    /// The frame of a compiler that makes code.
    fn planned(computation: &Computation, regions: &Regions) -> Frame {
        let uses = uses(computation);
        let sums = |region| regions.reducer(region) == Some(Reducer::Binary(Binary::Add));
        // Arrays without elements have no code.
        let coded = with_code(computation);
        let computation = &*coded;
        let contractions = find_contractions(computation, &uses, sums);
        let inner = find_inner_products(computation, (&contractions, &uses), sums);
        let Contractions { products, rounded, left_first } = contractions;
        let folded = find_folded_columns(computation, &products);
        let folded_functions = find_folded_functions(computation);
        let sum_loops = find_sum_loops(computation, (&products, &inner, &uses), sums);
        let kept_wide = find_kept_wide(computation, &uses, sums);
        let habits = |(id, i): (usize, &Instruction)| Habits {
            by_one_number: divides_by_one_number(computation, i),
            contracted: products[id],
            takes_rounded: rounded.get(&id).copied().unwrap_or_default(),
            left_first: left_first.get(&id).cloned(),
            inner: inner[id],
            folded: folded[id],
            folded_function: folded_functions[id],
            sum_loop: sum_loops[id],
            kept_wide: kept_wide[id],
        };
        let habits = computation.instructions.iter().enumerate().map(habits).collect();
        let producers = find_producers(computation, &uses, |id| !products[id] && inner[id].is_none());
        Frame::of(computation, uses, habits, producers)
    }

    fn of(computation: &Computation, uses: Vec<usize>, habits: Vec<Habits>, producers: Vec<Vec<ValueId>>) -> Frame {
        let mut is_producer = vec![false; computation.instructions.len()];
        producers.iter().flatten().for_each(|id| is_producer[*id] = true);
        let constant = |op: &Op| match op {
            Op::Constant(value) => Some(Value::of_tensor(value)),
            _ => None,
        };
        let constants = computation.instructions.iter().map(|i| constant(&i.op)).collect();
        Frame { constants, habits, uses, producers, is_producer }
    }
}

/// The number of users of each value; the root has one more.
fn uses(computation: &Computation) -> Vec<usize> {
    let mut uses = computation.uses();
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
    /// Makes `program` ready.
    pub fn new(program: &'p Program) -> Prepared<'p> {
        let template = |region: ComputationId| {
            let takes_scalars = program.computations[region].takes_scalars();
            takes_scalars.then(|| Template::new(program, region))
        };
        let regions = Regions::new(program);
        Prepared {
            program,
            planned: OnceLock::new(),
            unplanned: OnceLock::new(),
            room: OnceLock::new(),
            joins: program.computations.iter().flat_map(|c| &c.instructions).any(|i| i.fusion == Some(Fusion::Joined)),
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
    pub fn evaluate(&self, mode: &Mode, arguments: &Bound) -> Result<Vec<Tensor>, EvalError> {
        self.evaluate_until(mode, arguments, None)
    }

    /// [`Prepared::evaluate`], which gives up at a time.
    ///
    /// # Errors
    /// As [`Prepared::evaluate`], and [`EvalError::OutOfTime`] where the results were not there in time.
    pub fn evaluate_until(
        &self,
        mode: &Mode,
        arguments: &Bound,
        until: Option<Instant>,
    ) -> Result<Vec<Tensor>, EvalError> {
        self.room.get_or_init(|| check_memory(self.program, World::Machine)).clone()?;
        let machine = self.machine(mode)?;
        let results = || machine.results(arguments.0.clone());
        // Whoever is not one of the threads that share work hands every piece of it over, and waits: in a loop's body that adds up.
        let loops = |computation: &Computation| {
            computation.instructions.iter().any(|instruction| matches!(instruction.op, Op::While { .. }))
        };
        let handed_over = || {
            let deadline = deadline::current();
            rayon::scope(|_| deadline.within(results))
        };
        let work = || if self.program.computations.iter().any(loops) { handed_over() } else { results() };
        if until.is_some() { deadline::until(until, work)? } else { work() }
    }

    /// Whether the program can be evaluated in `mode` at all, as far as its types show: every evaluation asks this first.
    ///
    /// # Errors
    /// If it computes in f64, and the chip has none.
    pub fn check_mode(&self, mode: &Mode) -> Result<(), EvalError> {
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
    pub(super) fn machine<'a>(&'a self, mode: &'a Mode) -> Result<Machine<'a>, EvalError> {
        self.check_mode(mode)?;
        Ok(Machine { program: self.program, prepared: self, mode, unit: mode.vector_unit() })
    }

    /// The frame of each computation, where a compiler makes code or where no code is planned.
    pub(super) fn frames(&self, has_code: bool) -> &[Frame] {
        let computations = self.program.computations.iter();
        match has_code {
            true => self.planned.get_or_init(|| computations.map(|c| Frame::planned(c, &self.regions)).collect()),
            false => self.unplanned.get_or_init(|| computations.map(Frame::unplanned).collect()),
        }
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

    /// Only XLA:CPU's own machines have code, and programs that join products to sums themselves.
    #[test]
    fn no_code_is_planned_for_a_tpu() {
        let mut builder = Builder::new("fused");
        let x = builder.parameter("x", DType::F32, &[2]).unwrap();
        let y = builder.unary(Unary::Negate, x).unwrap();
        let mut program = builder.finish(&[("y", y)]).unwrap();
        let entry = program.entry;
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
            ("xla-cpu/f32/off", true),
        ] {
            assert_eq!(planned(&program, mode), has_code, "{mode}");
        }
        program.computations[entry].instructions[y].fusion = Some(Fusion::Joined);
        assert!(planned(&program, "v5e/default/off"));
    }
}
