//! Texts of `list` and `explain`.

use std::collections::BTreeSet;
use std::fs;

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, KEEP, TINY, edited};

#[test]
fn everything_listed_is_explained() {
    let folder = Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let text = folder.exits(0, &["list"]).out;
    let all: serde_json::Value = serde_json::from_str(&folder.exits(0, &["list", "--json"]).out).unwrap();
    let entries = all.as_array().unwrap();
    let mut kinds = BTreeSet::new();
    for entry in entries {
        let [kind, name, doc] = ["kind", "name", "doc"].map(|key| entry[key].as_str().unwrap());
        kinds.insert(kind.to_string());
        assert!(text.contains(name) && !doc.is_empty(), "{kind} {name}");
        let explained = folder.exits(0, &["explain", name]).out;
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&explained).contains(&words(doc)), "{kind} {name}: {explained}");
    }
    assert_eq!(kinds.len(), 17, "{kinds:?}");
    // A name is a line of the list.
    let names = text.lines().filter(|line| line.starts_with("  ")).count();
    assert_eq!(names, entries.len(), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    for kind in kinds {
        let listed: serde_json::Value = serde_json::from_str(&folder.exits(0, &["list", &kind, "--json"]).out).unwrap();
        let of_kind: Vec<_> = entries.iter().filter(|e| e["kind"] == kind.as_str()).cloned().collect();
        assert_eq!(listed, serde_json::Value::Array(of_kind));
        assert!(folder.exits(0, &["list", &kind]).out.starts_with(&format!("{kind}\n")));
    }
}

#[test]
fn modes_programs_and_cases_are_explained() {
    let folder = Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let mode = folder.exits(0, &["explain", "v5e/default/tpu+acc=pairwise"]).out;
    assert!(mode.contains("chip v5e: ") && mode.contains("acc=pairwise: "), "{mode}");
    let rewritten = folder.exits(0, &["explain", "keep_max/v5e/default/cpu"]).out;
    assert!(rewritten.contains("As the compiler leaves it:") && rewritten.contains("bf16["), "{rewritten}");
    let kept = folder.exits(0, &["explain", "keep_max/v5e/default/off"]).out;
    assert!(kept.contains("leaves the program as it is declared"), "{kept}");
    let case = folder.exits(0, &["explain", "keep/keep_max[rows=64]/v5e/default/cpu/normal/256/0"]).out;
    assert!(case.contains("Why it matters: ") && case.contains("check: dropped_token (expected: pass)"), "{case}");
    for (wrong, said) in [
        ("v5e/defalt/cpu", "default"),
        ("keep_max/v5e/defalt/cpu", "default"),
        ("keep_max[guard=foo]/v5e/default/cpu", "guard"),
        ("keep/keep_max/v5e/default/cpu", "the nearest case is keep/keep_max[rows=64]"),
    ] {
        let err = folder.exits(2, &["explain", wrong]).err;
        assert!(err.contains(said) && (wrong.starts_with("keep/") || !err.contains("nearest case")), "{err}");
    }
    // No suites are needed for what is not in them.
    fs::remove_dir_all(folder.path("suites")).unwrap();
    for name in ["keep_max", "v5e/default/off", "top_k[k=4]", "top_k[k=4]/cpu/f32/off"] {
        folder.exits(0, &["explain", name]);
    }
    folder.exits(0, &["list"]);
    folder.exits(2, &["list", "suites"]);
}

