//! Records that are kept, rendered again and merged.

use super::{Folder, KEEP, SOFTMAX, TINY, edited, with_check};

/// Three suites, with a finding that none of them expects.
fn suites() -> Folder {
    let keep = edited(KEEP, &[("EXCESS", "cpu"), ("rows = [64]", "rows = [64]\nseed = [0, 1, 2]")]);
    Folder::new(&[("softmax", SOFTMAX), ("keep", &keep), ("tiny", TINY)])
}

#[test]
fn reports_are_rendered_again_without_evaluating() {
    let folder = suites();
    let ran = folder.exits(1, &["run"]);
    let expected = folder.bytes("reports");
    // Nothing but the records is left.
    std::fs::remove_dir_all(folder.path("suites")).unwrap();
    for name in folder.names("reports").iter().filter(|name| name.contains('.')) {
        std::fs::remove_file(folder.path(&format!("reports/{name}"))).unwrap();
    }
    let again = folder.exits(1, &["report"]);
    assert_eq!(folder.bytes("reports"), expected);
    let told =
        |text: &str| text.lines().take_while(|line| !line.contains(" cases")).map(str::to_string).collect::<Vec<_>>();
    assert_eq!(told(&again.out), told(&ran.out));
    assert!(again.out.contains("7 files written to reports. "), "{}", again.out);
    assert!(folder.exits(1, &["report"]).out.contains("reports is unchanged. "));
    folder.exits(1, &["report", "--out", "elsewhere", "--format", "csv"]);
    assert_eq!(
        folder.names("elsewhere"),
        ["fingerprints.csv", "growth-points.csv", "growth.csv", "keep.csv", "softmax.csv", "tiny.csv"]
    );
    let json = folder.exits(1, &["report", "--json", "--out", "elsewhere"]).out;
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap().as_array().unwrap().len(), 3);
    assert!(folder.exits(2, &["report", "--format", "cvs"]).err.contains("unknown report `cvs`"));
}

#[test]
fn shards_of_any_split_merge_to_the_reports_of_one_run() {
    let folder = suites();
    folder.exits(1, &["run", "--out", "whole"]);
    let expected = folder.bytes("whole");
    let mut told = Vec::new();
    for parts in [1, 2, 3, 7] {
        let mut names: Vec<String> = (1..=parts).map(|part| format!("{part}-of-{parts}")).collect();
        for (at, name) in names.iter().enumerate() {
            let ran = folder.ran(&["run", "--shard", &format!("{}/{parts}", at + 1), "--out", name]);
            assert!(ran.code < 2, "{}", ran.err);
            // Part of a series says nothing of its growth.
            assert_eq!(folder.read(&format!("{name}/growth.csv")).lines().count() == 1, parts > 1);
            let is_told =
                folder.read(&format!("{name}/SUMMARY.md")).contains(": its growth is not judged without n = ");
            told.push((parts, is_told));
        }
        names.reverse();
        // A part may come twice.
        names.push(names[0].clone());
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let merged = format!("merged-{parts}");
        let ran = folder.exits(1, &[&["merge"], &names[..], &["--out", &merged]].concat());
        assert!(ran.out.contains("12 cases; "), "{}", ran.out);
        assert_eq!(folder.bytes(&merged), expected, "{parts} parts");
    }
    // And says so, wherever a part has some of its sizes.
    assert!(told.contains(&(1, false)) && told.contains(&(2, true)), "{told:?}");
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let folder = suites();
    folder.exits(0, &["run", "--shard", "1/2", "--out", "first", "softmax"]);
    folder.exits(0, &["run", "--shard", "2/2", "--out", "second", "softmax"]);
    let refused = |arguments: &[&str], why: &str| {
        let err = folder.exits(2, arguments).err;
        assert!(err.contains(why), "{err}");
    };
    refused(&["merge", "first", "--out", "merged"], "4 of 8 cases of the suite softmax are missing");
    refused(&["merge", "first", "nowhere", "--out", "merged"], "nowhere holds no records; `ulpgate run --out nowhere`");
    refused(&["report", "suites"], "suites holds no records");
    assert!(folder.names("merged").is_empty(), "nothing was written");
    // The records of a part can be shown, and say that they are a part.
    let part = folder.exits(0, &["report", "first"]).out;
    assert!(part.contains("Only 4 of 8 cases of softmax are in these records."), "{part}");
    let first = folder.read("first/records/softmax.jsonl");
    std::fs::create_dir_all(folder.path("third/records")).unwrap();
    assert_eq!(with_check(&first), first);
    let planted = |text: &str, why: &str| {
        folder.write("third/records/softmax.jsonl", text);
        refused(&["merge", "first", "second", "third", "--out", "merged"], why);
    };
    let found = first.replacen("\"pass\",\"expect\"", "\"finding\",\"expect\"", 1);
    planted(&with_check(&found), "first and third differ in softmax/");
    planted(
        &with_check(&first.replacen("Softmax stays", "Softmax is", 1)),
        "first and third are of different texts of the suite softmax",
    );
    planted(&first.replacen("\"version\":5", "\"version\":1", 1), "these records are of version 1");
    planted(&first.replacen("\"pass\"", "\"passed\"", 1), "softmax.jsonl:2: these are no records that can be read");
    let lines: Vec<&str> = first.split_inclusive('\n').collect();
    planted(&with_check(&lines[..4].concat()), "there are 3 cases and 0 series");
    planted("", "softmax.jsonl:1: these are no records");
    folder.write("third/records/softmax.jsonl", &first);
    folder.exits(0, &["merge", "first", "second", "third", "--out", "merged"]);
}

