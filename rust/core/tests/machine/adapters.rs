//! Chapter L: what adapters may and may not do.

use serde_json::json;

use super::support::{World, adapter, base, card, delete, endpoint, entry, join, leave, record, snapshot};
use workerset_core::Event;
use workerset_core::routing::RouteError;

const A: u32 = 4096;
const B: u32 = 8192;

fn carriers(world: &World, name: &str) -> Vec<u64> {
    world.controller.routes().route(name, None, None, 0).map(|route| route.decode.ids()).unwrap_or_default()
}

#[test]
fn l1_adapters_reserve_nothing_join_nothing_and_keep_nothing_alive() {
    let mut world = World::default();
    assert_eq!(world.apply([Event::Apply(adapter("m", 1, "lora"))]), [""; 0]);
    assert!(world.inventory().worker_sets.is_empty());
    world.apply(join("m", 1, A));
    world.succeed(1);
    assert_eq!(carriers(&world, "lora"), [1], "it applies once its base is the incumbent");
    assert_eq!(
        world.apply([delete("v1/mdc/ns/c/m/1", 0)]),
        ["withdraw g1", "members m: +[] -[1]", "not ready m"],
        "the adapter does not keep the set"
    );
    assert!(world.inventory().worker_sets.is_empty());
}

#[test]
fn l2_adapters_of_rejected_workers_project_nothing_and_come_along_at_succession() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, B)].concat());
    world.succeed(1);
    assert_eq!(world.apply([Event::Apply(adapter("m", 2, "lora"))]), [""; 0]);
    assert_eq!(carriers(&world, "lora"), [0; 0]);
    let routes = world.controller.routes();
    assert!(matches!(routes.route("lora", None, None, 0), Err(RouteError::NotReady { .. })), "known, not routable");
    assert_eq!(routes.models(), ["m"]);
    world.apply(leave("m", 1));
    world.succeed(2);
    assert_eq!(carriers(&world, "lora"), [2]);
    let route = routes.route("lora", Some("chat"), None, 0).unwrap();
    assert_eq!((route.model.as_str(), route.adapter.as_deref()), ("m", Some("lora")));
    assert_eq!(world.inventory().worker_sets[0].adapters, ["ns/c/m/2/lora"]);
}

#[test]
fn l2_an_adapter_route_holds_only_carriers_that_are_routable() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, A), join("m", 3, A)].concat());
    world.succeed(1);
    world.apply([Event::Apply(adapter("m", 1, "lora")), Event::Apply(adapter("m", 3, "lora"))]);
    assert_eq!(carriers(&world, "lora"), [1, 3]);
    assert_eq!(world.routable("m"), [1, 2, 3]);
    world.apply([delete("v1/instances/ns/c/m/3", 0)]);
    assert_eq!(carriers(&world, "lora"), [1]);
    let hop = world.controller.routes().route("lora", None, None, 0).unwrap().decode;
    world.apply([Event::Apply(endpoint("m", 3)), delete("v1/mdc/ns/c/m/1/lora", 0)]);
    assert_eq!(hop.ids(), [3], "a held adapter hop stays live");
    world.apply([snapshot(1, vec![base("m", 1, A), base("m", 3, A), endpoint("m", 1), endpoint("m", 3)])]);
    assert_eq!(carriers(&world, "lora"), [0; 0]);
    assert_eq!(world.controller.routes().models(), ["m"]);
}

#[test]
fn l3_a_change_of_the_projection_alone_rebuilds_nothing() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    world.apply([Event::Apply(adapter("m", 1, "lora"))]);
    let mut value = card("renamed", A);
    value["lora"] = json!({"name": "renamed", "max_gpu_lora_count": 4});
    let value = json!({"type": "Model", "namespace": "ns", "component": "c", "endpoint": "m", "instance_id": 1,
                       "card_json": value, "model_suffix": "lora"});
    assert_eq!(world.apply([Event::Apply(entry("v1/mdc/ns/c/m/1/lora", &value))]), [""; 0]);
    assert_eq!((carriers(&world, "lora"), carriers(&world, "renamed")), (vec![], vec![1]));
    let mut base = card("m", A);
    base["runtime_config"] = json!({"max_gpu_lora_count": 8});
    assert_eq!(world.apply([Event::Apply(entry("v1/mdc/ns/c/m/1", &record("ns", 1, &base)))]), [""; 0]);
    assert_eq!(carriers(&world, "renamed"), [1]);
}

