//! Score per kilowatt, in the three categories that are usual for published results (VMmark:
//! performance only, performance with server power, performance with server and storage power).
//!
//! A category exists only if every part of it was measured. The power of a server without a meter
//! is never assumed, and a meter of its processors never replaces a meter of the server.

use run_store::run::{Figure, MeterScope, PerKilowatt, PowerCategory};

use crate::error::Absent;

/// A meter's result in a step.
#[derive(Debug, Clone, Copy)]
pub struct Metered<'a> {
    /// Name of the meter.
    pub name: &'a str,
    /// Part of the system that the meter measures.
    pub scope: MeterScope,
    /// Names of the measured hosts; empty if there is only one host.
    pub of: &'a [String],
    /// Mean power of the interval, in W.
    pub watts: &'a Figure,
}

/// Returns the score in each category. `hosts` are the hosts that drive the tiles; empty if only
/// this host does.
pub fn per_kilowatt(
    score: Option<f64>,
    meters: &[Metered<'_>],
    hosts: &[String],
) -> Vec<PerKilowatt> {
    let of = |category, watts: Result<f64, Absent>| PerKilowatt {
        category,
        score_per_kilowatt: match (&watts, score) {
            (Err(why), _) => Figure::absent(why.0.clone()),
            (Ok(_), None) => Figure::absent("there is no score"),
            (Ok(watts), Some(_)) if *watts <= 0.0 => Figure::absent("its meters show 0 W"),
            (Ok(watts), Some(score)) => Figure::of(score / (watts / 1000.0)),
        },
        mean_watts: watts.map_or_else(|why| Figure::absent(why.0), Figure::of),
    };
    let servers = servers(meters, hosts);
    let all = all(meters, servers.clone());
    vec![
        of(PowerCategory::PerformanceOnly, Err("this category does not include power".into())),
        of(PowerCategory::Server, servers),
        of(PowerCategory::ServerAndStorage, all),
    ]
}

fn servers(meters: &[Metered<'_>], hosts: &[String]) -> Result<f64, Absent> {
    let own = || meters.iter().filter(|meter| meter.scope == MeterScope::Host);
    if own().next().is_none() {
        return Err(match of_scope(meters, MeterScope::Rack).next() {
            Some(rack) => {
                format!("the meter {} measures servers and storage together", rack.name).into()
            }
            None => "no meter has the scope host".into(),
        });
    }
    if hosts.len() > 1 {
        if let Some(meter) = own().find(|meter| meter.of.is_empty()) {
            return Err(format!("the meter {} has no host", meter.name).into());
        }
        let is_seen = |host: &&String| own().any(|meter| meter.of.contains(host));
        if let Some(host) = hosts.iter().find(|host| !is_seen(host)) {
            return Err(format!("no meter of the scope host measures {host}").into());
        }
    }
    sum(own())
}

/// Returns the power of all parts, in W: the sum of the racks' meters, or else the sum of servers
/// and storage.
fn all(meters: &[Metered<'_>], servers: Result<f64, Absent>) -> Result<f64, Absent> {
    if of_scope(meters, MeterScope::Rack).next().is_some() {
        return sum(of_scope(meters, MeterScope::Rack));
    }
    let servers = servers?;
    if of_scope(meters, MeterScope::Storage).next().is_none() {
        return Err("no meter has the scope storage or rack".into());
    }
    Ok(servers + sum(of_scope(meters, MeterScope::Storage))?)
}

fn of_scope<'a>(
    meters: &'a [Metered<'a>],
    scope: MeterScope,
) -> impl Iterator<Item = &'a Metered<'a>> {
    meters.iter().filter(move |meter| meter.scope == scope)
}

fn sum<'a>(mut meters: impl Iterator<Item = &'a Metered<'a>>) -> Result<f64, Absent> {
    meters.try_fold(0.0, |sum, meter| match meter.watts.value {
        Some(watts) => Ok(sum + watts),
        None => {
            let why = meter.watts.reason.as_deref().unwrap_or("it showed nothing");
            Err(format!("the meter {}: {why}", meter.name).into())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(meters: &[(&str, MeterScope, &[&str], f64)], hosts: &[&str]) -> [Figure; 3] {
        let owned = |names: &[&str]| names.iter().map(|own| (*own).to_owned()).collect::<Vec<_>>();
        let parts: Vec<(Vec<String>, Figure)> =
            meters.iter().map(|own| (owned(own.2), Figure::of(own.3))).collect();
        let meters: Vec<Metered<'_>> = meters
            .iter()
            .zip(&parts)
            .map(|(own, (of, watts))| Metered { name: own.0, scope: own.1, of, watts })
            .collect();
        let found = per_kilowatt(Some(12.0), &meters, &owned(hosts));
        let found: Vec<Figure> = found.into_iter().map(|own| own.score_per_kilowatt).collect();
        found.try_into().expect("three categories")
    }

    fn why(figure: &Figure) -> &str {
        assert_eq!(figure.value, None, "{figure:?}");
        figure.reason.as_deref().expect("a reason")
    }

    #[test]
    fn servers_alone_say_nothing_of_servers_and_storage() {
        let [alone, servers, all] = told(&[("plug", MeterScope::Host, &[], 400.0)], &[]);
        assert_eq!(servers.value, Some(30.0));
        assert_eq!(why(&all), "no meter has the scope storage or rack");
        assert_eq!(why(&alone), "this category does not include power");
    }

    #[test]
    fn two_supplies_and_the_storage_are_added_up() {
        let meters = [
            ("left", MeterScope::Host, &[][..], 150.0),
            ("right", MeterScope::Host, &[][..], 150.0),
            ("array", MeterScope::Storage, &[][..], 300.0),
        ];
        let [_, servers, all] = told(&meters, &[]);
        assert_eq!((servers.value, all.value), (Some(40.0), Some(20.0)));
    }

    #[test]
    fn a_rack_is_servers_and_storage_and_never_servers_alone() {
        let [_, servers, all] = told(&[("strip", MeterScope::Rack, &[], 600.0)], &[]);
        assert_eq!(why(&servers), "the meter strip measures servers and storage together");
        assert_eq!(all.value, Some(20.0));
        let both =
            [("plug", MeterScope::Host, &[][..], 400.0), ("strip", MeterScope::Rack, &[], 600.0)];
        let [_, servers, all] = told(&both, &[]);
        assert_eq!((servers.value, all.value), (Some(30.0), Some(20.0)), "not counted twice");
    }

    #[test]
    fn processors_are_no_server_and_no_storage() {
        let [_, servers, all] = told(&[("rapl", MeterScope::Processor, &[], 60.0)], &[]);
        assert_eq!(why(&servers), "no meter has the scope host");
        assert_eq!(why(&all), "no meter has the scope host");
    }

    #[test]
    fn every_host_that_drives_needs_a_meter_of_its_own() {
        let one = [("plug", MeterScope::Host, &["a"][..], 400.0)];
        assert_eq!(why(&told(&one, &["a", "b"])[1]), "no meter of the scope host measures b");
        let both = [one[0], ("other", MeterScope::Host, &["b"][..], 200.0)];
        assert_eq!(told(&both, &["a", "b"])[1].value, Some(20.0));
        let strip = [("strip", MeterScope::Host, &["a", "b"][..], 600.0)];
        assert_eq!(told(&strip, &["a", "b"])[1].value, Some(20.0));
        let nobody = [("plug", MeterScope::Host, &[][..], 400.0)];
        let told = told(&nobody, &["a", "b"]);
        assert_eq!(why(&told[1]), "the meter plug has no host");
    }

    #[test]
    fn a_meter_without_energy_takes_its_category_with_it() {
        let void = Figure::absent("no sample came for 5 s");
        let meter = Metered { name: "plug", scope: MeterScope::Host, of: &[], watts: &void };
        let found = per_kilowatt(Some(12.0), &[meter], &[]);
        assert_eq!(why(&found[1].mean_watts), "the meter plug: no sample came for 5 s");
        let watts = Figure::of(0.0);
        let none = per_kilowatt(Some(12.0), &[Metered { watts: &watts, ..meter }], &[]);
        assert_eq!(why(&none[1].score_per_kilowatt), "its meters show 0 W");
        let watts = Figure::of(100.0);
        let none = per_kilowatt(None, &[Metered { watts: &watts, ..meter }], &[]);
        assert_eq!(why(&none[1].score_per_kilowatt), "there is no score");
    }
}
