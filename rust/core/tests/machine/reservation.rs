//! Chapters I and R: who reserves, who joins, who waits.

use super::support::{Tweak, World, base, card, delete, endpoint, entry, join, leave, record, snapshot};
use workerset_core::inventory::Phase;
use workerset_core::{AdmissionConfig, BuildVerdict, Event, NamespaceFilter};

const A: u32 = 4096;
const B: u32 = 8192;
const C: u32 = 1024;

#[test]
fn r1_r2_r3_the_first_card_reserves_equal_ones_join_and_a_larger_cohort_waits() {
    let mut world = World::default();
    assert_eq!(world.apply(join("m", 1, A)), ["members m: +[1] -[]", "start g1 m:4096 for ns/c/m/1"]);
    assert_eq!(world.apply(join("m", 2, B)), ["rejected m: 1 of ns/c/m/2, context_length"]);
    assert_eq!(world.apply(join("m", 3, B)), [""; 0], "an unchanged disagreement is told once");
    assert_eq!(world.apply(join("m", 4, A)), ["members m: +[4] -[]"]);
    let (verdict, lines) = world.succeed(1);
    assert_eq!(verdict, BuildVerdict::Committed { generation: 1 });
    assert_eq!(lines, ["committed g1", "ready m"]);
    assert_eq!(world.routable("m"), [1, 4]);
    let set = &world.inventory().worker_sets[0];
    assert_eq!((set.phase, set.generation, &*set.admitted), (Phase::Ready, Some(1), &[1, 4][..]));
    assert_eq!(set.rejected[0].cohort.members, ["ns/c/m/2", "ns/c/m/3"]);
    assert_eq!(set.rejected[0].differs, ["context_length"]);
}

#[test]
fn r1_the_reservation_holds_while_the_build_is_queued_running_and_retrying() {
    let mut world = World::new(AdmissionConfig { max_concurrent_builds: 1, ..AdmissionConfig::default() });
    world.apply(join("busy", 1, A));
    assert_eq!(world.apply(join("m", 1, A)), ["members m: +[1] -[]"], "queued behind the other set");
    assert_eq!(world.apply(join("m", 2, B)), ["rejected m: 1 of ns/c/m/2, context_length"]);
    assert_eq!(world.succeed(1).1, ["committed g1", "start g2 m:4096 for ns/c/m/1", "ready busy"]);
    world.fail(2);
    let set = world.inventory().worker_sets.remove(1);
    assert_eq!((set.phase, set.incumbent.members), (Phase::Retrying, vec!["ns/c/m/1".to_owned()]));
}

#[test]
fn r5_a_cohort_that_empties_and_returns_joins_the_end() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.apply(join("m", 2, B));
    world.apply(join("m", 3, C));
    assert_eq!(world.apply(leave("m", 2)), [""; 0]);
    assert_eq!(world.apply(join("m", 2, B)), ["rejected m: 1 of ns/c/m/2, context_length"], "newly rejected on return");
    let lines = world.apply(leave("m", 1));
    assert!(lines.contains(&"start g2 m:1024 for ns/c/m/3".to_owned()), "{lines:?}");
}

#[test]
fn r5_duplicates_and_snapshots_change_no_order() {
    let mut world = World::default();
    let workers = [base("m", 1, A), base("m", 2, B), base("m", 3, C)];
    for worker in workers.clone() {
        world.apply([Event::Apply(worker)]);
    }
    let before = world.inventory();
    let mut shuffled: Vec<_> = workers.iter().rev().cloned().map(Event::Apply).collect();
    shuffled.push(snapshot(0, workers.iter().rev().cloned().collect()));
    assert_eq!(world.apply(shuffled), [""; 0]);
    assert_eq!(world.inventory().worker_sets, before.worker_sets);
}

#[test]
fn r6_arrivals_of_one_snapshot_are_observed_by_creation_then_key_unknown_last() {
    let mut world = World::default();
    let lines = world.apply([snapshot(
        5,
        vec![base("m", 0x10, A), base("m", 2, B).created(7), base("m", 3, C).created(6), base("m", 9, 512)],
    )]);
    assert_eq!(
        lines,
        [
            "members m: +[3] -[]",
            "rejected m: 1 of ns/c/m/2, context_length",
            "rejected m: 1 of ns/c/m/10, context_length",
            "rejected m: 1 of ns/c/m/9, context_length",
            "start g1 m:1024 for ns/c/m/3"
        ]
    );
}

#[test]
fn r6_the_oldest_registration_of_many_reserves_and_the_others_queue_up_by_age() {
    let mut world = World::default();
    let listing =
        (1..=20).map(|id| base("m", id, 1000 + u32::try_from(id).unwrap()).created(-i64::try_from(id).unwrap()));
    world.apply([snapshot(5, listing.collect())]);
    let set = world.inventory().worker_sets.remove(0);
    let order = [set.incumbent].into_iter().chain(set.rejected.into_iter().map(|rejected| rejected.cohort));
    let oldest_first: Vec<String> = (1..=20).rev().map(|id| format!("ns/c/m/{id:x}")).collect();
    assert_eq!(order.flat_map(|cohort| cohort.members).collect::<Vec<String>>(), oldest_first);
}

