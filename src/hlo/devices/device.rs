//! The devices of a program, and the computations in which they tell themselves apart (docs/design/hlo.md, "Programs
//! for several devices").

use super::device_exchange;
use super::group_list;
use super::sharding_mesh;
use crate::ast::{self, Instruction, Module, Position};
use crate::error::LowerError;
use crate::opcode::{Collective, Opcode, Outside};
use crate::view::Attributes;

type Result<T> = std::result::Result<T, LowerError>;

/// Devices of a program, at most: each has its own copy of what differs.
const DEVICES: usize = 1024;

/// Number of devices that run a program: each of `replicas` in `partitions` parts. Device `replica * partitions +
/// partition` (XLA's flattened id) is one of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Devices {
    pub replicas: usize,
    pub partitions: usize,
    /// Whether the program is cut into partitions: its arguments are what each has of an array, no whole arrays.
    pub are_cut: bool,
}

impl Devices {
    /// As the module's header says: `replica_count` and `num_partitions`. A count that it leaves out is as large as the groups and pairs
    /// of its collectives need: XLA's runtime has it from elsewhere.
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
            let Some(attribute) = module.attributes.iter().find(|a| a.name == name) else { return Ok(None) };
            let number = if let ast::Value::Word(word) = &attribute.value { word.parse().ok() } else { None };
            match number {
                Some(number) if (1..=DEVICES).contains(&number) => Ok(Some(number)),
                _ => Err(fail(format!("{name} is a number from 1 to {DEVICES}"))),
            }
        };
        let are_cut = module.is_compiled();
        let named = Named::of(module);
        let replicas = count("replica_count")?.unwrap_or(named.replicas);
        let partitions = match sharding_mesh::devices(module).map_err(fail)? {
            Some(partitions) if !are_cut => partitions,
            _ => count("num_partitions")?.unwrap_or(named.partitions.max(named.devices.div_ceil(replicas))),
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
pub(crate) fn tellers(module: &Module) -> Vec<bool> {
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
    matches!(opcode, Opcode::DeviceNumber(_)) || is_exchange(opcode)
}

/// Whether an operation of this opcode takes what another device has.
fn is_exchange(opcode: &Opcode) -> bool {
    matches!(opcode, Opcode::Collective(_) | Opcode::Outside(Outside::Recv))
}

/// Whether an instruction itself lets devices tell themselves apart, or learn of another.
pub(crate) fn tells(instruction: &ast::Instruction) -> bool {
    is_telling(&instruction.opcode) || instruction.opcode.refusal().is_some()
}

/// Counts that the groups and pairs of a module's collectives name, each at least 1.
struct Named {
    replicas: usize,
    partitions: usize,
    devices: usize,
}

impl Named {
    fn of(module: &Module) -> Named {
        let mut named = Named { replicas: 1, partitions: 1, devices: 1 };
        for computation in &module.computations {
            for instruction in &computation.instructions {
                if is_exchange(&instruction.opcode) {
                    named.add(computation, instruction);
                }
            }
        }
        named
    }

    fn add(&mut self, computation: &ast::Computation, instruction: &Instruction) {
        let lists = instruction.attributes.iter().filter(|a| LISTS.contains(&a.name.as_str()));
        let lists = lists.map(|a| a.value.clone()).chain(device_exchange::pairs(instruction));
        let most = lists.filter_map(|list| group_list::read(&list)).flatten().flatten().max();
        let found = most.map(|most| most.saturating_add(1)).or_else(|| members(computation, instruction));
        // What contradicts itself is refused where it is lowered.
        let (Some(found), Ok(mode)) = (found, Mode::of(instruction)) else { return };
        let count = match mode {
            Mode::Replicas | Mode::ReplicasOfAllPartitions => &mut self.replicas,
            Mode::Partitions => &mut self.partitions,
            Mode::Devices => &mut self.devices,
        };
        *count = (*count).max(found);
    }
}

/// The members of the one group that an exchange without groups is between, as its shapes tell: parts in the whole, or operands.
fn members(computation: &ast::Computation, instruction: &Instruction) -> Option<usize> {
    let ast::Operands::Values(operands) = &instruction.operands else { return None };
    let name = &operands.first()?.name;
    let operand = computation.instructions.iter().find(|one| one.name == *name)?;
    let attributes = Attributes::of(instruction);
    let extent = |shape: &ast::Shape| match shape {
        ast::Shape::Array { dims, .. } => dims.get(attributes.one_number("dimensions").ok()?).copied(),
        ast::Shape::Tuple(_) => None,
    };
    // Of several arrays at once, the first.
    let first = |shape: &ast::Shape, at: usize| match shape {
        ast::Shape::Tuple(parts) => parts.get(at).and_then(extent),
        one => extent(one),
    };
    let (part, whole) = match instruction.opcode {
        Opcode::Collective(Collective::AllGather) => (extent(&operand.shape)?, first(&instruction.shape, 0)?),
        // (operand, result)
        Opcode::Collective(Collective::AllGatherStart) => (extent(&operand.shape)?, first(&instruction.shape, 1)?),
        Opcode::Collective(Collective::ReduceScatter) => (first(&instruction.shape, 0)?, extent(&operand.shape)?),
        Opcode::Collective(Collective::AllToAll) if attributes.find("dimensions").is_none() => {
            return Some(operands.len());
        }
        _ => return None,
    };
    let count = whole.checked_div(part).filter(|count| count.checked_mul(part) == Some(whole))?;
    usize::try_from(count).ok()
}

/// Attributes of collectives that name devices.
const LISTS: [&str; 2] = ["replica_groups", "source_target_pairs"];

/// Meaning of the numbers in `replica_groups`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Mode {
    /// Replicas; each partition has groups of its own.
    Replicas,
    /// Partitions; each replica has groups of its own.
    Partitions,
    /// Replicas, of all partitions together.
    ReplicasOfAllPartitions,
    /// Devices.
    Devices,
}

