//! The order of an all-reduce, by what each plan makes of masks (the idea of FPRev, arXiv 2411.00442, on devices).
//!
//! Device i has 2^30, device j has -2^30, and all others have 1: the sum counts the devices that are added after those two met. A
//! plan is found where it gives all answers, tile by tile.

use std::convert::Infallible;
use std::ops::Range;

use crate::ir::{CollectivePlan, Ring, Steps};
use crate::sum_tree;

/// Tiles (8 rows of 128 columns of f32) of the messages that the script sends: each has an answer of its own.
pub const MESSAGES: [usize; 2] = [1, 64];

/// The name of the answers to the message of so many tiles.
pub fn name(tiles: usize) -> String {
    format!("psum{tiles}")
}

/// The number that hides the ones beside it.
const MASK: f32 = (1u32 << 30) as f32;

/// Strategies of compiled files (FACTS 6.2), in each of which a plan is tried.
const STRATEGIES: [&str; 4] =
    ["StrategyRing", "UniDirection1DRingStrategy", "StrategyND", "UniDirectionNDRingStrategy"];

/// The pairs of devices that have the masks: each device with device 0, and with device 1.
pub fn pairs(devices: usize) -> Vec<[usize; 2]> {
    (0..2.min(devices)).flat_map(|i| (i + 1..devices).map(move |j| [i, j])).collect()
}

/// The devices that were asked, from the number of answers.
fn devices_of(answers: usize) -> Option<usize> {
    (2..=answers + 2).find(|devices| pairs(*devices).len() == answers)
}

/// The order of additions over devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceOrder {
    /// One addition after the other, from device 0.
    Chain,
    /// The same from the last device.
    Backwards,
    /// Neighbours, level by level.
    Pairwise,
    /// The first half of the devices onto the other one, level by level.
    Halving,
    /// The plan of a compiled file on a torus of these extents (y, x, z).
    Plan(CollectivePlan, Vec<usize>),
}

impl DeviceOrder {
    /// All that are tried for so many devices, plain ones first.
    pub fn all(devices: usize) -> Vec<DeviceOrder> {
        let mut all = vec![DeviceOrder::Chain, DeviceOrder::Backwards, DeviceOrder::Pairwise, DeviceOrder::Halving];
        for extents in tori(devices) {
            let plans = STRATEGIES.iter().filter(|strategy| strategy.contains("ND") == (extents.len() > 1));
            let plans = plans.filter_map(|strategy| CollectivePlan::of(strategy, &extents));
            all.extend(plans.map(|plan| DeviceOrder::Plan(plan, extents.clone())));
        }
        all
    }

    /// The order in words.
    pub fn describe(&self) -> String {
        match self {
            DeviceOrder::Chain => "one addition after the other, from device 0".to_string(),
            DeviceOrder::Backwards => "one addition after the other, from the last device".to_string(),
            DeviceOrder::Pairwise => "neighbours first, level by level".to_string(),
            DeviceOrder::Halving => "one half onto the other, level by level".to_string(),
            DeviceOrder::Plan(plan, extents) => {
                let extents: Vec<String> = extents.iter().map(usize::to_string).collect();
                format!("{} on a torus of {}", plan.strategy, extents.join("x"))
            }
        }
    }

    /// The sum of what each device has of each tile; `None` where the order does not take so many devices.
    fn sums(&self, tiles: usize, devices: &[f32]) -> Option<Vec<f32>> {
        let add = |a: f32, b: f32| a + b;
        let whole = |sum: Option<f32>| sum.map(|sum| vec![sum; tiles]);
        match self {
            DeviceOrder::Chain => whole(devices.iter().copied().reduce(add)),
            DeviceOrder::Backwards => whole(devices.iter().rev().copied().reduce(add)),
            DeviceOrder::Pairwise => whole(sum_tree::pairwise(devices, add)),
            DeviceOrder::Halving => whole(sum_tree::by_halves(devices, add)),
            DeviceOrder::Plan(plan, _) => {
                let members: Vec<Vec<f32>> = devices.iter().map(|value| vec![*value; tiles]).collect();
                let Ok(pieces) = plan.sums(tiles, &members, &mut PlanAdditions);
                Some(pieces?.concat())
            }
        }
    }

