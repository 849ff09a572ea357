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
