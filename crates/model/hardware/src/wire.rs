use units::Nanos;

use crate::error::{Check, ParameterError};

/// Speed, latency and frames of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkParameters {
    /// Rate of data in full frames, in bytes per second and direction, above zero.
    pub rate: f64,
    /// Time that a message takes in addition to its bytes, each way; zero or more.
    pub latency: Nanos,
    /// Bytes of data in a full frame, above zero.
    pub frame_data: u32,
    /// Bytes on the wire for each frame in addition to its data.
    pub frame_overhead: u32,
    /// Bytes of the storage protocol's header before the data of an I/O: 48 for iSCSI (RFC 7143,
    /// section 11.1), about 128 for header and attributes of an NFSv3 reply (RFC 1813).
    pub header: u32,
}

impl LinkParameters {
    /// Returns parameters of a wire that is a stream of bytes, without frames.
    pub const fn stream(rate: f64, latency: Nanos) -> Self {
        Self { rate, latency, frame_data: u32::MAX, frame_overhead: 0, header: 0 }
    }

    pub(crate) fn check(&self, part: &'static str) -> Result<(), ParameterError> {
        let (check, rate) = (Check(part), self.rate);
        let is_rate = rate.is_finite() && rate > 0.0;
        check.that(is_rate, "rate", format!("{rate} B/s"), "above 0 B/s and finite")?;
        check.that(self.frame_data > 0, "frame", "0 B", "above 0 B")
    }

    /// Returns the wire time of a single message; zero without data.
    pub(crate) fn wire_time(&self, bytes: u32) -> Nanos {
        if bytes == 0 {
            return Nanos::ZERO;
        }
        let (data, overhead) = (f64::from(self.frame_data), f64::from(self.frame_overhead));
        let payload = bytes.saturating_add(self.header);
        let frames = f64::from(payload.div_ceil(self.frame_data));
        let on_wire = f64::from(payload) + frames * overhead;
        Nanos::from_secs_f64(on_wire / (self.rate * (1.0 + overhead / data)))
    }
}

/// Links of known kinds.
///
/// | | Fibre Channel | Ethernet | NVMe over PCIe |
/// |---|---|---|---|
/// | rate | 100 MB/s of data for each Gbit/s (the nominal payload) | bit rate, minus headers | 985 MB/s per lane (8 GT/s, 128b/130b), minus headers |
/// | data of a frame | 2,112 B (FC-FS, data field) | MTU 1,500 B (IEEE 802.3) minus 40 B of IP and TCP (RFC 791, 9293; without options) | 256 B (usual maximum payload of root ports) |
/// | overhead of a frame | 36 B of delimiters, header and CRC, and 24 B for the six words between frames (FC-FS) | 40 B, and 38 B of preamble, header, CRC and gap (IEEE 802.3) | 28 B of framing, header and CRC, the maximum (PCIe 3.0) |
/// | latency, one way | 5 us | 30 us | 1 us |
///
/// Latencies are estimates: the lower ends of 5-10 us and 30-60 us, and our choice for PCIe.
/// One Gbit/s of Ethernet carries 118.7 MB/s, and 123.9 MB/s with jumbo frames of 9,000 B.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkPreset {
    /// Fibre Channel, 4 Gbit/s.
    Fc4,
    /// Fibre Channel, 8 Gbit/s.
    Fc8,
    /// Fibre Channel, 16 Gbit/s.
    Fc16,
    /// Ethernet, 1 Gbit/s.
    Ethernet1,
    /// Ethernet, 10 Gbit/s.
    Ethernet10,
    /// Ethernet, 25 Gbit/s.
    Ethernet25,
    /// NVMe on four lanes of PCIe 3.0.
    NvmePcie3x4,
}

/// Bytes of an Ethernet frame around the IP packet: preamble 8, header 14, CRC 4, gap 12.
const ETHERNET_AROUND: u32 = 38;
/// Headers of IPv4 and TCP without options, in bytes.
const IP_TCP: u32 = 40;

impl LinkPreset {
    /// Every preset, the slowest of each family first.
    pub const ALL: [Self; 7] = [
        Self::Fc4,
        Self::Fc8,
        Self::Fc16,
        Self::Ethernet1,
        Self::Ethernet10,
        Self::Ethernet25,
        Self::NvmePcie3x4,
    ];

