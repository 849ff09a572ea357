//! Cost of a run: time against work. For the terminal, never for a report.

use crate::ir::{Class, DotPlan, Op, Program};
use crate::stat::fit_log_log;

/// The cost of one group of cases: its input and truth once, and the machine in every mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The suite's name.
    pub suite: String,
    /// The ids of the cases.
    pub cases: Vec<String>,
    /// Operations of the program over all rows, once for the truth and once a mode.
    pub work: f64,
    /// Seconds of its batches, summed: they may have run at the same time.
    pub seconds: f64,
}

/// The cost of a suite: that of its groups together.
#[derive(Clone, Debug, PartialEq)]
pub struct SuiteCost {
    /// The suite's name.
    pub suite: String,
    /// Sum of [`Cost::work`].
    pub work: f64,
    /// Sum of [`Cost::seconds`].
    pub seconds: f64,
    /// `e` in time ~ work^e, fitted over the suite's groups, where the largest has eight times the work of the
    /// smallest.
    pub exponent: Option<f64>,
}

/// The `count` suites that took longest, slowest first.
pub fn slowest(costs: &[Cost], count: usize) -> Vec<SuiteCost> {
    let mut suites: Vec<SuiteCost> = Vec::new();
    for cost in costs {
        match suites.iter_mut().find(|s| s.suite == cost.suite) {
            Some(suite) => {
                suite.work += cost.work;
                suite.seconds += cost.seconds;
            }
            None => {
                let Cost { suite, work, seconds, .. } = cost.clone();
                suites.push(SuiteCost { suite, work, seconds, exponent: None });
            }
        }
    }
    suites.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.suite.cmp(&b.suite)));
    suites.truncate(count);
    for suite in &mut suites {
        let points: Vec<(f64, f64)> =
            costs.iter().filter(|c| c.suite == suite.suite).map(|c| (c.work, c.seconds)).collect();
        let (least, most) = points.iter().fold((f64::INFINITY, 0f64), |(a, b), (w, _)| (a.min(*w), b.max(*w)));
        suite.exponent = if most >= 8.0 * least { fit_log_log(&points, 0.95).map(|fit| fit.slope) } else { None };
    }
    suites
}

/// Operations of a program: multiply-adds of its dots, comparisons of its sorts, elements of everything else.
pub fn operations(program: &Program) -> f64 {
    let entry = program.entry();
    let shape = |id: usize| &entry.instructions[id].shape;
    let count = |instruction: &crate::ir::Instruction| match &instruction.op {
        Op::Dot { dims, .. } => {
            let [lhs, rhs] = [0, 1].map(|i| shape(instruction.operands[i]).dims());
            let plan = DotPlan::new(dims, lhs, rhs);
            [plan.batch, plan.m, plan.k, plan.n].iter().map(|n| *n as f64).product()
        }
        Op::Sort { dim, .. } => {
            let operand = shape(instruction.operands[0]);
            let length = operand.dims()[*dim].max(2);
            operand.elements() as f64 * f64::from(length.ilog2())
        }
        Op::Reduce { .. } | Op::ReduceWindow { .. } | Op::TopK { .. } | Op::ApproxTopK(_) | Op::PartialReduce(_) => {
            shape(instruction.operands[0]).elements() as f64
        }
        Op::Parameter(_) | Op::Constant(_) => 0.0,
        op => match op.class() {
            Class::Lists => 0.0,
            Class::Source
            | Class::Moves
            | Class::Converts
            | Class::Elementwise
            | Class::Combines
            | Class::Ranks
            | Class::Calls => instruction.shape.elements() as f64,
        },
    };
    entry.instructions.iter().map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::ProgramSpec;

    #[test]
    fn the_slowest_come_first_with_their_growth() {
        let cost =
            |suite: &str, work: f64, seconds| Cost { suite: suite.to_string(), cases: Vec::new(), work, seconds };
        let costs = [cost("a", 1.0, 2.0), cost("b", 1e3, 1.0), cost("b", 1e4, 10.0), cost("b", 1e5, 100.0)];
        let found = slowest(&costs, 2);
        assert_eq!(found.iter().map(|s| s.suite.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert!(found[0].exponent.is_some_and(|e| (e - 1.0).abs() < 1e-9));
        assert_eq!(found[1].exponent, None);
    }

    #[test]
    fn dots_count_their_products() {
        let program = "matmul".parse::<ProgramSpec>().unwrap().build(64, 2).unwrap();
        let entry = program.entry();
        let [m, k] = entry.instructions[0].shape.dims() else { panic!("no matrix") };
        let [_, n] = entry.instructions[1].shape.dims() else { panic!("no matrix") };
        assert_eq!(operations(&program), (m * k * n) as f64);
    }
}
