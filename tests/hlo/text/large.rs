//! Large texts: time is linear in their size, whatever they consist of.

use std::time::Instant;

use ulpgate::hlo::parse;

use crate::processor_time::least_seconds;

/// A module of about this many bytes.
type Generator = fn(usize) -> String;

/// Text that repeats a piece, which is given its number, between a beginning and an end.
fn repeated(bytes: usize, begin: &str, piece: impl Fn(usize) -> String, end: &str) -> String {
    let mut text = begin.to_string();
    for position in 0.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&piece(position));
    }
    text.push_str(end);
    text
}

const GENERATORS: [(&str, Generator); 8] = [
    ("instructions", |bytes| {
        let piece = |n: usize| {
            format!(
                "  %x.{} = f32[8,128]{{1,0:T(8,128)}} add(%x.{n}, %x.0), metadata={{op_name=\"jit(f)/add\"}}\n",
                n + 1
            )
        };
        let begin = "HloModule m\nENTRY %e (x.0: f32[8,128]) -> f32[8,128] {\n  %x.0 = f32[8,128]{1,0} parameter(0)\n";
        repeated(bytes, begin, piece, "}\n")
    }),
    ("computations", |bytes| {
        let piece = |n: usize| format!("c.{n} {{\n  x = f32[] parameter(0)\n  ROOT y = f32[] negate(x)\n}}\n");
        repeated(bytes, "HloModule m\n", piece, "")
    }),
    ("a list of numbers", |bytes| {
        repeated(bytes, "HloModule m e { x = f32[1] constant({0", |n| format!(", {n}.5"), "}) }")
    }),
    ("attributes on one line", |bytes| {
        repeated(bytes, "HloModule m e { x = f32[1] parameter(0)", |n| format!(", a{n}={{{n}}}"), "}")
    }),
    ("one attribute", |bytes| {
        repeated(
            bytes,
            "HloModule m, a={\"b\":[0",
            |n| format!(",{{\"c\":\"{n}}}\"}}"),
            "]} e { x = f32[] parameter(0) }",
        )
    }),
    ("a wide tuple", |bytes| {
        repeated(bytes, "HloModule m e { x = (s32[]", |_| ", f32[2]{0}".to_string(), ") parameter(0) }")
    }),
    ("operands", |bytes| {
        repeated(bytes, "HloModule m e { x = f32[] parameter(0) y = f32[] f(x", |_| ", x".to_string(), ") }")
    }),
    ("space and comments", |bytes| {
        repeated(bytes, "HloModule m e { x = ", |_| "  /* { */ // (\n\r\n".to_string(), "f32[] parameter(0) }")
    }),
];

fn seconds(text: &str) -> f64 {
    least_seconds(|| assert!(parse(text).is_ok(), "{}", parse(text).unwrap_err()))
}

#[test]
fn time_is_linear() {
    for (what, generate) in GENERATORS {
        let (small, large) = (seconds(&generate(1 << 18)), seconds(&generate(1 << 22)));
        // 16 times the text: quadratic time would be 256 times as long.
        assert!(large < 96.0 * small, "{what}: {small} s for 256 KiB, {large} s for 4 MiB");
    }
}

#[test]
fn errors_of_long_texts_take_no_longer() {
    for (what, generate) in GENERATORS {
        let text = generate(1 << 20);
        let cut = &text[..text.len() - 20];
        assert!(parse(cut).is_err() || what == "computations", "{what}");
    }
}

/// 100 MB in one file: `cargo test --release --test hlo_text -- --ignored --nocapture`.
#[test]
#[ignore = "needs 4 GB of memory and half a minute"]
fn a_hundred_megabytes() {
    for (what, generate) in GENERATORS {
        let text = generate(100_000_000);
        let started = Instant::now();
        let module = parse(&text).unwrap();
        let seconds = started.elapsed().as_secs_f64();
        let instructions: usize = module.computations.iter().map(|c| c.instructions.len()).sum();
        println!("{what}: {instructions} instructions, {:.0} MB/s", text.len() as f64 / seconds / 1e6);
    }
}

/// 10 MB of what compilers print.
#[test]
fn ten_megabytes() {
    let text = GENERATORS[0].1(10_000_000);
    let module = parse(&text).unwrap();
    assert_eq!(parse(&module.to_string()).unwrap(), module);
}
