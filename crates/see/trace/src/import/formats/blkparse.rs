//! The text that blkparse prints of a block trace.

use super::super::fields::{Words, decimal_moment, number};
use super::super::kind::Kind;
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use super::blocks::{Event, Matcher, TraceEvent, of_letters};
use crate::Flags;

pub(super) static FORMAT: Kind = Kind::text::<Blkparse>(
    "blkparse",
    &["blkparse-text"],
    "blkparse's text in its default layout: Q, D and C of an I/O become one record",
);

/// Lines `major,minor cpu sequence seconds pid action letters sector + sectors [process]`, and a
/// summary after all rows.
#[derive(Default)]
struct Blkparse {
    matcher: Matcher,
    in_summary: bool,
}

impl Line for Blkparse {
    fn begin(&mut self, _: &[u8], sink: &mut Sink) {
        sink.real_times(1);
        sink.info.has_latency = true;
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let device = words.text(0, "device")?;
        if !is_device(device) {
            self.in_summary |= is_summary(line.trim_ascii_start());
            if !self.in_summary {
                return Err(Bad::new("device", "is not \"major,minor\""));
            }
            sink.skip();
            return Ok(());
        }
        self.in_summary = false;
        words.number(1, "cpu")?;
        words.number(2, "sequence")?;
        let moment = decimal_moment(words.text(3, "time")?, 1_000_000_000, "time")?;
        words.number(4, "pid")?;
        let Some(event) = event(words.text(5, "action")?) else {
            sink.skip();
            return Ok(());
        };
        self.event(line, &words, moment, event, sink)
    }

    fn end(&mut self, sink: &mut Sink) {
        self.matcher.finish(sink);
    }
}

impl Blkparse {
    fn event(
        &mut self,
        line: &[u8],
        words: &Words<'_>,
        moment: Moment,
        event: Event,
        sink: &mut Sink,
    ) -> Result<(), Bad> {
        let letters = words.text(6, "letters")?;
        let (sector, count) = match words.all() {
            [_, _, _, _, _, _, _, sector, b"+", count, ..] => {
                (number(sector, "sector")?, number(count, "sectors")?)
            }
            _ => (0, 0),
        };
        // A pass-through command has no sectors, and neither has a flush.
        let Some((operation, mut flags)) = of_letters(letters, count)
            .filter(|(operation, _)| !operation.moves_data() || count > 0)
        else {
            sink.skip();
            return Ok(());
        };
        let bracketed = in_brackets(line);
        if event == Event::Complete && bracketed.is_some_and(|error| error != b"0") {
            flags = flags.with(Flags::ERROR);
        }
        // In a completion, the brackets contain its error.
        let sender = match bracketed.filter(|_| event != Event::Complete) {
            Some(name) => self.matcher.senders.number(name),
            None => self.matcher.senders.nobody(),
        };
        let device = sink.device(words.text(0, "device")?);
        let seen = TraceEvent { event, moment, device, sender, operation, flags, sector, count };
        self.matcher.take(&seen, sink)
    }
}

fn event(action: &[u8]) -> Option<Event> {
    match action {
        b"Q" => Some(Event::Queue),
        b"M" | b"F" => Some(Event::Merge),
        b"D" => Some(Event::Issue),
        b"R" => Some(Event::Requeue),
        b"C" => Some(Event::Complete),
        _ => None,
    }
}

/// Returns true if a word is `major,minor`.
fn is_device(word: &[u8]) -> bool {
    let Some(at) = word.iter().position(|byte| *byte == b',') else { return false };
    let (major, minor) = (&word[..at], &word[at + 1..]);
    [major, minor].iter().all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
}

/// Returns true if a line begins blkparse's summary.
fn is_summary(line: &[u8]) -> bool {
    let begins: [&[u8]; 6] =
        [b"CPU", b"Total (", b"Throughput (", b"Events (", b"Skips:", b"Input file"];
    begins.iter().any(|begin| line.starts_with(begin))
}

/// Returns the text in the last brackets of a line.
fn in_brackets(line: &[u8]) -> Option<&[u8]> {
    let line = line.trim_ascii_end().strip_suffix(b"]")?;
    let at = line.iter().rposition(|byte| *byte == b'[')?;
    Some(&line[at + 1..])
}
