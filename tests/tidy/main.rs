//! Holds the structure of the project: the order of crates and rooms, what registries promise, what source may not contain, and
//! that every check is shown both finding and silent.

mod book;
mod build_script;
mod circles;
mod clone;
mod collectives;
mod crates;
mod facts;
mod links;
mod mutations;
mod names;
mod notice;
mod opcodes;
mod opening;
mod own_kernel;
mod rust_kernels;
mod tiling;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use ulpgate::check::CHECKS;
use ulpgate::input::INPUTS;
use ulpgate::machine::{CHIPS, REFINEMENTS};
use ulpgate::metric::METRICS;
use ulpgate::num::FORMATS;
use ulpgate::program::PROGRAMS;
use ulpgate::rewrite::POLICIES;

/// The columns of all committed reports, without settings and modes, are in docs/reports.md.
#[test]
fn the_page_on_reports_explains_every_column() {
    let page = fs::read_to_string(root().join("docs/reports.md")).unwrap();
    let tables: String = page.lines().filter(|line| line.starts_with('|')).collect();
    let mut columns = BTreeSet::new();
    for path in files(&root().join("reports"), "csv") {
        let mut reader = csv::Reader::from_path(path).unwrap();
        columns.extend(reader.headers().unwrap().iter().map(|column| {
            let name = column.split_once('[').map_or(column, |(name, _)| name);
            name.split_once(" vs ").map_or(name, |(name, _)| name).to_string()
        }));
    }
    assert!(columns.len() > 50, "{columns:?}");
    let missing: Vec<&String> = columns.iter().filter(|column| !tables.contains(&format!("`{column}`"))).collect();
    assert!(missing.is_empty(), "columns that docs/reports.md does not explain: {missing:?}");
}

/// The longest a source file may be without a reason.
const LINES: usize = 600;

/// Files that are longer, each with the reason: none at present. A file is split by subject, never by length.
const LONGER: &[(&str, &str)] = &[];

/// The most source files of a folder.
const FILES: usize = 15;

/// Folders of more files, and how many: only ever fewer. Registries have a file for each name; the others are rooms that are not
/// parted yet.
const LARGER: &[(&str, usize)] = &[
    ("cli", 37),
    ("diff/graph", 17),
    ("ir/ir", 21),
    ("front/judge", 17),
    ("machine", 47),
    ("machine/mxu", 19),
    ("machine/symbolic", 16),
    ("machine/vector", 16),
    ("numerics/check", 22),
    ("numerics/explore", 16),
    ("numerics/input", 23),
    ("numerics/metric", 22),
    ("numerics/program", 29),
    ("oracle", 45),
    ("front/scales", 16),
    ("xla_cpu/codegen", 28),
];

#[test]
fn folders_hold_few_files() {
    let source = root().join("src");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for path in files(&source, "rs") {
        let folder = path.parent().unwrap().strip_prefix(&source).unwrap();
        *counts.entry(folder.to_str().unwrap().replace('\\', "/")).or_default() += 1;
    }
    for (folder, count) in counts {
        let most = LARGER.iter().find(|(name, _)| *name == folder).map_or(FILES, |(_, most)| *most);
        assert!(count <= most, "src/{folder} has {count} files, {most} are the most: part it by subject");
    }
}

/// The folders below `src/` that are crates.
const HOMES: [&str; 9] = ["cli", "fingerprint", "front", "hlo", "ir", "machine", "numerics", "oracle", "xla_cpu"];

/// Those that hold several rooms.
const SEVERAL: [&str; 3] = ["front", "ir", "numerics"];

/// A source file of `src/`, without its unit tests.
struct Source {
    /// The folder below `src/` of its crate; empty for the library's front.
    home: &'static str,
    /// Path below `src/`, or below the folder of a crate with several rooms, with `/`.
    path: String,
    /// Line number from 1, and the line.
    lines: Vec<(usize, String)>,
}

impl Source {
    /// The folder or file below `src/` that it belongs to.
    fn module(&self) -> &str {
        self.path.split('/').next().unwrap().trim_end_matches(".rs")
    }

