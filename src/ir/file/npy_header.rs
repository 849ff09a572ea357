//! The header of a `.npy` file: a Python dict with `descr`, `fortran_order` and `shape`, and nothing else.
//!
//! Nothing in it nests that is read, so that the reader needs no recursion and its time is linear in the header. Source: NumPy,
//! `numpy.lib.format` (NEP 1).

use std::borrow::Cow;

/// The bytes before the version.
const MAGIC: &[u8] = b"\x93NUMPY";

/// The longest header that is read, in bytes. NumPy itself reads 10,000 unless it is told otherwise.
const LONGEST: usize = 1 << 16;

/// The most dimensions of an array: those of NumPy 2.
const MOST_DIMS: usize = 64;

/// The contents of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The element type as NumPy has it, such as `<f4`; `None` of records.
    pub descr: Option<String>,
    /// Whether the first index runs fastest.
    pub fortran_order: bool,
    /// The extents.
    pub shape: Vec<usize>,
}

/// The header of a file, and the bytes behind it.
///
/// # Errors
/// The fault by which bytes break the format.
pub(super) fn split(bytes: &[u8]) -> Result<(Header, &[u8]), String> {
    let rest = bytes.strip_prefix(MAGIC).ok_or("it does not begin with \\x93NUMPY")?;
    let (version, rest) = rest.split_first_chunk::<2>().ok_or("it ends within its version")?;
    let (length, rest) = match version {
        [1, 0] => {
            let (length, rest) = rest.split_first_chunk::<2>().ok_or("it ends within its header's length")?;
            (usize::from(u16::from_le_bytes(*length)), rest)
        }
        [2 | 3, 0] => {
            let (length, rest) = rest.split_first_chunk::<4>().ok_or("it ends within its header's length")?;
            (usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX), rest)
        }
        [major, minor] => return Err(format!("it is of version {major}.{minor}; known are 1.0, 2.0 and 3.0")),
    };
    if length > LONGEST {
        return Err(format!("its header has {length} bytes, and {LONGEST} at most are read"));
    }
    let Some((header, rest)) = rest.split_at_checked(length) else {
        return Err(format!("it ends within its header, of which {} of {length} bytes are there", rest.len()));
    };
    let text = match version[0] {
        3 => Cow::Borrowed(std::str::from_utf8(header).map_err(|error| format!("its header is no UTF-8: {error}"))?),
        // Latin-1: each byte is the character of its number.
        _ => Cow::Owned(header.iter().map(|byte| char::from(*byte)).collect()),
    };
    Ok((parse(&text)?, rest))
}

/// A header's text.
fn parse(text: &str) -> Result<Header, String> {
    let mut reader = HeaderReader { text, at: 0 };
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    reader.require('{')?;
    while !reader.accept('}') {
        let at = reader.at;
        let key = reader.string()?;
        reader.require(':')?;
        let is_second = match key {
            "descr" => match reader.element_type()? {
                // What describes the records need not be read: they are refused.
                None => return Ok(Header { descr: None, fortran_order: false, shape: Vec::new() }),
                some => descr.replace(some).is_some(),
            },
            "fortran_order" => fortran_order.replace(reader.truth()?).is_some(),
            "shape" => shape.replace(reader.tuple()?).is_some(),
            _ => return Err(reader.fault(at, "a key that is descr, fortran_order or shape")),
        };
        if is_second {
            return Err(format!("its header has {key:?} twice"));
        }
        if !reader.accept(',') {
            reader.require('}')?;
            break;
        }
    }
    reader.skip();
    if reader.at < text.len() {
        return Err(reader.fault(reader.at, "nothing behind the dict"));
    }
    let missing = |key: &str| format!("its header has no {key:?}");
    Ok(Header {
        descr: descr.ok_or_else(|| missing("descr"))?,
        fortran_order: fortran_order.ok_or_else(|| missing("fortran_order"))?,
        shape: shape.ok_or_else(|| missing("shape"))?,
    })
}

