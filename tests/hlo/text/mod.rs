//! HLO text, read and printed: every file of tests/data/hlo, the forms that they do not have, broken text, large text.

mod broken;
mod files;
mod forms;
mod large;
