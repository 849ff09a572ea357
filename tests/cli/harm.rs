//! Files that a command must not write over, names that it must not follow, and texts that it must not take for its own.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, SOFTMAX, TINY, edited, with_check};

/// A file of records says under which name its reports are written.
#[test]
fn a_suite_in_records_has_the_name_of_its_file() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.exits(0, &["run"]);
    let good = folder.read("reports/records/tiny.jsonl");
    fs::create_dir_all(folder.path("below/deep/made/records")).unwrap();
    let before = folder.bytes(".");
    let names = ["../../evil", "..", ".", "", "/evil", "a/b", "a\\\\b", "evil", "growth", "c:evil", "a\\nb"];
    for name in names {
        let text = with_check(&good.replacen("\"name\":\"tiny\"", &format!("\"name\":\"{name}\""), 1));
        assert_ne!(text, good);
        folder.write("below/deep/made/records/tiny.jsonl", &text);
        for command in [&["report", "below/deep/made"][..], &["merge", "below/deep/made", "--out", "below/deep/out"]] {
            let err = folder.exits(2, command).err;
            assert!(err.contains("tiny.jsonl:1: these are no records that can be read"), "{name:?}: {err}");
        }
        fs::remove_file(folder.path("below/deep/made/records/tiny.jsonl")).unwrap();
        assert_eq!(folder.bytes("."), before, "{name:?}: something was written");
    }
    // Nor are cases of one suite told under the name of another.
    let text = with_check(&good.replacen("\"key\":{\"suite\":\"tiny\"", "\"key\":{\"suite\":\"../evil\"", 1));
    assert_ne!(text, good);
    folder.write("below/deep/made/records/tiny.jsonl", &text);
    assert!(folder.exits(2, &["report", "below/deep/made"]).err.contains("is a case of another suite than tiny"));
}

#[test]
fn suites_whose_names_are_no_files_names_are_refused_by_name() {
    for (name, said) in [
        (&b"t\xffny.toml"[..], "suites/t\u{fffd}ny.toml: the suite's name is no UTF-8 text: rename the file"),
        (b"\xff.toml", "suites/\u{fffd}.toml: the suite's name is no UTF-8 text"),
        (b"a\nb.toml", "no suite may be called `a\\nb`: it has a control character"),
        (b"a\\b.toml", "no suite may be called `a\\\\b`: it has `\\`"),
        (b"..toml", "no suite may be called `.`: it begins with a dot"),
    ] {
        let folder = Folder::new(&[]);
        fs::write(folder.path("suites").join(OsStr::from_bytes(name)), TINY).unwrap();
        for command in ["run", "gate"] {
            let err = folder.exits(2, &[command]).err;
            assert!(err.contains(said), "{err} does not contain {said}");
        }
        assert_eq!(folder.names("."), ["suites"]);
    }
}

/// Pairs of files are told by name, each on a line.
#[test]
fn files_of_a_folder_are_told_by_names_of_one_line() {
    let program = "HloModule m\nENTRY main {\n ROOT x = f32[4] parameter(0)\n}\n";
    for (name, said) in [
        (&b"\xff.hlo"[..], "is no UTF-8 text: rename it"),
        (b"a\nb.hlo", "has a control character"),
        (b"#a.hlo", "begins with `#` or a space"),
        (b" a.hlo", "begins with `#` or a space"),
    ] {
        let folder = Folder::new(&[]);
        for side in ["a", "b"] {
            fs::create_dir(folder.path(side)).unwrap();
            fs::write(folder.path(side).join(OsStr::from_bytes(name)), program).unwrap();
        }
        for command in [&["hlo", "diff", "a", "b"][..], &["same", "a", "b"]] {
            let err = folder.exits(2, command).err;
            assert!(err.contains(said), "{err} does not contain {said}");
        }
    }
}

