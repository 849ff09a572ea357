//! One program, one mode, its arguments, and the check `bound` put to a result.

use ulpgate::check::{Batch, Context, Judgement, Scale, Settings, Tally, judge_of};
use ulpgate::ir::Program;
use ulpgate::machine::{self, Mode};
use ulpgate::oracle::{Demand, Oracle};
use ulpgate::program::ProgramSpec;
use ulpgate::subject::Emulated;
use ulpgate::tensor::Tensor;

pub struct Bench<'a> {
    pub program: &'a Program,
    pub mode: Mode,
    pub arguments: &'a [Tensor],
}

impl Bench<'_> {
    /// The mode's results.
    pub fn run(&self) -> Vec<Tensor> {
        machine::evaluate(self.program, &self.mode, self.arguments).unwrap()
    }

    /// The verdict of `bound` on these results as those of the mode; only the first is judged.
    pub fn judge(&self, got: &[Tensor]) -> Judgement {
        // No check of bounds reads the name of its program.
        let (spec, n): (ProgramSpec, usize) = ("softmax".parse().unwrap(), 1);
        let (mode, program, arguments) = (&self.mode, self.program, self.arguments);
        let context = Context { spec: &spec, n, mode, program };
        let judge = judge_of("bound", &Settings::default(), &context).unwrap();
        let mut demands = vec![Demand::None; program.output_names.len()];
        demands[0] = Demand::Rounded;
        let truth = &Oracle::default().evaluate(program, arguments, &demands).unwrap();
        let scale = &Scale::new(program, arguments);
        let subject = &Emulated(mode.clone());
        let batch = Batch {
            spec: &spec,
            n,
            subject,
            program,
            arguments,
            got,
            truth,
            scale,
            scores: None,
            beside: None,
            first_row: 0,
        };
        let mut tally = Tally::default();
        judge.observe(&batch, &mut tally).unwrap();
        judge.conclude(&tally)
    }
}
