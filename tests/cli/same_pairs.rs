//! `ulpgate same`, and two folders: verdicts, summaries and exit codes.

use std::fs;

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
    assert!(same.out.contains("rests on: the emulated machine v5e/default/as-compiled+acc=tiled"), "{}", same.out);
    let part = folder.exits(1, &["same", "a/cast.hlo", "b/cast.hlo", "--witness", "w.safetensors"]);
    assert!(part.out.starts_with("PART\n") && part.out.contains("a cast to bf16"), "{}", part.out);
    assert!(folder.path("w.safetensors").exists());
    let json = folder.exits(1, &["same", "a/cast.hlo", "b/cast.hlo", "--json"]);
    assert!(json.out.contains("\"verdict\": \"part\""), "{}", json.out);
    let open = folder.exits(2, &["same", "a/cast.hlo", "b/cast.hlo", "--trials", "0"]);
    assert!(open.out.starts_with("OPEN\n") && open.err.contains("open; missing:"), "{}{}", open.out, open.err);
    let unknown = folder.exits(2, &["same", "a/cast.hlo", "b/cast.hlo", "--assume", "prefi"]);
    assert!(unknown.err.contains("prefix"), "{}", unknown.err);
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
        diff.out.ends_with("2 pairs: 1 unchanged, 1 changed, 0 not judged; 0 files without a counterpart\n"),
        "{}",
        diff.out
    );
    fs::remove_file(folder.path("b/cast.hlo")).unwrap();
    let alone = folder.exits(2, &["same", "a", "b"]);
    assert!(alone.out.contains("cast.hlo\n  in one folder alone"), "{}", alone.out);
    assert!(folder.exits(2, &["same", "a", "b/equal.hlo"]).err.contains("is a folder and"));
}

/// What a person reviewed stays green; what is new, or gone, does not.
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
