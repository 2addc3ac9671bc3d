//! Reads management controllers by DMTF Redfish (DSP0266, DSP0268).
//!
//! The newer resource is `EnvironmentMetrics` of a chassis: `PowerWatts.Reading`. The older one is
//! `Power`: `PowerControl[].PowerConsumedWatts`, whose first entry is the whole chassis. A
//! controller reports a value that is some seconds old, or a mean. So its method is `averaged`, and
//! a step should be much longer than its period.
//!
//! If the address has no path, the only chassis with watts is used; if several have watts, the
//! meter is refused.

use std::sync::Arc;

use http_client::{Secret, ServiceAddress, Trust, host_and_port};
use run_store::run::MeterMethod;
use serde_json::Value;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::{number, period, text};
use crate::{About, Fault, Meter, Sample, monotonic};

/// Default period. A controller updates its reading every few seconds, and takes a moment to
/// answer. Our choice.
const PERIOD: Nanos = Nanos::from_secs(5);

/// Maximum number of chassis examined; a blade enclosure has a few dozen.
const CHASSIS_MAX: usize = 64;

const ROOT: &str = "/redfish/v1/";

const NEW: &str = "/PowerWatts/Reading";
const OLD: &str = "/PowerControl/0/PowerConsumedWatts";

#[derive(Debug)]
struct Controller {
    place: ServiceAddress,
    path: String,
    pointer: &'static str,
    about: About,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (place, path) = place(spec)?;
    let root = place.json(ROOT)?;
    let chassis = match path {
        Some(path) => vec![path],
        None => {
            members(&place, text(&root, "/Chassis/@odata.id").unwrap_or("/redfish/v1/Chassis"))?
        }
    };
    let mut found: Vec<(String, &'static str)> =
        chassis.iter().filter_map(|path| reading(&place, path)).collect();
    let listed = |found: &[(String, &str)]| {
        let paths: Vec<&str> = found.iter().map(|(path, _)| path.as_str()).collect();
        untrusted::shown(&paths.join(", ")).into_owned()
    };
    let Some((path, pointer)) = found.pop() else {
        let text = "no chassis has EnvironmentMetrics or Power with a reading of watts";
        return Err(Fault::Unfit(text.to_owned()));
    };
    if !found.is_empty() {
        found.push((path, pointer));
        return Err(Fault::Unfit(format!(
            "several chassis show watts; add the path of the right one to the address: {}",
            listed(&found)
        )));
    }
    let about = about(spec, &root, &path);
    Ok(Box::new(Controller { place, path, pointer, about }))
}

fn about(spec: &Spec, root: &Value, path: &str) -> About {
    let word = |pointer| text(root, pointer).unwrap_or_default();
    let (vendor, product, version) = (word("/Vendor"), word("/Product"), word("/RedfishVersion"));
    let model = format!("{vendor} {product}, Redfish {version}");
    let mut notes = vec![format!(
        "read from {}; a controller's reading is some seconds old",
        untrusted::shown(path)
    )];
    if spec.insecure {
        notes.push("its certificate was not checked (insecure)".to_owned());
    }
    About {
        method: MeterMethod::Averaged,
        resolution_watts: Some(1.0),
        notes,
        ..About::measured(untrusted::shown(model.trim()).into_owned(), period(spec, PERIOD))
    }
}

/// Splits the specification into address and path; the path is `None` if it is only the root.
fn place(spec: &Spec) -> Result<(ServiceAddress, Option<String>), Fault> {
    let is_secure = spec.at.starts_with("https://");
    let rest = spec.at.trim_start_matches("https://").trim_start_matches("http://");
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = host_and_port(authority, if is_secure { 443 } else { 80 })?;
    let fingerprint = match (&spec.fingerprint, spec.insecure) {
        (Some(known), _) => Some(known.as_str()),
        (None, true) => None,
        (None, false) => Some(""),
    };
    let trust = is_secure.then(|| Trust::of(fingerprint)).transpose();
    let tls = trust?.map(Arc::new);
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let path = format!("/{}", path.trim_end_matches('/'));
    let is_root = path == "/" || path == ROOT.trim_end_matches('/');
    let place = ServiceAddress { host, port, tls, identity: secret.into(), patience: None };
    Ok((place, (!is_root).then_some(path)))
}

fn members(place: &ServiceAddress, collection: &str) -> Result<Vec<String>, Fault> {
    let found = place.json(collection)?;
    let members = found.pointer("/Members").and_then(Value::as_array);
    let paths = members.into_iter().flatten().filter_map(|own| text(own, "/@odata.id"));
    Ok(paths.take(CHASSIS_MAX).map(str::to_owned).collect())
}

/// Returns the resource with the watts of a chassis; the newer resource is tried first.
fn reading(place: &ServiceAddress, chassis: &str) -> Option<(String, &'static str)> {
    let shows = |path: &str, pointer: &str| {
        place.json(path).is_ok_and(|found| number(&found, pointer).is_some())
    };
    for (pointer, part) in [(NEW, "EnvironmentMetrics"), (OLD, "Power")] {
        if chassis.ends_with(part) && shows(chassis, pointer) {
            return Some((chassis.to_owned(), pointer));
        }
    }
    let found = place.json(chassis).ok()?;
    [("EnvironmentMetrics", NEW), ("Power", OLD)].into_iter().find_map(|(part, pointer)| {
        let path = text(&found, &format!("/{part}/@odata.id"))?;
        shows(path, pointer).then(|| (path.to_owned(), pointer))
    })
}

impl Meter for Controller {
    fn about(&self) -> About {
        self.about.clone()
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let found = self.place.json(&self.path)?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let watts = number(&found, self.pointer)
            .ok_or_else(|| Fault::Nonsense("its answer has no watts".to_owned()))?;
        Ok(vec![Sample::watts(at, watts)])
    }
}
