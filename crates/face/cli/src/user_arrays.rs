//! Arrays of the user, saved by `calibrate` and found by name.

use std::path::PathBuf;

/// Returns the name or path of an array for `spec`. A shipped name or a path stays as it is;
/// another name becomes the path of the user's file, if that exists.
pub fn find(name: &str) -> String {
    let is_shipped = spec::shipped::array_names().any(|shipped| shipped == name);
    let is_path = name.contains('/') || name.ends_with(".toml");
    if is_shipped || is_path {
        return name.to_owned();
    }
    file(name).map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

fn file(name: &str) -> Option<PathBuf> {
    let path = calibrate::user_arrays().ok()?.join(format!("{name}.toml"));
    path.is_file().then_some(path)
}
