use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cache::PolicyKind;
use clap::{Args, Subcommand, ValueEnum};
use page_server::Listen;
use tier_service::{Hours, PeerAddress, Proof};
use units::Bytes;

use super::{Format, TokenArgs};

/// `tier`.
#[derive(Debug, Args)]
pub struct TierArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: TierAction,
}

/// What to do with a tier.
#[derive(Debug, Subcommand)]
pub enum TierAction {
    /// Make an empty tier in a new file on fast storage, or on a whole device
    Init(TierInitArgs),
    /// Serve disks through a tier, over NBD
    Serve(Box<TierServeArgs>),
    /// Have a server that runs serve one more disk
    Attach(TierAttachArgs),
    /// Have it serve a disk no more, with all of it on its backing store
    Detach(TierDiskArgs),
    /// Say how a served tier is doing
    Status(TierStatusArgs),
    /// Put what a disk's log has into its backing store
    Drain(TierDiskArgs),
    /// Change how a served disk is cached
    Set(TierSetArgs),
    /// Read all of a tier's structure and say what is in it; change nothing
    Check(TierCheckArgs),
    /// Take a disk over from a host that is gone, from a copy of its log
    Takeover(TierTakeoverArgs),
    /// What a tier's log has of a disk that another host went on with
    Stale(TierStaleArgs),
}

/// `tier init`.
#[derive(Debug, Args)]
pub struct TierInitArgs {
    /// The file, which is made, or a device, which is empty
    ///
    /// A file's room is taken at once, on a file system that does direct I/O (ext4, xfs). A device is held to
    /// every rule of a datastore that is one, and needs --destroy-data.
    /// Example: tilemark tier init /fast/tier --size 200GiB
    #[arg(value_name = "FILE|DEVICE")]
    pub file: PathBuf,
    /// How large [default of a device: all of it]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Serial or by-id name of the device to be overwritten
    ///
    /// The serial number, WWN, EUI, or a name from /dev/disk/by-id, exactly. Kernel names
    /// such as sdb change places and are not accepted. A device in use is refused in any case.
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Bytes of a page: a power of two from 4KiB to 64KiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub page: Bytes,
    /// Bytes of a chunk, by which logs grow: 32KiB to 1GiB; no request is longer than half of it
    #[arg(long, value_name = "SIZE", default_value = "16MiB", hide_short_help = true)]
    pub chunk: Bytes,
    /// Of the room, percent for logs: what may wait for the backing stores, 1 to 90
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub log: u8,
}

/// How a disk's writes are answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierMode {
    /// When the backing store has them; reads are cached.
    Through,
    /// When the log on fast storage has them; they go to the backing store later, in order.
    Back,
}

/// A disk of `tier serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierDisk {
    /// Its name.
    pub name: String,
    /// Its file or device.
    pub backing: PathBuf,
}

impl FromStr for TierDisk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, backing)) if !name.is_empty() && !backing.is_empty() => {
                Ok(Self { name: name.to_owned(), backing: backing.into() })
            }
            _ => Err("a disk is NAME=FILE or NAME=DEVICE".to_owned()),
        }
    }
}

/// Where a machine gets a disk of `tier serve` over vhost-user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierVhost {
    /// The disk's name.
    pub disk: String,
    /// The socket.
    pub path: PathBuf,
}

impl FromStr for TierVhost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((disk, path)) if !disk.is_empty() && !path.is_empty() => {
                Ok(Self { disk: disk.to_owned(), path: path.into() })
            }
            _ => Err("a machine's socket is NAME=PATH, with the name of a --disk".to_owned()),
        }
    }
}

/// The block device by which this host gets a disk of `tier serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierUblk {
    /// The disk's name.
    pub disk: String,
    /// N of `/dev/ublkbN`.
    pub number: u32,
}

impl FromStr for TierUblk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(disk, _)| !disk.is_empty());
        let parts = parts.and_then(|(disk, number)| Some((disk.to_owned(), number.parse().ok()?)));
        let (disk, number) = parts.ok_or("a device is NAME=NUMBER, with the name of a --disk")?;
        Ok(Self { disk, number })
    }
}

