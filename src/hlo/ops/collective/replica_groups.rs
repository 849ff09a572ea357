//! The groups of devices that take part in a collective together. Forms: openxla/xla `hlo_parser.cc`,
//! `replica_group.cc`; meaning: `collective_ops_utils.h` (FACTS 6.1).

use crate::builder::Emitter;
use crate::devices::device::Mode;
use crate::devices::device_exchange;
use crate::devices::group_list::read;
use crate::error::LowerError;

type Result<T> = std::result::Result<T, LowerError>;

/// The groups of devices that exchange values, each in its order.
///
/// # Errors
/// If the attribute is of a form that is not known, or names what is not there, or one twice.
pub fn groups(e: &Emitter) -> Result<Vec<Vec<usize>>> {
    let (mode, devices) = (Mode::of(e.instruction)?, e.lowering.devices);
    let wrong = |why: &str| e.refuse("replica_groups", why);
    let mut numbers = match e.attributes().find("replica_groups") {
        None => Vec::new(),
        Some(attribute) => {
            let forms = "replica_groups is {{0,1},{2,3}}, [2,2]<=[4], [2,2]<=[2,2]T(1,0) or mesh['x'=2,'y'=2] {'x'}";
            read(&attribute.value).ok_or_else(|| wrong(forms))?
        }
    };
    if numbers.is_empty() {
        numbers.push((0..mode.count(devices)).collect());
    }
    let mut seen = vec![false; mode.count(devices)];
    for number in numbers.iter().flatten() {
        match seen.get_mut(*number) {
            Some(seen) if !*seen => *seen = true,
            Some(_) => return Err(wrong(&format!("replica_groups names {number} twice"))),
            None => {
                let why = format!("replica_groups names {number}, but the module's header counts {}", seen.len());
                return Err(wrong(&why));
            }
        }
    }
    Ok(numbers.iter().flat_map(|group| mode.spread(group, devices)).collect())
}

/// The pairs of a `collective-permute` or a `recv`, as devices: the giver, and the taker.
///
/// # Errors
/// As [`groups`].
pub fn pairs(e: &Emitter) -> Result<Vec<[usize; 2]>> {
    let (mode, devices) = (Mode::of(e.instruction)?, e.lowering.devices);
    let wrong = |why: &str| e.refuse("source_target_pairs", why);
    let written = e.attributes().find("source_target_pairs").map(|attribute| attribute.value.clone());
    let written = written.or_else(|| device_exchange::pairs(e.instruction));
    let written = written.ok_or_else(|| wrong("source_target_pairs is missing"))?;
    let pairs = read(&written).ok_or_else(|| wrong("source_target_pairs is {{0,1},{1,0}}"))?;
    let mut found: Vec<[usize; 2]> = Vec::new();
    for pair in &pairs {
        let known = pair.iter().all(|number| *number < mode.count(devices));
        if pair.len() != 2 || !known {
            return Err(wrong(&format!("a pair is two numbers below {}", mode.count(devices))));
        }
        for pair in mode.spread(pair, devices) {
            let half = pair.len() / 2;
            found.extend((0..half).map(|at| [pair[at], pair[half + at]]));
        }
    }
    for (at, pair) in found.iter().enumerate() {
        if found[..at].iter().any(|other| other[1] == pair[1]) {
            return Err(wrong(&format!("device {} is given two values", pair[1])));
        }
    }
    Ok(found)
}
