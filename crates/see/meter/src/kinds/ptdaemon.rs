//! Reads power analysers through a daemon with the protocol of SPEC's PTDaemon.
//!
//! The protocol is implemented as in MLCommons power-dev (Apache-2.0, its `server.py`): TCP, port
//! 8888, one line for a request and one for the answer. The daemon itself comes with a licensed kit
//! of SPEC; this code is compatible with it and claims no compliance with any rule of SPEC.
//!
//! There are two passes, as usual in the field. While a step warms up, ranges are automatic, and
//! the largest volts and amperes are noted. Afterwards, including the measured time, ranges are
//! fixed at those volts and 1.1 times those amperes (`server.py`, `_desirableCurrentRange`). The
//! former ranges are restored at the end.

mod line;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use http_client::host_and_port;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::period;
use crate::kinds::ptdaemon::line::{Reading, Zone};
use crate::{About, Fault, Meter, Phase, Sample};

const PORT: u16 = 8888;
const HELLO: &str = "Hello, PTDaemon here!";

/// Number of warm-up samples before ranges are fixed. Our choice: a few seconds of the load.
const RANGING_SAMPLES: u32 = 5;

/// Factor on the largest current (`server.py`).
const AMPS_ROOM: f64 = 1.1;

/// Maximum uncertainty of a reading (`compliance/check.py`: 1.00 %).
const UNCERTAINTY_MAX: f64 = 0.01;

/// Time limit of an answer; a change of ranges takes seconds. Our choice.
const ANSWER_MAX: Duration = Duration::from_secs(15);
const LINE_MAX: u64 = 64 * 1024;

/// Maximum number of samples in one answer: as many as the daemon keeps.
const SAMPLES_MAX: usize = 500_000;

/// State of the analyser's ranges.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ranges {
    /// Automatic ranges.
    Automatic,
    /// Automatic ranges, with the number of samples and the largest volts and amperes so far.
    Ranging(u32, f64, f64),
    /// Fixed ranges, with the range of current if the analyser reports it.
    Fixed(Option<f64>),
}

struct Analyser {
    reader: BufReader<TcpStream>,
    /// Former ranges as `SR` takes them: amperes and volts.
    before: (String, String),
    ranges: Ranges,
    zone: Zone,
    channel: Option<u32>,
    model: String,
    period: Nanos,
    uncertainty: Option<f64>,
    is_open: bool,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(&spec.at, PORT)?;
    let reader = connect(&host, port).map_err(|error| Fault::Unanswered(error.to_string()))?;
    let period = period(spec, Nanos::SECOND);
    let mut analyser = Analyser {
        reader,
        before: (line::AUTO.to_owned(), line::AUTO.to_owned()),
        ranges: Ranges::Automatic,
        zone: Zone::default(),
        channel: spec.id,
        model: String::new(),
        period,
        uncertainty: None,
        is_open: false,
    };
    analyser.begin()?;
    Ok(Box::new(analyser))
}

