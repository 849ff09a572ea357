//! What evaluating a program holds in memory, against what the system has: a job that is too large ends before it begins.

use std::fmt::{self, Display, Formatter};

use crate::ir::{Class, Program, Shape};

/// Bytes of a float's enclosure: two ends of f64.
const ENCLOSURE: u128 = 16;

/// How a program is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// On an emulated machine, elements held in their own types.
    Machine,
    /// Over the real numbers, each element in an enclosure.
    Truth,
}

/// A job that does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "it needs at least {} of memory ({largest}) and {} are free",
    Size(*needed),
    Size(*free)
)]
pub struct TooLarge {
    /// Bytes that it would hold at once, at least.
    pub needed: u128,
    /// What most of them are.
    pub largest: Largest,
    /// Bytes that the system can give.
    pub free: u128,
}

/// What a job's memory goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Largest {
    /// The program's arguments.
    Arguments,
    /// Operands and results of one operation, of this many elements together.
    Operation(&'static str, u128),
}

impl Display for Largest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Largest::Arguments => f.write_str("most of it for the arguments"),
            Largest::Operation(opcode, elements) => write!(f, "one `{opcode}` takes and gives {elements} elements"),
        }
    }
}

struct Size(u128);

impl Display for Size {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} GiB", self.0 as f64 / f64::from(1 << 30))
    }
}

/// Refuses a program whose arguments, with operands and results of its widest operation, are more than the system can give.
/// An evaluation holds one to three times as much at its peak, so nothing is refused that fits.
///
/// # Errors
/// If it does not fit; never where the system does not say what it has.
pub fn check_memory(program: &Program, world: World) -> Result<(), TooLarge> {
    free_memory().map_or(Ok(()), |free| fits(program, world, free))
}

fn fits(program: &Program, world: World, free: u128) -> Result<(), TooLarge> {
    let arguments: u128 =
        program.entry().parameter_shapes().into_iter().map(|shape| bytes(shape, World::Machine)).sum();
    let (mut widest, mut largest) = (0, Largest::Arguments);
    for computation in &program.computations {
        for instruction in &computation.instructions {
            // The others share what they are given, or are written out where they are used.
            if !matches!(instruction.op.class(), Class::Converts | Class::Elementwise | Class::Combines | Class::Ranks)
            {
                continue;
            }
            let operands = instruction.operands.iter().map(|id| &computation.instructions[*id].shape);
            let shapes: Vec<&Shape> = operands.chain([&instruction.shape]).collect();
            let held = shapes.iter().map(|shape| bytes(shape, world)).sum();
            if held > widest {
                widest = held;
                largest = Largest::Operation(instruction.op.opcode(), shapes.iter().map(|shape| elements(shape)).sum());
            }
        }
    }
    let needed = arguments + widest;
    let largest = if arguments > widest { Largest::Arguments } else { largest };
    if needed > free { Err(TooLarge { needed, largest, free }) } else { Ok(()) }
}

/// In u128: dims that were only written down may have more elements than a machine word counts.
fn elements(shape: &Shape) -> u128 {
    match shape {
        Shape::Array { dims, .. } => dims.iter().fold(1, |product, dim| product.saturating_mul(*dim as u128)),
        Shape::Tuple(parts) => parts.iter().map(elements).sum(),
    }
}

fn bytes(shape: &Shape, world: World) -> u128 {
    match shape {
        Shape::Array { dtype, .. } if world == World::Truth && dtype.is_float() => {
            elements(shape).saturating_mul(ENCLOSURE)
        }
        Shape::Array { dtype, .. } => elements(shape).saturating_mul(u128::from(dtype.bits())).div_ceil(8),
        Shape::Tuple(parts) => parts.iter().map(|part| bytes(part, world)).sum(),
    }
}

/// Bytes that the system can give without swapping, or that the control group still lets this process take if that is less
/// (Linux: `/proc/meminfo`, control groups v2).
fn free_memory() -> Option<u128> {
    let free = kilobytes("/proc/meminfo", "MemAvailable:")?;
    let number =
        |name: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u128>().ok();
    let left = number("memory.max").map(|most| most.saturating_sub(number("memory.current").unwrap_or(0)));
    Some(left.map_or(free, |left| left.min(free)))
}

/// The most memory that this process has held, in bytes, where the system tells (Linux).
pub fn peak_memory() -> Option<u128> {
    kilobytes("/proc/self/status", "VmHWM:")
}

/// The bytes of a line such as `VmHWM:  1024 kB`.
fn kilobytes(file: &str, name: &str) -> Option<u128> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u128>().ok().map(|kilobytes| kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ProgramSpec;

    fn program(name: &str, n: usize) -> Program {
        name.parse::<ProgramSpec>().unwrap().build(n, 1).unwrap()
    }

    #[test]
    fn arguments_and_the_widest_operation_count() {
        let matmul = program("matmul", 1000);
        let (arguments, dot) = (2 * 4_000_000, 3 * 16_000_000);
        assert_eq!(fits(&matmul, World::Truth, arguments + dot), Ok(()));
        let refused = fits(&matmul, World::Truth, arguments + dot - 1).unwrap_err();
        assert_eq!(refused.needed, arguments + dot);
        assert_eq!(refused.largest, Largest::Operation("dot", 3_000_000));
        assert!(
            refused.to_string().starts_with("it needs at least 0.1 GiB of memory (one `dot` takes and gives 3000000")
        );
        assert_eq!(fits(&matmul, World::Machine, 2 * 4_000_000 + 3 * 4_000_000), Ok(()));
    }

    #[test]
    fn dims_beyond_a_word_are_only_too_large() {
        let refused = fits(&program("matmul", 5_000_000_000), World::Machine, 1 << 40).unwrap_err();
        assert!(refused.needed > 1 << 64);
    }

    #[test]
    fn linux_says_what_is_free() {
        if cfg!(target_os = "linux") {
            assert!(free_memory().is_some_and(|free| free > 1 << 20));
            assert!(peak_memory().is_some_and(|peak| peak > 1 << 20));
        }
    }
}
