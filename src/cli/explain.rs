//! `ulpgate explain`: what a name, a mode or a case models, on what evidence, the rows that show what a case finds, and
//! the program as the compiler leaves it.

use std::collections::BTreeSet;
use std::io::Write;

use clap::Args;

use ulpgate_front::analysis::same_results;
use ulpgate_front::ir::Program;
use ulpgate_front::machine::{Mode, REFINEMENTS, find_chip};
use ulpgate_front::name::{nearest, quantity};
use ulpgate_front::program::{ProgramSpec, find_program};
use ulpgate_front::run::drawn_scalars;
use ulpgate_front::subject;
use ulpgate_front::suite::{Case, PlannedCheck, Suite};

use super::list::{Entry, Kind, entries};
use super::seconds::Limit;
use super::{Exit, Failure, suites, summary, worst_rows};

#[derive(Args)]
pub struct ExplainArguments {
    /// A name from `ulpgate list`, a column of a report (`lost[output=token]`), a mode (v5e/default/tpu), a program in
    /// a mode (keep_max/v5e/default/tpu) or a case id
    name: String,
    /// Evaluate the case even if its suite calls it slow
    #[arg(long)]
    slow: bool,
    #[command(flatten)]
    pub(super) limit: Limit,
}

pub fn run(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let name = arguments.name.as_str();
    // A column may name a mode, or settings.
    let column = name.split(" vs ").next().unwrap_or(name);
    if name.contains('/') && column == name && !name.contains("[against=") {
        return explain_path(arguments, out);
    }
    let all = entries(None)?;
    let called = |name: &str| -> Vec<&Entry> {
        all.iter().filter(|e| e.name == name || e.name.starts_with(&format!("{name}="))).collect()
    };
    let mut named = called(name);
    if named.is_empty() {
        let asked = plain(name);
        named = all.iter().filter(|entry| !asked.is_empty() && plain(&entry.name) == asked).collect();
    }
    if let Some(suite) = suites(&[]).ok().and_then(|all| all.into_iter().find(|s| s.name == name)) {
        let others = named.into_iter().filter(|entry| entry.kind != Kind::Suites).collect::<Vec<_>>();
        return explain_suite(&suite, &others, out);
    }
    if named.is_empty() {
        let figure = column.split('[').next().unwrap_or(column);
        let is_column = |entry: &&Entry| matches!(entry.kind, Kind::Columns | Kind::Checks | Kind::Metrics);
        named = called(figure).into_iter().filter(is_column).collect();
        if let Some((_, setting)) = column.split_once('[').filter(|_| !named.is_empty()) {
            writeln!(out, "Of the check with the settings {}:", setting.strip_suffix(']').unwrap_or(setting))?;
        }
        if let Some((_, mode)) = name.split_once(" vs ").filter(|_| !named.is_empty()) {
            writeln!(out, "Against what the mode {mode} gives, in the place of the truth:")?;
        }
    }
    // Of several meanings that of the word comes first, and the others say where they belong.
    named.sort_by_key(|entry| entry.kind != Kind::Words);
    for (at, entry) in named.iter().enumerate() {
        let kind = super::list::kind_name(entry.kind);
        let also = if at > 0 && entry.name == named[0].name { format!(", among {kind}") } else { String::new() };
        summary::wrap(&format!("{}{also}: {}", entry.name, entry.doc), "    ", out)?;
    }
    if let Ok(spec) = name.parse::<ProgramSpec>() {
        let program = built(&spec, EXAMPLE_SIZE)?;
        if named.is_empty() {
            summary::wrap(&format!("{spec}: {}", spec.doc()), "    ", out)?;
        }
        writeln!(out, "\nFor n = {EXAMPLE_SIZE}:\n\n{program}")?;
    } else if named.is_empty() {
        let near = nearest(name, all.iter().map(|e| e.name.as_str()));
        let hint = near.map_or("see `ulpgate list`".to_string(), |near| format!("did you mean `{near}`?"));
        return Err(Failure::Message(format!("nothing is called `{name}`; {hint}")));
    }
    Ok(Exit::AsExpected)
}

