//! The finding of a suite in one sentence, with the figure that bears its claim in units that a reader knows.

use crate::record::{FitRecord, SeriesRecord, SuiteRecord, Verdict};

use super::pool::{Pool, pools};

/// The finding of each check that counts rows. `{}` stands for the share of rows.
const SHARES: [(&str, &str); 9] = [
    ("agreement", "gives other results than its counterpart in {} of rows"),
    ("divergence", "leaves the exact text in {} of texts"),
    ("dropped_token", "loses the best token in {} of rows"),
    ("margin", "ties several tokens at the top in {} of rows"),
    ("nucleus", "keeps another set of tokens than the exact one in {} of rows"),
    ("overflow", "overflows, or loses rows to zero, in {} of rows"),
    ("permitted", "may change its outcome, by what the flags permit, in {} of rows"),
    ("self_consistency", "contradicts itself in {} of rows"),
    ("ties", "breaks ties otherwise than declared in {} of rows"),
];

/// The finding of a suite in a sentence: its weightiest finding, pooled over sizes, inputs and seeds; else its first fitted
/// growth; else that nothing was found.
pub fn said(suite: &SuiteRecord) -> String {
    let pools = pools(&suite.cases);
    if let Some(pool) = heaviest(&pools) {
        return format!("{} in {} {}", pool.program, pool.subject, of_pool(pool));
    }
    let growth = suite.series.iter().find_map(of_growth);
    growth.unwrap_or_else(|| match suite.verdicts().any(|verdict| verdict == Verdict::Pass) {
        true => format!("nothing found in {} cases", suite.cases.len()),
        false => "nothing was judged".to_string(),
    })
}

/// The pool with the weightiest finding; of equally weighty ones that of most rows, and of these the first.
pub fn heaviest<'a, 'b>(pools: impl IntoIterator<Item = &'a Pool<'b>>) -> Option<&'a Pool<'b>>
where
    'b: 'a,
{
    let found = pools.into_iter().filter(|pool| pool.worst > Verdict::Abstain);
    found.fold(None, |best: Option<&Pool>, pool| match best {
        Some(best) if (best.worst, best.rows) >= (pool.worst, pool.rows) => Some(best),
        _ => Some(pool),
    })
}

/// The finding of a pool, behind its program and mode.
fn of_pool(pool: &Pool) -> String {
    let kind = pool.check.split('[').next().unwrap_or(&pool.check);
    let words = SHARES.iter().find(|(check, _)| *check == kind).map(|(_, words)| *words);
    match (pool.rate(), words) {
        (Some(rate), Some(words)) if pool.found > 0 => words.replace("{}", &percent(rate.share)),
        (Some(rate), None) if pool.found > 0 => format!("is not as {kind} asks in {} of rows", percent(rate.share)),
        _ => {
            let note = if pool.note.is_empty() { "gives other bits for some input" } else { pool.note };
            format!("({kind}, n = {}): {note}", pool.n)
        }
    }
}

/// The growth of a series, if it was fitted.
fn of_growth(record: &SeriesRecord) -> Option<String> {
    let FitRecord { slope, .. } = record.fit?;
    let (program, subject) = (&record.series.program, &record.series.subject);
    Some(format!("{} of {program} in {subject} grows as n^{slope:.2}", record.metric))
}

/// A share as a percentage of two digits at least.
fn percent(share: f64) -> String {
    let percentage = 100.0 * share;
    let digits = if percentage >= 10.0 { 1 } else { 2 };
    let text = format!("{percentage:.digits$}");
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text} %")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::CHECKS;

    #[test]
    fn each_check_that_counts_rows_has_words_for_them() {
        let counting = CHECKS.iter().filter(|check| check.row_count().is_some());
        let missing: Vec<&str> =
            counting.map(|check| check.name()).filter(|name| SHARES.iter().all(|(check, _)| check != name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        for (check, words) in SHARES {
            assert!(crate::check::find_check(check).is_some_and(|check| check.row_count().is_some()), "{check}");
            assert_eq!(words.matches("{}").count(), 1, "{words}");
        }
    }

    #[test]
    fn the_weightiest_finding_of_most_rows_is_told() {
        let pool = |subject, worst, found, rows| Pool {
            check: "dropped_token".to_string(),
            program: "argmax".to_string(),
            subject,
            cases: 1,
            sizes: vec![8],
            found,
            rows,
            worst,
            note: "",
            n: 8,
            because: None,
        };
        let pools = [
            pool("passes", Verdict::Pass, 0, 900),
            pool("known", Verdict::ExpectedFinding, 3, 100),
            pool("more", Verdict::ExpectedFinding, 30, 400),
            pool("as many", Verdict::ExpectedFinding, 40, 400),
            pool("reported", Verdict::Reported, 50, 500),
        ];
        assert_eq!(heaviest(&pools).map(|pool| pool.subject), Some("more"));
        assert_eq!(of_pool(&pools[2]), "loses the best token in 7.5 % of rows");
        assert!(heaviest(&pools[..1]).is_none());
    }

    #[test]
    fn shares_are_percentages_of_two_digits() {
        for (share, text) in [(0.3829, "38.3 %"), (1.0, "100 %"), (0.0107, "1.07 %"), (0.0017, "0.17 %"), (0.5, "50 %")]
        {
            assert_eq!(percent(share), text);
        }
    }
}
