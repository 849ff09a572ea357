//! Text that is no HLO: where the error is, what it says, and that there is nothing else than an error.

use proptest::prelude::*;
use proptest::sample::Index;
use ulpgate::hlo::parse;

use super::files::{FILES, file, fixed_point};

/// The error of a text.
fn error(text: &str) -> String {
    parse(text).err().map_or_else(|| "none".to_string(), |error| error.to_string())
}

/// The errors of whole texts.
#[test]
fn errors_of_modules() {
    let cases = [
        ("", "line 1, column 1: expected \"HloModule\" and the module's name, found the end of the text"),
        (
            "  \n// only a comment\n",
            "line 3, column 1: expected \"HloModule\" and the module's name, found the end of the text",
        ),
        ("HloModul m", "line 1, column 1: expected \"HloModule\" and the module's name, found \"HloModul\""),
        ("hello HloModule m", "line 1, column 1: expected \"HloModule\" and the module's name, found \"hello\""),
        (
            "\nmodule @jit_f attributes {mhlo.num_partitions = 1 : i32} {",
            "line 2, column 1: this is StableHLO, what JAX prints by lowered.as_text(); give HLO: \
             lowered.as_text(dialect=\"hlo\") before compilation, lowered.compile().as_text() after it, or what \
             scripts/dump_hlo.py writes",
        ),
        (
            "{ lambda ; a:f32[8]. let b:f32[8] = tanh a in (b,) }",
            "line 1, column 1: this is a jaxpr, what jax.make_jaxpr prints; give HLO: \
             jax.jit(f).lower(...).as_text(dialect=\"hlo\"), or what scripts/dump_hlo.py writes",
        ),
        ("HloModule", "line 1, column 10: expected the module's name, found the end of the text"),
        ("HloModule 7", "line 1, column 11: expected the module's name, found \"7\""),
        ("HloModule m", "line 1, column 12: expected a computation, found the end of the text"),
        ("HloModule m,", "line 1, column 13: expected an attribute's name after \",\", found the end of the text"),
        ("HloModule m, =1", "line 1, column 14: expected an attribute's name after \",\", found \"=\""),
        ("HloModule m, a", "line 1, column 15: expected \"=\" after an attribute's name, found the end of the text"),
        ("HloModule m, a=", "line 1, column 16: expected an attribute's value, found the end of the text"),
        ("HloModule m, a={", "line 1, column 16: \"{\" begins here and no \"}\" ends it"),
        ("HloModule m, a={\"}", "line 1, column 17: a string begins here and does not end"),
        ("HloModule m, a=\"x\\", "line 1, column 16: a string begins here and does not end"),
        ("HloModule m, a={{}", "line 1, column 16: \"{\" begins here and no \"}\" ends it"),
        ("HloModule m, a={/*}", "line 1, column 17: a comment begins here and does not end"),
        ("HloModule m /* é", "line 1, column 13: a comment begins here and does not end"),
        ("HloModule m\n\n  7", "line 3, column 3: expected a computation, found \"7\""),
        (
            "HloModule m\nHloModule n\ne { x = f32[] parameter(0) }",
            "line 2, column 1: a second module begins here; a file has one",
        ),
        (
            "HloModule m\ne",
            "line 2, column 2: expected \"{\" or a signature after the computation's name, found the end of the text",
        ),
        ("HloModule m\ne (", "line 2, column 4: expected a parameter's name, found the end of the text"),
        ("HloModule m\ne () {", "line 2, column 6: expected \"->\" and the shape of the result, found \"{\""),
        ("HloModule m\ne (x) {", "line 2, column 5: expected \":\" and the parameter's shape, found \")\""),
        (
            "HloModule m\ne (x: f32[] y: f32[]) {",
            "line 2, column 13: expected \",\" or \")\" in a signature, found \"y\"",
        ),
        ("HloModule m\ne () f32[] {", "line 2, column 6: expected \"->\" and the shape of the result, found \"f32\""),
        (
            "HloModule m\ne () -> f32[] x",
            "line 2, column 15: expected \"{\" and the computation's instructions, found \"x\"",
        ),
        ("HloModule m\ne {}", "line 2, column 1: the computation \"e\" has no instructions"),
        ("HloModule m\nENTRY {", "line 2, column 7: expected a computation's name after \"ENTRY\", found \"{\""),
        ("HloModule m\nFileNames {", "line 2, column 11: expected a computation, found \"{\""),
        (
            "HloModule m\nENTRY a { x = f32[] parameter(0) }\nENTRY b { x = f32[] parameter(0) }",
            "line 3, column 1: a second computation is marked ENTRY",
        ),
        (
            "HloModule m\na { x = f32[] parameter(0) }\na { x = f32[] parameter(0) }",
            "line 3, column 1: a computation before this one has the name \"a\" too",
        ),
        ("HloModule m\na { x = f32[] parameter(0) } }", "line 2, column 30: expected a computation, found \"}\""),
        (
            "HloModule m\na { x = f32[] parameter(0)",
            "line 2, column 27: expected an instruction's name, or \"}\" at the end of the computation, found the end of the text",
        ),
        (
            "HloModule m\na { x = f32[] call(), to_apply=a }",
            "line 2, column 32: no computation before this one has the name \"a\"",
        ),
        (
            "HloModule m\nf { x = f32[] parameter(0) }\na { x = f32[] call(), b=1,\n calls=%g }",
            "line 4, column 8: no computation before this one has the name \"g\"",
        ),
        (
            "HloModule m\nf { x = f32[] parameter(0) }\na { x = f32[] call(), b=1,\n called_computations={%f, %g} }",
            "line 4, column 22: no computation before this one has the name \"g\"",
        ),
        ("HloModule m\nStackFrames\n1 {}\n", "line 4, column 1: expected a computation, found the end of the text"),
    ];
    check(&cases, |text| text.to_string());
}

