//! The documents lead to each other: every link to a file leads to one that is there.

use std::fs;

use super::{files, root};

/// The addresses of `[text](address)` in a page that are no web pages and no place in the page itself.
fn links(page: &str) -> Vec<&str> {
    let addresses = page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(address, _)| address);
    addresses.filter(|address| !address.contains("://") && !address.starts_with('#')).collect()
}

#[test]
fn links_of_documents_lead_to_files() {
    let (mut count, mut broken) = (0, Vec::new());
    let here = fs::read_dir(root()).unwrap().map(|entry| entry.unwrap().path());
    let here = here.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    for path in here.chain(files(&root().join("docs"), "md")).chain([root().join("python/README.md")]) {
        let page = fs::read_to_string(&path).unwrap();
        for link in links(&page) {
            count += 1;
            let file = link.split('#').next().unwrap_or(link);
            if !path.parent().unwrap().join(file).exists() {
                broken.push(format!("{}: {link}", path.display()));
            }
        }
    }
    assert!(count > 20, "{count}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn addresses_are_found() {
    assert_eq!(links("see [a](b.md), [c](https://d) and [e](#f): `x[i](y)`"), ["b.md", "y"]);
}