fn connect(host: &str, port: u16) -> std::io::Result<BufReader<TcpStream>> {
    let address = (host, port).to_socket_addrs()?.next();
    let address = address.ok_or_else(|| std::io::Error::other("the host name has no address"))?;
    let stream = TcpStream::connect_timeout(&address, ANSWER_MAX)?;
    stream.set_read_timeout(Some(ANSWER_MAX))?;
    stream.set_write_timeout(Some(ANSWER_MAX))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

impl Analyser {
    fn begin(&mut self) -> Result<(), Fault> {
        let hello = self.ask("Hello")?;
        if hello != HELLO {
            return Err(Fault::Unfit(format!(
                "it is not PTDaemon: it answers {}",
                untrusted::shown(&hello)
            )));
        }
        let identity = self.ask("Identify")?;
        self.model = line::model(&identity);
        self.before = line::ranges(&self.ask("RR")?);
        self.is_open = true;
        self.automatic()?;
        let millis = self.period.0 / 1_000_000;
        let going = self.ask(&format!("Go,{millis},0,tilemark"))?;
        if !going.starts_with("Starting untimed measurement") {
            return Err(Fault::Unfit(format!("it does not start: {}", untrusted::shown(&going))));
        }
        Ok(())
    }

    fn automatic(&mut self) -> Result<(), Fault> {
        self.set("V", line::AUTO)?;
        self.set("A", line::AUTO)
    }

    /// Sets the range of amperes or volts.
    fn set(&mut self, what: &str, range: &str) -> Result<(), Fault> {
        let said = self.ask(&format!("SR,{what},{range}"))?;
        if said.contains("Error") {
            let said = untrusted::shown(&said).into_owned();
            return Err(Fault::Unfit(format!("range {what} could not be set to {range}: {said}")));
        }
        Ok(())
    }

    fn fix(&mut self, volts: f64, amps: f64) -> Result<(), Fault> {
        self.set("V", &format!("{volts}"))?;
        self.set("A", &format!("{}", amps * AMPS_ROOM))?;
        let (amps, _) = line::ranges(&self.ask("RR")?);
        self.ranges = Ranges::Fixed(amps.parse().ok());
        Ok(())
    }

    fn ask(&mut self, question: &str) -> Result<String, Fault> {
        let ended = |error: std::io::Error| Fault::Ended(format!("asked {question}: {error}"));
        self.reader.get_mut().write_all(format!("{question}\r\n").as_bytes()).map_err(ended)?;
        self.line()
    }

    fn line(&mut self) -> Result<String, Fault> {
        let mut line = Vec::new();
        let read = self.reader.by_ref().take(LINE_MAX).read_until(b'\n', &mut line);
        match read {
            Ok(0) => Err(Fault::Ended("it closed the connection".to_owned())),
            // A late answer would be taken for the answer to another request.
            Err(error) => Err(Fault::Ended(format!("it did not answer: {error}"))),
            Ok(_) => Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
        }
    }

    /// Reads the new samples.
    fn readings(&mut self) -> Result<Vec<Reading>, Fault> {
        let question = if self.channel.is_some() { "RL,*,*" } else { "RL" };
        let mut head = self.ask(question)?;
        if head.starts_with("Unknown command") {
            head = self.ask("DC-RL")?;
        }
        let count = line::count(&head).filter(|count| *count <= SAMPLES_MAX);
        let count = count.ok_or_else(|| {
            Fault::Nonsense(format!("asked {question}, it answered {}", untrusted::shown(&head)))
        })?;
        let mut lines = Vec::new();
        for _ in 0..count {
            lines.push(self.line()?);
        }
        lines.iter().map(|line| Reading::of(line, self.channel)).collect()
    }

    /// Records the largest values of a warm-up, and fixes the ranges after enough samples.
    fn range(&mut self, readings: &[Reading]) -> Result<(), Fault> {
        for reading in readings {
            match &mut self.ranges {
                Ranges::Ranging(count, volts, amps) => {
                    *count += 1;
                    *volts = volts.max(reading.volts.unwrap_or(0.0));
                    *amps = amps.max(reading.amps.unwrap_or(0.0));
                }
                Ranges::Fixed(Some(most)) if reading.amps.is_some_and(|amps| amps > *most) => {
                    let amps = reading.amps.unwrap_or_default();
                    return Err(Fault::Unfit(format!(
                        "{amps} A are above its fixed range of {most} A"
                    )));
                }
                _ => {}
            }
        }
        match self.ranges {
            Ranges::Ranging(count, volts, amps) if count >= RANGING_SAMPLES => {
                self.fix(volts, amps)
            }
            _ => Ok(()),
        }
    }

    fn check_uncertainty(&mut self) -> Result<(), Fault> {
        let said = self.ask("Uncertainty")?;
        let Some(share) = line::uncertainty(&said) else { return Ok(()) };
        self.uncertainty = Some(self.uncertainty.unwrap_or(0.0).max(share));
        if share <= UNCERTAINTY_MAX {
            return Ok(());
        }
        let (percent, most) = (share * 100.0, UNCERTAINTY_MAX * 100.0);
        Err(Fault::Unfit(format!("its uncertainty is {percent:.2} % (limit {most:.2} %)")))
    }
}

impl Meter for Analyser {
    fn about(&self) -> About {
        let channel = self.channel.map(|channel| format!("channel {channel}"));
        About {
            uncertainty: self.uncertainty,
            notes: channel.into_iter().collect(),
            ..About::measured(format!("{}, by PTDaemon", self.model), self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let readings = self.readings()?;
        self.range(&readings)?;
        if !readings.is_empty() && matches!(self.ranges, Ranges::Fixed(_)) {
            self.check_uncertainty()?;
        }
        let mut samples = Vec::new();
        for reading in &readings {
            let (at, told) = self.zone.steady(reading.time, self.period)?;
            samples.push(Sample::watts(at, reading.watts).told(told));
        }
        Ok(samples)
    }

    fn phase(&mut self, phase: Phase) -> Result<(), Fault> {
        match (phase, self.ranges) {
            (Phase::WarmUp, _) => {
                self.automatic()?;
                self.ranges = Ranges::Ranging(0, 0.0, 0.0);
                Ok(())
            }
            (Phase::Measured, Ranges::Fixed(_)) => Ok(()),
            (Phase::Measured, _) => Err(Fault::Unfit(format!(
                "the warm-up was too short for the first pass: ranges are still automatic after \
                 fewer than {RANGING_SAMPLES} samples"
            ))),
            // Ranges fixed for a load do not suit idle time.
            (Phase::Idle, Ranges::Automatic) => Ok(()),
            (Phase::Idle, _) => {
                self.ranges = Ranges::Automatic;
                self.automatic()
            }
        }
    }

    fn close(&mut self) -> Result<(), Fault> {
        if !std::mem::take(&mut self.is_open) {
            return Ok(());
        }
        let stopped = self.ask("Stop").map(drop);
        let (amps, volts) = self.before.clone();
        stopped.and(self.set("V", &volts)).and(self.set("A", &amps))
    }
}

impl Drop for Analyser {
    fn drop(&mut self) {
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests;
