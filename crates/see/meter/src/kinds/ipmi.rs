//! Reads management controllers by IPMI: `ipmitool dcmi power reading` (DCMI 1.5, section 6.6.1,
//! Get Power Reading). Each sample starts a process.
//!
//! `ipmi:` reads the controller of this computer, `ipmi:HOST[:PORT]` another controller over LAN.
//! The password is passed in the environment (`ipmitool -E`), which only root and the same user can
//! read.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use http_client::{Secret, host_and_port};
use run_store::run::MeterMethod;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::period;
use crate::{About, Fault, Meter, Sample, monotonic};

/// Default period. A controller updates its reading every few seconds, and takes up to one second
/// to answer. Our choice.
const PERIOD: Nanos = Nanos::from_secs(5);

/// Time limit of an answer.
const ANSWER_MAX: Duration = Duration::from_secs(8);

/// Options for IPMI 2.0 over LAN, each request once with 2 s for its answer. Otherwise a controller
/// that does not report its ciphers takes ten seconds (seen with `ipmi_sim` 2.0.33), and a lost
/// sample is a gap.
const LAN: [&str; 6] = ["-I", "lanplus", "-N", "2", "-R", "1"];

/// Value with all 16 bits set, for unknown power.
const NO_READING_WATTS: f64 = 65_535.0;

/// Name of the program, which is found through `PATH`.
const PROGRAM: &str = "ipmitool";

#[derive(Debug)]
struct Ipmi {
    program: PathBuf,
    arguments: Vec<String>,
    password: Option<Secret>,
    /// Averaging period, as the controller reports it.
    says: String,
    /// True if the controller reports that it measures.
    is_active: bool,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    open_with(PathBuf::from(PROGRAM), spec)
}

fn open_with(program: PathBuf, spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let mut arguments = Vec::new();
    if !spec.at.is_empty() {
        let (host, port) = host_and_port(&spec.at, 623)?;
        let port = port.to_string();
        arguments.extend(LAN.map(str::to_owned));
        arguments.extend(["-H", &host, "-p", &port].map(str::to_owned));
    }
    if let Some(secret) = &secret {
        arguments.extend(["-U", secret.pair()?.0, "-E"].map(str::to_owned));
    }
    arguments.extend(["dcmi", "power", "reading"].map(str::to_owned));
    let period = period(spec, PERIOD);
    let mut meter =
        Ipmi { program, arguments, password: secret, says: String::new(), is_active: true, period };
    let told = told(&meter.ask()?);
    // A failure at the beginning means that there is no meter, not that a sample is missing.
    watts(&told).map_err(|fault| Fault::Unfit(fault.to_string()))?;
    (meter.says, meter.is_active) = (told.period, told.is_active);
    Ok(Box::new(meter))
}

impl Ipmi {
    fn ask(&self) -> Result<String, Fault> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Some(secret) = &self.password {
            command.env("IPMI_PASSWORD", secret.pair()?.1);
        }
        let child = command
            .spawn()
            .map_err(|error| Fault::Unanswered(format!("running ipmitool: {error}")))?;
        let output = within(child, ANSWER_MAX)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            // Messages about ciphers come before the actual error.
            let mut lines = said.lines().map(str::trim);
            let said = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
            let said = self.without_secret(said);
            return Err(Fault::Unanswered(format!(
                "ipmitool: {}: {}",
                output.status,
                untrusted::shown(&said)
            )));
        }
        Ok(self.without_secret(&String::from_utf8_lossy(&output.stdout)))
    }

    fn without_secret(&self, said: &str) -> String {
        self.password.as_ref().map_or_else(|| said.to_owned(), |secret| secret.hide(said))
    }
}

