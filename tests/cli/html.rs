//! The page over all reports. What only a browser can tell, `scripts/check_html.py` asks of Chromium.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{Folder, KEEP, SOFTMAX, TINY, edited};

/// Suites with a growth, a bound, a rate, a known finding and one that nobody expects; a claim with characters that mean
/// something in HTML; and recalls.
fn folder() -> Folder {
    let claim = r#"claim = "a <b> & \"c\" survive""#;
    let expected = "kind = \"dropped_token\"\nexpect = \"finding\"\nbecause = \"p < its own maximum\"";
    let known = edited(KEEP, &[("EXCESS", "cpu"), ("kind = \"dropped_token\"", expected)]);
    let recall = TINY.replace("program = [\"argmax\"]", "program = [\"approx_max_k\"]");
    let recall = edited(&recall, &[("n = [8]", "n = [1024]"), ("dropped_token", "recall")]);
    let seeds = edited(SOFTMAX, &[("rows = [4]", "rows = [4]\nseed = [0, 1]")]);
    Folder::new(&[
        ("softmax", &seeds),
        ("keep", &edited(KEEP, &[("EXCESS", "cpu")])),
        ("known", &known),
        ("recall", &recall),
        ("tiny", &edited(TINY, &[(r#"claim = "The most probable token survives""#, claim)])),
    ])
}

/// The text of a record, as HTML has it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// All lines of the records in a folder of reports.
fn records(folder: &Folder, reports: &str) -> Vec<Value> {
    let records = format!("{reports}/records");
    let lines = |name: &String| -> Vec<Value> {
        let text = folder.read(&format!("{records}/{name}"));
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    folder.names(&records).iter().filter(|name| name.ends_with(".jsonl")).flat_map(lines).collect()
}

/// Every element closes, in order; the names of all elements.
#[track_caller]
fn elements(page: &str) -> Vec<&str> {
    const VOID: [&str; 4] = ["meta", "input", "br", "wbr"];
    let (mut open, mut seen): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut rest = page.strip_prefix("<!DOCTYPE html>").unwrap();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        let (tag, after) = rest.split_once('>').unwrap();
        rest = after;
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "at {}", &rest[..rest.len().min(80)]);
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        seen.push(name);
        if ["style", "script"].contains(&name) {
            // Text alone up to the end.
            rest = &rest[rest.find(&format!("</{name}>")).unwrap()..];
        }
        if !VOID.contains(&name) && !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    seen
}

/// The values of an attribute.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    page.split(&format!(" {attribute}=\"")).skip(1).map(|after| after.split('"').next().unwrap()).collect()
}

#[test]
fn the_page_needs_nothing_else_and_is_well_formed() {
    let folder = folder();
    folder.exits(1, &["run"]);
    let page = folder.read("reports/index.html");
    let names: BTreeSet<&str> = elements(&page).into_iter().collect();
    for name in ["link", "img", "iframe", "object", "base", "b"] {
        assert!(!names.contains(name), "<{name}>");
    }
    for reach in [" src=", "url(", "@import", "fetch(", "XMLHttpRequest", "http:", "https:"] {
        assert!(!page.contains(reach), "{reach}");
    }
    assert!(page.contains("a &lt;b&gt; &amp; &quot;c&quot; survive"));
    let ids = values(&page, "id");
    let known: BTreeSet<&str> = ids.iter().copied().collect();
    assert_eq!(ids.len(), known.len(), "ids are there once");
    let decoded = |link: &str| {
        ["%5B=[", "%5D=]", "%3C=&lt;", "%3E=&gt;", "%20= ", "%25=%"].iter().fold(link[1..].to_string(), |link, pair| {
            let (from, to) = pair.split_once('=').unwrap();
            link.replace(from, to)
        })
    };
    let links: Vec<String> = values(&page, "href").into_iter().map(decoded).collect();
    assert!(links.len() > 50);
    let lost: Vec<&String> = links.iter().filter(|link| !known.contains(link.as_str())).collect();
    assert!(lost.is_empty(), "links that lead nowhere: {lost:?}");
}

#[test]
fn every_case_has_a_row_and_every_finding_its_witness() {
    let folder = folder();
    folder.exits(1, &["run"]);
    let page = folder.read("reports/index.html");
    let ids: BTreeSet<&str> = values(&page, "id").into_iter().collect();
    let (mut cases, mut alarms, mut known) = (0, 0, 0);
    for record in records(&folder, "reports") {
        // Other lines are headers and series.
        let Some(record) = record.get("case") else { continue };
        let key = &record["key"];
        let text = |name: &str| key[name].as_str().unwrap().to_string();
        let [suite, program, subject, input] = ["suite", "program", "subject", "input"].map(text);
        let id = format!("{suite}/{program}/{subject}/{input}/{}/{}", key["n"], key["seed"]);
        assert!(ids.contains(id.as_str()), "{id}");
        cases += 1;
        for check in record["checks"].as_array().unwrap() {
            let name = check["check"].as_str().unwrap();
            let place = match (check["outcome"].as_str().unwrap(), check["expect"].as_str().unwrap_or_default()) {
                ("finding", "finding" | "report") => "finding",
                ("finding", _) => "alarm",
                _ => continue,
            };
            let id = format!("{place}/{name}/{id}");
            assert!(ids.contains(id.as_str()), "{id}");
            let (_, row) = page.split_once(&format!(" id=\"{id}\"")).unwrap();
            let row = &row[..row.find("</ul>").unwrap()];
            assert!(row.contains(&escaped(check["note"].as_str().unwrap())), "{row}");
            for line in check["evidence"].as_array().unwrap() {
                assert!(row.contains(&format!("<li>{}</li>", escaped(line.as_str().unwrap()))), "{line}: {row}");
            }
            *(if place == "alarm" { &mut alarms } else { &mut known }) += 1;
        }
    }
    assert_eq!((cases, alarms, known), (20, 1, 1));
    assert!(page.contains("NOT as expected: 1 not known.") && page.contains("Because p &lt; its own maximum."));
}

/// Bars are for people: a mode stands once, without its refinements, and a date has no place where its line may end.
#[test]
fn headlines_name_modes_without_refinements() {
    let expected = "kind = \"dropped_token\"\nexpect = \"finding\"\nbecause = \"p is read twice\"";
    let modes = [
        ("EXCESS", "cpu"),
        ("kind = \"dropped_token\"", expected),
        ("rows = [64]", "rows = [64]\nrefinement = [\"\", \"narrow=bf16\"]"),
    ];
    let folder = Folder::new(&[("keep", &edited(KEEP, &modes))]);
    folder.exits(0, &["run"]);
    let page = folder.read("reports/index.html");
    let headlines = page.split("<section id=\"headlines\"").nth(1).unwrap().split("</section>").next().unwrap();
    assert!(headlines.contains("roundings left out as by the CPU's compiler"), "{headlines}");
    let bars = headlines.split("<table class=\"bars\">").nth(1).unwrap();
    assert_eq!(bars.matches("<td>").count(), 1, "{bars}");
    assert!(!bars.contains("narrow"), "{bars}");
}

#[test]
fn every_plot_has_points() {
    let folder = folder();
    folder.exits(1, &["run"]);
    let page = folder.read("reports/index.html");
    // Two metrics of softmax with 8 sizes and seeds in two modes, its bound, the rate of the mask in both suites, a recall.
    let mut points: Vec<usize> = values(&page, "data-points").iter().map(|count| count.parse().unwrap()).collect();
    points.sort_unstable();
    assert_eq!(points, [1, 1, 1, 16, 16], "{points:?}");
    let (_, growth) = page.split_once("<section id=\"growth\"").unwrap();
    let growth = &growth[..growth.find("</section>").unwrap()];
    let svg = &growth[growth.find("<svg class=\"chart\"").unwrap()..growth.find("</svg>").unwrap()];
    assert_eq!((svg.matches("s0 point").count(), svg.matches("s1 point").count()), (8, 8));
    for mark in ["fill s0 pale", "stroke s0\"", "stroke s0 dashed"] {
        assert!(svg.contains(mark), "{mark}: {svg}");
    }
    assert!(growth.contains("2 seeds"), "{growth}");
}

#[test]
fn what_changed_comes_first() {
    let folder = Folder::new(&[("softmax", SOFTMAX)]);
    folder.exits(0, &["run"]);
    let first = folder.read("reports/index.html");
    assert!(first.contains("As expected.") && first.contains("There were no earlier reports"));
    folder.exits(0, &["run"]);
    assert_eq!(folder.read("reports/index.html"), first, "equal records and no change give equal bytes");
    folder.exits(0, &["gate", "--html", "page.html"]);
    let same = folder.read("page.html");
    assert!(same.contains("Nothing changed against the reports in reports."));
    folder.exits(0, &["report", "--format", "html", "--baseline", "reports", "--out", "elsewhere"]);
    assert_eq!(folder.read("elsewhere/index.html"), same);
    assert!(folder.exits(2, &["report", "--baseline", "none"]).err.contains("the baseline none is no folder"));
    let report = folder.read("reports/softmax.csv");
    let (case, _) = report.lines().nth(1).unwrap().split_once(',').unwrap();
    folder.write("reports/softmax.csv", &report.replace(",pass,softmax", ",unexpected-finding,softmax"));
    folder.exits(1, &["gate", "--html", "page.html"]);
    let page = folder.read("page.html");
    assert!(page.contains("As expected, but not as before."), "{}", &page[page.find("<main").unwrap()..][..600]);
    assert!(page.contains("Changed against the reports in reports: 8 better."));
    assert!(page.contains(&format!(">{case}</a></td><td>verdict: unexpected-finding → pass (better)</td>")));
    assert!(page.find(" id=\"changes\"").unwrap() < page.find(" id=\"alarms\"").unwrap());
    // The page is no report of the baseline, and is not told as a stray file.
    folder.exits(0, &["report"]);
    assert!(folder.read("reports/index.html").contains("8 better"));
    assert!(!folder.exits(0, &["gate"]).out.contains("index.html"));
    folder.exits(0, &["report", "--format", "html", "--out", "elsewhere"]);
    assert_eq!(folder.names("elsewhere"), ["index.html"]);
}

#[test]
fn programs_from_files_have_their_flow() {
    let folder = Folder::new(&[]);
    std::fs::remove_dir(folder.path("suites")).unwrap();
    folder.exits(0, &["init"]);
    folder.exits(0, &["run"]);
    let page = folder.read("reports/index.html");
    elements(&page);
    let (_, flow) = page.split_once(" id=\"flow/programs/keep_max.excess_on.hlo\"").unwrap();
    let flow = &flow[..flow.find("</pre>").unwrap()];
    assert!(flow.contains("values seen in several precisions") && flow.contains("twice\""), "{flow}");
    // Programs are below their suite: a page of all suites has two hundred of them.
    let (_, flows) = page.split_once(" id=\"flow-title\"").unwrap();
    assert!(flows.contains("<summary><span class=\"name\">sampler</span>: 3 programs</summary>"), "{flows}");
    // A file that is not the one of the records has none.
    let hlo = folder.read("programs/keep_max.excess_on.hlo");
    folder.write("programs/keep_max.excess_on.hlo", &(hlo + "\n"));
    folder.exits(0, &["report"]);
    assert!(folder.read("reports/index.html").contains("the file is not the one that the records are of"));
}

/// Skipped, and says so, where there is no Chromium.
#[test]
fn chromium_has_nothing_to_complain_about() {
    let folder = folder();
    folder.exits(1, &["run"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/check_html.py");
    let checked = Command::new("python3").arg(script).arg(folder.path("reports/index.html")).output();
    match checked {
        Ok(output) if output.status.code() == Some(2) => {
            eprintln!("SKIPPED: {}", String::from_utf8_lossy(&output.stderr))
        }
        Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout)),
        Err(error) => eprintln!("SKIPPED: python3: {error}"),
    }
}

/// A second run does not forget what the first one changed: the page is held against the last commit.
#[test]
fn the_page_tells_what_changed_against_the_last_commit() {
    let folder = Folder::new(&[("tiny", TINY)]);
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=x", "-c", "user.email=x@localhost"];
        let run = Command::new("git").current_dir(folder.path(".")).args(identity).args(arguments).output();
        run.is_ok_and(|run| run.status.success())
    };
    if !git(&["init", "-q"]) {
        eprintln!("skipped: there is no git");
        return;
    }
    folder.exits(0, &["run"]);
    assert!(git(&["add", "suites", "reports/tiny.csv", "reports/fingerprints.csv"]) && git(&["commit", "-qm", "x"]));
    folder.write("suites/tiny.toml", &edited(TINY, &[("rows = [2]", "rows = [3]")]));
    for _ in 0..2 {
        folder.exits(0, &["run"]);
        let page = folder.read("reports/index.html");
        assert!(page.contains("Changed against the reports in HEAD:reports") && page.contains("argmax[rows=3]"));
    }
}
