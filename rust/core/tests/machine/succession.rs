//! Chapter S: builds, fences, retries, and who comes next.

use super::support::{Tweak, World, adapter, base, card, delete, endpoint, entry, join, leave, record, snapshot};
use serde_json::json;
use workerset_core::inventory::Phase;
use workerset_core::routing::PickError;
use workerset_core::{AdmissionConfig, BuildVerdict, Event};

const A: u32 = 4096;
const B: u32 = 8192;
const C: u32 = 1024;

fn fenced(verdict: &BuildVerdict) -> bool {
    matches!(verdict, BuildVerdict::Fenced { .. })
}

#[test]
fn s1_s2_s3_s5_the_oldest_cohort_succeeds_only_when_the_incumbent_is_gone() {
    let mut world = World::default();
    for (id, context) in [(1, A), (2, A), (3, B), (4, C)] {
        world.apply(join("m", id, context));
    }
    world.succeed(1);
    let old = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    assert_eq!(world.apply(leave("m", 1)), ["members m: +[] -[1]"], "one incumbent is enough to keep the set");
    assert_eq!(
        world.apply(leave("m", 2)),
        [
            "withdraw g1",
            "members m: +[3] -[2]",
            "succession m: 4096 Some(1) to 1",
            "rejected m: 1 of ns/c/m/4, context_length",
            "start g2 m:8192 for ns/c/m/3",
            "not ready m",
        ]
    );
    assert_eq!(old.pick(0), Err(PickError::Retired));
    assert_eq!(world.succeed(2).1, ["committed g2", "ready m"]);
    let new = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    assert_eq!((new.pick(0), new.binding().token.generation), (Ok(3), 2));
    assert_eq!(old.pick(0), Err(PickError::Retired), "the old channel never carries the successor's ids");
    assert_eq!((old.ids(), old.contains(3), old.len()), (vec![], false, 0));
}

#[test]
fn s4_a_late_result_of_an_earlier_lifetime_with_the_same_checksum_is_fenced() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    assert_eq!(
        world.apply(leave("m", 1)),
        ["cancel g1", "members m: +[] -[1]"],
        "the build of a set that emptied is cancelled"
    );
    assert_eq!(world.apply(join("m", 1, A)), ["members m: +[1] -[]", "start g2 m:4096 for ns/c/m/1"]);
    let (verdict, lines) = world.succeed(1);
    assert!(fenced(&verdict) && lines.is_empty(), "{verdict:?} {lines:?}");
    assert_eq!(world.succeed(2).0, BuildVerdict::Committed { generation: 2 });
}

#[test]
fn s4_a_late_result_for_the_selected_checksum_but_of_an_earlier_generation_is_fenced() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, B)].concat());
    world.apply(leave("m", 1));
    world.apply(join("m", 3, A));
    assert_eq!(world.apply(leave("m", 2))[3], "start g3 m:4096 for ns/c/m/3", "the first checksum is selected again");
    for (verdict, lines) in [world.succeed(1), world.fail(2)] {
        assert!(fenced(&verdict) && lines.is_empty(), "{verdict:?} {lines:?}");
    }
    assert_eq!(world.succeed(3).0, BuildVerdict::Committed { generation: 3 });
}

#[test]
fn s4_a_cancelled_build_whose_success_arrives_afterwards_is_fenced_and_frees_its_place() {
    let mut world = World::new(AdmissionConfig { max_concurrent_builds: 1, ..AdmissionConfig::default() });
    world.apply(join("m", 1, A));
    world.apply(join("m", 2, B));
    assert_eq!(
        world.apply(leave("m", 1)),
        ["cancel g1", "members m: +[2] -[1]", "succession m: 4096 None to 1"],
        "the cancelled build still takes the only place"
    );
    let (verdict, lines) = world.succeed(1);
    assert!(fenced(&verdict));
    assert_eq!(lines, ["start g2 m:8192 for ns/c/m/2"]);
    assert!(fenced(&world.cancelled(1).0), "a result is reported once");
}

