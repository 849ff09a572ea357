//! A file's program as one of two that are compared, with the names that its values have there.

use crate::hlo::{Import, Origin};
use crate::same::{Comparand, Source};

impl<'a> From<&'a Import> for Comparand<'a> {
    fn from(import: &'a Import) -> Comparand<'a> {
        let source = |origin: &Origin| Source { name: origin.name.clone(), op_name: origin.op_name.clone() };
        Comparand {
            program: &import.program,
            argument_names: &import.argument_names,
            sources: import.origins.iter().map(source).collect(),
        }
    }
}
