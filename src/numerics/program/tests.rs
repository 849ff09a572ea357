use super::{PROGRAMS, ProgramSpec};
use crate::analysis::{Comparator, Regions, comparator};
use crate::ir::{CompareOrder, Op, Program};

fn program(text: &str) -> Program {
    text.parse::<ProgramSpec>().unwrap().build(64, 2).unwrap()
}

/// Every region that a built-in program or one of its loops makes is recognised: none is interpreted element by
/// element.
#[test]
fn regions_of_built_in_programs_are_known() {
    for built_in in PROGRAMS {
        let program = program(built_in.name());
        let regions = Regions::new(&program);
        for instruction in program.computations.iter().flat_map(|c| &c.instructions) {
            let Some(region) = instruction.op.callees().next() else { continue };
            let known = match instruction.op {
                // Evaluated whole, as the entry is.
                Op::While { .. } => true,
                Op::Sort { .. } => regions.comparator(region).is_some(),
                _ => regions.reducer(region).is_some(),
            };
            assert!(known, "{} in {}", program.computations[region].name, built_in.name());
        }
    }
}

#[test]
fn sorts_are_told_apart() {
    let comparators = |text: &str| program(text).computations.iter().filter_map(comparator).collect::<Vec<_>>();
    let jax = Comparator { key: 0, descending: false, order: CompareOrder::Total, canonical: true, ties: None };
    assert_eq!(comparators("sort"), [jax]);
    let top_p = Comparator { key: 0, descending: true, order: CompareOrder::Partial, canonical: false, ties: None };
    assert_eq!(comparators("top_p"), [top_p]);
}
