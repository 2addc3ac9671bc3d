//! Terminal on stderr that asks for the cursor position through `/dev/tty`.
//!
//! Crossterm writes that request to stdout, which carries data here.

use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result, Stderr, Write, stderr};
use std::time::{Duration, Instant};

use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::Cell;
use ratatui::layout::{Position, Size};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// Longest wait for a terminal's answer. A terminal that does not answer in time is treated as
/// absent.
const ANSWER_MAX: Duration = Duration::from_secs(1);

/// Crossterm's terminal, with its own request for the cursor position.
pub struct StderrTerminal(CrosstermBackend<Stderr>);

impl StderrTerminal {
    /// Makes a terminal on stderr.
    pub fn new() -> Self {
        Self(CrosstermBackend::new(stderr()))
    }
}

impl Backend for StderrTerminal {
    type Error = Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.0.draw(content)
    }

    fn append_lines(&mut self, n: u16) -> Result<()> {
        self.0.append_lines(n)
    }

    fn hide_cursor(&mut self) -> Result<()> {
        self.0.hide_cursor()
    }

    fn show_cursor(&mut self) -> Result<()> {
        self.0.show_cursor()
    }

    fn get_cursor_position(&mut self) -> Result<Position> {
        cursor()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<()> {
        self.0.set_cursor_position(position)
    }

    fn clear(&mut self) -> Result<()> {
        Backend::clear(&mut self.0)
    }

    fn clear_region(&mut self, clear_type: ClearType) -> Result<()> {
        self.0.clear_region(clear_type)
    }

    fn size(&self) -> Result<Size> {
        Backend::size(&self.0)
    }

    fn window_size(&mut self) -> Result<WindowSize> {
        self.0.window_size()
    }

    fn flush(&mut self) -> Result<()> {
        Backend::flush(&mut self.0)
    }
}

/// Asks for the cursor position: `ESC [ 6 n`, answered by `ESC [ row ; column R` (ECMA-48, 8.3.14).
fn cursor() -> Result<Position> {
    let mut tty = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    let raw = Raw::enter(tty.try_clone()?)?;
    tty.write_all(b"\x1b[6n")?;
    let answer = answer(&mut tty);
    drop(raw);
    parse(&answer?).ok_or_else(|| Error::other("the terminal does not report its cursor position"))
}

fn answer(tty: &mut File) -> Result<Vec<u8>> {
    let (begun, mut bytes) = (Instant::now(), Vec::new());
    while bytes.last() != Some(&b'R') {
        let left = ANSWER_MAX.saturating_sub(begun.elapsed());
        let left = Timespec::try_from(left).map_err(Error::other)?;
        if poll(&mut [PollFd::new(tty, PollFlags::IN)], Some(&left))? == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        let mut byte = [0];
        tty.read_exact(&mut byte)?;
        bytes.push(byte[0]);
    }
    Ok(bytes)
}

/// Parses the cursor position from an answer. Keys typed before the answer are skipped.
fn parse(answer: &[u8]) -> Option<Position> {
    let text = std::str::from_utf8(answer).ok()?;
    let (row, column) = text.rsplit_once("\x1b[")?.1.strip_suffix('R')?.split_once(';')?;
    let from_zero = |text: &str| text.parse::<u16>().ok()?.checked_sub(1);
    Some(Position { x: from_zero(column)?, y: from_zero(row)? })
}

/// Raw mode until dropped: the terminal passes keys on at once, without echo. Signal keys stay
/// active, so a Ctrl-C typed meanwhile is not lost.
struct Raw {
    tty: File,
    before: Termios,
}

impl Raw {
    fn enter(tty: File) -> Result<Self> {
        let before = tcgetattr(&tty)?;
        let mut raw = before.clone();
        raw.make_raw();
        raw.local_modes |= before.local_modes & LocalModes::ISIG;
        tcsetattr(&tty, OptionalActions::Now, &raw)?;
        Ok(Self { tty, before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_counts_from_one_and_may_follow_typed_letters() {
        assert_eq!(parse(b"\x1b[12;1R"), Some(Position { x: 0, y: 11 }));
        assert_eq!(parse(b"ls\n\x1b[1;80R"), Some(Position { x: 79, y: 0 }));
        assert_eq!(parse(b"\x1b[0;0R"), None);
        assert_eq!(parse(b"R"), None);
    }
}