/// The errors of an instruction, which begins at line 3, column 3, in a computation that goes on.
#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn errors_of_instructions() {
    let cases = [
        (
            "ROOT x = f32[] negate(y)",
            "line 3, column 25: no instruction before this one in its computation has the name \"y\"",
        ),
        ("x", "line 4, column 1: expected \"=\" after the instruction's name, found \"}\""),
        ("x f32[] negate(x)", "line 3, column 5: expected \"=\" after the instruction's name, found \"f32\""),
        ("x(", "line 3, column 4: expected \"=\" after the instruction's name, found \"(\""),
        (
            "7 = f32[] parameter(0)",
            "line 3, column 3: expected an instruction's name, or \"}\" at the end of the computation, found \"7\"",
        ),
        (
            "% = f32[] parameter(0)",
            "line 3, column 3: expected an instruction's name, or \"}\" at the end of the computation, found \"%\"",
        ),
        ("ROOT = f32[] parameter(0)", "line 3, column 8: expected an instruction's name after \"ROOT\", found \"=\""),
        ("x = ", "line 4, column 1: expected a shape such as f32[2,3] or (f32[2], s32[]), found \"}\""),
        ("x = negate(x)", "line 3, column 14: no instruction before this one in its computation has the name \"x\""),
        (
            "x = iota(), iota_dimension=0",
            "line 3, column 7: the shape of this \"iota\" does not follow from its operands: write it before the opcode",
        ),
        (
            "x = constant(1)",
            "line 3, column 7: the shape of this \"constant\" does not follow from its operands: write it before the opcode",
        ),
        ("p = (f32[]) parameter(0)  q = f32[] negate(p#1)", "line 3, column 47: \"p\" is no tuple with an element 1"),
        (
            "x = b(f32[2]) parameter(0)",
            "line 3, column 7: b(...) is a buffer, memory that calls write, and only arrays and tuples are supported",
        ),
        ("x = g32[] parameter(0)", "line 3, column 7: HLO has no element type \"g32\""),
        ("x = f32 [2 3] parameter(0)", "line 3, column 14: expected \",\" or \"]\" after a dimension, found \"3\""),
        ("x = f32[2,] parameter(0)", "line 3, column 13: expected a dimension, found \"]\""),
        ("x = f32[-2] parameter(0)", "line 3, column 11: expected a dimension, found \"-2\""),
        (
            "x = f32[2,<=3] parameter(0)",
            "line 3, column 13: dimension 1 is dynamic (\"<=3\"), and only static ones are supported: give the program for one size",
        ),
        (
            "x = f32[?] parameter(0)",
            "line 3, column 11: dimension 0 is dynamic (\"?\"), and only static ones are supported: give the program for one size",
        ),
        ("x = f32[18446744073709551616] parameter(0)", "line 3, column 11: a number is 18446744073709551615 at most"),
        ("x = f32[2]{0,} parameter(0)", "line 3, column 16: expected a dimension's number in a layout, found \"}\""),
        ("x = f32[2]{0;} parameter(0)", "line 3, column 15: expected \",\", \":\" or \"}\" in a layout, found \";\""),
        (
            "x = f32[2]{0:8} parameter(0)",
            "line 3, column 16: expected a part of a layout such as T(8,128) or S(1), found \"8\"",
        ),
        (
            "x = f32[2]{0:T} parameter(0)",
            "line 3, column 17: expected \"(\" after the letter of a layout's part, found \"}\"",
        ),
        ("x = f32[2]{0:T(8} parameter(0)", "line 3, column 17: \"(\" begins here and no \")\" ends it"),
        (
            "x = (f32[2] f32[3]) parameter(0)",
            "line 3, column 15: expected \",\" or \")\" in the shape of a tuple, found \"f32\"",
        ),
        (
            "x = (f32[2], parameter(0)",
            "line 3, column 16: expected a shape such as f32[2,3] or (f32[2], s32[]), found \"parameter\" without dimensions",
        ),
        ("x = f32[] (1)", "line 3, column 13: expected an opcode, found \"(\""),
        ("x = f32[] ünknown(1)", "line 3, column 13: expected an opcode, found \"ü\""),
        ("x = f32[] parameter", "line 4, column 1: expected \"(\" after the opcode, found \"}\""),
        ("x = f32[] parameter()", "line 3, column 23: expected a parameter's number, found \")\""),
        ("x = f32[] parameter(x)", "line 3, column 23: expected a parameter's number, found \"x\""),
        ("x = f32[] parameter(0", "line 4, column 1: expected \")\" after the operands, found \"}\""),
        ("x = f32[] constant(one)", "line 3, column 22: expected a number, true, false, inf or nan, found \"one\""),
        ("x = f32[] constant(--1)", "line 3, column 22: expected a number, true, false, inf or nan, found \"--1\""),
        ("x = f32[] constant(-)", "line 3, column 22: expected a number, true, false, inf or nan, found \"-\""),
        ("x = f32[] constant(1e)", "line 3, column 22: expected a number, true, false, inf or nan, found \"1e\""),
        ("x = f32[] constant(1 2)", "line 3, column 24: expected \")\" after the operands, found \"2\""),
        ("x = f32[] constant(nan(7))", "line 3, column 25: expected the payload of a nan, such as (0x400001)"),
        ("x = f32[2] constant({1 2})", "line 3, column 26: expected \",\" or \"}\" in a list of values, found \"2\""),
        ("x = f32[2] constant({1, })", "line 3, column 27: expected a number, true, false, inf or nan, found \"}\""),
        ("x = f32[2] constant({..})", "line 3, column 24: expected a number, true, false, inf or nan, found \"..\""),
        ("x = c64[] constant((1))", "line 3, column 24: expected \",\" and an imaginary part, found \")\""),
        (
            "x = (f32[], s32[]) constant((1))",
            "line 3, column 33: expected \",\" and the value of the tuple's next element, found \")\"",
        ),
        ("x = (f32[]) constant(1)", "line 3, column 24: expected \"(\" of a tuple's value, found \"1\""),
        ("x = f32[] constant((1, 2))", "line 3, column 22: expected a number, true, false, inf or nan, found \"(\""),
        (
            "x = f32[] add(x, x)",
            "line 3, column 17: no instruction before this one in its computation has the name \"x\"",
        ),
        (
            "p = f32[] parameter(0)  q = f32[] add(p p)",
            "line 3, column 43: expected \",\" or \")\" after an operand, found \"p\"",
        ),
        ("p = f32[] parameter(0)  q = f32[] add(p,)", "line 3, column 43: expected an operand's name, found \")\""),
        (
            "p = f32[] parameter(0)  p = f32[] negate(p)",
            "line 3, column 27: an instruction before this one has the name \"p\" too",
        ),
        (
            "p = f32[] parameter(0)  q = f32[] negate(negate(r))",
            "line 3, column 51: no instruction before this one in its computation has the name \"r\"",
        ),
        (
            "p = f32[] parameter(0)  q = f32[] negate(f32[] parameter(0))",
            "line 3, column 44: a parameter before this one in its computation has the number 0 too",
        ),
        (
            "p = f32[4] parameter(0)  q = f32[] negate(reduce(p, p))",
            "line 3, column 45: the shape of this \"reduce\" does not follow from its operands: write it before the opcode",
        ),
        ("x = f32[] parameter(0),", "line 4, column 1: expected an attribute's name after \",\", found \"}\""),
        ("x = f32[] parameter(0), sharding", "line 4, column 1: expected \"=\" after an attribute's name, found \"}\""),
        (
            "x = f32[] parameter(0), sharding={[",
            "line 5, column 1: expected an instruction's name, or \"}\" at the end of the computation, found the end of the text",
        ),
        ("x = f32[] parameter(0), a=/b", "line 3, column 29: expected an attribute's value, found \"/\""),
        ("x = f32[] parameter(0), literal=f32[] ,", "line 3, column 41: expected an attribute's value, found \",\""),
        (
            "x = f32[] fusion(), kind=kLoop, calls=%g",
            "line 3, column 41: no computation before this one has the name \"g\"",
        ),
        (
            "ROOT x = f32[] parameter(0) ROOT y = f32[] negate(x)",
            "line 3, column 31: a second instruction of this computation is marked ROOT",
        ),
        (
            "x = f32[] parameter(0) é",
            "line 3, column 26: expected an instruction's name, or \"}\" at the end of the computation, found \"é\"",
        ),
        (
            "x a_name_longer_than_forty_characters_of_a_message",
            "line 3, column 5: expected \"=\" after the instruction's name, found \"a_name_longer_than_forty_characters_of_a...\"",
        ),
    ];
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