#[test]
fn columns_and_verdicts_are_explained() {
    let folder = Folder::new(&[]);
    let says = |name: &str, said: &[&str]| {
        let out = folder.exits(0, &["explain", name]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        said.iter().for_each(|said| assert!(out.contains(said), "{name}: {out}"));
    };
    says("lost", &["[rows]", "the check dropped_token"]);
    says("lost[output=token]", &["settings output=token:", "the check dropped_token"]);
    says("agreement[against=sampler[with=output]]", &["settings against=sampler[with=output]:", "Asks: "]);
    says("max_ulp vs cpu/f32/off", &["mode cpu/f32/off", "[ulp]"]);
    says("truth_hex", &["held against"]);
    says("missing-finding", &["did not occur"]);
    assert!(folder.exits(2, &["explain", "lost_shares"]).err.contains("did you mean `lost_share_"));
}

#[test]
fn a_case_shows_its_worst_rows_in_every_view() {
    let folder = Folder::new(&[("tiny", TINY), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let found = folder.exits(0, &["explain", "keep/keep_max[rows=64]/v5e/default/cpu/normal/256/0"]).out;
    assert!(found.contains("Evaluated: unexpected-finding\n  dropped_token: finding: "), "{found}");
    let rows = found.split("\nRow ").skip(1);
    assert_eq!(rows.clone().count(), 3, "{found}");
    for row in rows {
        // The token that is lost stands first, beside the next in its scores.
        let view = |name: &str| {
            let line = row.lines().find(|line| line.trim_start().starts_with(name)).unwrap_or_else(|| panic!("{row}"));
            line.trim_start()[name.len()..].split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_string)
        };
        let all = |name: &str| view(name).collect::<Vec<_>>();
        let scores: Vec<f64> = view("score, exactly").map(|score| score.parse().unwrap()).collect();
        assert!(scores.len() == 2 && scores[0] > scores[1], "{row}");
        assert!(all("score, as declared")[0].contains("(0x3"), "{row}");
        assert_eq!(all("keep, computed")[0], "false");
        assert_eq!([all("keep, as declared"), all("keep, exactly")].map(|cells| cells[0].clone()), ["true", "true"]);
        assert!(row.contains("Decided by what the compiler changed: as declared, keep["), "{row}");
    }
    // Changed lines are marked on both sides.
    assert!(found.contains("\n- keep = ") || found.contains("\n+ keep = "), "{found}");
    let nothing = folder.exits(0, &["explain", "tiny/argmax[rows=2]/v5e/default/off/normal/8/0"]).out;
    assert!(nothing.contains("Evaluated: pass\n") && !nothing.contains("\nRow "), "{nothing}");
}

#[test]
fn a_slow_case_is_evaluated_where_that_is_asked_for() {
    let folder = Folder::new(&[("tiny", &edited(TINY, &[("rows = [2]", "rows = [2]\nslow = true")]))]);
    let case = "tiny/argmax[rows=2]/v5e/default/off/normal/8/0";
    let out = folder.exits(0, &["explain", case]).out;
    assert!(out.contains("Not evaluated: its suite calls it slow"), "{out}");
    assert!(folder.exits(0, &["explain", "--slow", case]).out.contains("Evaluated: pass\n"));
}

#[test]
fn unknown_names_are_not_explained() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let says = |name: &str, said: &str| {
        let ran = folder.exits(2, &["explain", name]);
        assert!(ran.err.contains(said), "{name}: {}", ran.err);
        assert_eq!(ran.out, "", "{name}");
    };
    says("argmx", "did you mean `argmax`?");
    says("tinny", "did you mean `tiny`?");
    says("v5e/default/of", "did you mean `off`?");
    says("tiny/argmax[rows=2]/v5e/default/off/normal/9/0", "tiny/argmax[rows=2]/v5e/default/off/normal/8/0");
    says("xyzzy-plugh-frotz", "`ulpgate list`");
    says("", "`ulpgate list`");
    says("two\nlines", "two lines");
    says("/", "no mode");
    says("top_k[k=5000]", "failed to build top_k[k=5000] for n = 1024");
    says("top_k[k=5000]/v5e/default/off", "failed to build top_k[k=5000] for n = 1024");
}

/// Of recorded results neither machine nor compiler is known: a file gives them.
#[test]
fn recorded_results_are_not_blamed_on_a_compiler() {
    let recorded = edited(
        TINY,
        &[("chip = [\"v5e\"]", "chip = [\"v5e\"]\nexcess = [\"cpu\"]\nrecorded = [\"../tokens.safetensors\"]")],
    );
    let folder = Folder::new(&[("tiny", &recorded)]);
    // Of two rows of eight, no row has its best token at both places.
    for token in [0, 7] {
        let tensor = ulpgate::tensor::Tensor::new(&[2], ulpgate::tensor::Data::S32(vec![token; 2]));
        ulpgate::file::safetensors::write(&folder.path("tokens.safetensors"), &[("token".to_string(), tensor)])
            .unwrap();
        folder.exits(1, &["run"]);
        let report = folder.read("reports/tiny.csv");
        let case = report.lines().nth(1).unwrap();
        let case = case.split(",unexpected-finding,").next().unwrap().trim_matches('"');
        let told = folder.exits(0, &["explain", case]).out;
        let words = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("which compiler and machine made them is not known"), "{told}");
        assert!(words.contains(&format!("token recorded {token}, as declared ")), "{told}");
        assert!(
            words.contains(
                "Decided by whatever made the recorded results, which is not known: as declared, token is right"
            ),
            "{told}"
        );
        for blame in ["compiler changed", "compiler leaves", "token computed", "machine's arithmetic"] {
            assert!(!words.contains(blame), "{blame}: {told}");
        }
    }
}

