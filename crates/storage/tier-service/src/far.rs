//! Client side of a disk that another server owns: a thread that forwards reads to the owner, and
//! takes the disk over when a client here changes data.
//!
//! The export `owner/NAME` of the other server answers only while that server owns the disk, so
//! requests are never forwarded along a chain of servers. A write to `pull/NAME` makes the other
//! server give up the disk, and is answered afterwards. The bytes of the write are the address of
//! the new owner and the address at which it reached the old owner ([`message`]).
//!
//! After a broken connection, reads and flushes are sent again, and so is a pull: a server that has
//! already given up the disk answers at once. After the time of [`Control::with_patience`] a
//! client's request fails.

use std::io;
use std::path::Path;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use block_server::Request;
use nbd::Operation;
use nbd::{BlockSizes, Code, Export, Uri};
use tier::REQUEST_BYTES_MAX;

use crate::asking::Control;
use crate::coming::Offer;
use crate::error::Refusal;
use crate::inbox::{Ask, Elsewhere, Move, Room};
use crate::opening::Opening;
use crate::route::{Line, Other, Shape, Want};
use crate::set::{abilities, places};
use crate::way::ExportConnection;

/// Size of a pull message, in bytes.
pub(crate) const PULL_BYTES: u32 = 4096;
/// Pause before a server that does not answer, or does not give up the disk, is asked again.
const AGAIN: Duration = Duration::from_millis(100);
/// Maximum number of requests that are sent together.
const BATCH: usize = 64;

/// Encodes a pull message: two addresses, one per line, then zeros.
pub(crate) fn message(other: &Other) -> Result<Vec<u8>, Refusal> {
    let mut text = format!("{}\n{}\n", other.back, other.address).into_bytes();
    if text.len() > PULL_BYTES as usize {
        return Err(Refusal::new(format!(
            "addresses of {} B are longer than {PULL_BYTES} B",
            text.len()
        )));
    }
    text.resize(PULL_BYTES as usize, 0);
    Ok(text)
}

/// Decodes a pull message. Returns the server that pulls.
pub(crate) fn puller(bytes: &[u8]) -> Option<Other> {
    let text = std::str::from_utf8(bytes).ok()?.trim_end_matches('\0');
    let (address, back) = text.strip_suffix('\n')?.split_once('\n')?;
    other(address, back).ok()
}

fn other(address: &str, back: &str) -> Result<Other, Refusal> {
    let parse = |text: &str| -> Result<Uri, Refusal> {
        match text.chars().any(char::is_control) {
            true => Err("an address has no control characters".into()),
            false => Ok(text.parse::<Uri>()?),
        }
    };
    let (uri, _) = (parse(address)?, parse(back)?);
    Ok(Other { uri, address: address.to_owned(), back: back.to_owned() })
}

/// State of the thread that talks to the owner of a disk.
pub(crate) struct Far {
    control: Control,
    opening: Opening,
    other: Other,
    wants: Receiver<Want>,
    way: Option<ExportConnection>,
    shape: Shape,
}

impl Control {
    /// Connects to the server that owns a disk, checks the disk's size, and starts a thread for it.
    pub(crate) fn find(
        &self,
        opening: Opening,
        elsewhere: &Elsewhere,
        room: &Room,
    ) -> Result<Offer, Refusal> {
        let other = other(&elsewhere.from, &elsewhere.at)?;
        message(&other)?;
        places(&room.superblock, std::slice::from_ref(&opening))?;
        let name = &opening.name;
        let way = ExportConnection::open(&other.uri, &format!("owner/{name}"), self.tls.as_ref());
        let way = way.map_err(|error| {
            Refusal::with_hint(
                format!("{}, as the owner, does not release {name}: {error}", other.address),
                "attach a disk without an owner without --from",
            )
        })?;
        let agreed = way.requests.agreed();
        let (size, theirs) = (agreed.size, agreed.blocks);
        let here = size_of(&opening.backing).map_err(|error| {
            Refusal::new(format!("could not examine {}: {error}", opening.backing.display()))
        })?;
        if here / u64::from(theirs.minimum()) * u64::from(theirs.minimum()) != size {
            let (file, theirs) = (opening.backing.display(), &other.address);
            return Err(Refusal::with_hint(
                format!("{file} has {here} B, but the disk of {theirs} has {size} B"),
                "both servers must use the same file or device",
            ));
        }
        let most = theirs.maximum().min(room.request_bytes_max).min(REQUEST_BYTES_MAX);
        let blocks = BlockSizes::new(theirs.minimum(), theirs.preferred(), most);
        let export = blocks.and_then(|blocks| Export::new(name, size, blocks, abilities()))?;
        let shape = Shape::of(&export);
        let (line, far) = Far::new(self.clone(), opening.clone(), other, shape);
        let begun = std::thread::Builder::new().name("far".to_owned()).spawn(move || far.run());
        begun.map_err(Refusal::new)?;
        let opening = Box::new(opening);
        let route = self.tell(|tell| Ask::Move(Move::Come { opening, shape, line, tell }), None)?;
        Ok(Offer { export, route, skipped: None })
    }
}

