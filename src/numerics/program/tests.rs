use super::{Imported, PROGRAMS, ProgramSpec};
use crate::analysis::{Comparator, Regions, comparator};
use crate::ir::{Binary, Builder, CompareOrder, Op, Program};
use crate::subject::evaluate;
use crate::tensor::{DType, Data, Tensor};

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
        for instruction in program.instructions() {
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

/// A plan's cores and colors: what a torus does not have is refused by its parameter.
#[test]
fn plans_of_psum_have_cores_and_colors() {
    let build = |text: &str, n: usize| {
        let spec: ProgramSpec = format!("psum[dtype=f32,strategy=StrategyND,tile=1,{text}]").parse().unwrap();
        spec.build(n, 1).map(|program| program.entry().instructions.len()).map_err(|error| error.to_string())
    };
    let whole = build("dims=2x4", 8).unwrap();
    assert!(build("colors=01,dims=2x4", 8).unwrap() < whole);
    assert!(build("cores=2,dims=2x4", 16).unwrap() > whole);
    for (text, n, key) in [
        ("cores=3,dims=2x4", 8, "cores = `3`"),
        ("cores=0,dims=2x4", 8, "cores"),
        ("cores=2,dims=2x4", 8, "dims = `2x4`"),
        ("colors=0,dims=2x4", 8, "colors = `0`"),
        ("colors=01-00,dims=2x4", 8, "colors = `01-00`"),
        ("colors=0a,dims=2x4", 8, "colors = `0a`"),
    ] {
        let error = build(text, n).unwrap_err();
        assert!(error.contains(key), "{text}: {error}");
    }
}

/// A hop of integers carries whole multiples of a step, the largest partial sum / 127; a chip's own numbers are added as
/// they are. After k chips the step is k here: the next hop loses the quarter of each but the last, in whatever order.
#[test]
fn a_hop_of_integers_carries_whole_steps() {
    for strategy in ["none", "StrategyRing", "UniDirection1DRingStrategy"] {
        for chips in [2, 3, 4] {
            let text = format!("psum[dtype=f32,hop=int8,width=2,shards=1,tile=2,strategy={strategy}]");
            let program = text.parse::<ProgramSpec>().unwrap().build(chips, 1).unwrap();
            let g = Tensor::new(&[chips, 2], Data::F32([127.0, 0.25].repeat(chips)));
            let sum = evaluate(&program, &"cpu/f32/off".parse().unwrap(), &[g]).unwrap();
            assert_eq!(sum[0].data().to_f64s(), [127.0 * chips as f64, 0.25], "{strategy}, {chips} chips");
        }
    }
}

/// Files may write parameters in any order: what is said, drawn and ranked goes by their numbers.
#[test]
fn parameters_of_a_file_are_in_the_order_of_their_numbers() {
    let read = |swapped: bool| {
        let mut b = Builder::new("any");
        let [first, second] = if swapped { [[4, 6], [4, 5]] } else { [[4, 5], [4, 6]] };
        let written = [b.parameter("a", DType::F32, &first).unwrap(), b.parameter("b", DType::F32, &second).unwrap()];
        let sums = written.map(|value| b.reduce(Binary::Add, value, 0.0, &[1]).unwrap());
        let sum = b.binary(Binary::Add, sums[0], sums[1]).unwrap();
        let mut program = b.finish(&[("sum", sum)]).unwrap();
        let entry = program.entry;
        for (place, value) in written.into_iter().enumerate() {
            let number = if swapped { 1 - place } else { place };
            program.computations[entry].instructions[value].op = Op::Parameter(number);
        }
        Imported::new("any.hlo".into(), program, None, Some("arg1")).unwrap()
    };
    let [plain, swapped] = [false, true].map(read);
    assert_eq!(plain.doc(), "any.hlo takes f32[4,5], f32[4,6] and gives sum f32[4].");
    assert_eq!(swapped.doc(), plain.doc());
    assert_eq!((swapped.rows(), swapped.n()), (4, 6));
    let scores = |read: &Imported| {
        read.scores().unwrap().entry().instructions[read.scores().unwrap().entry().root].shape.clone()
    };
    assert_eq!(scores(&swapped), scores(&plain));
    assert_eq!(swapped.may_rank(), plain.may_rank());
}
