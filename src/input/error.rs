//! What can be wrong with a spec or the arguments it is to fill.

/// Why a spec cannot be read, or arguments cannot be filled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    /// No distribution has this name.
    #[error("unknown input `{name}`; {hint}")]
    UnknownInput { name: String, hint: String },
    /// The text is no spec.
    #[error("input `{text}`: {reason}; write NAME or NAME[key=value,...]")]
    Syntax { text: String, reason: String },
    /// The distribution has no such parameter.
    #[error("input `{input}` has no parameter `{key}`; {hint}")]
    UnknownParameter { input: &'static str, key: String, hint: String },
    /// One parameter is given twice.
    #[error("input `{input}`: parameter `{key}` is set twice")]
    RepeatedParameter { input: &'static str, key: &'static str },
    /// A parameter is no number, or out of range.
    #[error("input `{input}`: `{key}={value}` is not a {kind} from {min} to {max}")]
    BadValue { input: &'static str, key: &'static str, value: String, kind: &'static str, min: String, max: String },
    /// The distribution cannot fill these arguments.
    #[error("input `{input}` does not fit: {reason}")]
    Unsuitable { input: &'static str, reason: String },
    /// The rows asked for are not those of the first argument.
    #[error("argument `{argument}` has {has} rows, {asked} are asked for")]
    Rows { argument: String, has: usize, asked: u64 },
    /// An argument has more elements than can be held.
    #[error("argument `{argument}` of dims {dims:?} does not fit in memory")]
    TooLarge { argument: String, dims: Vec<usize> },
}
