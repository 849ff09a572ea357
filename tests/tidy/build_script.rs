//! The fingerprint of what computes: every source file counts, of every crate.

use std::fs;
use std::path::Path;

use ulpgate_fingerprint::fingerprint;

use crate::root;

#[test]
fn a_build_has_the_fingerprint_of_its_sources() {
    let of = |path: &Path| format!("{:016x}", fingerprint(path).unwrap());
    let crates = ["ir", "oracle", "machine", "xla_cpu", "numerics", "hlo"];
    let below = crates.map(|name| of(&root().join("src").join(name)));
    assert_eq!(below[..5], ulpgate_numerics::SOURCES.map(str::to_string));
    // The front's own is part of what stands in headers.
    let build = ulpgate::record::Build::current();
    let all = [below.concat(), of(root())].concat();
    let hash = all
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    assert_eq!(build.sources, format!("{hash:016x}"));
}

#[test]
fn every_source_counts_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    let print = || fingerprint(folder.path()).unwrap();
    let lock =
        "[[package]]\nname = \"clap\"\nversion = \"4.6.0\"\n\n[[package]]\nname = \"core-math\"\nversion = \"1.4.0\"\n";
    write("src/lib.rs", "mod a;\n");
    write("src/a/b.rs", "1");
    write("src/other/Cargo.toml", "");
    write("src/other/lib.rs", "1");
    write("Cargo.lock", lock);
    let first = print();
    let same = |what: &str| assert_eq!(print(), first, "{what}");
    let differs = |what: &str| assert_ne!(print(), first, "{what}");
    same("again");
    write("src/other/lib.rs", "2");
    same("another package");
    write("README.md", "text");
    write("src/a/notes.txt", "text");
    write("tests/a.rs", "1");
    same("no source of the package");
    write("src/lib.rs", "mod a;\r\n");
    same("line ends");
    write("Cargo.lock", &lock.replace("4.6.0", "4.6.1"));
    same("a crate that computes nothing");
    write("Cargo.lock", &lock.replace("1.4.0", "1.4.1"));
    differs("a crate that computes");
    write("Cargo.lock", lock);
    write("src/a/b.rs", "2");
    differs("a text");
    write("src/a/b.rs", "1");
    write("src/a/c.rs", "");
    differs("a new file");
    fs::rename(folder.path().join("src/a/b.rs"), folder.path().join("src/a/c.rs")).unwrap();
    differs("another name");
    fs::rename(folder.path().join("src/a/c.rs"), folder.path().join("src/a/b.rs")).unwrap();
    same("as it was");
}
