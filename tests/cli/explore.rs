//! `ulpgate explore`: what it says, and what it refuses.

use super::{Folder, Ran};

/// One row of a filter that reads its probabilities in two ways, and behind a guard.
#[test]
fn rows_are_answered_and_guards_are_named() {
    let folder = Folder::new(&[]);
    let Ran { out, .. } =
        folder.exits(1, &["explore", "keep_max[rows=4]", "--n", "64", "--permit", "rounding", "--repair"]);
    assert!(out.contains("outcome keep, 4 rows") && out.contains("REACHABLE keep["), "{out}");
    assert!(out.contains("with 1 guard 4 of 4 rows are proven") && out.contains("jax.lax.reduce_precision"), "{out}");
    let guarded = "keep_max[rows=4,guard=reduce_precision]";
    let Ran { out, .. } = folder.exits(0, &["explore", guarded, "--n", "64", "--permit", "rounding"]);
    assert!(out.contains("PROVEN 4, REACHABLE 0, OPEN 0"), "{out}");
    let Ran { out, .. } = folder.exits(0, &["explore", guarded, "--n", "64", "--permit", "rounding", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((json["proven"].as_u64(), json["open"].as_u64()), (Some(4), Some(0)));
}

/// A small program with its inputs, which flips again, and a file in JAX.
#[test]
fn a_counterexample_is_written() {
    let folder = Folder::new(&[]);
    let Ran { out, .. } = folder.exits(1, &["explore", "keep_max[rows=4]", "--n", "64", "--counterexample", "small"]);
    assert!(out.contains("of 256 elements") && out.contains("XLA:CPU, as emulated, changes the outcome"), "{out}");
    let files = ["small/program.hlo", "--inputs", "small/inputs.safetensors"];
    let Ran { out, .. } = folder.exits(1, &[&["explore"], &files[..]].concat());
    assert!(out.contains("1 row,") && out.contains("row 0: REACHABLE out0["), "{out}");
    let script = folder.read("small/counterexample.py");
    for part in ["def program(x):", "def written_out(x):", "SHOWN_BY = \"flag\"", "OUTCOME = {0: \"keep\"}"] {
        assert!(script.contains(part), "{script}");
    }
    let Ran { out, .. } = folder.exits(0, &["explore", "argmax", "--n", "64", "--counterexample", "none"]);
    assert!(out.contains("no row is reachable"), "{out}");
}

#[test]
fn what_cannot_be_explored_is_refused() {
    let folder = Folder::new(&[]);
    for (arguments, said) in [
        (&["explore", "keep_max", "--permit", "roundin"][..], "did you mean `rounding`"),
        (&["explore", "keep_max", "--result", "kept"], "there is no result `kept`"),
        (&["explore", "softmax"], "no result is made of integers or predicates"),
        (&["explore", "kep_max"], "did you mean `keep_max`"),
        (&["explore", "none.hlo"], "failed to read it"),
    ] {
        let Ran { err, .. } = folder.exits(2, arguments);
        assert!(err.contains(said), "{err}");
    }
}

#[test]
fn a_size_beyond_memory_is_refused_before_anything_is_drawn() {
    let folder = Folder::new(&[]);
    let err = folder.exits(2, &["explore", "keep_max[rows=8]", "--n", "1000000000000"]).err;
    assert!(err.contains("it needs at least") && err.contains("GiB of memory"), "{err}");
}

/// A program is judged over all of its rows, however many are evaluated at a time elsewhere.
#[test]
fn all_rows_are_judged() {
    let folder = Folder::new(&[]);
    let Ran { out, .. } = folder.exits(0, &["explore", "argmax[rows=1000]", "--n", "1024", "--permit", "rounding"]);
    assert!(out.contains("outcome token, 1000 rows") && out.contains("PROVEN 1000, REACHABLE 0, OPEN 0"), "{out}");
}

/// One row that may flip is a finding, however many are proven.
#[test]
fn a_row_that_may_flip_beside_proven_ones_is_found() {
    let folder = Folder::new(&[]);
    let few = ["explore", "greedy_head[d=64,rows=64]", "--n", "256", "--choices", "16", "--any-mode"];
    let Ran { out, .. } = folder.exits(1, &few);
    assert!(out.contains("PROVEN 62, REACHABLE 2, OPEN 0"), "{out}");
}

/// An attribute that nothing here follows may change bits that no choice does: that is said, and a plan of a compiler is no such thing.
#[test]
fn a_setting_that_nothing_follows_is_told() {
    let text = |more: &str| {
        let root = format!("ROOT t = s32[4] convert(e){more}");
        format!(
            "HloModule m\nENTRY main {{\n x = f32[4] parameter(0)\n e = f32[4] exponential(x), colour=red\n {root}\n}}\n"
        )
    };
    let folder = Folder::new(&[]);
    for (file, more) in [("one.hlo", ""), ("two.hlo", ", flavour=salt")] {
        folder.write(file, &text(more));
        let Ran { out, .. } = folder.ran(&["explore", file]);
        assert!(out.contains("not followed: colour=red of e"), "{out}");
        assert!(out.contains("answers hold if they change no bits"), "{out}");
        let Ran { out, .. } = folder.ran(&["explore", file, "--json"]);
        let json: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert!(json["not_followed"].as_str().unwrap().contains("colour=red of e"), "{out}");
    }
    let Ran { out, .. } = folder.ran(&["explore", "keep_max[rows=4]", "--n", "64"]);
    assert!(!out.contains("not followed"), "{out}");
}

/// Each element of a sorted vector's places is a row of its own, and no row holds what was ranked.
#[test]
fn places_of_a_sorted_vector_are_rows() {
    let folder = Folder::new(&[]);
    folder.write(
        "argsort.hlo",
        "HloModule m\nless {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  i = s32[] parameter(2)\n  j = s32[] \
         parameter(3)\n  ROOT c = pred[] compare(a, b), direction=LT\n}\nENTRY e {\n  x = bf16[8] parameter(0)\n  e = bf16[8] \
         exponential(x)\n  p = bf16[8] multiply(e, x)\n  n = s32[8] iota(), iota_dimension=0\n  s = (bf16[8], s32[8]) sort(p, n), \
         dimensions={0}, is_stable=true, to_apply=less\n  ROOT i = s32[8] get-tuple-element(s), index=1\n}\n",
    );
    let Ran { out, .. } = folder.exits(0, &["explore", "argsort.hlo"]);
    assert!(out.contains("outcome out0, 8 rows") && out.contains("PROVEN 8, REACHABLE 0, OPEN 0"), "{out}");
}

/// A filter that uses one quotient in two ways, with metadata, in a dump whose inputs lie in the folder `cpu`.
fn dump() -> Folder {
    let folder = Folder::new(&[]);
    for below in ["dumps/tpu/v5e", "dumps/cpu"] {
        std::fs::create_dir_all(folder.path(below)).unwrap();
    }
    let text = "HloModule m

larger {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT m = bf16[] maximum(a, b)
}

ENTRY e {
  x = bf16[1,64] parameter(0)
  y = bf16[1,64] parameter(1)
  div.7 = bf16[1,64] divide(x, y), metadata={op_name=\"jit(f)/div\" source_file=\"/m/model.py\" source_line=12}
  low = bf16[] constant(-inf)
  max = bf16[1] reduce(div.7, low), dimensions={1}, to_apply=larger
  all = bf16[1,64] broadcast(max), dimensions={0}
  ROOT keep = pred[1,64] compare(div.7, all), direction=EQ
}
";
    folder.write("dumps/tpu/v5e/f.before.hlo", text);
    let values =
        |from: u16| -> Vec<u8> { (0..64u16).flat_map(|at| (0x3f80 + (from * at) % 128).to_le_bytes()).collect() };
    let header = r#"{"arg0":{"dtype":"BF16","shape":[1,64],"data_offsets":[0,128]},"arg1":{"dtype":"BF16","shape":[1,64],"data_offsets":[128,256]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend(values(37));
    bytes.extend(values(11));
    std::fs::write(folder.path("dumps/cpu/f.inputs.safetensors"), bytes).unwrap();
    folder
}

#[test]
fn values_and_guards_have_their_places_in_the_source() {
    let folder = dump();
    let inputs = ["--inputs", "dumps/cpu/f.inputs.safetensors"];
    let rounding = ["explore", "dumps/tpu/v5e/f.before.hlo", "--permit", "rounding", "--repair"];
    let Ran { out, .. } = folder.exits(1, &[&rounding[..], &inputs[..]].concat());
    assert!(out.contains("div.7 (jit(f)/div, model.py:12) is not rounded for"), "{out}");
    assert!(
        out.contains("in JAX, where x is div.7 = divide(x, y) (jit(f)/div, model.py:12): x = jax.lax.reduce_precision"),
        "{out}"
    );
}

#[test]
fn a_program_without_inputs_names_those_of_its_dump() {
    let folder = dump();
    let Ran { err, .. } = folder.exits(
        2,
        &["hlo", "eval", "dumps/tpu/v5e/f.before.hlo", "--out", "o.safetensors", "--mode", "v5e/default/off"],
    );
    assert!(err.contains("its dump has them: --inputs dumps/cpu/f.inputs.safetensors"), "{err}");
    let port = folder.ran(&["port", "dumps/tpu/v5e/f.before.hlo", "--from", "v5e", "--to", "tpu7x"]);
    assert!(port.err.contains("the dump has its own: --inputs dumps/cpu/f.inputs.safetensors"), "{}", port.err);
    assert!(
        port.out.contains("no compiler's file stands behind this: units are those that jax 0.10.2, libtpu 0.0.42.1"),
        "{}",
        port.out
    );
}

/// A search for guards that finds none says why, and what can be tried: no guard forbids a product with a reciprocal.
#[test]
fn a_search_without_guards_says_why() {
    let folder = Folder::new(&[]);
    let text = "HloModule m

ENTRY e {
  x = f32[1,8] parameter(0)
  y = f32[1] parameter(1)
  all = f32[1,8] broadcast(y), dimensions={0}
  q = f32[1,8] divide(x, all)
  z = f32[1,8] constant({ {0.020408163,0.040816326,0.06122449,0.08163265,0.10204082,0.12244898,0.14285715,0.16326530} })
  ROOT keep = pred[1,8] compare(q, z), direction=EQ
}
";
    folder.write("f.before.hlo", text);
    let header = r#"{"arg0":{"dtype":"F32","shape":[1,8],"data_offsets":[0,32]},"arg1":{"dtype":"F32","shape":[1],"data_offsets":[32,36]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend((1..9u8).map(f32::from).chain([49.0]).flat_map(f32::to_le_bytes));
    std::fs::write(folder.path("in.safetensors"), bytes).unwrap();
    let explored = ["explore", "f.before.hlo", "--permit", "reciprocal", "--inputs", "in.safetensors", "--repair"];
    let Ran { out, .. } = folder.exits(1, &[&explored[..], &["--mode", "cpu/f32/off"]].concat());
    assert!(out.contains("no repair: no permitted choice leaves a bf16 value unrounded"), "{out}");
    assert!(out.contains("Next: choices that no guard forbids"), "{out}");
}

/// JAX makes types of 64 bits where a setting asks for them: a script that has such a type sets it, and no other does.
#[test]
fn a_counterexample_in_64_bits_asks_jax_for_them() {
    let folder = Folder::new(&[]);
    folder.exits(1, &["explore", "keep_max[rows=4]", "--n", "64", "--counterexample", "small"]);
    let (program, root) = (folder.read("small/program.hlo"), "ROOT tuple.18 = (pred[1,2]{1,0}) tuple(keep)");
    assert!(program.contains(root), "{program}");
    for (dtype, asks) in [("s32", false), ("s64", true)] {
        folder.write("kept.hlo", &program.replace(root, &format!("ROOT kept = {dtype}[1,2] convert(keep)")));
        let inputs = ["--inputs", "small/inputs.safetensors", "--counterexample", dtype];
        folder.exits(1, &[&["explore", "kept.hlo"], &inputs[..]].concat());
        let script = folder.read(&format!("{dtype}/counterexample.py"));
        assert_eq!(script.contains("jax.config.update(\"jax_enable_x64\", True)"), asks, "{script}");
    }
}
