//! Witness of a finding: an element as it was computed and as it should be, and the tokens in question.

use serde::{Deserialize, Serialize};

use crate::num::F64;
use crate::subject;
use crate::tensor::{DType, Data, Tensor};

use super::{Batch, ObserveError};

/// An element of a result that shows what was found.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct Witness {
    /// The result's name.
    pub result: String,
    /// The element's row in the whole case, from 0: its position along the result's leading dim.
    pub row: u64,
    /// Its position in the whole result, row-major.
    pub index: u64,
    /// Bits of the computed value, in the result's own type.
    pub value_hex: String,
    /// Bits of the value that it is compared with: of floats in f64, of integers and predicates in the result's own
    /// type. That is the truth, or the other of two values that a check compares.
    pub truth_hex: String,
    /// The tokens in question, the one that should be there first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tokens: Vec<ScoredToken>,
}

/// A token with its score.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct ScoredToken {
    /// The token: its position in the row of scores.
    pub token: u64,
    /// Bits of the score that the declared program gives it, every operation rounded; `None` where nothing ranks tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_hex: Option<String>,
}

impl Witness {
    /// The element at a flat position of a result over rows from `first_row` on, and the bits that it is compared with.
    pub fn of(result: &str, tensor: &Tensor, first_row: usize, at: usize, truth_hex: String) -> Witness {
        let width = row_length(tensor);
        Witness {
            result: result.to_string(),
            row: (first_row + at / width) as u64,
            index: (first_row * width + at) as u64,
            value_hex: bits_hex(tensor.data(), at),
            truth_hex,
            tokens: Vec::new(),
        }
    }

    /// The same of a batch's result.
    pub(super) fn at(batch: &Batch, output: usize, at: usize, truth_hex: String) -> Witness {
        Witness::of(&batch.program.output_names[output], &batch.got[output], batch.first_row, at, truth_hex)
    }

    pub(super) fn with_tokens(self, tokens: Vec<ScoredToken>) -> Witness {
        Witness { tokens, ..self }
    }
}

/// Elements in a row of a result, of which the leading dim counts the rows.
fn row_length(tensor: &Tensor) -> usize {
    let rows = tensor.dims().first().copied().unwrap_or(1).max(1);
    (tensor.len() / rows).max(1)
}

/// Bits of a float as f64.
pub fn float_hex(value: f64) -> String {
    format!("0x{:016x}", F64.encode(value))
}

/// Bits of a value in its own type.
pub(super) fn value_hex(dtype: DType, value: f64) -> String {
    match dtype.format() {
        Some(format) => format!("0x{:0digits$x}", format.encode(value), digits = digits_of(dtype)),
        None => integer_hex(dtype, value as i64),
    }
}

/// Bits of an integer or predicate in its own type.
pub(super) fn integer_hex(dtype: DType, value: i64) -> String {
    let (bits, digits) = (value as u64 & (u64::MAX >> (64 - dtype.bits().clamp(1, 64))), digits_of(dtype));
    format!("0x{bits:0digits$x}")
}

/// Bits of an element in its own type.
pub fn bits_hex(data: &Data, at: usize) -> String {
    let digits = digits_of(data.dtype());
    format!("0x{:0digits$x}", data.bits(at))
}

pub(super) fn digits_of(dtype: DType) -> usize {
    dtype.bits().div_ceil(4) as usize
}

/// Bits of the value that an element is compared with, if that is another evaluation of it.
pub(super) fn other_hex(other: &Data, at: usize) -> String {
    if other.dtype().is_float() { float_hex(other.get_f64(at)) } else { bits_hex(other, at) }
}

/// Results of these names hold tokens.
pub(super) fn holds_tokens(batch: &Batch, output: usize) -> bool {
    const NAMES: [&str; 7] = ["token", "greedy", "token_f32", "tokens", "indices", "generated", "experts"];
    NAMES.contains(&batch.program.output_names[output].as_str())
}

/// Scores of a batch by the declared program, every operation rounded; evaluated on first use.
#[derive(Default)]
pub(super) struct DeclaredScores(Option<Option<Tensor>>);

impl DeclaredScores {
    /// The scores `[rows, n]`; `None` where nothing ranks tokens.
    pub fn of(&mut self, batch: &Batch) -> Result<Option<&Tensor>, ObserveError> {
        if self.0.is_none() {
            let rows = batch.arguments.first().and_then(|a| a.dims().first().copied()).unwrap_or(1);
            let program = batch.spec.scores(batch.n, rows)?;
            let evaluated = |program| subject::evaluate_declared(&program, batch.subject.promise(), batch.arguments);
            self.0 = Some(program.map(evaluated).transpose()?.and_then(|results| results.into_iter().next()));
        }
        Ok(self.0.as_ref().and_then(Option::as_ref))
    }

    /// Tokens of a row with their scores; numbers that are no tokens are left out.
    pub fn with_scores(
        &mut self,
        batch: &Batch,
        row: usize,
        tokens: impl IntoIterator<Item = i64>,
    ) -> Result<Vec<ScoredToken>, ObserveError> {
        let scores = self.of(batch)?;
        let tokens = tokens.into_iter().filter_map(|token| usize::try_from(token).ok()).filter(|t| *t < batch.n);
        let scored = |token: usize| ScoredToken {
            token: token as u64,
            score_hex: scores.map(|scores| bits_hex(scores.data(), row * batch.n + token)),
        };
        Ok(tokens.map(scored).collect())
    }

    /// The token of a row's highest score, or of its first NaN; the first token where nothing ranks them.
    pub fn best(&mut self, batch: &Batch, row: usize) -> Result<usize, ObserveError> {
        let Some(scores) = self.of(batch)? else { return Ok(0) };
        let score = |token: usize| scores.data().get_f64(row * batch.n + token);
        let nan = (0..batch.n).find(|token| score(*token).is_nan());
        Ok(nan.unwrap_or_else(|| (1..batch.n).fold(0, |best, t| if score(t) > score(best) { t } else { best })))
    }
}

/// The position in the mask of the flag of one token of a row; a result `tokens`, if there is one, has the mask's
/// order.
pub(super) fn place_in_mask(batch: &Batch, row: usize, token: usize) -> usize {
    let own = row * batch.n + token;
    let Some(order) = batch.program.output("tokens") else { return own };
    let ids = batch.got[order].data();
    (row * batch.n..(row + 1) * batch.n).find(|at| ids.get_i64(*at) == token as i64).unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_have_the_digits_of_their_type() {
        assert_eq!(float_hex(-2.0), "0xc000000000000000");
        assert_eq!(integer_hex(DType::S32, -1), "0xffffffff");
        assert_eq!(integer_hex(DType::Pred, 1), "0x01");
        assert_eq!(integer_hex(DType::S4, -1), "0xf");
        assert_eq!(integer_hex(DType::U64, -1), "0xffffffffffffffff");
    }

    #[test]
    fn an_element_is_counted_from_the_case_s_first_row() {
        let tensor = Tensor::new(&[2, 3], Data::S32(vec![0, 1, 2, 3, 4, 5]));
        let witness = Witness::of("out", &tensor, 8, 4, integer_hex(DType::S32, 7));
        assert_eq!((witness.row, witness.index), (9, 28));
        assert_eq!((witness.value_hex.as_str(), witness.truth_hex.as_str()), ("0x00000004", "0x00000007"));
    }
}
