//! Holds the structure of the project: who may use whom, what registries promise, what source may not contain, and that
//! every check is shown both finding and silent.

mod build_script;
mod circles;
mod clone;
mod facts;
mod links;
mod mutations;
mod names;
mod notice;
mod opening;
mod own_kernel;
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

/// The floors, lowest first. A module uses the floors below its own, and of its own floor only those it names here, which
/// stand before it: so there is no cycle. `machine` and `oracle` share a floor and neither names the other.
const FLOORS: &[&[(&str, &[&str])]] = &[
    &[
        ("activity", &[]),
        ("deadline", &["activity"]),
        ("budget", &["deadline"]),
        ("name", &[]),
        ("num", &[]),
        ("stat", &[]),
        ("tensor", &["num"]),
    ],
    &[("file", &[]), ("ir", &[]), ("scaled", &[])],
    &[("analysis", &[])],
    &[("hlo", &[]), ("program", &[]), ("rewrite", &[])],
    &[("machine", &[]), ("oracle", &[]), ("xla_cpu", &["machine"])],
    &[
        ("explore", &[]),
        ("flow", &[]),
        ("input", &[]),
        ("metric", &[]),
        ("scales", &[]),
        ("subject", &[]),
        ("criterion", &["input", "metric", "subject"]),
        ("diff", &["metric", "subject"]),
        ("why", &[]),
        ("same", &["input"]),
        ("check", &["criterion", "explore", "input", "metric", "same", "subject"]),
    ],
    &[("suite", &[])],
    &[("record", &[])],
    &[("report", &[]), ("gate", &["report"]), ("page", &["report", "gate"]), ("run", &[])],
    &[("evaluation", &[]), ("judge", &[]), ("probe", &[]), ("vectors", &[])],
    &[("cli", &[])],
];

/// The one place that picks a backend: the list of chips names the row of each.
const PICK: (&str, &str) = ("machine/chip.rs", "xla_cpu");

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

/// A source file of `src/`, without its unit tests.
struct Source {
    /// Path below `src/` or `src/numerics/`, with `/`.
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
        let name = name.strip_prefix("numerics/").unwrap_or(&name).to_string();
        // A build script is part of no crate.
        if name == "build.rs" || name.split('/').any(|part| part == "tests" || part == "tests.rs") {
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
        sources.push(Source { path: name, lines });
    }
    assert!(sources.len() > 50, "src/ was not read");
    sources
}

/// The modules that a file names behind `crate::`, each with the line.
fn used_modules(source: &Source) -> Vec<(usize, String)> {
    let mut used = Vec::new();
    let mut code: Vec<(usize, char)> = Vec::new();
    for (number, line) in source.code() {
        code.extend(line.chars().map(|c| (number, c)));
        code.push((number, '\n'));
    }
    let text: String = code.iter().map(|(_, c)| *c).collect();
    let starts: BTreeSet<usize> = text.match_indices("crate::").map(|(at, _)| text[..at].chars().count()).collect();
    for start in starts {
        let mut rest = code[start + "crate::".len()..].iter().copied().peekable();
        if rest.peek().map(|(_, c)| *c) != Some('{') {
            let name: Vec<_> = rest.take_while(|(_, c)| c.is_alphanumeric() || *c == '_').collect();
            used.push((code[start].0, name.iter().map(|(_, c)| *c).collect()));
            continue;
        }
        // A group: the first name of each member at its outermost level.
        let (mut depth, mut name, mut first) = (0, String::new(), true);
        for (number, c) in rest {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ if depth == 1 && first && (c.is_alphanumeric() || c == '_') => name.push(c),
                ':' => first = false,
                _ => {}
            }
            if depth == 0 || depth == 1 && c == ',' {
                if !name.is_empty() {
                    used.push((number, std::mem::take(&mut name)));
                }
                first = true;
            }
            if depth == 0 {
                break;
            }
        }
    }
    used
}

/// The floor of a module and what it may use of that floor.
fn floor_of(module: &str) -> Option<(usize, &'static [&'static str])> {
    FLOORS.iter().enumerate().find_map(|(at, floor)| {
        let (_, beside) = floor.iter().find(|(name, _)| *name == module)?;
        Some((at, *beside))
    })
}

#[test]
fn modules_use_the_floors_below_their_own() {
    let mut wrong = Vec::new();
    let mut edges = 0;
    for source in sources() {
        if matches!(source.module(), "lib" | "main") {
            continue;
        }
        let Some((own, beside)) = floor_of(source.module()) else {
            wrong.push(format!("src/{}: its floor is not stated in FLOORS", source.path));
            continue;
        };
        for (line, used) in used_modules(&source) {
            let allowed = used == source.module()
                || (source.path.as_str(), used.as_str()) == PICK
                || floor_of(&used)
                    .is_some_and(|(floor, _)| floor < own || floor == own && beside.contains(&used.as_str()));
            edges += 1;
            if !allowed {
                wrong.push(format!("src/{}:{line}: {} may not use {used}", source.path, source.module()));
            }
        }
    }
    assert!(edges > 100, "only {edges} uses were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_stands_beside_stands_before() {
    for floor in FLOORS {
        for (at, (module, beside)) in floor.iter().enumerate() {
            for other in *beside {
                assert!(floor[..at].iter().any(|(name, _)| name == other), "{module} names {other}");
            }
        }
    }
}

#[test]
fn groups_of_imports_are_read() {
    let text = "use crate::{num::{self, F32}, tensor::Tensor,\n ir};\nlet x = crate::name::hint(a); // crate::cli";
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.to_string())).collect();
    let used = used_modules(&Source { path: "file/mod.rs".to_string(), lines });
    let expected = [(1, "num"), (1, "tensor"), (2, "ir"), (3, "name")];
    assert_eq!(used, expected.map(|(line, name)| (line, name.to_string())));
}

#[test]
fn the_oracle_computes_without_core_math_and_the_machine_without_mpfr() {
    for source in sources() {
        let forbidden = match source.module() {
            "oracle" => "core_math",
            "machine" => "rug",
            _ => continue,
        };
        for (number, line) in source.code() {
            assert!(!line.contains(forbidden), "src/{}:{number}: {forbidden}", source.path);
        }
    }
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
        let values = (row.values)();
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
