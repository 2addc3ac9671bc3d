//! Measures the page: its size, the time of its answers, and its cost for the run that it shows.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ::bench::run::sample;
use ::bench::sample::SampleOptions;
use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use units::Nanos;

use super::device::RamDevice;
use super::pairs::scratch;
use super::switched::{self, Counter, Windows};
use super::{Figure, median, tilemark};

/// Windows in which the page is watched. A new state is sent once in a slice, which is a second.
const LOOKS: Windows =
    Windows { pairs: 30, length: Duration::from_secs(2), settle: Duration::from_millis(300) };
const START_MAX: Duration = Duration::from_secs(60);
const WARM_UP: Duration = Duration::from_secs(5);
/// Number of times that each query is sent; the median time is used.
const TIMES: usize = 5;
/// Queries of a view: plain, one step by workload, and a zoomed view of writes with more points.
const LENSES: [&str; 3] = ["", "?step=1&by=wl&m=lat", "?dir=w&by=bs&m=lat&points=1200&t=600-4200"];
const VIEWS: [&str; 10] = [
    "overview",
    "series",
    "heatmap",
    "percentiles",
    "matrix",
    "breaks",
    "map",
    "moment",
    "curve",
    "tier",
];

/// `ui.*`: size of the page, and times in a browser, if Node and Chromium are installed.
pub(crate) fn ui(_: &str) -> Result<Vec<Figure>> {
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../web");
    let mut figures = Vec::new();
    match scripts_gzip_kb(&web.join("dist/assets")) {
        Ok(size) => figures.push(Figure::new("ui.js_gzip_kb", size, "kB")),
        Err(error) => eprintln!("ui.js_gzip_kb: skipped: {error:#} (scripts/web build)"),
    }
    match times(&web) {
        Ok(times) => figures.extend(times),
        Err(error) => eprintln!("ui.*_ms: skipped: {error:#}"),
    }
    Ok(figures)
}

#[expect(clippy::cast_precision_loss, reason = "a size in kB")]
fn scripts_gzip_kb(assets: &Path) -> Result<f64> {
    let mut total = 0;
    for entry in std::fs::read_dir(assets).context("the page was not built")? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "js") {
            let mut packed = GzEncoder::new(Vec::new(), Compression::best());
            packed.write_all(&std::fs::read(&path)?)?;
            total += packed.finish()?.len();
        }
    }
    Ok(total as f64 / 1000.0)
}

/// Returns the times of the page for a finished ladder of ten tiles, served by the released
/// program.
fn times(web: &Path) -> Result<Vec<Figure>> {
    let place = ScratchDirectory::new("ui")?;
    let run = made_up(&place.0, 10)?;
    let server = Served::start(&place.0)?;
    let name = run.file_name().and_then(|name| name.to_str()).context("a name")?;
    let report = place.0.join("report.html");
    write_report(&run, &report)?;
    let output = Command::new("npm")
        .args(["run", "--silent", "bench"])
        .current_dir(web)
        .env("TILEMARK_URL", format!("http://127.0.0.1:{}/run/{name}", server.port))
        .env("TILEMARK_REPORT", &report)
        .stderr(Stdio::inherit())
        .output()
        .context("npm")?;
    let json: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("what npm run bench printed")?;
    let object = json.as_object().context("a JSON object")?;
    let figure = |(name, value): (&String, &serde_json::Value)| {
        Some(Figure::new(format!("ui.{name}"), value.as_f64()?, "ms"))
    };
    Ok(object.iter().filter_map(figure).collect())
}

