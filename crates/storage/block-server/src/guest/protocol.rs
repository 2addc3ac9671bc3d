use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};

use nbd::Export;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use vhost::vhost_user::message::{
    VhostTransferStateDirection, VhostTransferStatePhase, VhostUserConfigFlags, VhostUserInflight,
    VhostUserLog, VhostUserMemoryRegion, VhostUserProtocolFeatures, VhostUserShMemConfig,
    VhostUserSharedMsg, VhostUserSingleMemoryRegion, VhostUserVirtioFeatures,
    VhostUserVringAddrFlags, VhostUserVringState,
};
use vhost::vhost_user::{
    BackendReqHandler, Error, GpuBackend, Result, VhostUserBackendReqHandlerMut,
};
use virtio_bindings::bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use virtio_queue::{Queue, QueueT};

use super::blk;
use super::inflight::Area;
use super::memory::{Memory, Unsafe, check_event};
use super::queue::{GuestQueue, QueueParts};
use crate::shared::Shared;

/// Maximum number of queues of one disk. QEMU makes one for each virtual processor.
const QUEUES_MAX: u16 = 64;
/// Maximum number of entries of a queue. QEMU makes 128 by default, and at most 1,024.
const ENTRIES_MAX: u16 = 1024;
/// Size of the readable part of the configuration space, in bytes (the specification, "Virtio
/// device config space").
const CONFIG_MAX: usize = 256;

/// Order from a front end's thread to the server's thread.
pub(crate) enum Order {
    /// Serves a queue from now on.
    Start { guest: u32, queue: u16, made: Box<GuestQueue>, features: u64 },
    /// Stops a queue. The reply comes once all of its requests are answered, and is the index of
    /// the queue's next available entry.
    Stop { guest: u32, queue: u16, reply: SyncSender<u16> },
    /// Replaces the eventfd that interrupts the guest.
    Call { guest: u32, queue: u16, call: Option<Arc<OwnedFd>> },
    /// Replaces the VM's memory.
    Memory { guest: u32, memory: Arc<Memory> },
    /// The front end disconnected.
    End { guest: u32 },
}

/// Registration of a front end with the server. Dropping it reports that the front end has
/// disconnected.
pub(crate) struct Seat {
    pub guest: u32,
    pub orders: Sender<Order>,
    pub shared: Arc<Shared>,
}

impl Seat {
    fn send(&self, order: Order) -> Result<()> {
        let gone = |_| Error::BackendInternalError;
        self.orders.send(order).map_err(gone)?;
        rustix::io::write(&self.shared.event, &1_u64.to_ne_bytes())
            .map_err(|_| Error::BackendInternalError)?;
        Ok(())
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // A server that has ended needs no report.
        let _ = self.send(Order::End { guest: self.guest });
    }
}

/// Handles a front end's messages until it disconnects.
pub(crate) fn speak(stream: UnixStream, seat: Seat, export: Export) {
    let (shared, name) = (Arc::clone(&seat.shared), export.name().to_owned());
    let talk = Arc::new(Mutex::new(FrontEndSettings::new(seat, export)));
    let mut handler = BackendReqHandler::from_stream(stream, talk);
    let ended = loop {
        match handler.handle_request() {
            Ok(()) | Err(Error::SocketRetry(_)) => {}
            Err(error) => break error,
        }
    };
    match ended {
        // The front end disconnected, or the server ends.
        Error::Disconnected | Error::BackendInternalError | Error::SocketBroken(_) => {}
        Error::ReqHandlerError(why) => {
            let refused = why.get_ref().and_then(|inner| inner.downcast_ref::<Unsafe>());
            let hint = refused.map(|refused| refused.hint());
            shared.note_with_hint(format!("{name}, over vhost-user: {why}"), hint);
        }
        why => {
            shared.note(format!("{name}, over vhost-user: the front end is disconnected: {why}"))
        }
    }
}