/// What says whose a disk's newest writes are, and who has them, too.
#[derive(Debug, Args)]
pub struct TierSafetyArgs {
    /// Accept a place that the tier does not know, by the word in its refusal; again for more
    ///
    /// A cache file, backing store or sidecar that was moved, copied or replaced is refused, and the refusal says the
    /// word to give here. The word counts once: a later change is refused with another one. Pages of the disk are
    /// forgotten; what its log has goes to the backing store that is there.
    /// Example: --accept-identity wwid:eui.0025388b710116a1@3.41
    #[arg(long, value_name = "IDENTITY@STATE", hide_short_help = true)]
    pub accept_identity: Vec<String>,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
    /// Peers that must have a copy of what is answered in mode back, 0 to 4
    ///
    /// With fewer, what waits is put into the backing store, and writes are answered by that until there are
    /// enough again. Sidecar and backing store must be on storage that the host which takes over reaches, too.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=4))]
    pub copies: u8,
    /// A peer that may hold copies: its name, and where it serves with --hold; again for more
    ///
    /// Example: --peer b=nbds://b.example:10809, or --peer b=nbd+unix:///?socket=/run/b.sock
    #[arg(long = "peer", value_name = "NAME=ADDRESS")]
    pub peers: Vec<PeerAddress>,
    /// Reserve the backing devices for this host: no other one can write to them
    ///
    /// They are whole devices that several hosts see (LUNs, NVMe namespaces) and do persistent reservations. Another
    /// host can then take a disk over by `tier takeover --fence-proof pr`, without this one being switched off.
    #[arg(long)]
    pub reserve: bool,
}

impl TierSafetyArgs {
    /// Where the sidecar of a disk is, if not beside its backing file.
    pub fn sidecar_of(&self, disk: &str) -> Option<PathBuf> {
        self.sidecar.as_deref().map(|directory| sidecar_in(directory, disk))
    }
}

/// A disk's sidecar in a directory of its own choice.
pub fn sidecar_in(directory: &Path, disk: &str) -> PathBuf {
    directory.join(format!("{disk}.tilemark-tier"))
}

/// Longer, a sleep costs nothing to speak of.
const POLL_MAX: units::Nanos = units::Nanos::from_millis(1);

/// `tier serve`.
#[derive(Debug, Args)]
pub struct TierServeArgs {
    /// The file that `tier init` made; a host that only holds copies needs none
    #[arg(value_name = "FILE", required_unless_present = "hold")]
    pub file: Option<PathBuf>,
    /// A disk: its name for clients, and the file or device that it is on; again for more, or `tier attach` later
    ///
    /// The name is how its pages and its log are found again. Beside a backing file a sidecar FILE.tilemark-tier
    /// says whose newest writes it has; a device needs --sidecar.
    #[arg(long = "disk", value_name = "NAME=BACKING", requires = "file")]
    pub disks: Vec<TierDisk>,
    /// How writes are answered
    #[arg(long, value_enum, default_value_t = TierMode::Through)]
    pub mode: TierMode,
    /// The Unix socket where clients come in; made for you alone
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// A Unix socket where one machine gets a disk over vhost-user, faster than over NBD; again for more
    ///
    /// Its memory has to be shared and of memfd. Example: --vhost vm1=/run/tilemark/vm1.sock
    #[arg(long = "vhost", value_name = "NAME=PATH")]
    pub vhost: Vec<TierVhost>,
    /// A disk is this host's block device /dev/ublkbNUMBER, without a client; again for more
    ///
    /// Needs root, and Linux 6.9 or newer with ublk_drv. The server removes it at its end, unless it is in
    /// use. A device in use, or left by a killed server, waits for the next server. Example: --ublk vm1=0
    #[arg(long = "ublk", value_name = "NAME=NUMBER", requires = "file")]
    pub ublk: Vec<TierUblk>,
    /// The Unix socket where `tier status` and others ask [default: that of clients with .control]
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub control: Option<PathBuf>,
    /// What keeps its disks' newest writes.
    #[command(flatten)]
    pub safety: TierSafetyArgs,
    /// Hold copies of other hosts' logs in this directory
    #[arg(long, value_name = "DIR")]
    pub hold: Option<PathBuf>,
    /// A TCP address where clients and peers come in, too; beyond this machine only with --tls
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// A directory with ca.pem, cert.pem and key.pem, for TLS on --listen and to peers
    ///
    /// Both sides show certificates of that authority; the peer's has to be for the name by which it is reached.
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    /// Which page leaves: lru, fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu
    #[arg(long, value_name = "POLICY", default_value_t = PolicyKind::Lru, value_parser = policy)]
    pub policy: PolicyKind,
    /// The access that brings a page in, 1 (the first) to 255; FAST Cache waits for the third
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub admission: u8,
    /// Memory of this machine above the pages, for what is read often; 0 is none
    ///
    /// Blocks are compressed (LZ4) where that saves an eighth or more, so that it holds more than its size. The index
    /// takes room beside it, which `tier status` shows. It is empty when the server begins.
    /// At least 1MiB, at most what the machine has. Example: --memory 4GiB
    #[arg(long, value_name = "SIZE", default_value = "0", requires = "file")]
    pub memory: Bytes,
    /// Time that the server polls for the next request before it sleeps, 1ms at most; 0 is never
    ///
    /// It does so where requests come one after another and mostly that soon. Each is answered two to three times as
    /// fast then, and one processor does little else meanwhile.
    #[arg(long, value_name = "TIME", default_value = "64us", value_parser = poll, hide_short_help = true)]
    pub poll: units::Nanos,
    /// End that long after SIGTERM or Ctrl-C at the latest, also where a store does not answer; 1s to 1h
    ///
    /// What was answered is kept, as after kill -9; the exit code is 1 then. Less than a minute may cut off a store that
    /// is only slow.
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = end_within, hide_short_help = true)]
    pub end_within: units::Nanos,
    /// Tell Prometheus of it at this address of this machine, such as 127.0.0.1:9655
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Show it in a browser while it serves: PORT, HOST or HOST:PORT [default: 7655 of this machine, or the next]
    ///
    /// As `tilemark serve --listen`: at another address than this machine's own a token is needed,
    /// which is in the printed address or in --token-file; there is no encryption.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, requires = "file")]
    pub page: Option<Option<Listen>>,
    /// The token that --page asks for.
    #[command(flatten)]
    pub token: TokenArgs,
    /// Let nothing new in at these hours of every day, such as 22:00-02:00; again for more
    ///
    /// For backups, virus scans and whatever else reads everything once. What is there is served. Local time.
    #[arg(long, value_name = "FROM-TO", hide_short_help = true)]
    pub suspend: Vec<Hours>,
}

