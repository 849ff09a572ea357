//! Values that real TPUs printed in public, against what is emulated: one file of this folder a source (FACTS 2.5).
//!
//! A value is *equal* (all printed digits), *inside* (of the bound that the mode states, of an interval that was published, or of the
//! sampling error) or *not reproduced*, with the reason. A file says which; whatever turns out otherwise is an error, a value that is
//! reproduced against its file's word as well.

mod printed;
mod set;
mod table;

use std::path::Path;

use set::{Set, Verdict};

fn sets() -> Vec<Set> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/published");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files.iter().map(|path| Set::read(path)).collect()
}

/// Every value is what its file says, and docs/published.md shows what came out; README shows some of it.
#[test]
fn every_published_value_is_as_its_file_says() {
    let sets = sets();
    assert!(sets.len() >= 12, "{} sets", sets.len());
    let mut wrong = Vec::new();
    let mut rows = Vec::new();
    for set in &sets {
        assert!(!set.date.is_empty() && !set.ran.is_empty(), "{}: when, and what was run", set.source);
        for value in &set.value {
            let found = value.find();
            if let Some(why) = found.contradiction(value) {
                wrong.push(format!("{}, {}: {why}", set.source, value.what));
            }
            if value.verdict != Verdict::Equal {
                assert!(!value.because.is_empty(), "{}, {}: `because` says why", set.source, value.what);
            }
            rows.push(table::row(set, value, &found));
        }
    }
    let table = table::whole(&rows);
    println!("{table}");
    assert!(wrong.is_empty(), "{}\n{table}", wrong.join("\n"));
    table::hold_page(&table);
    table::hold_readme(&rows);
}

/// No published array lies outside of what `explore` permits of the program that printed it. A value that is not asked for, or of which
/// nothing is known, has its reason in its file.
#[test]
fn no_published_array_is_outside_of_what_is_permitted() {
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for set in &sets() {
        for value in set.value.iter().filter(|value| value.is_array()) {
            let told = !value.not_explored.is_empty();
            let said = match value.explore() {
                Err(why) if !told => format!("cannot be asked for ({why}), and its file does not say so"),
                Ok(found) if found.outside > 0 => format!("{} elements are outside", found.outside),
                Ok(found) if found.unknown > 0 && !told => {
                    format!("{} elements may be anything, and its file does not say so", found.unknown)
                }
                Ok(found) if found.unknown == 0 && told => "is known, and its file says that it is not".to_string(),
                Ok(_) => {
                    asked += 1;
                    continue;
                }
                Err(_) => continue,
            };
            wrong.push(format!("{}, {}: {said}", set.source, value.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(asked >= 24, "{asked} arrays");
}
