//! `ulpgate port`: MaxText's tests that fail on TPU7x alone, foretold from the files that the compiler wrote and from the source.

use serde_json::Value;

use super::schema::Schema;
use super::{Folder, Ran};

/// A file of `tests/data`.
fn data(name: &str) -> String {
    format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/{}"), name)
}

fn port(code: i32, more: &[&str]) -> Ran {
    let mut arguments = vec!["port"];
    arguments.extend(more);
    Folder::new(&[]).exits(code, &arguments)
}

fn json(code: i32, more: &[&str]) -> Value {
    let mut arguments = more.to_vec();
    arguments.push("--json");
    let said: Value = serde_json::from_str(&port(code, &arguments).out).unwrap();
    let errors = Schema::new(include_str!("../../docs/schema/port.json")).errors(&said);
    assert_eq!(errors, Vec::<String>::new(), "{said}");
    said
}

/// The changes of an aspect.
fn count(said: &Value, aspect: &str) -> usize {
    let changes = said["operations"]["changes"].as_array().unwrap();
    changes.iter().filter(|change| change["aspect"] == aspect).count()
}

/// maxtext #4413: chex's 1e-6 held on v6e; TPU7x gave 0.647502 for 0.65, and the test got 1e-2. Six dots go to the matrix unit.
#[test]
fn diloco_keeps_its_tolerance_on_v6e_and_not_on_tpu7x() {
    let [source, v5e, v6e, tpu7x, inputs] = ["before.hlo", "v5e.hlo", "v6e.hlo", "tpu7x.hlo", "inputs.safetensors"]
        .map(|name| data(&format!("diloco/{name}")));
    let files = [&v6e[..], &tpu7x, "--inputs", &inputs];
    let of_source = [&source[..], "--from", "v6e", "--to", "tpu7x:2x2x1", "--inputs", &inputs];
    for arguments in [&files[..], &of_source] {
        let at = |more: &[&str], code: i32| json(code, &[arguments, more].concat());
        let said = at(&["--rtol", "1e-6", "--atol", "1e-6"], 1);
        assert_eq!(count(&said, "unit"), 6, "{said}");
        assert_eq!(said["tolerance"]["verdict"], "unsatisfiable");
        let losses: Vec<&Value> = said["tolerance"]["results"].as_array().unwrap().iter().collect();
        let verdicts: Vec<&str> = losses.iter().map(|loss| loss["verdict"].as_str().unwrap()).collect();
        // Whole numbers alone meet in the first step.
        assert_eq!(verdicts[..3], ["survives", "unsatisfiable", "unsatisfiable"]);
        assert!(losses.iter().all(|loss| loss["before"]["failed"] == 0), "{said}");
        // The test's new tolerance is enough.
        let said = at(&["--rtol", "1e-2", "--atol", "1e-2"], 0);
        assert_eq!(said["tolerance"]["verdict"], "survives");
        // So is the proposal.
        let proposal = losses[1]["proposal"].as_str().unwrap();
        let [atol, rtol] = ["atol=", "rtol="]
            .map(|key| proposal.split_whitespace().find_map(|part| part.strip_prefix(key)).unwrap().to_string());
        let proposed = [&["port"], arguments, &["--atol", &atol, "--rtol", &rtol, "--json"]].concat();
        let said: Value = serde_json::from_str(&Folder::new(&[]).ran(&proposed).out).unwrap();
        assert_eq!(said["tolerance"]["results"][1]["verdict"], "survives", "{proposal}");
    }
    // Between v5e and v6e only the quotients are computed otherwise, which no result shows here.
    let said = json(0, &[&v5e, &v6e, "--inputs", &inputs, "--rtol", "1e-6"]);
    assert_eq!((count(&said, "unit"), said["tolerance"]["verdict"].as_str()), (0, Some("survives")), "{said}");
    // Golden values that were recorded on the first chip are the same question.
    let said = json(1, &[&files[..], &["--rtol", "1e-6", "--reference", "from"]].concat());
    assert_eq!(said["tolerance"]["results"][1]["before"]["failed"], 0);
    assert!(said["tolerance"]["reference"].as_str().unwrap().ends_with("v6e.hlo in v6e/default/as-compiled"), "{said}");
}

