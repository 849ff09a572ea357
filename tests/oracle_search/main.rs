//! A search for wrong answers of the oracle: random programs over all opcodes and element types, each evaluated by
//! every rung from every starting precision, against an independent judge.
//!
//! The judge (`number`, `arithmetic`, `function`, `judge`, `order`) shares no code with the oracle: its numbers are
//! exact polynomials over the transcendental numbers that a program makes, enclosed by MPFR, beside NaN, infinities and
//! signed zeros. A program that fails is printed as HLO text with its arguments, made as small as it still fails.
//!
//! ```text
//! ULPGATE_SEARCH_SEED=7 cargo test --release --test oracle_search -- --ignored --nocapture as_many
//! ```

mod arithmetic;
mod array;
mod ast;
mod code;
mod coverage;
mod draw;
mod dump;
mod function;
mod generate;
mod hardware;
mod judge;
mod leaf;
mod machine;
mod number;
mod operation;
mod order;
mod scalar;
mod search;
mod template;
mod text;
mod transcendental;
mod verdict;

use std::collections::BTreeMap;

use rayon::prelude::*;

use search::{Tally, check, describe, generated, reduce};

/// Checks programs `from..to` of a seed.
fn search(seed: u64, from: u64, to: u64) -> Tally {
    let one = |number| {
        let graph = generated(seed, number);
        let mut tally = Tally::default();
        if check(&graph, &mut tally).is_some() {
            tally.failed.push(number);
        }
        tally
    };
    (from..to).into_par_iter().map(one).reduce(Tally::default, Tally::merge)
}

/// A number from the environment.
fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text}")))
}

fn report(tally: &Tally) -> String {
    let mut lines = vec![format!(
        "{} programs: {} results right, {} not judged, {} programs failed",
        tally.programs,
        tally.right,
        tally.unjudged,
        tally.failed.len()
    )];
    let mut causes: Vec<_> = tally.undecided.iter().collect();
    causes.sort_by_key(|(_, counts)| std::cmp::Reverse(counts[0] + counts[1]));
    lines.push("undecided by the default oracle (known to the judge, not known):".to_string());
    lines.extend(causes.iter().take(60).map(|(cause, counts)| format!("  {:6} {:6}  {cause}", counts[0], counts[1])));
    lines.push("refused:".to_string());
    lines.extend(tally.refused.iter().map(|(reason, count)| format!("  {count:6}  {reason}")));
    lines.join("\n")
}

/// The smallest programs of some failures, one of each kind.
fn reduced(seed: u64, failed: &[u64], most: usize) -> Vec<String> {
    let found: Vec<(String, usize, String)> = failed
        .par_iter()
        .take(most)
        .filter_map(|number| {
            let graph = generated(seed, *number);
            // Constants that are parameters fail for reasons of their own less often.
            let with_parameters = graph.with_parameters();
            let failure = check(&with_parameters, &mut Tally::default());
            let (graph, failure) = match failure {
                Some(failure) => (with_parameters, failure),
                None => {
                    let failure = check(&graph, &mut Tally::default())?;
                    (graph, failure)
                }
            };
            let (graph, failure) = reduce(graph, failure);
            let mut names: Vec<String> = graph.nodes.iter().map(|n| n.op.name()).collect();
            names.sort();
            names.dedup();
            names.retain(|name| name != "parameter" && name != "constant" && name != "broadcast");
            let size = graph.nodes.len();
            Some((names.join(" + "), size, format!("seed {seed} program {number}, {}", describe(&graph, &failure))))
        })
        .collect();
    let mut kinds: BTreeMap<String, (usize, String, usize)> = BTreeMap::new();
    for (kind, size, text) in found {
        let entry = kinds.entry(kind).or_insert((size, text.clone(), 0));
        entry.2 += 1;
        if size < entry.0 {
            (entry.0, entry.1) = (size, text);
        }
    }
    kinds.into_iter().map(|(kind, (_, text, count))| format!("== {kind} ({count} times)\n{text}")).collect()
}

fn quiet() {
    std::panic::set_hook(Box::new(|info| {
        // Panics of the oracle are caught and reported with their program; those of the search itself are not.
        let own = info.location().is_some_and(|l| l.file().starts_with("tests/"));
        if own {
            eprintln!("{info}");
        }
    }));
}

/// Checks until there are this many results, and fails with the smallest programs that do.
fn search_for(results: u64, seed: u64) {
    /// Programs between two lines of progress.
    const STEP: u64 = 1 << 10;
    quiet();
    let reduced_at_most = setting("ULPGATE_SEARCH_REDUCED", 16) as usize;
    let mut tally = Tally::default();
    let mut next = 0;
    while tally.right < results {
        tally = tally.merge(search(seed, next, next + STEP));
        next += STEP;
        if next.is_multiple_of(STEP << 4) {
            println!("{} programs: {} results, failures {:?}", tally.programs, tally.right, tally.failed);
        }
    }
    println!("{}", report(&tally));
    let failures = reduced(seed, &tally.failed, reduced_at_most);
    assert!(tally.failed.is_empty(), "{} programs failed\n{}", tally.failed.len(), failures.join("\n"));
}

#[test]
fn answers_are_the_judges() {
    search_for(setting("ULPGATE_SEARCH_RESULTS", 500_000), setting("ULPGATE_SEARCH_SEED", 1));
}

/// The same in a fraction of a second: what a fault in the oracle meets first.
#[test]
fn a_few_answers_are_the_judges() {
    let tally = search(5, 0, setting("ULPGATE_SEARCH_FEW", 150));
    assert!(tally.failed.is_empty(), "{}", reduced(5, &tally.failed, 4).join("\n"));
}

#[test]
#[ignore = "takes hours"]
fn as_many_answers_as_one_likes_are_the_judges() {
    search_for(setting("ULPGATE_SEARCH_RESULTS", 100_000_000), setting("ULPGATE_SEARCH_SEED", 2));
}

#[test]
#[ignore = "writes what scripts/judge_mpmath.py reads"]
fn programs_are_written_for_review() {
    quiet();
    let path = std::env::var("ULPGATE_DUMP").expect("ULPGATE_DUMP names the file to write");
    dump::write(&path, setting("ULPGATE_SEARCH_SEED", 3), setting("ULPGATE_SEARCH_PROGRAMS", 1000));
}
