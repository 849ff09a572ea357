//! Linear forms of dots: those of their sums of products, where these are short.

use std::collections::HashMap;
use std::rc::Rc;

use super::matrices::Operand;
use crate::between::Between;
use crate::form::{Form, MOST_TERMS};

/// The properties of some vectors of an operand that decide whether their dots have forms.
pub(super) struct Terms<'a> {
    operand: Operand<'a>,
    vectors: Vec<Facts>,
    /// The number of each.
    numbers: Vec<usize>,
}

struct Facts {
    /// Whether all entries are rational.
    is_rational: bool,
    /// Whether no entry has an atom.
    is_constant: bool,
    /// Whether all entries have forms.
    have_forms: bool,
    /// Entries with an atom that no other entry of the vector has.
    unlike: Vec<usize>,
}

impl Facts {
    fn of(entries: impl Iterator<Item = Rc<Between>>) -> Facts {
        let (mut is_rational, mut is_constant, mut have_forms) = (true, true, true);
        let mut places: HashMap<u64, Option<usize>> = HashMap::new();
        for (at, entry) in entries.enumerate().filter(|(_, entry)| !entry.is_rational()) {
            is_rational = false;
            is_constant &= entry.is_constant();
            have_forms &= entry.has_form();
            entry.for_each_atom(|atom| {
                places.entry(atom).and_modify(|place| *place = None).or_insert(Some(at));
            });
        }
        let mut unlike: Vec<usize> = places.into_values().flatten().collect();
        unlike.sort_unstable();
        unlike.dedup();
        Facts { is_rational, is_constant, have_forms, unlike }
    }
}

impl<'a> Terms<'a> {
    pub fn new(operand: Operand<'a>, vectors: &[usize]) -> Terms<'a> {
        let are_plain = operand.reals.are_plain_and_finite();
        let facts = |vector: &usize| match are_plain {
            true => Facts { is_rational: true, is_constant: true, have_forms: true, unlike: Vec::new() },
            false => Facts::of((0..operand.layout.length).map(|l| operand.entry(*vector, l))),
        };
        Terms { operand, vectors: vectors.iter().map(facts).collect(), numbers: vectors.to_vec() }
    }

    fn entry(&self, vector: usize, entry: usize) -> Rc<Between> {
        self.operand.entry(self.numbers[vector], entry)
    }

    fn is_zero(&self, vector: usize, entry: usize) -> bool {
        self.operand.reals.is_zero(self.operand.layout.place(self.numbers[vector], entry))
    }

    /// Whether all products of a row and a column are rational.
    pub fn are_rational(operands: &[Terms; 2], [i, j]: [usize; 2]) -> bool {
        operands[0].vectors[i].is_rational && operands[1].vectors[j].is_rational
    }

    /// Whether all products of a row and a column are combinations of cosines of parts of a turn.
    pub fn are_constant(operands: &[Terms; 2], [i, j]: [usize; 2]) -> bool {
        operands[0].vectors[i].is_constant && operands[1].vectors[j].is_constant
    }

    /// The form of the dot of a row and a column; `None` where it has no short one.
    pub fn form(operands: &[Terms; 2], [i, j]: [usize; 2]) -> Option<Form> {
        let [row, column] = [&operands[0].vectors[i], &operands[1].vectors[j]];
        let entries = |l: usize| (operands[0].entry(i, l), operands[1].entry(j, l));
        if !row.have_forms || !column.have_forms {
            return None;
        }
        // Each of these atoms, times a number that is not zero, stays in the sum whatever else is in it.
        let stays = |(unlike, factors, vector): (&Facts, &Terms, usize)| {
            unlike.unlike.iter().filter(|l| !factors.is_zero(vector, **l)).take(MOST_TERMS + 1).count() > MOST_TERMS
        };
        if row.is_rational && stays((column, &operands[0], i)) || column.is_rational && stays((row, &operands[1], j)) {
            return None;
        }
        let length = operands[0].operand.layout.length;
        let is_left_out = |l: &usize| operands[0].is_zero(i, *l) || operands[1].is_zero(j, *l);
        let all: Vec<(Rc<Between>, Rc<Between>)> = (0..length).filter(|l| !is_left_out(l)).map(entries).collect();
        if !all.iter().all(|(x, y)| x.is_constant() || y.is_constant()) {
            return None;
        }
        let forms = all.iter().map(|(x, y)| x.shared_form().zip(y.shared_form()));
        Form::of_products(forms.collect::<Option<Vec<_>>>()?.into_iter())
    }
}
