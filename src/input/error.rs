//! What can be wrong with a spec or the arguments it is to fill.

/// Why a spec cannot be read, or arguments cannot be filled.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InputError {
    #[error("unknown input `{name}`; {hint}")]
    UnknownInput { name: String, hint: String },
    #[error("input `{text}`: {reason}; write NAME or NAME[key=value,...]")]
    Syntax { text: String, reason: String },
    #[error("input `{input}` has no parameter `{key}`; {hint}")]
    UnknownParameter { input: &'static str, key: String, hint: String },
    #[error("input `{input}`: parameter `{key}` is set twice")]
    RepeatedParameter { input: &'static str, key: &'static str },
    #[error("input `{input}`: `{key}={value}` is not a {kind} from {min} to {max}")]
    BadValue { input: &'static str, key: &'static str, value: String, kind: &'static str, min: String, max: String },
    #[error("input `{input}` does not fit: {reason}")]
    Unsuitable { input: &'static str, reason: String },
    #[error("argument `{argument}` has {has} rows, {asked} are asked for")]
    Rows { argument: String, has: usize, asked: u64 },
    #[error("argument `{argument}` of dims {dims:?} does not fit in memory")]
    TooLarge { argument: String, dims: Vec<usize> },
}
