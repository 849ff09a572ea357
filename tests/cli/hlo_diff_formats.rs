//! `hlo diff` for CI systems and between releases: JUnit XML, SARIF, annotations, pairs of one target, kinds, and what made the dumps.

use quick_junit::{NonSuccessKind, Report, TestCaseStatus};
use serde_json::Value;
use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::Folder;

/// A sum that is read in f32, or rounded to bf16 first.
fn program(rounds: bool) -> String {
    let rounded = if rounds { "\n  r = bf16[2] convert(y)\n  w = f32[2] convert(r)" } else { "" };
    let read = if rounds { "w" } else { "y" };
    format!(
        "HloModule f\n\nENTRY main {{\n  x = f32[2] parameter(0)\n  y = f32[2] add(x, x){rounded}\n  \
         ROOT z = f32[2] exponential({read})\n}}\n"
    )
}

fn manifest(jax: &str, libtpu: &str, more: &str) -> String {
    format!(
        "{{\"manifest\": 1, \"jax\": \"{jax}\", \"jaxlib\": \"{jax}\", \"libtpu\": \"{libtpu}\", \"python\": \"3.{}\", \
         \"topology\": \"v5e:2x2\", \"flags\": {{{more}}}, \"shapes\": [\"f32[2]\"], \"seed\": 0}}",
        jax.len()
    )
}

/// Two folders: on CPU nothing changed, on v5e a rounding came, and a file of v6e is no HLO.
fn folder() -> Folder {
    let folder = Folder::new(&[]);
    for (side, rounds) in [("old", false), ("new", true)] {
        for target in ["cpu", "tpu/v5e", "tpu/v6e"] {
            std::fs::create_dir_all(folder.path(&format!("{side}/{target}"))).unwrap();
        }
        folder.write(&format!("{side}/cpu/f.before.hlo"), &program(true));
        folder.write(&format!("{side}/tpu/v5e/f.before.hlo"), &program(rounds));
        folder.write(&format!("{side}/tpu/v6e/f.before.hlo"), "no program");
    }
    folder
}

