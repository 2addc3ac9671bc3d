//! Real processes, killed with SIGKILL in the middle of requests. Writes that were answered are
//! there afterwards. A client that sends the other requests again finds the disk that it wrote.
//!
//! The child is this test binary again, running [`the_child_serves_until_it_kills_itself`]: it has
//! its disk send SIGKILL to itself at a request of a given number, so that no clock is involved.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nbd::{Export, Operation};
use rustix::process::{Signal, getpid, kill_process};
use tempfile::TempDir;
use tilemark_block_server::{
    Access, Buffer, Disk, Effects, FileDisk, IoId, Limits, ListenAddress, Request, Service, start,
};

use crate::client::Client;
use crate::disks::unix;
use crate::flat::Random;
use crate::tools::has;

const DIRECTORY: &str = "TILEMARK_TEST_FRONT_DIRECTORY";
const LIFE: &str = "TILEMARK_TEST_FRONT_LIFE";
const SIZE: u64 = 4 << 20;
const BLOCK: u64 = 4096;

/// A disk whose process dies at a request, either before it is taken or after.
struct Mortal {
    disk: FileDisk,
    left: Option<u64>,
}

impl Disk for Mortal {
    fn export(&self) -> &Export {
        self.disk.export()
    }

    fn submit(&mut self, request: Request, effects: &mut Effects) {
        self.disk.submit(request, effects);
    }

    fn service(&mut self) -> Option<&mut dyn Service> {
        Some(self)
    }
}

impl Service for Mortal {
    fn done(&mut self, io: IoId, result: Result<u32, i32>, data: Buffer, effects: &mut Effects) {
        if let Some(left) = &mut self.left {
            if *left == 0 {
                let _ = kill_process(getpid(), Signal::KILL);
            }
            *left = left.saturating_sub(1);
        }
        self.disk.done(io, result, data, effects);
    }
}

#[test]
#[ignore = "the child process of the tests below"]
fn the_child_serves_until_it_kills_itself() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let left = std::env::var(LIFE).ok().and_then(|life| life.parse().ok());
    let disk = FileDisk::open("vm", &directory.join("disk"), Access::default()).unwrap();
    let listen = [unix(&directory.join("s"))];
    let running = start(vec![Box::new(Mortal { disk, left })], &listen, Limits::default()).unwrap();
    eprintln!("ready");
    // Until its parent closes the pipe.
    let _ = std::io::stdin().lines().next();
    running.stop().unwrap();
}

/// A server in a process of its own, which dies at its request number `life`.
fn spawn(directory: &Path, life: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let name = "killed::the_child_serves_until_it_kills_itself";
    command.args(["--exact", name, "--ignored", "--nocapture"]).env(DIRECTORY, directory);
    if let Some(life) = life {
        command.env(LIFE, life.to_string());
    }
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    loop {
        let Some(Ok(line)) = lines.next() else { panic!("{:?}: {said}", child.wait()) };
        if line.ends_with("ready") {
            break;
        }
        said += &line;
    }
    // Drains the remaining output, so that the server never blocks on it.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn was_killed(child: &mut Child) {
    // Waiting would close it, and then it would end by itself.
    let _open = child.stdin.take();
    assert_eq!(child.wait().unwrap().signal(), Some(9));
}

