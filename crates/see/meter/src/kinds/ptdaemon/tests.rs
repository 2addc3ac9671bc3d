//! Tests against a daemon that plays the transcript of MLCommons power-dev.

use std::net::TcpListener;
use std::sync::mpsc::{Receiver, Sender, channel};

use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::*;

/// Behaviour of a daemon.
#[derive(Clone)]
struct Daemon {
    hello: &'static str,
    /// Offset of its time of day from UTC in seconds.
    zone_s: i64,
    amps: f64,
    uncertainty: &'static str,
    /// True if it knows channels.
    has_channels: bool,
}

const REAL: Daemon = Daemon {
    hello: HELLO,
    zone_s: 0,
    amps: 0.5,
    uncertainty: "Uncertainty,0.31%",
    has_channels: false,
};

/// Serves one client, and forwards every request to the test.
fn serve(daemon: Daemon) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let at = format!("127.0.0.1:{}", listener.local_addr().expect("bound").port());
    let (asked, questions) = channel();
    std::thread::spawn(move || {
        if let Ok((stream, _)) = listener.accept() {
            daemon.talk(BufReader::new(stream), &asked);
        }
    });
    (at, questions)
}

impl Daemon {
    fn talk(&self, mut client: BufReader<TcpStream>, asked: &Sender<String>) {
        let (mut range, mut sent) = ("-1.0".to_owned(), 0);
        loop {
            let mut line = String::new();
            if client.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            assert!(line.ends_with("\r\n"), "a line ends as the protocol wants it: {line:?}");
            let line = line.trim_end().to_owned();
            let answer = match line.split(',').next().unwrap_or_default() {
                "Hello" => self.hello.to_owned(),
                "Identify" => "YokogawaWT310,version=1.11.1-4ab6, and more".to_owned(),
                "RR" if range == "-1.0" => "Ranges,0,2.0,1,300.0".to_owned(),
                "RR" => format!("Ranges,0,{range},0,300.0"),
                "SR" => {
                    if let Some(amps) = line.strip_prefix("SR,A,") {
                        amps.clone_into(&mut range);
                    }
                    format!("Range {} changed", &line[3..4])
                }
                "Go" => "Starting untimed measurement, maximum 500000 samples at 1000ms with 0 \
                         rampup samples"
                    .to_owned(),
                "Stop" => "Stopping untimed measurement".to_owned(),
                "RL" if line != "RL" && !self.has_channels => {
                    "Invalid number of parameters".to_owned()
                }
                "RL" => {
                    sent += 1;
                    format!("Last 1 samples\r\n{}", self.sample(sent))
                }
                "Uncertainty" => self.uncertainty.to_owned(),
                _ => "Unknown command".to_owned(),
            };
            let _ = asked.send(line);
            if client.get_mut().write_all(format!("{answer}\r\n").as_bytes()).is_err() {
                return;
            }
        }
    }

    fn sample(&self, number: u32) -> String {
        let now = Timestamp::now().to_zoned_datetime(TimeZone::UTC).datetime();
        let now = now.checked_add(self.zone_s.seconds()).expect("a time");
        let (time, watts) = (now.strftime("%m-%d-%Y %H:%M:%S%.3f"), 100 + number);
        let channels = ",Ch1,Watts,40.5,Volts,230.0,Amps,0.2,PF,0.9,Ch2,Watts,60.5,Volts,230.0";
        format!(
            "Time,{time},Watts,{watts}.250000,Volts,227.37,Amps,{:.6},PF,0.4944,Mark,tilemark{}",
            self.amps,
            if self.has_channels { channels } else { "" }
        )
    }
}

fn opened(daemon: Daemon, more: &str) -> (Result<Box<dyn Meter>, Fault>, Receiver<String>) {
    let (at, questions) = serve(daemon);
    let spec: Spec = format!("ptdaemon:{at}{more}").parse().expect("a meter");
    (open(&spec), questions)
}

/// The daemon's clock has milliseconds: two samples within one count as the same.
fn watts(meter: &mut Box<dyn Meter>) -> Result<f64, Fault> {
    std::thread::sleep(Duration::from_millis(2));
    meter.read().map(|samples| samples[0].watts.expect("watts"))
}