#[test]
fn hlo_diff_has_a_test_for_every_pair() {
    let folder = folder();
    folder.exits(1, &["hlo", "diff", "old", "new", "--junit", "junit.xml", "--sarif", "found.sarif"]);
    let report = Report::deserialize_from_str(&folder.read("junit.xml")).unwrap();
    assert_eq!((report.tests, report.failures, report.errors), (3, 1, 1));
    let cases = &report.test_suites[0].test_cases;
    let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
    assert_eq!(names, ["cpu/f.before.hlo", "tpu/v5e/f.before.hlo", "tpu/v6e/f.before.hlo"]);
    let TestCaseStatus::NonSuccess { kind, message, .. } = &cases[1].status else { panic!("{:?}", cases[1]) };
    assert_eq!(*kind, NonSuccessKind::Failure);
    let message = message.as_ref().unwrap().as_str();
    assert_eq!(message, "rounding-added: y: f32 for z -> bf16 for z");
    let TestCaseStatus::NonSuccess { kind, .. } = &cases[2].status else { panic!("{:?}", cases[2]) };
    assert_eq!(*kind, NonSuccessKind::Error);
    let log: Value = serde_json::from_str(&folder.read("found.sarif")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let [change, open] = &results[..] else { panic!("{results:?}") };
    assert_eq!((&change["ruleId"], &open["ruleId"]), (&"rounding-added".into(), &"not-judged".into()));
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().unwrap();
    let added = rules.iter().find(|rule| rule["id"] == "rounding-added").unwrap();
    assert!(
        added["shortDescription"]["text"].as_str().unwrap().starts_with("The compiler added a rounding"),
        "{added}"
    );
    assert!(!added["help"]["text"].as_str().unwrap().contains("explain CASE"), "{added}");
    let place = &change["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "old/tpu/v5e/f.before.hlo");
    assert_eq!(place["region"]["startLine"], 5);
    let github = folder.exits(1, &["hlo", "diff", "old", "new", "--github"]).out;
    let line = "::error file=old/tpu/v5e/f.before.hlo,line=5,title=rounding-added in tpu/v5e/f.before.hlo::y: f32 for z -> bf16 for z";
    assert!(github.lines().any(|own| own.starts_with(line) && own.contains("%0ANext: ")), "{github}");
    folder.exits(2, &["hlo", "diff", "old", "new", "--github", "--json"]);
    folder.exits(2, &["hlo", "diff", "old", "new", "--junit", "old/cpu/f.before.hlo"]);
    // A pair that could not be judged is told of too.
    folder.exits(2, &["hlo", "diff", "old/tpu/v6e/f.before.hlo", "new/tpu/v6e/f.before.hlo", "--junit", "one.xml"]);
    assert!(folder.read("one.xml").contains("errors=\"1\""), "{}", folder.read("one.xml"));
}

/// A CI system that finds no file shows nothing: a list that is missing and a file without a counterpart are in it.
#[test]
fn failures_stand_in_the_files_that_were_asked_for() {
    let folder = folder();
    let [old, new] = ["old/cpu/f.before.hlo", "new/cpu/f.before.hlo"];
    for (arguments, says) in [
        (&[old, new, "--accept", "missing"][..], "--bless writes a first one"),
        (&[old, new, "--only", "cpu"], "give two folders"),
        (&["old", "new", "--only", "nowhere"], "no pair lies there"),
        (&["old", "nowhere"], "does not exist"),
    ] {
        let asked = [&["hlo", "diff"], arguments, &["--junit", "failed.xml", "--sarif", "failed.sarif"]].concat();
        folder.exits(2, &asked);
        let (junit, sarif) = (folder.read("failed.xml"), folder.read("failed.sarif"));
        assert!(junit.contains("errors=\"1\"") && junit.contains(says), "{asked:?}: {junit}");
        assert!(sarif.contains("not-judged") && sarif.contains(says), "{asked:?}: {sarif}");
        std::fs::remove_file(folder.path("failed.xml")).unwrap();
    }
    folder.write("new/cpu/alone.before.hlo", &program(true));
    folder.exits(2, &["hlo", "diff", "old", "new", "--only", "cpu", "--junit", "alone.xml"]);
    let junit = folder.read("alone.xml");
    assert!(junit.contains("cpu/alone.before.hlo") && junit.contains("it is in one folder alone"), "{junit}");
    let judging = ["judge", "x.npz", "--program", old, "--inputs", "y.npz", "--junit", "judged.xml"];
    folder.exits(2, &judging);
    assert!(folder.read("judged.xml").contains("errors=\"1\""), "{}", folder.read("judged.xml"));
}

#[test]
fn accepted_changes_are_no_problems() {
    let folder = folder();
    let [old, new] = ["old/tpu/v5e/f.before.hlo", "new/tpu/v5e/f.before.hlo"];
    folder.exits(0, &["hlo", "diff", old, new, "--accept", "accepted", "--bless"]);
    folder.exits(0, &["hlo", "diff", old, new, "--accept", "accepted", "--junit", "junit.xml"]);
    assert!(folder.read("junit.xml").contains("failures=\"0\""), "{}", folder.read("junit.xml"));
    folder.write(new, &program(false));
    folder.exits(1, &["hlo", "diff", old, new, "--accept", "accepted", "--sarif", "gone.sarif"]);
    let log: Value = serde_json::from_str(&folder.read("gone.sarif")).unwrap();
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "change-gone");
}

/// Silence would not tell two equal files from two that were not compared.
#[test]
fn files_without_a_change_are_told() {
    let folder = folder();
    let [old, new] = ["old/cpu/f.before.hlo", "new/cpu/f.before.hlo"];
    assert_eq!(folder.exits(0, &["hlo", "diff", old, new]).out, "changes: none\n");
    assert_eq!(folder.exits(0, &["hlo", "diff", old, new, "--by-kind"]).out, "changes: none\n");
    let json = folder.exits(0, &["hlo", "diff", old, new, "--json"]).out;
    assert!(serde_json::from_str::<Value>(&json).is_ok(), "{json}");
    folder.exits(0, &["hlo", "diff", old, new, "--accept", "accepted", "--bless"]);
    let accepted = folder.exits(0, &["hlo", "diff", old, new, "--accept", "accepted"]).out;
    assert_eq!(accepted, "changes: none beside the accepted ones\n");
    let changed = folder.exits(1, &["hlo", "diff", "old/tpu/v5e/f.before.hlo", "new/tpu/v5e/f.before.hlo"]).out;
    assert!(!changed.contains("changes: none"), "{changed}");
}

#[test]
fn only_picks_the_pairs_of_a_target() {
    let folder = folder();
    let found = folder.exits(1, &["hlo", "diff", "old", "new", "--only", "tpu/v5e"]).out;
    assert!(
        found.contains("1 pairs: 0 unchanged, 1 changed, 0 not judged; 0 files without a counterpart\nNext: "),
        "{found}"
    );
    folder.exits(0, &["hlo", "diff", "old", "new", "--only", "cpu"]);
    let both = folder.exits(1, &["hlo", "diff", "old", "new", "--only", "cpu", "--only", "v5e"]).out;
    assert!(both.contains("2 pairs: 1 unchanged, 1 changed"), "{both}");
    let none = folder.exits(2, &["hlo", "diff", "old", "new", "--only", "v5"]).err;
    assert!(none.contains("--only v5: no pair lies there; there are: cpu, tpu/v5e, tpu/v6e"), "{none}");
    let files = ["hlo", "diff", "old/cpu/f.before.hlo", "new/cpu/f.before.hlo", "--only", "cpu"];
    assert!(folder.exits(2, &files).err.contains("give two folders"));
}

#[test]
fn changes_are_listed_by_their_kind() {
    let folder = folder();
    let found = folder.exits(1, &["hlo", "diff", "old/tpu/v5e/f.before.hlo", "new/tpu/v5e/f.before.hlo", "--by-kind"]);
    assert!(found.out.starts_with("rounding-added: 1\n  y: f32 for z -> bf16 for z\nNext: "), "{}", found.out);
}

/// No guard is looked for against a change that shows in no result: `same` asks for all inputs, in the mode of the comparison.
#[test]
fn the_next_command_follows_from_the_results() {
    let folder = folder();
    let sources = ["old/tpu/v5e/f.before.hlo", "new/tpu/v5e/f.before.hlo"];
    let compiled = ["old/f.excess_on.hlo", "new/f.excess_on.hlo"];
    for (source, file) in sources.iter().zip(compiled) {
        folder.write(file, &folder.read(source));
    }
    let compared = |[old, new]: [&str; 2], numbers: [f32; 2], more: &[&str]| {
        let x = Tensor::new(&[2], Data::F32(numbers.to_vec()));
        safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), x)]).unwrap();
        let mode = ["--inputs", "in.safetensors", "--mode", "cpu/highest/off"];
        let out = folder.exits(1, &[["hlo", "diff", old, new].as_slice(), &mode, more].concat()).out;
        out.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let [old, new] = compiled;
    let equal = compared(compiled, [1.0, 0.5], &[]);
    let next = format!("Next: `ulpgate same {old} {new} --mode cpu/highest/off` says");
    assert!(equal.contains("equal, bit for bit") && equal.contains(&next), "{equal}");
    // Both machines are named, or the next command would ask of another pair.
    let two = compared(compiled, [1.0, 0.5], &["--other-mode", "v4/highest/off"]);
    assert!(two.contains("--mode cpu/highest/off --other-mode v4/highest/off` says"), "{two}");
    let differing = compared(compiled, [1.0, 0.123], &[]);
    assert!(differing.contains("`ulpgate explore ") && !differing.contains("`ulpgate same"), "{differing}");
    // Of two pairs one differs: that decides.
    ["one", "two"].iter().for_each(|name| std::fs::create_dir(folder.path(name)).unwrap());
    for (file, text) in
        [("one/f.hlo", sources[0]), ("one/g.hlo", sources[0]), ("two/f.hlo", sources[1]), ("two/g.hlo", sources[0])]
    {
        folder.write(file, &folder.read(text));
    }
    let pairs = compared(["one", "two"], [1.0, 0.123], &[]);
    assert!(pairs.contains("1 unchanged, 1 changed") && pairs.contains("`ulpgate explore "), "{pairs}");
    // Where tokens are there and equal, no guard has anything to repair; one pair whose tokens differ decides.
    let token = |rounding: &str| {
        format!(
            "HloModule m\nENTRY e {{\n  x = f32[2] parameter(0)\n  c = bf16[2] convert(x)\n  w = f32[2] convert(c)\n  \
             zero = f32[] constant(0)\n  zeros = f32[2] broadcast(zero), dimensions={{}}\n  p = pred[2] compare({rounding}, \
             zeros), direction=GT\n  v = f32[2] multiply({rounding}, {rounding})\n  ROOT r = (pred[2], f32[2]) tuple(p, v)\n}}\n"
        )
    };
    for (file, rounding) in [("one/f.hlo", "x"), ("two/f.hlo", "w"), ("one/h.hlo", "x"), ("two/h.hlo", "x")] {
        folder.write(file, &token(rounding));
    }
    let [one, two] = ["one/f.hlo", "two/f.hlo"];
    let kept = compared([one, two], [1.0, 0.123], &[]);
    assert!(
        kept.contains("1 of 2 equal, bit for bit: result 0 pred[2]") && kept.contains("the tokens are equal"),
        "{kept}"
    );
    // A number that bf16 rounds to zero. The other pairs have equal tokens, and none.
    for paths in [[one, two], ["one", "two"]] {
        let lost = compared(paths, [1.0, 1e-45], &[]);
        assert!(lost.contains("result 0 pred[2]: ") && !lost.contains("the tokens are equal"), "{lost}");
    }
    // Guards end no change of the source.
    let source = compared(sources, [1.0, 0.123], &[]);
    assert!(
        source.contains("both are programs before compilation") && !source.contains("`ulpgate explore"),
        "{source}"
    );
}