/// Settings that a front end has sent for its VM.
struct FrontEndSettings {
    seat: Seat,
    export: Export,
    features: u64,
    memory: Option<Arc<Memory>>,
    area: Option<Arc<Area>>,
    queues: Vec<QueueSettings>,
}

/// Settings that a front end has sent for a queue.
#[derive(Default)]
struct QueueSettings {
    entries: u16,
    /// Addresses of descriptor table, available ring and used ring, in the front end's address
    /// space.
    places: Option<[u64; 3]>,
    /// Index of the next available entry.
    base: u16,
    kick: Option<Arc<OwnedFd>>,
    call: Option<Arc<OwnedFd>>,
    is_enabled: bool,
    is_running: bool,
}

fn refused(why: &'static str) -> Error {
    Error::ReqHandlerError(io::Error::other(why))
}

fn event(file: Option<File>) -> Result<Option<Arc<OwnedFd>>> {
    let Some(file) = file else { return Ok(None) };
    check_event(&file).map_err(Error::ReqHandlerError)?;
    // Non-blocking, so that a write to it never delays the server.
    let set = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags | OFlags::NONBLOCK));
    set.map_err(|errno| Error::ReqHandlerError(errno.into()))?;
    Ok(Some(Arc::new(file.into())))
}

impl FrontEndSettings {
    fn new(seat: Seat, export: Export) -> Self {
        let queues = (0..QUEUES_MAX).map(|_| QueueSettings::default()).collect();
        Self { seat, export, features: 0, memory: None, area: None, queues }
    }

    fn said(&mut self, queue: u32) -> Result<&mut QueueSettings> {
        self.queues.get_mut(queue as usize).ok_or(Error::InvalidParam)
    }

    /// Starts a queue once its settings are complete and it is enabled.
    fn start(&mut self, queue: u32) -> Result<()> {
        let is_always_enabled =
            self.features & VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits() == 0;
        let Some(memory) = self.memory.clone() else { return Ok(()) };
        let (features, area) = (self.features, self.area.clone());
        let said = self.said(queue)?;
        if said.is_running || !(said.is_enabled || is_always_enabled) {
            return Ok(());
        }
        let (Some(kick), Some(places)) = (said.kick.clone(), said.places) else { return Ok(()) };
        let (entries, base, call) = (said.entries, said.base, said.call.clone());
        let mut ring = ring(&memory, entries, places)?;
        ring.set_next_avail(base);
        ring.set_event_idx(features & 1 << VIRTIO_RING_F_EVENT_IDX != 0);
        let index = u16::try_from(queue).expect("there are at most 64 queues");
        let parts = QueueParts { ring, memory, area, index, kick, call };
        let made = GuestQueue::new(parts).map_err(|_| {
            refused("a queue does not fit into the memory for requests in flight, or is outside it")
        })?;
        self.said(queue)?.is_running = true;
        let (guest, made) = (self.seat.guest, Box::new(made));
        self.seat.send(Order::Start { guest, queue: index, made, features })
    }

    /// Stops a queue and waits until all of its requests are answered.
    fn stop(&mut self, queue: u32) -> Result<()> {
        if !self.said(queue)?.is_running {
            return Ok(());
        }
        let (reply, told) = sync_channel(1);
        let index = u16::try_from(queue).expect("there are at most 64 queues");
        self.seat.send(Order::Stop { guest: self.seat.guest, queue: index, reply })?;
        let base = told.recv().map_err(|_| Error::BackendInternalError)?;
        let said = self.said(queue)?;
        (said.base, said.is_running) = (base, false);
        Ok(())
    }

    fn stop_all(&mut self) -> Result<()> {
        for queue in 0..u32::from(QUEUES_MAX) {
            self.stop(queue)?;
            let call = self.said(queue)?.call.take();
            *self.said(queue)? = QueueSettings { call, ..QueueSettings::default() };
        }
        Ok(())
    }

