//! `estate`: makes a tile from a list of virtual machines.

use std::io::Write;
use std::path::Path;

use estate::read::{Reading, Source};
use estate::{CLASSES, EstateOptions, EstateSheet};

use crate::args::{EstateAction, EstateArgs, EstateImportArgs, Format};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::plan_source::SHEET;
use crate::text::Table;
use crate::{output, text};

/// Runs the subcommand.
pub fn estate(args: &EstateArgs) -> Result<Exit, Failure> {
    match &args.action {
        EstateAction::Import(args) => import(args),
        EstateAction::Classes => output::print(&classes()).map(|()| Exit::Success),
        EstateAction::Example(args) => {
            output::print(&estate::example(args.vms)).map(|()| Exit::Success)
        }
    }
}

fn import(args: &EstateImportArgs) -> Result<Exit, Failure> {
    let every = args.every.map(|every| every.as_secs_f64());
    let files: Vec<Source> =
        args.files.iter().map(|source| Source { every, ..source.clone() }).collect();
    let reading =
        Reading { columns: args.columns.clone(), units: args.units.clone(), decimal: args.decimal };
    let inventory = estate::collect(&files, &reading, args.all)
        .map_err(|error| Failure::from_error(Exit::Usage, &error).hint(error.hint()))?;
    let name = match &args.name {
        Some(name) => name.clone(),
        None => name_of(&args.out),
    };
    let wanted = EstateOptions {
        name,
        classes: args.classes.clone(),
        tile_vms: args.tile_vms,
        is_anonymous: args.anonymous,
    };
    let made = estate::estate(&inventory, &wanted);
    for row in &inventory.bad.first {
        crate::say!("not used: {row}");
    }
    if inventory.bad.count > inventory.bad.first.len() as u64 {
        crate::say!(
            "not used: {} more rows",
            inventory.bad.count - inventory.bad.first.len() as u64
        );
    }
    let wrong =
        |error: estate::EstateError| Failure::from_error(Exit::Usage, &error).hint(error.hint());
    let made = made.inspect_err(|_| {
        for note in &inventory.notes {
            crate::say!("note: {note}");
        }
    });
    let made = made.map_err(wrong)?;
    let names = files.iter().map(|source| source.path.display().to_string()).collect();
    let mut sheet = estate::sheet(&made, &inventory, names, env!("CARGO_PKG_VERSION"));
    if args.anonymous {
        sheet.bad_rows.first.clear();
        // Notes contain names of VMs, which `--anonymous` removes.
        sheet.notes.clear();
    }
    write(&args.out, &made.files().map_err(wrong)?, &sheet)?;
    match args.format {
        Format::Json => output::print_json(&sheet)?,
        Format::Text => output::show(&text::estate(&sheet, &args.out))?,
    }
    Ok(Exit::Success)
}

fn name_of(out: &Path) -> String {
    let name = out.file_name().map(|name| name.to_string_lossy().into_owned());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "estate".to_owned())
}

/// Writes all files into a new directory.
fn write(out: &Path, files: &[(String, String)], sheet: &EstateSheet) -> Result<(), Failure> {
    let failed = |what: &Path, error: &std::io::Error| {
        Failure::new(Exit::Failure, format!("writing {}: {error}", what.display()))
    };
    std::fs::create_dir(out).map_err(|error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            let message = format!("{} exists already and is not overwritten", out.display());
            Failure::new(Exit::Refused, message).hint(Some("name another with --out, or remove it"))
        }
        _ => failed(out, &error),
    })?;
    let sheet = serde_json::to_string_pretty(sheet)
        .map_err(|error| Failure::new(Exit::Failure, format!("making JSON: {error}")))?;
    let sheet = (SHEET.to_owned(), sheet + "\n");
    let all: Vec<_> = files.iter().chain([&sheet]).collect();
    let mut written = all.iter().map(|(name, text)| {
        let path = out.join(name);
        let done = untrusted::create(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        done.map_err(|error| failed(&path, &error))
    });
    written.try_for_each(|done| done).inspect_err(|_| {
        // An incomplete estate would be taken for a complete one. The directory is new and holds
        // only these files.
        all.iter().for_each(|(name, _)| drop(std::fs::remove_file(out.join(name))));
        let _ = std::fs::remove_dir(out);
    })
}

fn classes() -> String {
    let mut table = Table::new(&[
        "class",
        ">I/O/s per GiB",
        ">per VM",
        ">reads",
        ">mean limit",
        "words in VM names",
    ]);
    for class in CLASSES.iter() {
        let rate = |rate: f64| if rate > 0.0 { units::print::number(rate) } else { "-".to_owned() };
        table.row(vec![
            class.name.clone(),
            rate(class.per_gib),
            rate(class.per_vm),
            units::print::percent(class.reads.get()),
            class.limit.mean.to_string(),
            class.words.join(" "),
        ]);
    }
    let mut lines = table.lines();
    lines.push(String::new());
    lines.push("VMs without measurements have assumed rates. Sources of these rates:".to_owned());
    for class in CLASSES.iter() {
        let source = class.source.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.push(format!("  {}: {source}", class.name));
    }
    lines.join("\n") + "\n"
}