    /// Returns the name of the preset in definitions.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fc4 => "fc-4g",
            Self::Fc8 => "fc-8g",
            Self::Fc16 => "fc-16g",
            Self::Ethernet1 => "ethernet-1g",
            Self::Ethernet10 => "ethernet-10g",
            Self::Ethernet25 => "ethernet-25g",
            Self::NvmePcie3x4 => "nvme-pcie3x4",
        }
    }

    /// Returns the preset with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Returns true if hosts can reach one another over such a link.
    pub const fn is_network(self) -> bool {
        matches!(self, Self::Ethernet1 | Self::Ethernet10 | Self::Ethernet25)
    }

    /// Returns the default maximum payload of a frame, in bytes: MTU of Ethernet, data field of
    /// Fibre Channel, payload of PCIe.
    pub const fn frame(self) -> u32 {
        match self {
            Self::Fc4 | Self::Fc8 | Self::Fc16 => 2112,
            Self::Ethernet1 | Self::Ethernet10 | Self::Ethernet25 => 1500,
            Self::NvmePcie3x4 => 256,
        }
    }

    /// Returns the parameters of a link of this kind.
    pub fn parameters(self) -> LinkParameters {
        self.with_frame(self.frame())
    }

    /// Returns the parameters with frames of this size in bytes, see [`LinkPreset::frame`].
    pub fn with_frame(self, frame: u32) -> LinkParameters {
        // Wire bytes per second where headers cost payload; the payload itself for Fibre Channel.
        let (wire_rate, latency_us) = match self {
            Self::Fc4 => (400e6 * FC_GROSS, 5),
            Self::Fc8 => (800e6 * FC_GROSS, 5),
            Self::Fc16 => (1600e6 * FC_GROSS, 5),
            Self::Ethernet1 => (125e6, 30),
            Self::Ethernet10 => (1250e6, 30),
            Self::Ethernet25 => (3125e6, 30),
            Self::NvmePcie3x4 => (4.0 * 985e6, 1),
        };
        let (inside, around) = match self {
            Self::Fc4 | Self::Fc8 | Self::Fc16 => (0, FC_AROUND),
            Self::Ethernet1 | Self::Ethernet10 | Self::Ethernet25 => (IP_TCP, ETHERNET_AROUND),
            Self::NvmePcie3x4 => (0, 28),
        };
        let frame_data = frame.saturating_sub(inside);
        let share = f64::from(frame_data) / f64::from(frame.saturating_add(around));
        LinkParameters {
            rate: wire_rate * share,
            latency: Nanos::from_micros(latency_us),
            frame_data,
            frame_overhead: inside + around,
            header: 0,
        }
    }
}

const FC_AROUND: u32 = 60;
/// Ratio of wire bytes to data bytes in full frames of 2,112 B.
const FC_GROSS: f64 = (2112.0 + 60.0) / 2112.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preset_rates_are_wire_rates_less_headers() {
        let rate = |preset: LinkPreset, frame| preset.with_frame(frame).rate;
        assert!((rate(LinkPreset::Ethernet1, 1500) - 118.66e6).abs() < 1e4);
        assert!((rate(LinkPreset::Ethernet1, 9000) - 123.92e6).abs() < 1e4);
        assert!((rate(LinkPreset::Fc8, 2112) - 800e6).abs() < 1.0);
        assert!((LinkPreset::NvmePcie3x4.parameters().rate / 4e6 - 985.0 * 0.9).abs() < 2.0);
    }

    #[test]
    fn message_pays_for_each_frame_it_needs() {
        let full = LinkPreset::Ethernet1.parameters();
        assert_eq!(full.wire_time(1460), Nanos(1538 * 8), "a full frame of 1,538 B");
        assert_eq!(full.wire_time(1461), Nanos((1538 + 79) * 8), "and one with 1 B");
        let iscsi = LinkParameters { header: 48, ..full };
        assert_eq!(iscsi.wire_time(4096), Nanos((4096 + 48 + 3 * 78) * 8));
        assert_eq!(iscsi.wire_time(0), Nanos::ZERO, "commands take the latency");
    }
}
