//! Plugs with Tasmota: `GET /cm?cmnd=Status%2010` has `StatusSNS.ENERGY` with `Power` in watts (a list
//! where there are several channels) and `Total` in kWh with three decimals; older firmware has it in
//! `Status 8` (Tasmota documentation, "Commands" and "Power Monitoring").

use remote::{Place, Secret, host_and_port};
use serde_json::Value;
use spec::meter::Meter as Spec;
use units::Nanos;

use crate::kinds::{number, period};
use crate::{About, Fault, Meter, Sample, monotonic};

const KILOWATT_HOUR: f64 = 3.6e6;

#[derive(Debug)]
struct Plug {
    place: Place,
    path: &'static str,
    period: Nanos,
}

pub(super) fn open(spec: &Spec) -> Result<Box<dyn Meter>, Fault> {
    let (host, port) = host_and_port(spec.at.trim_start_matches("http://"), 80)?;
    let secret = spec.credentials.as_deref().map(Secret::read).transpose()?;
    let place = Place { host, port, tls: None, identity: secret.into(), patience: None };
    let paths = ["/cm?cmnd=Status%2010", "/cm?cmnd=Status%208"];
    let mut why = None;
    for path in paths {
        match place.json(path) {
            Ok(found) if watts(&found).is_some() => {
                return Ok(Box::new(Plug { place, path, period: period(spec, Nanos::SECOND) }));
            }
            Ok(_) => {}
            Err(fault) => why = Some(fault),
        }
    }
    let none =
        || Fault::Unfit("it answers, and has no ENERGY.Power: this device has no meter".to_owned());
    Err(why.map_or_else(none, Fault::from))
}

/// All channels together.
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
                "a smart plug: its accuracy is that of its calibration, 1 to 3 % is usual"
                    .to_owned(),
            ],
            ..About::measured("Tasmota", self.period)
        }
    }

    fn read(&mut self) -> Result<Vec<Sample>, Fault> {
        let asked = monotonic();
        let found = self.place.json(self.path)?;
        let at = Nanos(asked.0.midpoint(monotonic().0));
        let watts =
            watts(&found).ok_or_else(|| Fault::Nonsense("its answer has no power".to_owned()))?;
        let joules = number(&found, "/StatusSNS/ENERGY/Total").map(|kwh| kwh * KILOWATT_HOUR);
        Ok(vec![Sample { joules, ..Sample::watts(at, watts) }])
    }
}
