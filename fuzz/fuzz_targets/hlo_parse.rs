//! Any text is HLO or an error; what is HLO is printed and read again as the same module, and printed again as the same
//! text.
//!
//! ```text
//! cargo install cargo-fuzz
//! cargo +nightly fuzz run hlo_parse fuzz/corpus/hlo_parse tests/data/hlo -- -runs=1000000 -max_len=4096 -dict=fuzz/hlo.dict
//! ```
//!
//! With a stable compiler: `RUSTC_BOOTSTRAP=1 cargo fuzz run ...`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ulpgate::hlo::parse;

fuzz_target!(|text: &str| {
    let Ok(module) = parse(text) else { return };
    let printed = module.to_string();
    let again = match parse(&printed) {
        Ok(again) => again,
        Err(error) => panic!("{error} in what was printed:\n{printed}"),
    };
    assert!(again == module, "another module after printing:\n{printed}");
    assert_eq!(again.to_string(), printed);
});
