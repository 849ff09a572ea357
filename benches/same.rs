//! The time that proving two programs of one chain of operations the same takes: of 50,000 instructions it
//! well under ten seconds. `cargo bench -p ulpgate-benches --bench same`. Rates are in instructions.

use std::hint::black_box;

use ulpgate::hlo::{Import, lower, parse};
use ulpgate::machine::Mode;
use ulpgate::same::{Settings, compare};

use ulpgate_benches::{Contender, contest};

/// A chain of so many operations on arrays of 8 x 64, each of the two values before it, in either order where that is no matter.
fn chain(length: usize, swapped: bool) -> String {
    let mut text =
        String::from("HloModule chain\nENTRY main {\n  x.0 = f32[8,64] parameter(0)\n  y.0 = f32[8,64] parameter(1)\n");
    let mut last = ["x.0".to_string(), "y.0".to_string()];
    for at in 1..=length {
        let opcode = ["multiply", "subtract", "maximum", "add", "divide"][at % 5];
        let name = format!("{opcode}.{at}");
        let root = if at == length { "ROOT " } else { "" };
        let commutes = swapped && matches!(opcode, "multiply" | "add");
        let (a, b) = if commutes { (&last[0], &last[1]) } else { (&last[1], &last[0]) };
        text.push_str(&format!("  {root}{name} = f32[8,64] {opcode}({a}, {b})\n"));
        last = [last[1].clone(), name];
    }
    text.push_str("}\n");
    text
}

fn main() {
    let read = |text: &str| -> Import { lower(&parse(text).expect("HLO text")).expect("known operations") };
    let mode: Mode = "v5e/default/as-compiled+acc=tiled".parse().expect("a mode");
    for length in [12_500, 50_000] {
        let [one, other] = [false, true].map(|swapped| read(&chain(length, swapped)));
        let settings = Settings::new(&mode);
        let same = || {
            black_box(compare(black_box(&one), black_box(&other), &settings).expect("programs that fit"));
        };
        contest(&format!("{length} instructions"), length as f64, "instruction", 3, vec![Contender::new("same", same)]);
    }
}
