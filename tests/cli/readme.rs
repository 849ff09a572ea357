//! Commands of README and docs/start.md, run as a reader types them, and the pictures of what they print.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The command lines of the blocks of a page that begin with a prompt.
fn commands(page: &str) -> Vec<String> {
    let blocks = page.split("```").skip(1).step_by(2).filter(|block| block.starts_with("\n$ "));
    blocks.flat_map(|block| block.lines().filter_map(|line| line.strip_prefix("$ ")).map(str::to_string)).collect()
}

/// A copy of the checkout's examples, and the folder in which a reader stands there.
struct Reader {
    root: TempDir,
    folder: PathBuf,
}

impl Reader {
    fn new() -> Reader {
        let root = TempDir::new().unwrap();
        let to = root.path().join("examples/first");
        fs::create_dir_all(&to).unwrap();
        for entry in fs::read_dir(Path::new(ROOT).join("examples/first")).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
        let folder = root.path().to_path_buf();
        Reader { root, folder }
    }

    /// Runs a line; `None` for one that changes the folder, or builds what the test has built.
    fn run(&mut self, line: &str) -> Option<Output> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["cd", folder] => {
                self.folder.push(folder);
                assert!(self.folder.is_dir(), "`{line}` leads nowhere");
                None
            }
            // `.ci/outside` installs from a clone.
            ["cargo", "install", "--locked", "--path", "."] => None,
            ["ulpgate", arguments @ ..] => {
                let mut ran = Command::new(env!("CARGO_BIN_EXE_ulpgate"));
                let output = ran.args(arguments).current_dir(&self.folder).output().unwrap();
                let err = String::from_utf8_lossy(&output.stderr).to_string();
                assert!(matches!(output.status.code(), Some(0 | 1)), "`{line}`: {err}");
                assert!(!output.stdout.is_empty(), "`{line}` prints nothing");
                Some(output)
            }
            _ => panic!("`{line}` is no command that a test runs"),
        }
    }
}

/// The words of a picture's lines, in order.
fn words_of_picture(svg: &str) -> Vec<String> {
    let texts = svg.lines().filter_map(|line| line.trim().strip_prefix("<text "));
    let mut words = Vec::new();
    for text in texts {
        let (_, text) = text.split_once('>').unwrap();
        let text = text.strip_suffix("</text>").unwrap();
        // What stands between tags is shown.
        let shown: String = text
            .split('<')
            .enumerate()
            .map(|(at, part)| if at == 0 { part } else { part.split_once('>').unwrap().1 })
            .collect();
        let shown = shown
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#x27;", "'")
            .replace("&amp;", "&");
        words.extend(shown.split_whitespace().map(str::to_string));
    }
    words
}

#[test]
fn commands_of_readme_print_what_its_pictures_show() {
    let readme = fs::read_to_string(Path::new(ROOT).join("README.md")).unwrap();
    let mut reader = Reader::new();
    let (mut pictures, mut followed) = (0, 0);
    for line in commands(&readme) {
        let Some(output) = reader.run(&line) else { continue };
        let (_, below) =
            readme.split_once(&format!("$ {line}\n```\n\n![")).unwrap_or_else(|| panic!("`{line}` has no picture"));
        let path = below.split_once("](").unwrap().1.split_once(')').unwrap().0;
        let shown = words_of_picture(&fs::read_to_string(Path::new(ROOT).join(path)).unwrap());
        let said = String::from_utf8(output.stdout).unwrap();
        // A command that an output names as the next one works where the reader stands.
        for next in said.split('`').skip(1).step_by(2).filter(|text| text.starts_with("ulpgate ")) {
            reader.run(next);
            followed += 1;
        }
        let typed = format!("$ {line}\n{said}");
        let printed: Vec<&str> = typed.split_whitespace().collect();
        assert_eq!(shown, printed, "{path} is another: `python3 scripts/terminal_pictures.py` draws it");
        pictures += 1;
    }
    assert_eq!(pictures, 3);
    assert!(followed > 0, "no output names a next command");
    drop(reader.root);
}

/// A reader who follows the page blindly has a suite with what it found, and a gate that is green.
#[test]
fn commands_of_the_start_page_work_one_after_the_other() {
    let page = fs::read_to_string(Path::new(ROOT).join("docs/start.md")).unwrap();
    let mut reader = Reader::new();
    let mut codes = Vec::new();
    for line in commands(&page) {
        codes.extend(reader.run(&line).map(|output| output.status.code()));
    }
    assert_eq!(codes, [Some(0); 4]);
    assert!(reader.root.path().join("demo/reports/SUMMARY.md").is_file());
}
