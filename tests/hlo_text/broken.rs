//! Text that is no HLO: where the error is, what it says, and that there is nothing else than an error.

use proptest::prelude::*;
use proptest::sample::Index;
use ulpgate::hlo::parse;

use crate::files::{FILES, file, fixed_point};

/// The error of a text.
fn error(text: &str) -> String {
    parse(text).err().map_or_else(|| "none".to_string(), |error| error.to_string())
}

/// The errors of whole texts.
#[test]
fn errors_of_modules() {
    let cases = [("", r#"line 1, column 1: expected "HloModule" and the module's name"#)];
    check(&cases, |text| text.to_string());
}

/// The errors of an instruction, which begins at line 3, column 3.
#[test]
fn errors_of_instructions() {
    let cases = [("ROOT x = f32[] negate(y)", r#"line 3, column 25: no"#)];
    check(&cases, |line| format!("HloModule m\ne {{\n  {line}\n}}\n"));
}

fn check(cases: &[(&str, &str)], whole: impl Fn(&str) -> String) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, expected)| (text, expected, error(&whole(text))))
        .filter(|(_, expected, found)| *expected != found)
        .map(|(text, expected, found)| format!("{text:?}\n  expected {expected}\n  found    {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_truncated_file_is_an_error_or_a_module() {
    for name in ["cpu/prob_max.before.hlo", "tpu/v5e/softmax_bf16.excess_on.hlo"] {
        let text = file(name);
        assert!(text.is_ascii());
        let legal = (0..text.len()).filter(|end| fixed_point(&text[..*end]).is_some()).count();
        // Between two computations, and behind the last.
        assert!((1..50).contains(&legal), "{name}: {legal} of {} are modules", text.len());
    }
}

#[test]
fn deep_nesting_is_an_error() {
    let contexts: [fn(&str) -> String; 8] = [
        |open| open.to_string(),
        |open| format!("HloModule m, a={open}"),
        |open| format!("HloModule m e {{ x = {open}"),
        |open| format!("HloModule m e {{ x = f32[2]{open}"),
        |open| format!("HloModule m e {{ x = f32[2] constant({open}"),
        |open| format!("HloModule m e {{ x = f32[2] add({open}"),
        |open| format!("HloModule m %e (x: {open}"),
        |open| format!("HloModule m e {{ x = f32[2] parameter(0), literal={open}"),
    ];
    let parsing = move || {
        let mut deepest = 0;
        for open in ["(", "[", "{", "/*", "\"", "{{\"a\":", "{[(", "(f32[], ", "{1, ", "{:T("] {
            for context in contexts {
                let text = context(&open.repeat(100_000));
                deepest += usize::from(error(&text).ends_with("more than 256 levels of brackets"));
                assert!(parse(&text).is_err(), "{}", &text[..100]);
            }
        }
        // Tuples whose values nest as deep as their shapes.
        let shape = "(".repeat(256) + &")".repeat(256);
        let module = parse(&format!("HloModule m e {{ x = {shape} constant({shape}) }}")).unwrap();
        assert_eq!(parse(&module.to_string()).unwrap(), module);
        deepest
    };
    let deepest = std::thread::Builder::new().stack_size(2 << 20).spawn(parsing).unwrap().join().unwrap();
    assert!(deepest >= 10, "only {deepest} were refused for their depth");
}

/// A change to a text of bytes, at places given as parts of it.
#[derive(Clone, Debug)]
enum Mutation {
    Flip(Index, u8),
    Delete(Index, usize),
    Duplicate(Index, usize),
    /// Puts a piece of another file in.
    Splice(Index, Index, Index, usize),
    /// Puts in a symbol that the grammar knows.
    Insert(Index, &'static str),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let symbols = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "'",
        "\\",
        "/*",
        "*/",
        "//",
        "=",
        ",",
        ":",
        "%",
        "->",
        "ROOT ",
        "ENTRY ",
        "nan(0x1)",
        "T(8)",
        "D(D)",
        "\n1 ",
        "constant(",
        "c64[]",
        "literal=",
        "\\377",
        "é",
        "...",
        "HloModule ",
    ];
    prop_oneof![
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        (any::<Index>(), 1..40usize).prop_map(|(at, length)| Mutation::Delete(at, length)),
        (any::<Index>(), 1..200usize).prop_map(|(at, length)| Mutation::Duplicate(at, length)),
        (any::<Index>(), any::<Index>(), any::<Index>(), 1..200usize)
            .prop_map(|(at, file, from, length)| Mutation::Splice(at, file, from, length)),
        (any::<Index>(), proptest::sample::select(symbols.to_vec())).prop_map(|(at, text)| Mutation::Insert(at, text)),
    ]
}

fn apply(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
    let piece = |bytes: &[u8], at: usize, length: usize| bytes[at..bytes.len().min(at + length)].to_vec();
    match mutation {
        Mutation::Flip(at, byte) => {
            let at = place(at, bytes);
            if let Some(found) = bytes.get_mut(at) {
                *found = *byte;
            }
        }
        Mutation::Delete(at, length) => {
            let at = place(at, bytes);
            let end = bytes.len().min(at + length);
            bytes.drain(at..end);
        }
        Mutation::Duplicate(at, length) => {
            let at = place(at, bytes);
            let piece = piece(bytes, at, *length);
            bytes.splice(at..at, piece);
        }
        Mutation::Splice(at, file, from, length) => {
            let other = FILES[file.index(FILES.len())].1.as_bytes();
            let at = place(at, bytes);
            bytes.splice(at..at, piece(other, from.index(other.len()), *length));
        }
        Mutation::Insert(at, text) => {
            let at = place(at, bytes);
            bytes.splice(at..at, text.bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// A damaged file is an error or a module that can be printed and read again.
    #[test]
    fn mutations_do_not_panic(
        which in any::<Index>(),
        mutations in proptest::collection::vec(mutation(), 1..4),
    ) {
        let mut bytes = FILES[which.index(FILES.len())].1.as_bytes().to_vec();
        mutations.iter().for_each(|mutation| apply(&mut bytes, mutation));
        fixed_point(&String::from_utf8_lossy(&bytes));
    }

    /// Text that is HLO here and there.
    #[test]
    fn pieces_do_not_panic(pieces in proptest::collection::vec((any::<Index>(), any::<Index>(), 1..60usize), 1..20)) {
        let mut bytes = b"HloModule m\ne {\n x = f32[2]{0} parameter(0)\n".to_vec();
        for (which, at, length) in pieces {
            let file = FILES[which.index(FILES.len())].1.as_bytes();
            let at = at.index(file.len());
            bytes.extend(&file[at..file.len().min(at + length)]);
        }
        fixed_point(&String::from_utf8_lossy(&bytes));
    }
}
