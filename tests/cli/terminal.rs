//! Text for the terminal: nothing of a file's that it would obey, and no line without bound.

use super::{Folder, TINY, edited};

/// That nothing in a text is obeyed but the ends of lines, and that no line is long.
#[track_caller]
fn is_harmless(text: &str) {
    let obeyed = |c: &char| c.is_control() && *c != '\n' || matches!(c, '\u{202e}');
    assert!(!text.chars().any(|c| obeyed(&c)), "{text:?}");
    assert!(text.lines().all(|line| line.chars().count() < 4100), "{} characters", text.len());
}

const NAMES: &str = "\\033]0;title\\007\u{202e}\u{9b}\u{1b}[31m\r";

/// A program whose metadata has control characters, escaped and as they are, with a value of a long name.
fn program(width: usize) -> String {
    let named = "n".repeat(width);
    format!(
        "HloModule m\nENTRY e {{\n  x = bf16[4] parameter(0), metadata={{op_name=\"{NAMES}\" source_file=\"{NAMES}\" source_line=3}}\n  \
         {named} = bf16[4] exponential(x), metadata={{op_name=\"jit({NAMES})/exp\" source_file=\"{NAMES}\" source_line=3}}\n  \
         ROOT y = bf16[4] add({named}, x), metadata={{op_name=\"{NAMES}\"}}\n}}\n"
    )
}

#[test]
fn control_characters_of_files_are_escaped() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.write("f.hlo", &program(3));
    folder.write("g.hlo", &program(3).replace("bf16[4] add", "bf16[4] multiply"));
    for color in ["auto", "always"] {
        is_harmless(&folder.exits(0, &["hlo", "show", "f.hlo", "--color", color]).out);
        let ran = folder.exits(1, &["hlo", "diff", "f.hlo", "g.hlo", "--color", color]);
        is_harmless(&(ran.err + &ran.out));
        assert!(ran.out.contains("title") && ran.out.contains("\\u202e\\u009b\\u001b[31m\\u000d"), "{}", ran.out);
        for form in ["--json", "--dot"] {
            let ran = folder.exits(0, &["hlo", "show", "f.hlo", form]);
            assert!(!ran.out.chars().any(|c| c.is_control() && c != '\n'), "{}", ran.out);
        }
    }
    let json = folder.exits(1, &["hlo", "diff", "f.hlo", "g.hlo", "--json"]).out;
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    let told = value["changes"].to_string();
    assert!(told.contains("title") && !json.chars().any(|c| c.is_control() && c != '\n'), "{json}");
    // Names of files, of suites, and what stands on the command line.
    let evil = "a\u{1b}[31m\u{7}\u{9b}.hlo";
    for arguments in
        [&["hlo", "show", evil][..], &["run", evil], &["explain", evil], &["run", "--shard", evil], &[evil]]
    {
        let ran = folder.exits(2, arguments);
        is_harmless(&ran.err);
        assert!(ran.err.contains("\\u009b"), "{}", ran.err);
    }
    let suite = edited(TINY, &[("\"The most probable token survives\"", "\"\\u001b[31m survives\"")]);
    let folder = Folder::new(&[("tiny", &suite)]);
    let ran = folder.exits(0, &["run", "--verbose"]);
    is_harmless(&(ran.out + &ran.err));
    // The verdict's own colour is obeyed.
    assert!(folder.exits(0, &["run", "--color", "always"]).out.contains("\u{1b}[1m\u{1b}[32mAs expected\u{1b}[0m"));
}

#[test]
fn long_lines_are_cut_and_say_so() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.write("f.hlo", &program(100_000));
    let ran = folder.exits(0, &["hlo", "show", "f.hlo"]);
    is_harmless(&ran.out);
    assert!(ran.out.contains(" more characters)"), "{} characters", ran.out.len());
    // A program reads all of it.
    assert!(folder.exits(0, &["hlo", "show", "f.hlo", "--json"]).out.contains(&"n".repeat(100_000)));
    let long = "x".repeat(100_000);
    for arguments in
        [&["explain", &long][..], &["run", &long], &["hlo", "show", &long], &["same", "f.hlo", &long], &[&long]]
    {
        let ran = folder.exits(2, arguments);
        is_harmless(&ran.err);
        assert!(ran.err.contains(" more characters)"), "{}", ran.err);
    }
}