#[test]
fn r7_a_record_that_is_not_usable_reserves_nothing_and_keeps_the_last_valid_state() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let broken = |text: &str| {
        let mut entry = base("m", 1, A);
        entry.value = Some(text.as_bytes().into());
        Event::Apply(entry)
    };
    let lines = world.apply([broken("{"), broken("{"), broken("[]")]);
    assert_eq!(lines.len(), 2, "once per distinct value: {lines:?}");
    assert!(lines[0].starts_with("refused ns/c/m/1: not a JSON record"), "{lines:?}");
    assert_eq!(world.routable("m"), [1]);
    assert_eq!(world.inventory().refused[0].key, "ns/c/m/1");
    assert_eq!(world.apply([Event::Apply(base("m", 1, A))]), [""; 0]);
    assert!(world.inventory().refused.is_empty(), "a valid apply ends it");
}

#[test]
fn r7_a_record_that_names_another_place_or_a_bad_path_is_refused_with_its_reason() {
    let mut world = World::default();
    let good = record("ns", 0x1f, &card("m", A));
    let with = |field: &str, value: serde_json::Value| {
        let mut changed = good.clone();
        changed[field] = value;
        changed
    };
    let path = "v1/mdc/ns/c/m/1f";
    for (path, value, reason) in [
        (path, with("namespace", "other".into()), "namespace \"other\" is not the path's"),
        (path, with("component", "other".into()), "component \"other\" is not the path's"),
        (path, with("endpoint", 5.into()), "endpoint 5 is not the path's"),
        (path, with("instance_id", 30.into()), "instance_id 30 is not the path's 31 (1f)"),
        (path, with("instance_id", (-1).into()), "instance_id -1 is not a u64"),
        (path, with("instance_id", 31.0.into()), "instance_id 31.0 is not a u64"),
        (path, with("model_suffix", "x".into()), "model_suffix \"x\" is not the path's"),
        (path, with("type", "Endpoint".into()), "type is \"Endpoint\", not \"Model\""),
        ("v1/mdc/ns/c/m/1f/x", good.clone(), "the path has a model suffix, the record has none"),
        ("v1/mdc/ns/c/m/1F", good.clone(), "\"1F\" is not a u64 in lower-case hex without padding"),
        ("v1/mdc/ns/c/m/01f", good.clone(), "\"01f\" is not a u64"),
        ("v1/mdc/ns/c/m/10000000000000000", good.clone(), "is not a u64"),
        ("v1/mdc/ns/c/m", good.clone(), "the path has 3 parts"),
        ("v1/mdc/ns//m/1f", good.clone(), "the path has an empty part"),
        ("v1/instances/ns/c/m/1f/x", good.clone(), "has no part after the instance id"),
        ("v1/instances/ns/c/m/1f", good.clone(), "type is \"Model\", not \"Endpoint\""),
    ] {
        let lines = world.apply([Event::Apply(entry(path, &value))]);
        let [line] = &lines[..] else { panic!("{path}: {lines:?}") };
        assert!(line.contains(reason), "{path}: {line}");
        assert_eq!(world.inventory().refused.len(), 1);
        world.apply([delete(path, 0)]);
        assert!(world.inventory().refused.is_empty(), "a removal ends it");
    }
    assert!(world.inventory().worker_sets.is_empty());
}

#[test]
fn r7_a_refused_key_counts_as_present_in_a_snapshot() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let mut broken = base("m", 1, A);
    broken.value = Some(b"{\"half\":".as_slice().into());
    let lines = world.apply([snapshot(9, vec![broken, endpoint("m", 1)])]);
    assert_eq!(lines.len(), 1);
    assert_eq!(world.routable("m"), [1]);
}

#[test]
fn i2_versioned_namespaces_of_one_model_serve_side_by_side() {
    let mut world = World::default();
    let in_namespace = |namespace: &str, id: u64, context: u32| {
        let path = format!("{namespace}/c/m/{id:x}");
        let transport = serde_json::json!({"type": "Endpoint", "namespace": namespace, "component": "c", "endpoint": "m",
                                           "instance_id": id, "transport": {"tcp": "x"}});
        [
            Event::Apply(entry(&format!("v1/mdc/{path}"), &record(namespace, id, &card("m", context)))),
            Event::Apply(entry(&format!("v1/instances/{path}"), &transport)),
        ]
    };
    world.apply(in_namespace("v-1", 1, A));
    world.apply(in_namespace("v-2", 2, B));
    assert_eq!(world.succeed(1).1, ["committed g1", "ready m"]);
    assert_eq!(world.succeed(2).1, ["committed g2"]);
    let routes = world.controller.routes();
    for (namespace, ids, generation) in [("v-1", [1], 1), ("v-2", [2], 2)] {
        let route = routes.route("m", Some("chat"), Some(namespace), 0).unwrap();
        assert_eq!((route.decode.ids(), route.binding.token.generation), (ids.to_vec(), generation));
    }
    let mut lines = world.apply([delete("v1/mdc/v-1/c/m/1", 0)]);
    lines.retain(|line| !line.starts_with("members"));
    assert_eq!(lines, ["withdraw g1"], "the other namespace keeps the model ready");
}

