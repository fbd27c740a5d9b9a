//! Chapters H and Y as far as routes show them: who can be picked, and why not.

use serde_json::json;

use super::support::{World, base, card, delete, endpoint, entry, join, leave, record, snapshot};
use workerset_core::routing::{PickError, RouteError};
use workerset_core::{AdmissionConfig, Event};

const A: u32 = 4096;
const B: u32 = 8192;

fn reasons(world: &World, model: &str) -> Vec<String> {
    match world.controller.routes().route(model, None, None, 0) {
        Err(RouteError::NotReady { .. }) => world.controller.reasons(model, None, None),
        other => panic!("{other:?}"),
    }
}

#[test]
fn h2_routable_ids_are_discovered_and_admitted() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, B)].concat());
    world.apply([Event::Apply(base("m", 3, A)), Event::Apply(endpoint("m", 4))]);
    world.succeed(1);
    assert_eq!(world.routable("m"), [1], "2 is rejected, 3 not discovered, 4 has no card");
    let hop = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    world.apply([Event::Apply(endpoint("m", 3)), Event::Apply(base("m", 4, A)), delete("v1/instances/ns/c/m/1", 0)]);
    assert_eq!(hop.ids(), [3, 4], "membership reaches a held hop (H5)");
    assert_eq!(hop.binding().token.generation, 1);
    assert_eq!((hop.pick_direct(3), hop.pick_direct(1)), (Ok(3), Err(PickError::NotRoutable(1))));
    assert_eq!((hop.pick_except(&[3], 0), hop.pick_except(&[3, 4], 0)), (Ok(4), Err(PickError::NoneRoutable)));
    world.apply([delete("v1/instances/ns/c/m/3", 0), delete("v1/instances/ns/c/m/4", 0)]);
    assert_eq!((hop.pick(0), hop.len()), (Err(PickError::NoneRoutable), 0), "never rejected or undiscovered workers");
}

#[test]
fn h3_the_selected_card_decides_the_mode_and_round_robin_visits_all() {
    let mut world = World::default();
    world.apply((1..=3).flat_map(|id| join("m", id, A)));
    world.succeed(1);
    let hop = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    let picks: Vec<u64> = (0..6).filter_map(|_| hop.pick(0).ok()).collect();
    assert_eq!(picks, [1, 2, 3, 1, 2, 3]);

    let mut random = card("r", A);
    random["router_config"] = json!({"router_mode": "random", "kv_router_config": {}, "load_threshold_config": {}});
    world.apply((1..=2).flat_map(|id| {
        [endpoint("r", id), entry(&format!("v1/mdc/ns/c/r/{id:x}"), &record("ns", id, &random))].map(Event::Apply)
    }));
    world.succeed(2);
    let hop = world.controller.routes().route("r", None, None, 0).unwrap().decode;
    assert_eq!((hop.pick(0), hop.pick(0), hop.pick(u64::MAX)), (Ok(1), Ok(1), Ok(2)));
}

#[test]
fn h4_succession_makes_a_new_binding_for_the_same_endpoint_and_checksum() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let old = world.controller.routes().route("m", None, None, 0).unwrap();
    world.apply(leave("m", 1));
    world.apply(join("m", 1, A));
    world.succeed(2);
    let new = world.controller.routes().route("m", None, None, 0).unwrap();
    assert_eq!((old.binding.token.generation, new.binding.token.generation), (1, 2));
    assert_eq!((old.decode.pick(0), new.decode.pick(0)), (Err(PickError::Retired), Ok(1)));
    assert!(old.binding.retired() && !new.binding.retired());
}

#[test]
fn y6_nothing_is_unknown_before_the_first_snapshot_and_a_model_lingers_after_its_last_worker() {
    let mut world = World::default();
    assert!(reasons(&world, "m")[0].contains("first snapshot"));
    world.apply([snapshot(1, vec![])]);
    let routes = world.controller.routes();
    assert_eq!(routes.route("m", None, None, 0).unwrap_err(), RouteError::NotFound);
    let mut named = card("m", A);
    named["aliases"] = json!(["alias"]);
    let value = entry("v1/mdc/ns/c/m/1", &record("ns", 1, &named));
    world.apply([Event::Apply(value), Event::Apply(endpoint("m", 1))]);
    assert_eq!(reasons(&world, "m").len(), 1, "known as soon as it is reserved");
    world.succeed(1);
    assert_eq!(routes.models(), ["alias", "m"]);
    world.now = 5.0;
    world.apply(leave("m", 1));
    assert_eq!((reasons(&world, "m").len(), reasons(&world, "alias").len()), (1, 1));
    assert_eq!(world.controller.next_deadline(), Some(65.0));
    world.advance(64.9);
    assert_eq!(reasons(&world, "m").len(), 1);
    world.advance(65.0);
    assert_eq!(routes.route("m", None, None, 0).unwrap_err(), RouteError::NotFound);
    assert_eq!(routes.route("alias", None, None, 0).unwrap_err(), RouteError::NotFound);
}

