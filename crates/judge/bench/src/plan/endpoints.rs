use std::time::Duration;

use engine::client::Address;
use indexmap::IndexMap;
use spec::workload::{Endpoint, Protocol, Workload};
use spec::{Answering, ResolvedTile, ServiceModel, did_you_mean};
use vm::Asked;

use crate::plan::PlanError;

/// Time for which a VM writes to a snapshot before it is deleted. Our choice, so that a quick run
/// has several snapshots.
pub const SNAPSHOT_KEPT: Duration = Duration::from_secs(2);

/// Parses an endpoint's name as a phase of an operation. The number of VMs of a boot storm is not
/// part of the name.
pub fn asked(endpoint: &str) -> Option<Asked> {
    Asked::parse(endpoint, SNAPSHOT_KEPT, 1)
}

/// Services and models, keyed by the name of the endpoint.
pub type Answers = IndexMap<String, Answering>;

/// Checks that every called endpoint has a service or model, and that every service or model is
/// used.
pub fn check(given: &Answers, tile: &ResolvedTile) -> Result<(), PlanError> {
    let known: Vec<&str> = called(tile).map(|(_, own)| own.name.as_str()).collect();
    if let Some(name) = given.keys().find(|name| !known.contains(&name.as_str())) {
        let help = did_you_mean(name, &known, "endpoints");
        return Err(PlanError::UnknownEndpoint { name: name.clone(), help });
    }
    let strange = |(_, own): &(&Workload, &Endpoint)| {
        own.protocol == Protocol::Vm && asked(&own.name).is_none()
    };
    if let Some((workload, Endpoint { name, .. })) = called(tile).find(strange) {
        return Err(PlanError::NoPhase { workload: workload.name.clone(), name: name.clone() });
    }
    let elsewhere = |(_, own): &(&Workload, &Endpoint)| own.protocol != Protocol::Vm;
    let elsewhere = |one: &(&Workload, &Endpoint)| elsewhere(one) && !is_made(one);
    match called(tile).filter(elsewhere).find(|(_, own)| !given.contains_key(&own.name)) {
        None => Ok(()),
        Some((workload, Endpoint { name, protocol })) => {
            let (workload, name) = (workload.name.clone(), name.clone());
            let help = help(&name, Some(*protocol));
            Err(PlanError::MissingEndpoint { workload, name, help })
        }
    }
}

/// Returns the models of a simulation's services, in the order of the names.
pub fn models(given: &Answers) -> Result<Vec<ServiceModel>, PlanError> {
    let model = |(name, answering): (&String, &Answering)| match answering {
        Answering::Model(model) => Ok(*model),
        Answering::Address(_) => Err(wrong(name, answering, "a model", None)),
    };
    given.iter().map(model).collect()
}

/// Returns true if a real run starts the application that answers.
fn is_made((workload, endpoint): &(&Workload, &Endpoint)) -> bool {
    workload.application.is_some_and(|own| own.kind.protocols().contains(&endpoint.protocol))
}

/// Checks that a simulation also has a model for each operation on real virtual machines and for
/// each real application.
pub fn modelled(given: &Answers, tile: &ResolvedTile) -> Result<(), PlanError> {
    let made = called(tile).filter(is_made);
    let made = made.map(|(workload, own)| (workload.name.as_str(), own.name.as_str()));
    match of_machines(tile).chain(made).find(|(_, name)| !given.contains_key(*name)) {
        None => Ok(()),
        Some((workload, name)) => {
            let (workload, name, help) = (workload.to_owned(), name.to_owned(), help(name, None));
            Err(PlanError::MissingEndpoint { workload, name, help })
        }
    }
}

/// Returns the endpoints that are phases of operations on real virtual machines, as pairs of
/// workload and endpoint names.
pub fn of_machines(tile: &ResolvedTile) -> impl Iterator<Item = (&str, &str)> {
    let of_machines = called(tile).filter(|(_, own)| own.protocol == Protocol::Vm);
    of_machines.map(|(workload, own)| (workload.name.as_str(), own.name.as_str()))
}

