use super::transform;
use crate::ir::{Fft, FftKind};
use crate::machine::probe::{hash, numbers};

/// The bits that jaxlib 0.10.2 computed: every radix, primes as they are and as convolutions, odd and even lengths with
/// factors above five, transforms that run alone and in lanes, several dims.
#[test]
fn transforms_are_those_of_xla() {
    let expected: [(FftKind, &[usize], usize, &[u64]); 18] = [
        (FftKind::Fft, &[64], 3, &[0xdee8_8540_fdc5_b46c, 0xea7c_c462_970a_b2fc]),
        (FftKind::Fft, &[2310], 1, &[0xedb7_fb8a_4624_db6e, 0x00a8_87d8_112a_646d]),
        (FftKind::Ifft, &[156], 3, &[0x4a0b_3a3a_2db8_b3ae, 0x0823_c553_daca_bebf]),
        (FftKind::Fft, &[127], 2, &[0xf69a_ce22_7bde_42db, 0xd5a8_46b1_8d2e_ed8b]),
        (FftKind::Fft, &[1000], 9, &[0x8897_de8c_f0ad_e71c, 0xfb39_60aa_bebc_5c1f]),
        (FftKind::Fft, &[3900], 2, &[0xaee0_80dd_b98d_0ec7, 0xa557_2054_e125_b307]),
        (FftKind::Ifft, &[6, 10], 2, &[0x6b4a_bcfb_4410_e9a9, 0xe794_2ccc_d75f_1251]),
        (FftKind::Fft, &[4, 5, 6], 1, &[0xcb11_0e16_6e9e_733b, 0xaa5a_18bb_12c0_3ec1]),
        (FftKind::Rfft, &[120], 3, &[0x366d_50de_2884_d153, 0x0616_512a_e264_9a2b]),
        (FftKind::Rfft, &[1001], 1, &[0x792c_913c_d5aa_ea94, 0x19b7_5e8c_bd25_5b0e]),
        (FftKind::Rfft, &[1354], 1, &[0xc265_2923_7fe3_b839, 0x860d_bbb1_f3b4_93d6]),
        (FftKind::Rfft, &[149], 2, &[0x3598_b33d_8154_278a, 0x8bc9_1302_cfca_15f0]),
        (FftKind::Rfft, &[7, 30], 1, &[0x07d9_4bad_bce1_94a8, 0x55e0_0de3_0f72_4b68]),
        (FftKind::Irfft, &[120], 3, &[0x5232_8f26_d545_48df]),
        (FftKind::Irfft, &[1001], 1, &[0x662f_cc9d_1f29_309f]),
        (FftKind::Irfft, &[1354], 1, &[0xd710_81a2_519a_3eca]),
        (FftKind::Irfft, &[149], 2, &[0xa3a4_a2a8_8ebf_0923]),
        (FftKind::Irfft, &[6, 5, 18], 1, &[0x451d_9c35_1a4c_64d4]),
    ];
    for (kind, lengths, batch, bits) in expected {
        let last = lengths[lengths.len() - 1];
        let last = if kind == FftKind::Irfft { last / 2 + 1 } else { last };
        let count = batch * lengths[..lengths.len() - 1].iter().product::<usize>() * last;
        let mut state = 1;
        let (re, im) = (numbers(&mut state, count), numbers(&mut state, count));
        let parts: &[&[f32]] = if kind == FftKind::Rfft { &[&re] } else { &[&re, &im] };
        let result = transform(&Fft { kind, lengths: lengths.to_vec() }, parts);
        for (part, bits) in result.into_iter().zip(bits) {
            assert_eq!(hash(part), *bits, "{kind:?} {lengths:?} {batch}");
        }
    }
}