#[test]
fn s3_s4_reports_that_are_repeated_foreign_or_altered_are_fenced() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    let token = world.tokens[&1].clone();
    let mut foreign = token.clone();
    foreign.controller_id = 77;
    let mut altered = token.clone();
    altered.mdc_checksum.0[0] ^= 1;
    let mut unissued = token.clone();
    unissued.generation = 9;
    for (token, reason) in [(foreign, "another controller"), (altered, "was issued for"), (unissued, "never issued")] {
        let verdict = world.controller.build_succeeded(&token, None, 0.0);
        let BuildVerdict::Fenced { reason: given } = &verdict else { panic!("{verdict:?}") };
        assert!(given.contains(reason), "{given}");
    }
    assert_eq!(world.succeed(1).0, BuildVerdict::Committed { generation: 1 });
    let (verdict, _) = world.fail(1);
    assert!(matches!(verdict, BuildVerdict::Fenced { reason } if reason.contains("reported before")));
}

#[test]
fn s3_generations_grow_over_all_sets_and_retries() {
    let mut world = World::default();
    world.apply(join("a", 1, A));
    world.apply(join("b", 1, A));
    world.fail(1);
    assert_eq!(world.advance(1.0), ["start g3 a:4096 for ns/c/a/1"]);
    assert_eq!(world.cancelled(2).1, ["start g4 b:4096 for ns/c/b/1"]);
}

#[test]
fn s6_rejections_are_reported_again_when_the_incumbent_changes_against_the_state_at_the_end_of_the_call() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, B), join("m", 3, C), join("m", 4, C)].concat());
    let mut events = leave("m", 1);
    events.extend(leave("m", 3));
    let lines = world.apply(events);
    assert!(lines.contains(&"rejected m: 1 of ns/c/m/4, context_length".to_owned()), "{lines:?}");
    let mut both = join("m", 5, 77);
    both.extend(leave("m", 5));
    assert_eq!(world.apply(both), [""; 0], "a cohort that came and went within one call is not reported");
}

#[test]
fn s7_retries_wait_longer_each_time_and_a_success_resets_the_count() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    for (n, delay) in [(1, 1.0), (2, 2.0), (3, 4.0), (4, 8.0), (5, 16.0), (6, 30.0), (7, 30.0)] {
        let attempt = u32::try_from(n).unwrap();
        let deadline = world.now + delay;
        assert_eq!(world.fail(n).0, BuildVerdict::Retry { attempt, deadline });
        assert_eq!(world.controller.next_deadline(), Some(deadline));
        assert_eq!(world.advance(deadline - 0.01), [""; 0]);
        assert_eq!(world.advance(deadline), [format!("start g{} m:4096 for ns/c/m/1", n + 1)]);
    }
    world.succeed(8);
    assert_eq!(world.inventory().worker_sets[0].retry, None);
}

#[test]
fn s7_a_member_change_brings_the_retry_forward_without_resetting_the_count() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    for n in 1..=3 {
        world.fail(n);
        let deadline = world.controller.next_deadline().unwrap();
        world.advance(deadline);
    }
    world.fail(4);
    let failed = world.now;
    world.now += 0.5;
    assert_eq!(world.apply(join("m", 2, A)), ["members m: +[2] -[]"]);
    assert_eq!(world.controller.next_deadline(), Some(failed + 1.0), "one second after the failure");
    world.advance(failed + 1.0);
    assert_eq!(world.fail(5).0, BuildVerdict::Retry { attempt: 5, deadline: failed + 17.0 });
    world.now = failed + 4.0;
    assert_eq!(
        world.apply(leave("m", 2)),
        ["members m: +[] -[2]", "start g6 m:4096 for ns/c/m/1"],
        "at once when that second has passed"
    );
}

#[test]
fn s7_r4_a_rejected_worker_and_its_adapter_do_not_move_the_deadline() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    for n in 1..=3 {
        world.fail(n);
        let deadline = world.controller.next_deadline().unwrap();
        world.advance(deadline);
    }
    world.fail(4);
    let deadline = world.controller.next_deadline();
    world.now += 3.0;
    world.apply(join("m", 9, B));
    world.apply([Event::Apply(adapter("m", 9, "lora"))]);
    world.apply(leave("m", 9));
    let retry = world.inventory().worker_sets[0].retry.clone().unwrap();
    assert_eq!((Some(retry.deadline), retry.attempt), (deadline, 4));
    let mut updated = card("m", A);
    updated["migration_limit"] = json!(3);
    assert_eq!(world.apply([Event::Apply(entry("v1/mdc/ns/c/m/1", &record("ns", 1, &updated)))]), [""; 0]);
    let retry = world.inventory().worker_sets[0].retry.clone();
    assert_eq!(retry.map(|retry| retry.deadline), deadline, "nor an update");
}