/// A file is a list of accepted changes if its first line says so, and any other is neither believed nor replaced.
#[test]
fn a_list_of_accepted_changes_names_its_format() {
    let folder = Folder::new(&[]);
    folder.write("off.hlo", include_str!("../../src/cli/init_files/keep_max.excess_off.hlo"));
    folder.write("on.hlo", include_str!("../../src/cli/init_files/keep_max.excess_on.hlo"));
    let accepting = ["hlo", "diff", "off.hlo", "on.hlo", "--accept", "list"];
    let blessing = [&accepting[..], &["--bless"]].concat();
    let of_earlier =
        "# Changes that were reviewed. `ulpgate hlo diff --accept` tells any other, and any that is gone.\n";
    for text in ["# My thesis\n\nIt is long.\n", "#!/bin/sh\nrm -rf build\n", "{}\n", "\n", of_earlier] {
        folder.write("list", text);
        for arguments in [&accepting[..], &blessing] {
            let err = folder.exits(2, arguments).err;
            assert!(err.contains("whose first line is `# ulpgate accepted changes 1`"), "{err}");
            assert_eq!(folder.read("list"), text);
        }
    }
    // Nothing is no list either, but may become one.
    folder.write("list", "");
    folder.exits(2, &accepting);
    folder.exits(0, &blessing);
    assert!(folder.read("list").starts_with("# ulpgate accepted changes 1\n# Changes that were reviewed."));
    folder.exits(0, &accepting);
    folder.exits(0, &blessing);
    // The programs are none.
    let own = folder.read("on.hlo");
    let err = folder.exits(2, &["hlo", "diff", "off.hlo", "on.hlo", "--accept", "on.hlo", "--bless"]).err;
    assert!(err.contains("on.hlo cannot be written: the command reads it"), "{err}");
    assert_eq!(folder.read("on.hlo"), own);
}

/// A pair that could not be judged has changes that nobody has seen.
#[test]
fn nothing_is_accepted_while_a_pair_is_not_judged() {
    let folder = Folder::new(&[]);
    let (off, on) = (
        include_str!("../../src/cli/init_files/keep_max.excess_off.hlo"),
        include_str!("../../src/cli/init_files/keep_max.excess_on.hlo"),
    );
    for (side, text) in [("a", off), ("b", on)] {
        fs::create_dir(folder.path(side)).unwrap();
        folder.write(&format!("{side}/f.hlo"), text);
        folder.write(&format!("{side}/g.hlo"), off);
    }
    let blessing = ["hlo", "diff", "a", "b", "--accept", "list", "--bless"];
    let refused = || {
        let err = folder.exits(2, &blessing).err;
        assert!(err.contains("not judged: 1 pairs or files; nothing was accepted into list"), "{err}");
        assert!(!folder.path("list").exists());
    };
    folder.write("b/g.hlo", "no HLO");
    refused();
    // Nor while a file has no counterpart.
    fs::remove_file(folder.path("b/g.hlo")).unwrap();
    refused();
    folder.write("b/g.hlo", off);
    folder.exits(0, &blessing);
    assert!(folder.read("list").contains("\nf.hlo\n  "));
}

/// A file to be written is refused before the command takes its time, and where the command reads it.
#[test]
fn targets_that_cannot_be_written_are_refused_at_once() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.exits(0, &["run"]);
    let says = |arguments: &[&str], said: &str| {
        let before = folder.bytes(".");
        let err = folder.exits(2, arguments).err;
        assert!(err.contains(said), "{arguments:?}: {err}");
        assert!(!err.contains("cases done"), "{arguments:?} evaluated first: {err}");
        assert_eq!(folder.bytes("."), before, "{arguments:?}");
    };
    for (command, option) in
        [("run", "--junit"), ("run", "--sarif"), ("gate", "--junit"), ("gate", "--sarif"), ("gate", "--html")]
    {
        says(&[command, option, "reports"], "reports cannot be written: it is a folder");
        says(&[command, option, "nowhere/x"], "nowhere/x cannot be written: there is no folder nowhere");
        says(&[command, option, "suites/tiny.toml"], "suites/tiny.toml cannot be written: the command reads it");
    }
    says(&["run", "--junit", "x", "--sarif", "x"], "--junit and --sarif name one file");
    says(&["merge", "reports", "--out", "suites/tiny.toml"], "suites/tiny.toml is no folder");
    says(&["report", "--out", "suites/tiny.toml"], "suites/tiny.toml is no folder");
    let text = "HloModule m\nENTRY main {\n x = f32[4] parameter(0)\n ROOT r = f32[4] negate(x)\n}\n";
    folder.write("program.hlo", text);
    folder.write("other.hlo", &text.replace("negate", "abs"));
    let x = Tensor::new(&[4], Data::F32(vec![1.0; 4]));
    safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), x)]).unwrap();
    let eval = ["hlo", "eval", "program.hlo", "--inputs", "in.safetensors", "--out"];
    says(&[&eval[..], &["in.safetensors"]].concat(), "in.safetensors cannot be written: the command reads it");
    says(&[&eval[..], &["./program.hlo"]].concat(), "program.hlo cannot be written: the command reads it");
    says(&[&eval[..], &["out.NPZ"]].concat(), "out.NPZ cannot be written: tensors are written as safetensors");
    says(&["same", "program.hlo", "other.hlo", "--witness", "other.hlo"], "the command reads it");
    says(&["explore", "program.hlo", "--counterexample", "."], "program.hlo cannot be written: the command reads it");
    says(&["explore", "program.hlo", "--counterexample", "other.hlo"], "other.hlo is no folder");
}

