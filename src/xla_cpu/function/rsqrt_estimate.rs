//! XLA:CPU's `rsqrt`: the processor's own estimate and one or two Newton steps, with fused multiply-adds. The estimate differs
//! between processors, so which one it is, is a modelling choice of two. On both `rsqrtss` was read out for all significands
//! and both parities of the exponent; what it gave stands here, so that results do not depend on the machine that runs this.

use crate::machine::vector::Estimate;

/// The instruction's estimate, by processor.
trait ReciprocalRoot {
    /// Bits of a significand that it does not look at.
    fn ignored(self) -> u32;
    /// Number of times that XLA:CPU refines it.
    fn steps(self) -> usize;
    /// The estimate of 1/sqrt(x) for a normal number.
    fn of(self, x: f32) -> f32;
}

impl ReciprocalRoot for Estimate {
    fn ignored(self) -> u32 {
        match self {
            Estimate::Zen4 => 11,
            Estimate::Intel => 13,
        }
    }

    fn steps(self) -> usize {
        match self {
            Estimate::Zen4 => 1,
            Estimate::Intel => 2,
        }
    }

    fn of(self, x: f32) -> f32 {
        let bits = x.to_bits();
        let exponent = (bits >> 23) as i32 - 127;
        let odd = exponent.rem_euclid(2);
        let start = (bits >> self.ignored() << self.ignored() & 0x007f_ffff) | ((127 + odd) as u32) << 23;
        let [low, high] = [start, start + (1 << self.ignored())].map(|bits| f64::from(f32::from_bits(bits)));
        let nearest = ((1.0 / ((low + high) / 2.0).sqrt()) as f32).to_bits();
        let nearest = (nearest + (1 << (DROPPED - 1))) >> DROPPED;
        let interval = ((start - (127 << 23)) >> self.ignored()) as usize;
        let estimate = match self {
            Estimate::Zen4 => nearest + off(interval) - 1,
            Estimate::Intel => nearest,
        };
        // A power of two: exact, as estimates of normal numbers are normal.
        f32::from_bits(estimate << DROPPED) * f32::from_bits(((127 - (exponent - odd) / 2) as u32) << 23)
    }
}

/// Bits of a significand that estimates do not have.
const DROPPED: u32 = 11;

