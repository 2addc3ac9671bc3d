use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use run_store::rundir::default_base;
use spec::array::{Array, Disk, Pool, Raid};
use units::Bytes;

use super::document::Calibration;
use super::error::CalibrateError;
use super::options::CalibrateOptions;
use bench::BenchError;

/// Returns the default directory of fitted arrays: `$XDG_DATA_HOME/tilemark/arrays`, or
/// `~/.local/share/tilemark/arrays`.
///
/// # Errors
///
/// If neither variable is an absolute path.
pub fn user_arrays() -> Result<PathBuf, BenchError> {
    let runs = default_base()?;
    Ok(runs.parent().map_or_else(|| runs.clone(), |data| data.join("arrays")))
}

/// Name and path of the array.
pub struct ArrayLocation {
    pub name: String,
    pub path: PathBuf,
}

/// Start of the `source` text in every file that a calibration created.
const OURS: &str = "tilemark calibrate";

impl ArrayLocation {
    /// Determines name and path. Refuses, before the measurement, a name or path under which the
    /// array could not be saved or found afterwards.
    pub fn of(options: &CalibrateOptions, device: Option<&str>) -> Result<Self, CalibrateError> {
        let from_file = options.out.as_deref().and_then(Path::file_stem);
        let from_file = from_file.map(|stem| stem.to_string_lossy().into_owned());
        let name = options.name.clone().or(from_file);
        let name = name.unwrap_or_else(|| device.unwrap_or("disk").to_lowercase());
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(CalibrateError::ArrayName { name, why: "may contain only a-z, 0-9 and -" });
        }
        if options.out.is_none() && spec::shipped::array_names().any(|shipped| shipped == name) {
            return Err(CalibrateError::ArrayName { name, why: "is the name of a shipped array" });
        }
        let path = match &options.out {
            Some(path) => path.clone(),
            None => user_arrays()?.join(format!("{name}.toml")),
        };
        match std::fs::read_to_string(&path) {
            Ok(text) if !is_ours(&text) => Err(CalibrateError::ArrayExists { path }),
            Ok(_) => Ok(Self { name, path }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Self { name, path }),
            Err(source) => Err(CalibrateError::ArrayFile { path, source }),
        }
    }

    /// Saves the array. Writes a temporary file first, so that an earlier file is replaced
    /// atomically.
    pub fn save(&self, calibration: &Calibration) -> Result<(), CalibrateError> {
        let failed = |source| CalibrateError::ArrayFile { path: self.path.clone(), source };
        let text = array_text(calibration)?;
        if let Some(directory) = self.path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let beside = self.path.with_extension("toml.new");
        std::fs::write(&beside, text).map_err(failed)?;
        std::fs::rename(&beside, &self.path).map_err(failed)
    }
}

/// Returns true if a calibration created the array's file.
fn is_ours(text: &str) -> bool {
    let table = text.parse::<toml::Table>();
    let source = table.as_ref().ok().and_then(|table| table.get("source")?.as_str());
    source.is_some_and(|source| source.starts_with(OURS))
}

/// Returns an array with one pool of one fitted disk.
pub fn array(name: &str, disk: &Disk) -> Array {
    Array {
        name: name.to_owned(),
        title: String::new(),
        source: String::new(),
        hosts: None,
        lun_queue: None,
        link: None,
        background: None,
        controller: None,
        tiers: Vec::new(),
        pools: vec![pool()],
        local: None,
        places: Vec::new(),
        disks: IndexMap::from([("fitted".to_owned(), disk.clone())]),
        power: None,
        calibration: None,
    }
}

/// Returns the text of the array's file.
fn array_text(calibration: &Calibration) -> Result<String, CalibrateError> {
    let day = calibration.started.strftime("%Y-%m-%d");
    let percent = |share: Option<f64>| {
        share.map_or_else(|| "unknown".to_owned(), |share| format!("{:.1} %", share * 100.0))
    };
    let demerits = &calibration.demerits;
    let found = &calibration.calibrated;
    let array = Array {
        title: format!("{}, measured on {day}", calibration.target_summary),
        source: format!(
            "{OURS}, {day}: {}. Model: {}; {}; mean demerit {} over fitted loops, {} over others, \
             {} up to p99; the device against itself {}. Command: {}",
            calibration.machine.sentence(),
            calibration.chosen,
            found.sentence(),
            percent(demerits.training),
            percent(demerits.validation),
            percent(demerits.all_p99),
            percent(calibration.noise.floor),
            calibration.command,
        ),
        calibration: Some(found.clone()),
        ..array(&calibration.name, &calibration.disk)
    };
    toml::to_string_pretty(&array).map_err(|source| CalibrateError::ArrayText { source })
}

fn pool() -> Pool {
    Pool {
        name: "disk".to_owned(),
        disk: "fitted".to_owned(),
        count: 1,
        raid: Raid::Raid0,
        sets: 1,
        element: Bytes::new(64 << 10),
        per_tile: false,
        tiered: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a model's name with quotes, for which the TOML writer uses the other kind of quotes.
    #[test]
    fn a_file_of_ours_is_known_however_its_source_is_quoted() {
        for ours in [
            "source = \"tilemark calibrate, today\"",
            "source = 'tilemark calibrate: \"servers\"'",
            "source = \"\"\"\ntilemark calibrate: 'a' and \"b\"\"\"\"",
        ] {
            assert!(is_ours(ours), "{ours}");
        }
        for theirs in ["", "source = \"a data sheet\"", "title = \"tilemark calibrate\"", "= 3"] {
            assert!(!is_ours(theirs), "{theirs}");
        }
    }
}
