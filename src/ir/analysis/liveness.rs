//! Liveness: the values and computations that results depend on.

use crate::ir::{Computation, Program, ValueId};

/// For each value of a computation, whether one of the `roots` depends on it; the roots themselves do.
pub fn live(computation: &Computation, roots: impl IntoIterator<Item = ValueId>) -> Vec<bool> {
    let mut live = vec![false; computation.instructions.len()];
    roots.into_iter().for_each(|root| live[root] = true);
    for (id, instruction) in computation.instructions.iter().enumerate().rev() {
        if live[id] {
            instruction.operands.iter().for_each(|operand| live[*operand] = true);
        }
    }
    live
}

/// For each computation of a program, whether it is the entry or the entry calls it, directly or through others.
pub fn find_live(program: &Program) -> Vec<bool> {
    let mut reached = vec![false; program.computations.len()];
    reached[program.entry] = true;
    for (id, computation) in program.computations.iter().enumerate().rev() {
        if reached[id] {
            computation.instructions.iter().flat_map(|i| i.op.callees()).for_each(|callee| reached[callee] = true);
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::{find_live, live};
    use crate::ir::{Binary, Builder};
    use crate::tensor::DType;

    /// Every operand of a live operation is live, the third one as well, and no user of it.
    #[test]
    fn what_a_result_depends_on_is_live() {
        let mut b = Builder::new("live");
        let pick = b.parameter("pick", DType::Pred, &[2]).unwrap();
        let [x, y] = ["x", "y"].map(|name| b.parameter(name, DType::F32, &[2]).unwrap());
        let chosen = b.select(pick, x, y).unwrap();
        let sum = b.reduce(Binary::Add, chosen, 0.0, &[0]).unwrap();
        let (program, all) = (b.finish(&[("chosen", chosen), ("sum", sum)]).unwrap(), [pick, x, y, chosen]);
        let found = live(program.entry(), [chosen]);
        assert!((0..found.len()).all(|id| found[id] == all.contains(&id)), "{found:?}");
        assert_eq!(live(program.entry(), [x]).iter().filter(|live| **live).count(), 1);
        assert_eq!(find_live(&program), [true, true]);
    }
}
