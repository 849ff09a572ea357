//! A module on its way into a program.

use std::collections::HashMap;

use crate::ast::{self, Module};
use crate::devices::device::{self, Devices};
use crate::devices::planned_collective::PlannedCollective;
use crate::error::{LowerError, Unknown};
use crate::ir::{self, ComputationId, Double, Setting};
use crate::settings;

use super::lowered_value::Value;

type Result<T> = std::result::Result<T, LowerError>;

/// Operations that lowering may make of one computation, and instructions that calls may repeat.
pub const OPERATIONS: usize = 1 << 20;

/// Values of a computation's parameters.
#[derive(Clone, Copy)]
pub enum Given<'g> {
    /// The arguments of a call.
    Arguments(&'g [Value]),
    /// Parameters of a region.
    Parameters,
    /// Parameters of a region that takes one value, with what differs between devices apart.
    Like(&'g Value),
    /// Arguments of the program.
    Entry,
}

/// A module on its way into a program: what all of its computations share.
pub struct Lowering<'a> {
    pub module: &'a Module,
    pub devices: Devices,
    /// Whether devices tell themselves apart in a computation, by position; empty for one device.
    pub telling: Vec<bool>,
    /// Positions of the file's computations by name.
    places: HashMap<&'a str, usize>,
    pub computations: Vec<ir::Computation>,
    /// Regions lowered already, by position in the file, and whether an array is given as a tuple.
    pub regions: HashMap<(usize, bool, bool), ComputationId>,
    /// Number of fusions that were inlined.
    pub fusions: usize,
    /// Instructions that may still be lowered: each of the file's once, and as many again as calls may repeat.
    pub left: usize,
    /// Instructions without semantics that were found so far; `None` if they are errors.
    pub unknown: Option<Vec<Unknown>>,
    /// Whether an operation that a compiler leaves to a library is lowered to a call.
    pub libraries: bool,
    /// Whether instructions outside of fusions are code of their own: in files compiled for a CPU.
    pub is_code: bool,
    /// Whether a TPU's compiler wrote the file, which has left dots to the matrix unit alone.
    pub for_tpu: bool,
    /// Whether it was compiled without excess precision, as far as it says.
    pub rounds: bool,
    /// Settings of instructions that the machine does not follow.
    pub settings: settings::Read,
    /// Settings of instructions that give no array.
    pub of_no_array: Vec<Setting>,
    /// The first instruction that computes in f64.
    pub double: Option<Double>,
    /// Collectives that the file has a plan of.
    pub collectives: Vec<PlannedCollective>,
}

impl<'a> Lowering<'a> {
    /// Of a module, with nothing lowered yet. `unknown` is where instructions without semantics go, and `None` if they are
    /// errors; `libraries` says whether an operation that a compiler leaves to a library is lowered to a call; `rounds`, whether the
    /// file was compiled without excess precision.
    ///
    /// # Errors
    /// If the header's counts of devices have no meaning.
    pub fn new(
        module: &'a Module,
        unknown: Option<Vec<Unknown>>,
        libraries: bool,
        rounds: bool,
    ) -> Result<Lowering<'a>> {
        let devices = Devices::of(module)?;
        Ok(Lowering {
            devices,
            telling: if devices.count() > 1 { device::tellers(module) } else { Vec::new() },
            fusions: 0,
            left: module.computations.iter().map(|one| one.instructions.len()).sum::<usize>() + OPERATIONS,
            unknown,
            libraries,
            is_code: module.is_compiled() && !module.is_tiled(),
            for_tpu: module.is_compiled_for_tpu(),
            rounds,
            settings: settings::Read::default(),
            of_no_array: Vec::new(),
            collectives: Vec::new(),
            places: module.computations.iter().enumerate().map(|(i, c)| (c.name.as_str(), i)).collect(),
            module,
            computations: Vec::new(),
            regions: HashMap::new(),
            double: None,
        })
    }

    /// The computation of this name.
    pub fn computation(&self, instruction: &ast::Instruction, name: &str) -> Result<&'a ast::Computation> {
        self.place(instruction, name).map(|place| &self.module.computations[place])
    }

    /// Position of the computation of this name.
    ///
    /// # Errors
    /// If there is none.
    pub fn place(&self, instruction: &ast::Instruction, name: &str) -> Result<usize> {
        let place = self.places.get(name).copied();
        place.ok_or_else(|| LowerError::new(instruction, format!("no computation is called {name}")))
    }

    /// The computation of this name, if there is one.
    pub fn find(&self, name: &str) -> Option<&'a ast::Computation> {
        self.places.get(name).map(|place| &self.module.computations[*place])
    }

    /// Attributes behind the module's name.
    pub fn header(&self) -> &'a [ast::Attribute] {
        &self.module.attributes
    }

    /// Whether devices tell themselves apart in the computations that an instruction calls.
    pub fn tells(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.places.get(name).and_then(|place| self.telling.get(*place)) == Some(&true))
    }
}
