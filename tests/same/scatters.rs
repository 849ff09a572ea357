//! Scatters whose indices an argument decides: each element is a choice by its index, in the order of the updates.

use ulpgate::ir::movement;
use ulpgate::same::{Answer, Verdict};

use crate::{Random, ask, differing, is_same, read};

const MODES: [&str; 3] = ["v5e/default/as-compiled", "cpu/f32/as-compiled", "xla-cpu/default/as-compiled"];
const REGIONS: &str = "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT r = f32[] add(a, b) }\n\
    add_s { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT r = s32[] add(a, b) }\n\
    last { a = f32[] parameter(0)\n ROOT b = f32[] parameter(1) }\n";

fn answer(one: &str, other: &str) -> Answer {
    let [one, other] = [one, other].map(|body| format!("{REGIONS}ENTRY main {{\n{body}\n}}\n"));
    ask(&one, &other, MODES[0], &[])
}

/// A scatter into one number of each row, and the choice by its index that a TPU's compiler makes of it.
const ONE_A_ROW: [&str; 2] = [
    "y = s32[4] parameter(0)\n x = f32[4,16] parameter(1)\n i = s32[4,1,1] reshape(y)\n u = f32[4,1] constant({{2},{2},{2},{2}})\n \
     ROOT r = f32[4,16] scatter(x, i, u), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, \
     input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=2, to_apply=last",
    "y = s32[4] parameter(0)\n x = f32[4,16] parameter(1)\n n = s32[4,16] iota(), iota_dimension=1\n \
     i = s32[4,16] broadcast(y), dimensions={0}\n c = pred[4,16] compare(i, n), direction=EQ\n t = f32[] constant(2)\n \
     u = f32[4,16] broadcast(t), dimensions={}\n ROOT r = f32[4,16] select(c, u, x)",
];

#[test]
fn a_scatter_is_a_choice_by_its_index() {
    let [scatter, choice] = ONE_A_ROW;
    assert!(is_same(&answer(scatter, choice)));
    let swapped = choice.replace("select(c, u, x)", "select(c, x, u)");
    assert!(matches!(answer(scatter, &swapped).verdict, Verdict::Part(_)));
}

/// One update of a window of these extents, with its offset from each start written in one way and in another.
#[test]
fn dimension_numbers_are_written_in_several_ways() {
    let inserted = "i = s32[9] parameter(0)\n x = s32[8] parameter(1)\n u = s32[9] parameter(2)\n \
        ROOT r = s32[8] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, \
        scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s";
    let window = "i = s32[9] parameter(0)\n x = s32[8] parameter(1)\n u = s32[9] parameter(2)\n j = s32[9,1] reshape(i)\n \
        v = s32[9,1] reshape(u)\n ROOT r = s32[8] scatter(x, j, v), update_window_dims={1}, inserted_window_dims={}, \
        scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add_s";
    assert!(is_same(&answer(inserted, window)));
    // Too many places to choose among one by one.
    let large = |text: &str| text.replace("[8]", "[4000]").replace("[9", "[90");
    assert!(is_same(&answer(&large(inserted), &large(window))));
    let reversed = large(window)
        .replace("v = s32[90,1] reshape(u)", "w = s32[90] reverse(u), dimensions={0}\n v = s32[90,1] reshape(w)");
    assert!(!is_same(&answer(&large(inserted), &reversed)));
    let shifted = large(window).replace("j = s32[90,1] reshape(i)", "k = s32[90] add(i, i)\n j = s32[90,1] reshape(k)");
    assert!(!is_same(&answer(&large(inserted), &shifted)));
}

/// `max(x, 0)` is never negative, so nothing is added to it; `max(x, -1)` may be.
#[test]
fn an_index_that_is_never_negative_is_not_wrapped() {
    let wrapped = |least: i32| {
        format!(
            "i = s32[5] parameter(0)\n x = f32[8] parameter(1)\n u = f32[5] parameter(2)\n z = s32[] constant({least})\n \
             zs = s32[5] broadcast(z), dimensions={{}}\n m = s32[5] maximum(i, zs)\n o = s32[] constant(0)\n \
             os = s32[5] broadcast(o), dimensions={{}}\n c = pred[5] compare(m, os), direction=LT\n e = s32[] constant(8)\n \
             es = s32[5] broadcast(e), dimensions={{}}\n a = s32[5] add(m, es)\n j = s32[5] select(c, a, m)\n \
             ROOT r = f32[8] scatter(x, j, u), update_window_dims={{}}, inserted_window_dims={{0}}, \
             scatter_dims_to_operand_dims={{0}}, index_vector_dim=1, to_apply=add"
        )
    };
    let plain = |least: i32| wrapped(least).replace("select(c, a, m)", "select(c, m, m)");
    assert!(is_same(&answer(&wrapped(0), &plain(0))));
    assert!(is_same(&answer(&wrapped(3), &plain(3))));
    let parts = |answer: Answer| assert!(matches!(answer.verdict, Verdict::Part(_)), "{:?}", answer.verdict);
    parts(answer(&wrapped(-1), &plain(-1)));
    // A minimum bounds from above alone.
    let above = |text: String| text.replace("maximum", "minimum");
    parts(answer(&above(wrapped(0)), &above(plain(0))));
}