#[test]
fn i8_an_update_keeps_everything_and_a_change_in_place_is_refused() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let mut tainted = card("m", A);
    tainted["runtime_config"] = serde_json::json!({"taints": ["x"]});
    let update = entry("v1/mdc/ns/c/m/1", &record("ns", 1, &tainted));
    assert_eq!(world.apply([Event::Apply(update)]), [""; 0]);
    let route = world.controller.routes().route("m", None, None, 0).unwrap();
    let own = route.decode.worker(1).unwrap().card.to_value();
    assert_eq!(own["runtime_config"]["taints"], serde_json::json!(["x"]), "the worker's own card is replaced");
    let selected = route.binding.card.to_value();
    assert_ne!(selected["runtime_config"]["taints"], own["runtime_config"]["taints"], "the selected card is not (S8)");

    assert_eq!(world.apply([Event::Apply(base("m", 1, B)), Event::Apply(base("m", 1, B))]), ["in-place ns/c/m/1"]);
    let inventory = world.inventory();
    assert_eq!(inventory.worker_sets[0].incumbent.members, ["ns/c/m/1"]);
    assert!(inventory.refused[0].reason.contains("may not change its checksum"), "{:?}", inventory.refused);
    let mut moved = card("other", A);
    moved["slug"] = "m".into();
    let mut moved = record("ns", 1, &moved);
    moved["endpoint"] = "m".into();
    assert_eq!(world.apply([Event::Apply(entry("v1/mdc/ns/c/m/1", &moved))]), ["in-place ns/c/m/1"]);
    assert!(world.inventory().refused[0].reason.contains("may not change its WorkerSet"));
}

#[test]
fn i8_d1_a_refused_change_is_a_sign_of_life() {
    let mut world = World::default();
    world.apply(vec![Event::Apply(base("m", 1, A).revision(1))]);
    world.apply(vec![Event::Apply(base("m", 1, B).revision(8))]);
    assert_eq!(world.apply([snapshot(7, vec![])]), [""; 0]);
    assert_eq!(world.inventory().worker_sets[0].incumbent.members, ["ns/c/m/1"]);
}

#[test]
fn i8_another_incarnation_leaves_and_joins_in_one_step() {
    let mut world = World::default();
    world.apply([Event::Apply(endpoint("m", 1)), Event::Apply(base("m", 1, A))]);
    world.succeed(1);
    assert_eq!(
        world.apply([Event::Apply(base("m", 1, A).incarnation("a"))]),
        [""; 0],
        "an unknown token becomes known"
    );
    assert_eq!(world.apply([Event::Apply(base("m", 1, A))]), [""; 0], "one without a token leaves the stored one");
    let lines = world.apply([Event::Apply(base("m", 1, A).incarnation("b"))]);
    assert_eq!(
        lines,
        ["withdraw g1", "succession m: 4096 Some(1) to 1", "start g2 m:4096 for ns/c/m/1", "not ready m"],
        "alone in its cohort: even the same checksum is a succession"
    );
}

#[test]
fn i8_a_refused_change_does_not_make_its_token_known() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A))]);
    world.apply([Event::Apply(base("m", 1, B).incarnation("b"))]);
    assert_eq!(world.apply([Event::Apply(base("m", 1, A).incarnation("c"))]), [""; 0]);
}

#[test]
fn r7_i8_a_broken_record_of_another_incarnation_ends_the_old_one() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).incarnation("a"))]);
    let mut broken = base("m", 1, A).incarnation("b");
    broken.value = Some(b"{}".as_slice().into());
    let lines = world.apply([Event::Apply(broken)]);
    assert_eq!(lines[0], "refused ns/c/m/1: type is missing");
    assert!(world.inventory().worker_sets.is_empty());
    assert_eq!(world.inventory().refused.len(), 1);
}

#[test]
fn foreign_buckets_and_namespaces_outside_the_filter_are_ignored() {
    let namespaces = NamespaceFilter::Exact("other".into());
    let mut world = World::new(AdmissionConfig { namespaces, ..AdmissionConfig::default() });
    let foreign = entry("v1/event_channels/namespace/ns/topic/t/1", &serde_json::json!({}));
    assert_eq!(world.apply([Event::Apply(foreign)]), [""; 0]);
    assert_eq!(world.apply(join("m", 1, A)), [""; 0]);
    assert!(world.inventory().worker_sets.is_empty() && world.inventory().refused.is_empty());
}
