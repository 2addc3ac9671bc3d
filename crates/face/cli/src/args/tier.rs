use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use cache::PolicyKind;
use clap::{Args, Subcommand, ValueEnum};
use page_server::Listen;
use tier_service::{Hours, PeerAddress, Proof};
use units::Bytes;

use super::{Format, TokenArgs};

/// Options of `tilemark tier`.
#[derive(Debug, Args)]
pub struct TierArgs {
    #[command(subcommand)]
    pub action: TierAction,
}

/// Subcommands of `tilemark tier`.
#[derive(Debug, Subcommand)]
pub enum TierAction {
    /// Make an empty tier in a new file on fast storage, or on a whole device
    Init(TierInitArgs),
    /// Serve disks through a tier, over NBD
    Serve(Box<TierServeArgs>),
    /// Make a running server serve one more disk
    Attach(TierAttachArgs),
    /// Stop serving a disk, after writing all of it to its backing store
    Detach(TierDiskArgs),
    /// Print the state of a served tier
    Status(TierStatusArgs),
    /// Write a disk's log to its backing store
    Drain(TierDiskArgs),
    /// Change how a served disk is cached
    Set(TierSetArgs),
    /// Read all of a tier's structure and print what it contains; change nothing
    Check(TierCheckArgs),
    /// Take a disk over from a lost host, with a copy of its log
    Takeover(TierTakeoverArgs),
    /// Show the writes that a tier's log still has of a disk that another host took over
    Stale(TierStaleArgs),
}

/// Options of `tilemark tier init`.
#[derive(Debug, Args)]
pub struct TierInitArgs {
    /// A new file, or an empty device
    ///
    /// A file's space is allocated at once, on a file system with direct I/O (ext4, xfs). A device
    /// must meet every rule of a datastore on a device, and needs --destroy-data. Example: tilemark
    /// tier init /fast/tier --size 200GiB
    #[arg(value_name = "FILE|DEVICE")]
    pub file: PathBuf,
    /// Size of the tier [default for a device: all of it]
    #[arg(long, value_name = "SIZE")]
    pub size: Option<Bytes>,
    /// Serial or by-id name of the device to be overwritten
    ///
    /// The serial number, WWN, EUI, or a name from /dev/disk/by-id, exactly. Kernel names such as
    /// sdb change and are not accepted. A device in use is always refused.
    #[arg(long, value_name = "IDENTITY", help_heading = "Safety")]
    pub destroy_data: Option<String>,
    /// Page size: a power of two from 4KiB to 64KiB
    #[arg(long, value_name = "SIZE", default_value = "64KiB")]
    pub page: Bytes,
    /// Size of a chunk, the unit in which logs grow: 32KiB to 1GiB; a request is at most half a
    /// chunk long
    #[arg(long, value_name = "SIZE", default_value = "16MiB", hide_short_help = true)]
    pub chunk: Bytes,
    /// Percent of the tier for logs, which hold writes that wait for the backing stores: 1 to 90
    #[arg(long, value_name = "PERCENT", default_value_t = 10)]
    pub log: u8,
}

/// Point at which a disk's writes are acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TierMode {
    /// After the backing store has the writes; reads are cached.
    Through,
    /// After the log on fast storage has the writes; they go to the backing store later, in order.
    Back,
}

/// A disk of `tier serve`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierDisk {
    /// Name by which clients open the disk.
    pub name: String,
    /// Backing file or device.
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

/// Disk of `tier serve`, and the socket at which a virtual machine gets it over vhost-user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierVhost {
    pub disk: String,
    pub path: PathBuf,
}

impl FromStr for TierVhost {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((disk, path)) if !disk.is_empty() && !path.is_empty() => {
                Ok(Self { disk: disk.to_owned(), path: path.into() })
            }
            _ => Err("a VM's socket is NAME=PATH; NAME is the name of a --disk".to_owned()),
        }
    }
}

/// Disk of `tier serve`, and the block device of this host that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TierUblk {
    pub disk: String,
    /// N of `/dev/ublkbN`.
    pub number: u32,
}

impl FromStr for TierUblk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('=').filter(|(disk, _)| !disk.is_empty());
        let parts = parts.and_then(|(disk, number)| Some((disk.to_owned(), number.parse().ok()?)));
        let (disk, number) =
            parts.ok_or("a device is NAME=NUMBER; NAME is the name of a --disk")?;
        Ok(Self { disk, number })
    }
}

