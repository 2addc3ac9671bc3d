use indexmap::IndexMap;
use spec::{ResolvedTile, ServiceModel, did_you_mean};

use crate::plan::{Layer, PlanError, Setting};

/// Every model that was given, earlier layers first; and none is missing or not called.
pub fn of(
    layers: &[Layer],
    tile: &ResolvedTile,
) -> Result<IndexMap<String, Setting<ServiceModel>>, PlanError> {
    let mut models: IndexMap<String, Setting<ServiceModel>> = IndexMap::new();
    for layer in layers {
        for (name, model) in &layer.values.endpoints {
            let setting = Setting { value: *model, origin: layer.origin };
            models.entry(name.clone()).or_insert(setting);
        }
    }
    let called = || {
        let workloads = tile.workloads.iter().map(|(workload, _)| workload);
        workloads.flat_map(|own| own.endpoints.iter().map(|endpoint| (&own.name, &endpoint.name)))
    };
    let known: Vec<&str> = called().map(|(_, name)| name.as_str()).collect();
    if let Some(name) = models.keys().find(|name| !known.contains(&name.as_str())) {
        let help = did_you_mean(name, &known, "endpoints");
        return Err(PlanError::UnknownEndpoint { name: name.clone(), help });
    }
    match called().find(|(_, name)| !models.contains_key(*name)) {
        None => Ok(models),
        Some((workload, name)) => {
            let help =
                format!("--endpoint {name}=model:4x2ms: four servers, 2 ms each call on average");
            let (workload, name) = (workload.clone(), name.clone());
            Err(PlanError::MissingEndpoint { workload, name, help })
        }
    }
}

/// Nothing here can make a call to a service that is there.
pub fn refuse(tile: &ResolvedTile) -> Result<(), PlanError> {
    let mut workloads = tile.workloads.iter().map(|(workload, _)| workload);
    match workloads.find(|workload| !workload.endpoints.is_empty()) {
        None => Ok(()),
        Some(workload) => Err(PlanError::CallsAreSimulated { workload: workload.name.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Origin, Surroundings, Values, resolve, resolve_simulated};

    fn layer(endpoints: &[(&str, &str)]) -> Layer {
        let model =
            |(name, model): &(&str, &str)| ((*name).to_owned(), model.parse().expect("a model"));
        let values = Values {
            datastore: Some("array:nvme-local".to_owned()),
            tile: Some("micro/http-get".to_owned()),
            endpoints: endpoints.iter().map(model).collect(),
            ..Values::default()
        };
        Layer { origin: Origin::Flag, values }
    }

    #[test]
    fn every_endpoint_has_a_model_and_every_model_an_endpoint() {
        let tile = || spec::shipped::tile("micro/http-get").expect("shipped");
        let around = Surroundings { entropy: 1, cores: 1 };
        let resolved = |layers: &[Layer]| resolve_simulated(layers, tile(), around);
        let given = [layer(&[("page", "model:2x1ms")]), layer(&[("page", "model:9x9ms")])];
        let plan = resolved(&given).expect("resolves");
        assert_eq!(plan.endpoints["page"].value, "model:2x1ms".parse().expect("a model"));
        let toml = plan.to_toml().expect("TOML");
        let again = spec::load_plan("plan.toml", &toml).expect("loads");
        assert_eq!(
            Layer::of_plan(&again).values.endpoints,
            layer(&[("page", "model:2x1ms")]).values.endpoints
        );

        let missing = resolved(&[layer(&[])]).expect_err("nothing says what answers");
        assert!(matches!(&missing, PlanError::MissingEndpoint { name, .. } if name == "page"));
        let wrong = resolved(&[layer(&[("pge", "model:2x1ms")])]).expect_err("a slip");
        let PlanError::UnknownEndpoint { help, .. } = wrong else { panic!("{wrong}") };
        assert!(help.contains("did you mean \"page\"?"), "{help}");
        let real = resolve(&given, tile(), around).expect_err("nobody can make a call");
        assert!(
            matches!(&real, PlanError::CallsAreSimulated { workload } if workload == "http-get")
        );
    }
}
