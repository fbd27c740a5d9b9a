//! Chapter D: what is newer, what a listing may undo, and when changes show.

use std::sync::atomic::{AtomicBool, Ordering};

use super::support::{Tweak, World, base, delete, endpoint, join, leave, snapshot};
use workerset_core::{Apply, Event, Reset, SourceState};

const A: u32 = 4096;
const B: u32 = 8192;
const CARD: &str = "v1/mdc/ns/c/m/1";

fn members(world: &mut World) -> Vec<String> {
    world.inventory().worker_sets.pop().map(|set| set.incumbent.members).unwrap_or_default()
}

#[test]
fn d1_an_older_snapshot_may_not_remove_what_was_confirmed_afterwards() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).revision(3))]);
    world.apply([Event::Apply(base("m", 1, A).revision(9))]);
    assert_eq!(world.apply([snapshot(8, vec![])]), [""; 0]);
    assert_eq!(members(&mut world), ["ns/c/m/1"]);
    world.apply([snapshot(9, vec![])]);
    assert!(members(&mut world).is_empty(), "a snapshot that is not older removes what it lacks");
}

#[test]
fn d2_a_snapshot_older_than_a_delete_does_not_resurrect() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).revision(3))]);
    world.apply([delete(CARD, 7)]);
    assert_eq!(world.apply([snapshot(6, vec![base("m", 1, A).revision(3)])]), [""; 0]);
    assert!(members(&mut world).is_empty());
    world.apply([snapshot(7, vec![base("m", 1, A).revision(3)])]);
    assert_eq!(members(&mut world), ["ns/c/m/1"]);
}

#[test]
fn d2_a_delete_of_an_unknown_key_is_remembered() {
    let mut world = World::default();
    world.apply([delete(CARD, 7)]);
    assert_eq!(world.apply([Event::Apply(base("m", 1, A).revision(6))]), [""; 0]);
    world.apply([snapshot(6, vec![base("m", 1, A).revision(6)])]);
    assert!(members(&mut world).is_empty());
    world.advance(600.0);
    world.apply([Event::Apply(base("m", 1, A).revision(6))]);
    assert_eq!(members(&mut world), ["ns/c/m/1"], "forgotten after ten minutes");
}

#[test]
fn d2_a_snapshot_older_than_a_re_apply_neither_removes_nor_changes_it() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).revision(3))]);
    world.apply([delete(CARD, 5), Event::Apply(base("m", 1, B).revision(6))]);
    world.apply([snapshot(4, vec![base("m", 1, A).revision(3).incarnation("old")])]);
    assert_eq!(world.inventory().worker_sets[0].incumbent.members, ["ns/c/m/1"]);
    let lines = world.succeed(2).1;
    assert_eq!(lines[0], "committed g2", "the card of revision 6 is built, not the snapshot's: {lines:?}");
    assert_eq!(world.controller.routes().models(), [""; 0], "no endpoint record yet, so not ready");
}

#[test]
fn d2_absence_and_presence_are_observations_at_the_snapshots_revision() {
    let mut world = World::default();
    world.apply([snapshot(5, vec![base("m", 1, A).revision(2)])]);
    assert_eq!(world.apply([delete(CARD, 4)]), [""; 0], "older than the snapshot that listed it");
    assert_eq!(world.apply([Event::Apply(base("m", 2, A).revision(4))]), [""; 0], "older than the one that lacked it");
    assert_eq!(world.apply([snapshot(4, vec![])]), [""; 0], "an older snapshot is ignored");
    assert_eq!(members(&mut world), ["ns/c/m/1"]);
    world.apply([Event::Apply(base("m", 2, A).revision(6))]);
    assert_eq!(members(&mut world), ["ns/c/m/1", "ns/c/m/2"]);
}

#[test]
fn d2_stale_events_are_ignored_and_unknown_revisions_apply_in_order_of_delivery() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).revision(5))]);
    assert_eq!(world.apply([delete(CARD, 4)]), [""; 0]);
    assert_eq!(world.apply([Event::Apply(base("m", 1, B).revision(4))]), [""; 0]);
    assert_eq!(world.apply([delete(CARD, 0)]).len(), 2);
    assert!(members(&mut world).is_empty());
}

#[test]
fn d2_a_listing_covers_its_prefix_only() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let cards = Reset { entries: vec![], as_of: 3, prefix: "v1/instances/".into() };
    assert_eq!(world.apply([Event::Reset(cards)]), ["not ready m"]);
    assert_eq!(members(&mut world), ["ns/c/m/1"]);
    let stray = Reset { entries: vec![endpoint("m", 1)], as_of: 4, prefix: "v1/mdc/".into() };
    world.apply([Event::Reset(stray)]);
    assert!(world.inventory().worker_sets.is_empty(), "an entry outside the prefix says nothing");
}

