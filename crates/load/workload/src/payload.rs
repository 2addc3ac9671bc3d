use spec::workload::DataPattern;
use state_machine::{Content, Pattern, Purpose, Stream};

/// Number of contents that dedupable writes repeat.
const CONTENTS: usize = 64;

/// Content of a step's writes.
#[derive(Debug, Clone, Copy)]
pub struct Data {
    compressible_percent: u8,
    dedupable: f64,
}

impl Data {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of 100 is 0 to 100"
    )]
    pub fn new(pattern: &DataPattern) -> Self {
        Self {
            compressible_percent: (pattern.compressible.get() * 100.0).round() as u8,
            dedupable: pattern.dedupable.get(),
        }
    }
}

/// Seeds of an instance's payloads. They have their own random stream, so that the content of
/// writes does not influence their addresses.
#[derive(Debug, Clone)]
pub struct Payload {
    stream: Stream,
    /// Seeds of the repeated contents. They are the same in all instances of a run, like copies of
    /// one operating system image.
    contents: [u64; CONTENTS],
}

impl Payload {
    pub fn new(seed: u64, path: &[u64]) -> Self {
        let mut shared = Stream::derive(seed, &[], Purpose::Payload);
        Self {
            stream: Stream::derive(seed, path, Purpose::Payload),
            contents: std::array::from_fn(|_| shared.bits()),
        }
    }

    /// Returns its random stream.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Returns its random stream, to be replaced by a saved one.
    pub const fn stream_mut(&mut self) -> &mut Stream {
        &mut self.stream
    }

    /// Returns the pattern of the next write.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "below 64")]
    pub fn next(&mut self, data: &Data) -> Pattern {
        let seed = if data.dedupable > 0.0 && self.stream.chance(data.dedupable) {
            self.contents[self.stream.below(CONTENTS as u64) as usize]
        } else {
            self.stream.bits()
        };
        Pattern { seed, compressible_percent: data.compressible_percent, content: Content::Made }
    }
}
