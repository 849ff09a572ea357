//! Exit codes and what is printed, by what the suites expect.

use std::collections::HashMap;

use super::{Folder, KEEP, SOFTMAX, TINY, edited};

/// Lines fit a terminal that nobody made wider, and the verdict stands last.
#[test]
fn the_summary_is_as_long_as_it_is_asked_to_be() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let ran = |extra: &[&str]| folder.exits(1, &[&["run"], extra].concat()).out;
    let (plain, quiet, verbose) = (ran(&[]), ran(&["--quiet"]), ran(&["--verbose"]));
    for line in plain.lines() {
        assert!(line.chars().count() <= 80 || line.split(' ').any(|word| word.len() > 40), "{line}");
    }
    let verdict = "NOT as expected: 1 not known.";
    for text in [&plain, &quiet, &verbose] {
        assert!(text.lines().rev().take(5).any(|line| line == verdict), "{text}");
        let next = "\nNext: `ulpgate explain 'keep/keep_max[rows=64]/v5e/default/cpu/normal/256/0'`";
        assert!(text.contains(next), "{text}");
    }
    assert!(plain.contains("\nunexpected-finding: dropped_token in\n    keep/keep_max") && !plain.contains("Truth: "));
    assert!(quiet.lines().count() <= 7 && !quiet.contains("dropped_token"), "{quiet}");
    assert!(verbose.contains("grows as n^") && verbose.contains("Truth: ") && verbose.contains("Slowest: "));
    // Colour is asked for, or there is a terminal.
    assert!(!plain.contains('\u{1b}') && ran(&["--color", "always"]).contains("\u{1b}[31mNOT as expected"));
    folder.exits(2, &["run", "--quiet", "--verbose"]);
}

/// A suite is told in words: its claim, and the figure that bears it, in lines that fit the terminal.
#[test]
fn a_suites_claim_and_finding_are_told_in_words() {
    let known = "kind = \"dropped_token\"\nexpect = \"finding\"\nbecause = \"it reads both views\"";
    let known = edited(KEEP, &[("EXCESS", "cpu"), ("kind = \"dropped_token\"", known)]);
    let folder = Folder::new(&[("keep", &known), ("a-suite-with-a-rather-long-name", SOFTMAX)]);
    let out = folder.exits(0, &["run"]).out;
    assert!(
        out.contains(
            "\nkeep: The mask keeps the most probable token\n  keep_max in v5e/default/cpu loses the best token in "
        ),
        "{out}"
    );
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    // Of its 64 rows 26 lose their token: 40.625 %.
    assert!(words.contains(" in 40.6 % of rows (1 case, 1 known)"), "{out}");
    assert!(folder.read("reports/keep.csv").contains(",0,finding,26,"), "{out}");
    assert!(
        out.contains("a-suite-with-a-rather-long-name: Softmax stays inside its bound\n  max_ulp of softmax"),
        "{out}"
    );
    assert!(out.contains("As expected: only what the suites expect was found.\n"), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 80) && !out.contains("worst"), "{out}");
    // The summary beside the reports has the same sentence.
    assert!(folder.read("reports/SUMMARY.md").contains("| keep_max in v5e/default/cpu loses the best token in "));
}

#[test]
fn what_is_expected_exits_with_0_and_reports() {
    let folder = Folder::new(&[("tiny", TINY), ("softmax", SOFTMAX)]);
    let ran = folder.exits(0, &[]);
    assert!(ran.out.contains("9 cases") && ran.out.contains("As expected: nothing was found."), "{}", ran.out);
    assert_eq!(
        folder.names("reports"),
        [
            "SUMMARY.md",
            "fingerprints.csv",
            "growth-points.csv",
            "growth.csv",
            "index.html",
            "records",
            "softmax.csv",
            "tiny.csv"
        ]
    );
    let report = folder.read("reports/tiny.csv");
    assert!(report.starts_with("case,verdict,program,mode,input,size,seed,dropped_token,"), "{report}");
    let row = "\ntiny/argmax[rows=2]/v5e/default/off/normal/8/0,pass,argmax[rows=2],v5e/default/off,normal,8,0,pass,0,";
    assert!(report.contains(row), "{report}");
    let report = folder.read("reports/softmax.csv");
    assert_eq!(report.lines().count(), 9, "{report}");
    assert!(report.lines().skip(1).is_sorted(), "{report}");
    assert_eq!(folder.read("reports/growth.csv").lines().count(), 3);
    assert!(folder.read("reports/SUMMARY.md").contains("| tiny |"));
    // A second run changes nothing and says so.
    let before = folder.bytes("reports");
    assert!(folder.exits(0, &["run"]).out.contains("reports is unchanged"));
    assert_eq!(folder.bytes("reports"), before);
}