/// Where a served tier is asked.
#[derive(Debug, Args)]
pub struct TierDoorArgs {
    /// The socket of `tier serve`
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
}

/// `tier status`.
#[derive(Debug, Args)]
pub struct TierStatusArgs {
    /// Where.
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// Say it again every so often, until Ctrl-C, such as 2s
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s", require_equals = true)]
    pub watch: Option<units::Nanos>,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `tier attach`.
#[derive(Debug, Args)]
pub struct TierAttachArgs {
    /// Where.
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk: its name for clients, and the file or device that it is on
    ///
    /// It is served until it is detached or the server ends, and not by the next one, unless that is told to.
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// How writes are answered
    #[arg(long, value_enum, default_value_t = TierMode::Through)]
    pub mode: TierMode,
    /// What keeps its newest writes.
    #[command(flatten)]
    pub safety: TierSafetyArgs,
    /// Another server owns it: reads are asked there, and the first write has that server let go of it
    ///
    /// For a machine that moves here while it runs. Backing store and sidecar must be on storage that both reach.
    /// Example: --from nbds://a.example:10809 --at nbds://b.example:10809, or nbd+unix:///?socket=/run/a.sock
    #[arg(long, value_name = "ADDRESS", requires = "at")]
    pub from: Option<String>,
    /// Where that server reaches this one, to have it back
    #[arg(long, value_name = "ADDRESS", requires = "from")]
    pub at: Option<String>,
}

/// `tier drain`, `tier detach`.
#[derive(Debug, Args)]
pub struct TierDiskArgs {
    /// Where.
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk's name
    #[arg(value_name = "DISK")]
    pub disk: String,
}

/// `tier set`.
#[derive(Debug, Args)]
pub struct TierSetArgs {
    /// Where.
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk's name; without it --policy is that of all disks with none of their own
    #[arg(value_name = "DISK")]
    pub disk: Option<String>,
    /// What.
    #[command(flatten)]
    pub change: TierChange,
    /// After so long --populate is the other way round again, such as 2h or 90min
    #[arg(long = "for", value_name = "TIME", requires = "populate")]
    pub time: Option<units::Nanos>,
}

/// What can be changed of a served disk.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct TierChange {
    /// Mode of its writes from now on; returns when it has changed
    #[arg(long, value_enum, requires = "disk")]
    pub mode: Option<TierMode>,
    /// Whether new pages come in; what is there is served either way
    #[arg(long, value_name = "on|off", value_parser = on_or_off, requires = "disk")]
    pub populate: Option<bool>,
    /// Of all pages, and of memory, percent that it may take, 0 to 100; beyond that its own take each other's places
    #[arg(long, value_name = "PERCENT", requires = "disk", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub share: Option<u8>,
    /// The access that brings a page of it in, 1 (the first) to 255
    #[arg(long, value_name = "N", requires = "disk", value_parser = clap::value_parser!(u8).range(1..))]
    pub admission: Option<u8>,
    /// Which of its pages leaves: as of tier serve, or common for the tier's policy again
    ///
    /// A disk with a policy of its own has the pages of its --share to itself. Other disks have the rest.
    /// The policies of memory (--memory) stay the tier's. Example: --share 30 --policy s3fifo
    #[arg(long, value_name = "POLICY", value_parser = tier_policy)]
    pub policy: Option<TierPolicy>,
}

