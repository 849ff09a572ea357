//! The devices of a program, and the computations in which they tell themselves apart (docs/design/hlo.md, "Programs
//! for several devices").

use super::ast::{self, Module, Position};
use super::error::LowerError;
use super::opcode::Opcode;
use super::sharding_mesh;

type Result<T> = std::result::Result<T, LowerError>;

/// Devices of a program, at most: each has its own copy of what differs.
const DEVICES: usize = 1024;

/// Number of devices that run a program: each of `replicas` in `partitions` parts. Device `replica * partitions +
/// partition` (XLA's flattened id) is one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Devices {
    pub replicas: usize,
    pub partitions: usize,
    /// Whether the program is cut into partitions: its arguments are what each has of an array, no whole arrays.
    pub are_cut: bool,
}

impl Devices {
    /// As the module's header says: `replica_count` and `num_partitions`, 1 where it says nothing.
    ///
    /// # Errors
    /// If there are more than [`DEVICES`], or a count is no number.
    pub fn of(module: &Module) -> Result<Devices> {
        let fail = |why: String| LowerError {
            at: Position { line: 1, column: 1 },
            name: module.name.clone(),
            why,
            is_unknown: false,
        };
        let count = |name: &str| {
            let Some(attribute) = module.attributes.iter().find(|a| a.name == name) else { return Ok(1) };
            let number = if let ast::Value::Word(word) = &attribute.value { word.parse().ok() } else { None };
            match number {
                Some(number) if (1..=DEVICES).contains(&number) => Ok(number),
                _ => Err(fail(format!("{name} is a number from 1 to {DEVICES}"))),
            }
        };
        let are_cut = module.is_compiled();
        let replicas = count("replica_count")?;
        let partitions = match sharding_mesh::devices(module) {
            Some(partitions) if !are_cut => partitions,
            _ => count("num_partitions")?,
        };
        if replicas.saturating_mul(partitions) > DEVICES {
            return Err(fail(format!("{replicas} replicas of {partitions} partitions: {DEVICES} devices at most")));
        }
        Ok(Devices { replicas, partitions, are_cut })
    }

    pub fn count(self) -> usize {
        self.replicas * self.partitions
    }
}

/// For each computation, whether devices tell themselves apart in it or in what it calls: computations stand before those
/// that call them.
pub(super) fn tellers(module: &Module) -> Vec<bool> {
    let mut telling = std::collections::HashMap::new();
    let mut found = Vec::with_capacity(module.computations.len());
    for computation in &module.computations {
        let calls_one = |attribute: &ast::Attribute| match &attribute.value {
            ast::Value::Word(word) => telling.get(word.trim_start_matches('%')) == Some(&true),
            ast::Value::Words(words) => {
                words.iter().any(|word| telling.get(word.trim_start_matches('%')) == Some(&true))
            }
            _ => false,
        };
        let tells = |instruction: &ast::Instruction| {
            is_telling(&instruction.opcode) || instruction.attributes.iter().any(calls_one)
        };
        let tells_one = computation.instructions.iter().any(tells);
        found.push(tells_one);
        telling.insert(computation.name.as_str(), tells_one);
    }
    found
}

/// Whether by an operation of this opcode one device tells itself from another, or learns of another.
fn is_telling(opcode: &Opcode) -> bool {
    matches!(opcode, Opcode::DeviceNumber(_) | Opcode::Collective(_))
}

/// Whether an instruction itself lets devices tell themselves apart, or learn of another.
pub(super) fn tells(instruction: &ast::Instruction) -> bool {
    is_telling(&instruction.opcode) || instruction.opcode.refusal().is_some()
}
