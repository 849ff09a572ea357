//! One operation after the other, as [`super::super::evaluate`] has them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::analysis::{self, World};
use crate::deadline;
use crate::ir::domain::{self, Domain, Ran};
use crate::ir::{Class, ComputationId, Instruction, Op, Program, Setting, Shape, movement};

use super::super::backend::{Code, Kernel};
use super::super::eval_error::{EvalError, refuse};
use super::super::evaluate::Machine;
use super::super::operand::Operand;
use super::super::room;
use super::gathered::GatheredTerms;
use super::masked::MaskedIntegers;
use super::packed::PackedIntegers;
use super::pairwise::ScaledProducts;
use super::random_fraction::Fractions;
use super::symbol::{Mixer, Symbol};
use super::symbol_key::Key;
use super::symbols::{Array, Symbols};
use super::tables::Tables;
use super::{Grounds, Permits, Sketch, Traced, dot_terms, indexed, pointwise, ranked, reduced};

pub type Result<T> = std::result::Result<T, EvalError>;

/// Trips of one loop that are followed one by one.
const TRIPS: usize = 4096;

/// A program whose elements are followed.
pub struct Tracer<'a> {
    pub machine: &'a Machine<'a>,
    pub permits: Permits,
    /// Elements that may still be computed.
    left: Cell<u64>,
    pub grounds: RefCell<Grounds>,
    /// The symbol of each region that was followed.
    regions: RefCell<HashMap<ComputationId, Symbol>>,
    pub gathered: GatheredTerms,
    pub packed: PackedIntegers,
    pub masked: MaskedIntegers,
    pub fractions: Fractions,
    /// The ranges of integers that were clamped, or shifted down to a mantissa.
    pub ranges: RefCell<HashMap<Symbol, RangeInclusive<i64>>>,
    pub scaled: ScaledProducts,
    pub tables: Tables,
}

/// A tracer that runs a list, a call or a loop, with the budget that was left before it.
struct Trips<'t, 'a> {
    tracer: &'t Tracer<'a>,
    budget: u64,
}

impl Domain for Trips<'_, '_> {
    type Value = Symbols;
    type Error = EvalError;

    fn tuple(parts: Vec<Symbols>) -> Symbols {
        Symbols::Tuple(parts)
    }

    fn into_parts(value: Symbols) -> Vec<Symbols> {
        value.into_parts()
    }

    fn call(&mut self, callee: ComputationId, arguments: Vec<Symbols>) -> Result<Symbols> {
        self.tracer.call(callee, arguments, None)
    }

    fn is_true(&self, predicate: &Symbols) -> Option<bool> {
        predicate.as_array().elements[0].integer().map(|flag| flag != 0)
    }

    /// A loop may use up a part of the budget.
    fn follows_trip(&self, trips: usize) -> bool {
        trips < TRIPS && self.tracer.left.get() >= self.budget / 4
    }
}

/// An instruction with its operands' symbols.
pub struct Site<'s> {
    pub instruction: &'s Instruction,
    pub kernel: &'s Kernel,
    pub operands: Vec<Symbols>,
    pub shapes: Vec<&'s Shape>,
}

impl Site<'_> {
    /// The elements of an operand.
    pub fn of(&self, operand: usize) -> &[Symbol] {
        &self.operands[operand].as_array().elements
    }

    /// The dims of an operand.
    pub fn dims(&self, operand: usize) -> &[usize] {
        self.shapes[operand].dims()
    }
}

