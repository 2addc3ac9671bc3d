use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, ToSocketAddrs, UdpSocket};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;

use cluster::{Invitation, Name, NameError};

/// Way to start the agent on a host: a value of `--host`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launch {
    /// Name of the host in the run.
    pub name: Name,
    /// Method that starts the agent.
    pub by: By,
}

/// Method that starts an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// The system's ssh client, with the user's own configuration and keys. The value is the
    /// destination.
    Ssh(String),
    /// A command of the user: `srun ...`, `kubectl exec ...`, `ip netns exec ...`. It gets the join
    /// token on standard input, and `tilemark agent --join -` reads it from there.
    Command(String),
    /// Nothing here: a person, systemd or a scheduler starts the agent, and the controller waits
    /// for it.
    Nobody,
}

/// Reason why a host cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The name is invalid.
    #[error("--host {text}: {source}")]
    Name {
        /// Text as given.
        text: String,
        /// Problem with the name.
        source: NameError,
    },
    /// The text after the name is invalid.
    #[error(
        "--host {0}: after the name, write `=ssh:DESTINATION`, `=exec:COMMAND` or `=join`; the \
         name alone is an ssh destination"
    )]
    Form(String),
    /// ssh would interpret the destination as an option.
    #[error("--host {0}: an ssh destination does not begin with `-`")]
    Destination(String),
    /// The agent could not be started.
    #[error("host {name}: starting {program}: {source}")]
    Start {
        /// Name of the host.
        name: Name,
        /// Program that was started.
        program: String,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl FromStr for Launch {
    type Err = LaunchError;

    fn from_str(text: &str) -> Result<Self, LaunchError> {
        let (name, how) = text.split_once('=').unwrap_or((text, ""));
        let name: Name =
            name.parse().map_err(|source| LaunchError::Name { text: text.to_owned(), source })?;
        let form = || LaunchError::Form(text.to_owned());
        let by = match how.split_once(':').unwrap_or((how, "")) {
            ("", "") if !text.contains('=') => By::Ssh(name.to_string()),
            ("ssh", to) if to.starts_with('-') => {
                return Err(LaunchError::Destination(text.to_owned()));
            }
            ("ssh", to) if !to.is_empty() => By::Ssh(to.to_owned()),
            ("exec", command) if !command.trim().is_empty() => By::Command(command.to_owned()),
            ("join", "") => By::Nobody,
            _ => return Err(form()),
        };
        Ok(Self { name, by })
    }
}

impl fmt::Display for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, by } = self;
        match by {
            By::Ssh(to) if *to == name.as_str() => write!(f, "{name}"),
            By::Ssh(to) => write!(f, "{name}=ssh:{to}"),
            By::Command(command) => write!(f, "{name}=exec:{command}"),
            By::Nobody => write!(f, "{name}=join"),
        }
    }
}

/// Arguments of an agent that is started over ssh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Remote {
    /// Program on the host.
    pub program: String,
    /// Target that the agent's starting user allows.
    pub allow: Option<String>,
    /// True if a root file system is allowed.
    pub allow_root_fs: bool,
}

impl Launch {
    /// Starts the agent with the token on standard input. Lines of its standard error are printed
    /// with its name in front. Returns `None` if it is started elsewhere.
    pub(crate) fn start(
        &self,
        invitation: &Invitation,
        remote: &Remote,
    ) -> Result<Option<Child>, LaunchError> {
        let mut command = match &self.by {
            By::Nobody => return Ok(None),
            By::Ssh(to) => ssh(to, remote),
            By::Command(command) => {
                let mut shell = Command::new("/bin/sh");
                shell.args(["-c", command]);
                shell
            }
        };
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source| LaunchError::Start {
            name: self.name.clone(),
            program: program.clone(),
            source,
        };
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C is for the controller, which ends its agents after it has their results.
        let mut child = command.process_group(0).spawn().map_err(failed)?;
        if let Some(mut input) = child.stdin.take() {
            // A program that ends before reading it gives the reason on standard error.
            let _ = writeln!(input, "{}", invitation.token());
        }
        if let Some(errors) = child.stderr.take() {
            let name = self.name.clone();
            let tell = move || {
                for line in BufReader::new(errors).lines().map_while(Result::ok) {
                    let clean: String =
                        line.chars().filter(|letter| !letter.is_control()).collect();
                    eprintln!("{name}: {clean}");
                }
            };
            std::thread::Builder::new().name("stderr".to_owned()).spawn(tell).map_err(failed)?;
        }
        Ok(Some(child))
    }

    /// Returns the address of this computer from which the host is reached, if it can be known in
    /// advance.
    pub(crate) fn seen_from(&self) -> Option<IpAddr> {
        let By::Ssh(to) = &self.by else { return None };
        let asked = Command::new("ssh").args(["-G", "--", to]).output().ok()?;
        let text = String::from_utf8_lossy(&asked.stdout).into_owned();
        let host = text.lines().find_map(|line| line.strip_prefix("hostname "))?;
        let address = (host, 22).to_socket_addrs().ok()?.next()?;
        let any: IpAddr = if address.is_ipv6() { [0_u16; 8].into() } else { [0_u8; 4].into() };
        // Nothing is sent: the kernel only looks up the route.
        let socket = UdpSocket::bind((any, 0)).ok()?;
        socket.connect(address).ok()?;
        socket.local_addr().ok().map(|local| local.ip())
    }
}

/// Builds the command `ssh DESTINATION PROGRAM agent --join -`, without prompts.
fn ssh(to: &str, remote: &Remote) -> Command {
    let mut words = vec![quoted(&remote.program), "agent --join -".to_owned()];
    if let Some(target) = &remote.allow {
        words.push(format!("--allow {}", quoted(target)));
    }
    if remote.allow_root_fs {
        words.push("--allow-root-fs".to_owned());
    }
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "BatchMode=yes", "--", to]).arg(words.join(" "));
    command
}

/// Quotes a word for the shell on the remote host.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_host_reads_back() {
        for text in ["a", "a=ssh:root@10.0.0.7", "b=exec:ip netns exec b x --y=z", "c=join"] {
            assert_eq!(text.parse::<Launch>().expect(text).to_string(), text);
        }
        assert_eq!("a=ssh:a".parse::<Launch>().expect("the same").to_string(), "a");
    }

    #[test]
    fn what_is_no_host_or_an_option_of_ssh_is_refused() {
        for wrong in [
            "",
            "A",
            "a=",
            "a=ssh:",
            "a=ssh:-oProxyCommand=x",
            "a=exec: ",
            "a=join:x",
            "-v",
            "a=rsh:b",
        ] {
            assert!(wrong.parse::<Launch>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_path_with_a_quote_is_one_word_for_the_shell_there() {
        let remote = Remote {
            program: "/opt/it's here/tilemark".to_owned(),
            allow: Some("dir:/mnt/$(x)".to_owned()),
            allow_root_fs: true,
        };
        let command = ssh("a", &remote);
        let said = command.get_args().last().expect("a command").to_string_lossy().into_owned();
        let shown = Command::new("/bin/sh")
            .args(["-c", &format!("printf '%s\\n' {said}")])
            .output()
            .expect("a shell");
        let words = String::from_utf8(shown.stdout).expect("text");
        let words: Vec<&str> = words.lines().collect();
        assert_eq!(
            words,
            [
                "/opt/it's here/tilemark",
                "agent",
                "--join",
                "-",
                "--allow",
                "dir:/mnt/$(x)",
                "--allow-root-fs"
            ]
        );
    }
}