impl Mode {
    /// XLA's `GetCollectiveOpGroupMode`.
    ///
    /// # Errors
    /// If the attributes contradict each other.
    pub fn of(instruction: &Instruction) -> Result<Mode> {
        let attributes = Attributes::of(instruction);
        let by_device = attributes.flag("use_global_device_ids")?;
        let counts_devices = matches!(
            instruction.opcode,
            Opcode::Collective(
                Collective::AllGather
                    | Collective::AllGatherStart
                    | Collective::AllReduce
                    | Collective::AllReduceStart
                    | Collective::ReduceScatter
            )
        );
        // Channel 0 of a `send` and `recv` means that there is no channel.
        let has_channel = match instruction.opcode {
            Opcode::Outside(_) => attributes.word("channel_id").is_some_and(|channel| channel != "0"),
            _ => attributes.find("channel_id").is_some(),
        };
        match (has_channel, by_device) {
            (true, true) => Ok(Mode::Devices),
            (true, false) if counts_devices => Ok(Mode::ReplicasOfAllPartitions),
            (true, false) => Ok(Mode::Partitions),
            (false, false) => Ok(Mode::Replicas),
            (false, true) => {
                Err(attributes.refuse("use_global_device_ids", "use_global_device_ids needs a channel_id"))
            }
        }
    }

    /// Number of replicas, partitions or devices, whichever the numbers stand for.
    pub fn count(self, devices: Devices) -> usize {
        match self {
            Mode::Replicas | Mode::ReplicasOfAllPartitions => devices.replicas,
            Mode::Partitions => devices.partitions,
            Mode::Devices => devices.count(),
        }
    }

    /// A group of numbers, as groups of devices.
    pub fn spread(self, group: &[usize], devices: Devices) -> Vec<Vec<usize>> {
        let device = |replica: usize, partition: usize| replica * devices.partitions + partition;
        let list = |of: &dyn Fn(usize) -> usize| group.iter().map(|number| of(*number)).collect();
        match self {
            Mode::Replicas => (0..devices.partitions).map(|p| list(&|replica| device(replica, p))).collect(),
            Mode::Partitions => (0..devices.replicas).map(|r| list(&|partition| device(r, partition))).collect(),
            Mode::ReplicasOfAllPartitions => {
                let pairs = group.iter().flat_map(|replica| (0..devices.partitions).map(move |p| (*replica, p)));
                vec![pairs.map(|(replica, partition)| device(replica, partition)).collect()]
            }
            Mode::Devices => vec![group.to_vec()],
        }
    }
}
