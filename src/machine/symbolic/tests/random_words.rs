//! Steps of random programs that move the bits of integers and floats: parts of words are taken, shifted, put together and read back.

use crate::ir::{Binary, Op, Shape, ShapeError, Unary, ValueId};
use crate::tensor::DType;

use super::random_program::{LANES, RandomProgram};

const INTEGERS: [DType; 6] = [DType::S32, DType::U32, DType::S16, DType::U16, DType::S8, DType::U8];

impl RandomProgram {
    /// The types of words and of the floats that have as many bits.
    pub const WORD_TYPES: [DType; 9] =
        [DType::F32, DType::BF16, DType::S32, DType::U32, DType::S16, DType::U16, DType::S8, DType::U8, DType::Pred];

    /// A step that moves, joins or reads bits.
    pub fn word_step(&mut self) {
        let Some((dtype, [word, other])) = self.two_words() else { return self.first_words() };
        let made = match self.random.below(20) {
            16.. => return self.first_words(),
            0..=2 => {
                let to = self.random.one_of(&INTEGERS);
                self.builder.convert(word, to)
            }
            3 => self.reinterpreted_word(dtype, word),
            4 => self.with_other_sign(dtype, word),
            5..=7 => {
                let shifts = [Binary::ShiftLeft, Binary::ShiftRightLogical, Binary::ShiftRightArithmetic];
                let (shift, width) = (self.random.one_of(&shifts), dtype.bits());
                let by = self.random.one_of(&[1, width / 4, width / 2, width - 8, width - 1, width]);
                self.joined(shift, dtype, word, f64::from(by))
            }
            8..=10 => self.masked(dtype, word),
            11 => self.op(Op::Unary(Unary::Not), &[word]),
            12 => return self.twin(),
            _ => {
                let binary = self.random.one_of(&[Binary::And, Binary::Or, Binary::Xor, Binary::Add]);
                self.op(Op::Binary(binary), &[word, other])
            }
        };
        self.add_word(made);
    }

    fn add_word(&mut self, made: Made) {
        let Some(id) = self.add(made) else { return };
        let dtype = self.builder.shape(id).dtype();
        self.words.extend(dtype.filter(|dtype| dtype.is_integer()).map(|dtype| (dtype, id)));
    }

    /// Integers of whose bits something is known: those of a float, a number of few bits, and one between two others.
    fn first_words(&mut self) {
        let dtype = self.random.one_of(&INTEGERS);
        let integer = self.of(dtype);
        let made = match self.random.below(4) {
            0 | 1 => self.float_bits(),
            2 => self.builder.convert(integer, DType::U8),
            _ => {
                let end = self.random.one_of(&[1.0, 15.0, 100.0, 127.0]);
                let ends = [0.0, end].map(|end| self.number(dtype, end));
                let [Some(low), Some(high)] = ends else { return };
                self.op(Op::Clamp, &[low, integer, high])
            }
        };
        self.add_word(made);
    }

    /// Two words of a type: at times those of the step before, of which another function may have the same symbol, and often one of
    /// the last, since parts are read where words were put together.
    fn two_words(&mut self) -> Option<(DType, [ValueId; 2])> {
        if let Some(last) = self.last.filter(|_| self.random.below(3) == 0) {
            return Some(last);
        }
        let first = if self.random.below(3) == 0 { self.words.len().saturating_sub(4) } else { 0 };
        let words = &self.words[first..];
        let (dtype, word) = if words.is_empty() { return None } else { self.random.one_of(words) };
        let alike: Vec<ValueId> = self.words.iter().filter(|(own, _)| *own == dtype).map(|(_, word)| *word).collect();
        self.last = Some((dtype, [word, self.random.one_of(&alike)]));
        self.last
    }

    fn number(&mut self, dtype: DType, number: f64) -> Option<ValueId> {
        let constant = self.builder.constant(dtype, number).ok()?;
        let spread = self.builder.splat(constant, &[LANES]);
        self.add(spread)
    }

    fn joined(&mut self, binary: Binary, dtype: DType, word: ValueId, number: f64) -> Made {
        match self.number(dtype, number) {
            Some(number) => self.op(Op::Binary(binary), &[word, number]),
            None => Ok(word),
        }
    }

    /// A part of a word, or a word with ones: the lower or the upper half, the sign, or all but these.
    fn masked(&mut self, dtype: DType, word: ValueId) -> Made {
        let width = dtype.bits();
        let half = (1u64 << (width / 2)) - 1;
        let (all, sign) = (half << (width / 2) | half, 1u64 << (width - 1));
        let mask = self.random.one_of(&[half, all ^ half, sign, all ^ sign, half >> 1, 1, all]);
        let number = if dtype.is_signed() && mask & sign != 0 { mask as f64 - all as f64 - 1.0 } else { mask as f64 };
        let binary = self.random.one_of(&[Binary::And, Binary::And, Binary::Or, Binary::Xor]);
        self.joined(binary, dtype, word, number)
    }

    /// The bits of a float.
    fn float_bits(&mut self) -> Made {
        let (from, integers) = match self.random.below(2) {
            0 => (DType::F32, [DType::U32, DType::S32]),
            _ => (DType::BF16, [DType::U16, DType::S16]),
        };
        let (float, to) = (self.of(from), self.random.one_of(&integers));
        self.builder.op_of_shape(Op::BitcastConvert, &[float], Shape::array(to, &[LANES]))
    }

    /// A word as a float, or as an integer with another sign.
    fn reinterpreted_word(&mut self, dtype: DType, word: ValueId) -> Made {
        let alike = Self::WORD_TYPES.into_iter().filter(|to| to.bits() == dtype.bits() && *to != DType::Pred);
        let to = self.random.one_of(&alike.collect::<Vec<_>>());
        self.builder.op_of_shape(Op::BitcastConvert, &[word], Shape::array(to, &[LANES]))
    }

    /// A word and its bits as those of a type with another sign, both in a wider type.
    fn with_other_sign(&mut self, dtype: DType, word: ValueId) -> Made {
        let other = INTEGERS.into_iter().find(|to| to.bits() == dtype.bits() && *to != dtype).unwrap_or(dtype);
        let bits = self.builder.op_of_shape(Op::BitcastConvert, &[word], Shape::array(other, &[LANES]))?;
        let to = self.random.one_of(&[DType::S32, DType::U32]);
        let wide = self.builder.convert(word, to);
        self.add(wide);
        self.builder.convert(bits, to)
    }
}

type Made = Result<ValueId, ShapeError>;
