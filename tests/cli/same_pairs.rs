//! `ulpgate same`, and two folders: verdicts, summaries and exit codes.

use std::fs;
use std::path::Path;

use ulpgate::file::safetensors;
use ulpgate::tensor::{Data, Tensor};

use super::Folder;

fn program(body: &str) -> String {
    format!("HloModule m\nENTRY main {{\n x = f32[64] parameter(0)\n {body}\n}}\n")
}

/// Two folders: one pair is the same, one parts, and one file stands alone.
fn folder() -> Folder {
    let folder = Folder::new(&[]);
    let rounded = "c = bf16[64] convert(x)\n w = f32[64] convert(c)\n ROOT r = f32[64] multiply(w, x)";
    for side in ["a", "b"] {
        fs::create_dir(folder.path(side)).unwrap();
        folder.write(&format!("{side}/equal.hlo"), &program("ROOT r = f32[64] multiply(x, x)"));
    }
    folder.write("a/cast.hlo", &program(rounded));
    folder.write("b/cast.hlo", &program("ROOT r = f32[64] multiply(x, x)"));
    folder
}

#[test]
fn verdicts_have_their_exit_codes() {
    let folder = folder();
    let same = folder.exits(0, &["same", "a/equal.hlo", "b/equal.hlo"]);
    assert!(same.out.starts_with("PROVEN THE SAME for all inputs\n"), "{}", same.out);
    assert!(same.out.contains("rests on: the emulated machine v5e/default/as-compiled\n"), "{}", same.out);
    let part = folder.exits(1, &["same", "a/cast.hlo", "b/cast.hlo", "--witness", "w.safetensors"]);
    assert!(part.out.starts_with("PART\n") && part.out.contains("a cast to bf16"), "{}", part.out);
    // The input that parts them is taken by the command that tells what it does.
    let shown = folder.exits(1, &["hlo", "diff", "a/cast.hlo", "b/cast.hlo", "--inputs", "w.safetensors"]);
    assert!(shown.out.contains("elements differ"), "{}", shown.out);
    assert!(part.out.contains("and with --inputs w.safetensors"), "{}", part.out);
    let json = folder.exits(1, &["same", "a/cast.hlo", "b/cast.hlo", "--json"]);
    assert!(json.out.contains("\"verdict\": \"part\""), "{}", json.out);
    let open = folder.exits(2, &["same", "a/cast.hlo", "b/cast.hlo", "--trials", "0"]);
    assert!(
        open.out.starts_with("OPEN\n")
            && open.err.contains("neither proven the same nor seen to part")
            && !open.err.contains("missing"),
        "{}{}",
        open.out,
        open.err
    );
    // Of two folders the lines of the pair say so, once.
    let pairs = folder.exits(2, &["same", "a", "b", "--trials", "0"]);
    assert!(pairs.out.contains("cast.hlo\nOPEN\n  missing: ") && !pairs.out.contains("open;"), "{}", pairs.out);
    assert!(pairs.out.contains("2 pairs: 1 the same, 0 part, 1 not judged"), "{}", pairs.out);
    let unknown = folder.exits(2, &["same", "a/cast.hlo", "b/cast.hlo", "--assume", "prefi"]);
    assert!(unknown.err.contains("prefix"), "{}", unknown.err);
}

/// Each pair runs on the machine that its folder names, alone or in two folders: that of a TPU tells nothing of another chip.
#[test]
fn the_machine_is_the_one_of_the_folder() {
    let folder = Folder::new(&[]);
    for (side, chip) in [("a", "v4"), ("a", "tpu7x"), ("b", "v4"), ("b", "tpu7x")] {
        fs::create_dir_all(folder.path(&format!("{side}/tpu/{chip}"))).unwrap();
        folder.write(&format!("{side}/tpu/{chip}/f.hlo"), &program("ROOT r = f32[64] multiply(x, x)"));
    }
    let pairs = folder.exits(0, &["same", "a", "b"]).out;
    for chip in ["v4", "tpu7x"] {
        let rests = format!("rests on: the emulated machine {chip}/default/as-compiled\n");
        assert!(pairs.contains(&rests), "{pairs}");
        let files = [format!("a/tpu/{chip}/f.hlo"), format!("b/tpu/{chip}/f.hlo")];
        let alone = folder.exits(0, &["same", &files[0], &files[1]]).out;
        assert!(alone.contains(&rests), "{alone}");
    }
    // A folder of one's own may be called so as well.
    fs::create_dir_all(folder.path("tpu/models")).unwrap();
    folder.write("tpu/models/f.hlo", &program("ROOT r = f32[64] multiply(x, x)"));
    let own = folder.exits(0, &["same", "tpu/models/f.hlo", "tpu/models/f.hlo"]).out;
    assert!(own.contains("rests on: the emulated machine v5e/default/as-compiled\n"), "{own}");
    folder.exits(0, &["hlo", "diff", "tpu/models/f.hlo", "tpu/models/f.hlo"]);
    // The folder of the compiler stands below it.
    for (below, mode) in [("tpu/v4", "v4/default/as-compiled"), ("cpu", "xla-cpu/default/as-compiled")] {
        let file = format!("tpu/10/{below}/f.hlo");
        fs::create_dir_all(folder.path(&file).parent().unwrap()).unwrap();
        folder.write(&file, &program("ROOT r = f32[64] multiply(x, x)"));
        let own = folder.exits(0, &["same", &file, &file]).out;
        assert!(own.contains(&format!("rests on: the emulated machine {mode}\n")), "{own}");
    }
    // Of two chips neither is meant, and a flag is followed before a folder.
    for more in [
        &["a/tpu/v4/f.hlo", "b/tpu/tpu7x/f.hlo"][..],
        &["a/tpu/v4/f.hlo", "b/tpu/v4/f.hlo", "--mode", "v5e/default/as-compiled"],
    ] {
        let told = folder.exits(0, &[&["same"][..], more].concat()).out;
        assert!(told.contains("rests on: the emulated machine v5e/default/as-compiled\n"), "{told}");
    }
}

