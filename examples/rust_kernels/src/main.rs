//! Kernels of other Rust crates, held to the truth: matmul, softmax, argmax and top-k in f32, bf16 and f16.
//!
//! `cargo run` prints the table of README.md.

mod libraries;
mod questions;

use libraries::{LIBRARIES, Library};
use questions::{Case, Found, ask};

/// Checks of a matmul.
const DOT: &[(&str, Option<&str>)] =
    &[("bound", None), ("criterion", Some("honest")), ("criterion", Some("tosa-dot")), ("criterion", Some("nmse"))];
const SOFTMAX: &[(&str, Option<&str>)] = &[("bound", None)];
const TOP_K: &[(&str, Option<&str>)] = &[("ties", None)];

/// A matmul of 21 rows and 37 columns, which are no multiples of any kernel's block.
const fn matmul(program: &'static str, n: usize, input: &'static str) -> Case {
    Case { program, n, input, kernel: |library: &Library| library.matmul, checks: DOT }
}

const fn softmax(program: &'static str, n: usize, input: &'static str) -> Case {
    Case { program, n, input, kernel: |library: &Library| library.softmax, checks: SOFTMAX }
}

const fn argmax(program: &'static str, input: &'static str) -> Case {
    Case { program, n: 1024, input, kernel: |library: &Library| library.argmax, checks: &[] }
}

const fn top_k(program: &'static str, input: &'static str) -> Case {
    Case { program, n: 1024, input, kernel: |library: &Library| library.top_k, checks: TOP_K }
}

const HEAD: &str =
    "| program, n, input | libraries | largest error, ulp | checks that do not pass | judge |\n|---|---|---|---|---|";

const CASES: &[Case] = &[
    matmul("matmul[lhs=21xn,rhs=nx37]", 64, "normal"),
    matmul("matmul[lhs=21xn,rhs=nx37]", 1000, "normal"),
    matmul("matmul[lhs=21xn,rhs=nx37]", 1000, "positive"),
    matmul("matmul[lhs=21xn,rhs=nx37]", 1000, "ill-conditioned"),
    matmul("matmul[lhs=21xn,rhs=nx37]", 1000, "planted-nan"),
    matmul("matmul[lhs=21xn,rhs=nx37]", 1000, "planted-inf"),
    matmul("matmul[dtype=bf16,out=bf16,lhs=21xn,rhs=nx37]", 64, "normal"),
    matmul("matmul[dtype=bf16,out=bf16,lhs=21xn,rhs=nx37]", 1000, "normal"),
    matmul("matmul[dtype=bf16,out=bf16,lhs=21xn,rhs=nx37]", 1000, "positive"),
    matmul("matmul[dtype=f16,out=f16,lhs=21xn,rhs=nx37]", 1000, "normal"),
    matmul("matmul[dtype=f16,out=f16,lhs=21xn,rhs=nx37]", 1000, "positive"),
    softmax("softmax[dtype=f32,rows=4]", 1024, "normal"),
    softmax("softmax[dtype=f32,rows=4]", 32768, "logits"),
    softmax("softmax[dtype=f32,rows=4]", 1024, "planted-neg-inf"),
    softmax("softmax[dtype=f32,rows=4]", 1024, "planted-nan"),
    softmax("softmax[dtype=bf16,rows=4]", 1024, "normal"),
    softmax("softmax[dtype=bf16,rows=4]", 32768, "logits"),
    softmax("softmax[dtype=f16,rows=4]", 32768, "logits"),
    argmax("argmax[dtype=f32,rows=16]", "normal"),
    argmax("argmax[dtype=f32,rows=16]", "planted-nan"),
    argmax("argmax[dtype=f32,rows=16]", "planted-neg-inf"),
    argmax("argmax[dtype=bf16,rows=16]", "logits"),
    top_k("top_k[dtype=f32,rows=16,k=16]", "normal"),
    top_k("top_k[dtype=f32,rows=16,k=16]", "planted-nan"),
    top_k("top_k[dtype=f32,rows=16,k=16]", "planted-neg-zero[negative=1]"),
    top_k("top_k[dtype=bf16,rows=16,k=16]", "logits"),
];

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A kernel that panics has that in its row.
    std::panic::set_hook(Box::new(|_| ()));
    println!("{HEAD}");
    for case in CASES {
        // Libraries with the same answers share a row.
        let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
        for library in LIBRARIES {
            let Some(found) = ask(case, library)? else { continue };
            let cells = cells(&found);
            match rows.iter_mut().find(|(other, _)| *other == cells) {
                Some((_, names)) => names.push(library.name),
                None => rows.push((cells, vec![library.name])),
            }
        }
        for (cells, names) in rows {
            println!("| `{}` n={} {} | {} | {cells} |", case.program, case.n, case.input, names.join(", "));
        }
    }
    Ok(())
}

/// The cells behind the libraries: the largest error, the checks that do not pass, and the verdict of `judge`.
fn cells(found: &Found) -> String {
    let error = match found.max_ulp {
        Some(ulp) if ulp < 1e3 => format!("{ulp:.3}"),
        Some(ulp) => format!("{ulp:.1e}"),
        None => String::new(),
    };
    let failed = found.checks.iter().filter(|(_, outcome)| outcome != "pass");
    let failed: Vec<String> = failed.map(|(name, outcome)| format!("{name}: {outcome}")).collect();
    let failed = if failed.is_empty() && !found.checks.is_empty() { "none".to_string() } else { failed.join(", ") };
    format!("{error} | {failed} | {}", found.judged)
}
