//! `tier`: serves disks through a cache on fast storage.

mod coming;
mod init;
mod metrics;
mod page;
mod set;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use block_server::{Catalog, ClientTls, Limits, Offer};
use bystanders::doctor::{self, Finding, Root};
use cache::tier::Admission;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tier::{Counters, Damaged, Examined, ExaminedDisk, LogWrites, Mode, Skipped};
use tier_service::{
    Caching, Command, Control, Copies, Door, Hold, Left, MemoryReport, Opening, Refusal, Report,
    Reserve, Set, Suspension, Times,
};
use units::{Bytes, Nanos};

use self::page::TierPage;
use super::takeover::refused;
use super::tier_listen;
use crate::args::{
    Format, TierAction, TierArgs, TierCheckArgs, TierDisk, TierDiskArgs, TierDoorArgs, TierMode,
    TierServeArgs, TierStatusArgs,
};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::notify::notify;
use crate::output;
use crate::text::{Table, count};

/// Interval of the checks that the server still runs.
const LOOK: Duration = Duration::from_millis(200);
/// Time limit for open requests to complete after the server has ended.
const STUCK: Duration = Duration::from_secs(5);

/// Runs the subcommand.
pub fn tier(args: &TierArgs) -> Result<Exit, Failure> {
    match &args.action {
        TierAction::Init(args) => init::init(args),
        TierAction::Serve(args) => serve(args),
        TierAction::Attach(args) => coming::attach(args),
        TierAction::Detach(args) => coming::detach(args),
        TierAction::Status(args) => status(args),
        TierAction::Drain(args) => drain(args),
        TierAction::Set(args) => set::set(args),
        TierAction::Check(args) => check(args),
        TierAction::Takeover(args) => super::takeover::takeover(args),
        TierAction::Stale(args) => super::takeover::stale(args),
    }
}

fn mode(mode: TierMode) -> Mode {
    match mode {
        TierMode::Through => Mode::Through,
        TierMode::Back => Mode::Back,
    }
}

fn serve(args: &TierServeArgs) -> Result<Exit, Failure> {
    // Checked before opening: a set that is opened and not served would not be closed in order.
    engine::try_ring().map_err(|error| without_ring(&error.to_string()))?;
    let admission = match args.admission {
        1 => Admission::Always,
        accesses => Admission::NthAccess { accesses, fill_percent: 0 },
    };
    // Watches signals before serving, so that no signal leaves the tier out of order.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let page = page::open(args)?;
    let opened = open(args, admission)?;
    let (mut offer, set, told, identities) = match opened {
        Some(Set { offer, control, told, times, identities, .. }) => {
            (offer, Some((control.with_tls(client_tls(args)?), times)), Some(told), identities)
        }
        None => (Offer::default(), None, None, Vec::new()),
    };
    let hold = args.hold.as_deref().map(Hold::open).transpose().map_err(refused)?;
    let hold = hold.map(|hold| Box::new(hold) as Box<dyn Catalog>);
    offer.catalog = match &set {
        Some((control, _)) => Some(control.catalog(hold)),
        None => hold,
    };
    let listens = tier_listen::listens(args, &identities)?;
    let limits = Limits { poll: args.poll.to_duration(), ..Limits::default() };
    let running = block_server::start_with(offer, &listens, limits);
    let running = Arc::new(running.map_err(refused)?);
    let door = set.as_ref().map(|set| attend(args, set, &running)).transpose()?;
    let mut page = match (page, &args.file, &set) {
        (Some(at), Some(file), Some(set)) => Some(TierPage::begin(at, file, set, &running)?),
        _ => None,
    };
    tier_listen::say(args, running.places());
    notify("READY=1");
    let mut last = String::new();
    let mut hours = Suspension::new(args.suspend.clone());
    while !running.is_over() && signals.pending().next().is_none() {
        // A repeated note is printed once.
        let told = told.iter().flat_map(std::sync::mpsc::Receiver::try_iter);
        for words in told.chain(running.notes().into_iter().map(words)) {
            if words != last {
                crate::say!("{words}");
                last = words;
            }
        }
        if let Some((control, _)) = &set {
            let now = jiff::ZonedDateTime::now();
            let minute =
                u16::from(now.hour().unsigned_abs()) * 60 + u16::from(now.minute().unsigned_abs());
            hours.keep(minute, control, &running).iter().for_each(|words| crate::say!("{words}"));
        }
        let left = page.as_ref().map_or(LOOK, TierPage::left);
        std::thread::sleep(left.min(LOOK));
        if let Some(page) = &mut page {
            page.look(&running);
        }
    }
    drop(page);
    notify("STOPPING=1");
    drop(door);
    crate::say!("stopping: open requests are completed first");
    let ended = end(running, args.end_within.to_duration());
    told.iter()
        .flat_map(std::sync::mpsc::Receiver::try_iter)
        .for_each(|words| crate::say!("{words}"));
    ended?;
    set.map_or(Ok(Exit::Success), |(control, _)| how_left(control.left()))
}

