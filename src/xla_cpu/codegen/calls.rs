//! Calls of functions in a fusion's code. If LLVM inlines a function that reads several arrays, it declares for each
//! that no other one aliases it (`llvm.experimental.noalias.scope.decl`), and ranks these declarations as it ranks
//! reads.

use std::collections::HashSet;

use crate::ir::ValueId;

/// The calls so far.
#[derive(Default)]
pub struct Calls {
    /// Number of declarations of each call, 0 until its end was reached.
    declared: Vec<u32>,
    /// Calls that have begun and not ended, with the arrays that are read in them for the first time.
    open: Vec<(usize, HashSet<ValueId>)>,
    /// The same numbers of an earlier walk over the same calls.
    known: Vec<u32>,
}

impl Calls {
    /// Begins a call, and returns the number of its declarations, 0 if it is not known.
    pub fn begin(&mut self) -> u32 {
        let call = self.declared.len();
        self.declared.push(0);
        self.open.push((call, HashSet::new()));
        self.known.get(call).copied().unwrap_or_default()
    }

    /// Notes a read at an address that was not read before: of an array, or of another value (`None`).
    pub fn read(&mut self, array: Option<ValueId>) {
        self.open.iter_mut().for_each(|(_, arrays)| arrays.extend(array));
    }

    /// Ends the last call that has begun. A single array aliases no other one: it needs no declaration.
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

    /// A function that calls another one reads the arrays of that one, too. Arrays that were read before it are read by
    /// neither.
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
