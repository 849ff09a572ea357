//! One array of a file, by a text: `FILE.safetensors:NAME` or `FILE.npy`.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::tensor::Tensor;

use super::npy;
use super::safetensors::{self, FileError};

/// Location of an array: its file and its name there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    file: PathBuf,
    /// The tensor's name, in a file of several.
    name: Option<String>,
}

impl Entry {
    /// The entry that a text means, if it means one.
    pub fn parse(text: &str) -> Option<Entry> {
        if text.ends_with(".npy") {
            return Some(Entry { file: PathBuf::from(text), name: None });
        }
        let (file, name) = text.split_once(".safetensors:")?;
        Some(Entry { file: PathBuf::from(format!("{file}.safetensors")), name: Some(name.to_string()) })
    }

    /// The file, as the text names it.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The array, of a file whose path is relative to `folder`.
    ///
    /// # Errors
    /// If the file cannot be read, breaks its format or has no such tensor.
    pub fn read(&self, folder: &Path) -> Result<Tensor, FileError> {
        let path = folder.join(&self.file);
        match &self.name {
            Some(name) => safetensors::read_one(&path, name),
            None => npy::read(&path),
        }
    }
}

/// The text again.
impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, ":{name}"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Entry;

    /// A tensor's name may hold anything, the end of a file's name as well.
    #[test]
    fn the_first_file_that_a_text_names_is_meant() {
        for (text, file) in [
            ("a/x.npy", "a/x.npy"),
            ("x.safetensors:w", "x.safetensors"),
            ("x.safetensors:layer:0.safetensors:w", "x.safetensors"),
            ("x.safetensors:", "x.safetensors"),
        ] {
            let entry = Entry::parse(text).unwrap();
            assert_eq!((entry.file(), entry.to_string().as_str()), (Path::new(file), text));
        }
        for text in ["x.safetensors", "x.bin:w", "x", ""] {
            assert_eq!(Entry::parse(text), None, "{text}");
        }
    }
}
