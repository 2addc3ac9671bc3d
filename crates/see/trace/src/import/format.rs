use std::fmt;
use std::str::FromStr;

/// A format that [`crate::open`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Binary vSCSI traces, versions 1 and 2.
    Vscsi,
    /// vSCSI traces as text.
    VscsiText,
    /// vSCSI traces in the columns of cache simulators.
    VscsiCsv,
    /// MSR Cambridge CSV.
    Msr,
    /// Binary traces of blktrace.
    Blktrace,
    /// Text of blkparse.
    Blkparse,
    /// fio's logs of I/O, versions 2 and 3.
    FioIolog,
    /// fio's latency logs.
    FioLat,
    /// Alibaba Cloud's block traces.
    Alibaba,
    /// Tencent Cloud's block traces.
    Tencent,
    /// Traces of SYSTOR 2017.
    Systor,
    /// SPC traces as UMass publishes them.
    Spc,
    /// Disk I/O of Windows as text.
    Etw,
    /// Output of biosnoop.
    Biosnoop,
    /// CSV of iotrace.
    Iotrace,
    /// Text of MQSim and SSDsim.
    Mqsim,
    /// Text of DiskSim.
    Disksim,
    /// References of the ARC paper.
    Arc,
    /// References in oracleGeneral.
    OracleGeneral,
}

struct Described {
    format: Format,
    name: &'static str,
    aliases: &'static [&'static str],
    help: &'static str,
}

const DESCRIBED: [Described; 19] = [
    Described {
        format: Format::Vscsi,
        name: "vscsi",
        aliases: &["cloudphysics", "vscsi1", "vscsi2"],
        help: "VMware vSCSI trace, binary, version 1 (32 B) or 2 (40 B)",
    },
    Described {
        format: Format::VscsiText,
        name: "vscsi-text",
        aliases: &["vscsi-cmd"],
        help: "VMware vSCSI command trace as text: serial, bytes, entries, command, block, us",
    },
    Described {
        format: Format::VscsiCsv,
        name: "vscsi-csv",
        aliases: &["libcachesim-csv"],
        help: "vSCSI trace as cache simulators print it: version,time,op,size,lbn",
    },
    Described {
        format: Format::Msr,
        name: "msr",
        aliases: &["msr-cambridge", "cambridge"],
        help: "MSR Cambridge CSV: Windows file time, host, disk, Read or Write, bytes, response",
    },
    Described {
        format: Format::Blktrace,
        name: "blktrace",
        aliases: &["blkparse-binary"],
        help: "blktrace, binary: one file (blkparse -d) or all per-CPU files of a device",
    },
    Described {
        format: Format::Blkparse,
        name: "blkparse",
        aliases: &["blkparse-text"],
        help: "blkparse's text in its default layout: Q, D and C of an I/O become one record",
    },
    Described {
        format: Format::FioIolog,
        name: "fio-iolog",
        aliases: &["fio", "iolog"],
        help: "fio's write_iolog, version 2 (order, or times by waits) or 3 (us)",
    },
    Described {
        format: Format::FioLat,
        name: "fio-lat",
        aliases: &["fio-latency", "fio-clat"],
        help: "fio's write_lat_log: ms at the end, ns of latency, direction, bytes, offset if logged",
    },
    Described {
        format: Format::Alibaba,
        name: "alibaba",
        aliases: &["ali", "alibaba-block"],
        help: "Alibaba Cloud CSV: device_id,opcode,offset,length,timestamp (us)",
    },
    Described {
        format: Format::Tencent,
        name: "tencent",
        aliases: &["tencent-block", "cbs"],
        help: "Tencent Cloud CSV: seconds,offset,size (sectors),type,volume; whole seconds only",
    },
    Described {
        format: Format::Systor,
        name: "systor",
        aliases: &["systor17", "systor-17", "lun"],
        help: "SYSTOR '17 CSV: Timestamp,Response,IOType,LUN,Offset,Size",
    },
    Described {
        format: Format::Spc,
        name: "spc",
        aliases: &["umass", "spc1"],
        help: "SPC (UMass) text: ASU,LBA (512 B),bytes,opcode,seconds",
    },
    Described {
        format: Format::Etw,
        name: "etw",
        aliases: &["xperf", "diskio"],
        help: "Windows disk I/O (ETW) as xperf's dumper prints it: DiskRead, DiskWrite, DiskFlush",
    },
    Described {
        format: Format::Biosnoop,
        name: "biosnoop",
        aliases: &["bcc"],
        help: "bcc's biosnoop, with or without the QUE column",
    },
    Described {
        format: Format::Iotrace,
        name: "iotrace",
        aliases: &["octf", "open-cas"],
        help: "Open CAS iotrace CSV, by the names of its columns",
    },
    Described {
        format: Format::Mqsim,
        name: "mqsim",
        aliases: &["ssdsim"],
        help: "MQSim or SSDsim text: ns, device, sector, sectors, 1 for a read",
    },
    Described {
        format: Format::Disksim,
        name: "disksim",
        aliases: &["disksim-ascii"],
        help: "DiskSim text: ms, device, sector, sectors, flags (1: read)",
    },
    Described {
        format: Format::Arc,
        name: "arc",
        aliases: &["lis"],
        help: "references of the ARC paper (.lis): block, blocks, 0, number; no times",
    },
    Described {
        format: Format::OracleGeneral,
        name: "oracle-general",
        aliases: &["oraclegeneral", "oracle"],
        help: "oracleGeneral, binary references: seconds, object, size, next reference",
    },
];

impl Format {
    /// All of them, in the order they are listed to users.
    pub fn all() -> impl Iterator<Item = Self> {
        DESCRIBED.iter().map(|described| described.format)
    }

    /// Its name, as `--from` takes it.
    pub fn name(self) -> &'static str {
        self.described().name
    }

    /// Other names `--from` takes.
    pub fn aliases(self) -> &'static [&'static str] {
        self.described().aliases
    }

    /// One line for a list of formats.
    pub fn help(self) -> &'static str {
        self.described().help
    }

    fn described(self) -> &'static Described {
        let found = DESCRIBED.iter().find(|described| described.format == self);
        found.expect("every format is described, which a test holds")
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wanted = text.to_ascii_lowercase().replace('_', "-");
        let is = |d: &&Described| d.name == wanted || d.aliases.contains(&wanted.as_str());
        DESCRIBED.iter().find(is).map(|d| d.format).ok_or_else(|| {
            let names: Vec<&str> = DESCRIBED.iter().map(|d| d.name).collect();
            format!("trace format \"{text}\" is none of {}", names.join(", "))
        })
    }
}