/// Files that may not be written stay, and so does a folder where a file is to be.
#[test]
fn reports_that_are_read_only_or_folders_are_told() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let report = folder.path("reports/softmax.csv");
    folder.write("reports/softmax.csv", "mine\n");
    let mut permissions = fs::metadata(&report).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&report, permissions).unwrap();
    let fails = |command: &[&str], said: &str| {
        let ran = folder.ran(command);
        assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
        assert!(ran.err.contains(said), "{}", ran.err);
    };
    for command in [&["run"][..], &["gate", "--bless"]] {
        fails(command, "failed to write reports/softmax.csv: the file is read-only");
        assert_eq!(folder.read("reports/softmax.csv"), "mine\n");
    }
    // What was evaluated is not lost.
    fails(&["run", "--resume"], "read-only");
    assert!(folder.path("reports/.journal.jsonl").exists());
    fs::remove_file(&report).unwrap();
    fs::create_dir(&report).unwrap();
    fails(&["run"], "reports/softmax.csv: Is a directory");
    fails(&["gate"], "failed to read the baseline reports/softmax.csv: ");
    fs::remove_dir(&report).unwrap();
    folder.exits(0, &["run", "--resume"]);
    assert!(!folder.path("reports/.journal.jsonl").exists());
    folder.exits(0, &["gate"]);
}

