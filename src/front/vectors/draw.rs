//! Elements and scales of one vector, drawn by its number.

use crate::input::{InputKey, Sampler, Streams};
use crate::num::floor_log2;
use crate::scaled::{Element, Extreme, Format, Maximum, ScaleType, rules_of};
use crate::tensor::DType;

/// Elements of a vector: four blocks of 32, or eight of 16.
pub const ELEMENTS_OF_A_VECTOR: usize = 128;

const LENGTH: usize = ELEMENTS_OF_A_VECTOR;

/// The codes of one vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// Codes of the elements of the row.
    pub a: Vec<u8>,
    /// Codes of the elements of the column.
    pub b: Vec<u8>,
    /// Codes of the row's scales, one a block.
    pub scale_a: Vec<u8>,
    /// Codes of the column's scales.
    pub scale_b: Vec<u8>,
}

/// The arithmetic that a vector puts to the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers as a library quantises them.
    Quantised,
    /// Any codes.
    Codes,
    /// Products that cancel.
    Cancelling,
    /// Scales far apart.
    FarScales,
    /// Sums half way between two f32.
    Halfway,
    /// Small terms beside a large one.
    Swallowed,
    /// The smallest numbers.
    Smallest,
    /// The largest numbers.
    Largest,
}

/// All kinds; vector j is of kind j mod 8.
pub const KINDS: [Kind; 8] = [
    Kind::Quantised,
    Kind::Codes,
    Kind::Cancelling,
    Kind::FarScales,
    Kind::Halfway,
    Kind::Swallowed,
    Kind::Smallest,
    Kind::Largest,
];

impl Kind {
    /// Its description in the README.
    pub const fn doc(self) -> &'static str {
        match self {
            Kind::Quantised => {
                "normal numbers, each block in an octave of its own out of 13, quantised by RCEIL (MX) or e4m3(amax / 6)"
            }
            Kind::Codes => "any finite codes, -0 included, under scales within 2^-4 to 2^4",
            Kind::Cancelling => "the second half repeats the first with the sign changed, but for its last product",
            Kind::FarScales => "any finite codes under scales within 2^-30 to 2^30 (e4m3: any number but zero)",
            Kind::Halfway => {
                "a large term, one or no unit in its last place, half a unit, and an eighth of that, its negative or nothing, in blocks of their own"
            }
            Kind::Swallowed => {
                "a large term in the first block; 96 or 112 products in the others, each half a unit in its last place"
            }
            Kind::Smallest => {
                "zeros of either sign and the smallest elements under the smallest scales: e8m0 results are subnormal f32, or too small for these"
            }
            Kind::Largest => {
                "the largest elements under scales for which the sum stays just below the largest f32 (e4m3: 448)"
            }
        }
    }
}

/// Vector `number` of a format, which has scales by blocks.
pub fn draw(format: &'static Format, number: usize) -> Vector {
    let key = InputKey { suite: "vectors".to_string(), input: format.name.to_string(), n: LENGTH as u64, seed: 0 };
    let mut sampler = Streams::new(&key).sampler(0, number as u64);
    let mut drawing = Drawing { format, sampler: &mut sampler };
    drawing.vector(KINDS[number % KINDS.len()])
}

struct Drawing<'a> {
    format: &'static Format,
    sampler: &'a mut Sampler,
}

