//! Where the generator's choices come from: a seed, bytes of a fuzzer, or choices made before.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A source of choices that keeps what was taken from it. Without more to take, every choice is the first one, which is
/// the simplest: so fewer and smaller choices make smaller programs.
pub struct Draw {
    given: Vec<u32>,
    random: Option<ChaCha8Rng>,
    pub taken: Vec<u32>,
}

impl Draw {
    /// The choices of one of the programs of a seed.
    pub fn seeded(seed: u64, program: u64) -> Draw {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(program);
        Draw { given: Vec::new(), random: Some(random), taken: Vec::new() }
    }

    pub fn replayed(given: Vec<u32>) -> Draw {
        Draw { given, random: None, taken: Vec::new() }
    }

    /// Each pair of bytes is a choice.
    #[allow(dead_code, reason = "the fuzz target's way in")]
    pub fn of_bytes(bytes: &[u8]) -> Draw {
        Draw::replayed(bytes.chunks(2).map(|pair| pair.iter().fold(0, |n, b| n << 8 | u32::from(*b))).collect())
    }

    /// One of the numbers below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        let raw = match (self.given.get(self.taken.len()), &mut self.random) {
            (Some(given), _) => *given,
            (None, Some(random)) => random.next_u32(),
            (None, None) => 0,
        };
        let choice = raw as usize % count.max(1);
        self.taken.push(choice as u32);
        choice
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
