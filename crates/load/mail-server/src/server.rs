//! Mail server of one tile.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use process_home::{Account, Ending, Launch, Phase, Process, entering};
use rustix::process::Signal;

use crate::delivery::{self, Delivered, Log};
use crate::error::failed;
use crate::settings::{self, Paths, Secrets};
use crate::{MailServerError, Ports, Program, Programs, Setup};

/// Maximum length of a greeting, in bytes. A greeting of Dovecot with its capabilities has 200.
const GREETING_MAX: usize = 4096;
/// Orderly end of Exim. The leader leaves its children, which take mails and deliver them: a mail
/// that is under way stays in the queue.
const EXIM_ENDINGS: &[Ending] = &[Ending::group(Signal::TERM, 10)];
/// Orderly end of Dovecot. The leader ends the others in 2 to 3 s, but waits for a client that is
/// connected and has not logged in.
const DOVECOT_ENDINGS: &[Ending] =
    &[Ending::leader(Signal::TERM, 4), Ending::group(Signal::TERM, 10)];

/// Names of the settings files in the runtime directory.
const EXIM_SETTINGS: &str = "exim.conf";
const DOVECOT_SETTINGS: &str = "dovecot.conf";

/// Servers to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Exim and Dovecot.
    All,
    /// Dovecot alone, for filling mailboxes.
    Dovecot,
}

/// Exim and Dovecot of one tile. Dropping it kills them; [`MailServer::stop`] stops them in order.
#[derive(Debug)]
pub struct MailServer {
    paths: Paths,
    ports: Ports,
    secrets: Secrets,
    exim: Option<Process>,
    dovecot: Process,
    phase: Phase,
    exim_log: Log,
    dovecot_log: Log,
}

impl MailServer {
    /// Starts both servers. Wait with [`MailServer::ready`] until they are ready.
    ///
    /// # Errors
    /// If the runtime directory exists, a directory or file cannot be created, or a program cannot
    /// be run.
    pub fn start(programs: &Programs, setup: &Setup<'_>) -> Result<Self, MailServerError> {
        Self::start_parts(programs, setup, Parts::All)
    }

    pub(crate) fn start_parts(
        programs: &Programs,
        setup: &Setup<'_>,
        parts: Parts,
    ) -> Result<Self, MailServerError> {
        let Setup { account, ports, .. } = *setup;
        let paths = Paths::new(setup.data, setup.runtime)?;
        for path in [paths.mailboxes(), paths.spool(), paths.logs()] {
            make_directory(&path, account, Existing::Fine)?;
        }
        let runtime = OwnDirectory::make(&paths.runtime)?;
        let secrets = Secrets { token: random()?, password: random()? };
        write_files(programs, &paths, account, ports, (&secrets, parts))?;
        // Last: until then nobody else can put anything into the directory.
        own_directory(account, &paths.runtime)?;
        let mut command = account.command(&programs.dovecot, "TERM");
        command.arg("-F").arg("-c").arg(paths.runtime.join(DOVECOT_SETTINGS));
        let dovecot = launch(Program::Dovecot, entering(setup.groups, &command), &paths)?;
        let exim = match parts {
            Parts::Dovecot => None,
            Parts::All => {
                let mut command = account.command(&programs.exim, "TERM");
                command.arg("-C").arg(paths.runtime.join(EXIM_SETTINGS)).args(["-bdf", "-q1m"]);
                Some(launch(Program::Exim, entering(setup.groups, &command), &paths)?)
            }
        };
        runtime.keep();
        let (exim_log, dovecot_log) = (Log::new(exim_log(&paths)), Log::new(dovecot_log(&paths)));
        let phase = Phase::Start;
        Ok(Self { paths, ports, secrets, exim, dovecot, phase, exim_log, dovecot_log })
    }

    /// Returns the ports on 127.0.0.1.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// Returns the password of all mailboxes.
    pub fn password(&self) -> &str {
        &self.secrets.password
    }

