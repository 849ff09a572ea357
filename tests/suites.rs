//! Every case of every suite as a test of its own name: `cargo test --test suites NAME`.
//!
//! Cases of one subject share input and truth, so the first of them to run evaluates them all. Each case is as expected, and its
//! row in the committed report says the same: every verdict and figure, digit for digit. The last test, `reports`, makes the
//! files of all reports from these results and compares them with the committed ones, as `ulpgate gate` does.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use ulpgate::gate::{self, RowChange};
use ulpgate::oracle::Oracle;
use ulpgate::record::{Origin, Record, SuiteHeader, SuiteRecord, Verdict};
use ulpgate::report::{self, Row, Table};
use ulpgate::run::{self, Group};
use ulpgate::suite::{self, Asked, Suite};

type Evaluated = Result<HashMap<String, Record>, String>;
/// A suite's name with one group of its cases and their results, once they are there.
type Shared = (&'static str, Arc<OnceLock<Evaluated>>, Arc<Group<'static>>);

#[expect(clippy::too_many_lines, reason = "the steps of one program, in order")]
fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("suites");
    // Trials outlive this function's borrows: the suites live as long as the process.
    let suites: &'static [Suite] = match suite::load_folder(&folder) {
        Ok(suites) => Box::leak(suites.into_boxed_slice()),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let committed: &'static BTreeMap<String, Table> = match committed() {
        Ok(tables) => Box::leak(Box::new(tables)),
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let asked = Asked::default();
    let headers: HashMap<&'static str, Arc<(SuiteHeader, Origin)>> = suites
        .iter()
        .map(|suite| (suite.name.as_str(), Arc::new((SuiteHeader::of(suite), Origin::of(suite, &asked)))))
        .collect();
    let cases: Vec<_> = suites.iter().flat_map(|s| &s.cases).filter(|c| !c.slow).collect();
    let asked_for = Filter::taken_from(&mut arguments);
    // Whoever takes a second case of a group waits for the first: groups are begun before any is gone through.
    let (mut firsts, mut trials) = (Vec::new(), Vec::new());
    let mut evaluated: Vec<Shared> = Vec::new();
    for group in run::groups(&cases).into_values() {
        let group = Arc::new(group);
        let results = Arc::new(OnceLock::new());
        let mut of_group = Vec::new();
        for case in group.cases.iter().filter(|case| asked_for.takes(&case.id)) {
            let (group, results, id) = (group.clone(), results.clone(), case.id.clone());
            let header = headers[case.problem.suite.as_str()].clone();
            of_group.push(Trial::test(short(&case.id), move || {
                let record = judge(results.get_or_init(|| evaluate(&group)), &id)?;
                let (header, origin) = (*header).clone();
                let suite = SuiteRecord { header, origin, cases: vec![record], series: Vec::new() };
                as_committed(committed, &suite, &format!("{}.csv", suite.name()))
            }));
        }
        let mut of_group = of_group.into_iter();
        firsts.extend(of_group.next());
        trials.extend(of_group);
        let suite = group.cases.first().map_or("", |c| c.problem.suite.as_str());
        evaluated.push((suite, results, group));
    }
    firsts.append(&mut trials);
    let mut trials = firsts;
    // One test a suite for its fits, over the cases that the tests above have evaluated or that it evaluates itself.
    for suite in suites.iter().filter(|s| s.cases.iter().any(|c| !c.fits.is_empty())) {
        if !asked_for.takes(&format!("{}/growth", suite.name)) {
            continue;
        }
        let of_suite: Vec<_> =
            evaluated.iter().filter(|(name, ..)| *name == suite.name).map(|(_, r, g)| (r.clone(), g.clone())).collect();
        trials.push(Trial::test(format!("{}/growth", suite.name), move || {
            let mut records = Vec::new();
            for (results, group) in &of_suite {
                records.extend(results.get_or_init(|| evaluate(group)).clone()?.into_values());
            }
            let judged = SuiteRecord::new(SuiteHeader::of(suite), Origin::of(suite, &Asked::default()), records);
            let wrong: Vec<_> = judged.series.iter().filter(|series| !series.verdict().as_expected()).collect();
            if !wrong.is_empty() {
                return Err(Failed::from(format!("{wrong:#?}")));
            }
            // Slow cases do not run here, nor do series of nothing else.
            let asked = judged.header.series.iter().filter(|plan| !plan.sizes.is_empty()).count();
            if judged.series.len() != asked {
                return Err(Failed::from("a series lacks a size"));
            }
            if asked == 0 {
                return Ok(());
            }
            as_committed(committed, &judged, "growth.csv")?;
            as_committed(committed, &judged, "growth-points.csv")
        }));
    }
    let ids: Vec<&'static str> = cases.iter().map(|case| case.id.as_str()).collect();
    if asked_for.takes("names_are_short") {
        trials.push(Trial::test("names_are_short", move || names_are_short(&ids)));
    }
    // Who leaves cases out does not want them evaluated for the whole.
    if asked_for.skip.is_empty() && asked_for.takes("reports") {
        trials.push(Trial::test("reports", move || {
            let records: Result<Vec<_>, _> =
                evaluated.iter().map(|(_, r, g)| r.get_or_init(|| evaluate(g)).clone()).collect();
            let records = records?.into_iter().flat_map(HashMap::into_values).collect();
            files_as_committed(suites, records)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The cases that the command line asks for, by their ids or by the names that are printed.
struct Filter {
    filter: Option<String>,
    skip: Vec<String>,
    exact: bool,
}

impl Filter {
    /// Takes the filters from the arguments: printed names are shorter than ids, and not what people ask for.
    fn taken_from(arguments: &mut Arguments) -> Filter {
        let (filter, skip) = (arguments.filter.take(), std::mem::take(&mut arguments.skip));
        Filter { filter, skip, exact: arguments.exact }
    }

    fn takes(&self, id: &str) -> bool {
        let printed = short(id);
        let fits = |text: &String| match self.exact {
            true => id == text || printed == *text,
            false => id.contains(text.as_str()) || printed.contains(text.as_str()),
        };
        self.filter.as_ref().is_none_or(fits) && !self.skip.iter().any(fits)
    }
}

/// Characters of a printed name: with `test ` before it and the outcome behind it, it fits a terminal of 80 columns.
const NAME: usize = 66;

/// An id in one short line: what is too long ends with a hash of it, so that no two names are equal.
fn short(id: &str) -> String {
    if id.chars().count() <= NAME {
        return id.to_string();
    }
    let hash =
        id.bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let hash = format!("~{:08x}", hash >> 32);
    let kept: String = id.chars().take(NAME - hash.len()).collect();
    kept + &hash
}

/// A test is told in a line that fits a terminal, by a name of its own.
fn names_are_short(ids: &[&str]) -> Result<(), Failed> {
    let names: BTreeSet<String> = ids.iter().map(|id| short(id)).collect();
    let long = names.iter().find(|name| format!("test {name} ... ok").chars().count() > 80);
    match long {
        Some(name) => Err(Failed::from(format!("too long: {name}"))),
        None if names.len() < ids.len() => Err(Failed::from("two cases have one name")),
        None => Ok(()),
    }
}

fn evaluate(group: &Group) -> Evaluated {
    let outcome = run::evaluate(group, &Oracle::default()).map_err(|e| e.to_string())?;
    Ok(outcome.records.into_iter().map(|r| (r.id(), r)).collect())
}

/// The committed reports by their names.
fn committed() -> Result<BTreeMap<String, Table>, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    let mut tables = BTreeMap::new();
    for entry in std::fs::read_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_string();
        if name.ends_with(".csv") {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let table = report::parse(&name, &text).map_err(|e| format!("{}: {e}", path.display()))?;
            tables.insert(name, table);
        }
    }
    Ok(tables)
}

/// The rows of one report of a suite are those that are committed, cell by cell.
fn as_committed(committed: &BTreeMap<String, Table>, suite: &SuiteRecord, name: &str) -> Result<(), Failed> {
    let table =
        committed.get(name).ok_or_else(|| format!("reports/{name} is missing: `ulpgate gate --bless` writes it"))?;
    let csv = report::REPORTS.iter().find(|report| report.name() == "csv").ok_or("there is no report csv")?;
    let files = csv.files(std::slice::from_ref(suite));
    let fresh = files.iter().find(|file| file.name == name).ok_or_else(|| format!("no file {name} is made"))?;
    let fresh = report::parse(name, &fresh.text).map_err(|e| e.to_string())?;
    let mut differences = Vec::new();
    for (key, row) in &fresh {
        match table.get(key) {
            Some(old) => differences.extend(differing(old, row).into_iter().map(|cell| format!("{key}: {cell}"))),
            None => differences.push(format!("{key}: reports/{name} has no such row")),
        }
    }
    if fresh.is_empty() {
        differences.push(format!("{name} has no row"));
    }
    match differences[..] {
        [] => Ok(()),
        _ => {
            Err(Failed::from(format!("{}\n`ulpgate gate` shows it, and `--bless` accepts it", differences.join("\n"))))
        }
    }
}

/// All files of the reports are the committed ones, byte by byte, and there are no others.
fn files_as_committed(suites: &[Suite], mut records: Vec<Record>) -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("reports");
    records.sort_by_cached_key(Record::id);
    let records = SuiteRecord::all_of(suites, records, &Asked::default());
    let files = report::files(&records);
    let mut differences = gate::compare(&files, &folder, &|_| true).map_err(|e| e.to_string())?;
    let names = files.into_iter().map(|file| file.name).collect();
    differences.extend(gate::left_over(&names, &folder).map_err(|e| e.to_string())?);
    differences.retain(|difference| difference.change != RowChange::Stray);
    match differences[..] {
        [] => Ok(()),
        _ => Err(Failed::from(differences.iter().map(|d| format!("{d}\n")).collect::<String>())),
    }
}

/// The cells that differ. A column that only one of both has is empty in the other.
fn differing(old: &Row, fresh: &Row) -> Vec<String> {
    let columns: std::collections::BTreeSet<&String> = old.keys().chain(fresh.keys()).collect();
    let cell = |row: &Row, column: &str| row.get(column).cloned().unwrap_or_default();
    let differ = columns.into_iter().filter(|column| cell(old, column) != cell(fresh, column));
    differ.map(|column| format!("{column}: {} -> {}", cell(old, column), cell(fresh, column))).collect()
}

/// A case's record, if all is as expected.
fn judge(evaluated: &Evaluated, id: &str) -> Result<Record, Failed> {
    let records = evaluated.as_ref().map_err(Failed::from)?;
    let record = records.get(id).ok_or("the case gave no record")?;
    if record.verdict() < Verdict::Undecided {
        return Ok(record.clone());
    }
    let lines: Vec<String> = record
        .checks
        .iter()
        .filter(|c| !c.verdict().as_expected())
        .map(|c| format!("{}: {}: {}\n{}", c.verdict().name(), c.column(), c.note, c.evidence.join("\n")))
        .collect();
    Err(Failed::from(lines.join("\n")))
}
