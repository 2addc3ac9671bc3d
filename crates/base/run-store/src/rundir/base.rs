use std::path::{Path, PathBuf};

use super::RunDirError;
use crate::device_number::{device_of, major_minor};

/// Returns the default directory of runs: `$XDG_DATA_HOME/tilemark/runs`, or
/// `~/.local/share/tilemark/runs` (XDG Base Directory Specification 0.8). As the specification
/// demands, a relative path in the variable is ignored.
pub fn default_base() -> Result<PathBuf, RunDirError> {
    base_from(std::env::var_os("XDG_DATA_HOME"), std::env::var_os("HOME"))
}

fn base_from(
    data_home: Option<std::ffi::OsString>,
    home: Option<std::ffi::OsString>,
) -> Result<PathBuf, RunDirError> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    data_home
        .and_then(|path| absolute(path.into()))
        .or_else(|| home.and_then(|path| absolute(PathBuf::from(path).join(".local/share"))))
        .map(|data| data.join("tilemark/runs"))
        .ok_or(RunDirError::NoBase)
}

/// Whether results may be written to the device under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SameDevice {
    /// Not allowed, because the writes would be part of the measurement.
    Refused,
    /// Allowed by the user.
    Allowed,
}

/// Returns an error if the base directory is on the device under test, unless that is allowed.
/// `target` is the device number of the target: `st_dev` of a directory or file, `st_rdev` of a
/// device.
pub fn refuse_device_under_test(
    base: &Path,
    target: u64,
    allowed: SameDevice,
) -> Result<(), RunDirError> {
    let own = || device_of(base).map_err(RunDirError::io("looking at", base));
    if allowed == SameDevice::Allowed || own()? != target {
        return Ok(());
    }
    Err(RunDirError::OnDeviceUnderTest { base: base.to_owned(), device: major_minor(target) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_follows_the_xdg_rules() {
        let base = |data: Option<&str>, home: Option<&str>| {
            base_from(data.map(Into::into), home.map(Into::into)).ok()
        };
        assert_eq!(base(Some("/d"), Some("/h")), Some("/d/tilemark/runs".into()));
        assert_eq!(base(Some("d"), Some("/h")), Some("/h/.local/share/tilemark/runs".into()));
        assert_eq!(base(None, None), None);
    }

    #[test]
    fn base_on_device_under_test_is_refused_before_it_exists() {
        let dir = tempfile::tempdir().expect("a directory");
        let device = device_of(dir.path()).expect("its device");
        let base = dir.path().join("not/yet/made");
        let error = refuse_device_under_test(&base, device, SameDevice::Refused)
            .expect_err("the same device");
        assert!(error.hint().is_some_and(|hint| hint.contains("--allow-same-device")));
        refuse_device_under_test(&base, device, SameDevice::Allowed).expect("allowed");
        refuse_device_under_test(&base, device + 1, SameDevice::Refused).expect("another device");
    }
}
