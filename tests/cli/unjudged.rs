//! Nothing judged is no pass: what was not judged is told with its count, and the exit code is 2.

use half::bf16;
use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::{Folder, SOFTMAX, TINY, edited};

fn bf16s(values: &[f32]) -> Tensor {
    Tensor::new(&[values.len()], Data::BF16(values.iter().map(|value| bf16::from_f32(*value)).collect()))
}

fn write(folder: &Folder, name: &str, tensors: &[(&str, Tensor)]) {
    let named: Vec<(String, Tensor)> =
        tensors.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
    safetensors::write(&folder.path(name), &named).unwrap();
}

/// A quotient of what a compiler may make zero: it may be anything then.
#[test]
fn results_that_may_be_anything_are_not_permitted() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule m\nENTRY e {\n  a = bf16[2] parameter(0)\n  b = bf16[2] parameter(1)\n  c = bf16[2] parameter(2)\n  \
         s = bf16[2] add(a, b)\n  d = bf16[2] subtract(s, c)\n  ROOT q = bf16[2] divide(a, d)\n}\n",
    );
    let inputs = |b: [f32; 2]| [("arg0", bf16s(&[1.0, 1.0])), ("arg1", bf16s(&b)), ("arg2", bf16s(&[1.0, 1.0]))];
    let small = 1.0 / 512.0;
    write(&folder, "results.safetensors", &[("out0", bf16s(&[1.0, 1.0]))]);
    let against = ["explore", "f.hlo", "--inputs", "in.safetensors", "--against", "results.safetensors"];
    for (b, open) in [([small, small], 2), ([small, 1.0], 1)] {
        write(&folder, "in.safetensors", &inputs(b));
        let ran = folder.exits(2, &against);
        assert!(ran.out.contains(&format!("out0: 0 of 2 elements outside, {open} not known")), "{}", ran.out);
        assert!(ran.err.contains(&format!("{open} of 2 elements were not judged")), "{}", ran.err);
    }
    // What is known is permitted, and what is outside is found whatever else is open.
    write(&folder, "in.safetensors", &inputs([1.0, 1.0]));
    folder.exits(0, &against);
    write(&folder, "in.safetensors", &inputs([small, 1.0]));
    write(&folder, "results.safetensors", &[("out0", bf16s(&[1.0, 2.0]))]);
    folder.exits(1, &against);
}

/// A tie that nothing decides: e^x e^-x beside 1.
#[test]
fn a_row_whose_truth_is_open_is_not_right() {
    let folder = Folder::new(&[]);
    folder.write(
        "f.hlo",
        "HloModule m\nENTRY e {\n  x = f32[1,1] parameter(0)\n  one = f32[] constant(1)\n  o = f32[1,1] broadcast(one), \
         dimensions={}\n  p = f32[1,1] exponential(x)\n  n = f32[1,1] negate(x)\n  q = f32[1,1] exponential(n)\n  m = f32[1,1] \
         multiply(p, q)\n  ROOT s = f32[1,2] concatenate(o, m), dimensions={1}\n}\n",
    );
    write(&folder, "in.safetensors", &[("arg0", Tensor::new(&[1, 1], Data::F32(vec![0.3])))]);
    let ran = folder.exits(2, &["hlo", "why", "f.hlo", "--inputs", "in.safetensors"]);
    assert!(ran.out.contains("0 of 1 rows name another token than the truth; 1 are undecided"), "{}", ran.out);
    assert!(ran.err.contains("1 of 1 rows were not judged"), "{}", ran.err);
}

/// One size has no growth.
#[test]
fn checks_that_all_abstain_are_no_pass() {
    let one = edited(SOFTMAX, &[("n = [8, 16, 32, 64]", "n = [8]"), ("\n[[matrix.check]]\nkind = \"bound\"\n", "")]);
    let folder = Folder::new(&[("softmax", &one)]);
    // Beside how far it is.
    let ran = folder.ran(&["run"]);
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.out.contains("Not judged: 2 checks abstained") && !ran.out.contains("As expected"), "{}", ran.out);
    assert!(ran.err.contains("nothing was judged: 2 checks of 2 cases abstained"), "{}", ran.err);
    folder.exits(2, &["report"]);
    folder.exits(2, &["merge", "reports", "--out", "merged"]);
    // Beside a check that judges, it is told.
    let both = Folder::new(&[("softmax", &one), ("tiny", TINY)]);
    let ran = both.exits(0, &["run"]);
    assert!(ran.out.contains("Not judged: 2 checks abstained") && ran.out.contains("As expected"), "{}", ran.out);
    // What only measures has nothing to judge.
    let measured = SOFTMAX.split("[[matrix.check]]").next().unwrap();
    Folder::new(&[("softmax", measured)]).exits(0, &["run"]);
}