    /// The lines without their comments.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines.iter().map(|(number, line)| (*number, line.find("//").map_or(line.as_str(), |at| &line[..at])))
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Files of a folder with this extension, subfolders included, in order.
fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, extension));
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// All source files but those of unit tests (`tests.rs`, `tests/`), each up to its own test module.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let mut sources = Vec::new();
    for path in files(&src, "rs") {
        let name = path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        let home = HOMES.into_iter().find(|home| name.starts_with(&format!("{home}/"))).unwrap_or_default();
        let of_room = SEVERAL.iter().find_map(|several| name.strip_prefix(several)?.strip_prefix('/'));
        let name = of_room.unwrap_or(&name).to_string();
        // A build script is part of no crate.
        if name.rsplit('/').next() == Some("build.rs")
            || home == "fingerprint"
            || name.split('/').any(|part| part == "tests" || part == "tests.rs")
        {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = Vec::new();
        let mut inside_tests = false;
        for (at, line) in text.lines().enumerate() {
            inside_tests |= line == "#[cfg(test)]";
            if !inside_tests {
                lines.push((at + 1, line.to_string()));
            }
            // A test module ends with its brace at the margin, or is a file of its own.
            if inside_tests && (line == "}" || line.starts_with("mod ") && line.ends_with(';')) {
                inside_tests = false;
            }
        }
        sources.push(Source { home, path: name, lines });
    }
    assert!(sources.len() > 50, "src/ was not read");
    sources
}

/// A name with its documentation, where it has any.
type Named = (String, Option<String>);

/// Name and documentation of each item of each registry.
fn registries() -> Vec<(&'static str, Vec<Named>)> {
    let item = |name: &str, doc: &str| (name.to_string(), Some(doc.to_string()));
    vec![
        ("INPUTS", INPUTS.iter().map(|i| item(i.name(), i.doc())).collect()),
        ("METRICS", METRICS.iter().map(|m| item(m.name(), m.doc())).collect()),
        ("PROGRAMS", PROGRAMS.iter().map(|p| item(p.name(), p.doc())).collect()),
        ("CHECKS", CHECKS.iter().map(|c| item(c.name(), c.doc())).collect()),
        ("CHIPS", CHIPS.iter().map(|c| item(c.name, c.doc)).collect()),
        ("FORMATS", FORMATS.iter().map(|f| (f.name.to_string(), None)).collect()),
        ("POLICIES", POLICIES.iter().map(|p| item(p.name, p.doc)).collect()),
        ("REFINEMENTS", REFINEMENTS.iter().map(|r| item(r.key, r.doc)).collect()),
    ]
}

/// Rooms whose fingerprints and keys decide what is the same value. Text for people is made elsewhere.
const KEYED: [&str; 3] = ["diff/element/", "machine/symbolic/", "probe/identify.rs"];

/// Two values whose `{:?}` texts are alike need not be the same.
#[test]
fn no_debug_text_is_an_identity() {
    let mut read = 0;
    for source in sources() {
        let path = &source.path;
        if KEYED.iter().any(|room| path.starts_with(room)) {
            read += 1;
            for (number, line) in source.code() {
                assert!(!line.contains(":?}"), "src/{path}:{number}: a typed key takes the place of `{{:?}}`");
            }
        }
    }
    assert!(read > 20, "only {read} files were read");
}

