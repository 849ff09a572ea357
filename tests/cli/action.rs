//! `examples/ci`: what a workflow gives is data, and a branch that moves on is another binary.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::Folder;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The scripts of an action's steps: of each `run: |` the lines below that are indented further, of each `run: TEXT` the text.
fn scripts(action: &str) -> Vec<String> {
    let lines: Vec<&str> = action.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut scripts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(text) = line.trim_start().trim_start_matches("- ").strip_prefix("run: ") else { continue };
        if text != "|" {
            scripts.push(text.to_string());
            continue;
        }
        let own = indent(line);
        let block = lines[at + 1..].iter().take_while(|line| line.is_empty() || indent(line) > own);
        scripts.push(block.map(|line| line.trim_start()).collect::<Vec<_>>().join("\n"));
    }
    scripts
}

/// Runs a script as GitHub does, in a folder that is also the home.
fn bash(folder: &Path, script: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script]).current_dir(folder);
    let ran = command.env("HOME", folder).envs(variables.iter().copied()).output().unwrap();
    assert!(ran.status.success(), "{script}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

#[test]
fn arguments_of_the_action_are_words_and_nothing_else() {
    let action = fs::read_to_string(Path::new(ROOT).join("examples/ci/action.yml")).unwrap();
    let scripts = scripts(&action);
    assert_eq!(scripts.len(), 3, "{scripts:?}");
    assert!(scripts.iter().all(|script| !script.contains("${{")), "what a workflow gives is pasted: {scripts:?}");
    let folder = Folder::new(&[]);
    fs::create_dir_all(folder.path(".ulpgate/bin")).unwrap();
    folder.write(".ulpgate/bin/ulpgate", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
    bash(&folder.path("."), "chmod +x .ulpgate/bin/ulpgate", &[]);
    let fixed = "<gate><--github><--junit><ulpgate.xml><--sarif><ulpgate.sarif>";
    for (given, words) in [
        ("", ""),
        ("--slow", "<--slow>"),
        ("ties  norms\n--filter x", "<ties><norms><--filter><x>"),
        ("ties; touch evil", "<ties;><touch><evil>"),
        ("$(touch evil) `touch evil`", "<$(touch><evil)><`touch><evil`>"),
        ("* && touch evil\n\"| touch evil\"", "<*><&&><touch><evil><\"|><touch><evil\">"),
    ] {
        let told = bash(&folder.path("."), &scripts[2], &[("ARGUMENTS", given)]);
        assert_eq!(told, format!("{fixed}{words}"), "{given:?}");
        assert!(!folder.path("evil").exists(), "{given:?}");
    }
}

#[test]
fn the_binary_is_kept_for_the_files_that_it_was_built_of() {
    let action = fs::read_to_string(Path::new(ROOT).join("examples/ci/action.yml")).unwrap();
    let key = action.lines().find_map(|line| line.trim_start().strip_prefix("key: ")).unwrap();
    assert!(key.ends_with("-${{ steps.sources.outputs.hash }}"), "{key}");
    let folder = Folder::new(&[]);
    fs::create_dir_all(folder.path("action/examples/ci")).unwrap();
    fs::create_dir_all(folder.path("action/src")).unwrap();
    let path = folder.path("action/examples/ci");
    let hash = || -> String {
        let output = folder.path("output");
        fs::write(&output, "").unwrap();
        let variables = [("GITHUB_ACTION_PATH", path.to_str().unwrap()), ("GITHUB_OUTPUT", output.to_str().unwrap())];
        bash(&folder.path("."), &scripts(&action)[0], &variables);
        let written: BTreeMap<String, String> = fs::read_to_string(&output)
            .unwrap()
            .lines()
            .map(|line| line.split_once('=').map(|(key, value)| (key.to_string(), value.to_string())).unwrap())
            .collect();
        assert_eq!(written["hash"].len(), 64);
        written["hash"].clone()
    };
    folder.write("action/src/a b.rs", "one");
    let first = hash();
    fs::create_dir_all(folder.path("action/target/release")).unwrap();
    folder.write("action/target/release/ulpgate", "built");
    assert_eq!(hash(), first, "what was built changes nothing");
    folder.write("action/src/a b.rs", "two");
    let second = hash();
    assert_ne!(second, first);
    fs::rename(folder.path("action/src/a b.rs"), folder.path("action/src/c.rs")).unwrap();
    assert_ne!(hash(), second);
}

/// A release's binary is taken where its checksum is right; anything else is built from source.
#[cfg(target_os = "linux")]
#[test]
fn the_action_takes_a_release_whose_checksum_is_right() {
    let action = fs::read_to_string(Path::new(ROOT).join("examples/ci/action.yml")).unwrap();
    let script = scripts(&action)[1].clone();
    let target = format!("{}-unknown-linux-musl", std::env::consts::ARCH);
    for (what, expected) in [("released", "released"), ("forged", "built"), ("absent", "built")] {
        let folder = Folder::new(&[]);
        fs::create_dir_all(folder.path("bin")).unwrap();
        fs::create_dir_all(folder.path(&format!("release/ulpgate-{target}"))).unwrap();
        folder.write("bin/curl", "#!/bin/sh\nfor last; do :; done\ncp \"$RELEASE/$(basename \"$last\")\" .\n");
        folder.write(
            "bin/cargo",
            "#!/bin/sh\nmkdir -p \"$HOME/.ulpgate/bin\"\nprintf built > \"$HOME/.ulpgate/bin/ulpgate\"\n",
        );
        folder.write(&format!("release/ulpgate-{target}/ulpgate"), "released");
        let pack = format!(
            "chmod +x bin/*; cd release; tar -czf ulpgate-{target}.tar.gz ulpgate-{target}; shasum -a 256 *.tar.gz > SHA256SUMS"
        );
        bash(&folder.path("."), &pack, &[]);
        match what {
            "forged" => folder.write(&format!("release/ulpgate-{target}.tar.gz"), "something else"),
            "absent" => fs::remove_file(folder.path(&format!("release/ulpgate-{target}.tar.gz"))).unwrap(),
            _ => {}
        }
        let path = format!("{}:{}", folder.path("bin").display(), std::env::var("PATH").unwrap());
        let release = folder.path("release");
        let variables = [
            ("PATH", path.as_str()),
            ("RELEASE", release.to_str().unwrap()),
            ("GITHUB_ACTION_PATH", "."),
            ("ADDRESS", "https://example.org/download/v1"),
        ];
        bash(&folder.path("."), &script, &variables);
        assert_eq!(folder.read(".ulpgate/bin/ulpgate"), expected, "{what}");
    }
}
