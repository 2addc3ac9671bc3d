//! Management controllers, by IPMI: `ipmitool dcmi power reading` (DCMI 1.5, section 6.6.1, Get Power
//! Reading). A process for each sample.
//!
//! `ipmi:` asks the controller of this machine, `ipmi:HOST[:PORT]` another one over LAN. The password is
//! handed over in the environment (`ipmitool -E`), which only root and the same user can read.

use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use record::run::MeterMethod;
use remote::{Secret, host_and_port};
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::period;
use crate::{About, Fault, Meter, Sample, monotonic};

/// A controller refreshes its reading every few seconds, and takes up to one to say it. Our choice.
const PERIOD: Nanos = Nanos::from_secs(5);

/// How long it may take.
const ANSWER_MAX: Duration = Duration::from_secs(8);

/// IPMI 2.0 over LAN, each question once with 2 s for its answer: a controller that does not tell its
/// ciphers takes ten seconds otherwise (seen with `ipmi_sim` 2.0.33), and a sample that is lost is a gap.
const LAN: [&str; 6] = ["-I", "lanplus", "-N", "2", "-R", "1"];

/// The program, as the path has it.
const PROGRAM: &str = "ipmitool";

#[derive(Debug)]
struct Ipmi {
    program: PathBuf,
    arguments: Vec<String>,
    password: Option<Secret>,
    /// The period over which the controller averages, as it says.
    says: String,
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
    let mut meter = Ipmi { program, arguments, password: secret, says: String::new(), period };
    meter.says = told(&meter.ask()?).1;
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
            // What it could not find out about ciphers comes before what is wrong.
            let mut lines = said.lines().map(str::trim);
            let said = lines.rfind(|line| !line.is_empty()).unwrap_or_default();
            let said = self.without_secret(said);
            return Err(Fault::Unanswered(format!(
                "ipmitool: {}: {}",
                output.status,
                plain::shown(&said)
            )));
        }
        Ok(self.without_secret(&String::from_utf8_lossy(&output.stdout)))
    }

    fn without_secret(&self, said: &str) -> String {
        self.password.as_ref().map_or_else(|| said.to_owned(), |secret| secret.hide(said))
    }
}

/// What a program printed; one that takes too long is killed.
fn within(mut child: Child, most: Duration) -> Result<Output, Fault> {
    let until = Instant::now() + most;
    let failed =
        |error: std::io::Error| Fault::Unanswered(format!("waiting for ipmitool: {error}"));
    // What it prints fits the pipe.
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

/// Watts now, whether power is measured, and how it is averaged.
fn told(output: &str) -> (Option<(f64, bool)>, String) {
    let value = |label: &str| {
        let line = output.lines().find(|line| line.trim_start().starts_with(label))?;
        Some(line.split_once(':')?.1.trim())
    };
    let watts = value("Instantaneous power reading")
        .and_then(|text| text.strip_suffix("Watts")?.trim().parse().ok());
    let is_active = value("Power reading state is").is_none_or(|state| state == "activated");
    let period = value("Sampling period").unwrap_or("unknown");
    (watts.map(|watts| (watts, is_active)), period.trim_end_matches('.').to_owned())
}

impl Meter for Ipmi {
    fn about(&self) -> About {
        About {
            method: MeterMethod::Averaged,
            resolution_watts: Some(1.0),
            notes: vec![format!("it says that it samples over {}", plain::shown(&self.says))],
            ..About::measured("IPMI DCMI, by ipmitool", self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let output = self.ask()?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        match told(&output).0 {
            Some((watts, true)) => Ok(vec![Sample::watts(at, watts)]),
            Some((_, false)) => Err(Fault::Nonsense("power is not measured there".to_owned())),
            None => Err(Fault::Nonsense("ipmitool told no watts".to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `ipmitool dcmi power reading` prints it.
    const TOLD: &str = "
    Instantaneous power reading:                   108 Watts
    Minimum during sampling period:                 94 Watts
    Maximum during sampling period:                217 Watts
    Average power reading over sample period:      105 Watts
    IPMI timestamp:                           Tue Nov 24 04:00:00 2026
    Sampling period:                          00000030 Seconds.
    Power reading state is:                   activated

";

    /// A program that wants a user, and the password where only that user can read it.
    #[test]
    fn a_controller_over_lan_is_asked_with_its_password_in_the_environment() {
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
        assert_eq!(told(TOLD), (Some((108.0, true)), "00000030 Seconds".to_owned()));
        let off = TOLD.replace("activated", "deactivated");
        assert_eq!(told(&off).0, Some((108.0, false)));
        assert_eq!(told("Error: no reading").0, None);
    }
}
