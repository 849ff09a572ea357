//! Faults of a spec or of the arguments that it is to fill.

use super::ParameterDoc;

/// Why a spec cannot be read, or arguments cannot be filled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// No distribution has this name.
    #[error("unknown input `{name}`; {hint}")]
    UnknownInput {
        /// The name as written.
        name: String,
        /// The nearest name, or all names.
        hint: String,
    },
    /// The text is no spec.
    #[error("input `{text}`: {reason}; write NAME or NAME[key=value,...]")]
    Syntax {
        /// The whole spec as written.
        text: String,
        /// The violation of the form.
        reason: String,
    },
    /// The distribution has no such parameter.
    #[error("input `{input}` has no parameter `{key}`; {hint}")]
    UnknownParameter {
        /// The distribution's name.
        input: &'static str,
        /// The parameter's name as written.
        key: String,
        /// The nearest parameter of the distribution, or all of them.
        hint: String,
    },
    /// One parameter is given twice.
    #[error("input `{input}`: parameter `{key}` is set twice")]
    RepeatedParameter {
        /// The distribution's name.
        input: &'static str,
        /// The parameter's name.
        key: &'static str,
    },
    /// A parameter is no number, out of its range, or not whole where only whole numbers are taken.
    #[error("input `{input}`: `{key}={value}` is not a {kind} from {min} to {max}")]
    BadValue {
        /// The distribution's name.
        input: &'static str,
        /// The parameter's name.
        key: &'static str,
        /// The value as written.
        value: String,
        /// `number` or `whole number`.
        kind: &'static str,
        /// The least value that is taken.
        min: String,
        /// The largest value that is taken.
        max: String,
    },
    /// The distribution cannot fill these arguments.
    #[error("input `{input}` does not fit: {source}")]
    Unsuitable {
        /// The distribution's name.
        input: &'static str,
        /// The argument or parameter that does not fit, and the values that would.
        source: Unfit,
    },
    /// The rows asked for are not those of the first argument.
    #[error("argument `{argument}` has {has} rows, {asked} are asked for")]
    Rows {
        /// The first argument's name.
        argument: String,
        /// Its rows, by its dims.
        has: usize,
        /// The number of rows that are asked for.
        asked: u64,
    },
    /// An argument has more elements than can be held.
    #[error("argument `{argument}` of dims {dims:?} does not fit in memory")]
    TooLarge {
        /// The argument's name.
        argument: String,
        /// Its dims.
        dims: Vec<usize>,
    },
    /// A binding names no argument.
    #[error("there is no argument `{name}` to bind; {hint}")]
    UnknownArgument {
        /// The name as written.
        name: String,
        /// The nearest argument, or all of them.
        hint: String,
    },
    /// A binding gives no array.
    #[error("argument bound to `{text}`: {why}")]
    Unbound {
        /// The binding as written.
        text: String,
        /// The reason, such as a missing array.
        why: String,
    },
    /// An array has another shape than its argument.
    #[error("argument `{argument}` is {expected}, but is bound to {given}")]
    WrongShape {
        /// The argument's name.
        argument: String,
        /// The array's shape.
        given: String,
        /// The argument's shape.
        expected: String,
    },
}

/// Why a distribution cannot fill some arguments. The words are the distribution's own; what is at fault is named apart.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unfit {
    /// The argument, by position, where it is one of them.
    pub argument: Option<usize>,
    /// The parameter of the distribution, where it is one of them.
    pub parameter: Option<&'static str>,
    /// The misfit, and the values that would fit.
    pub why: String,
}

impl Unfit {
    pub(super) fn new(why: impl Into<String>) -> Unfit {
        Unfit { argument: None, parameter: None, why: why.into() }
    }

    /// The argument at this position is at fault.
    pub(super) fn argument(self, at: usize) -> Unfit {
        Unfit { argument: Some(at), ..self }
    }

    /// This parameter is at fault.
    pub(super) fn parameter(self, parameter: &ParameterDoc) -> Unfit {
        Unfit { parameter: Some(parameter.name), ..self }
    }
}
