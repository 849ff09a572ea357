//! Parts that are merged are of one run and one build, and have all of its cases.

use super::{Folder, SOFTMAX, edited, with_check};

/// The suite of [`SOFTMAX`], eight cases, with eight slow ones more.
fn folder() -> Folder {
    let slow = "[[matrix]]\nprogram = [\"softmax\"]\nchip = [\"v5e\", \"cpu\"]\ninput = [\"normal\"]\n\
                n = [12, 24, 48, 96]\nrows = [4]\nslow = true\nmetric = [\"max_ulp\"]\n";
    Folder::new(&[("softmax", &format!("{SOFTMAX}\n{slow}"))])
}

fn parts(folder: &Folder, name: &str, of: usize, arguments: &[&str]) -> Vec<String> {
    let run = |part: usize| {
        let out = format!("{name}-{part}");
        folder.exits(0, &[&["run", "--shard", &format!("{part}/{of}"), "--out", &out], arguments].concat());
        out
    };
    (1..=of).map(run).collect()
}

fn merge<'a>(parts: impl IntoIterator<Item = &'a String>, out: &'a str) -> Vec<&'a str> {
    ["merge"].into_iter().chain(parts.into_iter().map(String::as_str)).chain(["--out", out]).collect()
}

#[test]
fn a_slow_run_is_complete_with_all_of_its_parts_alone() {
    let folder = folder();
    folder.exits(0, &["run", "--slow", "--out", "whole"]);
    let parts = parts(&folder, "part", 4, &["--slow"]);
    folder.exits(0, &merge(&parts, "merged"));
    assert_eq!(folder.bytes("merged"), folder.bytes("whole"));
    let cases = |part: &String| {
        let records = folder.read(&format!("{part}/records/softmax.jsonl"));
        records.lines().filter(|line| line.starts_with("{\"case\":")).count()
    };
    // Without one of them there are as many cases as are not slow, or more.
    let mut more = 0;
    for left_out in &parts {
        let others = parts.iter().filter(|part| *part != left_out);
        let missing = cases(left_out);
        if missing == 0 {
            continue;
        }
        more += usize::from(16 - missing >= 8);
        let err = folder.exits(2, &merge(others, "incomplete")).err;
        assert!(err.contains(&format!("{missing} of 16 cases of the suite softmax are missing")), "{err}");
        assert!(folder.names("incomplete").is_empty());
    }
    assert!(more > 1);
    // A whole run of the others beside a part of the slow ones leaves slow ones out.
    folder.exits(0, &["run", "--out", "usual"]);
    let err = folder.exits(2, &merge([&"usual".to_string(), &parts[0]], "incomplete")).err;
    assert!(err.contains("of 16 cases of the suite softmax are missing"), "{err}");
    assert!(folder.exits(2, &["report", &parts[0]]).out.contains("of 16 cases of softmax are in these records."));
}

#[test]
fn parts_of_a_filter_have_together_what_it_lets_pass() {
    let folder = folder();
    folder.exits(0, &["run", "--filter", "/cpu/", "--out", "whole"]);
    let parts = parts(&folder, "part", 3, &["--filter", "/cpu/"]);
    folder.exits(0, &merge(&parts, "merged"));
    assert_eq!(folder.bytes("merged"), folder.bytes("whole"));
    let some = parts.iter().find(|part| !folder.read(&format!("{part}/softmax.csv")).is_empty()).unwrap();
    let others = parts.iter().filter(|part| *part != some);
    assert!(folder.exits(2, &merge(others, "incomplete")).err.contains("of 4 cases of the suite softmax are missing"));
    // Two filters that have all cases between them are the whole suite.
    folder.exits(0, &["run", "--filter", "/v5e/", "--out", "other"]);
    folder.exits(0, &["run", "--out", "all"]);
    folder.exits(0, &["merge", "whole", "other", "--out", "both"]);
    assert_eq!(folder.bytes("both"), folder.bytes("all"));
    let err = folder.exits(2, &["merge", "other", &parts[0], "--out", "incomplete"]).err;
    assert!(err.contains("of 8 cases of the suite softmax are missing"), "{err}");
}

/// As many cases as there should be are not the cases that there should be.
#[test]
fn cases_are_compared_and_not_counted() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let good = folder.read("reports/records/softmax.jsonl");
    let edited = with_check(&good.replacen("\"n\":64,", "\"n\":65,", 1));
    assert_ne!(edited, good);
    folder.write("reports/records/softmax.jsonl", &edited);
    let err = folder.exits(2, &["merge", "reports", "--out", "merged"]).err;
    assert!(err.contains("the 8 cases of the suite softmax are not the 8 that its parts were asked for"), "{err}");
}

/// Two builds of one version may compute other results.
#[test]
fn parts_of_two_builds_are_not_merged() {
    let folder = Folder::new(&[("softmax", SOFTMAX), ("tiny", &edited(super::TINY, &[]))]);
    let parts = parts(&folder, "part", 2, &[]);
    folder.exits(0, &merge(&parts, "merged"));
    let file = format!("{}/records/tiny.jsonl", parts[1]);
    let good = folder.read(&file);
    let sources = |text: &str| {
        let at = text.find("\"sources\":\"").unwrap() + "\"sources\":\"".len();
        text[at..at + 16].to_string()
    };
    assert_eq!(sources(&good), sources(&folder.read(&format!("{}/records/softmax.jsonl", parts[0]))));
    let of_other = |text: &str| with_check(&text.replacen(&sources(text), "0123456789abcdef", 1));
    folder.write(&file, &of_other(&good));
    let err = folder.exits(2, &merge(&parts, "refused")).err;
    assert!(err.contains("part-1 is of ulpgate ") && err.contains("and part-2 of ulpgate "), "{err}");
    assert!(err.contains("of sources 0123456789abcdef, which may compute other results: run all parts"), "{err}");
    // Nor are they where all parts are of a build that is not the one that judges their series.
    for part in &parts {
        for suite in ["softmax", "tiny"] {
            let file = format!("{part}/records/{suite}.jsonl");
            folder.write(&file, &of_other(&folder.read(&file)));
        }
    }
    let err = folder.exits(2, &merge(&parts, "refused")).err;
    assert!(err.contains("part-1 is of ulpgate ") && err.contains("and this program of ulpgate "), "{err}");
    // A version is part of a build.
    folder.write(&file, &with_check(&good.replacen("\"ulpgate\":\"", "\"ulpgate\":\"9.", 1)));
    assert!(folder.exits(2, &merge(&parts, "refused")).err.contains("of ulpgate 9."));
    assert!(folder.names("refused").is_empty());
}
