//! `demo`: shows in a minute how the program works.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bench::progress::{Control, Request};
use clap::Parser;

use crate::args::{Choice, Cli, Command, DemoArgs, Live, RunArgs};
use crate::commands::{run, runs};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::{live, open_files, output, plan_source, signals, text};

/// Name of the temporary directory.
const OWN: &str = "tilemark-demo";
/// Options of the demo: the tile of the main job on the small disks of the quick profile (1.5 GiB
/// for three tiles), and three steps of about 16 seconds. That is short enough for any directory,
/// but says little about the disk.
const OPTIONS: [&str; 18] = [
    "--tile",
    "datacenter",
    "--tiles",
    "1..3",
    "--warm-up-min",
    "2s",
    "--warm-up-max",
    "3s",
    "--duration",
    "13s",
    "--slice",
    "1s",
    "--repeats",
    "1",
    "--space-max",
    "2GiB",
    "--allow-root-fs",
    "--allow-same-device",
];

/// Runs the ladder of steps and shows it in a browser.
pub fn run(args: &DemoArgs, color: Choice) -> Result<Exit, Failure> {
    let place = DemoDirectory::of(args)?;
    let run_args = run_args(&place.path)?;
    let base = runs::base(args.out.as_deref())?;
    let options = bench::run::RunOptions { base: base.clone(), ..run::options(&run_args)? };
    let plan = plan_source::resolved(&run_args)?;
    open_files::check(&plan, open_files::raise())?;
    let control = Arc::new(Control::default());
    let signals = signals::watch(Arc::clone(&control)).map_err(|error| {
        Failure::new(Exit::Failure, format!("installing the Ctrl-C handler: {error}"))
    })?;
    let format = run_args.stored.format;
    let mut viewer = live::viewer(Live::Web, color, format, &control, &signals, &base);
    let mut finished =
        bench::run::run(&plan, &options, &control, &mut viewer).map_err(Failure::from)?;
    let page = viewer.into_page();
    output::show(&text::result(&finished.run, Some(&finished.directory), false))?;
    let is_removed = run::put_away(&mut finished);
    drop(place);
    let was_stopped = control.request() != Request::GoOn;
    match page {
        Some(page) if std::io::stderr().is_terminal() && !was_stopped => {
            signals.hush();
            page.stay(|| control.request() != Request::GoOn);
        }
        Some(page) => page.leave(),
        None => {}
    }
    match run::end(finished, is_removed, signals.exit())? {
        exit @ (Exit::Interrupted | Exit::Terminated) if was_stopped => Ok(exit),
        Exit::NotRemoved => Ok(Exit::NotRemoved),
        // A minute is too short for an answer, so any result is a success.
        _ => Ok(Exit::Success),
    }
}

/// Returns the options of the equivalent `run`.
fn run_args(directory: &Path) -> Result<RunArgs, Failure> {
    let target = std::ffi::OsString::from("dir:");
    let target = [target, directory.as_os_str().to_owned()].join(std::ffi::OsStr::new(""));
    let words = ["tilemark", "run", "--quick"].map(Into::into).into_iter();
    let words = words.chain([target]).chain(OPTIONS.map(Into::into));
    match Cli::try_parse_from(words).map(|cli| cli.command) {
        Ok(Command::Run(args)) => Ok(args),
        Ok(_) => {
            Err(Failure::new(Exit::Failure, "the demo's command line is not a run; this is a bug"))
        }
        Err(error) => Err(Failure::from_command_line(&error)),
    }
}

/// Directory for the files. A temporary directory is removed if it is empty at the end.
struct DemoDirectory {
    path: PathBuf,
    is_own: bool,
}

impl DemoDirectory {
    fn of(args: &DemoArgs) -> Result<Self, Failure> {
        if let Some(path) = &args.directory {
            return Ok(Self { path: path.clone(), is_own: false });
        }
        let path = PathBuf::from(OWN);
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Self { path, is_own: true }),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Ok(Self { path, is_own: false })
            }
            Err(error) => {
                let hint = "name a writable directory: tilemark demo DIR";
                Err(Failure::new(Exit::Refused, format!("creating ./{OWN}: {error}"))
                    .hint(Some(hint)))
            }
        }
    }
}

impl Drop for DemoDirectory {
    fn drop(&mut self) {
        if self.is_own {
            // A directory that is not empty holds files of others, and stays.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}
