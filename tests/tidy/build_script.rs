//! The fingerprint of what computes: every source file counts, of every crate.

use std::fs;
use std::path::Path;

use ulpgate_fingerprint::fingerprint;

use crate::root;

#[test]
fn a_build_has_the_fingerprint_of_its_sources() {
    let of = |path: &Path| format!("{:016x}", fingerprint(path).unwrap());
    let crates = ["ir", "oracle", "machine", "xla_cpu", "numerics", "hlo", "front"];
    let all = crates.map(|name| of(&root().join("src").join(name)));
    assert_eq!(all[..5], ulpgate_numerics::SOURCES.map(str::to_string));
    // All of them are part of the one that stands in headers.
    let build = ulpgate::record::Build::current();
    let all = all.concat();
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
    write("lib.rs", "mod a;\n");
    write("a/b.rs", "1");
    write("other/Cargo.toml", "");
    write("other/lib.rs", "1");
    write("Cargo.lock", lock);
    let first = print();
    let same = |what: &str| assert_eq!(print(), first, "{what}");
    let differs = |what: &str| assert_ne!(print(), first, "{what}");
    same("again");
    write("other/lib.rs", "2");
    same("another package");
    write("README.md", "text");
    write("a/notes.txt", "text");
    same("no source of the package");
    write("lib.rs", "mod a;\r\n");
    same("line ends");
    write("Cargo.lock", &lock.replace("4.6.0", "4.6.1"));
    same("a crate that computes nothing");
    write("Cargo.lock", &lock.replace("1.4.0", "1.4.1"));
    differs("a crate that computes");
    write("Cargo.lock", lock);
    write("a/b.rs", "2");
    differs("a text");
    write("a/b.rs", "1");
    write("a/c.rs", "");
    differs("a new file");
    fs::rename(folder.path().join("a/b.rs"), folder.path().join("a/c.rs")).unwrap();
    differs("another name");
    fs::rename(folder.path().join("a/c.rs"), folder.path().join("a/b.rs")).unwrap();
    same("as it was");
}