#[test]
fn what_made_two_dumps_is_told_where_it_differs() {
    let folder = folder();
    let files = ["hlo", "diff", "old/cpu/f.before.hlo", "new/cpu/f.before.hlo"];
    folder.write("old/cpu/f.made.json", &manifest("0.8.1", "0.0.20", ""));
    // One manifest alone says nothing.
    assert_eq!(folder.exits(0, &files).out, "changes: none\n");
    folder.write("new/cpu/f.made.json", &manifest("0.12.0.1", "0.0.50.1", "\"XLA_FLAGS\": \"--a=1\""));
    let line = "made by: jax 0.8.1 -> 0.12.0.1, jaxlib 0.8.1 -> 0.12.0.1, libtpu 0.0.20 -> 0.0.50.1, flags XLA_FLAGS none -> --a=1\n";
    assert_eq!(folder.exits(0, &files).out, line.to_string() + "changes: none\n");
    let json = folder.exits(0, &[&files[..], &["--json"]].concat()).out;
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&json["made_by"]["before"]["jax"], &json["made_by"]["after"]["jax"]),
        (&"0.8.1".into(), &"0.12.0.1".into())
    );
    // It is no change, and so is in no list.
    folder.exits(0, &[&files[..], &["--accept", "accepted", "--bless"]].concat());
    assert!(!folder.read("accepted").contains("0.8.1"));
    folder.write("new/cpu/f.made.json", &manifest("0.8.1", "0.0.20", ""));
    assert_eq!(folder.exits(0, &files).out, "changes: none\n");
    for (text, says) in [("{", "it is no JSON"), ("[]", "it is no manifest of scripts/dump_hlo.py")] {
        folder.write("new/cpu/f.made.json", text);
        assert!(folder.exits(2, &files).err.contains(says));
    }
}