#[test]
fn records_hold_every_figure_with_its_unit() {
    let folder = suites();
    folder.exits(1, &["run"]);
    let text = folder.read("reports/records/softmax.jsonl");
    let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (header, case) = (&lines[0], &lines[1]["case"]);
    assert_eq!((&header["suite"]["name"], &header["cases"]), (&"softmax".into(), &8.into()));
    let key = &case["key"];
    assert_eq!((&key["program"], &key["subject"]), (&"softmax[rows=4]".into(), &"cpu/default/off".into()));
    assert_eq!(
        (&key["input"], &key["n"], &key["rows"], &key["seed"]),
        (&"normal".into(), &16.into(), &4.into(), &0.into())
    );
    let units: Vec<String> = case["figures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| format!("{} {}", f["name"], f["unit"]).replace('"', ""))
        .collect();
    assert!(
        units.contains(&"max_ulp ulp".to_string()) && units.contains(&"beyond_bound elements".to_string()),
        "{units:?}"
    );
    let series: Vec<_> = lines[1..].iter().filter_map(|line| line.get("series")).collect();
    assert!(!series.is_empty() && series.iter().all(|s| s["check"]["check"] == "growth"));
}

/// A suite that is gone leaves no records; a run of one suite leaves those of the others.
#[test]
fn records_are_of_the_suites_that_there_are() {
    let folder = suites();
    folder.exits(1, &["run"]);
    assert_eq!(folder.names("reports/records"), ["keep.jsonl", "softmax.jsonl", "tiny.jsonl"]);
    let before = folder.bytes("reports/records");
    folder.exits(0, &["run", "tiny"]);
    assert_eq!(folder.bytes("reports/records"), before);
    std::fs::remove_file(folder.path("suites/keep.toml")).unwrap();
    folder.exits(0, &["run"]);
    assert_eq!(folder.names("reports/records"), ["softmax.jsonl", "tiny.jsonl"]);
    folder.exits(0, &["report"]);
}

/// Records say no more than a run wrote: each edit and each cut is told, and nothing is rendered from them.
#[test]
fn records_that_no_run_wrote_are_refused() {
    let folder = suites();
    folder.exits(1, &["run"]);
    let before = folder.bytes("reports");
    let good = folder.read("reports/records/softmax.jsonl");
    let lines: Vec<&str> = good.split_inclusive('\n').collect();
    let refused = |what: &str, text: &str, why: &str| {
        folder.write("reports/records/softmax.jsonl", text);
        let err = folder.exits(2, &["report"]).err;
        assert!(err.contains("softmax.jsonl:") && err.contains(why), "{what}: {err}");
        let err = folder.exits(2, &["merge", "reports", "--out", "merged"]).err;
        assert!(err.contains(why), "{what}: {err}");
        folder.write("reports/records/softmax.jsonl", &good);
    };
    let edited = good.replacen("\"rows\":4", "\"rows\":5", 1);
    refused("edited", &edited, "a line above is not as the run wrote it");
    let swapped = [&lines[..2], &[lines[3], lines[2]], &lines[4..]].concat().concat();
    refused("swapped", &swapped, "a line above is not as the run wrote it");
    let twice = [&lines[..2], &lines[1..2], &lines[3..]].concat().concat();
    refused("twice", &with_check(&twice), "has two records");
    refused("no check", &lines[..lines.len() - 1].concat(), "the end is missing");
    refused("no line end", good.trim_end(), "the end is missing");
    refused("behind", &format!("{good}{}", lines[1]), "it stands behind the last line");
    for cut in (0..good.len() - 1).step_by(97) {
        refused("cut off", &good[..cut], "");
    }
    assert_eq!(folder.bytes("reports"), before, "nothing was written");
    assert!(folder.names("merged").is_empty());
    folder.exits(1, &["report"]);
}

/// A file that is none of records is nobody's to remove.
#[test]
fn files_that_hold_no_records_stay() {
    let folder = suites();
    folder.exits(1, &["run"]);
    folder.write("reports/records/mine.jsonl", "{\"a\":1}\n");
    folder.write("reports/records/old.jsonl", "{\"version\":3,\"ulpgate\":\"0.0.1\",\"more\":[]}\n");
    folder.exits(1, &["run"]);
    assert_eq!(folder.names("reports/records"), ["keep.jsonl", "mine.jsonl", "softmax.jsonl", "tiny.jsonl"]);
}

/// The witness of a metric is the element of its worst error, whichever batch of a program of several dims it is in.
#[test]
fn the_worst_element_is_told_with_its_own_place() {
    let suite = edited(
        TINY,
        &[("\"argmax\"", "\"f.hlo\""), ("n = [8]", "n = [4]\nseed = [0, 1, 2, 3]"), ("rows = [2]", "rows = [6]")],
    );
    let suite = edited(
        &suite,
        &[("check = [{ kind = \"dropped_token\" }]", "metric = [\"max_abs_error\"]\nexcess = [\"as-compiled\"]")],
    );
    let folder = Folder::new(&[("f", &suite)]);
    folder.write(
        "suites/f.hlo",
        "HloModule f\nENTRY e {\n  x = f32[2,3,4] parameter(0)\n  b = bf16[2,3,4] convert(x)\n  ROOT r = f32[2,3,4] convert(b)\n}\n",
    );
    // A suite that only measures judges nothing.
    assert_eq!(folder.ran(&["run"]).code, 2);
    let records = folder.read("reports/records/f.jsonl");
    let cases: Vec<serde_json::Value> = records.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let mut batches = std::collections::BTreeSet::new();
    for case in cases.iter().filter_map(|line| line.get("case")) {
        let worst = &case["worst"];
        let bits =
            |name: &str| u64::from_str_radix(worst[name].as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
        let [value, truth] = [f64::from(f32::from_bits(bits("value_hex") as u32)), f64::from_bits(bits("truth_hex"))];
        let figure: f64 = case["figures"][0]["value"].as_str().unwrap().parse().unwrap();
        assert_eq!((value - truth).abs(), figure, "{case}");
        let [row, index] = ["row", "index"].map(|name| worst[name].as_u64().unwrap());
        assert_eq!(index / 12, row, "{case}");
        batches.insert(row / 2);
    }
    assert!(batches.len() > 1, "{batches:?}");
}
