//! Reads Shelly plugs, relays and energy meters.
//!
//! Second generation and later (`/shelly` has the field `gen`): `GET /rpc/Switch.GetStatus?id=N`
//! has `apower` (W) and `aenergy.total` (Wh, three decimals); `PM1`, `EM1` and `EM` are similar
//! (Shelly API documentation, Gen2+ components). First generation: `GET /status` has `meters`
//! (`power` in W, `total` in watt-minutes) or `emeters` (`power`, `total` in Wh).
//!
//! With several channels the total is used if the device reports one (`total_power` of the first
//! generation, `total_act_power` of `EM`); otherwise `id=N` must select a channel.
//!
//! A relay without a meter reports 0 W or nothing, and is refused.

use http_client::{Secret, ServiceAddress, host_and_port};
use serde_json::Value;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::{number, period, text};
use crate::{About, Fault, Meter, Sample, monotonic};

/// Relays of the first generation without a meter (Shelly API documentation, Gen1).
const UNMETERED: [&str; 3] = ["SHSW-1", "SHSW-L", "SHUNI-1"];

/// Joules in a watt-hour, and below in a watt-minute.
const WATT_HOUR: f64 = 3600.0;
const WATT_MINUTE: f64 = 60.0;

/// Maximum number of components of a kind.
const COMPONENTS_MAX: u32 = 8;

/// Positions of the numbers in a device's answer.
#[derive(Debug, Clone)]
struct Source {
    path: String,
    watts: String,
    energy: Option<Energy>,
    /// Flags of the device's own meters that must not be false.
    valid: Vec<String>,
}

/// Counters whose sum is the energy.
#[derive(Debug, Clone)]
struct Energy {
    at: Vec<String>,
    /// Joules in one unit.
    unit: f64,
    /// Smallest step, in joules.
    step: f64,
}

impl Energy {
    fn joules(&self, found: &Value) -> Option<f64> {
        self.at.iter().map(|at| number(found, at).map(|value| value * self.unit)).sum()
    }
}

#[derive(Debug)]
struct Plug {
    place: ServiceAddress,
    source: Source,
    model: String,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(spec.at.trim_start_matches("http://"), 80)?;
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let place = ServiceAddress { host, port, tls: None, identity: secret.into(), patience: None };
    let device = place.json("/shelly")?;
    let generation = device.get("gen").and_then(Value::as_u64).unwrap_or(1);
    let model = text(&device, "/model").or(text(&device, "/type")).unwrap_or("unknown");
    let source = match generation {
        1 if UNMETERED.contains(&model) => return Err(unmetered(model)),
        1 => first_generation(&place, spec.id)?,
        _ => component(&place, spec.id)?,
    };
    let source = source.ok_or_else(|| unmetered(model))?;
    let model = format!("Shelly {}, generation {generation}", untrusted::shown(model));
    Ok(Box::new(Plug { place, source, model, period: period(spec, Nanos::SECOND) }))
}

fn unmetered(model: &str) -> Fault {
    let model = untrusted::shown(model);
    Fault::Unfit(format!(
        "a Shelly {model} shows no power there: it has no meter, or needs another id=N"
    ))
}

/// Makes the fault for several channels without a selection.
fn several(channels: &[String]) -> Fault {
    Fault::Unfit(format!(
        "it has {} channels but no total: {}; id=N selects one",
        channels.len(),
        channels.join(", ")
    ))
}

/// Returns true if the component exists and reports watts.
fn has_watts(place: &ServiceAddress, source: &Source) -> bool {
    place.json(&source.path).is_ok_and(|found| number(&found, &source.watts).is_some())
}

/// Kinds of components, with the fields of their watts and counter. `EM` is the total of its
/// phases.
const COMPONENTS: [(&str, &str, Option<&str>); 4] = [
    ("EM", "/total_act_power", None),
    ("Switch", "/apower", Some("/aenergy/total")),
    ("PM1", "/apower", Some("/aenergy/total")),
    ("EM1", "/act_power", None),
];

