//! Models writes that are answered before they are on disk: from a controller's memory, or from a
//! solid-state disk in front of slower storage.

mod bit_tree;
mod dirty;
mod memory;
mod ssd_buffer;

pub use memory::{Mirrored, WriteBack, WriteBackCounts, WriteBackParameters};
pub use ssd_buffer::{SsdBuffer, SsdBufferContent, SsdBufferParameters};