/// Returns the size of a file or device, in bytes. Only metadata is read: closing a descriptor of
/// the file would drop this process's POSIX locks on it.
fn size_of(path: &Path) -> io::Result<u64> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let found = std::fs::metadata(path)?;
    if found.file_type().is_block_device() {
        let (major, minor) = (rustix::fs::major(found.rdev()), rustix::fs::minor(found.rdev()));
        let sectors = std::fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/size"))?;
        let sectors: u64 = sectors.trim().parse().map_err(io::Error::other)?;
        return Ok(sectors * 512);
    }
    Ok(found.len())
}

impl Far {
    pub(crate) fn new(
        control: Control,
        opening: Opening,
        other: Other,
        shape: Shape,
    ) -> (Line, Self) {
        let (wants, wanted) = channel();
        let line = Line { wants, other: other.clone() };
        (line, Self { control, opening, other, wants: wanted, way: None, shape })
    }

    /// Handles requests until the set has dropped the [`crate::route::Line`].
    pub(crate) fn run(mut self) {
        while let Ok(mut want) = self.wants.recv() {
            let mut asked = Vec::new();
            let is_pull = loop {
                match want {
                    Want::Pull => break true,
                    Want::Ask(request, since) => asked.push((request, since)),
                }
                if asked.len() == BATCH {
                    break false;
                }
                match self.wants.try_recv() {
                    Ok(next) => want = next,
                    Err(_) => break false,
                }
            };
            self.ask(asked);
            if is_pull {
                self.pull();
            }
        }
    }

    /// Returns true once the set has been dropped.
    fn is_over(&self) -> bool {
        self.control.core.get().is_none_or(|core| core.strong_count() == 0)
    }

    /// Sends requests to the owner until all are answered or have waited too long.
    fn ask(&mut self, mut asked: Vec<(Request, Instant)>) {
        while let Some(since) = asked.iter().map(|(_, since)| *since).min() {
            let until = since + self.control.patience;
            if self.try_to_ask(&mut asked, until).is_err() {
                self.way = None;
                let late =
                    |(_, since): &(Request, Instant)| since.elapsed() >= self.control.patience;
                let (late, rest): (Vec<_>, Vec<_>) = asked.into_iter().partition(late);
                late.into_iter().for_each(|(request, _)| self.answer(request, Err(Code::Io)));
                asked = rest;
                if self.is_over() {
                    return;
                }
                if !asked.is_empty() {
                    std::thread::sleep(AGAIN);
                }
            }
        }
    }

    /// Sends requests to the owner once, and removes those that were answered from `asked`.
    fn try_to_ask(
        &mut self,
        asked: &mut Vec<(Request, Instant)>,
        until: Instant,
    ) -> io::Result<()> {
        let left = until.saturating_duration_since(Instant::now());
        let way = match &mut self.way {
            Some(way) => way,
            none => none.insert(ExportConnection::open(
                &self.other.uri,
                &format!("owner/{}", self.opening.name),
                self.control.tls.as_ref(),
            )?),
        };
        way.wait_at_most(left)?;
        let most = way.requests.agreed().blocks.maximum();
        let mut begun = Vec::new();
        for (at, (request, _)) in asked.iter().enumerate() {
            if request.operation == Operation::Flush {
                begun.push((way.ask(Operation::Flush, 0, 0, &[])?, at, 0));
            }
            let mut from = 0;
            while from < request.length {
                let length = (request.length - from).min(most);
                let offset = request.offset + u64::from(from);
                begun.push((way.ask(Operation::Read, offset, length, &[])?, at, from as usize));
                from += length;
            }
        }
        way.send()?;
        let mut results = vec![Ok(()); asked.len()];
        let mut left = begun.len();
        while left > 0 {
            let Some(ended) = way.next()? else {
                way.receive()?;
                continue;
            };
            let found = begun.iter().find(|(cookie, ..)| *cookie == ended.cookie);
            let (_, at, from) = *found.expect("a completion belongs to a request");
            match ended.result {
                Ok(data) => asked[at].0.data[from..from + data.len()].copy_from_slice(&data),
                Err(failure) if failure.code == Code::Shutdown => {
                    return Err(io::Error::other(failure));
                }
                Err(failure) => results[at] = Err(failure.code),
            }
            left -= 1;
        }
        for ((request, _), result) in asked.drain(..).zip(results) {
            self.answer(request, result);
        }
        Ok(())
    }