#[test]
fn d2_an_entry_without_a_value_is_still_there_and_unchanged() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let bare = |path: &str| Apply { path: path.into(), ..Apply::default() };
    let listing = vec![bare(CARD), bare("v1/instances/ns/c/m/1")];
    assert_eq!(world.apply([snapshot(5, listing.clone())]), [""; 0]);
    assert_eq!(world.routable("m"), [1]);
    let lines = world.apply([snapshot(6, [listing, vec![bare("v1/mdc/ns/c/m/2")]].concat())]);
    assert_eq!(lines, ["refused ns/c/m/2: listed as unchanged, but no value was applied before"]);
}

#[test]
fn d2_of_a_key_that_stands_twice_in_a_listing_the_last_counts() {
    let mut world = World::default();
    let lines = world.apply([snapshot(1, vec![base("m", 1, A), base("m", 1, B)])]);
    assert_eq!(lines, ["members m: +[1] -[]", "start g1 m:8192 for ns/c/m/1"]);
}

#[test]
fn d2_a_cohort_that_departures_empty_has_emptied_even_if_arrivals_carry_its_checksum() {
    let mut world = World::default();
    world.apply(join("m", 1, A));
    world.succeed(1);
    let lines = world.apply([snapshot(1, vec![base("m", 2, A), endpoint("m", 2)])]);
    assert_eq!(
        lines,
        [
            "withdraw g1",
            "members m: +[2] -[1]",
            "succession m: 4096 Some(1) to 1",
            "start g2 m:4096 for ns/c/m/2",
            "not ready m"
        ]
    );
}

#[test]
fn d2_another_incarnation_in_a_snapshot_leaves_before_and_arrives_among_the_new_keys() {
    let mut world = World::default();
    world.apply([Event::Apply(base("m", 1, A).incarnation("old"))]);
    let listing = vec![base("m", 1, A).incarnation("new").created(9), base("m", 2, B).created(1)];
    assert_eq!(
        world.apply([snapshot(1, listing)]),
        [
            "cancel g1",
            "members m: +[2] -[1]",
            "succession m: 4096 None to 1",
            "rejected m: 1 of ns/c/m/1, context_length",
            "start g2 m:8192 for ns/c/m/2"
        ],
        "the older registration comes first, although its key is new"
    );
}

#[test]
fn d3_losing_the_source_removes_nothing_and_is_visible() {
    let mut world = World::default();
    assert_eq!(world.inventory().source.state, "lost", "before the first snapshot");
    world.now = 2.0;
    world.apply([snapshot(4, vec![base("m", 1, A), endpoint("m", 1)])]);
    world.succeed(1);
    world.now = 5.0;
    for (state, shown) in [(SourceState::Lost, "lost"), (SourceState::Ended, "ended"), (SourceState::Live, "live")] {
        world.controller.source_changed(state, world.now);
        let source = world.inventory().source;
        assert_eq!((source.state, source.snapshot_age, source.revision), (shown, Some(3.0), 4));
        assert_eq!(world.routable("m"), [1]);
    }
    assert_eq!(world.drain(), [""; 0]);
}

#[test]
fn d4_a_snapshot_after_a_gap_is_applied_in_one_step() {
    let mut world = World::default();
    world.apply([join("m", 1, A), join("m", 2, A), join("m", 3, B)].concat());
    world.succeed(1);
    let listing = vec![base("m", 2, A), endpoint("m", 2), base("m", 4, A), endpoint("m", 4)];
    assert_eq!(world.apply([snapshot(9, listing)]), ["members m: +[4] -[1]"]);
    assert_eq!(world.routable("m"), [2, 4]);
    assert!(world.inventory().worker_sets[0].rejected.is_empty());
}

#[test]
fn d5_slots_change_by_the_net_difference_additions_first_and_a_hop_never_looks_empty() {
    let mut world = World::default();
    world.apply(join("m", 0, A));
    world.succeed(1);
    let hop = world.controller.routes().route("m", None, None, 0).unwrap().decode;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let (mut picks, mut listings) = (0_u64, 0_u64);
            while !done.load(Ordering::Acquire) || picks == 0 {
                assert!(hop.pick(picks << 50).is_ok(), "a pick of a set that is never empty");
                picks += 1;
                let ids = hop.ids();
                assert_eq!(ids.len(), 1, "listings change at batch boundaries only: {ids:?}");
                listings += 1;
            }
            listings
        });
        for id in 1..500 {
            let mut events = join("m", id, A);
            events.extend(leave("m", id - 1));
            world.apply(events);
        }
        done.store(true, Ordering::Release);
        assert!(reader.join().unwrap() > 0);
    });
    assert_eq!(hop.ids(), [499]);
}
