//! The changes that a comparison reports.

use std::fmt;

/// The kinds of change, as the first word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChangeKind {
    /// Somebody reads more bits of the value than before.
    RoundingRemoved,
    /// Somebody reads fewer bits of the value than before.
    RoundingAdded,
    /// A sum accumulates in fewer bits.
    Narrowed,
    /// A sum accumulates in more bits.
    Widened,
    /// A sum is taken in other steps.
    Reordered,
    /// An operation asks for another precision, or another operation that rounds differently stands in its place.
    PrecisionChanged,
    /// Another operation stands in a value's place, or it takes other operands: elements are moved, picked, compared or
    /// counted otherwise. That rounds nothing by itself; whether it comes to the same elements is not known.
    OperationChanged,
    /// A compiled matmul is cut up otherwise, or devices exchange otherwise what they add: another order of additions.
    PlanChanged,
    /// An exact top-k became an approximate one, the reverse, or one with other bins.
    TopkChanged,
    /// An attribute or a key of a configuration is another, that nothing here follows: what it decides is not known.
    AttributeChanged,
}

impl ChangeKind {
    /// All kinds, in their order.
    pub const ALL: [ChangeKind; 10] = [
        ChangeKind::RoundingRemoved,
        ChangeKind::RoundingAdded,
        ChangeKind::Narrowed,
        ChangeKind::Widened,
        ChangeKind::Reordered,
        ChangeKind::PrecisionChanged,
        ChangeKind::OperationChanged,
        ChangeKind::PlanChanged,
        ChangeKind::TopkChanged,
        ChangeKind::AttributeChanged,
    ];

    /// The meaning of the word, for a user of `hlo diff`.
    pub const fn doc(self) -> &'static str {
        match self {
            ChangeKind::RoundingRemoved => {
                "The compiler left out a rounding: the users that are named take more bits of the value than before. \
                 `bf16 for x -> f32 for x` says so of the user x."
            }
            ChangeKind::RoundingAdded => {
                "The compiler added a rounding: the users that are named take fewer bits of the value than before."
            }
            ChangeKind::Narrowed => "A sum is accumulated in fewer bits than before.",
            ChangeKind::Widened => "A sum is accumulated in more bits than before.",
            ChangeKind::Reordered => "A sum adds its terms in another order, which gives other last bits.",
            ChangeKind::PrecisionChanged => {
                "An operation asks for another precision, or another operation that rounds differently is in its place."
            }
            ChangeKind::OperationChanged => {
                "Another operation is in a value's place, or it has other operands: elements are moved, picked, compared or \
                 counted otherwise. That rounds nothing; whether it gives the same elements is for `ulpgate same` to say."
            }
            ChangeKind::PlanChanged => {
                "A compiled matmul is cut up otherwise, or devices exchange partial sums otherwise: another order of additions."
            }
            ChangeKind::TopkChanged => {
                "An exact top-k became an approximate one, or the reverse, or its bins are others."
            }
            ChangeKind::AttributeChanged => {
                "An attribute or a key of a configuration is another, and the emulated machine does not follow it: its effect \
                 on results is not known."
            }
        }
    }

    /// The word that a line starts with.
    pub const fn name(self) -> &'static str {
        match self {
            ChangeKind::RoundingRemoved => "rounding-removed",
            ChangeKind::RoundingAdded => "rounding-added",
            ChangeKind::Narrowed => "narrowed",
            ChangeKind::Widened => "widened",
            ChangeKind::Reordered => "reordered",
            ChangeKind::PrecisionChanged => "precision-changed",
            ChangeKind::OperationChanged => "operation-changed",
            ChangeKind::PlanChanged => "plan-changed",
            ChangeKind::TopkChanged => "topk-changed",
            ChangeKind::AttributeChanged => "attribute-changed",
        }
    }
}

/// One change of precision, printed as one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Kind of the change.
    pub kind: ChangeKind,
    /// The value's name in BEFORE.
    pub name: String,
    /// `op_name` of its metadata in either program.
    pub op_name: Option<String>,
    /// State in BEFORE, in words: `bf16 for ge.0`.
    pub before: String,
    /// State in AFTER, in words.
    pub after: String,
    /// Whether another unit of a TPU computes it.
    pub of_unit: bool,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)?;
        if let Some(op_name) = &self.op_name {
            write!(f, " ({op_name})")?;
        }
        write!(f, ": {} -> {}", self.before, self.after)
    }
}

/// All that is to say about two programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// In BEFORE's order; of one value in the order of [`ChangeKind`].
    pub changes: Vec<Change>,
    /// Names of the float values of BEFORE, and of AFTER, that the other program does not compute. No change is about
    /// them; their operands and their users are compared where both programs compute them.
    pub unmatched: [Vec<String>; 2],
    /// Operations that the tool assigns no semantics to.
    pub not_understood: NotUnderstood,
    /// For each result, whether something that is told lies upstream of it, [`ChangeKind::AttributeChanged`] aside: the bits of the
    /// others cannot differ.
    pub reached: Vec<bool>,
}

impl Difference {
    /// The changes that the machine follows.
    pub(super) fn machine_changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.kind != ChangeKind::AttributeChanged)
    }

    /// The first of some results, by number, that nothing reaches which is told.
    pub fn first_unreached(&self, results: impl IntoIterator<Item = usize>) -> Option<usize> {
        results.into_iter().find(|result| !self.reached.get(*result).copied().unwrap_or(false))
    }

    /// Whether no change was found that could change a bit of the machine's results. The machine follows no attribute
    /// whose change is an [`ChangeKind::AttributeChanged`] alone.
    pub fn decides_nothing(&self) -> bool {
        let Difference { unmatched, not_understood, .. } = self;
        self.machine_changes().next().is_none()
            && unmatched.iter().all(Vec::is_empty)
            && *not_understood == NotUnderstood::default()
    }
}

/// Values on which results depend and that nothing here has a meaning for, each with its name and what it is:
/// `gather.3 (tpu_custom_call)`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NotUnderstood {
    /// In BEFORE's words: those that are the same in AFTER and take the same operands, as far as other changes do not tell.
    pub alike: Vec<String>,
    /// Those of BEFORE, and of AFTER, that the other program does not have.
    pub apart: [Vec<String>; 2],
}

/// The shortest decimal of a number, as an f32 where it is one.
pub(super) fn number(value: f64) -> String {
    let narrow = value as f32;
    if f64::from(narrow) == value { narrow.to_string() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::number;

    /// A number of f32 has f32's digits; any other has all that tell it from its neighbours.
    #[test]
    fn numbers_have_the_digits_of_their_format() {
        assert_eq!(number(f64::from(0.1f32)), "0.1");
        assert_eq!(number(1.0 + 2f64.powi(-30)), "1.0000000009313226");
        for one in [0.3, 1.0, 1e300] {
            assert_ne!(number(one), number(f64::next_up(one)), "{one}");
        }
    }
}