#[test]
fn a_program_that_is_no_hlo_text_is_named_with_the_command_that_converts_it() {
    let folder = Folder::new(&[]);
    let module = "module @jit_f attributes {mhlo.num_partitions = 1 : i32} {\n}\n";
    for (name, text) in
        [("model.mlir", module), ("text.hlo", module), ("model.mlirbc", "ML\u{10}R"), ("m.pb", "\n\u{1}f")]
    {
        folder.write(name, text);
        let out = ["--inputs", "x.safetensors", "--out", "o.safetensors"];
        let judge = ["judge", "out.npz", "--program", name, "--inputs", "in.npz"];
        let eval = [&["hlo", "eval", name][..], &out].concat();
        for command in [&["hlo", "show", name][..], &["same", name, name], &eval, &judge] {
            let why = folder.exits(2, command).err;
            // The file that the command writes is named as the script names it.
            let plain = name.split('.').next().unwrap();
            let converts = format!(
                "not HLO text; `python scripts/dump_hlo.py {name} --out dumps` writes its HLO before compilation, \
                 dumps/cpu/{plain}.before.hlo "
            );
            assert!(why.contains(&converts) && why.contains("`ulpgate.judge` and `ulpgate.audit_stablehlo`"), "{why}");
        }
    }
    folder.write("sampler.py", "def f(x):\n    return x\n");
    let python = folder.exits(2, &["hlo", "show", "sampler.py"]).err;
    assert!(
        python.contains("it is Python, not HLO text; `python scripts/dump_hlo.py sampler.py:NAME SHAPES"),
        "{python}"
    );
    folder.write("typo.hlo", "modul e\n");
    assert!(folder.exits(2, &["hlo", "show", "typo.hlo"]).err.contains("line 1, column 1"));
}