#[test]
fn an_unexpected_finding_exits_with_1_and_shows_its_evidence() {
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "cpu")]))]);
    let ran = folder.exits(1, &["run"]);
    let words = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("unexpected-finding: dropped_token in keep/keep_max[rows=64]/v5e/default/cpu/"), "{words}");
    assert!(words.contains("is the most probable") && words.contains("(0x"), "{words}");
    assert!(
        folder
            .read("reports/keep.csv")
            .contains(",unexpected-finding,keep_max[rows=64],v5e/default/cpu,normal,256,0,finding,")
    );
    let folder = Folder::new(&[("keep", &edited(KEEP, &[("EXCESS", "off")]))]);
    folder.exits(0, &["run"]);
}

/// The element that the check found, and not the one at which a metric is worst; where nothing was found, that one.
#[test]
fn a_finding_is_shown_by_its_element() {
    let suite = edited(KEEP, &[("EXCESS", "cpu"), ("rows = [64]", "rows = [64]\nseed = [0, 1]")]);
    let folder = Folder::new(&[("keep", &suite), ("softmax", SOFTMAX)]);
    folder.exits(1, &["run"]);
    let rows = |name: &str| {
        let text = folder.read(&format!("reports/{name}.csv"));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let cells = |row: csv::StringRecord| header.iter().zip(&row).map(|(a, b)| (a.into(), b.into())).collect();
        reader.records().map(|row| cells(row.unwrap())).collect::<Vec<HashMap<String, String>>>()
    };
    for row in rows("keep") {
        assert_eq!([&row["found_by"], &row["result"]], ["dropped_token", "keep"]);
        let [at, index, token] = ["row", "index", "tokens"].map(|name| row[name].parse::<u64>().unwrap());
        assert_eq!((index, at < 64), (at * 256 + token, true));
        assert_eq!([&row["value_hex"], &row["truth_hex"]], ["0x00", "0x01"], "it is not kept and should be");
        assert!(row["token_scores"].starts_with("0x") && row["token_scores"].len() == 6, "{row:?}");
    }
    let softmax = rows("softmax");
    assert!(softmax.iter().all(|row| row["found_by"] == "max_ulp" && !row["truth_hex"].is_empty()));
    let shown =
        |row: &HashMap<String, String>| row["index"].parse::<u64>().unwrap() / row["size"].parse::<u64>().unwrap();
    assert!(softmax.iter().all(|row| row["row"] == shown(row).to_string()), "{softmax:?}");
}

#[test]
fn an_expected_finding_must_occur() {
    let expected = format!("{KEEP}expect = \"finding\"\nbecause = \"rule B (FACTS 1.3)\"\n");
    let folder = Folder::new(&[("keep", &edited(&expected, &[("EXCESS", "cpu")]))]);
    folder.exits(0, &["run"]);
    assert!(
        folder
            .read("reports/keep.csv")
            .contains(",expected-finding,keep_max[rows=64],v5e/default/cpu,normal,256,0,finding,")
    );
    let folder = Folder::new(&[("keep", &edited(&expected, &[("EXCESS", "off")]))]);
    let ran = folder.exits(1, &["run"]);
    assert!(ran.out.contains("missing-finding") && ran.out.contains("expected because rule B"), "{}", ran.out);
    let told: String = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("a finding that is gone for good loses its `expect` and `because`"), "{}", ran.out);
}

#[test]
fn what_is_only_reported_exits_with_0() {
    let reported = format!("{KEEP}expect = \"report\"\nbecause = \"read in the source, not measured\"\n");
    for excess in ["off", "cpu"] {
        Folder::new(&[("keep", &edited(&reported, &[("EXCESS", excess)]))]).exits(0, &["run"]);
    }
}

/// A matrix that asks a check several times names each by the settings in which they differ.
#[test]
fn checks_of_one_kind_are_told_apart_by_their_settings() {
    let twice = |second: &str| {
        TINY.replace("argmax", "affine_greedy").replace(
            "[{ kind = \"dropped_token\" }]",
            &format!("[{{ kind = \"dropped_token\", output = \"token\" }}, {{ kind = \"dropped_token\", {second} }}]"),
        )
    };
    let folder = Folder::new(&[("tiny", &twice("output = \"token_f32\", allowance = 0.5"))]);
    folder.ran(&["run"]);
    let header = folder.read("reports/tiny.csv").lines().next().unwrap().replace('"', "");
    assert!(
        header.starts_with(
            "case,verdict,program,mode,input,size,seed,dropped_token[output=token],\
             dropped_token[output=token_f32,allowance=0.5],lost[output=token],"
        ),
        "{header}"
    );
    assert!(header.contains(",lost[output=token_f32,allowance=0.5],"), "{header}");
    folder.write("suites/tiny.toml", &twice("output = \"token\""));
    assert!(folder.exits(2, &["run"]).err.contains("check dropped_token is asked twice with the same settings"));
}
