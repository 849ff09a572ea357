//! Text for the terminal, whatever names, strings and paths a file brings: no control character of theirs, and no line
//! for people without bound.

use std::cell::Cell;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use anstyle::Style;

use terminal_size::{Width, terminal_size};

use ulpgate_front::name::{LONGEST_LINE, is_obeyed, left_out, one_line, push_escaped};

thread_local! {
    /// Whether the bytes written are a style of ours, which the terminal is to obey.
    static IS_STYLE: Cell<bool> = const { Cell::new(false) };
}

/// Columns of a terminal of unknown width.
const COLUMNS: usize = 80;

/// Text narrower than this cannot be read, and is left to the terminal to fold.
const NARROWEST: usize = 20;

/// The columns of the terminal: its own width, else what `COLUMNS` says, else 80.
pub fn width() -> usize {
    let told = || std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns = terminal_size().map(|(Width(columns), _)| usize::from(columns)).or_else(told);
    columns.filter(|columns| *columns >= NARROWEST).unwrap_or(COLUMNS)
}

/// Standard output: characters that a terminal would obey are escaped, and long lines are cut with a note that says how
/// much was left out.
pub struct Terminal<W: Write> {
    to: W,
    /// Whether lines are cut, because they are for people. Output for programs is whole.
    is_cut: bool,
    /// Characters of this line that are written, and those that are left out.
    written: usize,
    left_out: usize,
}

impl<W: Write> Terminal<W> {
    /// Output for people, or for a program that reads JSON or another language.
    pub fn new(to: W, is_for_programs: bool) -> Terminal<W> {
        Terminal { to, is_cut: !is_for_programs, written: 0, left_out: 0 }
    }

    fn end_line(&mut self, text: &mut String) {
        if self.left_out > 0 {
            text.push_str(&left_out(self.left_out));
        }
        (self.written, self.left_out) = (0, 0);
    }
}

impl<W: Write> Write for Terminal<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        erase_passing_note();
        if IS_STYLE.get() {
            self.to.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let given = String::from_utf8_lossy(bytes);
        let mut text = String::with_capacity(given.len());
        for c in given.chars() {
            if c == '\n' {
                self.end_line(&mut text);
                text.push('\n');
            } else if self.is_cut && self.written >= LONGEST_LINE {
                self.left_out += 1;
            } else {
                self.written += 1;
                if is_obeyed(c) && c != '\t' { push_escaped(c, &mut text) } else { text.push(c) }
            }
        }
        self.to.write_all(text.as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.left_out > 0 {
            let mut text = String::new();
            self.end_line(&mut text);
            self.to.write_all(text.as_bytes())?;
        }
        self.to.flush()
    }
}

/// Writes a text in a style, which a terminal with colours obeys.
pub fn paint(style: Style, text: &str, out: &mut dyn Write) -> io::Result<()> {
    let obeyed = |code: String, out: &mut dyn Write| {
        IS_STYLE.set(true);
        let done = out.write_all(code.as_bytes());
        IS_STYLE.set(false);
        done
    };
    obeyed(style.render().to_string(), out)?;
    out.write_all(text.as_bytes())?;
    obeyed(style.render_reset().to_string(), out)
}

/// Says something on one line of standard error.
pub fn note(message: &str) {
    erase_passing_note();
    // A closed standard error loses the note, not the results.
    let _ = writeln!(io::stderr(), "{}", one_line(message));
}

/// A line of a terminal that goes before anything else is written there.
#[derive(Default)]
struct PassingLine {
    is_shown: bool,
}

impl PassingLine {
    /// Shows a message in the place of the one before; of a long one as much as stands on a single line of so many columns.
    fn show(&mut self, message: &str, columns: usize, to: &mut dyn Write) -> io::Result<()> {
        self.erase(to)?;
        let shown: String = one_line(message).chars().take(columns.saturating_sub(1)).collect();
        write!(to, "{shown}")?;
        self.is_shown = true;
        to.flush()
    }

    /// Takes it away again, where one is shown.
    fn erase(&mut self, to: &mut dyn Write) -> io::Result<()> {
        if std::mem::take(&mut self.is_shown) {
            // Back to the first column, and nothing behind it.
            write!(to, "\r\u{1b}[2K")?;
            to.flush()?;
        }
        Ok(())
    }
}

/// The line of standard error.
static PASSING: Mutex<PassingLine> = Mutex::new(PassingLine { is_shown: false });

/// Says that something takes long: on a terminal until something else is said, elsewhere as a line that stays.
pub fn passing_note(message: &str) {
    let mut stderr = io::stderr();
    if !stderr.is_terminal() {
        return note(message);
    }
    // A closed standard error loses the note, not the results.
    let _ = PASSING.lock().unwrap_or_else(PoisonError::into_inner).show(message, width(), &mut stderr);
}

/// Takes away what [`passing_note`] shows.
pub fn erase_passing_note() {
    // A closed standard error has no note.
    let _ = PASSING.lock().unwrap_or_else(PoisonError::into_inner).erase(&mut io::stderr());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(is_for_programs: bool, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Terminal::new(Vec::new(), is_for_programs);
        write(&mut out).and_then(|()| out.flush()).unwrap();
        String::from_utf8(out.to).unwrap()
    }

    /// The text that a terminal shows of these bytes, without a line that was erased.
    fn left_on_screen(bytes: &[u8]) -> String {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        let line = |line: &str| line.rsplit("\r\u{1b}[2K").next().unwrap_or_default().to_string();
        text.split('\n').map(line).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_passing_note_goes_before_the_answer() {
        let (mut line, mut out) = (PassingLine::default(), Vec::new());
        line.erase(&mut out).unwrap();
        assert!(out.is_empty(), "nothing was shown");
        line.show("note: a takes long", 80, &mut out).unwrap();
        assert_eq!(left_on_screen(&out), "note: a takes long");
        line.show("note: b\u{7} takes\nlong", 12, &mut out).unwrap();
        // It stands on one line, whatever a name holds: what is folded by the terminal could not be erased.
        assert_eq!(left_on_screen(&out), "note: b\\u00");
        line.erase(&mut out).unwrap();
        out.extend(b"the answer\n");
        line.erase(&mut out).unwrap();
        assert_eq!(left_on_screen(&out), "the answer\n");
    }

    #[test]
    fn styles_are_obeyed_and_names_are_not() {
        let red = anstyle::AnsiColor::Red.on_default();
        let text = written(false, |out| {
            paint(red, "NOT \u{1b}[0m", out)?;
            writeln!(out, ": \u{1b}]0;title\u{7}\t\r\u{9b}31m")
        });
        assert_eq!(text, "\u{1b}[31mNOT \\u001b[0m\u{1b}[0m: \\u001b]0;title\\u0007\t\\u000d\\u009b31m\n");
    }

    #[test]
    fn long_lines_are_cut_for_people() {
        let long = |out: &mut dyn Write| {
            (0..LONGEST_LINE + 5).try_for_each(|_| write!(out, "ä"))?;
            write!(out, "\nshort\n{}", "x".repeat(LONGEST_LINE + 1))
        };
        let text = written(false, long);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].ends_with("ä... (5 more characters)") && lines[1] == "short", "{text}");
        assert!(lines[2].ends_with("x... (1 more characters)"), "{text}");
        assert!(!written(true, long).contains("more characters"));
    }
}
