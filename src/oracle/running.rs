//! Running reductions: each result takes one more element than the one before it, and one step from it.

use crate::analysis::Reducer;
use crate::ir::Binary;

use super::arithmetic::Arithmetic;
use super::elements::{Element, FloatArray, Value};
use super::evaluate::Pass;
use super::oracle_error::OracleError;
use super::reduce::Group;

/// The lanes of an array along one of its dims: the flat positions of each, in order.
fn lanes(dims: &[usize], dim: usize) -> impl Iterator<Item = impl Iterator<Item = usize>> {
    let (length, stride) = (dims[dim], dims[dim + 1..].iter().product::<usize>());
    let before: usize = dims[..dim].iter().product();
    (0..before * stride).map(move |lane| {
        let start = lane / stride * stride * length + lane % stride;
        (0..length).map(move |i| start + i * stride)
    })
}

impl<A: Arithmetic> Pass<'_, A> {
    /// The reductions of all elements so far along `dim`; operands are the array and its init. The window of an element
    /// reduces, in order from the init on, the elements of the window before it, and then that element.
    pub(super) fn reduce_so_far(
        &mut self,
        known: Option<Reducer>,
        to_apply: usize,
        operands: &[Value<A>],
        dims: &[usize],
        dim: usize,
    ) -> Result<Value<A>, OracleError> {
        match (known, &operands[0]) {
            (Some(Reducer::Binary(Binary::Add)), Value::Float(array)) => {
                let init = self.world.number(operands[1].floats(), 0);
                Ok(self.running_sums(array, dims, dim, init))
            }
            (Some(Reducer::Binary(binary)), Value::Float(array)) => {
                let init = self.world.element(operands[1].floats(), 0);
                let mut results: Vec<Option<Element<A::Number>>> = vec![None; array.len];
                for lane in lanes(dims, dim) {
                    let mut state = init.clone();
                    for at in lane {
                        state = self.reduce_group(binary, array, &Group::Neighbors(at..at + 1), &state, false);
                        results[at] = Some(state.clone());
                    }
                }
                Ok(Value::Float(self.world.collect(results.into_iter().flatten().collect())))
            }
            _ => {
                let init = self.scalar(&operands[1], 0);
                let mut results: Vec<Option<Value<A>>> = vec![None; dims.iter().product()];
                for lane in lanes(dims, dim) {
                    let mut state = init.clone();
                    for at in lane {
                        let element = self.scalar(&operands[0], at);
                        state = Value::from_parts(self.call(to_apply, &[state, element])?.into_parts());
                        results[at] = Some(state.clone());
                    }
                }
                let results: Vec<Value<A>> = results.into_iter().flatten().collect();
                Ok(self.column(&results, &operands[0]))
            }
        }
    }

    fn running_sums(&mut self, array: &FloatArray<A>, dims: &[usize], dim: usize, init: A::Number) -> Value<A> {
        let stride: usize = dims[dim + 1..].iter().product();
        let sums = self.world.arithmetic.running_sums(&init, &array.numbers, [array.len, dims[dim], stride.max(1)]);
        Value::Float(self.world.fresh_numbers(sums, array.len))
    }
}

#[cfg(test)]
mod tests {
    use super::lanes;

    /// Every element once, those of a lane in order.
    #[test]
    fn lanes_go_along_their_dim() {
        let all = |dims: &[usize], dim| lanes(dims, dim).map(Iterator::collect).collect::<Vec<Vec<usize>>>();
        assert_eq!(all(&[2, 3], 1), [[0, 1, 2], [3, 4, 5]]);
        assert_eq!(all(&[2, 3], 0), [[0, 3], [1, 4], [2, 5]]);
        assert_eq!(all(&[2, 2, 2], 1), [[0, 2], [1, 3], [4, 6], [5, 7]]);
        assert_eq!(all(&[0, 3], 1), Vec::<Vec<usize>>::new());
        assert_eq!(all(&[3, 0], 0), Vec::<Vec<usize>>::new());
    }
}
