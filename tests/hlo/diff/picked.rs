//! Whether the largest element of a row is told of as a token.

use ulpgate::diff::{Verdict, outcomes};
use ulpgate::tensor::{DType, Data, Tensor};

use super::import;

const REGIONS: &str = "larger {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT m = f32[] maximum(a, b)
}
first {
  a = f32[] parameter(0)
  i = s32[] parameter(1)
  b = f32[] parameter(2)
  j = s32[] parameter(3)
  more = pred[] compare(a, b), direction=GT
  v = f32[] select(more, a, b)
  k = s32[] select(more, i, j)
  ROOT t = (f32[], s32[]) tuple(v, k)
}
";

/// Whether the first result, of which another element is the largest once it is no longer rounded to bf16, counts as
/// scores in a program with these further instructions.
fn counts_as_scores(rest: &str) -> bool {
    let program = |rounded: &str| {
        import(&format!(
            "HloModule m\n{REGIONS}ENTRY main {{\n  x = f32[2,4] parameter(0)\n  y = f32[2,4] exponential(x)\n  \
             r = f32[2,4] {rounded}\n  z = f32[] constant(0)\n  low = f32[] constant(-inf)\n  n = s32[] constant(0)\n{rest}}}\n"
        ))
    };
    let [rounded, whole] = ["reduce-precision(y), exponent_bits=8, mantissa_bits=7", "copy(y)"].map(program);
    // exp(1) and exp(1.0001) are one number in bf16.
    let x = Data::from_f64s(DType::F32, &[1.0, 1.0001, -2.0, -3.0, 0.3, -1.0, -2.0, -3.0]).unwrap();
    let mode = "v5e/default/as-compiled".parse().unwrap();
    let found = outcomes(&rounded, &whole, [&mode, &mode], &[Tensor::new(&[2, 4], x)], None, &mut |_| {}).unwrap();
    let result = found.iter().find(|result| result.result == 0).unwrap();
    let Verdict::Float { largest, scores, .. } = &result.verdict else { panic!("{result:?}") };
    assert_eq!((largest.count(), largest.after), (1, 1), "{rest}");
    *scores
}

#[test]
fn the_largest_is_a_token_where_the_program_says_so() {
    let pick = |what: &str| {
        format!(
            "  i = s32[2,4] iota(), iota_dimension=1\n  p = (f32[2], s32[2]) reduce({what}, i, low, n), dimensions={{1}}, \
             to_apply=first\n"
        )
    };
    // The program picks by it, whatever it gives.
    let index = "  k = s32[2] get-tuple-element(p), index=1\n  f = f32[2] convert(k)\n  ROOT t = (f32[2,4], f32[2]) tuple(r, f)\n";
    assert!(counts_as_scores(&format!("{}{index}", pick("r"))));
    let best = "  p = (f32[2,2], s32[2,2]) topk(r), k=2, largest=true\n  v = f32[2,2] get-tuple-element(p), index=0\n  \
                ROOT t = (f32[2,4], f32[2,2]) tuple(r, v)\n";
    assert!(counts_as_scores(best));
    let kept = "  m = f32[2] reduce(r, low), dimensions={1}, to_apply=larger\n  b = f32[2,4] broadcast(m), dimensions={0}\n  \
                k = pred[2,4] compare(r, b), direction=GE\n  zs = f32[2,4] broadcast(z), dimensions={}\n  \
                s = f32[2,4] select(k, r, zs)\n  ROOT t = (f32[2,4], f32[2,4]) tuple(r, s)\n";
    assert!(counts_as_scores(kept));
    // A token of each row is a result beside it, though what is picked by is another value.
    let beside = "  k = s32[2] get-tuple-element(p), index=1\n  ROOT t = (f32[2,4], s32[2]) tuple(r, k)\n";
    assert!(counts_as_scores(&format!("{}{beside}", pick("x"))));
}

#[test]
fn the_largest_of_other_floats_is_no_token() {
    assert!(!counts_as_scores("  ROOT t = (f32[2,4]) tuple(r)\n"));
    // Picked by another value; the maximum is no more than subtracted; what is counted goes with no row.
    let other = "  p = (f32[2,2], s32[2,2]) topk(x), k=2, largest=true\n  v = f32[2,2] get-tuple-element(p), index=0\n  \
                 ROOT t = (f32[2,4], f32[2,2]) tuple(r, v)\n";
    assert!(!counts_as_scores(other));
    let softmax = "  m = f32[2] reduce(r, low), dimensions={1}, to_apply=larger\n  b = f32[2,4] broadcast(m), dimensions={0}\n  \
                   s = f32[2,4] subtract(r, b)\n  ROOT t = (f32[2,4], f32[2,4]) tuple(r, s)\n";
    assert!(!counts_as_scores(softmax));
    assert!(!counts_as_scores("  ROOT t = (f32[2,4], s32[]) tuple(r, n)\n"));
}
