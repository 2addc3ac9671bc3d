//! Puts the built page into the program: `web/dist` and the report's template, if `npm run build`
//! has made them. This script builds nothing. Without the page the program says so, but still
//! serves its HTTP interface.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let root = Path::new("../../..").join("web");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    let mut files = Vec::new();
    collect(&watched(&root, "dist"), "", &mut files)?;
    let report = watched(&root, "dist-report").join("index.html");
    let mut table = String::from("&[\n");
    for (position, (name, path)) in files.iter().enumerate() {
        let packed = out.join(format!("{position}.gz"));
        pack(path, &packed)?;
        writeln!(table, "    ({name:?}, include_bytes!({packed:?}) as &[u8]),")
            .expect("writing to a string");
    }
    table.push(']');
    fs::write(out.join("files.rs"), table)?;
    let template = if report.is_file() {
        let packed = out.join("report.gz");
        pack(&report, &packed)?;
        format!("Some(include_bytes!({packed:?}) as &[u8])")
    } else {
        "None".to_owned()
    };
    fs::write(out.join("report.rs"), template)
}

/// Makes cargo run this script again after a change in the directory. If the directory is absent,
/// an empty one is created, because Cargo would otherwise run the script each time. Version control
/// ignores empty directories.
fn watched(root: &Path, name: &str) -> PathBuf {
    let path = root.join(name);
    if root.is_dir() && !path.exists() {
        // With read-only sources this fails, and the script runs each time.
        let _ = fs::create_dir(&path);
    }
    println!("cargo::rerun-if-changed={}", path.display());
    path
}

/// Adds files below a directory, with their paths as in URLs, sorted by name.
fn collect(directory: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    if !directory.is_dir() {
        return Ok(());
    }
    let mut entries = fs::read_dir(directory)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{prefix}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &name, files)?;
        } else {
            files.push((name, fs::canonicalize(entry.path())?));
        }
    }
    Ok(())
}

fn pack(from: &Path, to: &Path) -> io::Result<()> {
    let mut encoder = GzEncoder::new(fs::File::create(to)?, Compression::best());
    encoder.write_all(&fs::read(from)?)?;
    encoder.finish().map(drop)
}
