//! Random programs: written in two ways they are the same, and edited ones are called the same only where they are.

use crate::written::{Hand, edited, program};
use crate::{Random, differing, is_same, read, settings};
use ulpgate::same::{Verdict, compare};

const MODES: [&str; 6] = [
    "v5e/default/as-compiled+acc=tiled",
    "v6e/default/as-compiled",
    "tpu7x/high/as-compiled",
    "v4/highest/as-compiled+narrow=bf16",
    "cpu/default/as-compiled",
    "xla-cpu/default/as-compiled",
];
const FUSIONS: [Option<&str>; 3] = [None, Some("kLoop"), Some("kCustom")];

/// Elements that were compared, of pairs called the same, and what was said of all pairs.
#[derive(Default, Debug)]
struct Tally {
    elements: usize,
    same: usize,
    part: usize,
    open: usize,
}

/// So many pairs; those that are called the same are run on so many inputs.
fn pairs(count: usize, inputs: usize, seed: u64) -> Tally {
    let mut random = Random(seed);
    let mut tally = Tally::default();
    for _ in 0..count {
        let mode = MODES[random.below(MODES.len())];
        let fusion = FUSIONS[random.below(FUSIONS.len())];
        let length = 1 + random.below(8);
        let nodes = program(&mut random, length);
        let other = if random.chance(60) { edited(&mut random, &nodes) } else { nodes.clone() };
        let one = Hand::new(&mut random, 0).write(&nodes, fusion);
        let another = if random.chance(80) { fusion } else { None };
        let two = Hand::new(&mut random, 40).write(&other, another);
        let (a, b) = (read(&one), read(&two));
        let settings = ulpgate::same::Settings { trials: 6, ..settings(mode) };
        let answer = compare(&a, &b, &settings).unwrap_or_else(|error| panic!("{error}\n{mode}\n{one}\n{two}"));
        match answer.verdict {
            Verdict::Same => {
                tally.same += 1;
                let (elements, differ) = differing(&a, &b, mode, inputs, &mut random);
                assert_eq!(differ, 0, "{mode}\n{one}\n{two}");
                tally.elements += elements;
            }
            Verdict::Part(_) => tally.part += 1,
            Verdict::Open(_) => tally.open += 1,
        }
    }
    tally
}

#[test]
fn what_is_called_the_same_has_equal_bits() {
    let tally = pairs(400, 8, 11);
    assert!(tally.same > 100 && tally.part > 100, "{tally:?}");
}

/// 10^6 elements of random pairs, none of which differs: `cargo test --release --test same -- --ignored`.
#[test]
#[ignore = "minutes"]
fn a_million_evaluations_of_what_is_called_the_same() {
    let tally = pairs(60_000, 40, 5);
    println!("{tally:?}");
    assert!(tally.elements / (crate::written::ROWS * crate::written::COLUMNS) > 1_000_000, "{tally:?}");
}

/// Every step that is written otherwise is known to change no bit, on each chip and outside of fusions.
#[test]
fn one_program_written_in_two_ways_is_the_same() {
    let mut random = Random(3);
    for _ in 0..150 {
        let mode = MODES[random.below(5)];
        let length = 1 + random.below(10);
        let nodes = program(&mut random, length);
        let one = Hand::new(&mut random, 0).write(&nodes, None);
        let two = Hand::new(&mut random, 50).write(&nodes, None);
        let answer = compare(&read(&one), &read(&two), &settings(mode)).unwrap();
        assert!(is_same(&answer), "{mode}\n{one}\n{two}\n{answer:?}");
    }
}