/// Differences of Zen 4's estimates for the 8192 intervals of [1, 4) from the nearest one with 13 bits to 1/sqrt of the
/// interval's middle: three to a character, each -1, 0 or 1, from `A` on; `a` is the last.
const OFF: &[u8] = b"\
    AABNNJAANNMAAENNNNOaaWNNZNMAAENNNNOWNNNNaaZJAENNNNBNNNNNNNNNNNNNNNKNNNNJNNNMAENMNNOZNNOZNRZJNNNNNRWNaVBNMENN\
    NNONNRNNZNOZNRWNaWOaNRWNaNOZNRNNZNONNNNMNNBNJENNZNONNNNJNNOZNQNNNQNQNZOZOVEMNMNKNNNNNNONNNQNWNWONQNNNWONNNNN\
    NMNKNEMEWaOZOWQNWNNNNEMEWZOWNNNNNJNOWQNNMNWQONQROWYBKMNEJNNNNNENNNNKNNNNMNNNNNENNNNKNNNNJMNEKQQROWZNONWQMNNN\
    KQRROWWNONNNWZZROKKJMMNNNNNQQROOOTKMMMNNNENNNQNNOOONWWWWZQQQQROOOOOWWWWWWQQQQQNNNOONNNNNNEEERROOOOONNNNEEENN\
    OOORRNNNOONQQQZZNNNNNNWWXXNEEENMNNNQNNWWXOORQQZZKKKNEENMNNKNNNNNNNNNNNNNNNNNNNNNQQXXXOOQZWWWOQQQNNONNNKNNMNW\
    XRRQQNXONNKNNMNWXRQQNNONNOOQZWWNNQNEQQXXNNKNNMKWOQNNRQXXONNWNQNXQQXOQXXQZTNMNNENNNNKNNNNNNNWNNNNQNONNONNNNNW\
    NNNNNNNKNNKNMKNMKEEXRQXNQXNQWNNWNNFQXQaaNNOQXMNNNNOQXQXRNNNNXQXQXaZNNNOQXQXQaWNNNNXQXQXQKNNNNNNNOQXQXQXQKENN\
    NNNNNNNNXQXQNNNNNNNNNNNOQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXQXNNNNNNNNNNNNNRaaZXQXQXQXQXQWNNNNXQWNNNNN\
    QXRaaNNNXQWNDNNNQXOQXNNNWNNXQaXQNNOQNOQXaQWNNNNNQXOQXNMKNNNNNQXNQXRZXNNKNNNDNNMNNONNOQNXQWXQaXQaKENNENNNNNNN\
    QNNQNOQWOQNXQNXQQXQQXRQXOQXXQXXQZXQQXRQXOQXXQWXQQXNQNNNWNNENNNMKNENKQZXaQXOQZXNNWOQNNNNWNKEMNNEWXRQXNQNXNNEN\
    NNEXXRQXNQNXNNEMNNEWXOQWNNNNNOQQWXWNNNNQQWXORWNNNNWXOQQZNKNENOQQWXWNEMNNQNWOORQQWXWNEMNNQNWOORQQWXWNEMNNNNNN\
    OOQQNWWKNEDMNNNNENONQNNWXONQQZWXORRQZWXXaRQZNNKNEENMNKNNNNMNNNNNENNNNNNNWNNNNNNNENNNNKNNNNMNOONQQNWWNONNQNNN\
    NNNNNKNNEENZaXXXRRQQZWWXOONNQNNNNNMNNOXXRRQQZWWWOONNNNNNEENZZWWXOONNNMNNNNWNQQQROOOXXSJMMMMEEEEEOXXXXWWZZZZQ\
    QQQQOOOOONNNNNORRRRROOOOONNMMMNQQQQQNKKKKNWWNNNNONNNQQWWWXORRQPMNKKKNENMMNKNNEEMNNKKNENMMNKNEEEZXXXOQQWWWONQ\
    NNEMNKKBRQZWWONNNEEZXXONQNXNQTKEMKNNNQNOQQXOQTKEMKNMNNNNQNONNXNQWOQWXQQXQQXOQXOQWXQWXQNXQQXNQXNQWNNWNNNNNENK\
    ENKDNNNWOQXQQNNNONKDKNNWNQXQNDNNNONNXQWMKENNQNNNORXQXQWMNNNNQNNNNOXQXQWMKDKDNDKNNONNNNNXQXQXQXQXQXQXQXQXQXQX\
    QXQXQXQXQXQXQWNNNNNNNNNNNNNKDKDKQXQXQWNNNNNNNKDKQXQXNNNNNNNXQXQXKNNNOQQXQXZENNNQNXQXOMNNMKNOQNNQWXQXRMNNMKNO\
    NNNNNXQNOQZXQWWEMKDNKNNKENNNNKNNNNMNNWNNNOQQXRQXOQWXQWXQQXNQWOQWOQNXNNWNQNNNNNNNEMKNQXXQZXNQWOQNNNNNNKNDNOQQ\
    XOQNONNNMKNDMONQWONNENNNQWXOQNNNNNNXOQQWNKNENOQQWXNNEMNKQNWONOQQWXNNEMNKQNWNNOQQWXNKEDMKNNNEMONQNNNXONQNNMNN\
    NNNNONNQNNWOONQQNWWOOQQQWWXOOQQQWWXOOQQQWWXOONQQNWWOONNQNNWNNNNNNNNENMMNKKKERQQZWWOOOOQNNNNWMMMNNOORRRQNWWWW\
    MNNNNKEEEEENWWWWMMNNNOOOORQNNNNNMMMMMNNNOONKKKKKNNQQQNEEEEENNNNNZZZZZWNNNNNWWWWWMMMMMNNNNNNWWWWWMMMMMNNNNNNW\
    WWWWMMMMMNNNNNNWWWNNQQQQQRRRRRQKKKKKKKKKNMMMMNNNNNENNNNNQQNNNOOONNNWWWWNQQQQQOOOOONWWWWWQQQQQOOOONNWWWWNQQQN\
    NOONNNNWNNNNNKKJMMNZQRROOOOWWWWNQQNNNNNNNEENKKKJMMNQQROOONNWNNNKNNMMMEEEOONWWWNNNNNMMNEEOOOWWWNNNNMMMNEEOONW\
    WNNKNMNZQROONNNNNKKJMMEQNONNNEEKKNWWQNNMMNEEOONWNNKKMMNQNONNNEBKJNWNNNNZQROOMNENNNNWQONJMNEKNNNNQONWQRNJMNEK\
    NNNNQONWQRNJMNEKMNNNNNNWQONWZROWMNEKMNENNNNNNONWQONWZNBJMEEKMNEKMNNNNNNNNNNWQONWQONWZROWZRNJMEBJMNEKMNEKMNEK\
    MNEKMNNNNNNNNNNNNNNNNNNNNNNNNNN\
";

