//! The rows that show a case's findings, side by side: the tokens in question in each view of a row, and the deciding
//! step.

use std::collections::BTreeSet;
use std::io::Write;

use ulpgate_front::check::{Outcome, Witness, bits_hex, find_check};
use ulpgate_front::oracle::{Oracle, TruthTensor};
use ulpgate_front::record::CheckRecord;
use ulpgate_front::run::{CloseUp, Scores, record_of};
use ulpgate_front::suite::Case;
use ulpgate_front::tensor::{DType, Tensor};

use super::{Failure, summary};

/// Tokens of a row that are shown beside each other.
const MOST_TOKENS: usize = 4;

/// Evaluates a case, and shows its verdict and notes with the rows of its findings.
pub fn show(case: &Case, out: &mut dyn Write) -> Result<(), Failure> {
    let oracle = Oracle::default();
    let record = record_of(case, &oracle)?;
    writeln!(out, "Evaluated: {}", record.verdict().name())?;
    for check in &record.checks {
        let line = format!("  {}: {}: {}", check.column(), check.outcome.name(), check.note);
        summary::wrap(&line, "    ", out)?;
        for line in &check.evidence {
            summary::wrap(&format!("    {line}"), "      ", out)?;
        }
    }
    let of_case = |check: &&CheckRecord| !find_check(&check.check).is_some_and(|kind| kind.brings_inputs());
    let found: Vec<(&CheckRecord, &Witness)> = record
        .checks
        .iter()
        .filter(of_case)
        .flat_map(|check| check.witnesses.iter().map(move |witness| (check, witness)))
        .collect();
    if record.checks.iter().all(|check| check.witnesses.is_empty())
        && record.checks.iter().any(|check| check.outcome == Outcome::Finding)
    {
        writeln!(out, "No element is wrong by itself.")?;
    }
    let mut rows: Vec<u64> = Vec::new();
    for (_, witness) in &found {
        if !rows.contains(&witness.row) {
            rows.push(witness.row);
        }
    }
    let problem = &case.problem;
    let knows_declared = problem.program.file().is_none() || problem.truth.is_some();
    let (mut close_up, spec_rows): (Option<CloseUp>, _) = (None, case.problem.program.rows);
    for row in rows {
        let of_row: Vec<_> = found.iter().filter(|(_, witness)| witness.row == row).copied().collect();
        let place = row as usize;
        if !close_up.as_ref().is_some_and(|batch| batch.rows.contains(&place) || batch.rows.len() == spec_rows) {
            close_up = Some(CloseUp::of(case, &oracle, place)?);
        }
        if let Some(close_up) = &close_up {
            let (row, n) = (place.saturating_sub(close_up.rows.start), case.problem.n);
            let row = Row { close_up, row, n, knows_declared, is_recorded: case.subject.emulated().is_none() };
            show_row(place, &row, &of_row, out)?;
        }
    }
    Ok(writeln!(out)?)
}

fn show_row(number: usize, row: &Row, found: &[(&CheckRecord, &Witness)], out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "\nRow {number}")?;
    let tokens = row.tokens(found);
    if !tokens.is_empty() {
        let heads = tokens.iter().map(|token| format!("token {token}")).collect();
        let mut table = vec![[vec![String::new()], heads].concat()];
        table.extend(row.views(&tokens).into_iter().map(|(name, cells)| [vec![name], cells].concat()));
        aligned(&table, out)?;
    }
    let shown = row.elements(found);
    let mut lines: Vec<[String; 2]> = Vec::new();
    for (output, at) in &shown {
        // What is in the table already has been said.
        if tokens.is_empty() || !row.per_token().any(|other| other == *output) {
            let due = found.iter().find(|(_, witness)| row.place_of(witness) == Some((*output, *at)));
            let due = due.map_or(String::new(), |(_, witness)| format!(", held against {}", row.due(*output, witness)));
            lines.push([row.element(*output, *at), row.values(*output, *at) + &due]);
        }
    }
    let width = lines.iter().map(|[name, _]| name.len()).max().unwrap_or(0);
    for [name, values] in &lines {
        writeln!(out, "  {name:width$}  {values}")?;
    }
    let decided = found.first().and_then(|(_, witness)| row.decided(witness, &shown));
    decided.map_or(Ok(()), |decided| summary::wrap(&format!("  Decided by {decided}"), "    ", out))
}

