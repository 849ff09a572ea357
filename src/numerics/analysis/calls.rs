//! Calls of functions in a fusion's code. Where LLVM inlines one that reads several arrays, it declares for each that no other one
//! aliases it (`llvm.experimental.noalias.scope.decl`), and ranks these declarations as it ranks reads.

use std::collections::HashSet;

use crate::ir::ValueId;

/// The calls so far.
#[derive(Default)]
pub struct Calls {
    /// How many declarations each call has, as far as its end was reached.
    declared: Vec<u32>,
    /// Calls that have begun and not ended, with the arrays that are read in them for the first time.
    open: Vec<(usize, HashSet<ValueId>)>,
    /// The same numbers of an earlier walk over the same calls.
    known: Vec<u32>,
}

impl Calls {
    /// A call begins: its declarations, where they are known.
    pub fn begin(&mut self) -> u32 {
        let call = self.declared.len();
        self.declared.push(0);
        self.open.push((call, HashSet::new()));
        self.known.get(call).copied().unwrap_or_default()
    }

    /// What is read at an address where nothing was read before: an array, or something else.
    pub fn read(&mut self, array: Option<ValueId>) {
        self.open.iter_mut().for_each(|(_, arrays)| arrays.extend(array));
    }

    /// The last call that has begun ends. A single array aliases no other one: it needs no declaration.
    pub fn end(&mut self) {
        if let Some((call, arrays)) = self.open.pop() {
            self.declared[call] = if arrays.len() > 1 { arrays.len() as u32 } else { 0 };
        }
    }

    /// The same calls, to be walked again.
    pub fn again(self) -> Calls {
        Calls { known: self.declared, ..Calls::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::Calls;

    /// A function that calls another one reads what that reads, too; what was read before it is read by neither.
    #[test]
    fn arrays_that_are_read_first_are_declared() {
        let mut calls = Calls::default();
        for reads in [&[1, 2][..], &[], &[3]] {
            calls.begin();
            calls.begin();
            reads.iter().for_each(|array| calls.read(Some(*array)));
            calls.end();
            calls.read(None);
            calls.end();
        }
        calls.begin();
        calls.read(Some(4));
        calls.begin();
        calls.read(Some(5));
        calls.end();
        calls.end();
        let mut again = calls.again();
        let declared: Vec<u32> = (0..8).map(|_| again.begin()).collect();
        assert_eq!(declared, [2, 2, 0, 0, 0, 0, 2, 0]);
    }
}