impl<'a> Tracer<'a> {
    pub fn new(machine: &'a Machine<'a>, permits: Permits, budget: u64) -> Tracer<'a> {
        let (grounds, regions, ranges) = (RefCell::default(), RefCell::default(), RefCell::default());
        Tracer {
            machine,
            permits,
            left: Cell::new(budget),
            grounds,
            regions,
            gathered: GatheredTerms::default(),
            packed: PackedIntegers::default(),
            masked: MaskedIntegers::default(),
            fractions: Fractions::default(),
            ranges,
            scaled: ScaledProducts::default(),
            tables: Tables::default(),
        }
    }

    fn program(&self) -> &'a Program {
        self.machine.program
    }

    /// The results of the whole program.
    pub fn results(self, arguments: Vec<Symbols>) -> Result<Traced> {
        let entry = self.program().entry();
        let mut sketches = Vec::new();
        let value = self.call(self.program().entry, arguments, Some(&mut sketches))?;
        let parts = match entry.instructions[entry.root].op {
            Op::Tuple => value.into_parts(),
            _ => vec![value],
        };
        let results = parts.iter().flat_map(Symbols::arrays).map(|array| array.elements.to_vec()).collect();
        Ok(Traced { results, sketches, grounds: self.grounds.into_inner() })
    }

    /// The result of a computation, and sketches of its values where they are asked for.
    pub fn call(
        &self,
        callee: ComputationId,
        arguments: Vec<Symbols>,
        mut sketches: Option<&mut Vec<Option<Sketch>>>,
    ) -> Result<Symbols> {
        let (computation, frame) = (&self.program().computations[callee], &self.machine.frames()[callee]);
        // Symbols of all values together would take more memory than the arrays do: each goes with its last use.
        let mut uses = frame.uses.clone();
        let mut values: Vec<Option<Symbols>> = vec![None; computation.instructions.len()];
        for (id, instruction) in computation.instructions.iter().enumerate() {
            if uses[id] == 0 {
                sketches.iter_mut().for_each(|sketches| sketches.push(None));
                continue;
            }
            let value = match (&instruction.op, &frame.constants[id]) {
                (Op::Parameter(number), _) => match arguments.get(*number) {
                    Some(argument) => argument.clone(),
                    None => return Err(refuse(instruction, "a parameter is used but not given")),
                },
                (_, Some(constant)) => Symbols::of_value(constant),
                _ => {
                    let mut operands: Vec<Symbols> =
                        instruction.operands.iter().filter_map(|o| values[*o].clone()).collect();
                    let kernel = &frame.kernels[id];
                    // Products without a rounding of their own are for a sum that joins them: any other user has them rounded.
                    for (_, read) in operands.iter_mut().enumerate().filter(|(at, _)| kernel.rounds(*at)) {
                        self.round_products(read);
                    }
                    let shapes = instruction.operands.iter().map(|o| &computation.instructions[*o].shape).collect();
                    for operand in &instruction.operands {
                        uses[*operand] = uses[*operand].saturating_sub(1);
                        if uses[*operand] == 0 {
                            values[*operand] = None;
                        }
                    }
                    self.instruction(Site { instruction, kernel, operands, shapes })?
                }
            };
            let value = match &instruction.settings {
                // A setting may change bits in a way that the machine does not follow: equal settings keep equal symbols, others do not.
                Some(settings) if !self.permits.without_settings => {
                    let is_open = |setting: &&Setting| self.machine.unit.leaves_open(instruction, setting);
                    under(settings.iter().filter(is_open).cloned().collect(), value)
                }
                _ => value,
            };
            if let Some(sketches) = sketches.as_deref_mut() {
                sketches.push(sketch(&value));
            }
            values[id] = Some(value).filter(|_| uses[id] > 0);
        }
        let root = &computation.instructions[computation.root];
        values[computation.root].take().ok_or_else(|| refuse(root, "a parameter is used but not given"))
    }

    /// Takes the cost of an operation from the budget.
    pub fn spend(&self, instruction: &Instruction, elements: usize) -> Result<()> {
        let left = self.left.get().checked_sub((elements as u64).saturating_add(1));
        self.left.set(left.ok_or_else(|| refuse(instruction, "it is too large to be followed element by element"))?);
        Ok(())
    }

    fn instruction(&self, site: Site) -> Result<Symbols> {
        let (instruction, shape) = (site.instruction, &site.instruction.shape);
        let read: usize = site.operands.iter().flat_map(Symbols::arrays).map(|array| array.elements.len()).sum();
        room::check_work(instruction, &site.shapes, World::Symbols)?;
        deadline::check();
        let _held = analysis::reserve(instruction, &site.shapes, World::Symbols)?;
        self.spend(instruction, shape.elements() + read)?;
        let _busy = analysis::begin(instruction, &site.shapes);
        if room::is_empty(instruction) {
            return Ok(empty(shape));
        }
        // What no argument decides is a number, and the machine's own: only equal numbers get equal symbols.
        if let Some(value) = self.computed(&site)? {
            return Ok(value);
        }
        let op = &instruction.op;
        match (op.class(), op) {
            (Class::Source, _) => unreachable!("sources have their values"),
            (Class::Moves, Op::Copy | Op::OptimizationBarrier | Op::Reshape) => Ok(site.operands[0].clone()),
            (Class::Moves, _) if op.first_start().is_some() => Ok(indexed::pick(self, &site)),
            (Class::Moves, _) => Ok(move_elements(&site, site.operands.len(), &[], &[])),
            (Class::Converts, Op::Convert) if site.kernel.code == Code::Unrounded => Ok(site.operands[0].clone()),
            (Class::Converts | Class::Elementwise, _) => self.by_values(&site, pointwise::apply(self, &site)),
            (Class::Combines, Op::Reduce { dims, to_apply }) => reduced::reduce(self, &site, dims, *to_apply),
            (Class::Combines, Op::ReduceWindow { window, to_apply }) => {
                reduced::reduce_window(self, &site, window, *to_apply)
            }
            (Class::Combines, Op::Scatter { dims, to_apply }) => indexed::scatter(self, &site, dims, *to_apply),
            (Class::Combines, Op::Dot { dims, .. }) => dot_terms::dot(self, &site, dims),
            (Class::Combines, Op::Opaque(opaque)) => {
                self.grounds.borrow_mut().opaque.insert(opaque.name.clone());
                Ok(whole(&site, Key::Opaque(opaque.clone()).mixer()))
            }
            (Class::Combines, _) => Err(refuse(instruction, "its elements are not followed")),
            (Class::Ranks, _) => ranked::rank(self, &site),
            (Class::Lists | Class::Calls, _) => self.run(&site),
        }
    }

    /// The symbols of a list, a call or a loop. A loop is followed trip by trip as long as no argument decides whether there is another,
    /// else it is taken as a whole.
    fn run(&self, site: &Site) -> Result<Symbols> {
        if let (Op::Call { .. }, Some((_, function))) =
            (&site.instruction.op, self.machine.library_function(site.instruction))
        {
            return Ok(whole(site, Key::Library(function.clone()).mixer()));
        }
        let budget = self.left.get();
        let mut trips = Trips { tracer: self, budget };
        match domain::run(&mut trips, &site.instruction.op, site.operands.clone())? {
            Ran::Value(value) => Ok(value),
            Ran::Open | Ran::Endless => {
                // A loop that is not followed to its end costs what it costs as a whole.
                self.left.set(budget);
                self.whole_loop(site)
            }
        }
    }

    /// The value that the machine computes, if no operand depends on an argument.
    fn computed(&self, site: &Site) -> Result<Option<Symbols>> {
        let is_array = |operand: &Symbols| matches!(operand, Symbols::Array(array) if array.known);
        let opaque = matches!(site.instruction.op, Op::Opaque(_));
        if opaque || !site.operands.iter().all(is_array) {
            return Ok(None);
        }
        let value = |(operand, shape): (&Symbols, &&Shape)| operand.as_array().value(shape.element_type());
        let values: Option<Vec<_>> = site.operands.iter().zip(&site.shapes).map(value).collect();
        let Some(values) = values else { return Ok(None) };
        // Products in flight have no value of f32 that the machine could take.
        let exact = site.operands.iter().any(|operand| operand.as_array().exact)
            || matches!(site.kernel.code, Code::Product { .. });
        if exact {
            return Ok(None);
        }
        let operands = values.into_iter().map(Operand::whole).collect();
        let value = self.machine.instruction(site.instruction, site.kernel, operands, &site.shapes)?;
        Ok(Some(Symbols::of_value(&value.into_whole(site.instruction.shape.elements()))))
    }

    /// A loop as a whole, by the symbols of its condition and its body.
    fn whole_loop(&self, site: &Site) -> Result<Symbols> {
        // What was taken as a whole is told: equality then rests on the loop's text.
        self.grounds.borrow_mut().loops.insert(site.instruction.name.clone());
        let mut mixer = Key::While.mixer();
        for region in site.instruction.op.callees() {
            mixer = mixer.and(self.array_region(region)?);
        }
        Ok(whole(site, mixer))
    }

    /// The symbol of a computation over arrays.
    fn array_region(&self, region: ComputationId) -> Result<Symbol> {
        // Parameters of a region have symbols of their own, so that its result is the same wherever it is called.
        if let Some(symbol) = self.regions.borrow().get(&region) {
            return Ok(*symbol);
        }
        let shapes = self.program().computations[region].parameter_shapes();
        let parameter = |(number, shape): (usize, &&Shape)| {
            let name = Key::State(number).mixer();
            Symbols::array((0..shape.elements()).map(|at| name.and_count(at).symbol()).collect())
        };
        let arguments: Vec<Symbols> = shapes.iter().enumerate().map(parameter).collect();
        let shapes = Key::Shapes(shapes.into_iter().cloned().collect()).mixer();
        let result = self.call(region, arguments, None)?;
        let arrays = result.arrays();
        let all = arrays.iter().flat_map(|array| array.elements.iter().copied());
        let symbol = shapes.and_all(all).symbol();
        self.regions.borrow_mut().insert(region, symbol);
        Ok(symbol)
    }

    /// The symbol of a region of scalars, with the reducer or comparator that the machine takes it for. Known reducers
    /// have orders of their own.
    pub fn region(&self, region: ComputationId) -> Result<Symbol> {
        let known = &self.machine.prepared.regions;
        let reducers = [known.reducer(region), known.reducer_but_for_rounding(region)];
        let comparators = [known.comparator(region), known.comparator_but_for_rounding(region)];
        Ok(Key::Region { reducers, comparators }.mixer().and(self.array_region(region)?).symbol())
    }
}

