//! Shelly plugs, relays and energy meters.
//!
//! Second generation and later (`/shelly` says `gen`): `GET /rpc/Switch.GetStatus?id=N` has `apower`
//! (W) and `aenergy.total` (Wh, three decimals); `PM1`, `EM1` and `EM` the like (Shelly API
//! documentation, Gen2+ components). First generation: `GET /status` has `meters` (`power` in W,
//! `total` in watt-minutes) or `emeters` (`power`, `total` in Wh).
//!
//! A relay without a meter shows 0 W or nothing: it is refused, for that is no reading.

use remote::{Place, Secret, host_and_port};
use serde_json::Value;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::{number, period, text};
use crate::{About, Fault, Meter, Sample, monotonic};

/// Relays of the first generation that have no meter (Shelly API documentation, Gen1).
const UNMETERED: [&str; 3] = ["SHSW-1", "SHSW-L", "SHUNI-1"];

/// Watt-hours and watt-minutes in joules.
const WATT_HOUR: f64 = 3600.0;
const WATT_MINUTE: f64 = 60.0;

/// Where a device has its numbers.
#[derive(Debug, Clone)]
struct Source {
    path: String,
    watts: String,
    /// The counter, what its unit is in joules, and its smallest step.
    energy: Option<(String, f64, f64)>,
}

#[derive(Debug)]
struct Plug {
    place: Place,
    source: Source,
    model: String,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(spec.at.trim_start_matches("http://"), 80)?;
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let place = Place { host, port, tls: None, identity: secret.into(), patience: None };
    let device = place.json("/shelly")?;
    let generation = device.get("gen").and_then(Value::as_u64).unwrap_or(1);
    let model = text(&device, "/model").or(text(&device, "/type")).unwrap_or("unknown");
    let id = spec.id.unwrap_or(0);
    let source = match generation {
        1 if UNMETERED.contains(&model) => return Err(unmetered(model)),
        1 => first_generation(&place, id)?,
        _ => components(id).into_iter().find(|own| has_watts(&place, own)),
    };
    let source = source.ok_or_else(|| unmetered(model))?;
    let model = format!("Shelly {}, generation {generation}", plain::shown(model));
    Ok(Box::new(Plug { place, source, model, period: period(spec, Nanos::SECOND) }))
}

fn unmetered(model: &str) -> Fault {
    let model = plain::shown(model);
    Fault::Unfit(format!(
        "a Shelly {model} shows no power there: it has no meter, or id=N is another"
    ))
}

/// Whether the component is there and shows a number.
fn has_watts(place: &Place, source: &Source) -> bool {
    place.json(&source.path).is_ok_and(|found| number(&found, &source.watts).is_some())
}

fn components(id: u32) -> [Source; 4] {
    let of = |component: &str, watts: &str, energy: Option<&str>| Source {
        path: format!("/rpc/{component}.GetStatus?id={id}"),
        watts: watts.to_owned(),
        energy: energy.map(|at| (at.to_owned(), WATT_HOUR, WATT_HOUR / 1000.0)),
    };
    [
        of("Switch", "/apower", Some("/aenergy/total")),
        of("PM1", "/apower", Some("/aenergy/total")),
        of("EM1", "/act_power", None),
        of("EM", "/total_act_power", None),
    ]
}

fn first_generation(place: &Place, id: u32) -> Result<Option<Source>, Fault> {
    let status = place.json("/status")?;
    let of = |list: &str, unit: f64, step: f64| Source {
        path: "/status".to_owned(),
        watts: format!("/{list}/{id}/power"),
        energy: Some((format!("/{list}/{id}/total"), unit, step)),
    };
    let known =
        [of("emeters", WATT_HOUR, WATT_HOUR / 10.0), of("meters", WATT_MINUTE, WATT_MINUTE)];
    Ok(known.into_iter().find(|source| number(&status, &source.watts).is_some()))
}

impl Meter for Plug {
    fn about(&self) -> About {
        About {
            resolution_watts: Some(0.1),
            counter_step: self.source.energy.as_ref().map(|(.., step)| *step),
            notes: vec![NOTE.to_owned()],
            ..About::measured(self.model.clone(), self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let found = self.place.json(&self.source.path)?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let is_valid = found.pointer(&self.source.watts.replace("/power", "/is_valid"));
        if is_valid == Some(&Value::Bool(false)) {
            return Err(Fault::Nonsense("its own meter says that it is not valid".to_owned()));
        }
        let watts = number(&found, &self.source.watts)
            .ok_or_else(|| Fault::Nonsense("its answer has no power".to_owned()))?;
        let joules = self
            .source
            .energy
            .as_ref()
            .and_then(|(path, unit, _)| number(&found, path).map(|value| value * unit));
        Ok(vec![Sample { joules, ..Sample::watts(at, watts) }])
    }
}

/// From `facts`: what makers of such plugs say of them.
const NOTE: &str = "a smart plug: its maker states no class of accuracy, 1 to 3 % is usual";
