//! Files of one room that use each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::{HOMES, SEVERAL, Source, sources};

/// The circles that are left, by their room, and why.
const LEFT: &[(&str, &[&str], &str)] = &[
    (
        "machine",
        &["evaluate", "prepared", "rank", "reduce", "scalar", "tiles"],
        "operations apply regions, which hold operations",
    ),
    (
        "xla_cpu/library/ducc",
        &["bluestein", "complex_plan"],
        "a transform of one length by those of another, which has a plan",
    ),
    (
        "machine/symbolic",
        &[
            "dot_terms",
            "gathered",
            "indexed",
            "masked",
            "packed",
            "pairwise",
            "pointwise",
            "random_fraction",
            "ranked",
            "reduced",
            "run",
            "tables",
        ],
        "operations apply regions, which hold operations",
    ),
    ("machine/mxu", &["blocks", "unit"], "the unit's settings, and what is done with them"),
    ("machine/mxu", &["isa", "lanes", "tile"], "instructions for a tile, and a tile for instructions"),
];

/// The code of a source file as one text.
fn code(source: &Source) -> String {
    source.code().map(|(_, line)| line).collect::<Vec<_>>().join("\n")
}

/// The first names behind a prefix such as `super::`, those of groups each.
fn names(text: &str, prefix: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(prefix) {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':') {
            continue;
        }
        let rest = &text[at + prefix.len()..];
        let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
        let Some(group) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let (mut depth, mut member) = (1, String::new());
        for c in group.chars() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 || depth == 1 && c == ',' {
                found.push(word(member.trim_start()));
                member.clear();
            } else {
                member.push(c);
            }
            if depth == 0 {
                break;
            }
        }
    }
    found
}

/// A room's children: of each the files that belong to it, and how many folders below the room they lie.
fn children<'a>(room: &str, sources: &'a [Source]) -> BTreeMap<String, Vec<(&'a Source, usize)>> {
    let mut children: BTreeMap<String, Vec<(&Source, usize)>> = BTreeMap::new();
    for source in sources {
        let Some(rest) = source.path.strip_prefix(room).and_then(|rest| rest.strip_prefix('/')) else { continue };
        let parts: Vec<&str> = rest.split('/').collect();
        let name = parts[0].trim_end_matches(".rs");
        if !["mod", "lib"].contains(&name) {
            let depth = parts.len() - usize::from(parts[parts.len() - 1] == "mod.rs");
            children.entry(name.to_string()).or_default().push((source, depth));
        }
    }
    children
}

/// The prefixes that lead to a room from the root of its crate. A crate that is one room has itself under its name, too.
fn full_paths(room: &str) -> Vec<String> {
    let path = room.replace('/', "::");
    let first = room.split('/').next().unwrap();
    let is_crate = HOMES.contains(&first) && !SEVERAL.contains(&first);
    let within =
        is_crate.then(|| path.split_once("::").map_or("crate::".to_string(), |(_, rest)| format!("crate::{rest}::")));
    [format!("crate::{path}::")].into_iter().chain(within).collect()
}

/// The rooms of a crate, as [`children`] has them.
fn rooms_of<'a>(home: &str, sources: &'a [Source]) -> BTreeMap<String, Vec<(&'a Source, usize)>> {
    let mut rooms: BTreeMap<String, Vec<(&Source, usize)>> = BTreeMap::new();
    for source in sources.iter().filter(|source| source.home == home && !["lib.rs", "main.rs"].contains(&&*source.path))
    {
        let depth = source.path.split('/').count() - usize::from(source.path.ends_with("/mod.rs"));
        rooms.entry(source.module().to_string()).or_default().push((source, depth));
    }
    rooms
}

/// The children of a room that each of them uses: by its own name, or by that of something the room hands on from it. A crate
/// of several rooms is itself a room, by its folder with a `/` behind it.
fn uses(room: &str, sources: &[Source]) -> BTreeMap<String, BTreeSet<String>> {
    let (children, full) = match room.strip_suffix('/') {
        Some(home) => (rooms_of(home, sources), vec!["crate::".to_string()]),
        None => (children(room, sources), full_paths(room)),
    };
    let front = ["mod.rs", "lib.rs"].map(|name| format!("{room}/{name}"));
    let front = sources.iter().find(|s| front.contains(&s.path) || s.path == format!("{room}.rs"));
    let front = front.map(code).unwrap_or_default();
    let mut of_child: BTreeMap<String, String> = BTreeMap::new();
    for child in children.keys() {
        of_child.extend(names(&front, &format!("{child}::")).into_iter().map(|name| (name, child.clone())));
        of_child.insert(child.clone(), child.clone());
    }
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (child, files) in &children {
        for (source, depth) in files {
            let text = code(source);
            let near = names(&text, &"super::".repeat(*depth));
            let far = full.iter().flat_map(|prefix| names(&text, prefix));
            let used = near.into_iter().chain(far).filter_map(|name| of_child.get(&name).cloned());
            uses.entry(child.clone()).or_default().extend(used.filter(|other| other != child));
        }
    }
    uses
}

/// The children that are reached from a child through the others.
fn reach(uses: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from.to_string()];
    while let Some(child) = next.pop() {
        for other in uses.get(&child).into_iter().flatten() {
            if reached.insert(other.clone()) {
                next.push(other.clone());
            }
        }
    }
    reached
}

#[test]
fn no_room_has_a_circle_but_those_that_are_named() {
    let sources = sources();
    let folders = |source: &Source| -> Vec<String> {
        let parts: Vec<&str> = source.path.split('/').collect();
        (1..parts.len()).map(|len| parts[..len].join("/")).collect()
    };
    let crates = SEVERAL.into_iter().chain([""]).map(|home| format!("{home}/"));
    let rooms: BTreeSet<String> = sources.iter().flat_map(folders).chain(crates).collect();
    let mut found = BTreeSet::new();
    let mut edges = 0;
    for room in &rooms {
        let uses = uses(room, &sources);
        edges += uses.values().map(BTreeSet::len).sum::<usize>();
        let reached: BTreeMap<&String, BTreeSet<String>> = uses.keys().map(|c| (c, reach(&uses, c))).collect();
        for (child, onward) in reached.iter().filter(|(child, onward)| onward.contains(**child)) {
            let circle: Vec<&str> =
                onward.iter().filter(|other| reached[other].contains(*child)).map(String::as_str).collect();
            found.insert(format!("{room}: {}", circle.join(", ")));
        }
    }
    let named: BTreeSet<String> =
        LEFT.iter().map(|(room, circle, _)| format!("{room}: {}", circle.join(", "))).collect();
    assert_eq!(found, named);
    assert!(edges > 200, "only {edges} uses were found");
}

#[test]
fn rooms_are_reached_from_the_root_of_their_crate() {
    assert_eq!(full_paths("machine/vector"), ["crate::machine::vector::", "crate::vector::"]);
    assert_eq!(full_paths("oracle"), ["crate::oracle::", "crate::"]);
    assert_eq!(full_paths("explore"), ["crate::explore::"]);
}

#[test]
fn names_behind_a_prefix_are_read() {
    let text = "use super::{self, lex::{Input, name}, Fault,\n scope};\nsuper::super::no(); super::find(x)";
    assert_eq!(names(text, "super::"), ["self", "lex", "Fault", "scope", "super", "find"]);
    assert_eq!(names(text, "super::super::"), ["no"]);
}
