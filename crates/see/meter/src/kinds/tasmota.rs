//! Reads plugs with Tasmota: `GET /cm?cmnd=Status%2010` has `StatusSNS.ENERGY` with `Power` in
//! watts (a list for several channels) and `Total` in kWh with three decimals; older firmware has
//! these fields in `Status 8` (Tasmota documentation, "Commands" and "Power Monitoring"). A device
//! with a web password needs name and password in the query,
//! `/cm?user=NAME&password=PASSWORD&cmnd=...` ("Commands", "With web requests"); without them it
//! answers `{"WARNING":"Need user=<username>&password=<password>"}`, with status 200 or, with newer
//! firmware, 401.

use http_client::{Identity, Method, Question, Secret, ServiceAddress, host_and_port};
use serde_json::Value;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::{number, period, text};
use crate::{About, Fault, Meter, Sample, monotonic};

const KILOWATT_HOUR: f64 = 3.6e6;

#[derive(Debug)]
struct Plug {
    place: ServiceAddress,
    path: &'static str,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(spec.at.trim_start_matches("http://"), 80)?;
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let identity = secret.map_or(Identity::Nobody, Identity::Query);
    let place = ServiceAddress { host, port, tls: None, identity, patience: None };
    let paths = ["/cm?cmnd=Status%2010", "/cm?cmnd=Status%208"];
    let mut why = None;
    for path in paths {
        match status(&place, path) {
            Ok(found) if watts(&found).is_some() => {
                return Ok(Box::new(Plug { place, path, period: period(spec, Nanos::SECOND) }));
            }
            Ok(_) => {}
            // Another request would get the same answer.
            Err(fault @ Fault::Unfit(_)) => return Err(fault),
            Err(fault) => why = Some(fault),
        }
    }
    let none =
        || Fault::Unfit("it answers, but has no ENERGY.Power: this device has no meter".to_owned());
    Err(why.unwrap_or_else(none))
}

/// Requests the status of the device at a path.
fn status(place: &ServiceAddress, path: &str) -> Result<Value, Fault> {
    let answer = place.ask(Question { method: Method::Get, path, body: None })?;
    let found: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let warning = found.as_ref().and_then(|found| text(found, "/WARNING")).unwrap_or_default();
    if matches!(answer.status, 401 | 403) || warning.contains("password") {
        return Err(Fault::Unfit(match place.identity {
            Identity::Nobody => {
                "it needs a password: credentials=FILE names a file with NAME:PASSWORD, and the name \
                 is admin"
            }
            _ => "it refuses the name and password of credentials",
        }.to_owned()));
    }
    match (answer.status, found) {
        (200, Some(found)) => Ok(found),
        (200, None) => Err(Fault::Nonsense(format!("the answer at {path} is not JSON"))),
        (status, _) => Err(Fault::Unanswered(format!("HTTP status {status} at {path}"))),
    }
}

/// Adds the watts of all channels.
fn watts(found: &Value) -> Option<f64> {
    match found.pointer("/StatusSNS/ENERGY/Power")? {
        Value::Array(all) => all.iter().map(Value::as_f64).sum(),
        one => one.as_f64(),
    }
}

impl Meter for Plug {
    fn about(&self) -> About {
        About {
            resolution_watts: Some(1.0),
            counter_step: Some(KILOWATT_HOUR / 1000.0),
            notes: vec![
                "a smart plug: its accuracy depends on its calibration, 1 to 3 % is usual"
                    .to_owned(),
            ],
            ..About::measured("Tasmota", self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let found = status(&self.place, self.path)?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let watts =
            watts(&found).ok_or_else(|| Fault::Nonsense("its answer has no power".to_owned()))?;
        let joules = number(&found, "/StatusSNS/ENERGY/Total").map(|kwh| kwh * KILOWATT_HOUR);
        Ok(vec![Sample { joules, ..Sample::watts(at, watts) }])
    }
}
