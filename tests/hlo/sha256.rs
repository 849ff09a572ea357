//! SHA-256 (FIPS 180-4), by which published results are named.

/// The hash in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    let primes: Vec<u64> =
        (2u64..).filter(|n| (2..*n).take_while(|d| d * d <= *n).all(|d| n % d != 0)).take(64).collect();
    // The first 32 bits behind the point of a root.
    let bits_of = |degree: u32, prime: u64| {
        let power = u128::from(prime) << (32 * degree);
        let (mut low, mut high) = (0u128, 1u128 << 40);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if middle.pow(degree) <= power { low = middle } else { high = middle }
        }
        low as u32
    };
    let constants: Vec<u32> = primes.iter().map(|prime| bits_of(3, *prime)).collect();
    let mut state: Vec<u32> = primes[..8].iter().map(|prime| bits_of(2, *prime)).collect();
    let mut message = bytes.to_vec();
    message.push(0x80);
    while message.len() % 64 != 56 {
        message.push(0);
    }
    message.extend((bytes.len() as u64 * 8).to_be_bytes());
    for block in message.chunks(64) {
        let mut words: Vec<u32> =
            block.chunks(4).map(|word| word.iter().fold(0, |w, byte| w << 8 | u32::from(*byte))).collect();
        for t in 16..64 {
            let (a, b) = (words[t - 15], words[t - 2]);
            let small = a.rotate_right(7) ^ a.rotate_right(18) ^ (a >> 3);
            let large = b.rotate_right(17) ^ b.rotate_right(19) ^ (b >> 10);
            words.push(words[t - 16].wrapping_add(small).wrapping_add(words[t - 7]).wrapping_add(large));
        }
        let mut s = state.clone();
        for t in 0..64 {
            let large = s[4].rotate_right(6) ^ s[4].rotate_right(11) ^ s[4].rotate_right(25);
            let choice = (s[4] & s[5]) ^ (!s[4] & s[6]);
            let first = [large, choice, constants[t], words[t]].iter().fold(s[7], |sum, term| sum.wrapping_add(*term));
            let small = s[0].rotate_right(2) ^ s[0].rotate_right(13) ^ s[0].rotate_right(22);
            let majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
            s.rotate_right(1);
            s[4] = s[4].wrapping_add(first);
            s[0] = first.wrapping_add(small).wrapping_add(majority);
        }
        state.iter_mut().zip(s).for_each(|(sum, own)| *sum = sum.wrapping_add(own));
    }
    state.iter().map(|word| format!("{word:08x}")).collect()
}

#[test]
fn hashes_are_those_of_the_standard() {
    assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let longer = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(sha256(longer), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}