    /// Waits until each port has sent this server's own greeting, up to `within` for each.
    ///
    /// # Errors
    /// If a server exits, or a port does not send this greeting in time. Another program on the
    /// port does not know the greeting.
    pub fn ready(&mut self, within: Duration) -> Result<(), MailServerError> {
        let Ports { smtp, imap, lmtp } = self.ports;
        let dovecot = [(Program::Dovecot, lmtp), (Program::Dovecot, imap)];
        let exim = self.exim.iter().map(|_| (Program::Exim, smtp));
        for (program, port) in dovecot.into_iter().chain(exim) {
            let exim = self.exim.as_ref().filter(|_| program == Program::Exim);
            let process = exim.unwrap_or(&self.dovecot);
            process.wait_until(Phase::Start, within, || self.greets(port))?;
        }
        self.check_processes()?;
        self.phase = Phase::Load;
        Ok(())
    }

    fn greets(&self, port: u16) -> bool {
        let greeting = greeting_of(port).unwrap_or_default();
        greeting.windows(self.secrets.token.len()).any(|own| own == self.secrets.token.as_bytes())
    }

    /// Checks that both servers run, and that none of their processes has crashed since the last
    /// check. If a process crashed, measurements since then are void.
    ///
    /// # Errors
    /// With the server, and the phase in which it exited or crashed.
    pub fn health(&mut self) -> Result<(), MailServerError> {
        self.check_processes()?;
        let lines = self.dovecot_log.new_lines();
        let lines = lines.map_err(failed("read", &dovecot_log(&self.paths)))?;
        match lines.lines().find(|line| is_crash(line)) {
            None => Ok(()),
            Some(line) => Err(MailServerError::Crashed {
                program: Program::Dovecot,
                phase: self.phase,
                log: line.chars().take(300).collect(),
            }),
        }
    }

    fn check_processes(&self) -> Result<(), MailServerError> {
        let mut all = self.exim.iter().chain([&self.dovecot]);
        Ok(all.try_for_each(|process| process.check(self.phase))?)
    }

    /// Returns the number of accepted mails that are not yet delivered to all of their recipients.
    ///
    /// # Errors
    /// If the queue cannot be read.
    pub fn queue_length(&self) -> Result<u64, MailServerError> {
        let spool = self.paths.spool();
        delivery::queue_length(&spool).map_err(failed("count the mails in", &spool))
    }

    /// Returns the deliveries since the last call, from Exim's log.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub fn delivered(&mut self) -> Result<Delivered, MailServerError> {
        let lines = self.exim_log.new_lines();
        let lines = lines.map_err(failed("read", &exim_log(&self.paths)))?;
        Ok(Delivered::read(&lines))
    }

    /// Stops Exim, then Dovecot: each in order, or killed after 10 s. Removes the runtime
    /// directory. Mailboxes, queue and logs stay.
    ///
    /// # Errors
    /// If the runtime directory cannot be removed.
    pub fn stop(mut self) -> Result<(), MailServerError> {
        if let Some(exim) = &mut self.exim {
            exim.end();
        }
        self.dovecot.end();
        let runtime = &self.paths.runtime;
        fs::remove_dir_all(runtime).map_err(failed("remove", runtime))
    }
}

impl Drop for MailServer {
    fn drop(&mut self) {
        // First the processes, which have files in the directory. After `stop` nothing is left.
        // They are killed: an orderly end takes seconds.
        self.exim.iter().chain([&self.dovecot]).for_each(Process::kill);
        drop(self.exim.take());
        self.dovecot.end();
        let _ = fs::remove_dir_all(&self.paths.runtime);
    }
}

/// Returns true if a line of Dovecot's log reports a crashed process.
fn is_crash(line: &str) -> bool {
    ["killed with signal", ": Panic: ", "returned error 89 (Fatal failure)"]
        .iter()
        .any(|words| line.contains(words))
}