/// A promise about indices decides no bit where it is kept, and the proof names it.
#[test]
fn a_promise_about_indices_is_what_a_proof_rests_on() {
    let [scatter, choice] = ONE_A_ROW;
    let promised = scatter.replace("to_apply=last", "to_apply=last, indices_are_sorted=true, unique_indices=true");
    let told = answer(&promised, choice);
    assert!(is_same(&told));
    let line = "the indices are as promised: indices_are_sorted=true of r, unique_indices=true of r";
    assert!(told.rests_on.iter().any(|one| one == line), "{:?}", told.rests_on);
    assert!(!answer(scatter, choice).rests_on.iter().any(|one| one.contains("promised")));
}

/// A scatter of windows against the same steps as choices, which the test writes out: the same, and equal on any input.
#[test]
fn windows_are_put_down_as_the_machine_puts_them() {
    let scatter = "i = s32[2,2] parameter(0)\n x = f32[3,4] parameter(1)\n u = f32[2,2] parameter(2)\n \
        ROOT r = f32[3,4] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, \
        scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=add";
    let mut steps = String::from(
        "i = s32[2,2] parameter(0)\n x = f32[3,4] parameter(1)\n u = f32[2,2] parameter(2)\n\
         n = s32[3,4] iota(), iota_dimension=0\n m = s32[3,4] iota(), iota_dimension=1\n",
    );
    let mut current = "x".to_string();
    movement::for_each_index(&[2, 2], |at, index| {
        let (update, offset) = (index[0], index[1]);
        let cut = |name: &str, of: &str, dtype: &str, place: usize| {
            format!(
                "{name}{at}s = {dtype}[1,1] slice({of}), slice={{[{update}:{}], [{place}:{}]}}\n{name}{at}t = {dtype}[] reshape({name}{at}s)\n\
                 {name}{at} = {dtype}[3,4] broadcast({name}{at}t), dimensions={{}}\n",
                update + 1,
                place + 1
            )
        };
        steps += &(cut("a", "i", "s32", 0) + &cut("b", "i", "s32", 1) + &cut("v", "u", "f32", offset));
        // A window that does not lie inside puts down nothing: it starts at 0, 1 or 2 along a dim of 4.
        steps += &format!(
            "o{at}c = s32[] constant({offset})\no{at} = s32[3,4] broadcast(o{at}c), dimensions={{}}\np{at} = s32[3,4] subtract(m, o{at})\n\
             c{at} = pred[3,4] compare(a{at}, n), direction=EQ\nd{at} = pred[3,4] compare(b{at}, p{at}), direction=EQ\n\
             z{at}c = s32[] constant({})\nz{at} = s32[3,4] broadcast(z{at}c), dimensions={{}}\n\
             e{at} = pred[3,4] compare(p{at}, z{at}), direction={}\nf{at} = pred[3,4] and(c{at}, d{at})\n\
             g{at} = pred[3,4] and(f{at}, e{at})\ns{at} = f32[3,4] add({current}, v{at})\nx{at} = f32[3,4] select(g{at}, s{at}, {current})\n",
            if offset == 0 { 2 } else { 0 },
            if offset == 0 { "LE" } else { "GE" },
        );
        current = format!("x{at}");
    });
    steps += &format!("ROOT r = f32[3,4] copy({current})");
    assert!(is_same(&answer(scatter, &steps)), "{:?}", answer(scatter, &steps));
    let [one, other] = [scatter, &steps].map(|body| {
        // Indices of any size would hardly ever lie inside.
        let near = body.replace(
            "i = s32[2,2] parameter(0)",
            "h = s32[2,2] parameter(0)\nk = s32[] constant(3)\n\
            ks = s32[2,2] broadcast(k), dimensions={}\ni = s32[2,2] and(h, ks)",
        );
        read(&format!("{REGIONS}ENTRY main {{\n{near}\n}}\n"))
    });
    for mode in MODES {
        assert_eq!(differing(&one, &other, mode, 50, &mut Random(7)).1, 0, "{mode}");
    }
}
