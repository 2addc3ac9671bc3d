//! Suspension: hours of the day in which a set admits no pages.

use std::str::FromStr;
use std::time::{Duration, Instant};

use block_server::Running;

use crate::asking::Control;
use crate::inbox::{Command, DiskReport};

/// Interval of the search for disks that were attached within the hours.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum wait for an answer of the set.
const PATIENCE: Duration = Duration::from_secs(2);

/// Range of hours, which may include midnight. Text: `22:00-02:00`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hours {
    /// First minute of the range, counted from midnight.
    from: u16,
    /// First minute after the range, counted from midnight.
    to: u16,
}

impl Hours {
    /// Returns true if the range contains a minute of the day.
    fn has(self, minute: u16) -> bool {
        if self.from < self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl FromStr for Hours {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let minute = |text: &str| -> Option<u16> {
            let (hour, minute) = text.split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then_some(hour * 60 + minute)
        };
        let hours = text
            .split_once('-')
            .and_then(|(from, to)| Some(Self { from: minute(from)?, to: minute(to)? }));
        hours
            .filter(|hours| hours.from != hours.to)
            .ok_or("hours are FROM-TO, for example 22:00-02:00")
    }
}

/// Schedule that stops population of all disks at the beginning of each range, and restarts it at
/// the end. An operator's order in between is valid until the range ends.
#[derive(Debug)]
pub struct Suspension {
    hours: Vec<Hours>,
    is_on: bool,
    /// Names of the disks that have received the order for the current state.
    told: Vec<String>,
    /// Time of the next search for newly attached disks.
    next: Instant,
}

impl Suspension {
    /// Creates a suspension that has stopped no disk yet.
    #[must_use]
    pub fn new(hours: Vec<Hours>) -> Self {
        Self { hours, is_on: false, told: Vec::new(), next: Instant::now() }
    }

    /// Sends the order for this minute of the day to disks that have not received it. Returns lines
    /// for the operator.
    pub fn keep(&mut self, minute: u16, control: &Control, running: &Running) -> Vec<String> {
        let is_on = self.hours.iter().any(|hours| hours.has(minute));
        let is_new = is_on != self.is_on;
        if !is_new && (!is_on || Instant::now() < self.next) {
            return Vec::new();
        }
        self.next = Instant::now() + LOOK;
        let disks = match control.ask(Command::Pulse, running, PATIENCE) {
            Ok(report) => report.map(|report| report.disks).unwrap_or_default(),
            Err(error) => return vec![format!("hours of suspension: {error}")],
        };
        let mut lines = Vec::new();
        if is_new {
            (self.is_on, self.told) = (is_on, Vec::new());
            let pages = if is_on { "stay out for some hours" } else { "come in again" };
            lines.push(format!("new pages {pages}"));
        }
        self.told.retain(|told| disks.iter().any(|disk| disk.name == *told));
        for DiskReport { name, .. } in disks {
            if self.told.contains(&name) {
                continue;
            }
            let order = Command::Populate { disk: name.clone(), on: !is_on, for_s: None };
            match control.ask(order, running, PATIENCE) {
                Ok(_) => self.told.push(name),
                Err(error) => lines.push(format!("{name}: {error}")),
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_hold_minutes_over_midnight_and_have_an_end() {
        let has = |text: &str, minute| text.parse::<Hours>().expect("hours").has(minute);
        assert!(has("22:00-02:00", 23 * 60) && has("22:00-02:00", 119));
        assert!(!has("22:00-02:00", 120) && !has("22:00-02:00", 21 * 60 + 59));
        assert!(has("09:30-10:00", 570) && !has("09:30-10:00", 600));
        for text in ["22:00", "22:00-24:00", "22:60-23:00", "22:00-22:00", "ten-eleven"] {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
    }
}