/// Waits for the output of a program, which is killed after `most`.
fn within(mut child: Child, most: Duration) -> Result<Output, Fault> {
    let until = Instant::now() + most;
    let failed =
        |error: std::io::Error| Fault::Unanswered(format!("waiting for ipmitool: {error}"));
    // The output fits into the pipe.
    while child.try_wait().map_err(failed)?.is_none() {
        if Instant::now() >= until {
            let _ = child.kill();
            let _ = child.wait();
            return Err(Fault::Unanswered(format!("ipmitool took longer than {most:?}")));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output().map_err(failed)
}

/// Parsed output of `ipmitool dcmi power reading`.
#[derive(Debug, PartialEq)]
struct PowerReading {
    /// Present watts.
    watts: Option<f64>,
    /// True if the controller reports that it measures power.
    is_active: bool,
    /// Averaging period.
    period: String,
}

/// Returns the watts of a reading. Firmware that does not measure power gives all bits set, or 0 W,
/// which no running computer uses (seen with controllers of several makers).
fn watts(told: &PowerReading) -> Result<f64, Fault> {
    match told.watts {
        Some(watts) if watts > 0.0 && watts < NO_READING_WATTS => Ok(watts),
        Some(watts) => Err(Fault::Nonsense(format!(
            "{watts} W is the reading of a controller that does not know the power"
        ))),
        None => Err(Fault::Nonsense("ipmitool printed no watts".to_owned())),
    }
}

fn told(output: &str) -> PowerReading {
    let value = |label: &str| {
        let line = output.lines().find(|line| line.trim_start().starts_with(label))?;
        Some(line.split_once(':')?.1.trim())
    };
    let watts = value("Instantaneous power reading")
        .and_then(|text| text.strip_suffix("Watts")?.trim().parse().ok());
    let is_active = value("Power reading state is").is_none_or(|state| state == "activated");
    let period = value("Sampling period").unwrap_or("unknown");
    PowerReading { watts, is_active, period: period.trim_end_matches('.').to_owned() }
}

impl Meter for Ipmi {
    fn about(&self) -> About {
        let mut notes =
            vec![format!("it reports that it samples over {}", untrusted::shown(&self.says))];
        if !self.is_active {
            let text = "it reports that power reading is deactivated, but shows watts: they count \
                        only if they follow the load";
            notes.push(text.to_owned());
        }
        About {
            method: MeterMethod::Averaged,
            resolution_watts: Some(1.0),
            notes,
            ..About::measured("IPMI DCMI, by ipmitool", self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let output = self.ask()?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let told = told(&output);
        self.is_active &= told.is_active;
        Ok(vec![Sample::watts(at, watts(&told)?)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `ipmitool dcmi power reading`.
    const TOLD: &str = "
    Instantaneous power reading:                   108 Watts
    Minimum during sampling period:                 94 Watts
    Maximum during sampling period:                217 Watts
    Average power reading over sample period:      105 Watts
    IPMI timestamp:                           Tue Nov 24 04:00:00 2026
    Sampling period:                          00000030 Seconds.
    Power reading state is:                   activated

";

    /// The fake program requires a user, and the password in the environment, where only that user
    /// can read it.
    #[test]
    fn ipmi_password_goes_to_the_tool_by_environment() {
        let directory = tempfile::tempdir().expect("a directory");
        let (program, secret) = (directory.path().join("tool"), directory.path().join("secret"));
        let script = format!(
            "#!/bin/sh\n[ \"$IPMI_PASSWORD\" = calvin ] || exit 1\n\
             [ \"$*\" = '-I lanplus -N 2 -R 1 -H bmc -p 624 -U root -E dcmi power reading' ] || exit 2\n\
             cat <<'END'\n{TOLD}END\n"
        );
        std::fs::write(&program, script).expect("writes");
        std::fs::write(&secret, "root:calvin\n").expect("writes");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("is a program");
        let text = format!("ipmi:bmc:624,credentials={}", secret.display());
        let spec: Spec = text.parse().expect("a meter");
        let mut meter = open_with(program.clone(), &spec).expect("it answers");
        assert_eq!(meter.read().expect("it answers")[0].watts, Some(108.0));
        assert!(meter.about().notes[0].contains("00000030 Seconds"));
        let other: Spec = text.replace("624", "625").parse().expect("a meter");
        let fault = open_with(program, &other).err().expect("exit code 2");
        assert!(fault.to_string().contains("exit status: 2"), "{fault}");
    }

    #[test]
    fn what_ipmitool_prints_is_read() {
        let period = "00000030 Seconds".to_owned();
        assert_eq!(told(TOLD), PowerReading { watts: Some(108.0), is_active: true, period });
        let off = told(&TOLD.replace("activated", "deactivated"));
        assert_eq!((off.watts, off.is_active), (Some(108.0), false));
        assert_eq!(told("Error: no reading").watts, None);
    }

    /// Opens a meter whose program prints this text.
    fn printing(directory: &std::path::Path, text: &str) -> Result<Box<dyn Meter>, Fault> {
        let program = directory.join("tool");
        // A separate program for each text, because a running one cannot be overwritten.
        let program = program.with_extension(text.len().to_string());
        std::fs::write(&program, format!("#!/bin/sh\ncat <<'END'\n{text}END\n")).expect("writes");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&program, mode).expect("is a program");
        open_with(program, &"ipmi:".parse().expect("a meter"))
    }

    #[test]
    fn readings_of_firmware_without_a_meter_are_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        for (watts, said) in [("65535", "65535 W is"), ("0", "0 W is")] {
            let text = TOLD.replace("108 Watts", &format!("{watts} Watts"));
            let fault = printing(directory.path(), &text).err().expect(watts);
            assert!(matches!(&fault, Fault::Unfit(why) if why.contains(said)), "{fault}");
        }
    }

    #[test]
    fn a_deactivated_reading_is_noted_and_taken() {
        let directory = tempfile::tempdir().expect("a directory");
        let text = TOLD.replace("activated", "deactivated");
        let mut meter = printing(directory.path(), &text).expect("it shows watts");
        assert_eq!(meter.read().expect("it shows watts")[0].watts, Some(108.0));
        assert!(meter.about().notes[1].contains("deactivated"), "{:?}", meter.about().notes);
    }
}