/// Two files below cpu differ in what XLA:CPU's code generator makes of a sum, with inputs or without; elsewhere nobody said so.
#[test]
fn folders_of_a_chip_say_its_code_generator() {
    let text = |kind: &str| {
        format!(
            "HloModule m, is_scheduled=true\nadd {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, \
             b)\n}}\nsums {{\n  p = f32[4,64]{{1,0}} parameter(0)\n  z = f32[] constant(0)\n  ROOT s = f32[4]{{0}} reduce(p, z), \
             dimensions={{1}}, to_apply=add\n}}\nENTRY main {{\n  x = f32[4,64]{{1,0}} parameter(0)\n  ROOT f = f32[4]{{0}} \
             fusion(x), kind={kind}, calls=sums\n}}\n"
        )
    };
    let folder = Folder::new(&[]);
    for (release, kind) in [("old", "kLoop"), ("new", "kCustom")] {
        for place in ["cpu", "elsewhere"] {
            std::fs::create_dir_all(folder.path(&format!("{release}/{place}"))).unwrap();
            folder.write(&format!("{release}/{place}/f.on.hlo"), &text(kind));
        }
    }
    let of = |code: i32, place: &str| {
        folder.exits(code, &["hlo", "diff", &format!("old/{place}/f.on.hlo"), &format!("new/{place}/f.on.hlo")]).out
    };
    assert!(of(1, "cpu").starts_with("reordered f/s: one after the other -> in the library's order\n"));
    assert_eq!(of(0, "elsewhere"), "changes: none\n");
    assert!(folder.exits(1, &["hlo", "diff", "old/cpu", "new/cpu"]).out.contains("reordered f/s"));
    // A program as written leaves the order open.
    let written = text("kLoop").replace("fusion(x), kind=kLoop, calls=sums", "call(x), to_apply=sums");
    folder.write("old/cpu/f.before.hlo", &written.replace(", is_scheduled=true", ""));
    folder.exits(0, &["hlo", "diff", "old/cpu/f.before.hlo", "new/cpu/f.on.hlo"]);
}