/// Difference of Zen 4's estimate for an interval from the nearest, plus 1.
fn off(interval: usize) -> u32 {
    let code = u32::from(match OFF[interval / 3] {
        b'a' => 26,
        letter => letter - b'A',
    });
    code / [9, 3, 1][interval % 3] % 3
}

/// 1/sqrt(x).
pub fn reciprocal_root(x: f32, estimate: Estimate) -> f32 {
    if x.is_nan() || x < 0.0 && !x.is_subnormal() {
        return f32::NAN;
    }
    if x == 0.0 || x.is_subnormal() {
        return f32::INFINITY.copysign(x);
    }
    if x == f32::INFINITY {
        return 0.0;
    }
    (0..estimate.steps()).fold(estimate.of(x), |y, _| (y * -0.5).mul_add((x * y).mul_add(y, -1.0), y))
}

#[cfg(test)]
mod tests {
    use super::{Estimate, ReciprocalRoot, reciprocal_root};

    /// Arguments, and what the instruction gave.
    const READ_OUT: [(u32, u32); 12] = [
        (0x0539_1c44, 0x5c96_8800),
        (0x043c_7ad3, 0x5d15_3000),
        (0x0b0c_4216, 0x59ac_e800),
        (0x2289_127d, 0x4df7_6800),
        (0x68f7_b1b8, 0x2ab8_0800),
        (0x1cca_49b7, 0x50cb_a000),
        (0x7ef2_9baa, 0x1fb9_f800),
        (0x0c60_9701, 0x5908_a800),
        (0x189a_046c, 0x52e9_5800),
        (0x4890_34db, 0x3af1_3000),
        (0x0a33_e47e, 0x5a18_b000),
        (0x3e69_c1c5, 0x4005_f000),
    ];

    /// `rsqrtss` of an Intel Xeon with AVX-512 (family 6, model 207).
    #[test]
    fn intels_estimates_are_those_read_out() {
        for (x, estimate) in READ_OUT {
            assert_eq!(Estimate::Intel.of(f32::from_bits(x)).to_bits(), estimate, "of {x:#010x}");
        }
    }

    /// Arguments, and what jaxlib 0.10.2's XLA:CPU gave on that processor; six of the ten are not correctly rounded.
    const COMPUTED: [(u32, u32); 10] = [
        (0x24e8_4240, 0x4cbe_0bca),
        (0x4486_5d57, 0x3cf9_dd03),
        (0x6964_059e, 0x2a87_a027),
        (0x368e_6637, 0x43f2_b63e),
        (0x4cc6_b47c, 0x38cd_775e),
        (0x590b_b8f7, 0x32ad_4266),
        (0x4f44_0b30, 0x3792_44f8),
        (0x24e8_4240, 0x4cbe_0bca),
        (0x0a83_d080, 0x59fc_44cc),
        (0x07a8_d660, 0x5b5e_e679),
    ];

    #[test]
    fn intels_is_refined_twice() {
        for (x, root) in COMPUTED {
            assert_eq!(reciprocal_root(f32::from_bits(x), Estimate::Intel).to_bits(), root, "of {x:#010x}");
        }
    }
}