#[test]
fn s7_at_most_eight_builds_run_and_the_rest_start_in_the_order_of_the_queue() {
    let mut world = World::default();
    let models: Vec<String> = (0..11).map(|n| format!("m{n:02}")).collect();
    let joins = models.iter().rev().flat_map(|model| join(model, 1, A));
    let lines = world.apply(joins);
    let started: Vec<&String> = lines.iter().filter(|line| line.starts_with("start")).collect();
    assert_eq!(started.len(), 8);
    assert_eq!(started[0], "start g1 m10:4096 for ns/c/m10/1");
    world.apply(join("m02", 2, B));
    assert_eq!(
        world.apply(leave("m02", 1)),
        ["members m02: +[2] -[1]", "succession m02: ? None to 1"],
        "a succession gives up the old place in the queue"
    );
    assert_eq!(world.succeed(5).1, ["committed g5", "start g9 m01:4096 for ns/c/m01/1", "ready m06"]);
    assert_eq!(world.fail(6).1, ["retry g6 #1 at 1", "start g10 m00:4096 for ns/c/m00/1"]);
    assert_eq!(world.succeed(1).1, ["committed g1", "start g11 m02:8192 for ns/c/m02/2", "ready m10"]);
}

#[test]
fn s7_retries_that_fall_due_together_are_queued_by_deadline_then_order_of_failure() {
    let mut world = World::default();
    for model in ["a", "b", "c"] {
        world.apply(join(model, 1, A));
    }
    world.fail(3);
    world.fail(1);
    world.now = 0.5;
    world.fail(2);
    assert_eq!(
        world.advance(9.0),
        ["start g4 c:4096 for ns/c/c/1", "start g5 a:4096 for ns/c/a/1", "start g6 b:4096 for ns/c/b/1"]
    );
}

#[test]
fn s7_a_build_reported_as_cancelled_although_current_is_queued_again() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    let (verdict, lines) = world.cancelled(1);
    assert_eq!((verdict, &*lines), (BuildVerdict::Requeued, &["start g2 m:4096 for ns/c/m/1".to_owned()][..]));
}

#[test]
fn s8_the_representative_is_the_smallest_instance_key_in_byte_order_when_the_build_starts() {
    let mut world = World::default();
    let lines = world.apply([join("m", 2, A), join("m", 0x10, A)].concat());
    assert!(lines.contains(&"start g1 m:4096 for ns/c/m/10".to_owned()), "{lines:?}");
    world.apply(join("m", 1, A));
    world.fail(1);
    assert_eq!(world.advance(1.0), ["start g2 m:4096 for ns/c/m/1"]);
    world.apply(leave("m", 1));
    world.succeed(2);
    assert_eq!(world.routable("m"), [2, 16], "the selected card stays although its worker left");
}

fn aliased(model: &str, id: u64, aliases: &[&str]) -> Vec<Event> {
    let mut card = card(model, A);
    card["aliases"] = json!(aliases);
    let path = format!("v1/mdc/ns/c/{model}/{id:x}");
    vec![Event::Apply(endpoint(model, id)), Event::Apply(entry(&path, &record("ns", id, &card)))]
}

#[test]
fn s9_an_alias_collision_blocks_the_later_commit_until_the_owner_withdraws() {
    let mut world = World::default();
    world.apply(aliased("a", 1, &["x"]));
    world.apply(aliased("b", 1, &["x"]));
    world.succeed(1);
    let (verdict, lines) = world.succeed(2);
    assert!(matches!(verdict, BuildVerdict::Blocked { reason } if reason.contains("\"a\"")));
    assert_eq!(lines, ["blocked g2 x of a #1 at 1"]);
    let set = world.inventory().worker_sets[1].clone();
    assert_eq!((set.phase, set.blocked_by.as_deref()), (Phase::Blocked, Some("a")));

    world.now = 0.2;
    assert_eq!(world.apply(join("b", 2, A)).len(), 1, "another checksum is rejected");
    assert_eq!(world.apply(aliased("b", 3, &["x"])), ["members b: +[3] -[]"]);
    assert_eq!(world.controller.next_deadline(), Some(1.0), "a member change does not release it");
    assert_eq!(world.advance(1.0), ["start g3 b:4096 for ns/c/b/1"]);
    assert_eq!(world.succeed(3).1, ["blocked g3 x of a #2 at 3"], "it counts as a failure");

    let lines = world.apply(leave("a", 1));
    assert_eq!(lines, ["withdraw g1", "members a: +[] -[1]", "start g4 b:4096 for ns/c/b/1", "not ready a"]);
    assert_eq!(world.succeed(4).1, ["committed g4", "ready b"]);
    let routes = world.controller.routes();
    assert_eq!(routes.models(), ["b", "x"]);
    assert_eq!(routes.route("x", None, None, 0).unwrap().model, "b");
}

