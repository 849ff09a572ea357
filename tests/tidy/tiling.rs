//! `suites/tiling.toml` says what the compilers' plans say.

use std::collections::{BTreeMap, BTreeSet};

/// A chip, the K blocks of a case and those of the plan before it, as program texts have them.
type Step = (String, usize, usize);

/// The steps from one cut to the next, by growing batch size, of the layer that the suite is about.
fn planned() -> BTreeSet<Step> {
    let path = super::root().join("tests/data/tiling/plans.csv");
    let mut before: BTreeMap<String, usize> = BTreeMap::new();
    let mut steps = BTreeSet::new();
    for record in csv::Reader::from_path(path).unwrap().records() {
        let record = record.unwrap();
        let [chip, layer, k, unit, kernel] = [0, 1, 3, 5, 7].map(|at| record[at].to_string());
        if layer != "down_proj" || unit != "matrix" {
            continue;
        }
        let rows: usize = kernel.split('x').next().unwrap().parse().unwrap();
        let block = (8 * rows).min(k.parse().unwrap());
        if let Some(last) = before.insert(chip.clone(), block).filter(|last| *last != block) {
            steps.insert((chip, block, last));
        }
    }
    steps
}

#[test]
fn the_suite_has_every_step_of_the_plans() {
    let suite = &super::suites()["tiling"];
    let k_block =
        |program: &str| -> usize { program.split("k_block=").nth(1).unwrap().trim_end_matches(']').parse().unwrap() };
    let (mut steps, mut uncut) = (BTreeSet::new(), BTreeSet::new());
    for matrix in suite["matrix"].as_array().unwrap() {
        let first = |key: &str| matrix[key].as_array().unwrap()[0].as_str().unwrap();
        if first("refinement") == "acc=running" {
            let programs =
                matrix["program"].as_array().unwrap().iter().map(|program| k_block(program.as_str().unwrap()));
            let against = matrix["check"].as_array().unwrap()[0]["against"].as_str().unwrap();
            assert_eq!(k_block(against), 14336);
            uncut.extend(programs.map(|block| (first("chip").to_string(), block)));
            continue;
        }
        assert_eq!(first("refinement"), "acc=tiled");
        for check in matrix["check"].as_array().unwrap() {
            let against = check["against"].as_str().unwrap();
            if against.starts_with("matmul") {
                steps.insert((first("chip").to_string(), k_block(first("program")), k_block(against)));
            }
        }
    }
    assert_eq!(steps, planned());
    // Under the other model each cut is held against none.
    let cuts = steps.iter().flat_map(|(chip, block, last)| [block, last].map(|cut| (chip.clone(), *cut)));
    assert_eq!(uncut, cuts.filter(|(_, cut)| *cut < 14336).collect());
    assert!(steps.len() > 15, "{}", steps.len());
}
