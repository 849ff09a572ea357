//! Fingerprints of elements and of the functions that make them.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A fingerprint.
pub type Print = u128;

/// One more word of a fingerprint. Each step is a bijection of the state for a given word, and of the word for a given state.
#[inline]
pub fn absorb(state: Print, word: Print) -> Print {
    let mut x = (state.rotate_left(23) ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
    x = (x ^ x >> 67).wrapping_mul(0xda94_2042_e4dd_58b5_1319_8a2e_0370_7345);
    x = (x ^ x >> 59).wrapping_mul(0x87c3_7b91_1142_53d5_4cf5_ad43_2745_937f);
    x ^ x >> 64
}

/// The fingerprint of a key, by the words that it hashes.
pub fn print_of_key(key: &impl Hash) -> Print {
    let mut words = PrintHasher(0);
    key.hash(&mut words);
    words.0
}

/// A hasher that keeps all bits of the fingerprint.
struct PrintHasher(Print);

impl Hasher for PrintHasher {
    fn finish(&self) -> u64 {
        self.0 as u64
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |state, byte| absorb(state, (*byte).into()));
    }

    // One step a number: elements are made by the million, and most of a key is numbers of variants.
    fn write_u64(&mut self, word: u64) {
        self.0 = absorb(self.0, word.into());
    }

    fn write_usize(&mut self, word: usize) {
        self.0 = absorb(self.0, word as Print);
    }

    fn write_isize(&mut self, word: isize) {
        self.0 = absorb(self.0, word as Print);
    }
}

/// Fingerprints are random already.
#[derive(Clone, Copy, Default)]
pub struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, print: u128) {
        self.0 = print as u64 ^ (print >> 64) as u64;
    }
}

/// A map by fingerprint.
pub type Prints<T> = HashMap<Print, T, BuildHasherDefault<Taken>>;
