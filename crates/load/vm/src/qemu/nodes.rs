//! Block nodes for QEMU: ranges of files that this process has open. So QEMU uses the file that was
//! checked, even if its name is replaced.

use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;

use datastore::VirtualDisk;
use serde_json::{Value, json};

/// Kind of QEMU's I/O on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Aio {
    /// `io_uring`, if the kernel allows it.
    Uring,
    /// A pool of threads.
    Threads,
}

/// Nodes of a block layer, starting with the lowest, and the name of the node that is the disk.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    pub all: Vec<Value>,
    pub root: String,
}

/// Returns the range of a disk as a node of raw bytes. The node has a size, so QEMU refuses writes
/// beyond it.
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

/// Returns a qcow2 layer in the range of a disk, above another node, or without a node below it
/// yet.
pub(super) fn layer(raw_node: &str, node: &str, over: Option<&str>) -> Value {
    json!({ "driver": "qcow2", "node-name": node, "file": raw_node, "backing": over })
}

impl Nodes {
    /// Creates the nodes of a virtual machine's disk on one range.
    pub fn plain(disk: &VirtualDisk, node: &str, aio: Aio) -> Self {
        Self { all: vec![raw(disk, node, aio, false)], root: node.to_owned() }
    }

    /// Creates the nodes of a linked disk: the template, and the differences from it on one range.
    pub fn linked(template: &VirtualDisk, disk: &VirtualDisk, aio: Aio) -> Self {
        let all = vec![
            raw(template, "template", aio, true),
            raw(disk, "difference", aio, false),
            layer("difference", "linked", Some("template")),
        ];
        Self { all, root: "linked".to_owned() }
    }
}