#[test]
fn s9_only_the_owners_last_withdrawal_of_the_name_releases_who_waits_for_it() {
    let mut world = World::default();
    let in_component = |component: &str| {
        let mut card = card("a", A);
        card["aliases"] = json!(["x"]);
        let mut value = record("ns", 1, &card);
        value["component"] = component.into();
        Event::Apply(entry(&format!("v1/mdc/ns/{component}/a/1"), &value))
    };
    world.apply([in_component("c"), in_component("d")]);
    world.apply(aliased("other", 1, &["y"]));
    world.apply(aliased("b", 1, &["x"]));
    for generation in 1..=4 {
        world.succeed(generation);
    }
    let phase = |world: &mut World| world.inventory().worker_sets.iter().find(|set| set.model == "b").unwrap().phase;
    world.apply(leave("other", 1));
    assert_eq!(phase(&mut world), Phase::Blocked, "another model's withdrawal releases nothing");
    assert_eq!(world.apply([delete("v1/mdc/ns/c/a/1", 0)]), ["withdraw g1", "members a: +[] -[1]"]);
    assert_eq!(phase(&mut world), Phase::Blocked, "the owner still holds the name through its other set");
    let lines = world.apply([delete("v1/mdc/ns/d/a/1", 0)]);
    assert_eq!(lines[2], "start g5 b:4096 for ns/c/b/1", "{lines:?}");
}

#[test]
fn s9_a_display_name_that_is_anothers_alias_collides_and_sets_of_one_name_do_not() {
    let mut world = World::default();
    world.apply(aliased("a", 1, &["b"]));
    world.succeed(1);
    world.apply(join("b", 1, A));
    assert!(matches!(world.succeed(2).0, BuildVerdict::Blocked { .. }));

    let mut world = World::default();
    world.apply(aliased("a", 1, &["x"]));
    let mut other = card("a", A);
    other["aliases"] = json!(["x"]);
    let mut other = record("ns", 1, &other);
    other["component"] = "d".into();
    world.apply([Event::Apply(entry("v1/mdc/ns/d/a/1", &other))]);
    world.succeed(1);
    assert_eq!(world.succeed(2).0, BuildVerdict::Committed { generation: 2 });
}

#[test]
fn d2_the_sole_incumbent_replaced_under_its_key_within_one_snapshot_hands_over_to_who_waited() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).incarnation("old")), Event::Apply(endpoint("m", 1))]);
    world.apply(join("m", 2, B));
    world.succeed(1);
    let listing = vec![base("m", 1, A).incarnation("new"), endpoint("m", 1), base("m", 2, B), endpoint("m", 2)];
    assert_eq!(
        world.apply([snapshot(5, listing)]),
        [
            "withdraw g1",
            "members m: +[2] -[1]",
            "succession m: 4096 Some(1) to 1",
            "rejected m: 1 of ns/c/m/1, context_length",
            "start g2 m:8192 for ns/c/m/2",
            "not ready m",
        ]
    );
}

#[test]
fn d5_no_build_starts_and_no_generation_is_used_for_a_state_that_the_batch_left() {
    let mut world = World::default();
    let mut events = join("m", 1, A);
    events.extend(leave("m", 1));
    events.extend(join("m", 2, B));
    events.extend(leave("m", 2));
    events.extend(join("m", 3, C));
    assert_eq!(world.apply(events), ["members m: +[3] -[]", "start g1 m:1024 for ns/c/m/3"]);
}

#[test]
fn close_retires_every_channel_and_fences_every_report() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.apply(join("n", 1, A));
    world.succeed(1);
    let hop = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    world.controller.close();
    assert_eq!(world.drain(), ["withdraw g1", "cancel g2", "not ready m"]);
    assert_eq!(hop.pick(0), Err(PickError::Retired));
    assert!(fenced(&world.succeed(2).0));
    assert_eq!(world.apply(join("m", 2, A)), [""; 0]);
}
