//! Prints the speed of a mail server on this host in a directory: `figures DIR [MAILBOXES MAILS]`.
//!
//! Each figure comes from a single run of a few seconds, for comparison on one host. The servers
//! run as this process's user, or as `nobody` if this process runs as root.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use process_home::Account;
use tilemark_mail_server::{MailServer, Pattern, Ports, Programs, Session, Setup};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<()> {
    let mut args = env::args().skip(1);
    let directory = PathBuf::from(args.next().ok_or("a directory is missing")?);
    let mut number = |default| args.next().map_or(Ok(default), |text| text.parse::<u32>());
    let (mailboxes, mails) = (number(992)?, number(300)?);
    let programs = Programs::find()?;
    let account = Account::current().or_else(|_| Account::named("nobody"))?;
    say(&format!("exim {}, dovecot {}", programs.exim_version, programs.dovecot_version))?;
    let (pattern, data) = (directory.join("pattern"), directory.join("tile"));
    fs::create_dir(&pattern)?;
    fs::create_dir(&data)?;
    let setup = |data| -> Result<Setup<'_>> {
        let runtime = Path::new("/tmp/tilemark-mail-figures");
        Ok(Setup { data, runtime, account: &account, ports: Ports::free()?, groups: &[] })
    };

    let begin = Instant::now();
    let made = Pattern::make(&programs, &setup(&pattern)?, (1, mails), &|| true)?;
    let rate = f64::from(8 * mails) / begin.elapsed().as_secs_f64();
    say(&format!("pattern: {} mails by LMTP, {rate:.0}/s with start and stop", 8 * mails))?;
    let begin = Instant::now();
    let bytes = made.copy(&data, &account, mailboxes, 1, &|| true)?;
    let seconds = begin.elapsed().as_secs_f64();
    say(&format!("copy: {mailboxes} mailboxes, {} MB in {seconds:.1} s", bytes / 1_000_000))?;

    let begin = Instant::now();
    let mut server = MailServer::start(&programs, &setup(&data)?)?;
    server.ready(Duration::from_secs(30))?;
    say(&format!("start: ready after {} ms", begin.elapsed().as_millis()))?;
    for streams in [1, 8] {
        send(&mut server, streams, mailboxes)?;
    }
    for streams in [1, 8] {
        read(&server, streams, mailboxes)?;
    }
    server.health()?;
    let begin = Instant::now();
    server.stop()?;
    say(&format!("stop: {} ms", begin.elapsed().as_millis()))
}

/// Measures senders that work in parallel and send mails of 3.9 kB to one mailbox each.
fn send(server: &mut MailServer, streams: u32, mailboxes: u32) -> Result<()> {
    const MAILS: u32 = 100;
    let port = server.ports().smtp;
    let begin = Instant::now();
    let mut times = in_parallel(streams, |stream| {
        let mut session = Session::smtp(port)?;
        let mut times = Vec::new();
        for mail in 0..MAILS {
            let to = (stream * MAILS + mail) % mailboxes + 1;
            let begin = Instant::now();
            session.call(&format!("u1 u{to} 3900"))?;
            times.push(begin.elapsed());
        }
        Ok(times)
    })?;
    let accepted = begin.elapsed();
    let queued = server.queue_length()?;
    let count = times.len();
    let mut delays = Vec::new();
    while delays.len() < count {
        delays.extend(server.delivered()?.delays);
        std::thread::sleep(Duration::from_millis(2));
    }
    let rate = |time: Duration| times.len() as f64 / time.as_secs_f64();
    let (taken, delivered) = (rate(accepted), rate(begin.elapsed()));
    say(&format!(
        "send, {streams} at once: {taken:.0}/s accepted, {delivered:.0}/s delivered, {queued} queued at the \
         last 250, {}; delivery {}",
        spread(&mut times),
        spread(&mut delays)
    ))
}

/// Measures sessions that read seven mails, move one and delete three.
fn read(server: &MailServer, streams: u32, mailboxes: u32) -> Result<()> {
    const SESSIONS: u32 = 40;
    let port = server.ports().imap;
    let begin = Instant::now();
    let mut times = in_parallel(streams, |stream| {
        let mut times = Vec::new();
        for session in 0..SESSIONS {
            let user = (stream * SESSIONS + session) % mailboxes + 1;
            let begin = Instant::now();
            let mut session = Session::imap(port, server.password())?;
            session.call(&format!("u{user} read=7 move=1 delete=3"))?;
            times.push(begin.elapsed());
        }
        Ok(times)
    })?;
    let rate = times.len() as f64 / begin.elapsed().as_secs_f64();
    say(&format!("sessions, {streams} at once: {rate:.0}/s, {}", spread(&mut times)))
}

fn in_parallel(
    streams: u32,
    work: impl Fn(u32) -> Result<Vec<Duration>> + Sync,
) -> Result<Vec<Duration>> {
    std::thread::scope(|scope| {
        let work = &work;
        let all: Vec<_> = (0..streams).map(|stream| scope.spawn(move || work(stream))).collect();
        let mut times = Vec::new();
        for thread in all {
            times.extend(thread.join().map_err(|_| "a thread has panicked")??);
        }
        Ok(times)
    })
}

/// Formats the median and 95th percentile of the times.
fn spread(times: &mut [Duration]) -> String {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1000.0;
    format!("p50 {:.1} ms, p95 {:.1} ms", at(50), at(95))
}

fn say(text: &str) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}
