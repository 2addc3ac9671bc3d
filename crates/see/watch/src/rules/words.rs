use std::fmt::Write;

use jiff::Timestamp;
use untrusted::shown;

use super::{Alarm, CONFIDENCE, Change, Ending, Quantity, Subject, Sufferer, WindowValues};

/// Maximum number of VMs named in a text.
const VMS_MAX: usize = 20;
/// Maximum number of letters of a name in a text.
const NAME_MAX: usize = 100;

impl Alarm {
    /// Describes the alarm in one line.
    pub fn summary(&self) -> String {
        let broken = match self.limit.quantity {
            Quantity::Latency(_, most) => format!("{} over {most}", self.limit.subject()),
            Quantity::Errors(most) => format!("more than {most} {}", self.limit.subject()),
        };
        match &self.subject {
            Subject::Vm { vm, disk } => format!("{} on {}: {broken}", name(vm), name(disk)),
            Subject::Disk { disk } => {
                let (slow, judged) = (self.sufferers.len(), self.judged);
                format!("{}: {slow} of {judged} VMs have {broken}", name(disk))
            }
        }
    }

    /// Describes the measured values, with their interval and number of I/Os.
    pub fn description(&self) -> String {
        let mut text = String::new();
        if let Some(first) = self.sufferers.first() {
            let to_s = first.seen.from_s + self.window.0 / units::Nanos::SECOND.0;
            let _ = write!(text, "From {} to {}: ", stamp(first.seen.from_s), stamp(to_s));
        }
        let vms = self.sufferers.iter().take(VMS_MAX).map(|own| self.about(own));
        text += &vms.collect::<Vec<_>>().join(", ");
        if self.sufferers.len() > VMS_MAX {
            let _ = write!(text, ", and {} more VMs", self.sufferers.len() - VMS_MAX);
        }
        if self.too_few > 0 {
            let _ = write!(text, "; not judged for too few I/Os: {}", self.too_few);
        }
        if let Quantity::Latency(..) = self.limit.quantity {
            let _ = write!(text, ". Intervals are of {CONFIDENCE} %");
        }
        let _ = write!(text, ". Limit: {}. Rule: {}.", self.limit, shown(&self.rule));
        text
    }

    fn about(&self, sufferer: &Sufferer) -> String {
        let WindowValues { ios, errors, low, high, .. } = sufferer.seen;
        let vm = name(&sufferer.vm);
        match (self.limit.quantity, high) {
            (Quantity::Errors(_), _) => format!("{vm} {errors} of {ios} I/Os"),
            (_, Some(high)) => format!("{vm} {low} to {high} ({ios} I/Os)"),
            (_, None) => format!("{vm} more than {low} ({ios} I/Os)"),
        }
    }
}

impl Change {
    /// Describes the begin or end in one line.
    pub fn line(&self) -> String {
        let summary = self.alarm.summary();
        match self.end.map(|end| end.how) {
            None => format!("alarm: {summary}. {}", self.alarm.description()),
            Some(Ending::Kept) => format!("alarm over: {summary}: the limit is met again"),
            Some(Ending::Gone) => format!("alarm over: {summary}: there is no such I/O any more"),
            Some(Ending::Joined) => format!("alarm over: {summary}: now part of the disk's alarm"),
        }
    }
}

/// Formats a time in UTC, as in RFC 3339.
pub(crate) fn stamp(seconds: u64) -> String {
    let time = i64::try_from(seconds).ok().and_then(|own| Timestamp::from_second(own).ok());
    time.unwrap_or_default().to_string()
}

/// Returns a name that is safe to show in a line, cut if it is long.
fn name(text: &str) -> String {
    let (text, more) = match text.char_indices().nth(NAME_MAX) {
        Some((at, _)) => (&text[..at], "..."),
        None => (text, ""),
    };
    shown(text).replace('\n', "\\n") + more
}