/// Literals of Python, one after another.
struct HeaderReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> HeaderReader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    /// Whether this character comes next behind any space; it is passed.
    fn accept(&mut self, c: char) -> bool {
        self.skip();
        let is_next = self.rest().starts_with(c);
        if is_next {
            self.at += c.len_utf8();
        }
        is_next
    }

    fn require(&mut self, c: char) -> Result<(), String> {
        if self.accept(c) { Ok(()) } else { Err(self.fault(self.at, &format!("\"{c}\""))) }
    }

    fn fault(&self, at: usize, expected: &str) -> String {
        let found: String = self.text[at..].chars().take(20).collect();
        let found = if found.is_empty() { "its end".to_string() } else { format!("{found:?}") };
        format!("its header should have {expected} at byte {at}, and has {found}")
    }

    /// The text between quotation marks of one kind. No name of NumPy's has a backslash.
    fn string(&mut self) -> Result<&'a str, String> {
        self.skip();
        let start = self.at;
        let mark = self.rest().chars().next().filter(|c| matches!(c, '\'' | '"'));
        let inside = mark.and_then(|mark| {
            let end = self.rest()[1..].find([mark, '\\'])?;
            let inside = &self.rest()[1..=end];
            self.rest()[1 + end..].starts_with(mark).then_some(inside)
        });
        let inside = inside.ok_or_else(|| self.fault(start, "a string without a backslash"))?;
        self.at += inside.len() + 2;
        Ok(inside)
    }

    /// The element type as a string; `None` of a list, which describes records.
    fn element_type(&mut self) -> Result<Option<String>, String> {
        self.skip();
        if self.rest().starts_with(['[', '(']) { Ok(None) } else { self.string().map(|descr| Some(descr.to_string())) }
    }

    fn truth(&mut self) -> Result<bool, String> {
        self.skip();
        for (word, value) in [("True", true), ("False", false)] {
            if self.rest().starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.fault(self.at, "True or False"))
    }

    /// `()`, `(3,)`, `(3, 4)`; numbers of Python 2 end in `L`. Without its comma `(3)` is a number.
    fn tuple(&mut self) -> Result<Vec<usize>, String> {
        self.require('(')?;
        let (start, mut extents, mut has_comma) = (self.at, Vec::new(), false);
        while !self.accept(')') {
            if !extents.is_empty() && !has_comma {
                return Err(self.fault(self.at, "\",\" or \")\""));
            }
            extents.push(self.number()?);
            has_comma = self.accept(',');
            if extents.len() > MOST_DIMS {
                return Err(format!("its shape has more than {MOST_DIMS} dimensions"));
            }
        }
        if extents.len() == 1 && !has_comma {
            return Err(self.fault(start, "a tuple, and of one number its comma"));
        }
        Ok(extents)
    }

    fn number(&mut self) -> Result<usize, String> {
        self.skip();
        let end = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
        let number = self.rest()[..end].parse().map_err(|_| self.fault(self.at, "a number of elements"))?;
        self.at += end;
        if self.rest().starts_with('L') {
            self.at += 1;
        }
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fault(text: &str) -> String {
        parse(text).unwrap_err()
    }

    #[test]
    fn the_forms_that_numpy_writes_are_read() {
        let header = |descr: &str, shape: &[usize]| Header {
            descr: Some(descr.to_string()),
            fortran_order: false,
            shape: shape.to_vec(),
        };
        let read = |text: &str| parse(text).unwrap();
        assert_eq!(read("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n"), header("<f4", &[2, 3]));
        assert_eq!(read("{\"shape\":(),\"descr\":\"|b1\",\"fortran_order\":False}"), header("|b1", &[]));
        assert_eq!(read("{'descr': '<i8', 'fortran_order': False, 'shape': (3L,)}"), header("<i8", &[3]));
        assert_eq!(read("{'descr': '<i8', 'fortran_order': False, 'shape': (3 , 4,)}"), header("<i8", &[3, 4]));
        assert!(read("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}").fortran_order);
        assert_eq!(read("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}").descr, None);
    }

    #[test]
    fn other_headers_are_refused_with_the_place() {
        let whole = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}";
        assert!(parse(whole).is_ok());
        for (from, to, said) in [
            ("'shape': (2,)", "'shape': (2)", "a tuple, and of one number its comma at byte 51, and has \"2)}\""),
            ("(2,)", "[2]", "\"(\" at byte 50, and has \"[2]}\""),
            ("(2,)", "(2 3)", "\",\" or \")\" at byte 53, and has \"3)}\""),
            ("(2,)", "(-2,)", "a number of elements at byte 51"),
            ("(2,)", "(2.0,)", "\",\" or \")\" at byte 52"),
            ("(2,)", "(,)", "a number of elements at byte 51"),
            ("(2,)", "(99999999999999999999,)", "a number of elements"),
            ("(2,)", "(2,", "a number of elements at byte 53"),
            ("'descr'", "'dtype'", "a key that is descr, fortran_order or shape at byte 1"),
            ("'descr': '<f4', ", "", "has no \"descr\""),
            (", 'shape': (2,)", "", "has no \"shape\""),
            ("'shape'", "'descr': '<f4', 'shape'", "has \"descr\" twice"),
            ("False", "0", "True or False at byte 34"),
            ("'<f4'", "'<f\\x34'", "a string without a backslash at byte 10"),
            ("'<f4'", "'<f4", "\"}\" at byte 17, and has \"fortran_order': Fals\""),
            ("'<f4'", "{}", "a string without a backslash at byte 10, and has \"{}, 'fortran_order':\""),
            ("}", "} + 1", "nothing behind the dict at byte 56, and has \"+ 1\""),
            ("}", "", "\"}\" at byte 54, and has its end"),
        ] {
            assert_eq!(whole.matches(from).count(), 1, "{from}");
            let error = fault(&whole.replace(from, to));
            assert!(error.contains(said), "{to}: {error}");
        }
        let many = format!("({})", "1,".repeat(65));
        assert!(fault(&whole.replace("(2,)", &many)).contains("more than 64 dimensions"));
        // As deep as a header may be.
        for open in ["(", "[", "{", "'", "{'shape':("] {
            let text = open.repeat(LONGEST / open.len());
            assert!(parse(&text).is_err() && parse(&format!("{{'shape': {text}")).is_err());
            let records = parse(&format!("{{'descr': {text}"));
            assert_eq!(records.is_ok_and(|header| header.descr.is_none()), ["(", "["].contains(&open), "{open}");
        }
    }

    #[test]
    fn versions_and_lengths_are_bounded() {
        let of = |bytes: &[u8]| split(bytes).unwrap_err();
        assert!(of(b"PK\x03\x04").contains("does not begin with"));
        assert!(of(b"\x93NUMPY\x01").contains("within its version"));
        assert!(of(b"\x93NUMPY\x04\x00\x00\x00").contains("of version 4.0"));
        assert!(of(b"\x93NUMPY\x01\x01\x00\x00").contains("of version 1.1"));
        assert!(of(b"\x93NUMPY\x01\x00\x05").contains("within its header's length"));
        assert!(of(b"\x93NUMPY\x01\x00\x05\x00{}").contains("2 of 5 bytes are there"));
        assert!(of(b"\x93NUMPY\x02\x00\xff\xff\xff\xff{").contains("4294967295 bytes, and 65536 at most"));
        let text = "{'descr': '\u{e9}', 'fortran_order': False, 'shape': ()}";
        let latin: Vec<u8> = text.chars().map(|c| u32::from(c) as u8).collect();
        for (version, header) in [(1u8, &latin[..]), (2, &latin), (3, text.as_bytes())] {
            let length = (header.len() as u32).to_le_bytes();
            let length = if version == 1 { &length[..2] } else { &length[..] };
            let bytes = [MAGIC, &[version, 0], length, header, b"rest"].concat();
            let (header, rest) = split(&bytes).unwrap();
            assert_eq!((header.descr.as_deref(), rest), (Some("\u{e9}"), &b"rest"[..]));
        }
        let bad = [MAGIC, &[3, 0], &4u32.to_le_bytes(), b"{'\xff}"].concat();
        assert!(of(&bad).contains("no UTF-8"));
    }

    /// Pieces of headers.
    const PIECES: [&str; 22] = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        ":",
        "'",
        "\"",
        "\\",
        " ",
        "\n",
        "3",
        "L",
        "True",
        "False",
        "'descr'",
        "'shape'",
        "'fortran_order'",
        "'<f4'",
        "\u{e9}",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_written_is_read(
            descr in "[<>|=][a-zA-Z][0-9]{0,3}",
            fortran_order in any::<bool>(),
            shape in proptest::collection::vec(any::<usize>(), 0..8),
            order in Just(vec![0, 1, 2]).prop_shuffle(),
            space in "[ \n\t]{0,3}",
        ) {
            let extents: String = shape.iter().map(|extent| format!("{extent},{space}")).collect();
            let truth = if fortran_order { "True" } else { "False" };
            let entries = [format!("'descr':{space}'{descr}'"), format!("'fortran_order'{space}:{truth}"), format!("'shape': ({extents})")];
            let text: String = order.iter().map(|at| format!("{space}{},", entries[*at])).collect();
            prop_assert_eq!(parse(&format!("{{{text}{space}}}{space}")), Ok(Header { descr: Some(descr), fortran_order, shape }));
        }

        /// Any bytes are a header or a fault of bounded length.
        #[test]
        fn pieces_do_not_panic(pieces in proptest::collection::vec(proptest::sample::select(PIECES.to_vec()), 0..40)) {
            let text = pieces.concat();
            if let Err(fault) = parse(&text) {
                prop_assert!(fault.len() < 300, "{}", fault);
            }
        }

        #[test]
        fn bytes_do_not_panic(version in 0..5u8, bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = split(&bytes);
            let _ = split(&[MAGIC, &[version, 0], &bytes].concat());
        }
    }
}