fn exim_log(paths: &Paths) -> PathBuf {
    paths.logs().join("exim-main")
}

fn dovecot_log(paths: &Paths) -> PathBuf {
    paths.logs().join("dovecot")
}

fn output_of(paths: &Paths, program: Program) -> PathBuf {
    paths.runtime.join(format!("{program}.out"))
}

/// Writes the settings and secrets into the runtime directory.
fn write_files(
    programs: &Programs,
    paths: &Paths,
    account: &Account,
    ports: Ports,
    (secrets, parts): (&Secrets, Parts),
) -> Result<(), MailServerError> {
    let runtime = &paths.runtime;
    let mut dovecot = settings::dovecot(programs.series, paths, account, ports, secrets);
    if parts == Parts::Dovecot {
        dovecot += settings::WITHOUT_SYNC;
    }
    let exim = settings::exim(paths, account, ports, &secrets.token);
    write_secret(&runtime.join(DOVECOT_SETTINGS), &dovecot, Some(account))?;
    write_secret(&runtime.join(EXIM_SETTINGS), &exim, Some(account))?;
    write_secret(&runtime.join("password"), &secrets.password, None)?;
    for program in [Program::Dovecot, Program::Exim] {
        write_secret(&output_of(paths, program), "", None)?;
    }
    make_directory(&runtime.join("state"), account, Existing::Refused)
}

fn launch(program: Program, command: Command, paths: &Paths) -> Result<Process, MailServerError> {
    let (log, endings) = match program {
        Program::Exim => (exim_log(paths), EXIM_ENDINGS),
        Program::Dovecot => (dovecot_log(paths), DOVECOT_ENDINGS),
    };
    let (name, output) = (program.name().to_owned(), output_of(paths, program));
    Ok(Process::start(Launch { name, command, output, log: Some(log), endings })?)
}

/// Returns the first line that a port sends.
fn greeting_of(port: u16) -> io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    // A stranger on the port may say nothing. A server that is slower is asked again.
    stream.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut greeting, mut buffer) = (Vec::new(), [0; 512]);
    while greeting.len() < GREETING_MAX && !greeting.contains(&b'\n') {
        match stream.read(&mut buffer)? {
            0 => break,
            count => greeting.extend_from_slice(&buffer[..count]),
        }
    }
    // An orderly end, so that no log speaks of a lost connection.
    let _ =
        stream.write_all(if greeting.starts_with(b"*") { b"a LOGOUT\r\n" } else { b"QUIT\r\n" });
    Ok(greeting)
}

/// Directory that is removed again unless the whole start succeeds.
struct OwnDirectory(Option<PathBuf>);

impl OwnDirectory {
    fn make(path: &Path) -> Result<Self, MailServerError> {
        DirBuilder::new().mode(0o700).create(path).map_err(failed("make", path))?;
        Ok(Self(Some(path.to_owned())))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Existing {
    Fine,
    Refused,
}

/// Creates a directory that only the servers' user can access.
fn make_directory(
    path: &Path,
    account: &Account,
    existing: Existing,
) -> Result<(), MailServerError> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists && existing == Existing::Fine =>
        {
            Ok(())
        }
        made => made.map_err(failed("make", path)).and_then(|()| own_directory(account, path)),
    }
}

pub(crate) fn own_directory(account: &Account, path: &Path) -> Result<(), MailServerError> {
    account.own_directory(path).map_err(failed("change the owner of", path))
}

/// Writes a new file that only its owner can read.
fn write_secret(path: &Path, text: &str, owner: Option<&Account>) -> Result<(), MailServerError> {
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(failed("create", path))?;
    file.write_all(text.as_bytes()).map_err(failed("write", path))?;
    let owned = owner.map_or(Ok(()), |account| account.own_file(&file));
    owned.map_err(failed("change the owner of", path))
}

/// Returns 32 random hexadecimal digits.
fn random() -> Result<String, MailServerError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0; 16];
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(failed("read", source))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
