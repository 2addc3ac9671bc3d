use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Subcommand, ValueEnum};
use units::Bytes;

use super::Format;

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
    /// Make an empty tier in a new file on fast storage
    Init(TierInitArgs),
    /// Serve disks through a tier, over NBD
    Serve(TierServeArgs),
    /// Say how a served tier is doing
    Status(TierStatusArgs),
    /// Put what a disk's log has into its backing store
    Drain(TierDiskArgs),
    /// Change how a served disk is cached
    Set(TierSetArgs),
    /// Read all of a tier's structure and say what is in it; change nothing
    Check(TierCheckArgs),
}

/// `tier init`.
#[derive(Debug, Args)]
pub struct TierInitArgs {
    /// The file, which is made
    ///
    /// Its room is taken at once. On a file system that does direct I/O (ext4, xfs).
    /// Example: tilemark tier init /fast/tier --size 200GiB
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// How large
    #[arg(long, value_name = "SIZE")]
    pub size: Bytes,
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

/// `tier serve`.
#[derive(Debug, Args)]
pub struct TierServeArgs {
    /// The file that `tier init` made
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// A disk: its name for clients, and the file or device that it is on; again for more
    ///
    /// The name is how its pages and its log are found again. Beside a backing file a sidecar FILE.tilemark-tier
    /// says whose newest writes it has; a device needs --sidecar.
    #[arg(long = "disk", value_name = "NAME=BACKING", required = true)]
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
    /// An address where clients come in over TCP; beyond this machine only with certificates
    ///
    /// Example: --listen 10.0.0.5:10809 --tls-cert host.pem --tls-key host.key --tls-client-ca clients.pem
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// This host's certificate and those that vouch for it, PEM
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_client_ca", "listen"])]
    pub tls_cert: Option<PathBuf>,
    /// Its key, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Who vouches for clients, PEM; others are not let in
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_client_ca: Option<PathBuf>,
    /// The Unix socket where `tier status` and others ask [default: that of clients with .control]
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub control: Option<PathBuf>,
    /// A directory for sidecars, instead of beside the backing files
    #[arg(long, value_name = "DIR", hide_short_help = true)]
    pub sidecar: Option<PathBuf>,
    /// Which page leaves: lru, fifo, clock, 2q, arc, s3fifo, sieve, lirs, w-tinylfu
    #[arg(long, value_name = "POLICY", default_value_t = cache::PolicyKind::Lru)]
    pub policy: cache::PolicyKind,
    /// The access that brings a page in, 1 (the first) to 255; FAST Cache waits for the third
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..))]
    pub admission: u8,
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
    /// What stdout carries
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `tier drain`.
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
    /// Which.
    #[command(flatten)]
    pub disk: TierDiskArgs,
    /// How its writes are answered from now on; done when they are
    #[arg(long, value_enum, required_unless_present = "populate")]
    pub mode: Option<TierMode>,
    /// Whether new pages come in; what is there is served either way
    #[arg(long, value_name = "on|off", value_parser = on_or_off)]
    pub populate: Option<bool>,
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

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("on or off".to_owned()),
    }
}
