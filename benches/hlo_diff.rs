//! The time that comparing two programs of one chain of operations takes: twice as many values should take twice the time, and
//! more edits no longer. `cargo bench -p ulpgate-benches --bench hlo_diff`. Rates are in bytes of text.

use std::hint::black_box;

use ulpgate::diff::difference;
use ulpgate::hlo::{Import, lower, parse};

use ulpgate_benches::{Contender, contest};

/// A chain of so many operations, each of the two values before it; `edits` of them, evenly spread, are exchanged.
fn chain(length: usize, edits: usize) -> String {
    let mut text =
        String::from("HloModule chain\nENTRY main {\n  x.0 = f32[8] parameter(0)\n  y.0 = f32[8] parameter(1)\n");
    let mut last = ["x.0".to_string(), "y.0".to_string()];
    for at in 1..=length {
        let opcode = ["multiply", "subtract", "maximum", "add", "divide"][at % 5];
        let name = format!("{opcode}.{at}");
        let is_edited = edits > 0 && at % (length / edits) == length / edits / 2;
        let root = if at == length { "ROOT " } else { "" };
        let opcode = if is_edited { "minimum" } else { opcode };
        text.push_str(&format!("  {root}{name} = f32[8] {opcode}({}, {})\n", last[1], last[0]));
        last = [last[1].clone(), name];
    }
    text.push_str("}\n");
    text
}

fn main() {
    let read = |text: &str| -> Import { lower(&parse(text).expect("HLO text")).expect("known operations") };
    for length in [12_500, 25_000, 50_000] {
        let before = chain(length, 0);
        let programs = [0, 1, 500].map(|edits| chain(length, edits));
        let reading = || {
            black_box(read(black_box(&before)));
        };
        let (one, others) = (read(&before), programs.map(|text| read(&text)));
        let [same, edited, much_edited] = others.each_ref().map(|other| {
            let one = &one;
            move || {
                black_box(difference(black_box(one), black_box(other), None).expect("the same results"));
            }
        });
        let contenders = vec![
            Contender::new("reading one of them", reading),
            Contender::new("against itself", same),
            Contender::new("one edit", edited),
            Contender::new("500 edits", much_edited),
        ];
        contest(&format!("{length} instructions"), before.len() as f64, "B", 3, contenders);
    }
}