/// Prints the state in which the tier is left. It is known after the tier's server has ended.
fn how_left(left: Option<Left>) -> Result<Exit, Failure> {
    let (in_order, waiting) =
        left.map_or((false, Vec::new()), |left| (left.in_order, left.waiting));
    for (name, bytes) in waiting {
        crate::say!("{name}: {} remain in its log", Bytes::new(bytes));
    }
    if in_order {
        crate::say!("the tier is closed cleanly");
        return Ok(Exit::Success);
    }
    Err(Failure::new(
        Exit::Failure,
        "the tier is not closed cleanly; the contents of its logs are kept",
    )
    .hint(Some(
        "serve it again when backing stores and cache accept writes: completed writes are then \
        written to the backing stores",
    )))
}

fn without_ring(refusal: &str) -> Failure {
    let Finding { found, try_next, .. } = doctor::without_ring(&Root::default(), refusal);
    Failure::new(Exit::Refused, format!("tier serve needs io_uring, which is {found}"))
        .hint(Some(try_next))
}

/// Starts to answer status requests and peers.
fn attend(
    args: &TierServeArgs,
    (control, times): &(Control, Times),
    running: &Arc<block_server::Running>,
) -> Result<Door, Failure> {
    control.serve(running);
    let asked_at = args.control.clone().unwrap_or_else(|| control_of(&args.socket));
    let door = Door::open(&asked_at, control.clone(), running).map_err(refused)?;
    if let Some(address) = args.metrics {
        let (control, times) = (control.clone(), times.clone());
        let source = metrics::Source { control, times, server: Arc::downgrade(running) };
        let text = move || metrics::text(&source);
        let at = page_server::answer_metrics(address, text)
            .map_err(|error| Failure::new(Exit::Refused, format!("--metrics: {error}")))?;
        crate::say!("metrics at http://{at}/metrics");
    }
    Ok(door)
}

fn client_tls(args: &TierServeArgs) -> Result<Option<ClientTls>, Failure> {
    args.tls.as_deref().map(super::takeover::client_tls).transpose()
}

/// Opens the tier, if there is one.
fn open(args: &TierServeArgs, admission: Admission) -> Result<Option<Set>, Failure> {
    let Some(file) = &args.file else { return Ok(None) };
    let tls = client_tls(args)?;
    let copies = Copies { count: args.safety.copies, peers: args.safety.peers.clone(), tls };
    let reserve = args.safety.reserve.then(Reserve::of_this_host).transpose();
    let reserve = reserve.map_err(refused)?;
    let opening = |disk: &TierDisk| Opening {
        name: disk.name.clone(),
        backing: disk.backing.clone(),
        mode: mode(args.mode),
        sidecar: args.safety.sidecar_of(&disk.name),
        copies: copies.clone(),
        reserve: reserve.clone(),
    };
    let disks: Vec<Opening> = args.disks.iter().map(opening).collect();
    let caching = Caching { policy: args.policy, admission, memory_bytes: args.memory.get() };
    let accepted = &args.safety.accept_identity;
    let set = Set::open(file, caching, accepted, &disks).map_err(refused)?;
    said(&set);
    Ok(Some(set))
}