#[test]
fn folders_are_paired_by_name() {
    let folder = folder();
    let same = folder.exits(1, &["same", "a", "b"]);
    assert!(
        same.out.ends_with("2 pairs: 1 the same, 1 part, 0 not judged; 0 files without a counterpart\n"),
        "{}",
        same.out
    );
    let diff = folder.exits(1, &["hlo", "diff", "a", "b"]);
    assert!(
        diff.out.contains("\n2 pairs: 1 unchanged, 1 changed, 0 not judged; 0 files without a counterpart\nNext: "),
        "{}",
        diff.out
    );
    fs::remove_file(folder.path("b/cast.hlo")).unwrap();
    let alone = folder.exits(2, &["same", "a", "b"]);
    assert!(alone.out.contains("cast.hlo\n  in one folder alone"), "{}", alone.out);
    assert!(folder.exits(2, &["same", "a", "b/equal.hlo"]).err.contains("is a folder, and"));
}

/// Changes that a person reviewed stay green; new ones, and those that are gone, do not.
/// FACTS 10.1: K of 512 in one block, and in two of 256. What that does to bits depends on the model of a cut.
#[test]
fn a_cut_of_k_is_told_as_open() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/hlo");
    let whole = fs::read_to_string(data.join("tpu/v5e/matmul_default.excess_on.hlo")).unwrap();
    let cut = whole
        .replace(r#""kernel_window_bounds":["64","1"]"#, r#""kernel_window_bounds":["32","1"]"#)
        .replace(r#""iteration_bounds":["1","1","1"]"#, r#""iteration_bounds":["1","1","2"]"#);
    assert_ne!(whole, cut);
    let folder = Folder::new(&[]);
    folder.write("whole.hlo", &whole);
    folder.write("cut.hlo", &cut);
    let inputs = data.join("cpu/matmul_default.inputs.safetensors");
    let diff = ["hlo", "diff", "whole.hlo", "cut.hlo", "--inputs", inputs.to_str().unwrap()];
    let told = folder.exits(1, &diff).out;
    assert!(told.contains("plan-changed") && told.contains("K in one block"), "{told}");
    assert!(
        told.contains("what a cut of K does is not public, and with acc=tiled it is not shown that they stay"),
        "{told}"
    );
    let running = [&diff[..], &["--mode", "v5e/default/as-compiled+acc=running"]].concat();
    let told = folder.exits(1, &running).out;
    assert!(told.contains("acc=running, for all inputs") && !told.contains("not public"), "{told}");
    let open = folder.exits(2, &["same", "whole.hlo", "cut.hlo"]);
    assert!(open.out.starts_with("OPEN") && open.out.contains("with acc=running they are the same"), "{}", open.out);
    let next = "\n  next: `ulpgate hlo diff whole.hlo cut.hlo` names each operation that changed, and with --inputs IN.safetensors --mode \
                v5e/default/as-compiled it says ";
    assert!(open.out.contains(next), "{}", open.out);
    // A machine is named for runs alone.
    assert_ne!(folder.ran(&["hlo", "diff", "whole.hlo", "cut.hlo"]).code, 2);
    folder.exits(0, &["same", "whole.hlo", "cut.hlo", "--mode", "v5e/default/as-compiled+acc=running"]);
    folder.exits(1, &["same", "whole.hlo", "cut.hlo", "--mode", "v5e/default/as-compiled+acc=tiled"]);
}

#[test]
fn reviewed_changes_are_accepted() {
    let folder = folder();
    let accepting = ["hlo", "diff", "a", "b", "--accept", "accepted"];
    assert!(folder.exits(2, &accepting).err.contains("--bless writes a first one"));
    let blessed = folder.exits(0, &[&accepting[..], &["--bless"]].concat());
    assert!(blessed.out.ends_with("Accepted into accepted: 1.\n"), "{}", blessed.out);
    let list = folder.read("accepted");
    assert!(list.contains("\ncast.hlo\n  rounding-removed x"), "{list}");
    assert!(folder.exits(0, &accepting).out.contains("As accepted: 1\n"));
    // Another number behind a name is the same change.
    folder.write("accepted", &list.replace("rounding-removed x", "rounding-removed x.17"));
    folder.exits(0, &accepting);
    folder.write("b/equal.hlo", &folder.read("a/cast.hlo"));
    let new = folder.exits(1, &accepting);
    assert!(new.out.contains("equal.hlo\nnew: rounding-added x"), "{}", new.out);
    folder.write("b/equal.hlo", &program("ROOT r = f32[64] multiply(x, x)"));
    folder.write("b/cast.hlo", &folder.read("a/cast.hlo"));
    let gone = folder.exits(1, &accepting);
    assert!(gone.out.contains("gone: rounding-removed x"), "{}", gone.out);
    let one = folder.exits(1, &["hlo", "diff", "a/equal.hlo", "b/equal.hlo", "--accept", "accepted"]);
    assert!(one.out.contains("gone: cast.hlo, which was not compared; accepted of it: 1"), "{}", one.out);
}

/// A program of `f32[4,8]` logits that keeps all but the tokens below a threshold that is `after` rounded.
fn keeping(rounded: &str) -> String {
    format!(
        "HloModule m\nENTRY main {{\n x = f32[4,8] parameter(0)\n {rounded}\n zero = f32[] constant(0.5)\n \
         low = f32[4,8] broadcast(zero), dimensions={{}}\n ROOT keep = pred[4,8] compare(w, low), direction=GE\n}}\n"
    )
}

/// Dumps lie as the script lays them out: each pair runs on the machine of its folder, on the inputs that lie beside `cpu`.
#[test]
fn pairs_of_folders_find_their_machines_and_inputs() {
    let folder = Folder::new(&[]);
    let [wide, narrow] = ["w = f32[4,8] copy(x)", "c = bf16[4,8] convert(x)\n w = f32[4,8] convert(c)"].map(keeping);
    for (side, text) in [("old", &wide), ("new", &narrow)] {
        for below in ["cpu", "tpu/v5e"] {
            fs::create_dir_all(folder.path(&format!("{side}/{below}"))).unwrap();
            folder.write(&format!("{side}/{below}/f.excess_on.hlo"), text);
        }
    }
    // Just below a half, which rounding to bf16 makes one.
    let x = Tensor::new(&[4, 8], Data::F32(vec![0.499_999; 32]));
    safetensors::write(&folder.path("new/cpu/f.inputs.safetensors"), &[("arg0".to_string(), x)]).unwrap();
    let mut ranks = vec![0.0; 32];
    ranks[3] = 1.0;
    let ranks = Tensor::new(&[4, 8], Data::F32(ranks));
    safetensors::write(&folder.path("ranks.safetensors"), &[("logits".to_string(), ranks)]).unwrap();
    let diff = ["hlo", "diff", "old", "new", "--inputs", "new"];
    let told = folder.exits(1, &diff);
    assert!(told.out.contains("cpu/f.excess_on.hlo\nrounding-added"), "{}", told.out);
    assert_eq!(told.out.matches("result 0 pred[4,8]: 32 of 32 elements differ").count(), 2, "{}", told.out);
    assert!(!told.out.contains("most probable"), "{}", told.out);
    // Numbers that something else gave rank the tokens.
    let ranked = folder.exits(1, &[&diff[..], &["--scores", "ranks.safetensors:logits"]].concat());
    let lost = "rows that lost the most probable token: 4 before, 0 after, of 4";
    assert_eq!(ranked.out.matches(lost).count(), 2, "{}", ranked.out);
    let unknown = folder.exits(2, &[&diff[..], &["--scores", "ranks.safetensors:logit"]].concat());
    assert!(unknown.out.contains("did you mean `logits`?"), "{}", unknown.out);
    // A chip that does not compile for this folder.
    fs::rename(folder.path("old/tpu/v5e"), folder.path("old/tpu/v9")).unwrap();
    fs::rename(folder.path("new/tpu/v5e"), folder.path("new/tpu/v9")).unwrap();
    assert!(folder.exits(1, &diff).out.contains("not judged: tpu/v9 says no machine"));
}

/// Two releases of a compiler, each on its own machine: an exponential that rounds otherwise is no error of the tool.
#[test]
fn each_side_may_have_its_own_machine() {
    let folder = Folder::new(&[]);
    folder.write("a.hlo", &program("ROOT r = f32[64] exponential(x)"));
    let x = Tensor::new(&[64], Data::F32((0..64).map(|i| i as f32 / 64.0).collect()));
    safetensors::write(&folder.path("x.safetensors"), &[("arg0".to_string(), x)]).unwrap();
    let diff = ["hlo", "diff", "a.hlo", "a.hlo", "--inputs", "x.safetensors", "--mode", "xla-cpu/default/as-compiled"];
    folder.exits(0, &diff);
    let other = folder.exits(1, &[&diff[..], &["--other-mode", "v5e/default/as-compiled+exp=worst"]].concat());
    assert!(other.out.contains("result 0 f32[64]"), "{}{}", other.out, other.err);
}