/// Options that protect a disk's newest writes: sidecar, copies and reservation.
#[derive(Debug, Args)]
pub struct TierSafetyArgs {
    /// Accept a changed cache file, backing store or sidecar, by the word in the refusal; repeat
    /// for more
    ///
    /// A cache file, backing store or sidecar that was moved, copied or replaced is refused, and
    /// the refusal names the word to give here. The word is valid once: a later change is refused
    /// with another word. The disk's pages are dropped, and its log goes to the present backing
    /// store. Example: --accept-identity wwid:eui.0025388b710116a1@3.41
    #[arg(long, value_name = "IDENTITY@STATE", hide_short_help = true)]
    pub accept_identity: Vec<String>,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
    /// Peers that must have a copy of a write before it is acknowledged in mode back, 0 to 4
    ///
    /// With fewer peers, waiting writes are put into the backing store. Writes are then
    /// acknowledged after the backing store has them, until there are enough peers again. A host
    /// that takes the disk over must also reach sidecar and backing store.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(..=4))]
    pub copies: u8,
    /// A peer that may hold copies: its name, and the address of its server with --hold; repeat for
    /// more
    ///
    /// Example: --peer b=nbds://b.example:10809, or --peer b=nbd+unix:///?socket=/run/b.sock
    #[arg(long = "peer", value_name = "NAME=ADDRESS")]
    pub peers: Vec<PeerAddress>,
    /// Reserve the backing devices for this host, so that no other host can write to them
    ///
    /// The devices must be whole devices that several hosts see (LUNs, NVMe namespaces) with
    /// persistent reservations. Another host can then take a disk over by `tier takeover
    /// --fence-proof pr`, without switching this host off.
    #[arg(long)]
    pub reserve: bool,
}

impl TierSafetyArgs {
    /// Returns the path of a disk's sidecar in `--sidecar`; `None` if the sidecar is beside the
    /// backing file.
    pub fn sidecar_of(&self, disk: &str) -> Option<PathBuf> {
        self.sidecar.as_deref().map(|directory| sidecar_in(directory, disk))
    }
}

/// Returns the path of a disk's sidecar in the given directory.
pub fn sidecar_in(directory: &Path, disk: &str) -> PathBuf {
    directory.join(format!("{disk}.tilemark-tier"))
}

/// Longest polling time. For longer waits the cost of a sleep does not matter.
const POLL_MAX: units::Nanos = units::Nanos::from_millis(1);

/// Options of `tilemark tier serve`.
#[derive(Debug, Args)]
pub struct TierServeArgs {
    /// The file that `tier init` made; not needed by a host that only holds copies
    #[arg(value_name = "FILE", required_unless_present = "hold")]
    pub file: Option<PathBuf>,
    /// A disk: its name for clients, and its file or device; repeat for more, or use `tier attach`
    /// later
    ///
    /// Pages and log of the disk are found again by this name. Beside a backing file, the sidecar
    /// FILE.tilemark-tier records which cache has its newest writes; a device needs --sidecar.
    #[arg(long = "disk", value_name = "NAME=BACKING", requires = "file")]
    pub disks: Vec<TierDisk>,
    /// When writes are acknowledged
    #[arg(long, value_enum, default_value_t = TierMode::Through)]
    pub mode: TierMode,
    /// Unix socket for clients; only you can open it
    #[arg(long, value_name = "PATH")]
    pub socket: PathBuf,
    /// Unix socket where one VM gets a disk over vhost-user, faster than over NBD; repeat for more
    ///
    /// The VM's memory has to be shared and of memfd. Example: --vhost vm1=/run/tilemark/vm1.sock
    #[arg(long = "vhost", value_name = "NAME=PATH")]
    pub vhost: Vec<TierVhost>,
    /// Offer a disk as block device /dev/ublkbNUMBER of this host, without a client; repeat for
    /// more
    ///
    /// Needs root, and Linux 6.9 or newer with ublk_drv. The device is removed when the server ends
    /// and no process uses it. A device in use, or left by a killed server, waits for the next
    /// server. Example: --ublk vm1=0
    #[arg(long = "ublk", value_name = "NAME=NUMBER", requires = "file")]
    pub ublk: Vec<TierUblk>,
    /// Unix socket for `tier status` and other commands [default: the clients' socket with
    /// .control]
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub control: Option<PathBuf>,
    #[command(flatten)]
    pub safety: TierSafetyArgs,
    /// Hold copies of other hosts' logs in this directory
    #[arg(long, value_name = "DIR")]
    pub hold: Option<PathBuf>,
    /// TCP address for clients and peers; beyond this computer only with --tls
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// A directory with ca.pem, cert.pem and key.pem, for TLS on --listen and to peers
    ///
    /// Both sides show certificates signed by ca.pem; a peer's certificate must be for the name by
    /// which the peer is reached.
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
    /// Replacement policy: lru, fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu
    #[arg(long, value_name = "POLICY", default_value_t = PolicyKind::Lru, value_parser = policy)]
    pub policy: PolicyKind,
    /// Number of the access that brings a page in, 1 (the first) to 255; FAST Cache waits for the
    /// third
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub admission: u8,
    /// Memory of this computer for pages that are read often; 0 is none
    ///
    /// Blocks are compressed (LZ4) where that saves an eighth or more, so it holds more than its
    /// size. The index takes additional memory, shown by `tier status`. Empty when the server
    /// begins. At least 1MiB, at most the memory of the computer. Example: --memory 4GiB
    #[arg(long, value_name = "SIZE", default_value = "0", requires = "file")]
    pub memory: Bytes,
    /// Poll this long for the next request before sleeping, at most 1ms; 0 is never
    ///
    /// Polls only while requests come one after another and mostly within this time. Each request
    /// is then answered two to three times as fast, and one processor is mostly busy.
    #[arg(long, value_name = "TIME", default_value = "64us", value_parser = poll, hide_short_help = true)]
    pub poll: units::Nanos,
    /// End at most this long after SIGTERM or Ctrl-C, even if a store does not answer; 1s to 1h
    ///
    /// Acknowledged writes are kept, as after kill -9; the exit code is then 1. Less than a minute
    /// may cut off a store that is only slow.
    #[arg(long, value_name = "TIME", default_value = "75s", value_parser = end_within, hide_short_help = true)]
    pub end_within: units::Nanos,
    /// Serve metrics for Prometheus at this address of this computer, such as 127.0.0.1:9655
    #[arg(long, value_name = "ADDRESS")]
    pub metrics: Option<std::net::SocketAddr>,
    /// Show the tier in a browser: PORT, HOST or HOST:PORT [default: 7655 of this computer, or the
    /// next free]
    ///
    /// As `tilemark serve --listen`: addresses beyond this computer need a token, which is in the
    /// printed address or in --token-file. There is no encryption.
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, requires = "file")]
    pub page: Option<Option<Listen>>,
    #[command(flatten)]
    pub token: TokenArgs,
    /// Admit no new pages at these hours of every day, such as 22:00-02:00; repeat for more
    ///
    /// For backups, virus scans and other jobs that read everything once. Cached pages are still
    /// served. Local time.
    #[arg(long, value_name = "FROM-TO", hide_short_help = true)]
    pub suspend: Vec<Hours>,
}

