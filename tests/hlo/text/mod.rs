//! HLO text, read and printed: every file of tests/data/hlo, the forms that they do not have, broken text, text that no
//! program means, large text.

mod broken;
mod files;
mod forms;
mod impossible;
mod large;
mod left_out;
