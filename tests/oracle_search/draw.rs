//! Sources of the generator's choices: a seed, or bytes of a fuzzer.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of choices. Where there is nothing more to take, every choice is the first one, which is the simplest: so
/// fewer and smaller bytes make smaller programs.
pub enum Draw {
    Random(Box<ChaCha8Rng>),
    Given(std::vec::IntoIter<u16>),
}

impl Draw {
    /// The choices of one of the programs of a seed.
    pub fn seeded(seed: u64, program: u64) -> Draw {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(program);
        Draw::Random(Box::new(random))
    }

    /// Each pair of bytes is a choice.
    #[allow(dead_code, reason = "the way in of the fuzz target, which shares this file")]
    pub fn of_bytes(bytes: &[u8]) -> Draw {
        let choices: Vec<u16> = bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
        Draw::Given(choices.into_iter())
    }

    /// One of the numbers below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let raw = match self {
            Draw::Random(random) => random.next_u32(),
            Draw::Given(choices) => choices.next().map_or(0, u32::from),
        };
        raw as usize % count.max(1)
    }

    /// True in one of `of` cases.
    pub fn rarely(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    pub fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub fn bits(&mut self, count: u32) -> u64 {
        let mut bits = 0;
        for _ in 0..count.div_ceil(16) {
            bits = bits << 16 | self.below(1 << 16) as u64;
        }
        if count == 64 { bits } else { bits & ((1 << count) - 1) }
    }
}