    /// The answers that the order gives: one row a pair of devices, one column a tile.
    pub fn answers(&self, tiles: usize, devices: usize) -> Option<Vec<f32>> {
        let mut all = Vec::new();
        for [i, j] in pairs(devices) {
            let mut values = vec![1.0; devices];
            (values[i], values[j]) = (MASK, -MASK);
            all.extend(self.sums(tiles, &values)?);
        }
        Some(all)
    }
}

/// The additions of a plan in f32, tile by tile.
struct PlanAdditions;

impl Steps<Vec<f32>> for PlanAdditions {
    type Error = Infallible;

    fn cut(&mut self, value: &Vec<f32>, tiles: Range<usize>) -> Result<Vec<f32>, Infallible> {
        Ok(value[tiles].to_vec())
    }

    fn add(&mut self, _: Ring, arrived: Vec<f32>, own: Vec<f32>) -> Result<Vec<f32>, Infallible> {
        Ok(arrived.iter().zip(&own).map(|(a, b)| a + b).collect())
    }
}

/// Extents of tori of so many devices, of one to three dims.
fn tori(devices: usize) -> Vec<Vec<usize>> {
    let divisors = |of: usize| (2..=of).filter(move |extent| of.is_multiple_of(*extent));
    let mut all = vec![vec![devices]];
    for y in divisors(devices).filter(|y| *y < devices) {
        all.push(vec![y, devices / y]);
        let rest = devices / y;
        all.extend(divisors(rest).filter(|x| *x < rest).map(|x| vec![y, x, rest / x]));
    }
    all
}

/// The orders that give these answers to a message of so many tiles, in words.
pub fn describe(tiles: usize, answers: &[f32]) -> String {
    let devices = devices_of(answers.len() / tiles).filter(|_| answers.len().is_multiple_of(tiles));
    let Some(devices) = devices else {
        return format!("unknown: {} answers are those of no number of devices", answers.len());
    };
    let found: Vec<String> = (DeviceOrder::all(devices).iter())
        .filter(|order| order.answers(tiles, devices).is_some_and(|own| own == answers))
        .map(DeviceOrder::describe)
        .collect();
    if found.is_empty() {
        let first: Vec<String> = answers.iter().step_by(tiles).map(f32::to_string).collect();
        return format!("none that is known; devices added after each pair, in the first tile: {}", first.join(" "));
    }
    format!("over {devices} devices: {}", found.join("; or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each order is found from its answers. Orders that no answer of the longer message tells apart are one order of additions.
    #[test]
    fn every_plan_is_named_by_its_answers() {
        let mut plans = 0;
        for devices in [2, 3, 4, 8, 16] {
            for order in DeviceOrder::all(devices) {
                for tiles in MESSAGES {
                    let answers = order.answers(tiles, devices).unwrap();
                    assert!(describe(tiles, &answers).contains(&order.describe()), "{order:?}");
                }
                plans += usize::from(matches!(order, DeviceOrder::Plan(..)));
            }
        }
        assert_eq!(plans, 30, "plans of all strategies on all tori");
        // The strategies of eight chips in a row, and on the torus of v5e 2x4, are told apart by the longer message.
        let alone = |strategy: &str, extents: &[usize]| {
            let plan = CollectivePlan::of(strategy, extents).unwrap();
            let order = DeviceOrder::Plan(plan, extents.to_vec());
            describe(64, &order.answers(64, 8).unwrap())
        };
        let told = [
            alone("StrategyRing", &[8]),
            alone("UniDirection1DRingStrategy", &[8]),
            alone("StrategyND", &[2, 4]),
            alone("UniDirectionNDRingStrategy", &[2, 4]),
            alone("StrategyND", &[2, 2, 2]),
        ];
        assert!(told.iter().all(|one| !one.contains("; or ")), "{told:?}");
    }

    #[test]
    fn answers_of_no_plan_are_told_as_they_are() {
        assert!(describe(1, &[7.0, 5.0, 3.0]).starts_with("none that is known"));
        assert_eq!(devices_of(2), None);
        assert_eq!([1, 3, 5, 13].map(|answers| devices_of(answers).unwrap()), [2, 3, 4, 8]);
        let chain = DeviceOrder::Chain.answers(1, 4).unwrap();
        assert_eq!(chain, [2.0, 1.0, 0.0, 1.0, 0.0], "device 0, then 1, then 2 and 3");
    }
}