/// Lets a server that was not killed end.
fn end(mut child: Child) {
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

fn connect(directory: &Path) -> Client {
    Client::open(&ListenAddress::Unix(directory.join("s")), "vm").unwrap()
}

/// Client with a model of the blocks that it writes.
struct Writer {
    random: Random,
    /// Content of each block by answered writes.
    model: BTreeMap<u64, u8>,
    /// Writes without an answer, in their order.
    open: Vec<(u64, u8)>,
}

impl Writer {
    /// Writes until the server is gone, or enough was written. Writes that were not answered before
    /// are sent first, as QEMU does it. Newer writes of the same blocks follow immediately.
    fn write(&mut self, client: &mut Client, writes: usize) -> bool {
        let mut asked: BTreeMap<u64, (u64, u8)> = BTreeMap::new();
        let again = std::mem::take(&mut self.open);
        let mut todo = again.into_iter().collect::<std::collections::VecDeque<_>>();
        for _ in 0..writes {
            let block = self.random.below(SIZE / BLOCK);
            todo.push_back((block, u8::try_from(1 + self.random.below(255)).unwrap()));
        }
        let is_done = self.drive(client, &mut todo, &mut asked);
        self.open = asked.into_values().chain(todo).collect();
        is_done
    }

    fn drive(
        &mut self,
        client: &mut Client,
        todo: &mut std::collections::VecDeque<(u64, u8)>,
        asked: &mut BTreeMap<u64, (u64, u8)>,
    ) -> bool {
        let write = Operation::Write { fua: false };
        let length = u32::try_from(BLOCK).unwrap();
        while !todo.is_empty() || !asked.is_empty() {
            let is_busy = |block| asked.values().any(|(other, _)| *other == block);
            if let Some(&(block, byte)) = todo.front()
                && asked.len() < 16
                && !is_busy(block)
            {
                let bytes = vec![byte; usize::try_from(BLOCK).unwrap()];
                let Ok(cookie) = client.ask(write, block * BLOCK, length, &bytes) else {
                    return false;
                };
                todo.pop_front();
                asked.insert(cookie, (block, byte));
                continue;
            }
            let Ok((cookie, answer)) = client.wait_any() else { return false };
            answer.unwrap();
            let (block, byte) = asked.remove(&cookie).unwrap();
            self.model.insert(block, byte);
        }
        true
    }
}

#[test]
fn killed_servers_keep_answered_writes_and_the_order_of_resends() {
    let directory = TempDir::new().unwrap();
    let directory = directory.path();
    std::fs::File::create(directory.join("disk")).unwrap().set_len(SIZE).unwrap();
    let mut writer = Writer { random: Random(5), model: BTreeMap::new(), open: Vec::new() };
    for life in [0, 1, 40, 333] {
        let mut child = spawn(directory, Some(life));
        let mut client = connect(directory);
        assert!(!writer.write(&mut client, 1000), "the server is killed before");
        was_killed(&mut child);
    }
    let child = spawn(directory, None);
    let mut client = connect(directory);
    assert!(writer.write(&mut client, 1000));
    client.flush().unwrap();
    drop(client);
    end(child);
    let whole = std::fs::read(directory.join("disk")).unwrap();
    for (block, byte) in writer.model {
        let start = usize::try_from(block * BLOCK).unwrap();
        let found = &whole[start..start + usize::try_from(BLOCK).unwrap()];
        assert!(found.iter().all(|one| *one == byte), "block {block} is not what was written last");
    }
}

#[test]
fn qemu_comes_back_after_two_kills_and_its_writes_are_all_there() {
    if !has("qemu-img") {
        return;
    }
    let directory = TempDir::new().unwrap();
    let directory = directory.path();
    std::fs::File::create(directory.join("disk")).unwrap().set_len(SIZE).unwrap();
    let mut child = spawn(directory, Some(200));
    let image = format!(
        "driver=nbd,server.type=unix,server.path={},export=vm,reconnect-delay=60",
        directory.join("s").display()
    );
    let mut bench = Command::new("qemu-img")
        .args(["bench", "-w", "--pattern=90", "-c", "1000", "-d", "16", "-s", "4096", "-t", "none"])
        .args(["--image-opts", &image])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for life in [Some(300), None] {
        was_killed(&mut child);
        child = spawn(directory, life);
    }
    let mut words = String::new();
    std::io::Read::read_to_string(&mut bench.stderr.take().unwrap(), &mut words).unwrap();
    assert!(bench.wait().unwrap().success(), "{words}");
    end(child);
    let whole = std::fs::read(directory.join("disk")).unwrap();
    let written = 1000 * 4096;
    assert!(whole[..written].iter().all(|byte| *byte == 90), "a write is missing");
    assert!(whole[written..].iter().all(|byte| *byte == 0), "a write went elsewhere");
}