#[test]
fn l4_a_suffix_without_lora_and_lora_without_a_suffix_are_refused() {
    let mut world = World::default();
    let mut plain = record("ns", 1, &card("m", A));
    plain["model_suffix"] = "x".into();
    let mut lora = card("m", A);
    lora["lora"] = json!({"name": "x"});
    for (path, value) in [("v1/mdc/ns/c/m/1/x", plain), ("v1/mdc/ns/c/m/1", record("ns", 1, &lora))] {
        let lines = world.apply([Event::Apply(entry(path, &value))]);
        assert!(lines.len() == 1 && lines[0].starts_with("refused") && lines[0].contains("lora"), "{lines:?}");
    }
    world.apply([Event::Apply(entry("v1/mdc/ns/c/m/2", &record("ns", 2, &card("m", A))))]);
    let mut same_bytes = record("ns", 2, &card("m", A));
    same_bytes["model_suffix"] = "y".into();
    let lines = world.apply([Event::Apply(entry("v1/mdc/ns/c/m/2/y", &same_bytes))]);
    assert!(lines[0].contains("lora"), "also when the same card bytes were accepted as a base card: {lines:?}");
}

#[test]
fn r4_adapters_of_rejected_workers_change_nothing_of_the_incumbents_projections() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, B)].concat());
    world.succeed(1);
    world.apply([Event::Apply(adapter("m", 1, "lora"))]);
    let before = world.inventory();
    assert_eq!(world.apply([Event::Apply(adapter("m", 2, "lora")), delete("v1/mdc/ns/c/m/2/lora", 0)]), [""; 0]);
    assert_eq!(world.inventory().worker_sets, before.worker_sets);
    assert_eq!(carriers(&world, "lora"), [1]);
}

#[test]
fn s9_an_adapter_whose_name_a_model_holds_is_not_projected_and_the_reason_is_kept() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("taken", 1, A)].concat());
    world.succeed(1);
    world.apply([Event::Apply(adapter("m", 1, "taken"))]);
    assert_eq!(world.controller.routes().route("taken", None, None, 0).unwrap().model, "m");
    world.succeed(2);
    assert_eq!(
        world.controller.routes().route("taken", None, None, 0).unwrap().model,
        "taken",
        "the model's commit wins"
    );
    let unprojected = world.inventory().worker_sets[0].unprojected.clone();
    assert_eq!(unprojected[0].key, "ns/c/m/1/taken");
    assert!(unprojected[0].reason.contains("held by model \"taken\""));
    world.apply(leave("taken", 1));
    assert_eq!(carriers(&world, "taken"), [1], "projected again when the name is free");
}

#[test]
fn s9_base_models_that_share_an_adapter_name_are_served_by_registration_order() {
    let mut world = World::default();
    world.apply([join("a", 1, A), join("b", 1, A)].concat());
    world.succeed(1);
    world.succeed(2);
    world.apply([Event::Apply(adapter("b", 1, "lora")), Event::Apply(adapter("a", 1, "lora"))]);
    assert_eq!(world.controller.routes().route("lora", None, None, 0).unwrap().model, "b");
    let sets = world.inventory().worker_sets;
    assert_eq!(sets[0].unprojected[0].reason, "the name \"lora\" stands for an adapter of model \"b\"");
    assert_eq!((sets[1].adapters.len(), sets[1].unprojected.len()), (1, 0));
    world.apply([delete("v1/mdc/ns/c/b/1/lora", 0)]);
    assert_eq!(world.controller.routes().route("lora", None, None, 0).unwrap().model, "a");
}

#[test]
fn r7_the_removal_of_a_refused_key_touches_no_record_that_its_path_resembles() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    world.apply([Event::Apply(adapter("m", 1, "lora"))]);
    let path = "v1/instances/ns/c/m/1/lora";
    assert_eq!(world.apply([Event::Apply(entry(path, &json!({})))]).len(), 1, "refused: no adapter lives there");
    assert_eq!(world.apply([delete(path, 0)]), [""; 0]);
    assert_eq!(carriers(&world, "lora"), [1]);
}

#[test]
fn s9_l2_an_adapters_name_goes_with_the_set_that_carried_it() {
    let mut world = World::default();
    world.apply([join("a", 1, A), join("b", 2, A)].concat());
    world.succeed(1);
    world.succeed(2);
    world.apply([Event::Apply(adapter("a", 1, "lora")), Event::Apply(adapter("b", 2, "lora"))]);
    assert_eq!(carriers(&world, "lora"), [1]);
    world.apply(leave("a", 1));
    assert_eq!(carriers(&world, "lora"), [2], "it stands for the other model's adapter now");
    world.apply(leave("b", 2));
    let routes = world.controller.routes();
    assert_eq!(routes.models(), [""; 0]);
    assert!(matches!(routes.route("lora", None, None, 0), Err(RouteError::NotReady { model, .. }) if model == "lora"));
    world.apply(join("b", 2, A));
    world.succeed(3);
    assert_eq!((routes.models(), carriers(&world, "lora")), (vec!["b".to_owned(), "lora".to_owned()], vec![2]));
}