/// maxtext #4439 and #4455: attention with capped scores at 1e-6, then 1e-2. One row of probabilities meets the values.
#[test]
fn soft_cap_keeps_its_tolerance_on_v6e_and_not_on_tpu7x() {
    let [source, v6e, tpu7x, inputs] =
        ["soft_cap.before.hlo", "soft_cap.v6e.hlo", "soft_cap.tpu7x.hlo", "soft_cap.inputs.safetensors"]
            .map(|name| data(&format!("ports/{name}")));
    for sides in [&[&v6e[..], &tpu7x][..], &[&source, "--from", "v6e", "--to", "tpu7x"]] {
        let at = |code: i32, tolerance: &str| {
            json(code, &[sides, &["--inputs", &inputs, "--atol", tolerance, "--rtol", tolerance]].concat())
        };
        let said = at(1, "1e-6");
        assert_eq!(count(&said, "unit"), 1, "{said}");
        let result = &said["tolerance"]["results"][0];
        assert_eq!((&result["verdict"], &result["before"]["failed"]), (&"unsatisfiable".into(), &0.into()), "{said}");
        let [before, after] =
            ["before", "after"].map(|side| said["results"]["results"][0][side]["largest"].as_f64().unwrap());
        assert!(before < 4.0 && after > 1000.0, "{before} {after}");
        assert_eq!(at(0, "1e-2")["tolerance"]["verdict"], "survives");
    }
    let said = port(1, &[&v6e, &tpu7x, "--inputs", &inputs, "--atol", "1e-6", "--rtol", "1e-6"]).out;
    for line in [
        "operations that change: 1 unit, 2 precision\n",
        "dot_general): multiply and reduce on the vector unit, products in f32 -> dot on the matrix unit\n",
        "  out0 f32[1,1,2,1]: 1 of 2 elements differ; largest error ",
        "tolerance atol=1e-6 rtol=1e-6 against the truth: unsatisfiable\n",
        "  out0: unsatisfiable; 0 -> 7 of 7 honest runs fail; ",
        "    proposal: atol=",
        "Next: precision=lax.Precision.HIGHEST on the dots that change their unit",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
}

/// maxtext #5268: of 262,144 scores some 0.03 % missed 2e-2 on TPU7x by up to 0.057, none on v6e. Of 2,048 scores about every other
/// run has one, and fewer where more is allowed.
#[test]
fn index_scores_fail_now_and_then_on_tpu7x() {
    let [source, v6e, tpu7x] = ["before", "v6e", "tpu7x"].map(|name| data(&format!("ports/index_scores.{name}.hlo")));
    for sides in [&[&v6e[..], &tpu7x][..], &[&source, "--from", "v6e", "--to", "tpu7x"]] {
        for (atol, verdict) in [("2e-2", "unsatisfiable"), ("3e-2", "flaky"), ("6e-2", "survives")] {
            let tolerance = ["--atol", atol, "--rtol", "2e-2", "--runs", "12"];
            let said = json(i32::from(verdict != "survives"), &[sides, &tolerance].concat());
            assert_eq!(count(&said, "unit"), 1, "{said}");
            let result = &said["tolerance"]["results"][0];
            assert_eq!((&result["verdict"], &result["before"]["failed"]), (&verdict.into(), &0.into()), "{said}");
        }
    }
    let said = port(1, &[&v6e, &tpu7x, "--atol", "3e-2", "--rtol", "2e-2", "--runs", "12"]).out;
    assert!(
        said.contains("  out0: flaky (0.21 % to 38.48 % of honest runs fail); 0 -> 1 of 12 honest runs fail; "),
        "{said}"
    );
}

/// A compiled file says its chip by its manifest, else by its path; a flag goes first.
#[test]
fn a_compiled_file_says_its_chip() {
    let folder = Folder::new(&[]);
    let text = std::fs::read_to_string(data("ports/soft_cap.v6e.hlo")).unwrap();
    folder.write("one.hlo", &text);
    folder.write("two.excess_on.hlo", &text);
    folder.write("two.made.json", "{\"manifest\": 1, \"topology\": \"tpu7x:2x2x1\"}");
    std::fs::create_dir_all(folder.path("tpu/v5e")).unwrap();
    folder.write("tpu/v5e/f.hlo", &text);
    let modes = |code: i32, arguments: &[&str]| {
        let said = folder.exits(code, &[&["port"], arguments].concat());
        said.out.lines().next().map_or(said.err, str::to_string)
    };
    assert!(modes(2, &["one.hlo", "two.excess_on.hlo"]).contains("one.hlo does not say which chip it is for"));
    let told = modes(0, &["tpu/v5e/f.hlo", "two.excess_on.hlo", "--atol", "1"]);
    assert_eq!(told, "v5e/default/as-compiled (tpu/v5e/f.hlo) -> tpu7x/default/as-compiled (two.excess_on.hlo)");
    let told =
        modes(0, &["one.hlo", "two.excess_on.hlo", "--from", "v6e:2x2", "--to", "v6e/high/as-compiled", "--atol", "1"]);
    assert_eq!(told, "v6e/default/as-compiled (one.hlo) -> v6e/high/as-compiled (two.excess_on.hlo)");
}

/// Folders are those of two chips: files of one name, each with its own inputs; a pair that cannot be judged stops none.
#[test]
fn files_of_one_name_move_from_folder_to_folder() {
    let folder = Folder::new(&[]);
    for below in ["tpu/v6e", "tpu/tpu7x", "cpu", "none"] {
        std::fs::create_dir_all(folder.path(below)).unwrap();
    }
    let copy = |from: &str, to: &str| std::fs::copy(data(from), folder.path(to)).unwrap();
    for chip in ["v6e", "tpu7x"] {
        copy(&format!("ports/soft_cap.{chip}.hlo"), &format!("tpu/{chip}/soft_cap.excess_on.hlo"));
        copy("ports/soft_cap.before.hlo", &format!("tpu/{chip}/soft_cap.before.hlo"));
        copy(&format!("diloco/{chip}.hlo"), &format!("tpu/{chip}/diloco.excess_on.hlo"));
    }
    copy("ports/soft_cap.inputs.safetensors", "cpu/soft_cap.inputs.safetensors");
    let both = ["port", "tpu/v6e", "tpu/tpu7x", "--inputs", "."];
    let of = |code: i32, more: &[&str]| folder.exits(code, &[&both[..], more].concat());

    let said = of(1, &["--atol", "1e-6", "--rtol", "1e-6"]).out;
    assert!(said.contains("diloco.excess_on.hlo\n  not judged: . has no diloco.inputs.safetensors"), "{said}");
    let moves = [
        "soft_cap.before.hlo\nv6e/default/off (tpu/v6e/soft_cap.before.hlo) -> tpu7x/default/off (tpu/tpu7x/soft_cap.before.hlo)",
        "soft_cap.excess_on.hlo\nv6e/default/as-compiled (tpu/v6e/soft_cap.excess_on.hlo) -> tpu7x/default/as-compiled (",
        "results on ./cpu/soft_cap.inputs.safetensors",
        "tolerance atol=1e-6 rtol=1e-6 against the truth: unsatisfiable",
    ];
    moves.iter().for_each(|line| assert!(said.contains(line), "{line}: {said}"));
    assert!(said.ends_with("3 pairs: 0 kept, 2 changed, 1 not judged; 0 files without a counterpart\n"), "{said}");

    copy("diloco/inputs.safetensors", "cpu/diloco.inputs.safetensors");
    let said = of(0, &["--atol", "1"]).out;
    assert!(said.ends_with("3 pairs: 3 kept, 0 changed, 0 not judged; 0 files without a counterpart\n"), "{said}");
    assert!(of(2, &["--json"]).err.contains("--json prints the report on one move"));
    assert!(folder.exits(2, &["port", "tpu/v6e", "none"]).err.contains("have no .hlo file of one name"));
}

/// A source that needs no inputs says the unit of each chip; one chip alone changes nothing.
#[test]
fn a_source_is_foretold_for_each_pair_of_chips() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule f\n\nENTRY main {\n  x = f32[8,512] parameter(0)\n  w = f32[512,16] parameter(1)\n  v = f32[16] parameter(2)\n  \
         y = f32[8,16] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  \
         z = f32[8] dot(y, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  \
         t = s32[8,16] iota(), iota_dimension=1\n  ROOT r = (f32[8,16], f32[8]) tuple(y, z)\n}\n",
    );
    let of = |code: i32, from: &str, to: &str| {
        let said = folder.exits(code, &["port", "f.hlo", "--from", from, "--to", to, "--json"]).out;
        serde_json::from_str::<Value>(&said).unwrap()
    };
    let changes = |said: &Value| {
        let text =
            |change: &Value| format!("{} {}", change["aspect"].as_str().unwrap(), change["name"].as_str().unwrap());
        said["operations"]["changes"].as_array().unwrap().iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(changes(&of(1, "v5e", "v6e")), ["order y"]);
    assert_eq!(changes(&of(1, "v6e", "tpu7x")), ["unit z"]);
    assert_eq!(changes(&of(1, "v5e/highest/off", "v5e/default/off")), ["precision y"]);
    assert!(changes(&of(0, "v5e", "v5p")).is_empty());
    assert!(changes(&of(1, "cpu", "v5e")).contains(&"unit y".to_string()));
}

/// Verdicts are words that `explain` knows.
#[test]
fn verdicts_of_a_move_are_explained() {
    let folder = Folder::new(&[]);
    for (word, says) in [
        ("survives", "every honest run on the second chip"),
        ("flaky", "some honest runs"),
        ("unsatisfiable", "as a rule"),
    ] {
        let out = folder.exits(0, &["explain", word]).out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(out.contains(says), "{word}: {out}");
    }
}

#[test]
fn a_move_that_cannot_be_judged_says_why() {
    let [source, v6e, tpu7x] = ["before", "v6e", "tpu7x"].map(|name| data(&format!("diloco/{name}.hlo")));
    let folder = data("diloco");
    for (more, why) in [
        (&[&v6e[..]][..], "it is compiled for one chip already"),
        (&[&source], "does not say which chip it is for: name it by --from CHIP"),
        (&[&source, "--from", "v6e"], "name it by --to CHIP"),
        (&[&source, "--from", "v6a", "--to", "v6e"], "no chip is called v6a; did you mean `v6e`"),
        (&[&source, "--from", "v6e/defualt/off", "--to", "v6e"], "did you mean `default`"),
        (&[&v6e, &tpu7x, "--to", "tpu7x/default/tpu"], "it is compiled already"),
        (&[&folder, &tpu7x], "is a folder, and"),
        (&[&folder, "--from", "v6e", "--to", "v5e"], "is a folder: name two files of it"),
        (&["none.hlo", &tpu7x], "none.hlo: "),
        (&[&v6e, &data("ports/soft_cap.tpu7x.hlo")], "these are not two forms of one program"),
        (&[&v6e, &tpu7x, "--atol", "nan"], "it is a finite number, not below 0"),
        (&[&v6e, &tpu7x, "--atol", "1", "--runs", "0"], "at least one is needed"),
        (&[&v6e, &tpu7x, "--reference", "there"], "not `from`, neither truth nor rounded"),
        (&[&v6e, &tpu7x, "--inputs", "in.npz"], "in.npz: "),
    ] {
        let said = port(2, more);
        assert!(said.err.contains(why) && said.out.is_empty(), "{more:?}: {}", said.err);
    }
}

/// A value that one file alone has is no silence, whichever file it is; nor is a change that no result of these arguments shows.
#[test]
fn what_no_result_shows_is_told() {
    let folder = Folder::new(&[]);
    let program = |more: &str, sum: &str| {
        format!(
            "HloModule m\nENTRY e {{\n  x = f32[8] parameter(0)\n  a = f32[8] exponential(x)\n{more}  ROOT r = f32[8] add({sum})\n}}\n"
        )
    };
    folder.write("one.hlo", &program("", "a, x"));
    // The ceiling of a hyperbolic tangent of what is above 0 is 1.
    let more = "  s = f32[8] tanh(a)\n  c = f32[8] ceil(s)\n  t = f32[8] multiply(x, c)\n";
    folder.write("other.hlo", &program(more, "a, t"));
    let chips = ["--from", "v5e", "--to", "v5e"];
    let open = folder.ran(&[&["port", "one.hlo", "other.hlo"][..], &chips].concat());
    assert_eq!(open.code, 2, "{}", open.err);
    assert!(open.out.contains("equal, bit for bit"), "{}", open.out);
    assert!(open.err.contains("not judged: s of other.hlo has no counterpart in one.hlo"), "{}", open.err);
    let changed = folder.exits(1, &[&["port", "other.hlo", "one.hlo"][..], &chips].concat()).out;
    assert!(changed.contains("equal, bit for bit") && changed.contains("operations that change: 1"), "{changed}");
    let sum = "HloModule m\nsum {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  ROOT c = bf16[] add(a, b)\n}\nENTRY e {\n  \
        x = bf16[4,64] parameter(0)\n  z = bf16[] constant(0)\n  ROOT s = bf16[4] reduce(x, z), dimensions={1}, to_apply=sum\n}\n";
    folder.write("sum.hlo", sum);
    let modes = ["--from", "v5e/default/off+narrow=f32", "--to", "v5e/default/off+narrow=bf16"];
    let steps = folder.exits(1, &[&["port", "sum.hlo"][..], &modes].concat()).out;
    assert!(steps.contains("precision s: sum with narrow=f32 -> sum with narrow=bf16"), "{steps}");
}