/// A value under settings that the machine does not follow: each element is that of the same settings and the same number alone.
/// A promise about indices is none of them.
fn under(decisive: Arc<[Setting]>, value: Symbols) -> Symbols {
    if decisive.is_empty() { value } else { under_all(&decisive, value) }
}

fn under_all(settings: &Arc<[Setting]>, value: Symbols) -> Symbols {
    match value {
        Symbols::Array(array) => {
            let mixer = Key::Settings(settings.clone()).mixer();
            let elements = array.elements.iter().map(|symbol| mixer.and(*symbol).symbol()).collect();
            Symbols::Array(array.with_elements(elements))
        }
        Symbols::Tuple(parts) => Symbols::Tuple(parts.into_iter().map(|part| under_all(settings, part)).collect()),
    }
}

/// Elements that are moved and not changed; of all operands but the start indices.
pub fn move_elements(site: &Site, count: usize, starts: &[i64], starts_dims: &[usize]) -> Symbols {
    let parts: Vec<(&[Symbol], &[usize])> = (0..count).map(|at| (site.of(at), site.dims(at))).collect();
    let dims = site.instruction.shape.dims();
    let elements = movement::apply(&site.instruction.op, &parts, starts, starts_dims, dims);
    Symbols::Array(site.operands[0].as_array().with_elements(elements))
}