/// Words that a run prints.
#[test]
fn words_of_the_output_are_explained() {
    let folder = Folder::new(&[]);
    for (word, says) in [
        ("known", "A finding that its suite expects"),
        ("alarm", "not as its suite expects"),
        ("worst", "first figure"),
        ("finding", "A deviation that a check found"),
        ("excess", "digits that a compiler keeps"),
        ("rule", "A rewrite that a compiler does"),
        ("ulp", "Unit in the last place"),
        ("rounding-removed", "The compiler left out a rounding"),
        ("attribute-changed", "An attribute or a key of a configuration"),
    ] {
        let out = folder.exits(0, &["explain", word]).out;
        assert!(out.starts_with(&format!("{word}: ")) && out.contains(says), "{out}");
        assert!(out.lines().all(|line| line.chars().count() <= 80), "{out}");
    }
    // As they are printed.
    for (word, says) in [
        ("PROVEN", "no choice of a compiler changes"),
        ("REACHABLE", "each of which a compiler may take"),
        ("OPEN", "neither proven nor refuted"),
        ("PART", "an input was found"),
        ("BITS", "gives the same bits"),
        ("CONFORMING", "no mode gives these bits"),
        ("OUTSIDE", "nothing that is permitted"),
        ("UNKNOWN", "neither permitted nor refuted"),
        ("relative rms", "Root mean square"),
        ("TF32", "bits, largest finite value"),
        ("rule A", "rule A joins conversions"),
        ("rules A, B", "rule A joins conversions"),
        ("findings", "A deviation that a check found"),
    ] {
        let out = folder.exits(0, &["explain", word]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(says), "{word}: {out}");
    }
    folder.exits(2, &["explain", "A, B"]);
}

/// A point between the operands of a product ends no sentence.
#[test]
fn a_line_of_a_list_is_not_cut_at_a_product() {
    let folder = Folder::new(&[]);
    let out = folder.exits(0, &["list", "programs"]).out;
    assert!(out.contains("matmul               out = lhs . rhs with the shapes"), "{out}");
}

/// A suite is shown by what it asks, and not as a list of its cases.
#[test]
fn a_suite_is_shown_by_its_questions() {
    let folder = Folder::new(&[("tiny", &edited(TINY, &[("n = [8]", "n = [8, 16, 32, 64, 128]")]))]);
    let out = folder.exits(0, &["explain", "tiny"]).out;
    for says in [
        "tiny: The most probable token survives",
        "Why it matters: A token that is lost",
        "5 cases in 1 group:",
        "- argmax[rows=2] on v5e/default/off: dropped_token (expected: pass)",
        "and 2 more",
        "Next: `ulpgate run tiny`",
    ] {
        assert!(out.contains(says), "{says}: {out}");
    }
}

/// `ulpgate init` calls its suite as a program is called: the suite comes first, and the program's instructions not at all.
#[test]
fn a_suite_comes_before_a_program_of_its_name() {
    let folder = Folder::new(&[("argmax", TINY)]);
    let out = folder.exits(0, &["explain", "argmax"]).out;
    assert!(out.starts_with("argmax: The most probable token survives\n\nWhy it matters: "), "{out}");
    let (suite, program) =
        out.split_once("\nAlso called argmax, among programs (`ulpgate list programs`): token =").unwrap();
    assert!(suite.contains("1 case in 1 group:") && program.contains("Parameters:"), "{out}");
    assert!(!out.contains("ENTRY main"), "{out}");
    assert!(folder.exits(0, &["explain", "argmax[dtype=f32]"]).out.contains("ENTRY main"));
}