/// A policy of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierPolicy {
    /// One of its own.
    Kind(PolicyKind),
    /// The tier's.
    Common,
}

/// `tier takeover`.
#[derive(Debug, Args)]
pub struct TierTakeoverArgs {
    /// The disk: its name, and the file or device that it is on
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// How the old owner is cut off: pr takes its reservation of the device away; agent:COMMAND ends with exit code 0 when it is off
    ///
    /// Without it the old owner, if it lives, would write old data over new ones. pr is for a disk that it serves with
    /// --reserve: the device refuses its writes from then on. Serve it with --reserve here, too.
    /// Example: --fence-proof 'agent:fence_ipmilan --ip 10.0.0.7 --action off'
    #[arg(long, value_name = "pr|agent:COMMAND", conflicts_with = "i_fenced")]
    pub fence_proof: Option<Proof>,
    /// You have switched that host off yourself, and will not switch it on before this is done
    #[arg(long, value_name = "HOST")]
    pub i_fenced: Option<String>,
    /// Where no copy can be had: give up what the log has, for good
    ///
    /// The backing store is an older state of the disk then; `tier status` of its owner had said how much waited.
    #[arg(long)]
    pub accept_loss: bool,
    /// Accept a backing store that the sidecar does not know, by the word in its refusal; again for more
    ///
    /// A backing store that was moved, copied or replaced is refused, and the refusal says the word to give here. The
    /// word counts once. What the log has goes to the backing store that is there.
    /// Example: --accept-identity wwid:eui.0025388b710116a1@3.41
    #[arg(long, value_name = "IDENTITY@STATE", hide_short_help = true)]
    pub accept_identity: Vec<String>,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
    /// Where a peer is reached if not where the sidecar says; again for more
    #[arg(long = "peer", value_name = "NAME=ADDRESS")]
    pub peers: Vec<PeerAddress>,
    /// A directory with ca.pem, cert.pem and key.pem, for peers that are reached by TLS
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
}

/// `tier stale`.
#[derive(Debug, Args)]
pub struct TierStaleArgs {
    /// What to do.
    #[command(subcommand)]
    pub action: TierStaleAction,
}

/// What to do with a log that counts no more.
#[derive(Debug, Subcommand)]
pub enum TierStaleAction {
    /// Say what it has
    List(TierStaleLogArgs),
    /// Put its writes into a new file with holes, each at its place of the disk
    Export(TierStaleExportArgs),
    /// Take it out of the tier, for good
    Forget(TierStaleLogArgs),
}

/// `tier stale list`, `tier stale forget`.
#[derive(Debug, Args)]
pub struct TierStaleLogArgs {
    /// The file that `tier init` made; nobody may be serving it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The disk: its name, and the file or device that it is on
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
}

/// `tier stale export`.
#[derive(Debug, Args)]
pub struct TierStaleExportArgs {
    /// Which.
    #[command(flatten)]
    pub log: TierStaleLogArgs,
    /// The file, which is made
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
}

/// `tier check`.
#[derive(Debug, Args)]
pub struct TierCheckArgs {
    /// The file that `tier init` made; nobody may be serving it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

fn policy(text: &str) -> Result<PolicyKind, String> {
    let known = PolicyKind::ALL.map(PolicyKind::name);
    text.parse().map_err(|_| spec::did_you_mean(text, &known, "policies"))
}

fn poll(text: &str) -> Result<units::Nanos, String> {
    let time: units::Nanos = text.parse().map_err(|error| format!("{error}"))?;
    if time > POLL_MAX {
        Err("at most 1ms: a processor does nothing else".to_owned())
    } else {
        Ok(time)
    }
}

fn end_within(text: &str) -> Result<units::Nanos, String> {
    let time: units::Nanos = text.parse().map_err(|error| format!("{error}"))?;
    let allowed = units::Nanos::SECOND..=units::Nanos::from_secs(3600);
    if allowed.contains(&time) { Ok(time) } else { Err("1s to 1h".to_owned()) }
}

fn tier_policy(text: &str) -> Result<TierPolicy, String> {
    if text == tier_service::COMMON {
        Ok(TierPolicy::Common)
    } else {
        policy(text).map(TierPolicy::Kind)
    }
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_lasts_a_millisecond_at_most_and_has_a_unit_unless_it_is_none() {
        assert_eq!(poll("0"), Ok(units::Nanos::ZERO));
        assert_eq!(poll("1ms"), Ok(POLL_MAX));
        assert!(poll("1001us").is_err_and(|words| words.contains("at most 1ms")));
        assert!(poll("64").is_err(), "of what?");
    }
}
