//! Standard output, whatever its reader: one that goes away takes away neither the verdict nor the files asked for.

use std::io::{self, ErrorKind, Write};

use super::Failure;

/// A stream that is written to until the first failure, and ignored from then on, so that a command goes on to its end.
pub(super) struct Output<W> {
    stream: W,
    failed: Option<io::Error>,
}

impl<W: Write> Output<W> {
    pub fn new(stream: W) -> Output<W> {
        Output { stream, failed: None }
    }

    /// Writes out the buffered bytes. A reader that went away has had enough; any other failure lost output.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.flush()?;
        match self.failed {
            Some(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
            _ => Ok(()),
        }
    }
}

impl<W: Write> Write for Output<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.failed.is_none() {
            self.failed = self.stream.write_all(bytes).err();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.failed.is_none() {
            self.failed = self.stream.flush().err();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes some bytes and then none.
    struct Short(usize, ErrorKind);

    impl Write for Short {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let taken = bytes.len().min(self.0);
            self.0 -= taken;
            if taken == 0 { Err(self.1.into()) } else { Ok(taken) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_went_away_stops_nothing_and_a_full_disk_is_told_at_the_end() {
        for (kind, is_told) in [(ErrorKind::BrokenPipe, false), (ErrorKind::StorageFull, true)] {
            let mut output = Output::new(Short(5, kind));
            for _ in 0..3 {
                writeln!(output, "a line").unwrap();
            }
            output.flush().unwrap();
            assert_eq!(output.stream.0, 0);
            assert_eq!(output.finish().is_err(), is_told, "{kind:?}");
        }
    }
}