#[test]
fn a_model_in_succession_is_not_ready_and_never_not_found() {
    let mut world = World::new(AdmissionConfig { linger_seconds: 0.0, ..AdmissionConfig::default() });
    world.apply([vec![snapshot(1, vec![])], join("m", 1, A), join("m", 2, B)].concat());
    world.succeed(1);
    world.apply(leave("m", 1));
    world.advance(10.0);
    assert_eq!(
        reasons(&world, "m"),
        ["a succession has been running for 10 s: ns/c/m is being built (generation 2) for 10 s"]
    );
    world.succeed(2);
    assert_eq!(world.routable("m"), [2]);
}

#[test]
fn h7_a_prefill_hop_exists_only_between_one_provider_and_one_consumer() {
    let worker = |component: &str, role: &str, needs: &str, model_type: &str| {
        let mut card = card("m", A);
        card["worker_type"] = role.into();
        card["needs"] = json!([[needs]]);
        card["model_type"] = model_type.into();
        card["model_input"] = "Tokens".into();
        let mut value = record("ns", 1, &card);
        value["component"] = component.into();
        let instance = json!({"type": "Endpoint", "namespace": "ns", "component": component, "endpoint": "m",
                              "instance_id": 1, "transport": {"tcp": "x"}});
        [
            Event::Apply(entry(&format!("v1/mdc/ns/{component}/m/1"), &value)),
            Event::Apply(entry(&format!("v1/instances/ns/{component}/m/1"), &instance)),
        ]
    };
    let mut world = World::default();
    world.apply(worker("d", "decode", "prefill", "Chat"));
    assert_eq!(world.succeed(1).1, ["committed g1"], "a decode set alone misses what it needs");
    assert_eq!(reasons(&world, "m"), ["namespace ns: no live prefill worker"]);
    world.apply(worker("p", "prefill", "decode", "Prefill"));
    assert_eq!(world.succeed(2).1, ["committed g2", "hop m prefill: true ", "ready m"]);
    let route = world.controller.routes().route("m", Some("chat"), None, 0).unwrap();
    assert_eq!(route.prefill.unwrap().binding().token.generation, 2);
    assert!(route.encode.is_none());

    world.apply(worker("q", "prefill", "decode", "Prefill"));
    assert_eq!(world.succeed(3).1, ["committed g3", "hop m prefill: false ambiguous: 2 providers"]);
    let hops = world.inventory().worker_sets[0].hops.clone();
    assert_eq!((hops["prefill"].state, &*hops["encode"].reason), ("absent", "no provider"));
    assert!(world.controller.routes().route("m", None, None, 0).unwrap().prefill.is_none());
    let lines = world.apply([delete("v1/mdc/ns/p/m/1", 0)]);
    assert!(lines.contains(&"hop m prefill: true ".to_owned()), "{lines:?}");
}

#[test]
fn a_route_is_refused_for_a_type_that_no_set_offers_and_draws_by_weight_between_namespaces() {
    let mut world = World::default();
    let in_namespace = |namespace: &str, id: u64| {
        let value = record(namespace, id, &card("m", A));
        let instance = json!({"type": "Endpoint", "namespace": namespace, "component": "c", "endpoint": "m",
                              "instance_id": id, "transport": {"tcp": "x"}});
        [
            Event::Apply(entry(&format!("v1/mdc/{namespace}/c/m/{id:x}"), &value)),
            Event::Apply(entry(&format!("v1/instances/{namespace}/c/m/{id:x}"), &instance)),
        ]
    };
    world.apply([in_namespace("a", 1), in_namespace("b", 2), in_namespace("b", 3), in_namespace("b", 4)].concat());
    world.succeed(1);
    world.succeed(2);
    let routes = world.controller.routes();
    let drawn: Vec<String> =
        (0..8_u64).map(|ticket| routes.route("m", None, None, ticket << 61).unwrap().namespace).collect();
    assert_eq!(drawn, ["a", "a", "b", "b", "b", "b", "b", "b"]);
    assert_eq!(routes.route("m", None, Some("b"), 0).unwrap().namespace, "b");
    let refused = routes.route("m", Some("embedding"), None, 0).unwrap_err();
    assert_eq!(refused, RouteError::NotReady { model: "m".into() });
    let reasons = world.controller.reasons("m", Some("embedding"), None);
    assert!(reasons[0].ends_with("does not offer embedding; it offers chat"), "{reasons:?}");
    assert_eq!((reasons.len(), world.controller.reasons("m", Some("embedding"), Some("a")).len()), (2, 1));
    assert_eq!(world.controller.reasons("m", None, Some("c")), ["no committed set in namespace c"]);
    assert!(world.controller.reasons("m", None, None).is_empty(), "it is ready");
}