/// Returns the text of a note, with the hint on a separate line.
fn words(note: block_server::Note) -> String {
    let hint = note.hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
    note.text + &hint
}

/// Ends the server: waits for the disks, and drops attaches and detaches in progress. A thread may
/// be stuck in the kernel, at a store that does not answer; the function waits for it no longer
/// than `most`.
fn end(mut running: Arc<block_server::Running>, most: Duration) -> Result<(), Failure> {
    let failed = |error| Failure::new(Exit::Failure, format!("serving: {error}"));
    running.begin_to_stop().map_err(failed)?;
    let mut over = None;
    let mut until = Instant::now() + most;
    while Instant::now() < until {
        // After the end no other thread holds a reference, so the server can be joined.
        if running.is_over() {
            running.notes().into_iter().for_each(|note| crate::say!("{}", words(note)));
            match Arc::try_unwrap(running) {
                Ok(running) => return running.stop().map_err(failed),
                Err(shared) => running = shared,
            }
            until = until.min(*over.get_or_insert_with(Instant::now) + STUCK);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    // Dropping the server would join its stuck thread.
    std::mem::forget(running);
    Ok(())
}

fn said(set: &Set) {
    let state = if set.was_clean {
        "was closed cleanly"
    } else {
        "was not closed cleanly, and is recovered"
    };
    crate::say!(
        "the tier {state}: {} cached, {} to destage",
        count(set.pages as u64, "page"),
        count(set.writes as u64, "write")
    );
    if !set.damage.is_none() {
        crate::say!("{}", set.damage);
    }
    for (name, skipped) in &set.skipped {
        crate::say!("{name}: {skipped}");
    }
}

fn control_of(socket: &Path) -> PathBuf {
    let mut name = socket.as_os_str().to_owned();
    name.push(".control");
    name.into()
}

fn ask(door: &TierDoorArgs, command: &Command) -> Result<Option<Report>, Failure> {
    tier_service::ask(&control_of(&door.socket), command)
        .map_err(|Refusal { text, hint }| Failure::new(Exit::Failure, text).hint(hint))
}

fn drain(args: &TierDiskArgs) -> Result<Exit, Failure> {
    ask(&args.door, &Command::Drain { disk: args.disk.clone() })?;
    crate::say!("the backing store has all that the log of {} held", args.disk);
    Ok(Exit::Success)
}

fn status(args: &TierStatusArgs) -> Result<Exit, Failure> {
    let Some(every) = args.watch else { return status_once(args) };
    loop {
        if std::io::stdout().is_terminal() {
            // Cursor home, and clear below.
            output::print("\x1b[H\x1b[2J")?;
        }
        status_once(args)?;
        std::thread::sleep(Duration::from_nanos(every.0).max(LOOK));
    }
}

fn status_once(args: &TierStatusArgs) -> Result<Exit, Failure> {
    let report = ask(&args.door, &Command::Status)?;
    let report = report.ok_or_else(|| Failure::new(Exit::Failure, "the server sent no status"))?;
    match args.format {
        Format::Json => output::print_json(&report)?,
        Format::Text => output::show(&text(&report))?,
    }
    Ok(Exit::Success)
}

fn share_of(part: u64, all: u64) -> String {
    match all {
        0 => "-".to_owned(),
        _ => format!("{:.1} %", part as f64 / all as f64 * 100.0),
    }
}

/// Describes the memory tier: contents, memory used, and hit ratio.
fn memory_text(memory: &MemoryReport, counters: &Counters, reads: u64) -> String {
    let ratio = match memory.taken_bytes {
        0 => String::new(),
        taken => format!(" ({:.2} to 1)", memory.held_bytes as f64 / taken as f64),
    };
    format!(
        "memory: {} held in {} of {}{ratio}, plus {} of index; {} of reads served from memory \
        alone\n",
        Bytes::new(memory.held_bytes),
        Bytes::new(memory.taken_bytes),
        Bytes::new(memory.bytes),
        Bytes::new(memory.bookkeeping_bytes),
        share_of(counters.memory_hits, reads),
    )
}

fn text(report: &Report) -> String {
    let counters = &report.counters;
    let reads = counters.hits + counters.partial + counters.misses;
    let share = share_of(counters.hits, reads);
    // Held bytes count whole pages, as on the page and in the table of disks. A page that is only
    // partly valid takes its whole slot.
    let taken: u64 = report.disks.iter().map(|disk| disk.page_bytes).sum();
    let part = match report.held_bytes < taken {
        true => format!(" ({} of it can be read)", Bytes::new(report.held_bytes)),
        false => String::new(),
    };
    let mut text = format!(
        "{} of {} cached{part}; {} read, {share} of them without a backing store; {} written, {} \
        destaged to backing stores; {} evicted\n",
        Bytes::new(taken),
        Bytes::new(report.page_bytes),
        count(reads, "time"),
        count(counters.writes, "time"),
        Bytes::new(counters.destaged_bytes),
        // Bytes, as on the page.
        Bytes::new(counters.evicted * u64::from(report.page_size_bytes)),
    );
    text += &report.memory.map(|memory| memory_text(&memory, counters, reads)).unwrap_or_default();
    if counters.checksum_errors > 0 {
        text += &format!("{} with a wrong checksum\n", count(counters.checksum_errors, "block"));
    }
    if report.has_failed {
        text += "the cache device has failed: nothing is cached any more\n";
    }
    let has_copies = report.disks.iter().any(|disk| disk.copies > 0);
    let mut heads =
        vec!["disk", "mode", ">not on its backing store", ">epochs", "backing store alone"];
    heads.extend([">pages", ">at most", "policy", "new pages", ">oldest write that waits"]);
    heads.extend(has_copies.then_some(">copies"));
    let mut table = Table::new(&heads);
    for disk in &report.disks {
        let mut row = vec![
            disk.name.clone(),
            disk.mode.clone(),
            Bytes::new(disk.dirty_bytes).to_string(),
            disk.epochs.to_string(),
            disk.sidecar.clone(),
            Bytes::new(disk.page_bytes).to_string(),
            format!("{} %", disk.share_percent),
            match &disk.policy {
                Some(policy) => format!("{policy}, its own"),
                None => report.policy.clone(),
            },
            if disk.populates { "come in" } else { "stay out" }.to_owned(),
            disk.dirty_age_ns.map_or_else(|| "-".to_owned(), |age| Nanos(age).to_string()),
        ];
        row.extend(has_copies.then(|| format!("{} of {}", disk.holding, disk.copies)));
        table.row(row);
    }
    text += &table.text("");
    text += &report.elsewhere.iter().map(coming::elsewhere_text).collect::<String>();
    for disk in &report.disks {
        for peer in disk.peers.iter().filter(|peer| peer.lag_bytes > 0) {
            let lag = Bytes::new(peer.lag_bytes);
            text +=
                &format!("{}: the copy on {} lags {lag} behind its log\n", disk.name, peer.name);
        }
        if disk.counters.throttled_ns > 0 {
            let time = Nanos(disk.counters.throttled_ns);
            text += &format!("{}: writes waited {time} for room in its log\n", disk.name);
        }
        if disk.is_damaged {
            text += &format!(
                "{}: its log cannot be read; nothing is destaged to its backing store\n",
                disk.name
            );
        }
        if disk.is_fenced {
            text += &format!("{}: another host owns it; its requests are refused\n", disk.name);
        }
        if disk.is_refused {
            text +=
                &format!("{}: its backing store failed recently; it is tried again\n", disk.name);
        }
    }
    text
}

fn check(args: &TierCheckArgs) -> Result<Exit, Failure> {
    let found = Set::examine(&args.file).map_err(refused)?;
    match args.format {
        Format::Json => output::print_json(&as_json(&found))?,
        Format::Text => output::show(&examined(&found))?,
    }
    let is_good = |disk: &ExaminedDisk| disk.damage.is_none() && disk.skipped.is_none();
    let is_whole = found.damage.is_none() && found.disks.iter().all(is_good);
    Ok(if is_whole { Exit::Success } else { Exit::ObjectiveFailed })
}

fn name(uuid: [u8; 16]) -> String {
    let end = uuid.iter().position(|byte| *byte == 0).unwrap_or(16);
    match std::str::from_utf8(&uuid[..end]) {
        Ok(text) if end < 16 && text.chars().all(|c| !c.is_control()) => text.to_owned(),
        _ => uuid.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn as_json(found: &Examined) -> serde_json::Value {
    let set = &found.superblock;
    let disks = found.disks.iter().map(|disk| {
        json!({
            "index": disk.index, "name": name(disk.entry.disk), "generation": disk.entry.generation,
            "bytes": disk.entry.bytes, "groups": disk.groups, "waiting_writes": disk.writes,
            "waiting_bytes": disk.bytes, "damage": disk.damage.map(damage_as_json),
            "skipped": disk.skipped.map(skipped_as_json),
        })
    });
    json!({
        "clean": set.state == tier::format::SetState::Clean, "opens": set.opens, "device_bytes": set.device_bytes,
        "page_bytes": set.page_bytes, "pages": found.pages,
        "damaged_table_blocks": found.damage.table_blocks, "damaged_pool_group": found.damage.pool_group,
        "disks": disks.collect::<Vec<_>>(),
    })
}

fn damage_as_json(found: Damaged) -> serde_json::Value {
    let writes = |side: LogWrites| json!({ "writes": side.count, "bytes": side.bytes });
    json!({
        "group": found.group, "missing_to": found.missing_to, "before": writes(found.before),
        "behind": writes(found.behind),
    })
}

fn skipped_as_json(found: Skipped) -> serde_json::Value {
    json!({ "group": found.group, "missing_to": found.missing_to })
}

fn examined(found: &Examined) -> String {
    let set = &found.superblock;
    let state = if set.state == tier::format::SetState::Clean {
        "closed cleanly"
    } else {
        "not closed cleanly"
    };
    let mut text = format!(
        "a tier of {}, opened {}, {state}: {} of {} cached\n",
        Bytes::new(set.device_bytes),
        count(set.opens, "time"),
        count(found.pages as u64, "page"),
        Bytes::new(set.page_bytes.into())
    );
    let mut table = Table::new(&[
        "disk",
        ">size",
        ">generation",
        ">groups in its log",
        ">writes to come",
        ">bytes",
    ]);
    for disk in &found.disks {
        table.row(vec![
            name(disk.entry.disk),
            Bytes::new(disk.entry.bytes).to_string(),
            disk.entry.generation.to_string(),
            disk.groups.to_string(),
            disk.writes.to_string(),
            Bytes::new(disk.bytes).to_string(),
        ]);
    }
    text += &table.text("");
    if !found.damage.is_none() {
        text += &format!("{}\n", found.damage);
    }
    for disk in &found.disks {
        if let Some(skipped) = disk.skipped {
            text += &format!("{}: {skipped}\n", name(disk.entry.disk));
        }
        if let Some(damage) = disk.damage {
            text += &format!("{}: {damage}\n", name(disk.entry.disk));
        }
    }
    text
}
