//! A clone on any machine is whole: no tracked link leads outside of it, and no tracked text names a folder of one machine.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::root;

/// The tracked files, relative to the root. Where git or its folder is not there, as in an unpacked archive, all files but
/// those of builds.
fn tracked() -> Vec<PathBuf> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root()).output();
    match listed {
        Ok(listed) if listed.status.success() && !listed.stdout.is_empty() => {
            let names = String::from_utf8(listed.stdout).unwrap();
            names.split_terminator('\0').map(PathBuf::from).collect()
        }
        _ => below(root()),
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let skipped = [".git", "target", "records"].map(|name| path.ends_with(name));
        if path.symlink_metadata().unwrap().is_dir() {
            if !skipped.contains(&true) {
                found.extend(below(&path));
            }
        } else {
            found.push(path.strip_prefix(root()).unwrap().to_path_buf());
        }
    }
    found
}

/// Whether a link at `place`, relative to the root, that holds `target` leads outside of the root.
fn leads_outside(place: &Path, target: &Path) -> bool {
    let mut depth = place.parent().map_or(0, |folder| folder.components().count());
    for component in target.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => depth += 1,
            Component::ParentDir if depth > 0 => depth -= 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// The first path in a line that begins at the root of a machine's file system, in a folder that holds people's files.
fn absolute_path(line: &str) -> Option<&str> {
    let folders = ["home", "root", "tmp", "work", "farm", "Users", "mnt", "var/tmp", "opt"];
    folders.iter().find_map(|folder| {
        let at = line.match_indices(&format!("/{folder}/")).find_map(|(at, found)| {
            // A path below another name, `$HOME/tmp/x` or `a/work/b`, and an address, `https://host/home/`, begin elsewhere.
            let begins =
                line[..at].chars().next_back().is_none_or(|c| !c.is_alphanumeric() && !"/._-~$}>)*".contains(c));
            let goes_on = line[at + found.len()..].starts_with(|c: char| c.is_alphanumeric());
            (begins && goes_on).then_some(at)
        })?;
        line[at..].split(|c: char| c.is_whitespace() || "\"'`)".contains(c)).next()
    })
}

#[test]
fn no_tracked_link_leads_outside() {
    let (mut links, mut outside) = (0, Vec::new());
    for place in tracked() {
        let path = root().join(&place);
        let Ok(metadata) = path.symlink_metadata() else { continue };
        if !metadata.is_symlink() {
            continue;
        }
        links += 1;
        let target = fs::read_link(&path).unwrap();
        if leads_outside(&place, &target) || !path.exists() {
            outside.push(format!("{} -> {}", place.display(), target.display()));
        }
    }
    // An archive or a copy may hold the files that links lead to instead.
    assert!(links > 0 || !root().join(".git").exists(), "no link was looked at: python/LICENSE-MIT is one");
    assert!(outside.is_empty(), "links that a clone elsewhere will not follow: {outside:#?}");
}

#[test]
fn what_builds_write_is_not_tracked() {
    let files = tracked();
    assert!(files.len() > 1000, "{} files", files.len());
    let built = |path: &&PathBuf| path.components().any(|part| part.as_os_str() == "target");
    let built: Vec<&PathBuf> = files.iter().filter(built).collect();
    assert!(built.is_empty(), "{built:?}");
}

#[test]
fn no_tracked_text_names_a_folder_of_one_machine() {
    let (mut texts, mut named) = (0, Vec::new());
    for place in tracked() {
        // Dumps hold what their compiler wrote.
        if place == Path::new("tests/tidy/clone.rs") || place.extension().is_some_and(|end| end == "hlo") {
            continue;
        }
        let Ok(text) = fs::read_to_string(root().join(&place)) else { continue };
        texts += 1;
        for (at, line) in text.lines().enumerate() {
            if let Some(path) = absolute_path(line) {
                named.push(format!("{}:{}: {path}", place.display(), at + 1));
            }
        }
    }
    assert!(texts > 500, "{texts} texts");
    assert!(named.is_empty(), "{named:#?}");
}

#[test]
fn links_and_paths_are_told_apart() {
    let outside = |place: &str, target: &str| leads_outside(Path::new(place), Path::new(target));
    assert!(outside("target", "/elsewhere/build"));
    assert!(outside("target", "../build"));
    assert!(outside("python/licenses", "../../licenses"));
    assert!(outside("a/b", "c/../../../d"));
    assert!(!outside("python/licenses", "../docs/licenses"));
    assert!(!outside("a/b/c", "./d/../../e"));

    assert_eq!(absolute_path("see /home/me/project, then"), Some("/home/me/project,"));
    assert_eq!(absolute_path("path = \"/work/build\""), Some("/work/build"));
    assert_eq!(absolute_path("https://example.org/home/page and $HOME/tmp/x and docs/work/plan.md"), None);
    assert_eq!(absolute_path("a /tmp/ folder"), None);
}
