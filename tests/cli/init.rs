//! `ulpgate init`: a repository that begins with it runs, and its gate is green.

use super::Folder;

#[test]
fn what_init_writes_runs_as_it_stands() {
    let folder = Folder::new(&[]);
    std::fs::remove_dir(folder.path("suites")).unwrap();
    let said = folder.exits(0, &["init"]).out;
    for file in folder.bytes(".").iter().map(|(name, _)| name) {
        assert!(said.contains(file.as_str()), "{file} is not told: {said}");
    }
    let ran = folder.exits(0, &["run"]).out;
    let words: Vec<&str> = ran.split_whitespace().collect();
    assert!(words.join(" ").contains("Known findings that are still there: 2."), "{ran}");
    assert!(folder.exits(0, &["gate"]).out.starts_with("4 cases: 0 better, 0 worse, 0 new, 0 gone"));
    // A reader who adds everything commits reports and nothing that each run writes anew.
    let git = |arguments: &[&str]| {
        let ran = std::process::Command::new("git").args(arguments).current_dir(folder.path(".")).output().unwrap();
        assert!(ran.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    };
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    let added = git(&["ls-files"]);
    assert!(added.contains("reports/SUMMARY.md") && added.contains(".github/workflows/ulpgate.yml"), "{added}");
    assert!(!added.contains("records/") && !added.contains("index.html"), "{added}");
    std::fs::remove_dir_all(folder.path(".git")).unwrap();
    // The workflow says what is to be set where nothing is, and asks for nothing where the address is given.
    assert!(
        said.contains("ULPGATE_REPOSITORY")
            && folder.read(".github/workflows/ulpgate.yml").contains("::error::set the variable")
    );
    let told = folder.exits(0, &["init", "named", "--repository", "me/ulpgate", "--at", "0123abc"]).out;
    let workflow = folder.read("named/.github/workflows/ulpgate.yml");
    assert!(
        workflow.matches("repository: me/ulpgate\n          ref: 0123abc\n").count() == 2
            && !workflow.contains("vars."),
        "{workflow}"
    );
    // The action takes the binary of a release, and builds where there is none.
    assert!(workflow.contains("uses: ./.ulpgate/examples/ci\n") && !workflow.contains("cargo"), "{workflow}");
    assert!(told.contains("\n  cd named\n") && !told.contains("ULPGATE_REPOSITORY"), "{told}");
    folder.exits(2, &["init", "other", "--repository", "me"]);
    std::fs::remove_dir_all(folder.path("named")).unwrap();
    // A result that the suite gave no name.
    let suite = folder.read("suites/sampler.toml");
    folder.write("suites/sampler.toml", &suite.replacen("results = [\"p\", \"keep\"]", "", 1));
    let err = folder.exits(2, &["run"]).err;
    assert!(err.contains("it has out0, out1; `results = [...]` names a file's, in their order"), "{err}");
    // Nobody's file is written over, and nothing is written beside it.
    std::fs::remove_file(folder.path("programs/keep_max.py")).unwrap();
    let before = folder.bytes(".");
    let refused = folder.exits(2, &["init"]).err;
    assert!(refused.contains("suites/sampler.toml") && refused.contains("nothing was written"), "{refused}");
    assert_eq!(folder.bytes("."), before);
    assert!(folder.exits(0, &["init", "fresh"]).out.contains("fresh/suites/sampler.toml"));
}
