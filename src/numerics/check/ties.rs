//! Whether ties fall as declared.

use crate::metric::{Better, Unit};

use super::element_witness::{DeclaredScores, Witness, integer_hex};
use super::{
    Batch, CaseCheck, Check, Context, FigureDoc, Judge, Judgement, ObserveError, PlanError, Scope, Settings, Tally,
};

pub(super) struct Ties;

impl Check for Ties {
    fn name(&self) -> &'static str {
        "ties"
    }

    fn doc(&self) -> &'static str {
        "Asks: do equal values come out in the order and number that the mode declares? Why it matters: greedy, top_k = 1 \
         and temperature 0 must name one token, and a row's result must not depend on which kernel ran. Fails when: a \
         row of the integer result (`output`, else `indices` or `token`) is not the list `equals` of the fixture; or, \
         without `equals`, two neighbours whose values are equal are not in ascending order of index."
    }

    fn settings(&self) -> &'static [&'static str] {
        &["output", "equals"]
    }

    fn figures(&self) -> &'static [FigureDoc] {
        &[FigureDoc {
            name: "misplaced",
            unit: Unit::Rows,
            better: Some(Better::Lower),
            doc: "rows whose order is not the declared one",
        }]
    }

    fn row_count(&self) -> Option<&'static str> {
        Some("misplaced")
    }

    fn scope(&self) -> Scope<'_> {
        Scope::Case(self)
    }
}

impl CaseCheck for Ties {
    fn plan(&self, settings: &Settings, case: &Context) -> Result<Box<dyn Judge>, PlanError> {
        let output = match case.choose_output(settings)? {
            Some(output) => output,
            None => case.output("indices").or_else(|_| case.output("token"))?,
        };
        let values = case.program.output("values");
        if settings.equals.is_none() && values.is_none() {
            return Err(case.lacks("has no result `values`, which is needed where `equals` is not given").into());
        }
        Ok(Box::new(Order { output, values, equals: settings.equals.clone() }))
    }
}

struct Order {
    output: usize,
    values: Option<usize>,
    equals: Option<Vec<i64>>,
}

impl Judge for Order {
    fn observe(&self, batch: &Batch, tally: &mut Tally) -> Result<(), ObserveError> {
        let indices = batch.got[self.output].data().to_i64s();
        // A scalar result is one row.
        let rows = batch.got[self.output].dims().first().copied().unwrap_or(1).max(1);
        let (dtype, mut scores) = (batch.got[self.output].dtype(), DeclaredScores::default());
        for (row, got) in indices.chunks((indices.len() / rows).max(1)).enumerate() {
            tally.count("rows", 1);
            // Where the first token stands that is not the one due there, and that one.
            let wrong = match (&self.equals, self.values) {
                (Some(expected), _) if got == expected.as_slice() => None,
                (Some(expected), _) => {
                    let differs = |(at, (got, due)): (usize, (&i64, &i64))| (got != due).then_some((at, *due));
                    got.iter()
                        .zip(expected)
                        .enumerate()
                        .find_map(differs)
                        // Lists of different lengths may agree as far as both go.
                        .or(Some((0, *expected.first().unwrap_or(&0))))
                }
                (None, Some(values)) => {
                    let data = batch.got[values].data();
                    let value = |i: usize| data.get_f64(row * got.len() + i);
                    // Neighbours are enough: the values are sorted, so that equal ones lie together.
                    let out_of_order = |i: &usize| value(i - 1) == value(*i) && got[i - 1] > got[*i];
                    (1..got.len()).find(out_of_order).map(|i| (i - 1, got[i]))
                }
                (None, None) => None,
            };
            if let Some((at, due)) = wrong {
                tally.count("misplaced", 1);
                if tally.wants(1.0) && at < got.len() {
                    let tokens = scores.with_scores(batch, row, [due, got[at]])?;
                    let place = row * got.len() + at;
                    let witness = || Witness::at(batch, self.output, place, integer_hex(dtype, due));
                    tally.witness(1.0, || witness().with_tokens(tokens));
                }
                tally.evidence(|| match &self.equals {
                    Some(expected) => format!("row {}: {got:?} instead of {expected:?}", batch.first_row + row),
                    None => format!("row {}: equal values out of order in {got:?}", batch.first_row + row),
                });
            }
        }
        Ok(())
    }

    fn conclude(&self, tally: &Tally) -> Judgement {
        let (wrong, rows) = (tally.count_of("misplaced"), tally.count_of("rows"));
        tally
            .judge(wrong > 0)
            .figure("misplaced", wrong as f64)
            .note(format!("{wrong} of {rows} rows are not in the declared order"))
    }
}
