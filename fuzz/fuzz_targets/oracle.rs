//! Any bytes are a small program, and every rung of the oracle answers as the judge of `tests/oracle_search` does.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run oracle -- -runs=1000000 -max_len=1024
//! ```
//!
//! With a stable compiler: `RUSTC_BOOTSTRAP=1 cargo fuzz run ...`.

#![no_main]
// The test uses all of what is shared.
#![allow(dead_code)]

#[path = "../../tests/oracle_search/arithmetic.rs"]
mod arithmetic;
#[path = "../../tests/oracle_search/array.rs"]
mod array;
#[path = "../../tests/oracle_search/ast.rs"]
mod ast;
#[path = "../../tests/oracle_search/code.rs"]
mod code;
#[path = "../../tests/oracle_search/draw.rs"]
mod draw;
#[path = "../../tests/oracle_search/function.rs"]
mod function;
#[path = "../../tests/oracle_search/generate.rs"]
mod generate;
#[path = "../../tests/oracle_search/judge.rs"]
mod judge;
#[path = "../../tests/oracle_search/leaf.rs"]
mod leaf;
#[path = "../../tests/oracle_search/number.rs"]
mod number;
#[path = "../../tests/oracle_search/operation.rs"]
mod operation;
#[path = "../../tests/oracle_search/order.rs"]
mod order;
#[path = "../../tests/oracle_search/scalar.rs"]
mod scalar;
#[path = "../../tests/oracle_search/search.rs"]
mod search;
#[path = "../../tests/oracle_search/template.rs"]
mod template;
#[path = "../../tests/oracle_search/text.rs"]
mod text;
#[path = "../../tests/oracle_search/verdict.rs"]
mod verdict;

use libfuzzer_sys::fuzz_target;

use draw::Draw;
use search::{Tally, check, describe};

fuzz_target!(|bytes: &[u8]| {
    let graph = generate::graph(&mut Draw::of_bytes(bytes));
    if let Some(failure) = check(&graph, &mut Tally::default()) {
        panic!("{}", describe(&graph, &failure));
    }
});
