//! Names that files are made of: one plain component of a path each.

/// Why a name cannot be a file's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// There is nothing to call the file.
    #[error("it is empty")]
    Empty,
    /// A file of this name is hidden, or is a folder of every folder.
    #[error("it begins with a dot")]
    Dot,
    /// It leads to another folder, or to another drive, on some system.
    #[error("it has `{0}`, so it is more than the name of one file")]
    Separator(char),
    /// A terminal or a list of names would take it for something else.
    #[error("it has a control character")]
    Control,
}

/// Holds a name that comes from data to be one plain component, so that a file of this name lies in the folder it is written
/// to.
///
/// # Errors
/// Anything else that the name is.
pub fn check_component(name: &str) -> Result<(), NameFault> {
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if name.starts_with('.') {
        return Err(NameFault::Dot);
    }
    if let Some(separator) = name.chars().find(|c| matches!(c, '/' | '\\' | ':')) {
        return Err(NameFault::Separator(separator));
    }
    if name.chars().any(char::is_control) {
        return Err(NameFault::Control);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_plain_component_is_taken_and_nothing_else() {
        for name in ["ties", "hlo-top-p", "a b", "größe", "a.b", "keep_max[rows=8]"] {
            assert_eq!(check_component(name), Ok(()), "{name}");
        }
        let faults = [
            ("", NameFault::Empty),
            (".", NameFault::Dot),
            ("..", NameFault::Dot),
            (".git", NameFault::Dot),
            ("../../evil", NameFault::Dot),
            ("a/../../evil", NameFault::Separator('/')),
            ("/etc/evil", NameFault::Separator('/')),
            ("a\\b", NameFault::Separator('\\')),
            ("c:evil", NameFault::Separator(':')),
            ("a\nb", NameFault::Control),
            ("a\u{1b}[2J", NameFault::Control),
            ("a\0b", NameFault::Control),
        ];
        for (name, fault) in faults {
            assert_eq!(check_component(name), Err(fault), "{name:?}");
        }
    }
}
