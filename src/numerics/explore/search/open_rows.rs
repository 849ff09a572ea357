//! A search in a program of the open rows alone: the others are proven, and would be evaluated for nothing.

use crate::ir::Op;
use crate::rewrite::Choices;
use crate::tensor::Tensor;

use super::super::proof::RowAxis;
use super::super::row_outcome::Outcome;
use super::super::{Settings, Witness};
use super::Searching;

/// A program of choices for some rows of an outcome.
pub(super) struct OpenRows {
    choices: Choices,
    outcome: Outcome,
    declared: Vec<Tensor>,
    arguments: Vec<Tensor>,
    /// The rows among all.
    rows: Vec<usize>,
}

impl OpenRows {
    /// `None` where the machine may compute a row otherwise without the others, or hardly any row is left out. Rows that meet do. So do
    /// rows of a dot, whose unit depends on their number, and those that a compiler plans code for.
    pub fn new(all: Searching, settings: &Settings, rows: &[usize]) -> Option<OpenRows> {
        let program = &all.choices.program;
        let has_dots = program.instructions().any(|i| matches!(i.op, Op::Dot { .. }));
        let is_planned = settings.any_mode || settings.mode.chip.backend.is_some();
        if rows.is_empty() || 2 * rows.len() > all.outcome.rows || has_dots || is_planned {
            return None;
        }
        let axis = RowAxis::new(program, all.outcome)?;
        let cut = |tensor: &Tensor| {
            let width = tensor.len() / all.outcome.rows;
            let places: Vec<usize> = rows.iter().flat_map(|row| row * width..(row + 1) * width).collect();
            let mut dims = tensor.dims().to_vec();
            dims.first_mut().into_iter().for_each(|first| *first = rows.len());
            tensor.pick(&dims, &places)
        };
        let has_rows = |number: usize| axis.has_rows.get(number).is_some_and(|has| *has);
        let argument = |(number, tensor)| if has_rows(number) { cut(tensor) } else { tensor.clone() };
        let mut choices = all.choices.clone();
        choices.program = axis.program(program, rows.len())?;
        Some(OpenRows {
            choices,
            outcome: Outcome {
                outputs: all.outcome.outputs.clone(),
                values: all.outcome.values.clone(),
                rows: rows.len(),
            },
            declared: all.declared.iter().map(cut).collect(),
            arguments: all.arguments.iter().enumerate().map(argument).collect(),
            rows: rows.to_vec(),
        })
    }

    /// The program of these rows.
    pub fn search_space(&self) -> Searching<'_> {
        let OpenRows { choices, outcome, declared, arguments, .. } = self;
        Searching { choices, outcome, declared, arguments }
    }

    /// A witness of one of these rows as one among all rows.
    pub fn among_all(&self, (own, mut witness): (usize, Witness)) -> (usize, Witness) {
        let row = self.rows[own];
        let result = self.outcome.outputs.iter().position(|output| *output == witness.differs.output);
        let width = result.map_or(0, |result| self.declared[result].len() / self.rows.len());
        witness.differs.element = witness.differs.element - own * width + row * width;
        (row, witness)
    }
}

#[cfg(test)]
mod tests {
    use crate::explore::search::{SearchResult, Searching};
    use crate::explore::tests::{built, drawn, settings};
    use crate::explore::{Outcome, Settings, permitted};
    use crate::ir::Program;
    use crate::machine::{Prepared, Replay};
    use crate::mode::emulated_compilers;

    use super::OpenRows;

    /// The results of a search for some rows, in their own program and in that of all rows; and whether there is such a program.
    fn found(program: &Program, settings: &Settings, rows: &[usize]) -> ([SearchResult; 2], bool) {
        let arguments = drawn(program, "normal", 1);
        let choices = permitted(program, settings);
        let outcome = Outcome::new(&choices.program, &[]).unwrap();
        let prepared = Prepared::of_choices(&choices.program);
        let replay = Replay::new(&prepared, &settings.mode, &prepared.bind(&arguments).unwrap()).unwrap();
        let declared = outcome.tensors(&replay).unwrap();
        let all = Searching { choices: &choices, outcome: &outcome, declared: &declared, arguments: &arguments };
        let apart = all.look(settings, &prepared, rows).unwrap();
        ([apart, all.of_rows(settings, &prepared, rows).unwrap()], OpenRows::new(all, settings, rows).is_some())
    }

    /// The same witnesses, told at the same elements of all rows.
    #[test]
    fn open_rows_alone_have_the_witnesses_that_they_have_among_all() {
        let mut witnesses = 0;
        for spec in ["keep_max[rows=16]", "prob_max[rows=16]"] {
            for mode in ["v5e/default/off", "tpu7x/default/off", "cpu/f32/off"] {
                let settings = settings(mode, &["rounding", "order", "contraction"]);
                let ([apart, together], is_apart) = found(&built(spec, 96), &settings, &[1, 4, 7, 8, 13]);
                assert!(is_apart, "{spec} {mode}");
                assert_eq!(apart.witnesses, together.witnesses, "{spec} {mode}");
                assert_eq!(apart.searched, together.searched, "{spec} {mode}");
                witnesses += apart.witnesses.len();
            }
        }
        assert!(witnesses > 6, "{witnesses}");
    }

    #[test]
    fn rows_that_may_be_computed_otherwise_stay_together() {
        let rounding = settings("v5e/default/off", &["rounding"]);
        let keep_max = built("keep_max[rows=16]", 32);
        assert!(!found(&keep_max, &rounding, &(0..9).collect::<Vec<_>>()).1, "most rows");
        assert!(!found(&built("greedy_head[rows=16]", 32), &rounding, &[1]).1, "dots");
        assert!(!found(&keep_max, &Settings { any_mode: true, ..rounding }, &[1]).1, "any mode");
        for compiler in emulated_compilers() {
            assert!(
                !found(&keep_max, &settings(&compiler.off.to_string(), &["rounding"]), &[1]).1,
                "a compiler's code"
            );
        }
    }
}