/// A name without the forms that it takes in sentences: verdicts have capitals, figures spaces, rules letters, and several an s.
fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase().replace(['-', '_', ','], " ");
    let words: Vec<&str> = lower.split_whitespace().filter(|word| word.len() > 1).collect();
    words.join(" ").trim_end_matches('s').to_string()
}

/// Shows a suite: its claim, what each matrix evaluates and asks, and the first case of each question. `others` have its name, too.
fn explain_suite(suite: &Suite, others: &[&Entry], out: &mut dyn Write) -> Result<Exit, Failure> {
    summary::wrap(&format!("{}: {}", suite.name, suite.claim), "    ", out)?;
    for text in [format!("Why it matters: {}", suite.why), format!("Source: {}", suite.source)] {
        writeln!(out)?;
        summary::wrap(&text, "    ", out)?;
    }
    let questions = questions(suite);
    let (cases, groups) = (suite.cases.len(), questions.len());
    writeln!(out, "\n{} in {}:", quantity(cases, "case"), quantity(groups, "group"))?;
    for (group, cases) in &questions {
        writeln!(out)?;
        summary::wrap(&format!("- {group}"), "    ", out)?;
        let slow = cases.iter().filter(|case| case.slow).count();
        let slow = match slow {
            0 => String::new(),
            all if all == cases.len() => ", slow (--slow)".to_string(),
            some => format!(", {some} of them slow (--slow)"),
        };
        writeln!(out, "    {}{slow}:", quantity(cases.len(), "case"))?;
        for case in cases.iter().take(SHOWN_CASES) {
            writeln!(out, "    {}", case.id)?;
        }
        if cases.len() > SHOWN_CASES {
            writeln!(out, "    and {} more", cases.len() - SHOWN_CASES)?;
        }
    }
    writeln!(
        out,
        "\nNext: `ulpgate run {0}` evaluates it, `ulpgate explain CASE` shows one of its cases.",
        suite.name
    )?;
    for entry in others {
        writeln!(out)?;
        let kind = super::list::kind_name(entry.kind);
        summary::wrap(
            &format!("Also called {}, among {kind} (`ulpgate list {kind}`): {}", entry.name, entry.doc),
            "    ",
            out,
        )?;
    }
    Ok(Exit::AsExpected)
}

/// Cases of a group that are named.
const SHOWN_CASES: usize = 3;

/// A check with the outcome that is expected of it.
fn question(check: &PlannedCheck) -> String {
    let because = check.because.as_ref().map_or(String::new(), |because| format!(", because {because}"));
    format!("{} (expected: {}{because})", check.column(), check.expect.name())
}

/// The cases of a suite by what is asked of them, in the order of the suite.
fn questions(suite: &Suite) -> Vec<(String, Vec<&Case>)> {
    let mut groups: Vec<(String, Vec<&Case>)> = Vec::new();
    for case in &suite.cases {
        let checks = case.checks.iter().map(question);
        let fits = case
            .fits
            .iter()
            .map(|fit| format!("growth of {} as n^{} (expected: {})", fit.metric, fit.slope, fit.expect.name()));
        let asked: Vec<String> = checks.chain(fits).collect();
        let asked =
            if asked.is_empty() { "nothing is asked, figures are measured".to_string() } else { asked.join("; ") };
        let group = format!("{} on {}: {asked}", case.problem.program, case.subject.id());
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, cases)) => cases.push(case),
            None => groups.push((group, vec![case])),
        }
    }
    groups
}

/// A size that shows a program's shape without filling the screen.
const EXAMPLE_SIZE: usize = 1024;

