//! Places of a program's values in its file.

use super::ast::Position;

/// Origin of a value of the entry in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Origin {
    /// The instruction's name in the file, behind that of the fusion or call of the entry where it stands in one. One
    /// instruction may become several operations.
    pub name: String,
    /// The instruction's place in the file.
    pub at: Position,
    /// `op_name` of its metadata: where it stands in the user's program.
    pub op_name: Option<String>,
    /// The fusion or call of the entry that it stands in.
    pub within: Option<String>,
}
