//! Block server: gives disks to virtual machines over NBD and vhost-user, and to this host through
//! ublk.
//!
//! Function: one thread with one io_uring listens on Unix sockets and on TCP and speaks [`nbd`]
//! with every client. It hands requests to a [`Disk`], which answers at once, or whose [`Service`]
//! orders I/O on files through the same ring. All answers of one loop turn to a client leave in one
//! send. This crate has two disks: memory ([`RamDisk`]), and a file or block device ([`FileDisk`]).
//! A listener may require TLS with certificates on both sides. A device that several hosts share
//! can be reserved ([`Reservations`]). A VM on this host can use a disk without a socket in the I/O
//! path, as virtio-blk over vhost-user (`guest`), with the same ring and the same disks. This host
//! itself can use a disk as a block device (`ublk`).
//!
//! Refused: TCP without TLS beyond this host; creating, formatting or growing the files it opens; a
//! file or device that another process holds; a client's request beyond the limits in [`Limits`].
//!
//! Invariants: each request is answered once, or its connection is closed. An error of a disk is an
//! error to the client, and never zeroes. A client takes no more of the server than its share,
//! whatever it sends or fails to send, and delays no other client's answers. The ring owns each
//! buffer that the kernel uses until the kernel has completed the operation. Stopping answers the
//! requests that arrived and closes the connections, so that a client that reconnects sends the
//! rest again.
#![deny(unsafe_code)]

mod alarms;
mod batch;
mod buffer;
mod channel;
mod clients;
mod core;
mod counters;
mod disk;
mod error;
mod file;
mod front_end;
mod guest;
mod in_memory;
mod input;
mod limits;
mod listen;
mod listeners;
#[expect(unsafe_code, reason = "buffers are memory of the kernel's")]
mod mapping;
mod offer;
mod order;
mod polling;
mod ram;
#[expect(unsafe_code, reason = "calls of the kernel that have no safe wrapper")]
mod reservations;
#[expect(unsafe_code, reason = "the ring is shared with the kernel")]
mod ring;
mod running;
mod shared;
mod tls;
mod token;
mod ublk;
mod worker;

pub use buffer::{Buffer, Pool};
pub use counters::Counts;
pub use disk::{Action, Answer, Catalog, Disk, Effects, Io, Request, Service};
pub use error::{OpenError, StartError};
pub use file::{Access, ExclusiveFile, FileDisk, hold};
pub use limits::Limits;
pub use listen::{Listen, ListenAddress};
pub use offer::Offer;
pub use ram::RamDisk;
pub use reservations::{ByKernel, ReservationError, Reservations};
pub use running::{Running, Waker, start, start_with};
pub use shared::Note;
pub use state_machine::{IoId, RequestId};
pub use tls::{ClientTls, Tls};