/// A folder with a page of one's own is no folder of reports.
#[test]
fn files_that_are_no_reports_are_not_replaced() {
    let folder = Folder::new(&[("tiny", TINY)]);
    folder.exits(0, &["run", "--out", "made"]);
    for name in ["index.html", "SUMMARY.md", "tiny.csv", "growth.csv"] {
        folder.write(name, "mine\n");
        let commands: [&[&str]; 4] = [
            &["run", "--out", "."],
            &["report", "made", "--out", "."],
            &["merge", "made", "--out", "."],
            &["gate", "--bless", "--baseline", "."],
        ];
        for command in commands {
            let before = folder.bytes(".");
            let err = folder.exits(2, command).err;
            assert!(err.contains(&format!("{name} is no report of ulpgate")), "{command:?}: {err}");
            assert_eq!(folder.bytes("."), before, "{command:?}");
        }
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    // Beside others of a person's own they are at home, and edited ones are made anew.
    folder.write("notes.md", "mine\n");
    for command in [&["run", "--out", "."][..], &["report", "made", "--out", ".", "--format", "markdown"]] {
        folder.exits(0, command);
    }
    folder.write("SUMMARY.md", "edited\n");
    folder.exits(0, &["run", "--out", "."]);
    assert!(folder.read("SUMMARY.md").starts_with("# Summary\n") && folder.read("notes.md") == "mine\n");
    // Single forms of reports are recognised without the others.
    for format in ["markdown", "csv", "html"] {
        for _ in 0..2 {
            folder.exits(0, &["report", "made", "--out", format, "--format", format]);
        }
    }
}

/// A link is somebody's file, wherever it leads.
#[test]
fn init_writes_through_no_link() {
    let folder = Folder::new(&[]);
    fs::remove_dir(folder.path("suites")).unwrap();
    fs::create_dir_all(folder.path("fresh/suites")).unwrap();
    std::os::unix::fs::symlink("../../elsewhere.toml", folder.path("fresh/suites/sampler.toml")).unwrap();
    assert!(folder.exits(2, &["init", "fresh"]).err.contains("suites/sampler.toml is there already"));
    assert_eq!(folder.names("."), ["fresh"]);
    fs::remove_file(folder.path("fresh/suites/sampler.toml")).unwrap();
    // Where a folder cannot be made, no file is.
    folder.write("fresh/.github", "a file");
    assert!(folder.exits(2, &["init", "fresh"]).err.contains("failed to make fresh/.github/workflows"));
    assert!(folder.names("fresh/suites").is_empty() && folder.names("fresh/programs").is_empty());
}

/// The suite that names another one's file by a path reads it, and nothing is written there.
#[test]
fn a_report_file_lies_in_its_folder() {
    let suite = edited(TINY, &[]);
    let folder = Folder::new(&[("tiny", &suite)]);
    folder.exits(0, &["run", "--out", "deep/out"]);
    assert_eq!(folder.names("deep"), ["out"]);
    let file = ulpgate::report::File {
        name: "../evil.csv".to_string(),
        text: "case\n".to_string(),
        covers: ulpgate::report::Covers::OneSuite,
    };
    let error = ulpgate::report::write_all(&folder.path("deep/out"), [&file]).unwrap_err().to_string();
    assert!(error.contains("it begins with a dot"), "{error}");
    assert_eq!(folder.names("deep"), ["out"]);
}

/// A number that an option takes may be as large as it likes: it is refused, or answered at once.
#[test]
fn the_largest_numbers_are_answered() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let text = "HloModule m\nENTRY main {\n x = f32[4,2] parameter(0)\n ROOT r = f32[4,2] negate(x)\n}\n";
    folder.write("program.hlo", text);
    let x = Tensor::new(&[4, 2], Data::F32(vec![1.0; 8]));
    safetensors::write(&folder.path("in.safetensors"), &[("arg0".to_string(), x)]).unwrap();
    let matmul = "matmul[lhs=16xn,rhs=nx8]";
    for number in [1u64 << 62, u64::MAX] {
        let (number, shard) = (number.to_string(), format!("{number}/{number}"));
        let why = ["hlo", "why", "program.hlo", "--inputs", "in.safetensors"];
        let tolerance = ["tolerance", "--atol", "1"];
        for arguments in [
            [&why[..], &["--windows", &number]].concat(),
            [&why[..], &["--row", &number]].concat(),
            [&why[..], &["--top", &number]].concat(),
            [&tolerance[..], &["--failed", &number, "--of", &number]].concat(),
            [&tolerance[..], &["--failed", "0", "--of", &number]].concat(),
            [&tolerance[..], &["--k", &number]].concat(),
            [&tolerance[..], &["--n", &number, "--program", matmul]].concat(),
            vec!["explore", "program.hlo", "--seed", &number, "--choices", &number, "--enclosures", &number],
            vec!["explore", matmul, "--n", &number],
            vec!["same", "program.hlo", "program.hlo", "--trials", &number, "--seconds", &number],
            vec!["judge", "in.safetensors", "--program", matmul, "--inputs", "in.safetensors", "--n", &number],
            vec![
                "layers",
                "in.safetensors",
                "in.safetensors",
                "--program",
                matmul,
                "--inputs",
                "in.safetensors",
                "--n",
                &number,
            ],
            vec!["vectors", "--count", &number],
            vec!["run", "--shard", &shard, "--out", "part"],
            vec!["run", "--jobs", &number, "--out", "part"],
        ] {
            let ran = folder.ran(&arguments);
            assert!((0..=2).contains(&ran.code), "{arguments:?}: {}{}", ran.out, ran.err);
        }
    }
}