#[test]
fn two_passes_and_the_ranges_of_before_are_put_back() {
    let (meter, questions) = opened(REAL, "");
    let mut meter = meter.expect("it opens");
    assert_eq!(meter.about().model, "YokogawaWT310 (PTDaemon 1.11.1-4ab6), by PTDaemon");
    meter.phase(Phase::WarmUp).expect("automatic");
    for _ in 0..RANGING_SAMPLES {
        watts(&mut meter).expect("a sample");
    }
    meter.phase(Phase::Measured).expect("ranges are fixed");
    assert_eq!(watts(&mut meter), Ok(106.25));
    assert_eq!(meter.about().uncertainty, Some(0.0031));
    drop(meter);
    let asked: Vec<String> = questions.iter().collect();
    let expected = [
        "Hello",
        "Identify",
        "RR",
        "SR,V,Auto",
        "SR,A,Auto",
        "Go,1000,0,tilemark",
        "SR,V,Auto",
        "SR,A,Auto",
        "RL",
        "RL",
        "RL",
        "RL",
        "RL",
        "SR,V,227.37",
        "SR,A,0.55",
        "RR",
        "Uncertainty",
        "RL",
        "Uncertainty",
        "Stop",
        "SR,V,Auto",
        "SR,A,2.0",
    ];
    let expected: Vec<&str> = expected.to_vec();
    let without_numbers: Vec<&str> = asked
        .iter()
        .map(|line| if line.starts_with("SR,A,0.55") { "SR,A,0.55" } else { line.as_str() })
        .collect();
    assert_eq!(without_numbers, expected);
}

#[test]
fn what_is_measured_before_ranges_are_fixed_is_not_fit() {
    let (meter, _questions) = opened(REAL, "");
    let mut meter = meter.expect("it opens");
    meter.phase(Phase::WarmUp).expect("automatic");
    watts(&mut meter).expect("a sample");
    let fault = meter.phase(Phase::Measured).expect_err("one sample is no first pass");
    assert!(fault.voids() && fault.to_string().contains("first pass"), "{fault}");
}

#[test]
fn an_uncertain_reading_is_named() {
    let says = "Uncertainty 1.27%, which is above 1.00% limit for the last sample!";
    let (meter, _questions) = opened(Daemon { uncertainty: says, ..REAL }, "");
    let mut meter = meter.expect("it opens");
    meter.phase(Phase::WarmUp).expect("automatic");
    let last = (0..RANGING_SAMPLES).map(|_| watts(&mut meter)).last().expect("samples");
    let fault = last.expect_err("1.27 % are too much");
    assert_eq!(fault.to_string(), "its uncertainty is 1.27 % (limit 1.00 %)");
}

#[test]
fn another_time_zone_is_not_a_wrong_clock_and_half_a_minute_is() {
    let (meter, _questions) = opened(Daemon { zone_s: -19_800, ..REAL }, "");
    let mut meter = meter.expect("it opens");
    let before = crate::monotonic();
    let at = meter.read().expect("a sample")[0].at;
    let off = at.0.abs_diff(before.0);
    assert!(off < 100_000_000, "{off} ns");
    let (meter, _questions) = opened(Daemon { zone_s: 3630, ..REAL }, "");
    let fault = meter.expect("it opens").read().expect_err("30 s");
    assert!(
        matches!(fault, Fault::Clock { ahead_s, .. } if (ahead_s - 30.0).abs() < 1.0),
        "{fault}"
    );
}

#[test]
fn a_channel_is_read_for_itself() {
    let daemon = Daemon { has_channels: true, ..REAL };
    let (meter, _questions) = opened(daemon.clone(), ",id=2");
    assert_eq!(watts(&mut meter.expect("it opens")), Ok(60.5));
    let (meter, _questions) = opened(daemon, ",id=3");
    assert!(matches!(watts(&mut meter.expect("it opens")), Err(Fault::Nonsense(_))));
    let (meter, _questions) = opened(REAL, ",id=1");
    let fault = watts(&mut meter.expect("it opens")).expect_err("one channel");
    assert!(fault.to_string().contains("Invalid number of parameters"), "{fault}");
}

#[test]
fn what_is_no_ptdaemon_and_who_hangs_up_is_named() {
    let (meter, _questions) = opened(Daemon { hello: "220 smtp", ..REAL }, "");
    let fault = meter.err().expect("another service");
    assert!(fault.to_string().contains("220 smtp"), "{fault}");
    let listener = TcpListener::bind("127.0.0.1:0").expect("binds");
    let at = listener.local_addr().expect("bound");
    std::thread::spawn(move || drop(listener.accept()));
    let spec: Spec = format!("ptdaemon:{at}").parse().expect("a meter");
    assert!(matches!(open(&spec), Err(Fault::Ended(_))));
}

#[test]
fn ranges_that_nobody_knows_are_automatic() {
    assert_eq!(line::ranges("Ranges,0,2.0,0,300.0"), ("2.0".to_owned(), "300.0".to_owned()));
    assert_eq!(line::ranges("Ranges,-1,-1.0,1,300.0"), ("Auto".to_owned(), "Auto".to_owned()));
    assert_eq!(line::ranges("Ranges,0"), ("Auto".to_owned(), "Auto".to_owned()));
}
