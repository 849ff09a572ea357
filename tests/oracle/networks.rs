//! Networks: logits of a decoder, certified, against plain MPFR arithmetic at a precision that nothing of it needs.

use ulpgate::hlo::{lower, parse};
use ulpgate::oracle::{Demand, Oracle, TruthTensor};
use ulpgate::tensor::DType;

#[path = "../../benches/decoder.rs"]
mod decoder;

use decoder::{Decoder, SMOL};

/// Bits of the comparison.
const BITS: u32 = 1000;

/// A decoder that neither f64 intervals nor pairs reach the end of: all its logits are decided in f32, from one estimate of
/// the precision, and those of two positions are what MPFR gives.
#[test]
fn logits_of_a_deep_decoder_are_those_of_mpfr() {
    let small = Decoder { layers: 8, width: 64, heads: 4, groups: 2, hidden: 96, vocabulary: 80, positions: 6 };
    let decoder = Decoder { layers: small.layers.min(SMOL.layers), ..small };
    let import = lower(&parse(&decoder.hlo()).unwrap()).unwrap();
    let arguments = decoder.arguments(3);
    let demands = [Demand::RoundedTo(DType::F32)];
    let truth = Oracle::default().evaluate(&import.program, &arguments, &demands).unwrap();
    assert!(truth.stats.undecided == 0 && truth.stats.mpfr > 0, "{:?}", truth.stats);
    assert!((192..1024).contains(&truth.stats.highest_bits), "{:?}", truth.stats);
    let TruthTensor::Float(logits) = &truth.outputs[0] else { panic!("logits are floats") };
    for position in [1, 5] {
        let expected = decoder.logits(&arguments, position, BITS);
        let row = &logits.rounded[position * decoder.vocabulary..][..decoder.vocabulary];
        let expected: Vec<f64> = expected.into_iter().map(f64::from).collect();
        assert_eq!(row, expected, "position {position}");
    }
    // From another start the same numbers.
    let later = Oracle { start_bits: 900, ..Oracle::default() };
    let again = later.evaluate(&import.program, &arguments, &demands).unwrap();
    assert_eq!(again.outputs, truth.outputs);
}