/// `api.*`: time of the slowest view of 100 tiles over three hours, and time to open the run.
pub(crate) fn api(_: &str) -> Result<Vec<Figure>> {
    let place = ScratchDirectory::new("api")?;
    let run = made_up(&place.0, 100)?;
    let server = Served::start(&place.0)?;
    let name = run.file_name().and_then(|name| name.to_str()).context("a name")?;
    let begun = Instant::now();
    server.get(&format!("/api/v1/runs/{name}"))?;
    let opened = millis(begun.elapsed());
    let mut slowest = (0.0, String::new());
    for view in VIEWS {
        for lens in LENSES {
            let path = format!("/api/v1/runs/{name}/{view}{lens}");
            let mut took = Vec::new();
            for _ in 0..TIMES {
                let begun = Instant::now();
                server.get(&path)?;
                took.push(millis(begun.elapsed()));
            }
            let took = median(&took);
            if took > slowest.0 {
                slowest = (took, format!("{view}{lens}"));
            }
        }
    }
    eprintln!("api: the slowest is {}", slowest.1);
    Ok(vec![
        Figure::new("api.slowest_view_ms", slowest.0, "ms"),
        Figure::new("api.open_ms", opened, "ms"),
    ])
}

/// `report.size_mb`: size of a report of ten tiles over three hours.
#[expect(clippy::cast_precision_loss, reason = "a size in MB")]
pub(crate) fn report(_: &str) -> Result<Vec<Figure>> {
    let place = ScratchDirectory::new("report")?;
    let run = made_up(&place.0, 10)?;
    let file = place.0.join("report.html");
    write_report(&run, &file)?;
    let size = std::fs::metadata(&file)?.len() as f64 / 1e6;
    Ok(vec![Figure::new("report.size_mb", size, "MB")])
}

fn write_report(run: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new(tilemark::binary()?);
    super::process::run(command.arg("report").arg(run).arg("--to").arg(file))?;
    Ok(())
}

/// `live.*`: how much a viewer of a run's page reduces the run's throughput. In one run, a viewer
/// of the page is switched on and off.
pub(crate) fn overhead(name: &str) -> Result<Vec<Figure>> {
    let device = RamDevice::set_up()?;
    let out = scratch()?;
    let looking = Arc::new(AtomicBool::new(false));
    let mut run = LiveRun::start(&device, &out, &looking)?;
    let counter = Counter::of(&device.path)?;
    let loss = switched::measure(&counter, LOOKS, |is_on| {
        looking.store(is_on, Ordering::Relaxed);
        Ok(())
    });
    run.stop()?;
    std::fs::remove_dir_all(&out)?;
    let (loss, answers) = (loss?, run.answers.load(Ordering::Relaxed));
    ensure!(answers > 0, "nobody looked at the page");
    eprintln!("{name}: {answers} answers were looked at");
    Ok(vec![
        Figure::new(format!("{name}.overhead_percent"), loss.percent, "%"),
        Figure::new(format!("{name}.overhead_error_percent"), loss.error, "%"),
    ])
}

/// A run with its page, and a thread that, while it is switched on, sends the overview's queries
/// for every state.
struct LiveRun {
    child: Child,
    reader: Option<std::thread::JoinHandle<Vec<String>>>,
    answers: Arc<AtomicUsize>,
}

impl LiveRun {
    fn start(device: &RamDevice, out: &Path, looking: &Arc<AtomicBool>) -> Result<Self> {
        let mut command = Command::new(tilemark::binary()?);
        command.arg("run").arg(format!("block:{}", device.path.display()));
        command.args(["--tile", "micro/mixed-8k", "--tiles", "1", "--repeats", "1"]);
        command.args(["--footprint", "0.0625", "--warm-up-min", "1s", "--warm-up-max", "1s"]);
        command.args(["--duration", "1h", "--slice", "1s", "--format", "json", "--live", "web"]);
        command.args(["--destroy-data", &device.identity, "--allow-same-device", "--out"]);
        let mut child = command
            .arg(out)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let stderr = child.stderr.take().context("stderr is piped")?;
        let answers = Arc::new(AtomicUsize::new(0));
        let (is_looking, count) = (Arc::clone(looking), Arc::clone(&answers));
        let (tell, told) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || listen(stderr, &tell, &is_looking, &count));
        let run = Self { child, reader: Some(reader), answers };
        told.recv_timeout(START_MAX).context("the run named no page")?;
        // Preparing and warming up.
        std::thread::sleep(WARM_UP);
        Ok(run)
    }

    /// Ends the run as Ctrl-C does, and the processes that continue to serve its page.
    fn stop(&mut self) -> Result<()> {
        let Some(reader) = self.reader.take() else { return Ok(()) };
        Command::new("kill").args(["-INT", &self.child.id().to_string()]).status()?;
        self.child.wait()?;
        for heir in reader.join().unwrap_or_default() {
            let _ = Command::new("kill").arg(heir).status();
        }
        Ok(())
    }
}