/// Control socket of a served tier.
#[derive(Debug, Args)]
pub struct TierDoorArgs {
    /// The socket of `tier serve`
    #[arg(value_name = "SOCKET")]
    pub socket: PathBuf,
}

/// Options of `tilemark tier status`.
#[derive(Debug, Args)]
pub struct TierStatusArgs {
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// Repeat at this interval until Ctrl-C, such as 2s
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "2s", require_equals = true)]
    pub watch: Option<units::Nanos>,
    /// Format of stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// Options of `tilemark tier attach`.
#[derive(Debug, Args)]
pub struct TierAttachArgs {
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk: its name for clients, and its file or device
    ///
    /// The disk is served until it is detached or the server ends. A later server serves it only if
    /// it is named again.
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// When writes are acknowledged
    #[arg(long, value_enum, default_value_t = TierMode::Through)]
    pub mode: TierMode,
    #[command(flatten)]
    pub safety: TierSafetyArgs,
    /// Address of the server that owns the disk: reads go there, and the first write takes the disk
    /// over
    ///
    /// For a VM that moves here while it runs. Both servers must reach backing store and sidecar.
    /// Example: --from nbds://a.example:10809 --at nbds://b.example:10809, or
    /// nbd+unix:///?socket=/run/a.sock
    #[arg(long, value_name = "ADDRESS", requires = "at")]
    pub from: Option<String>,
    /// Address at which that server reaches this one, to take the disk back
    #[arg(long, value_name = "ADDRESS", requires = "from")]
    pub at: Option<String>,
}

/// Options of `tilemark tier drain` and `tilemark tier detach`.
#[derive(Debug, Args)]
pub struct TierDiskArgs {
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk's name
    #[arg(value_name = "DISK")]
    pub disk: String,
}

/// Options of `tilemark tier set`.
#[derive(Debug, Args)]
pub struct TierSetArgs {
    #[command(flatten)]
    pub door: TierDoorArgs,
    /// The disk's name; without it, --policy applies to all disks without a policy of their own
    #[arg(value_name = "DISK")]
    pub disk: Option<String>,
    #[command(flatten)]
    pub change: TierChange,
    /// Undo --populate after this time, such as 2h or 90min
    #[arg(long = "for", value_name = "TIME", requires = "populate")]
    pub time: Option<units::Nanos>,
}