/// Lines of a table, each column as wide as its widest cell.
fn aligned(table: &[Vec<String>], out: &mut dyn Write) -> Result<(), Failure> {
    let columns = table.first().map_or(0, Vec::len);
    let widths: Vec<usize> =
        (0..columns).map(|at| table.iter().map(|line| line[at].len()).max().unwrap_or(0)).collect();
    for line in table {
        let cells: Vec<String> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        writeln!(out, "  {}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// A row of a case of size `n`.
struct Row<'a> {
    close_up: &'a CloseUp,
    /// Its place in the batch.
    row: usize,
    n: usize,
    /// Whether the case says what was declared: the program of a file may be a compiler's output.
    knows_declared: bool,
    /// Whether something else computed the results: then neither a machine nor a compiler is known.
    is_recorded: bool,
}

impl Row<'_> {
    /// Elements of a result in one row.
    fn width(&self, output: usize) -> usize {
        let tensor = &self.close_up.computed[output];
        (tensor.len() / tensor.dims().first().copied().unwrap_or(1).max(1)).max(1)
    }

    /// The result that a witness names, and the position of its element in the batch.
    fn place_of(&self, witness: &Witness) -> Option<(usize, usize)> {
        let output = self.close_up.program.output(&witness.result)?;
        let width = self.width(output);
        let at = self.row * width + usize::try_from(witness.index % width as u64).ok()?;
        (at < self.close_up.computed[output].len()).then_some((output, at))
    }

    /// Results of one value a row, and the elements that were found, in the order of the results.
    fn elements(&self, found: &[(&CheckRecord, &Witness)]) -> BTreeSet<(usize, usize)> {
        let single = (0..self.close_up.computed.len()).filter(|output| self.width(*output) == 1);
        let single = single.map(|output| (output, self.row));
        let is_there = |(output, at): &(usize, usize)| *at < self.close_up.computed[*output].len();
        let found = found.iter().filter_map(|(_, witness)| self.place_of(witness));
        single.chain(found).filter(is_there).collect()
    }

    /// The name of an element: its result, with its place in the row if that has several.
    fn element(&self, output: usize, at: usize) -> String {
        let name = &self.close_up.program.output_names[output];
        match self.width(output) {
            1 => name.clone(),
            width => format!("{name}[{}]", at % width),
        }
    }

    /// The value that a witness is compared with.
    fn due(&self, output: usize, witness: &Witness) -> String {
        let hex = &witness.truth_hex;
        let (dtype, bits) =
            (self.close_up.computed[output].dtype(), u64::from_str_radix(hex.trim_start_matches("0x"), 16));
        match bits {
            Ok(bits) if dtype.is_float() => number(f64::from_bits(bits)),
            Ok(bits) if dtype == DType::Pred => (bits != 0).to_string(),
            Ok(bits) if bits >> (dtype.bits() - 1) == 0 => bits.to_string(),
            _ => hex.clone(),
        }
    }

    /// The tokens that the findings name, those that lead a view of the row, and how they are ranked.
    fn tokens(&self, found: &[(&CheckRecord, &Witness)]) -> Vec<usize> {
        let named = found.iter().flat_map(|(_, witness)| &witness.tokens).map(|scored| scored.token as usize);
        let mut tokens: Vec<usize> = named.filter(|token| *token < self.n).collect();
        if tokens.is_empty() {
            return tokens;
        }
        let scores = self.close_up.scores.iter().map(|scores| &scores.declared);
        for view in scores.chain(self.per_token().map(|output| &self.close_up.computed[output])) {
            let value = |token: usize| view.data().get_f64(self.row * self.n + token);
            if view.dtype().is_float() && view.len() >= (self.row + 1) * self.n {
                let mut order: Vec<usize> = (0..self.n).collect();
                order.sort_by(|a, b| value(*b).total_cmp(&value(*a)));
                tokens.extend(order.iter().take(2));
            }
        }
        let mut kept = Vec::new();
        tokens.into_iter().for_each(|token| {
            if !kept.contains(&token) {
                kept.push(token)
            }
        });
        kept.truncate(MOST_TOKENS);
        kept
    }

    /// Results with a value for each token of a row.
    fn per_token(&self) -> impl Iterator<Item = usize> + '_ {
        let ranks = |output: &usize| self.width(*output) == self.n && self.n > 1 && Some(*output) != self.order();
        (0..self.close_up.computed.len()).filter(ranks)
    }

    /// The result that says in which order `keep` stands, where it is not that of the tokens.
    fn order(&self) -> Option<usize> {
        self.close_up.program.output("tokens").filter(|output| self.width(*output) == self.n)
    }

    /// The values of some tokens in each view.
    fn views(&self, tokens: &[usize]) -> Vec<(String, Vec<String>)> {
        let CloseUp { program, computed, declared, exact, scores, .. } = self.close_up;
        let own = |token: usize| self.row * self.n + token;
        let mut views: Vec<(String, Vec<String>)> = Vec::new();
        if let Some(Scores { declared, exact }) = scores {
            if *exact != TruthTensor::Skipped {
                views.push(("score, exactly".into(), tokens.iter().map(|t| of_truth(exact, own(*t))).collect()));
            }
            views.push(("score, as declared".into(), tokens.iter().map(|t| of_tensor(declared, own(*t))).collect()));
        }
        for output in self.per_token() {
            let name = &program.output_names[output];
            let order = self.order().filter(|_| name == "keep");
            // Each view has the order that it gives itself.
            let placed = |ids: &dyn Fn(usize) -> Option<i64>, token: usize| match order {
                None => Some(own(token)),
                Some(_) => (own(0)..own(self.n)).find(|at| ids(*at) == Some(token as i64)),
            };
            let none = || "not there".to_string();
            let of = |tensors: &[Tensor]| -> Vec<String> {
                let ids = |at: usize| order.map(|order| tensors[order].data().get_i64(at));
                let cell = |token: &usize| placed(&ids, *token).map_or_else(none, |at| of_tensor(&tensors[output], at));
                tokens.iter().map(cell).collect()
            };
            views.push((format!("{name}, {}", self.came()), of(computed)));
            if self.knows_declared {
                views.push((format!("{name}, as declared"), of(declared)));
            }
            if exact[output] == TruthTensor::Skipped {
                continue;
            }
            let ids = |at: usize| match order.map(|order| &exact[order]) {
                Some(TruthTensor::Integer { values, .. }) => values.get(at).copied().flatten(),
                _ => None,
            };
            let cell =
                |token: &usize| placed(&ids, *token).map_or_else(|| OPEN.into(), |at| of_truth(&exact[output], at));
            views.push((format!("{name}, exactly"), tokens.iter().map(cell).collect()));
        }
        views
    }

    /// The way in which the results that are judged came.
    fn came(&self) -> &'static str {
        if self.is_recorded { "recorded" } else { "computed" }
    }

    /// An element as computed and, as far as these are known, as declared and exactly.
    fn values(&self, output: usize, at: usize) -> String {
        let CloseUp { computed, declared, exact, .. } = self.close_up;
        let mut values = format!("{} {}", self.came(), of_tensor(&computed[output], at));
        if self.knows_declared {
            values += &format!(", as declared {}", of_tensor(&declared[output], at));
        }
        if exact[output] != TruthTensor::Skipped {
            values += &format!(", exactly {}", of_truth(&exact[output], at));
        }
        values
    }

    /// The cause of the values shown: the machine's arithmetic, or a change by the compiler.
    fn decided(&self, witness: &Witness, shown: &BTreeSet<(usize, usize)>) -> Option<String> {
        let CloseUp { computed, declared, exact, .. } = self.close_up;
        let (output, at) = self.place_of(witness)?;
        if bits_hex(computed[output].data(), at) != witness.value_hex {
            return Some(format!(
                "a choice that is permitted: it makes {} of {}",
                witness.value_hex,
                self.element(output, at)
            ));
        }
        let differs = |(output, at): &&(usize, usize)| {
            bits_hex(computed[*output].data(), *at) != bits_hex(declared[*output].data(), *at)
        };
        let changed: Vec<String> =
            shown.iter().filter(differs).map(|(output, at)| self.element(*output, *at)).collect();
        if changed.is_empty() && !self.knows_declared {
            return None;
        }
        if changed.is_empty() && self.is_recorded {
            let which =
                if shown.len() == 1 { "it is what the program gives" } else { "these are what the program gives" };
            return Some(format!("{which} as declared, in the arithmetic that the results are judged by"));
        }
        if changed.is_empty() {
            let which = if shown.len() == 1 { "it is" } else { "these are" };
            return Some(format!("the machine's arithmetic: {which} the same without what the compiler changed"));
        }
        let as_declared = declared[output].data().get_i64(at);
        let is_right = match &exact[output] {
            TruthTensor::Integer { values, .. } => values[at] == Some(as_declared),
            TruthTensor::Predicate { values, .. } => values[at] == Some(as_declared != 0),
            TruthTensor::Float(_) | TruthTensor::Skipped => false,
        };
        if self.is_recorded {
            let of_what = if is_right { "is right" } else { "is another value" };
            return Some(format!(
                "whatever made the recorded results, which is not known: as declared, {} {of_what}",
                self.element(output, at)
            ));
        }
        Some(match is_right {
            true => format!("what the compiler changed: as declared, {} is right", self.element(output, at)),
            false => format!(
                "the compiler and the mode's arithmetic: as declared, {} would be another value, but not the right one either",
                changed.join(", ")
            ),
        })
    }
}