/// Results each of which may hang on everything that is given.
pub fn whole(site: &Site, mut mixer: Mixer) -> Symbols {
    for (operand, shape) in site.operands.iter().zip(&site.shapes) {
        let all = operand.arrays().into_iter().flat_map(|array| array.elements.iter().copied());
        let of_shape = Key::Shapes(vec![(*shape).clone()]).mixer();
        mixer = mixer.and(of_shape.symbol()).and_all(all);
    }
    parts(&site.instruction.shape, mixer)
}

/// Elements of all arrays of a shape, by their places in one function.
pub fn parts(shape: &Shape, mixer: Mixer) -> Symbols {
    let mut part = 0;
    results(shape, &mut |elements| {
        part += 1;
        let name = mixer.and_count(part);
        (0..elements).map(|at| name.and_count(at).symbol()).collect()
    })
}

fn results(shape: &Shape, of: &mut impl FnMut(usize) -> Vec<Symbol>) -> Symbols {
    match shape {
        Shape::Array { .. } => Symbols::Array(Array::new(of(shape.elements()))),
        Shape::Tuple(parts) => Symbols::Tuple(parts.iter().map(|part| results(part, of)).collect()),
    }
}

/// Arrays of a shape that has no elements.
fn empty(shape: &Shape) -> Symbols {
    match shape {
        Shape::Array { .. } => Symbols::array(Vec::new()),
        Shape::Tuple(parts) => Symbols::Tuple(parts.iter().map(empty).collect()),
    }
}

fn sketch(value: &Symbols) -> Option<Sketch> {
    let Symbols::Array(array) = value else { return None };
    let first = *array.elements.first()?;
    let (least, greatest) = array.elements.iter().fold((first, first), |(l, g), s| (l.min(*s), g.max(*s)));
    Some(Sketch { symbols: [first, least, greatest], known: array.known })
}