impl Drawing<'_> {
    fn element(&self) -> &'static Element {
        self.format.element
    }

    fn block(&self) -> usize {
        self.format.block.unwrap_or(LENGTH)
    }

    fn blocks(&self) -> usize {
        LENGTH / self.block()
    }

    /// A scale of 2^exponent: e8m0 from -127 to 127, e4m3 from -6 to 8; what lies beyond is the nearest of these.
    fn power(&self, exponent: i32) -> u8 {
        match self.format.scales {
            ScaleType::E4M3 => ((exponent.clamp(-6, 8) + 7) << 3) as u8,
            _ => (exponent.clamp(-127, 127) + 127) as u8,
        }
    }

    /// Powers of two for every block, of exponents that `of` gives.
    fn powers(&mut self, of: impl Fn(&mut Sampler, usize) -> i32) -> Vec<u8> {
        let exponents: Vec<i32> = (0..self.blocks()).map(|at| of(self.sampler, at)).collect();
        exponents.into_iter().map(|exponent| self.power(exponent)).collect()
    }

    /// An exponent within -most to most.
    fn near(sampler: &mut Sampler, most: i32) -> i32 {
        sampler.below(2 * most as u64 + 1) as i32 - most
    }

    fn finite_code(&mut self) -> u8 {
        loop {
            let code = self.sampler.below(1 << self.element().bits()) as u8;
            if self.element().decode(code).is_finite() {
                return code;
            }
        }
    }

    fn finite_codes(&mut self) -> Vec<u8> {
        (0..LENGTH).map(|_| self.finite_code()).collect()
    }

    /// A code's negative.
    fn negative(&self, code: u8) -> u8 {
        code ^ 1 << (self.element().bits() - 1)
    }

    /// The code of a number that the elements have.
    fn code(&self, number: f64) -> u8 {
        self.element().round(number, 1.0, crate::scaled::Rounding::NearestEven).code
    }

    fn vector(&mut self, kind: Kind) -> Vector {
        match kind {
            Kind::Quantised => {
                let (a, scale_a) = self.quantised();
                let (b, scale_b) = self.quantised();
                Vector { a, b, scale_a, scale_b }
            }
            Kind::Codes => self.codes(4),
            Kind::Cancelling => self.cancelling(),
            Kind::FarScales => {
                let mut vector = self.codes(30);
                if self.format.scales == ScaleType::E4M3 {
                    for scale in vector.scale_a.iter_mut().chain(&mut vector.scale_b) {
                        *scale = 1 + self.sampler.below(126) as u8;
                    }
                }
                vector
            }
            Kind::Halfway => self.halfway(),
            Kind::Swallowed => self.swallowed(),
            Kind::Smallest => self.smallest(),
            Kind::Largest => self.largest(),
        }
    }

    fn codes(&mut self, most: i32) -> Vector {
        let (a, b) = (self.finite_codes(), self.finite_codes());
        let scale_a = self.powers(|sampler, _| Self::near(sampler, most));
        let scale_b = self.powers(|sampler, _| Self::near(sampler, most));
        Vector { a, b, scale_a, scale_b }
    }

    /// Normal numbers by the format's first rule without a per-tensor scale: RCEIL, or e4m3(amax / 6).
    fn quantised(&mut self) -> (Vec<u8>, Vec<u8>) {
        let format = self.format;
        let wanted = if format.scales == ScaleType::E4M3 { "NVFP4-1" } else { "RCEIL" };
        let rules = rules_of(format.scales, format.element);
        let rule = rules.into_iter().find(|rule| rule.name == wanted);
        let (mut codes, mut scales) = (Vec::with_capacity(LENGTH), Vec::new());
        for _ in 0..self.blocks() {
            let octave = 2f64.powi(Self::near(self.sampler, 6));
            let values: Vec<f32> = (0..self.block()).map(|_| (self.sampler.normal() * octave) as f32).collect();
            let extreme = Extreme::of(values.iter().copied(), DType::F32);
            let given = rule.map(|rule| rule.codes(&extreme, format.element, format.scales, 1.0));
            let scale = given.and_then(|codes| codes.first().copied()).unwrap_or(u64::from(self.power(0)));
            scales.push(scale as u8);
            codes.extend(values.iter().map(|value| {
                let x = Maximum { value: *value, dtype: DType::F32 };
                rule.map_or(0, |rule| rule.element(format.element, &x, format.scales, scale, 1.0, 0.0))
            }));
        }
        (codes, scales)
    }

    fn cancelling(&mut self) -> Vector {
        let mut vector = self.codes(4);
        let half = LENGTH / 2;
        for at in half..LENGTH {
            (vector.a[at], vector.b[at]) = (vector.a[at - half], self.negative(vector.b[at - half]));
        }
        (vector.a[LENGTH - 1], vector.b[LENGTH - 1]) = (self.finite_code(), self.finite_code());
        for scales in [&mut vector.scale_a, &mut vector.scale_b] {
            let half = scales.len() / 2;
            scales.copy_within(..half, half);
        }
        vector
    }

    /// The exponent of the large term of [`Kind::Halfway`] and [`Kind::Swallowed`], as far from that of half a unit in its last
    /// place as scales reach.
    fn top(&mut self) -> i32 {
        if self.format.scales == ScaleType::E4M3 { 16 } else { Self::near(self.sampler, 40) }
    }

    /// Zeros under scales of one, and products of +-2^exponent as the first of a block: (block, exponent).
    fn terms(&mut self, terms: &[(usize, i32)]) -> Vector {
        let zero = self.code(0.0);
        let ones = self.powers(|_, _| 0);
        let mut vector = Vector { a: vec![zero; LENGTH], b: vec![zero; LENGTH], scale_a: ones.clone(), scale_b: ones };
        let negative = self.sampler.below(2) == 1;
        for (block, exponent) in terms {
            let at = block * self.block() + self.sampler.below(self.block() as u64) as usize;
            vector.a[at] = self.code(if negative { -1.0 } else { 1.0 });
            vector.b[at] = self.code(1.0);
            self.scale(&mut vector, *block, *exponent);
        }
        vector
    }

    /// Sets the scales of a block to powers of two whose product is 2^exponent.
    fn scale(&self, vector: &mut Vector, block: usize, exponent: i32) {
        let first = exponent.div_euclid(2);
        vector.scale_a[block] = self.power(first);
        vector.scale_b[block] = self.power(exponent - first);
    }

    fn halfway(&mut self) -> Vector {
        let top = self.top();
        let is_odd = self.sampler.below(2) == 1;
        let breaker = self.sampler.below(3);
        // Blocks of their own, the large term anywhere among them.
        let places = self.sampler.distinct_below(self.blocks(), 4);
        let mut terms = vec![(places[0], top), (places[1], top - 24)];
        if is_odd {
            terms.push((places[2], top - 23));
        }
        if breaker > 0 {
            terms.push((places[3], top - 27));
        }
        let mut vector = self.terms(&terms);
        if breaker == 2 {
            let block = self.block();
            for at in places[3] * block..(places[3] + 1) * block {
                if self.element().decode(vector.a[at]) != 0.0 {
                    vector.b[at] = self.code(-1.0);
                }
            }
        }
        vector
    }

    fn swallowed(&mut self) -> Vector {
        let top = self.top();
        let mut vector = self.terms(&[(0, top)]);
        let one = self.code(1.0);
        for at in self.block()..LENGTH {
            let is_negative = self.sampler.below(8) == 0;
            vector.a[at] = one;
            vector.b[at] = if is_negative { self.negative(one) } else { one };
        }
        for block in 1..self.blocks() {
            self.scale(&mut vector, block, top - 24);
        }
        vector
    }

    /// One of the four smallest codes of either sign.
    fn tiny_code(&mut self) -> u8 {
        let code = self.sampler.below(4) as u8;
        if self.sampler.below(2) == 1 { self.negative(code) } else { code }
    }

    fn smallest(&mut self) -> Vector {
        let [a, b] = [(); 2].map(|()| (0..LENGTH).map(|_| self.tiny_code()).collect());
        if self.format.scales == ScaleType::E4M3 {
            let [scale_a, scale_b] =
                [(); 2].map(|()| (0..self.blocks()).map(|_| 1 + self.sampler.below(3) as u8).collect());
            return Vector { a, b, scale_a, scale_b };
        }
        let scale_a = self.powers(|sampler, _| -66 - sampler.below(6) as i32);
        let scale_b = self.powers(|sampler, _| -66 - sampler.below(6) as i32);
        Vector { a, b, scale_a, scale_b }
    }

    fn largest(&mut self) -> Vector {
        let largest = self.element().max();
        let code = self.code(largest);
        let negative = self.negative(code);
        let [a, b] = [(); 2].map(|()| -> Vec<u8> {
            (0..LENGTH).map(|_| if self.sampler.below(4) == 0 { negative } else { code }).collect()
        });
        if self.format.scales == ScaleType::E4M3 {
            let scales = vec![0x7e; self.blocks()];
            return Vector { a, b, scale_a: scales.clone(), scale_b: scales };
        }
        // 128 products of the square of the largest element stay below 2^128.
        let room = 127 - 7 - (floor_log2(largest * largest) + 1);
        let scale_a = self.powers(|_, _| room / 2);
        let scale_b = self.powers(|sampler, _| room - room / 2 - sampler.below(3) as i32);
        Vector { a, b, scale_a, scale_b }
    }
}