    fn offered(&self) -> u64 {
        blk::features(&self.export) | VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits()
    }
}

fn ring(memory: &Memory, entries: u16, places: [u64; 3]) -> Result<Queue> {
    let outside = || refused("a queue is outside the VM's memory");
    let [table, available, used] = places;
    let place = |at: u64| memory.translate(at).map(vm_memory::GuestAddress).ok_or_else(outside);
    let mut ring = Queue::new(ENTRIES_MAX).expect("the queue size is a power of two");
    let wrong = |_| refused("a queue has an invalid size or address");
    ring.try_set_size(entries).map_err(wrong)?;
    ring.try_set_desc_table_address(place(table)?).map_err(wrong)?;
    ring.try_set_avail_ring_address(place(available)?).map_err(wrong)?;
    ring.try_set_used_ring_address(place(used)?).map_err(wrong)?;
    ring.set_ready(true);
    if ring.is_valid(&memory.guest) { Ok(ring) } else { Err(outside()) }
}

impl VhostUserBackendReqHandlerMut for FrontEndSettings {
    fn set_owner(&mut self) -> Result<()> {
        Ok(())
    }

    fn reset_owner(&mut self) -> Result<()> {
        self.stop_all()
    }

    fn reset_device(&mut self) -> Result<()> {
        self.stop_all()
    }

    fn get_features(&mut self) -> Result<u64> {
        Ok(self.offered())
    }

    fn set_features(&mut self, features: u64) -> Result<()> {
        if features & !self.offered() != 0 {
            return Err(Error::FeatureMismatch);
        }
        self.features = features;
        Ok(())
    }

    fn set_mem_table(
        &mut self,
        regions: &[VhostUserMemoryRegion],
        files: Vec<File>,
        _: Option<bool>,
    ) -> Result<Option<Vec<vhost::VhostUserMemoryRegionBase>>> {
        let memory = Memory::map(regions, files).map_err(Error::ReqHandlerError)?;
        let memory = Arc::new(memory);
        self.memory = Some(Arc::clone(&memory));
        self.seat.send(Order::Memory { guest: self.seat.guest, memory })?;
        Ok(None)
    }

    fn set_vring_num(&mut self, queue: u32, entries: u32) -> Result<()> {
        let entries = u16::try_from(entries).map_err(|_| Error::InvalidParam)?;
        self.said(queue)?.entries = entries;
        Ok(())
    }

    fn set_vring_addr(
        &mut self,
        queue: u32,
        _: VhostUserVringAddrFlags,
        table: u64,
        used: u64,
        available: u64,
        _: u64,
    ) -> Result<()> {
        self.said(queue)?.places = Some([table, available, used]);
        self.start(queue)
    }

    fn set_vring_base(&mut self, queue: u32, base: u32) -> Result<()> {
        self.said(queue)?.base = u16::try_from(base).map_err(|_| Error::InvalidParam)?;
        Ok(())
    }

    fn get_vring_base(&mut self, queue: u32) -> Result<VhostUserVringState> {
        self.stop(queue)?;
        let said = self.said(queue)?;
        said.kick = None;
        Ok(VhostUserVringState::new(queue, said.base.into()))
    }

    fn set_vring_kick(&mut self, queue: u8, kick: Option<File>) -> Result<()> {
        let kick = event(kick)?.ok_or_else(|| refused("queues without kicks are not supported"))?;
        self.stop(queue.into())?;
        self.said(queue.into())?.kick = Some(kick);
        self.start(queue.into())
    }

    fn set_vring_call(&mut self, queue: u8, call: Option<File>) -> Result<()> {
        let call = event(call)?;
        let said = self.said(queue.into())?;
        said.call.clone_from(&call);
        if !said.is_running {
            return Ok(());
        }
        self.seat.send(Order::Call { guest: self.seat.guest, queue: queue.into(), call })
    }