    fn answer(&self, request: Request, result: Result<(), Code>) {
        let answer = Move::Answer(request.id, result, request.data);
        // The channel is closed only if the server ends, and then nobody waits for the answer.
        let _ = self.control.send(Ask::Move(answer));
    }

    /// Makes the owner give up the disk, and opens it here.
    fn pull(&mut self) {
        let until = Instant::now() + self.control.patience;
        // The pull makes the owner close the disk, so this connection is of no more use; all its
        // requests are answered.
        self.way = None;
        loop {
            let Err(why) = self.try_to_pull(until) else { return };
            if self.is_over() {
                return;
            }
            if Instant::now() >= until {
                let name = self.opening.name.clone();
                let _ = self.control.send(Ask::Move(Move::Failed { name, why }));
                return;
            }
            std::thread::sleep(AGAIN);
        }
    }

    fn try_to_pull(&self, until: Instant) -> Result<(), Refusal> {
        let (control, opening) = (&self.control, &self.opening);
        // These are checked before the owner gives up the disk: a disk that cannot be opened here
        // would have no owner.
        let room = control.tell(Ask::Room, None)?;
        places(&room.superblock, std::slice::from_ref(opening))?;
        size_of(&opening.backing)
            .map_err(|error| Refusal::new(error).within(opening.backing.display()))?;
        self.have_it_let_go(until)
            .map_err(|error| Refusal::from(error).within(&self.other.address))?;
        let _one = control.coming.lock().unwrap_or_else(PoisonError::into_inner);
        let room = control.tell(Ask::Room, None)?;
        control.open(opening.clone(), &[], room, Some(self.shape)).map(|_| ())
    }

    fn have_it_let_go(&self, until: Instant) -> io::Result<()> {
        let export = format!("pull/{}", self.opening.name);
        let mut way = ExportConnection::open(&self.other.uri, &export, self.control.tls.as_ref())?;
        way.wait_at_most(until.saturating_duration_since(Instant::now()))?;
        let message = message(&self.other).map_err(io::Error::other)?;
        way.ask(Operation::Write { fua: false }, 0, PULL_BYTES, &message)?;
        way.send()?;
        loop {
            match way.next()? {
                Some(ended) => return ended.result.map(|_| ()).map_err(io::Error::other),
                None => way.receive()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pull_says_both_addresses_and_nothing_else_is_one() {
        let (a, b) = ("nbds://a.example:10809", "nbd+unix:///?socket=/run/b");
        let said = message(&other(a, b).expect("two addresses")).expect("they are short");
        assert_eq!(said.len(), PULL_BYTES as usize);
        assert_eq!(puller(&said), Some(other(b, a).expect("two addresses")));
        let fill = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            bytes.resize(PULL_BYTES as usize, 0);
            bytes
        };
        let nonsense = [
            "",
            "\n\n",
            "nbd://a\n",
            "nbd://a\nb\n",
            "nbd://a\nnbd://b",
            "nbd://a\nnbd://b\nnbd://c\n",
        ];
        for text in nonsense {
            assert_eq!(puller(&fill(text)), None, "{text:?}");
        }
        assert_eq!(puller(&[0xff; 4096]), None);
        let long = format!("nbd+unix:///?socket=/{}", "x".repeat(4090));
        assert!(message(&other(&long, a).expect("it is an address")).is_err());
    }
}