/// A mode, a program in a mode, or a case.
fn explain_path(arguments: &ExplainArguments, out: &mut dyn Write) -> Result<Exit, Failure> {
    let name = arguments.name.as_str();
    if let Ok(mode) = name.parse::<Mode>() {
        explain_mode(&mode, out)?;
        return Ok(Exit::AsExpected);
    }
    if let Some((program, mode)) = name.split_once('/')
        && let (Ok(spec), Ok(mode)) = (program.parse::<ProgramSpec>(), mode.parse::<Mode>())
    {
        let program = built(&spec, EXAMPLE_SIZE)?;
        explain_mode(&mode, out)?;
        explain_program(&program, &mode, out)?;
        return Ok(Exit::AsExpected);
    }
    let suites = suites(&[])?;
    let case = suites.iter().flat_map(|s| s.cases.iter().map(move |c| (s, c))).find(|(_, c)| c.id == name);
    let Some((suite, case)) = case else {
        return Err(Failure::Message(what_is_wrong(name, &suites)));
    };
    writeln!(out, "{}\n", case.id)?;
    for text in [suite.claim.clone(), format!("Why it matters: {}", suite.why), format!("Source: {}", suite.source)] {
        summary::wrap(&text, "    ", out)?;
    }
    writeln!(out)?;
    explain_case(case, out)?;
    if case.slow && !arguments.slow {
        writeln!(out, "Not evaluated: its suite calls it slow (--slow evaluates it).\n")?;
    } else {
        worst_rows::show(case, out)?;
    }
    let program = built(&case.problem.program, case.problem.n)?;
    if case.subject.emulated().is_some() {
        explain_mode(case.subject.promise(), out)?;
        explain_program(&program, case.subject.promise(), out)?;
    } else {
        let subject = case.subject.id();
        let told = format!(
            "These results were recorded, as {subject}: a file gives them, and which compiler and machine made them is not \
             known. They are judged by the arithmetic of the mode below, and by the program as it is declared."
        );
        summary::wrap(&told, "", out)?;
        writeln!(out)?;
        explain_mode(case.subject.promise(), out)?;
        writeln!(out, "The program as it is declared:\n\n{program}")?;
    }
    Ok(Exit::AsExpected)
}

/// Why a path is nothing: what follows a chip is a mode, what follows a program is one, all else is meant as a case.
fn what_is_wrong(path: &str, suites: &[Suite]) -> String {
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let why = |error: &dyn std::fmt::Display| format!("`{path}`: {error}");
    if find_chip(first).is_some()
        && let Err(error) = path.parse::<Mode>()
    {
        return why(&error);
    }
    if find_program(first.split('[').next().unwrap_or(first)).is_some() {
        if let Err(error) = first.parse::<ProgramSpec>() {
            return why(&error);
        }
        if let Err(error) = rest.parse::<Mode>() {
            return why(&error);
        }
    }
    let ids = suites.iter().flat_map(|suite| &suite.cases).map(|case| case.id.as_str());
    let near = ids.min_by_key(|id| strsim::damerau_levenshtein(id, path)).unwrap_or_default();
    format!("`{path}` is no mode, no program in a mode and no case; the nearest case is {near}")
}

/// Prints a text, folded where the terminal ends.
fn tell(text: String, out: &mut dyn Write) -> Result<(), Failure> {
    summary::wrap(&text, "    ", out)
}

fn explain_case(case: &Case, out: &mut dyn Write) -> Result<(), Failure> {
    tell(format!("program: {}: {}", case.problem.program, case.problem.program.doc()), out)?;
    if let Some(truth) = &case.problem.truth {
        tell(format!("truth: {}: {}", truth, truth.doc()), out)?;
    }
    tell(format!("input: {}", case.problem.input), out)?;
    for (name, number) in drawn_scalars(case)? {
        tell(format!("drawn: {name} is {number} in all rows (`arguments` of the suite sets it)"), out)?;
    }
    for metric in &case.metrics {
        let unit = metric.metric.unit().name();
        tell(format!("metric: {} [{unit}]: {}", metric.column, metric.metric.doc()), out)?;
    }
    for check in &case.checks {
        tell(format!("check: {}", question(check)), out)?;
    }
    for fit in &case.fits {
        tell(format!("growth: {} with slope {} (expected: {})", fit.metric, fit.slope, fit.expect.name()), out)?;
    }
    Ok(writeln!(out)?)
}