/// A command that a text names is on one line, so that a reader can copy it.
#[test]
fn commands_are_not_folded() {
    let folder = Folder::new(&[("tiny", TINY)]);
    for columns in [30, 40, 50, 57, 58, 59, 60, 80] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ulpgate"));
        let ran = command.args(["run", "--out", "there"]).current_dir(folder.path("."));
        let ran = ran.env("COLUMNS", columns.to_string());
        let out = String::from_utf8(ran.output().unwrap().stdout).unwrap();
        let lines: Vec<&str> = out.lines().collect();
        let next = lines.iter().position(|line| line.starts_with("Next:")).unwrap();
        assert!(lines[next..].len() > 1 || columns == 80, "{out}");
        assert!(lines[next..].iter().all(|line| line.matches('`').count() % 2 == 0), "{out}");
    }
}

/// Help, lists and explanations keep to the width of the terminal.
#[test]
fn texts_fold_at_the_width_of_the_terminal() {
    let folder = Folder::new(&[("tiny", TINY)]);
    for (columns, arguments) in [
        ("60", &["--help"][..]),
        ("60", &["hlo", "diff", "--help"]),
        ("60", &["list"]),
        ("60", &["explain", "xla-cpu"]),
        ("60", &["explain", "v5e/default/off"]),
        ("100", &["explain", "xla-cpu"]),
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_ulpgate"));
        let ran = command.args(arguments).current_dir(folder.path(".")).env("COLUMNS", columns).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        let width: usize = columns.parse().unwrap();
        let longest = out.lines().map(|line| line.chars().count()).max().unwrap();
        let long: Vec<&str> = out.lines().filter(|line| line.chars().count() > width).collect();
        // A word that has no room goes on.
        assert!(
            long.iter().all(|line| line.split_whitespace().any(|word| word.len() > 30)),
            "{arguments:?}: {long:#?}"
        );
        assert!(longest > width / 2, "{arguments:?}: {longest}");
    }
}

#[test]
fn shells_complete_and_the_manual_has_every_command() {
    let folder = Folder::new(&[]);
    for (shell, has) in [("bash", "_ulpgate()"), ("zsh", "#compdef ulpgate"), ("fish", "complete -c ulpgate")] {
        let script = folder.exits(0, &["completions", shell]).out;
        assert!(script.contains(has) && script.contains("explore") && script.contains("bless"), "{shell}");
    }
    let page = folder.exits(0, &["man"]).out;
    assert!(page.contains(".TH ulpgate 1") && page.contains("ulpgate\\-gate(1)"), "{page}");
    folder.exits(0, &["man", "--out", "pages"]);
    let pages = folder.names("pages");
    for name in ["ulpgate.1", "ulpgate-gate.1", "ulpgate-hlo-diff.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
    assert!(folder.read("pages/ulpgate-gate.1").contains("baseline"));
}

/// A drawn temperature below 0 decides all rows: the number stands beside the case. Numbers that the suite gives are no news.
#[test]
fn drawn_scalars_are_told() {
    let suite = |arguments: &str| {
        format!(
            "claim = \"c\"\nwhy = \"w\"\nsource = \"s\"\n\n[[matrix]]\nprogram = [\"scaled.hlo\"]\nchip = [\"v5e\"]\ninput = \
             [\"normal\"]\nmetric = [\"max_ulp\"]\n{arguments}"
        )
    };
    let given = "arguments = { arg1 = \"two.safetensors:t\" }\n";
    let folder = Folder::new(&[("drawn", &suite("")), ("given", &suite(given))]);
    let text = "HloModule scaled\n\nENTRY main {\n  x = f32[4,8] parameter(0)\n  t = f32[] parameter(1)\n  b = f32[4,8] \
                broadcast(t), dimensions={}\n  ROOT y = f32[4,8] multiply(x, b)\n}\n";
    folder.write("suites/scaled.hlo", text);
    let two = Tensor::new(&[], Data::F32(vec![2.0]));
    safetensors::write(&folder.path("suites/two.safetensors"), &[("t".to_string(), two)]).unwrap();
    let told = |suite: &str| {
        let listed = folder.exits(0, &["explain", suite]).out;
        let id = listed.split_whitespace().find(|word| word.starts_with(&format!("{suite}/"))).unwrap();
        folder.exits(0, &["explain", id]).out
    };
    let drawn = told("drawn");
    let line = drawn.lines().find(|line| line.starts_with("drawn: t is ")).unwrap();
    let number: f64 = line.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert!(number.is_finite() && number != 0.0 && f64::from(number as f32) == number, "{line}");
    assert_eq!(drawn.matches("drawn: ").count(), 1, "{drawn}");
    assert!(!told("given").contains("drawn: "));
}