#[test]
fn names_are_unique_and_documented() {
    let mut wrong = Vec::new();
    for (registry, items) in registries() {
        assert!(!items.is_empty(), "{registry}");
        let mut seen = BTreeSet::new();
        for (name, doc) in items {
            if name.is_empty() || !seen.insert(name.clone()) {
                wrong.push(format!("{registry}: the name `{name}` is empty or given twice"));
            }
            if doc.is_some_and(|doc| doc.chars().count() < 20 || !doc.ends_with('.') || doc.trim() != doc) {
                wrong.push(format!("{registry}: {name}: its documentation is no sentence that ends with a period"));
            }
        }
    }
    for row in REFINEMENTS {
        let values = (row.values)(ulpgate::machine::CHIPS);
        let names: BTreeSet<&str> = values.iter().map(|(name, _)| *name).collect();
        // The documentation of a value ends a sentence that listings begin.
        let complete = |(name, doc): &(&str, &str)| !name.is_empty() && !doc.is_empty() && !doc.ends_with('.');
        if names.len() != values.len() || !values.iter().all(complete) {
            wrong.push(format!("REFINEMENTS: {}: a value is nameless, ill documented or given twice", row.key));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_program_check_and_metric_is_a_file_of_its_name() {
    let of = |wanted: &str| -> Vec<String> {
        let (_, items) = registries().into_iter().find(|(registry, _)| *registry == wanted).unwrap();
        items.into_iter().map(|(name, _)| name).collect()
    };
    let kinds = [("PROGRAMS", "program", "BuiltIn"), ("CHECKS", "check", "Check"), ("METRICS", "metric", "Metric")];
    let sources = sources();
    for (registry, folder, interface) in kinds {
        let names = of(registry);
        assert!(names.is_sorted(), "{registry} is not sorted by name");
        let implementing: Vec<&str> = sources
            .iter()
            .filter(|s| s.module() == folder)
            .filter(|s| s.code().any(|(_, line)| line.starts_with(&format!("impl {interface} for "))))
            .map(|s| s.path.rsplit('/').next().unwrap().trim_end_matches(".rs"))
            .collect();
        assert_eq!(implementing, names, "files of src/{folder} that implement {interface}, and {registry}");
    }
}

#[test]
fn source_neither_panics_nor_asks_the_platform_for_functions() {
    // What shape checking, or the caller, has ruled out is unreachable, and says so.
    let panics = [".unwrap()", ".expect(", "todo!", "unimplemented!", "panic!", "unreachable!()"];
    let functions = [
        ".exp()",
        ".exp2()",
        ".exp_m1()",
        ".ln()",
        ".ln_1p()",
        ".log(",
        ".log2()",
        ".log10()",
        ".powf(",
        ".sin()",
        ".cos()",
        ".tan()",
        ".tanh()",
        ".sinh()",
        ".cosh()",
        ".cbrt()",
        ".hypot(",
        "f64::exp",
        "f64::ln",
        "f64::powf",
        "f32::exp",
        "f32::ln",
        "f32::powf",
    ];
    let mut wrong = Vec::new();
    for source in sources() {
        let mut documented = false;
        for (number, line) in &source.lines {
            let text = line.trim_start();
            // What a function's documentation says holds until the next item begins.
            if text.starts_with("///") {
                documented |= text.contains("# Panics");
            } else if line.starts_with('}') || line.starts_with("    }") {
                documented = false;
            }
            let code = line.find("//").map_or(line.as_str(), |at| &line[..at]);
            // MPFR's values have functions of these names, which are not the platform's.
            let found = functions.iter().find(|f| code.contains(**f) && !code.contains("Float::"));
            let found = found.or_else(|| panics.iter().find(|p| code.contains(**p) && !documented));
            if let Some(what) = found {
                wrong.push(format!("src/{}:{number}: {what}", source.path));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A long file is a warning that a reason answers: it stands in `LONGER` with one, as long as it is long.
#[test]
fn long_files_have_a_reason() {
    let src = root().join("src");
    let mut wrong = Vec::new();
    let mut files_read = 0;
    for path in files(&src, "rs") {
        // Tests are read one at a time.
        if path.iter().any(|part| part == "tests" || part == "tests.rs") {
            continue;
        }
        files_read += 1;
        let name = path.strip_prefix(&src).unwrap().to_str().unwrap().replace('\\', "/");
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        let reason = LONGER.iter().find(|(long, _)| *long == name).map(|(_, reason)| *reason);
        wrong.extend(judge_length(&name, lines, reason));
    }
    for (name, _) in LONGER {
        assert!(src.join(name).exists(), "LONGER names {name}, which is gone");
    }
    assert!(files_read > 300, "only {files_read} files were read");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The fault of a file's length, if it has one.
fn judge_length(name: &str, lines: usize, reason: Option<&str>) -> Option<String> {
    match (lines > LINES, reason) {
        (true, None) => Some(format!("src/{name}: {lines} lines: split it by subject, or give LONGER the reason")),
        (true, Some(reason)) if reason.chars().count() < 20 => Some(format!("src/{name}: {reason:?} is no reason")),
        (false, Some(_)) => Some(format!("src/{name} is no longer too long")),
        _ => None,
    }
}

#[test]
fn a_long_file_without_a_reason_is_named() {
    let of = |lines, reason| judge_length("a.rs", lines, reason).is_some();
    assert!(of(601, None) && of(601, Some("long")) && of(600, Some("a table of 700 published constants")));
    assert!(!of(600, None) && !of(601, Some("a table of 700 published constants")));
}

/// The suites as TOML, by file stem.
fn suites() -> BTreeMap<String, toml::Table> {
    let paths = files(&root().join("suites"), "toml");
    let stem = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_string();
    paths.iter().map(|p| (stem(p), fs::read_to_string(p).unwrap().parse().unwrap())).collect()
}

#[test]
fn every_check_is_shown_finding_and_silent() {
    let mut expectations: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for table in suites().values() {
        for matrix in table["matrix"].as_array().unwrap() {
            for check in matrix.get("check").and_then(|c| c.as_array()).into_iter().flatten() {
                let expect = check.get("expect").map_or("pass", |e| e.as_str().unwrap());
                let kind = check["kind"].as_str().unwrap();
                expectations.entry(kind.to_string()).or_default().insert(expect.to_string());
            }
        }
    }
    let mut missing = Vec::new();
    for check in CHECKS {
        let seen = expectations.get(check.name()).cloned().unwrap_or_default();
        missing.extend(["pass", "finding"].iter().filter(|e| !seen.contains(**e)).map(|e| (check.name(), *e)));
    }
    assert!(missing.is_empty(), "no suite uses these checks with these expectations: {missing:?}");
}

/// The element that shows a finding is in its row. A recall above its expectation is of no element, and neither are errors that a
/// criterion finds in all outputs together.
#[test]
fn every_finding_of_a_report_has_its_witness() {
    let mut findings = 0;
    for path in files(&root().join("reports"), "csv") {
        let mut reader = csv::Reader::from_path(&path).unwrap();
        let header = reader.headers().unwrap().clone();
        let Some(verdict) = header.iter().position(|name| name == "verdict").filter(|_| &header[0] == "case") else {
            continue;
        };
        let cell = |row: &csv::StringRecord, name: &str| {
            header.iter().position(|column| column == name).map_or(String::new(), |at| row[at].to_string())
        };
        for row in reader.records().map(Result::unwrap).filter(|row| row[verdict].contains("finding")) {
            findings += 1;
            let above =
                cell(&row, "recall_z").parse().is_ok_and(|z: f64| z > 0.0) && cell(&row, "agreement") != "finding";
            let of_all =
                header.iter().zip(&row).any(|(name, cell)| name.starts_with("criterion") && cell.contains("finding"));
            let above = above || of_all;
            for name in ["found_by", "result", "row", "index", "value_hex", "truth_hex"] {
                assert_eq!(cell(&row, name).is_empty(), above, "{}: {}: {name}", path.display(), &row[0]);
            }
        }
    }
    assert!(findings > 450, "{findings}");
}

#[test]
fn every_suite_has_its_report() {
    let folder = root().join("reports");
    if !folder.exists() {
        return;
    }
    let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_string();
    let mut reports: BTreeSet<String> = files(&folder, "csv").into_iter().map(stem).collect();
    for shared in ["growth", "growth-points", "fingerprints"] {
        assert!(reports.remove(shared), "reports/{shared}.csv is missing");
    }
    assert_eq!(suites().into_keys().collect::<BTreeSet<_>>(), reports);
}
