//! Arguments that probes gave to compilers and C libraries, and hashes of their results: the tests of bits share them.

/// The next state of a linear congruence, and 24 bits of it as a number in [-1/2, 1/2).
fn step(state: &mut u64) -> f32 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*state >> 40) as f32 / 16_777_216.0 - 0.5
}

/// Numbers in [-1/2, 1/2).
pub fn numbers(state: &mut u64, count: usize) -> Vec<f32> {
    (0..count).map(|_| step(state)).collect()
}

/// Finite numbers of all sizes: any bits, below 150, below 4, and so on.
pub fn of_all_sizes(count: usize) -> Vec<f32> {
    let mut state = 1;
    let one = |i: usize| {
        let uniform = step(&mut state);
        let x = match i % 3 {
            0 => f32::from_bits((state >> 33) as u32 % 0x7f80_0000),
            1 => uniform * 300.0,
            _ => uniform * 8.0,
        };
        if state >> 32 & 1 == 1 { -x } else { x }
    };
    (0..count).map(one).collect()
}

/// FNV-1a over the bits, those of a NaN being the usual ones.
pub fn hash(values: impl IntoIterator<Item = f32>) -> u64 {
    let usual = |v: f32| if v.is_nan() { 0x7fc0_0000 } else { v.to_bits() };
    let step = |hash: u64, v: f32| (hash ^ u64::from(usual(v))).wrapping_mul(0x100_0000_01b3);
    values.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}
