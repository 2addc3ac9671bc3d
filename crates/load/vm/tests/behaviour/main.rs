//! Operations on real virtual machines. They need QEMU 9.0 or later and the guest's image; a test
//! without them says so.

mod platform;
mod rig;

mod faults;
mod kills;
mod kubevirt;
mod libvirt;
mod moves;
mod proxmox;
