//! Disks as QEMU is told of them: ranges of files that are open here, reached through this process, so
//! that what was checked is what is used, whatever becomes of a name.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use datastore::VirtualDisk;
use serde_json::{Value, json};

/// How QEMU does I/O on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aio {
    /// `io_uring`, where the kernel lets it.
    Uring,
    /// A pool of threads.
    Threads,
}

/// Nodes of a machine's block layer, the lowest first, and the name of the one that its disk is.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    pub all: Vec<Value>,
    pub root: String,
}

/// The range of a disk as raw bytes. Writes beyond it are refused by QEMU, for it has a size.
pub(super) fn raw(disk: &VirtualDisk, node: &str, aio: Aio, is_read_only: bool) -> Value {
    let is_device = disk.file.metadata().is_ok_and(|found| found.file_type().is_block_device());
    json!({
        "driver": "raw", "node-name": node, "read-only": is_read_only,
        "offset": disk.base, "size": disk.size.get(),
        "file": {
            "driver": if is_device { "host_device" } else { "file" },
            "filename": format!("/proc/{}/fd/{}", std::process::id(), disk.file.as_raw_fd()),
            "read-only": is_read_only,
            "cache": { "direct": disk.direct },
            "aio": match aio { Aio::Uring => "io_uring", Aio::Threads => "threads" },
        },
    })
}

/// A qcow2 layer in the range of a disk, over another node or over nothing that is known yet.
pub(super) fn layer(raw_node: &str, node: &str, over: Option<&str>) -> Value {
    json!({ "driver": "qcow2", "node-name": node, "file": raw_node, "backing": over })
}

impl Nodes {
    /// A whole machine's disk on one range.
    pub fn plain(disk: &VirtualDisk, node: &str, aio: Aio) -> Self {
        Self { all: vec![raw(disk, node, aio, false)], root: node.to_owned() }
    }

    /// What differs from the template on one range, over the template.
    pub fn linked(template: &VirtualDisk, disk: &VirtualDisk, aio: Aio) -> Self {
        let all = vec![
            raw(template, "template", aio, true),
            raw(disk, "difference", aio, false),
            layer("difference", "linked", Some("template")),
        ];
        Self { all, root: "linked".to_owned() }
    }
}
