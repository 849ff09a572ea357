//! Runs that were killed and go on.

use std::fs;

use super::{Folder, SOFTMAX, TINY, edited, fnv};

/// A folder with a finished run, and a journal of the same run.
fn journaled() -> (Folder, String) {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", TINY)]);
    folder.exits(0, &["run"]);
    // A part with --resume keeps its journal for the whole.
    folder.exits(0, &["run", "--resume", "--filter", "/", "--jobs", "1"]);
    let journal = folder.read("reports/.journal.jsonl");
    assert_eq!(journal.lines().count(), 10, "{journal}");
    fs::remove_file(folder.path("reports/.journal.jsonl")).unwrap();
    (folder, journal)
}

#[test]
fn a_journal_resumes_after_its_last_whole_line() {
    let (folder, journal) = journaled();
    let expected = folder.bytes("reports");
    let ends: Vec<usize> = journal.match_indices('\n').map(|(at, _)| at + 1).collect();
    let mut cuts =
        vec![0, 1, ends[0] - 1, ends[0], ends[0] + 1, ends[4], ends[4] - 1, journal.len() - 1, journal.len()];
    cuts.extend((0..journal.len()).step_by(487));
    for cut in cuts {
        fs::remove_dir_all(folder.path("reports")).unwrap();
        fs::create_dir(folder.path("reports")).unwrap();
        folder.write("reports/.journal.jsonl", &journal[..cut]);
        folder.exits(0, &["run", "--resume"]);
        assert_eq!(folder.bytes("reports"), expected, "cut at {cut}; the journal is removed at the end");
    }
    // Half of a character is cut off like half of a line.
    fs::remove_dir_all(folder.path("reports")).unwrap();
    fs::create_dir(folder.path("reports")).unwrap();
    let cut = [&journal.as_bytes()[..ends[2]], b"{\"case\":\"\xc3"].concat();
    fs::write(folder.path("reports/.journal.jsonl"), cut).unwrap();
    folder.exits(0, &["run", "--resume"]);
    assert_eq!(folder.bytes("reports"), expected);
}

/// A journal with the checks that its lines would have, had a run written them: FNV-1a over the check above and the record.
fn checked(journal: &str) -> String {
    let chained = |above: u64, text: &str| fnv(above.to_le_bytes().into_iter().chain(text.bytes()));
    let mut check = 0;
    let mut whole = String::new();
    for (at, line) in journal.lines().enumerate() {
        let record = line.split_once("\"record\":").map(|(_, rest)| &rest[..rest.len() - 1]);
        assert_eq!(record.is_none(), at == 0, "{line}");
        check = chained(check, record.unwrap_or(line));
        whole += &record.map_or(line.to_string(), |r| format!("{{\"check\":\"{check:016x}\",\"record\":{r}}}"));
        whole.push('\n');
    }
    whole
}

#[test]
fn records_of_a_journal_are_taken_and_not_evaluated_again() {
    let (folder, journal) = journaled();
    assert_eq!(checked(&journal), journal);
    let planted = checked(&journal.replacen("\"rows\":2", "\"rows\":7", 1));
    assert_ne!(planted, journal);
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume"]);
    assert!(folder.read("reports/tiny.csv").contains(",7,"));
    // Without --resume a journal is of no account.
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
}

#[test]
fn a_damaged_journal_is_refused_where_it_is_damaged() {
    let (folder, journal) = journaled();
    let before = folder.bytes("reports");
    let mut lines: Vec<&str> = journal.lines().collect();
    lines[4] = "{\"case\": 5";
    let damaged = lines.join("\n") + "\n";
    folder.write("reports/.journal.jsonl", &damaged);
    let err = folder.exits(2, &["run", "--resume"]).err;
    assert!(err.contains(".journal.jsonl:5: the journal is damaged") && err.contains("without --resume"), "{err}");
    assert_eq!(folder.read("reports/.journal.jsonl"), damaged, "nothing is lost");
    folder.write("reports/.journal.jsonl", "no journal\n");
    assert!(folder.exits(2, &["run", "--resume"]).err.contains(".journal.jsonl:1: the journal is damaged"));
    folder.exits(0, &["run"]);
    assert_eq!(folder.bytes("reports"), before);
}

