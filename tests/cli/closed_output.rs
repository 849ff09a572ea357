//! A reader that goes away, or a disk that is full: the exit code is the verdict, and files asked for are written.

use std::io::pipe;
use std::process::{Command, Stdio};

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, KEEP, SOFTMAX, edited};

/// Every command once, with its exit code and the files it leaves, in a folder as [`folder`] makes it.
const COMMANDS: &[(i32, &[&str], &[&str])] = &[
    (1, &["run", "--out", "out"], &["out/keep.csv", "out/SUMMARY.md", "out/index.html", "out/records/keep.jsonl"]),
    (
        1,
        &["run", "--out", "out", "--junit", "run.xml", "--sarif", "run.sarif"],
        &["out/keep.csv", "run.xml", "run.sarif"],
    ),
    (1, &["run", "--verbose", "--filter", "keep"], &[]),
    (1, &["run", "--quiet", "--junit", "run.xml"], &["run.xml"]),
    (1, &["run", "--json", "--junit", "run.xml"], &["run.xml"]),
    (1, &["run", "--github"], &["summary.md"]),
    (0, &["run", "softmax", "--out", "out"], &["out/softmax.csv"]),
    (1, &["gate", "softmax"], &[]),
    (1, &["gate", "softmax", "--json", "--html", "gate.html"], &["gate.html"]),
    (1, &["gate", "softmax", "--github", "--junit", "gate.xml"], &["summary.md", "gate.xml"]),
    (0, &["gate", "softmax", "--bless", "--sarif", "gate.sarif"], &["reports/softmax.csv", "gate.sarif"]),
    (1, &["report", "made", "--out", "again"], &["again/keep.csv", "again/index.html"]),
    (1, &["report", "made", "--json", "--out", "again"], &["again/keep.csv"]),
    (1, &["merge", "made", "--out", "merged"], &["merged/keep.csv", "merged/records/keep.jsonl"]),
    (0, &["list"], &[]),
    (0, &["list", "--json"], &[]),
    (0, &["explain", "v5e/default/tpu"], &[]),
    (0, &["explain", "keep"], &[]),
    (2, &["explain", "nothing is called that"], &[]),
    (0, &["init", "fresh"], &["fresh/suites/sampler.toml", "fresh/.github/workflows/ulpgate.yml"]),
    (0, &["probe", "--out", "asked"], &["asked/inputs.npz", "asked/run_jax.py", "asked/run_torch.py"]),
    (0, &["hlo", "show", "on.hlo"], &[]),
    (0, &["hlo", "show", "on.hlo", "--json"], &[]),
    (1, &["hlo", "diff", "off.hlo", "on.hlo"], &[]),
    (1, &["hlo", "diff", "off.hlo", "on.hlo", "--json"], &[]),
    (0, &["hlo", "diff", "off.hlo", "off.hlo"], &[]),
    (0, &["hlo", "diff", "off.hlo", "on.hlo", "--accept", "list", "--bless"], &["list"]),
    (0, &["hlo", "eval", "sum.hlo", "--inputs", "in.safetensors", "--out", "out.safetensors"], &["out.safetensors"]),
    (1, &["same", "sum.hlo", "difference.hlo", "--witness", "parts.safetensors"], &["parts.safetensors"]),
    (1, &["same", "sum.hlo", "difference.hlo", "--json"], &[]),
    (0, &["same", "sum.hlo", "sum.hlo"], &[]),
    (1, &["explore", "keep_max[rows=4]", "--n", "64", "--counterexample", "small"], &["small/program.hlo"]),
    (1, &["explore", "keep_max[rows=4]", "--n", "64", "--json"], &[]),
];

fn folder() -> Folder {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    folder.exits(1, &["run", "--out", "made"]);
    folder.exits(0, &["run", "softmax"]);
    // A report that somebody edited.
    let report = folder.read("reports/softmax.csv");
    folder.write("reports/softmax.csv", &report.replacen(",pass,", ",finding,", 1));
    folder.write("off.hlo", include_str!("../../src/cli/init_files/keep_max.excess_off.hlo"));
    folder.write("on.hlo", include_str!("../../src/cli/init_files/keep_max.excess_on.hlo"));
    for (name, operation) in [("sum", "add"), ("difference", "subtract")] {
        let text = format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n y = f32[4] parameter(1)\n \
             ROOT r = f32[4] {operation}(x, y)\n}}\n"
        );
        folder.write(&format!("{name}.hlo"), &text);
    }
    let ones = |name: &str| (name.to_string(), Tensor::new(&[4], Data::F32(vec![1.0; 4])));
    safetensors::write(&folder.path("in.safetensors"), &[ones("arg0"), ones("arg1")]).unwrap();
    folder
}

/// The exit code of a command in a folder, whose output goes to `out` and `err`, and what it writes to them.
fn ran(folder: &Folder, arguments: &[&str], out: impl Into<Stdio>, err: impl Into<Stdio>) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
    command.args(arguments).current_dir(folder.path(".")).env("GITHUB_STEP_SUMMARY", "summary.md");
    let output = command.stdout(out).stderr(err).output().unwrap();
    (output.status.code().unwrap_or(-1), String::from_utf8(output.stderr).unwrap())
}

/// A pipe that nobody reads.
fn nobody() -> Stdio {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn the_exit_code_is_the_verdict_whoever_reads() {
    let folder = folder();
    for (code, arguments, files) in COMMANDS {
        let fresh = || {
            for name in ["out", "again", "merged", "fresh", "small"] {
                let _ = std::fs::remove_dir_all(folder.path(name));
            }
            files.iter().for_each(|file| drop(std::fs::remove_file(folder.path(file))));
        };
        let baseline = folder.read("reports/softmax.csv");
        for (out, err) in [(Stdio::null(), Stdio::piped()), (nobody(), Stdio::piped()), (nobody(), nobody())] {
            fresh();
            folder.write("reports/softmax.csv", &baseline);
            let (found, said) = ran(&folder, arguments, out, err);
            assert_eq!(found, *code, "{arguments:?}: {said}");
            let is_there = |file: &&str| std::fs::metadata(folder.path(file)).is_ok_and(|file| file.len() > 0);
            files.iter().for_each(|file| assert!(is_there(file), "{arguments:?}: {file}"));
        }
        folder.write("reports/softmax.csv", &baseline);
    }
}

/// Output that was asked for and is lost is an error, and the files are there all the same.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_files_are_written() {
    let folder = folder();
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, said) = ran(&folder, &["run", "--out", "out", "--junit", "run.xml"], full(), Stdio::piped());
    assert_eq!(code, 2);
    assert!(said.contains("ulpgate: failed to write the output: "), "{said}");
    assert!(folder.read("run.xml").contains("<testsuites") && folder.read("out/keep.csv").starts_with("case,"));
    for arguments in [&["list"][..], &["--help"], &["--version"], &["same", "sum.hlo", "sum.hlo"]] {
        let (code, said) = ran(&folder, arguments, full(), Stdio::piped());
        assert_eq!(code, 2, "{arguments:?}");
        assert!(said.contains("failed to write the output: "), "{arguments:?}: {said}");
    }
    // A file on it, too.
    let (code, said) = ran(&folder, &["run", "--junit", "/dev/full"], Stdio::null(), Stdio::piped());
    assert_eq!(code, 2);
    assert!(said.contains("failed to write /dev/full: "), "{said}");
}