/// The text for a value that the oracle did not decide.
const OPEN: &str = "open";

/// An element with its bits; integers and predicates without.
fn of_tensor(tensor: &Tensor, at: usize) -> String {
    if at >= tensor.len() {
        return "not there".to_string();
    }
    match tensor.dtype() {
        dtype if dtype.is_float() => format!("{} ({})", number(tensor.data().get_f64(at)), bits_hex(tensor.data(), at)),
        DType::Pred => (tensor.data().get_i64(at) != 0).to_string(),
        _ => tensor.data().get_i64(at).to_string(),
    }
}

fn of_truth(truth: &TruthTensor, at: usize) -> String {
    let open = || OPEN.to_string();
    match truth {
        TruthTensor::Float(truth) if truth.open.contains(&at) => open(),
        TruthTensor::Float(truth) => truth.rounded.get(at).map_or_else(open, |value| number(*value)),
        TruthTensor::Integer { values, .. } => values.get(at).copied().flatten().map_or_else(open, |v| v.to_string()),
        TruthTensor::Predicate { values, .. } => values.get(at).copied().flatten().map_or_else(open, |v| v.to_string()),
        TruthTensor::Skipped => "not asked".to_string(),
    }
}

/// Seven digits, of very large and very small numbers with an exponent.
fn number(value: f64) -> String {
    let text = format!("{value:.6e}");
    match text.split_once('e').and_then(|(_, exponent)| exponent.parse::<i32>().ok()) {
        Some(exponent @ -4..=6) => {
            let text = format!("{value:.*}", (6 - exponent) as usize);
            if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_seven_digits() {
        let said = [0.984375, 1.0, -2.5, 1234567.8, 3.2e9, 1.0 / 3.0, 2.5e-7, f64::NAN, 0.0].map(number);
        assert_eq!(said, ["0.984375", "1", "-2.5", "1234568", "3.200000e9", "0.3333333", "2.500000e-7", "NaN", "0"]);
    }
}
