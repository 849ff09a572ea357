//! The fingerprint of a crate's own sources, so that what was computed can say which build computed it.
//!
//! Build scripts call [`emit`]. It needs no git, and its result is the same on any machine and in a packaged crate.

#![deny(missing_docs)]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Gives the crate whose build script calls this the variable `ULPGATE_SOURCES`: its fingerprint, 16 hex digits.
///
/// # Errors
/// If a source cannot be read.
pub fn emit() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    println!("cargo::rerun-if-changed={}", root.display());
    if let Some(lock) = lock_file(&root) {
        println!("cargo::rerun-if-changed={}", lock.display());
    }
    println!("cargo::rustc-env=ULPGATE_SOURCES={:016x}", fingerprint(&root)?);
    Ok(())
}

/// Crates that results depend on: their versions are part of the fingerprint.
const COMPUTING: [&str; 7] = ["core-math", "gmp-mpfr-sys", "half", "matrixmultiply", "rand", "rand_chacha", "rug"];

/// FNV-1a, 64 bits, over the paths and texts of a package's Rust files, by their paths, and over the versions of what they
/// compute with. Line ends count as one character, whatever git made of them.
///
/// # Errors
/// If a source cannot be read.
pub fn fingerprint(root: &Path) -> io::Result<u64> {
    let mut files = Vec::new();
    collect(root, String::new(), &mut files)?;
    files.sort();
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for name in files {
        // A zero ends each part, so that no text moves from one file to the next.
        add(&mut hash, format!("{name}\0").as_bytes());
        add(&mut hash, &fs::read(root.join(&name))?);
        add(&mut hash, b"\0");
    }
    if let Some(lock) = lock_file(root) {
        add(&mut hash, versions(&fs::read_to_string(lock)?).as_bytes());
    }
    Ok(hash)
}

/// The lock file of a package: its own, which packaging makes, or that of the workspace around `src`.
fn lock_file(root: &Path) -> Option<PathBuf> {
    let mut places = ["Cargo.lock", "../../Cargo.lock"].into_iter().map(|place| root.join(place));
    places.find(|place| place.exists())
}

fn add(hash: &mut u64, bytes: &[u8]) {
    for byte in bytes.iter().filter(|byte| **byte != b'\r') {
        *hash = (*hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
}

/// The Rust files below a folder, by their paths with `/`. Folders of other packages and of what cargo built are left out.
fn collect(folder: &Path, below: String, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let name = format!("{below}{name}");
        if path.is_dir() {
            if !path.join("Cargo.toml").exists() && !path.join("CACHEDIR.TAG").exists() {
                collect(&path, format!("{name}/"), files)?;
            }
        } else if name.ends_with(".rs") {
            files.push(name);
        }
    }
    Ok(())
}

/// A line `NAME VERSION` for each package of a lock file that computes, in the file's order.
fn versions(lock: &str) -> String {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        line.map(|text| text.trim_matches('"').to_string())
    };
    let packages = lock.split("[[package]]").skip(1);
    let computing = packages.filter_map(|block| {
        let (name, version) = (value(block, "name")?, value(block, "version")?);
        COMPUTING.contains(&name.as_str()).then(|| format!("{name} {version}\n"))
    });
    computing.collect()
}