#[test]
fn a_journal_that_no_run_wrote_is_not_believed() {
    let (folder, journal) = journaled();
    let lines: Vec<&str> = journal.lines().collect();
    let edited = journal.replacen("\"rows\":2", "\"rows\":7", 1);
    let left_out = [&lines[..3], &lines[4..]].concat().join("\n") + "\n";
    let twice = [&lines[..4], &lines[3..]].concat().join("\n") + "\n";
    for (what, forged) in [("edited", edited), ("left out", left_out), ("twice", twice)] {
        folder.write("reports/.journal.jsonl", &forged);
        let err = folder.exits(2, &["run", "--resume"]).err;
        assert!(err.contains("is not as the run wrote it") && err.contains("without --resume"), "{what}: {err}");
    }
}

#[test]
fn a_journal_of_other_suites_is_begun_anew() {
    let (folder, journal) = journaled();
    let planted = checked(&journal.replacen("\"rows\":2", "\"rows\":7", 1));
    // Another text of a suite of the same name.
    folder
        .write("suites/tiny.toml", &edited(TINY, &[("\"dropped_token\" }", "\"dropped_token\", expect = \"pass\" }")]));
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
    // Another choice of suites.
    folder.write("suites/tiny.toml", TINY);
    folder.write("reports/.journal.jsonl", &planted);
    folder.exits(0, &["run", "--resume", "tiny"]);
    assert!(!folder.read("reports/tiny.csv").contains(",7,"));
}

/// A header's `"sources":"..."`, which tells one build of a version from another.
fn of_another_build(header: &str) -> String {
    let at = header.find("\"sources\":\"").unwrap() + "\"sources\":\"".len();
    let other = if &header[at..at + 1] == "0" { "1" } else { "0" };
    format!("{}{other}{}", &header[..at], &header[at + 1..])
}

#[test]
fn a_journal_of_another_build_is_begun_anew_and_told() {
    let (folder, journal) = journaled();
    let planted = journal.replacen("\"rows\":2", "\"rows\":7", 1);
    folder.write("reports/.journal.jsonl", &checked(&of_another_build(&planted)));
    let told = folder.exits(0, &["run", "--resume"]).err;
    assert!(
        told.contains("note: the journal of reports is of no use here") && told.contains("it is of ulpgate"),
        "{told}"
    );
    assert!(!folder.read("reports/tiny.csv").contains(",7,"), "a result of another build");
    // So is one of another version, whatever else it holds.
    let old = "{\"version\":5,\"program\":\"0.1.0\",\"suites\":[]}\n";
    folder.write("reports/.journal.jsonl", old);
    assert!(folder.exits(0, &["run", "--resume"]).err.contains("another version of ulpgate wrote it"));
    // Its own is taken without a word.
    folder.write("reports/.journal.jsonl", &checked(&planted));
    assert!(!folder.exits(0, &["run", "--resume"]).err.contains("note"));
    assert!(folder.read("reports/tiny.csv").contains(",7,"));
}

/// Records that a killed run has kept are there from the first moment of the next one on, not written anew line by line.
#[test]
fn a_journal_that_is_gone_on_with_keeps_its_lines() {
    let (folder, journal) = journaled();
    let ends: Vec<usize> = journal.match_indices('\n').map(|(at, _)| at + 1).collect();
    folder.write("reports/.journal.jsonl", &format!("{}half a li", &journal[..ends[5]]));
    folder.exits(0, &["run", "--resume", "--filter", "softmax/", "--jobs", "1"]);
    let after = folder.read("reports/.journal.jsonl");
    assert!(after.starts_with(&journal[..ends[5]]), "{after}");
    assert_eq!(checked(&after), after);
}
