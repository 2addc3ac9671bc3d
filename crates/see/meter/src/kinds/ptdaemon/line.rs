use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use units::Nanos;

use crate::Fault;
use crate::clock::steady;

/// Value of `SR` for an automatic range.
pub(super) const AUTO: &str = "Auto";

/// Maximum difference of the clocks (`compliance/check.py`, `TIME_DELTA_TOLERANCE`).
const CLOCK_MAX: Nanos = Nanos::from_millis(800);

/// A quarter of an hour. Time zones differ from UTC by whole quarters (IANA time zone database,
/// since 1972).
const QUARTER_NS: i128 = 900_000_000_000;

/// Returns the analyser's model: the first field of `Identify`, and the version.
pub(super) fn model(identity: &str) -> String {
    let mut fields = identity.split(',');
    let model = untrusted::shown(fields.next().unwrap_or_default()).into_owned();
    let version = fields.find_map(|field| field.trim().strip_prefix("version="));
    version.map_or(model.clone(), |version| {
        format!("{model} (PTDaemon {})", untrusted::shown(version))
    })
}

/// Parses an answer to `RR` into values of `SR` that restore the ranges: amperes and volts. An
/// automatic or unknown range is `Auto` (`server.py`, `_get_initial_range`).
pub(super) fn ranges(said: &str) -> (String, String) {
    let fields: Vec<&str> = said.split(',').map(str::trim).collect();
    let range = |at: usize| {
        let fixed = (fields.get(at) == Some(&"0")).then(|| fields.get(at + 1)).flatten();
        let fixed = fixed.filter(|text| text.parse::<f64>().is_ok_and(|range| range > 0.0));
        fixed.map_or_else(|| AUTO.to_owned(), |text| (*text).to_owned())
    };
    (range(1), range(3))
}

/// Parses the number in `Last N samples`.
pub(super) fn count(said: &str) -> Option<usize> {
    said.strip_prefix("Last ")?.split_whitespace().next()?.parse().ok()
}

/// Parses the first percentage, as a share.
pub(super) fn uncertainty(said: &str) -> Option<f64> {
    let words = said.split(|c: char| c.is_whitespace() || c == ',');
    let mut percents = words.filter_map(|word| word.strip_suffix('%')?.parse::<f64>().ok());
    percents.next().map(|percent| percent / 100.0)
}

/// Parsed line of `RL`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    pub time: DateTime,
    pub watts: f64,
    pub volts: Option<f64>,
    pub amps: Option<f64>,
}

impl Reading {
    /// Parses `Time,01-22-2021 15:05:14.313,Watts,22.97,Volts,227.37,Amps,0.204340,...`. With a
    /// channel, the fields after the channel's name are used; for the sum, the fields before any
    /// channel.
    pub fn of(line: &str, channel: Option<u32>) -> Result<Self, Fault> {
        let wrong = || Fault::Nonsense(format!("\"{}\" is not a sample", untrusted::shown(line)));
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let is_channel = |field: &&&str| {
            field.strip_prefix("Ch").is_some_and(|rest| rest.parse::<u32>().is_ok())
        };
        let own = match channel {
            None => fields.split(|field| is_channel(&field)).next(),
            Some(number) => {
                let name = format!("Ch{number}");
                let begin = fields.iter().position(|field| **field == name);
                begin.and_then(|at| fields[at + 1..].split(|field| is_channel(&field)).next())
            }
        };
        let own = own.ok_or_else(wrong)?;
        let after = |fields: &[&str], name: &str| {
            let at = fields.iter().position(|field| *field == name)?;
            fields.get(at + 1).map(|text| (*text).to_owned())
        };
        let number = |name: &str| after(own, name)?.parse::<f64>().ok();
        let time = after(&fields, "Time").and_then(|text| time(&text)).ok_or_else(wrong)?;
        let watts = number("Watts").ok_or_else(wrong)?;
        Ok(Self { time, watts, volts: number("Volts"), amps: number("Amps") })
    }
}

/// Parses `01-22-2021 15:05:14.313`, month first.
fn time(text: &str) -> Option<DateTime> {
    DateTime::strptime("%m-%d-%Y %H:%M:%S%.f", text).ok()
}

/// Offset of the daemon's time of day from UTC. The daemon does not report it, so it is derived
/// from the first sample.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Zone(Option<i128>);

impl Zone {
    /// Converts the daemon's time of day to the monotonic clock of this host. Also returns it as
    /// nanoseconds on the daemon's clock.
    pub fn steady(&mut self, time: DateTime, period: Nanos) -> Result<(Nanos, i128), Fault> {
        let nonsense = |error: jiff::Error| Fault::Nonsense(error.to_string());
        let there = TimeZone::UTC.to_timestamp(time).map_err(nonsense)?.as_nanosecond();
        let (_, ago) = steady(there);
        let nearest = -(ago + QUARTER_NS.div_euclid(2)).div_euclid(QUARTER_NS) * QUARTER_NS;
        let ahead = *self.0.get_or_insert(nearest);
        let (at, ago) = steady(there - ahead);
        let limit = CLOCK_MAX.saturating_add(Nanos(period.0.saturating_mul(2)));
        if ago < -i128::from(CLOCK_MAX.0) || ago > i128::from(limit.0) {
            #[expect(clippy::cast_precision_loss, reason = "only told")]
            return Err(Fault::Clock { ahead_s: -(ago as f64) / 1e9, limit: CLOCK_MAX });
        }
        Ok((at, there))
    }
}