fn of_component((kind, watts, energy): (&str, &str, Option<&str>), id: u32) -> Source {
    let energy = energy.map(|at| Energy {
        at: vec![at.to_owned()],
        unit: WATT_HOUR,
        step: WATT_HOUR / 1000.0,
    });
    Source {
        path: format!("/rpc/{kind}.GetStatus?id={id}"),
        watts: watts.to_owned(),
        energy,
        valid: Vec::new(),
    }
}

/// Returns the selected component, or the only component with watts.
fn component(place: &ServiceAddress, id: Option<u32>) -> Result<Option<Source>, Fault> {
    if let Some(id) = id {
        let mut all = COMPONENTS.into_iter().map(|kind| of_component(kind, id));
        return Ok(all.find(|source| has_watts(place, source)));
    }
    let (mut found, mut channels) = (None, Vec::new());
    for kind in COMPONENTS {
        for id in 0..COMPONENTS_MAX {
            let source = of_component(kind, id);
            if !has_watts(place, &source) {
                break;
            }
            channels.push(format!("{} {id}", kind.0));
            found = found.or(Some(source));
        }
        // Values of the phases beside their total add nothing.
        if kind.0 == "EM" && channels.len() == 1 {
            return Ok(found);
        }
    }
    if channels.len() > 1 { Err(several(&channels)) } else { Ok(found) }
}

/// Returns the meter of a first-generation device: one channel, or their total.
fn first_generation(place: &ServiceAddress, id: Option<u32>) -> Result<Option<Source>, Fault> {
    let status = place.json("/status")?;
    let kinds = [("emeters", WATT_HOUR, WATT_HOUR / 10.0), ("meters", WATT_MINUTE, WATT_MINUTE)];
    for (list, unit, step) in kinds {
        let all = status.get(list).and_then(Value::as_array).map_or(0, Vec::len);
        let has = |at: usize| number(&status, &format!("/{list}/{at}/power")).is_some();
        let known: Vec<usize> = match id {
            Some(id) => usize::try_from(id).ok().filter(|at| has(*at)).into_iter().collect(),
            None => (0..all).filter(|at| has(*at)).collect(),
        };
        let has_total = number(&status, "/total_power").is_some();
        let watts = match known[..] {
            [] => continue,
            [one] => format!("/{list}/{one}/power"),
            _ if has_total && list == "emeters" => "/total_power".to_owned(),
            ref several_of => {
                let names: Vec<String> =
                    several_of.iter().map(|at| format!("{list} {at}")).collect();
                return Err(several(&names));
            }
        };
        let each = |what: &str| known.iter().map(|at| format!("/{list}/{at}/{what}")).collect();
        let energy = Some(Energy { at: each("total"), unit, step });
        return Ok(Some(Source {
            path: "/status".to_owned(),
            watts,
            energy,
            valid: each("is_valid"),
        }));
    }
    Ok(None)
}

impl Meter for Plug {
    fn about(&self) -> About {
        About {
            resolution_watts: Some(0.1),
            counter_step: self.source.energy.as_ref().map(|energy| energy.step),
            notes: vec![NOTE.to_owned()],
            ..About::measured(self.model.clone(), self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let found = self.place.json(&self.source.path)?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let is_false = |at: &String| found.pointer(at) == Some(&Value::Bool(false));
        if self.source.valid.iter().any(is_false) {
            return Err(Fault::Nonsense("its own meter reports an invalid reading".to_owned()));
        }
        let watts = number(&found, &self.source.watts)
            .ok_or_else(|| Fault::Nonsense("its answer has no power".to_owned()))?;
        let joules = self.source.energy.as_ref().and_then(|energy| energy.joules(&found));
        Ok(vec![Sample { joules, ..Sample::watts(at, watts) }])
    }
}

/// Note for `facts` about the usual accuracy of such plugs.
const NOTE: &str = "a smart plug: its maker states no accuracy class, 1 to 3 % is usual";
