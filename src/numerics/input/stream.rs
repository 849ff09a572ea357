//! Random bits for each row, from the names that identify the inputs of a case.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::random::Sampler;

/// The key that the bits of a case's inputs depend on, besides argument and row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct InputKey {
    /// Name of the suite.
    pub suite: String,
    /// The canonical spec, as [`super::InputSpec`] displays it.
    pub input: String,
    /// The size of the case, which its program maps to shapes.
    pub n: u64,
    /// Tells repetitions of a case apart.
    pub seed: u64,
}

/// All streams of a case.
///
/// Row r of argument a reads the ChaCha8 keystream with this 256-bit key and the 64-bit nonce r:
/// bytes 0..16 the FNV-1a 128-bit hash, little-endian, of `suite 0xff input 0xff n seed`, the texts in UTF-8 (which never
/// contains 0xff), the numbers as eight little-endian bytes; bytes 16..24 the argument's number, little-endian; bytes
/// 24..32 the letters `inputs-1`. A change of this rule changes every case: it would be `inputs-2`.
///
/// Sources: D. J. Bernstein, ChaCha, a variant of Salsa20 (2008); Fowler, Noll, Vo, Eastlake, The FNV Non-Cryptographic
/// Hash Algorithm (draft-eastlake-fnv).
#[derive(Clone, Debug)]
pub struct Streams {
    hash: [u8; 16],
}

impl Streams {
    /// The streams of the case with this key.
    pub fn new(key: &InputKey) -> Streams {
        let parts: [&[u8]; 6] = [
            key.suite.as_bytes(),
            &[0xff],
            key.input.as_bytes(),
            &[0xff],
            &key.n.to_le_bytes(),
            &key.seed.to_le_bytes(),
        ];
        Streams { hash: fnv1a_128(parts.into_iter().flatten()).to_le_bytes() }
    }

    /// The stream of one row. Numbers that no argument has make streams that several rows can share.
    pub fn sampler(&self, argument: u64, row: u64) -> Sampler {
        let mut key = [0; 32];
        key[..16].copy_from_slice(&self.hash);
        key[16..24].copy_from_slice(&argument.to_le_bytes());
        key[24..].copy_from_slice(b"inputs-1");
        let mut rng = ChaCha8Rng::from_seed(key);
        rng.set_stream(row);
        Sampler::new(rng)
    }
}

fn fnv1a_128<'a>(bytes: impl Iterator<Item = &'a u8>) -> u128 {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = (1 << 88) + (1 << 8) + 0x3b;
    bytes.fold(OFFSET_BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing hashes to the offset basis; the second value is also in the tests of Go's hash/fnv.
    #[test]
    fn hash_is_fnv1a() {
        assert_eq!(fnv1a_128(b"".iter()), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128(b"a".iter()), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }

    #[test]
    fn every_part_of_the_name_counts() {
        let key = InputKey { suite: "s".into(), input: "normal".into(), n: 1, seed: 2 };
        let first = |key: &InputKey, argument, row| Streams::new(key).sampler(argument, row).bits();
        let base = first(&key, 0, 0);
        assert_eq!(base, first(&key.clone(), 0, 0));
        let others = [
            first(&InputKey { suite: "t".into(), ..key.clone() }, 0, 0),
            first(&InputKey { suite: "sn".into(), input: "ormal".into(), ..key.clone() }, 0, 0),
            first(&InputKey { n: 2, seed: 1, ..key.clone() }, 0, 0),
            first(&InputKey { seed: 3, ..key.clone() }, 0, 0),
            first(&key, 1, 0),
            first(&key, 0, 1),
        ];
        let mut all: Vec<u64> = others.into_iter().chain([base]).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 7);
    }
}
