//! Names the arithmetic of a machine by its answers to designed questions.
//!
//! [`questions`] is the list: matmuls, sums, running sums, functions and selections whose inputs make the modes of
//! [`crate::machine`] answer differently. [`write_folder`] puts them into a folder with scripts that ask JAX or PyTorch,
//! [`Answers`] reads what these saved, [`identify`] names the modes that give the same bits, and [`measure`] reads single
//! properties off the answers, whatever machine gave them.

mod answers;
mod designed;
mod device_order;
mod folder;
mod identify;
mod mask_order;
mod measure;
mod mode_pattern;
mod probe_question;

pub use answers::{Answers, AnswersError, answer_as};
pub use device_order::DeviceOrder;
pub use folder::{FILES, write_folder};
pub use identify::{
    Candidate, EmulatedAnswers, GroupOutcome, Identified, QuestionArithmetic, arithmetic, candidates, identify,
};
pub use mask_order::{Adder, Order, StretchSum, find_orders, orders};
pub use measure::{Property, measure};
pub use mode_pattern::{KEYS, Pattern, count_modes};
pub use probe_question::{GROUPS, Group, Operation, Question, questions};

/// Why questions were not written, asked or answered.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A file of the folder could not be written.
    #[error("failed to write {}: {source}", path.display())]
    Unwritten {
        /// The file.
        path: std::path::PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A question is no program that the machine takes: a defect of this project.
    #[error("question {question}: {why}")]
    Question {
        /// Its name.
        question: String,
        /// The error of reading or evaluating it.
        why: String,
    },
    /// A mode was refused: a defect of this project.
    #[error(transparent)]
    Mode(#[from] crate::machine::ModeError),
    /// Answers could not be read.
    #[error(transparent)]
    Answers(#[from] AnswersError),
}