fn explain_mode(mode: &Mode, out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "mode: {mode}")?;
    tell(format!("chip {}: {}", mode.chip.name, mode.chip.doc), out)?;
    let ignored = if mode.chip.matrix_unit { "" } else { " (ignored: this chip has no matrix unit)" };
    tell(format!("precision {}: {}{ignored}", mode.precision.name, mode.precision.doc), out)?;
    tell(format!("excess {}: {}", mode.excess.name, mode.excess.doc), out)?;
    for row in REFINEMENTS {
        if let Some(value) = row.value_in(&mode.choices, mode.chip) {
            tell(format!("{}={}: {} Here: {}.", row.key, value.0, row.doc, value.1), out)?;
        }
    }
    Ok(writeln!(out)?)
}

/// The program for a size, over as many rows as are evaluated at a time.
fn built(spec: &ProgramSpec, n: usize) -> Result<Program, Failure> {
    Ok(spec.build(n, spec.batch(n)).map_err(|e| format!("failed to build {spec} for n = {n}: {e}"))?)
}

fn explain_program(declared: &Program, mode: &Mode, out: &mut dyn Write) -> Result<(), Failure> {
    let compiled = subject::compile(declared, mode);
    if same_results(&compiled, declared) {
        writeln!(out, "The compiler leaves the program as it is declared:\n\n{declared}")?;
    } else {
        let (before, after) = (declared.to_string(), compiled.to_string());
        writeln!(out, "Lines that begin with - the compiler changed, and those with + are what it made.")?;
        writeln!(out, "\nDeclared:\n\n{}", marked(&before, &after, '-'))?;
        writeln!(out, "As the compiler leaves it:\n\n{}", marked(&after, &before, '+'))?;
    }
    Ok(())
}

/// A program's text, in which the instructions are marked that the same computation of another text has not.
fn marked(text: &str, other: &str, mark: char) -> String {
    let instruction = |line: &str| line.trim_start().trim_start_matches("ROOT ").to_string();
    let mut known: BTreeSet<(String, String)> = BTreeSet::new();
    let mut computation = String::new();
    for line in other.lines() {
        if line.ends_with('{') {
            computation = line.to_string();
        }
        known.insert((computation.clone(), instruction(line)));
    }
    let mut lines = String::new();
    for line in text.lines() {
        if line.ends_with('{') {
            computation = line.to_string();
        }
        let is_changed = line.starts_with("  ") && !known.contains(&(computation.clone(), instruction(line)));
        match line.strip_prefix("  ").filter(|_| is_changed) {
            Some(rest) => lines.extend([&format!("{mark} "), rest, "\n"]),
            None => lines.extend([line, "\n"]),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_differ_are_marked_in_their_computation() {
        let before = "HloModule m\n\nadd {\n  a = f32[] add(x, y)\n}\n\nENTRY main {\n  b = f32[] add(x, y)\n  ROOT c = f32[] negate(b)\n}\n";
        let after = before.replace("  ROOT c = f32[] negate(b)", "  c = f32[] negate(b)\n  ROOT d = bf16[] convert(c)");
        assert_eq!(marked(before, &after, '-'), before);
        let marked = marked(&after, before, '+');
        assert!(marked.contains("\n+ ROOT d = ") && marked.contains("\n  c = "), "{marked}");
        assert_eq!(marked.matches("\n+ ").count(), 1);
        // An instruction of another computation is none of this one.
        let moved = before.replace("  b = f32[] add(x, y)\n", "  a = f32[] add(x, y)\n");
        assert!(super::marked(&moved, before, '+').contains("\n+ a = "));
    }
}