/// Settings that can change while a disk is served.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
pub struct TierChange {
    /// Point at which writes are acknowledged from now on; the command ends when the change is
    /// complete
    #[arg(long, value_enum, requires = "disk")]
    pub mode: Option<TierMode>,
    /// Admit new pages, or not; cached pages are served either way
    #[arg(long, value_name = "on|off", value_parser = on_or_off, requires = "disk")]
    pub populate: Option<bool>,
    /// Largest share of all pages and of memory in percent, 0 to 100; beyond it the disk evicts its
    /// own pages
    #[arg(long, value_name = "PERCENT", requires = "disk", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub share: Option<u8>,
    /// Number of the access that brings a page of the disk in, 1 (the first) to 255
    #[arg(long, value_name = "N", requires = "disk", value_parser = clap::value_parser!(u8).range(1..))]
    pub admission: Option<u8>,
    /// Replacement policy of the disk, as for tier serve; common is the tier's policy
    ///
    /// A disk with its own policy has the pages of its --share to itself, and other disks share the
    /// rest. The memory tier (--memory) keeps the tier's policies. Example: --share 30 --policy
    /// s3fifo
    #[arg(long, value_name = "POLICY", value_parser = tier_policy)]
    pub policy: Option<TierPolicy>,
}

/// Replacement policy of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TierPolicy {
    /// Policy of the disk's own.
    Kind(PolicyKind),
    /// Policy of the tier.
    Common,
}

/// Options of `tilemark tier takeover`.
#[derive(Debug, Args)]
pub struct TierTakeoverArgs {
    /// The disk: its name, and its file or device
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// Proof that the old owner is cut off: pr takes its reservation of the device; agent:COMMAND
    /// exits with 0 when the host is off
    ///
    /// An old owner that still runs would overwrite new data with old data. pr is for a disk that
    /// the old owner serves with --reserve: the device then refuses the old owner's writes. Also
    /// serve the disk here with --reserve. Example: --fence-proof 'agent:fence_ipmilan --ip
    /// 10.0.0.7 --action off'
    #[arg(long, value_name = "pr|agent:COMMAND", conflicts_with = "i_fenced")]
    pub fence_proof: Option<Proof>,
    /// Confirm that you switched that host off, and will not switch it on before the takeover ends
    #[arg(long, value_name = "HOST")]
    pub i_fenced: Option<String>,
    /// Give up the writes in the log for good, if no copy can be reached
    ///
    /// The backing store is then an older state of the disk; `tier status` of the disk's owner
    /// showed how many writes waited.
    #[arg(long)]
    pub accept_loss: bool,
    /// Accept a backing store that does not match the sidecar, by the word in the refusal; repeat
    /// for more
    ///
    /// A backing store that was moved, copied or replaced is refused, and the refusal names the
    /// word to give here. The word is valid once. The log then goes to the present backing store.
    /// Example: --accept-identity wwid:eui.0025388b710116a1@3.41
    #[arg(long, value_name = "IDENTITY@STATE", hide_short_help = true)]
    pub accept_identity: Vec<String>,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
    /// Address of a peer, if the address in the sidecar is no longer right; repeat for more
    #[arg(long = "peer", value_name = "NAME=ADDRESS")]
    pub peers: Vec<PeerAddress>,
    /// A directory with ca.pem, cert.pem and key.pem, for peers that are reached by TLS
    #[arg(long, value_name = "DIR")]
    pub tls: Option<PathBuf>,
}

/// Options of `tilemark tier stale`.
#[derive(Debug, Args)]
pub struct TierStaleArgs {
    #[command(subcommand)]
    pub action: TierStaleAction,
}

/// Subcommands for a log whose disk another host took over.
#[derive(Debug, Subcommand)]
pub enum TierStaleAction {
    /// List the writes in the log
    List(TierStaleLogArgs),
    /// Copy the writes in the log to a new sparse file, each at its offset of the disk
    Export(TierStaleExportArgs),
    /// Remove the log from the tier, for good
    Forget(TierStaleLogArgs),
}

/// Options of `tilemark tier stale list` and `tilemark tier stale forget`.
#[derive(Debug, Args)]
pub struct TierStaleLogArgs {
    /// The file that `tier init` made; no server may be using it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// The disk: its name, and its file or device
    #[arg(value_name = "NAME=BACKING")]
    pub disk: TierDisk,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
}

/// Options of `tilemark tier stale export`.
#[derive(Debug, Args)]
pub struct TierStaleExportArgs {
    #[command(flatten)]
    pub log: TierStaleLogArgs,
    /// New file
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
}

/// Options of `tilemark tier check`.
#[derive(Debug, Args)]
pub struct TierCheckArgs {
    /// The file that `tier init` made; no server may be using it
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Format of stdout
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
        Err("at most 1ms: polling keeps a processor busy".to_owned())
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
    fn poll_time_needs_a_unit_and_is_at_most_one_millisecond() {
        assert_eq!(poll("0"), Ok(units::Nanos::ZERO));
        assert_eq!(poll("1ms"), Ok(POLL_MAX));
        assert!(poll("1001us").is_err_and(|words| words.contains("at most 1ms")));
        assert!(poll("64").is_err(), "of what?");
    }
}
