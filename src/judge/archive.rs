//! NumPy's `.npz`: a zip archive of `.npy` files, as `numpy.savez` writes it, uncompressed.
//!
//! Source: PKWARE's APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.3.14, 4.3.16 and 4.5.3.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// A file of an archive: its name, and where its bytes stand.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    /// Its name, without `.npy`.
    pub name: String,
    /// Position of its local header.
    header: u64,
    /// Bytes that it has.
    size: u64,
}

/// Bytes at the end of a file among which the directory's end stands: its 22 and the longest comment.
const LONGEST_END: u64 = 22 + 65_535;

/// Bytes that a directory may have.
const LONGEST_DIRECTORY: u64 = 1 << 24;

fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let field = bytes.get(at..at.checked_add(size)?)?;
    Some(field.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
}

/// The files of an archive, in its order.
///
/// # Errors
/// If it is no archive, or a file in it is compressed.
pub(super) fn directory(file: &mut File) -> Result<Vec<Stored>, String> {
    let unread = |error: std::io::Error| format!("failed to read it: {error}");
    let length = file.seek(SeekFrom::End(0)).map_err(unread)?;
    let end = read_at(file, length.saturating_sub(LONGEST_END), LONGEST_END.min(length))?;
    let cut = || "its directory ends too early".to_string();
    let at =
        end.windows(4).rposition(|word| word == b"PK\x05\x06").ok_or("it is no zip archive, which a .npz file is")?;
    let mut size = number(&end, at + 12, 4).ok_or_else(cut)?;
    let mut start = number(&end, at + 16, 4).ok_or_else(cut)?;
    if start == 0xffff_ffff || size == 0xffff_ffff {
        // Of more than 4 GiB: the directory's end of 64 bits is named just before.
        let locator = at.checked_sub(20).ok_or_else(cut)?;
        let wide = read_at(file, number(&end, locator + 8, 8).ok_or_else(cut)?, 56)?;
        size = number(&wide, 40, 8).ok_or_else(cut)?;
        start = number(&wide, 48, 8).ok_or_else(cut)?;
    }
    if size > LONGEST_DIRECTORY {
        return Err(format!("its directory has {size} bytes, and {LONGEST_DIRECTORY} at most are read"));
    }
    let bytes = read_at(file, start, size)?;
    let (mut files, mut at) = (Vec::new(), 0);
    while bytes.get(at..at + 4) == Some(b"PK\x01\x02") {
        let field = |offset: usize, size: usize| number(&bytes, at + offset, size).ok_or_else(cut);
        let (method, flags) = (field(10, 2)?, field(8, 2)?);
        let (name, extra, comment) = (field(28, 2)? as usize, field(30, 2)? as usize, field(32, 2)? as usize);
        let text = bytes.get(at + 46..at + 46 + name).ok_or_else(cut)?;
        let text = String::from_utf8(text.to_vec()).map_err(|_| "a file in it has a name that is no UTF-8")?;
        if method != 0 || flags & 1 != 0 {
            return Err(format!("`{text}` is compressed: save it with numpy.savez instead of savez_compressed"));
        }
        let (mut size, mut header) = (field(24, 4)?, field(42, 4)?);
        let mut place = at + 46 + name;
        let end = place + extra;
        while place + 4 <= end {
            let (id, length) =
                (number(&bytes, place, 2).ok_or_else(cut)?, number(&bytes, place + 2, 2).ok_or_else(cut)?);
            if id == 1 {
                let mut wide = place + 4;
                // Only what does not fit in 32 bits stands here, in this order: size, stored size, place.
                if size == 0xffff_ffff {
                    size = number(&bytes, wide, 8).ok_or_else(cut)?;
                    wide += 8;
                }
                if field(20, 4)? == 0xffff_ffff {
                    wide += 8;
                }
                if header == 0xffff_ffff {
                    header = number(&bytes, wide, 8).ok_or_else(cut)?;
                }
            }
            place += 4 + length as usize;
        }
        let name = text.strip_suffix(".npy").unwrap_or(&text).to_string();
        files.push(Stored { name, header, size });
        at += 46 + name_length(&text) + extra + comment;
    }
    Ok(files)
}

fn name_length(text: &str) -> usize {
    text.len()
}

/// The bytes of a file of an archive.
///
/// # Errors
/// If the archive ends too early.
pub(super) fn read(file: &mut File, stored: &Stored) -> Result<Vec<u8>, String> {
    let header = read_at(file, stored.header, 30)?;
    let field = |at: usize| number(&header, at, 2).unwrap_or(0);
    if !header.starts_with(b"PK\x03\x04") {
        return Err(format!("`{}` does not begin where its directory says", stored.name));
    }
    read_at(file, stored.header + 30 + field(26) + field(28), stored.size)
}

fn read_at(file: &mut File, at: u64, size: u64) -> Result<Vec<u8>, String> {
    let length = file.seek(SeekFrom::End(0)).map_err(|error| format!("failed to read it: {error}"))?;
    if at.checked_add(size).is_none_or(|end| end > length) {
        return Err(format!("it has {length} bytes, and names bytes {at} to {}", at.saturating_add(size)));
    }
    file.seek(SeekFrom::Start(at)).map_err(|error| format!("failed to read it: {error}"))?;
    let mut bytes = vec![0; size as usize];
    file.read_exact(&mut bytes).map_err(|error| format!("failed to read it: {error}"))?;
    Ok(bytes)
}