impl Drop for LiveRun {
    fn drop(&mut self) {
        let _ = self.stop();
    }
}

/// Reads the output of a run until it ends. When the run prints the address of its page, a viewer
/// is started.
fn listen(
    stderr: impl Read,
    tell: &std::sync::mpsc::Sender<()>,
    looking: &Arc<AtomicBool>,
    answers: &Arc<AtomicUsize>,
) -> Vec<String> {
    let mut heirs = Vec::new();
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Some(url) = line.strip_prefix("page       http://127.0.0.1:")
            && let Some((port, path)) = url.split_once('/')
            && let Ok(port) = port.parse()
        {
            let (path, looking, answers) = (path.to_owned(), looking.clone(), answers.clone());
            std::thread::spawn(move || watch(port, &path, &looking, &answers));
            let _ = tell.send(());
        }
        if let Some((_, rest)) = line.split_once("(kill ") {
            heirs.extend(rest.split(' ').next().map(str::to_owned));
        }
    }
    heirs
}

/// Sends the overview's queries for every state, until the run ends.
fn watch(port: u16, path: &str, looking: &AtomicBool, answers: &AtomicUsize) {
    let id = path.trim_start_matches("run/");
    let Ok(mut events) = ask(port, &format!("/api/v1/runs/{id}/live")) else { return };
    let mut line = String::new();
    while matches!(events.read_line(&mut line), Ok(1..)) {
        if line.starts_with("event: state") && looking.load(Ordering::Relaxed) {
            for view in ["overview", "series?m=lat", "series", "heatmap"] {
                let is_answered = get(port, &format!("/api/v1/runs/{id}/{view}")).is_ok();
                answers.fetch_add(usize::from(is_answered), Ordering::Relaxed);
            }
        }
        line.clear();
    }
}

/// Writes a synthetic run: three hours in slices of ten seconds.
fn made_up(base: &Path, tiles: u32) -> Result<PathBuf> {
    let options = SampleOptions {
        base: base.to_owned(),
        tile: "datacenter".to_owned(),
        tiles,
        time: Nanos::from_secs(3 * 3600),
        slice: Nanos::from_secs(10),
        seed: 1,
        is_empty: false,
    };
    Ok(sample(&options, None)?.directory)
}

/// `tilemark serve`, ended when dropped.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(base: &Path) -> Result<Self> {
        let mut command = Command::new(tilemark::binary()?);
        command.arg("serve").arg(base).args(["--listen", "0"]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let mut line = String::new();
        let stdout = child.stdout.take().context("stdout is piped")?;
        BufReader::new(stdout).read_line(&mut line)?;
        let port = line.trim().trim_end_matches('/').rsplit(':').next();
        let port = port.and_then(|port| port.parse().ok()).context("the address of the server")?;
        Ok(Self { child, port })
    }

    fn get(&self, path: &str) -> Result<()> {
        get(self.port, path)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn ask(port: u16, path: &str) -> Result<BufReader<TcpStream>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    Ok(BufReader::new(stream))
}

fn get(port: u16, path: &str) -> Result<()> {
    let mut answer = Vec::new();
    ask(port, path)?.read_to_end(&mut answer)?;
    if !answer.starts_with(b"HTTP/1.1 200 ") {
        bail!("{path}: {}", String::from_utf8_lossy(&answer[..answer.len().min(400)]));
    }
    Ok(())
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A directory that is removed when dropped.
struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    fn new(name: &str) -> Result<Self> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = scratch()?.join(format!("{name}-{next}"));
        std::fs::create_dir_all(&path)?;
        Ok(Self(path))
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
