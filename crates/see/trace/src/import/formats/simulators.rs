//! The text formats of SSD and disk simulators: MQSim, SSDsim and DiskSim.

use super::super::fields::{Words, decimal_moment, moment, sectors};
use super::super::lines::Line;
use super::super::sink::{Bad, Moment, Sink};
use crate::Operation;

/// `time device block sectors operation` with the time in nanoseconds; 1 is a read, 0 a write.
pub(in super::super) struct Mqsim;

/// The same with the time in milliseconds and a point, and flags of which the lowest is "read".
pub(in super::super) struct Disksim;

impl Line for Mqsim {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let moment = moment(words.number(0, "time")?, 1, "time")?;
        let operation = match words.number(4, "operation")? {
            0 => Operation::Write,
            1 => Operation::Read,
            _ => return Err(Bad::new("operation", "is neither 0 nor 1")),
        };
        request(&words, moment, operation, sink)
    }
}

impl Line for Disksim {
    fn begin(&mut self, sink: &mut Sink) {
        sink.real_times(1_000);
        sink.nobody();
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink) -> Result<(), Bad> {
        let words = Words::of(line);
        let moment = decimal_moment(words.text(0, "time")?, 1_000_000, "time")?;
        let flags = words.number(4, "flags")?;
        let operation = if flags & 1 == 1 { Operation::Read } else { Operation::Write };
        request(&words, moment, operation, sink)
    }
}

fn request(
    words: &Words<'_>,
    moment: Moment,
    operation: Operation,
    sink: &mut Sink,
) -> Result<(), Bad> {
    if words.all().len() > 5 {
        return Err(Bad::new("line", "has more than five words"));
    }
    words.number(1, "device")?;
    let mut record = sectors(operation, words.number(2, "block")?, words.number(3, "sectors")?)?;
    record.device = sink.device(words.text(1, "device")?);
    sink.push(moment, record);
    Ok(())
}