    fn set_vring_err(&mut self, _: u8, _: Option<File>) -> Result<()> {
        Ok(())
    }

    fn get_protocol_features(&mut self) -> Result<VhostUserProtocolFeatures> {
        Ok(VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::CONFIG
            | VhostUserProtocolFeatures::RESET_DEVICE
            | VhostUserProtocolFeatures::INFLIGHT_SHMFD)
    }

    fn set_protocol_features(&mut self, _: u64) -> Result<()> {
        Ok(())
    }

    fn get_queue_num(&mut self) -> Result<u64> {
        Ok(QUEUES_MAX.into())
    }

    fn set_vring_enable(&mut self, queue: u32, enable: bool) -> Result<()> {
        self.said(queue)?.is_enabled = enable;
        if enable { self.start(queue) } else { self.stop(queue) }
    }

    fn get_config(&mut self, at: u32, bytes: u32, _: VhostUserConfigFlags) -> Result<Vec<u8>> {
        let mut config = blk::config(&self.export, QUEUES_MAX).to_vec();
        config.resize(CONFIG_MAX, 0);
        let (at, bytes) = (at as usize, bytes as usize);
        let wanted = at.checked_add(bytes).and_then(|end| config.get(at..end));
        Ok(wanted.ok_or(Error::InvalidParam)?.to_vec())
    }

    fn set_config(&mut self, _: u32, _: &[u8], _: VhostUserConfigFlags) -> Result<()> {
        Err(Error::InvalidOperation("the configuration is read-only"))
    }

    fn get_inflight_fd(&mut self, wanted: &VhostUserInflight) -> Result<(VhostUserInflight, File)> {
        let VhostUserInflight { num_queues, queue_size, .. } = *wanted;
        if num_queues > QUEUES_MAX || queue_size > ENTRIES_MAX {
            return Err(Error::InvalidParam);
        }
        Area::make(wanted).map_err(Error::ReqHandlerError)
    }

    fn set_inflight_fd(&mut self, kept: &VhostUserInflight, file: File) -> Result<()> {
        self.area = Some(Arc::new(Area::map(kept, file).map_err(Error::ReqHandlerError)?));
        Ok(())
    }

    fn set_gpu_socket(&mut self, _: GpuBackend) -> Result<()> {
        Err(Error::InvalidOperation("it is a disk"))
    }

    fn get_shared_object(&mut self, _: VhostUserSharedMsg) -> Result<File> {
        Err(Error::InvalidOperation("it shares none"))
    }

    fn get_max_mem_slots(&mut self) -> Result<u64> {
        Err(Error::InvalidOperation("single memory regions cannot be changed"))
    }

    fn add_mem_region(
        &mut self,
        _: &VhostUserSingleMemoryRegion,
        _: File,
        _: Option<bool>,
    ) -> Result<Option<vhost::VhostUserMemoryRegionBase>> {
        Err(Error::InvalidOperation("single memory regions cannot be changed"))
    }

    fn remove_mem_region(&mut self, _: &VhostUserSingleMemoryRegion) -> Result<()> {
        Err(Error::InvalidOperation("single memory regions cannot be changed"))
    }

    fn set_device_state_fd(
        &mut self,
        _: VhostTransferStateDirection,
        _: VhostTransferStatePhase,
        _: File,
    ) -> Result<Option<File>> {
        Err(Error::InvalidOperation("transfer of device state is not supported"))
    }

    fn check_device_state(&mut self) -> Result<()> {
        Err(Error::InvalidOperation("transfer of device state is not supported"))
    }

    fn get_shmem_config(&mut self) -> Result<VhostUserShMemConfig> {
        Err(Error::InvalidOperation("shared memory is not supported"))
    }

    fn set_log_base(&mut self, _: &VhostUserLog, _: File) -> Result<()> {
        Err(Error::InvalidOperation("live migration is not supported"))
    }
}
