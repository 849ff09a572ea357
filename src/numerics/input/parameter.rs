//! Parameters that a spec may set.

/// One parameter of a distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParameterDoc {
    /// The key in a spec.
    pub name: &'static str,
    /// The value where a spec is silent.
    pub default: f64,
    /// Smallest and largest value that are accepted.
    pub range: (f64, f64),
    /// Whether only whole numbers are accepted.
    pub whole: bool,
    /// Its meaning.
    pub doc: &'static str,
}

impl ParameterDoc {
    /// A parameter that takes any number of its range.
    pub(super) const fn real(name: &'static str, default: f64, range: (f64, f64), doc: &'static str) -> ParameterDoc {
        ParameterDoc { name, default, range, whole: false, doc }
    }

    /// A parameter that takes whole numbers only.
    pub(super) const fn whole(name: &'static str, default: f64, range: (f64, f64), doc: &'static str) -> ParameterDoc {
        ParameterDoc { name, default, range, whole: true, doc }
    }
}

/// Largest whole number that a parameter takes; exact in f64 and within every index.
pub(super) const MANY: f64 = 1e9;

/// Shared by the distributions that start from normals.
pub(super) const SCALE: ParameterDoc =
    ParameterDoc::real("scale", 1.0, (1e-30, 1e30), "standard deviation of the normals");

/// Set to 1, rounds the values of f32 and f64 arguments to bf16 first: operands that bf16 passes hold exactly.
pub(super) const BF16_VALUES: ParameterDoc =
    ParameterDoc::whole("bf16", 0.0, (0.0, 1.0), "1: values of f32 and f64 arguments are bf16 numbers");

/// The parameters that every distribution has.
pub static COMMON: &[ParameterDoc] = &[BF16_VALUES];