/// Returns the addresses for a run's calls, keyed by the name of the endpoint.
pub fn addresses<'a>(
    given: &Answers,
    tile: &'a ResolvedTile,
) -> Result<IndexMap<&'a String, Address>, PlanError> {
    let spoken = called(tile).map(|(_, own)| (&own.name, own.protocol));
    let mut addresses = IndexMap::new();
    for (name, protocol) in spoken {
        let Some(answering) = given.get(name) else { continue };
        if protocol == Protocol::Vm {
            return Err(wrong(name, answering, "VMs of the run itself, not an address", None));
        }
        let Answering::Address(text) = answering else {
            return Err(wrong(name, answering, "an address", Some(protocol)));
        };
        let refused = |why| PlanError::Address { name: name.clone(), why };
        let address = Address::parse(text, protocol.name()).map_err(refused)?;
        addresses.insert(name, address);
    }
    Ok(addresses)
}

fn wrong(
    name: &str,
    given: &Answering,
    takes: &'static str,
    protocol: Option<Protocol>,
) -> PlanError {
    let given = given.to_string();
    PlanError::WrongEndpoint { name: name.to_owned(), given, takes, help: help(name, protocol) }
}

/// Returns the endpoints of all workloads, with their workloads.
fn called(tile: &ResolvedTile) -> impl Iterator<Item = (&Workload, &Endpoint)> {
    let workloads = tile.all().map(|(workload, _)| workload);
    workloads.flat_map(|own| own.endpoints.iter().map(move |endpoint| (own, endpoint)))
}

fn help(name: &str, protocol: Option<Protocol>) -> String {
    let protocol = protocol.map_or("PROTOCOL", Protocol::name);
    format!(
        "--endpoint {name}={protocol}://HOST:PORT/PATH for a run; --endpoint {name}=model:4x2ms for a \
         simulation (four servers, 2 ms each call on average)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Layer, Origin, Surroundings, resolve, resolve_simulated};
    use spec::plan::Plan;

    fn layer(endpoints: &[(&str, &str)]) -> Layer {
        let model =
            |(name, model): &(&str, &str)| ((*name).to_owned(), model.parse().expect("a model"));
        let plan = Plan {
            datastore: Some("array:nvme-local".to_owned()),
            tile: Some("micro/http-get".to_owned()),
            endpoints: endpoints.iter().map(model).collect(),
            ..Plan::default()
        };
        Layer { origin: Origin::Flag, plan }
    }

    #[test]
    fn every_endpoint_has_a_model_and_every_model_an_endpoint() {
        let tile = || spec::shipped::tile("micro/http-get").expect("shipped");
        let around = Surroundings { entropy: 1, cores: 1 };
        let resolved = |layers: &[Layer]| resolve_simulated(layers, tile(), around);
        let given = [layer(&[("page", "model:2x1ms")]), layer(&[("page", "model:9x9ms")])];
        let plan = resolved(&given).expect("resolves");
        assert_eq!(plan.settings.endpoints["page"], "model:2x1ms".parse().expect("a model"));
        let toml = plan.to_toml().expect("TOML");
        let again = spec::load_plan("plan.toml", &toml).expect("loads");
        assert_eq!(
            Layer::of_plan(&again).plan.endpoints,
            layer(&[("page", "model:2x1ms")]).plan.endpoints
        );

        let missing = resolved(&[layer(&[])]).expect_err("no service or model is given");
        assert!(matches!(&missing, PlanError::MissingEndpoint { name, .. } if name == "page"));
        let wrong = resolved(&[layer(&[("pge", "model:2x1ms")])]).expect_err("a slip");
        let PlanError::UnknownEndpoint { help, .. } = wrong else { panic!("{wrong}") };
        assert!(help.contains("did you mean \"page\"?"), "{help}");
        let real = resolve(&given, tile(), around).expect_err("a model answers no call");
        assert!(matches!(&real, PlanError::WrongEndpoint { name, .. } if name == "page"), "{real}");
        let address = [layer(&[("page", "http://web:8080/")])];
        let plan = resolve(&address, tile(), around).expect("an address");
        assert_eq!(plan.settings.endpoints["page"].to_string(), "http://web:8080/");
        let virtual_ = resolved(&address).expect_err("nobody is there in virtual time");
        assert!(matches!(&virtual_, PlanError::WrongEndpoint { .. }), "{virtual_}");
        let secure = [layer(&[("page", "https://web/")])];
        let plan = resolve(&secure, tile(), around).expect("an address with TLS");
        assert_eq!(plan.settings.endpoints["page"].to_string(), "https://web/");
        let other = [layer(&[("page", "ftp://web/")])];
        let refused = resolve(&other, tile(), around).expect_err("another protocol");
        assert!(matches!(&refused, PlanError::Address { .. }), "{refused}");
    }
}
