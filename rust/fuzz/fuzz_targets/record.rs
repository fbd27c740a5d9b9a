//! Any bytes under any path: refused or taken, never a panic, and a set that serves elsewhere does not notice.
//!
//! An input is the path up to the first line feed, and the record behind it.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::{Corpus, fuzz_target};
use workerset_core::{Apply, Event, Reset};
use workerset_fuzz::{World, calm_worker};

/// The set that serves beside whatever the input does.
const CALM: &str = "calm";

fn run(data: &[u8]) -> Corpus {
    let Some(end) = data.iter().position(|byte| *byte == b'\n') else { return Corpus::Reject };
    let Ok(path) = std::str::from_utf8(&data[..end]) else { return Corpus::Reject };
    if path.split('/').nth(2) == Some(CALM) {
        return Corpus::Reject;
    }
    let value: Arc<[u8]> = data[end + 1..].into();
    let entry = Apply { path: path.into(), value: Some(value), ..Apply::default() };
    let calm = calm_worker(CALM);

    let mut world = World::new(2);
    world.apply(calm.iter().cloned().map(Event::Apply).collect());
    world.succeed_all();
    let before = world.inventory();
    let hop = world.controller.routes().route(CALM, None, None, 0).expect("its build succeeded").decode;

    // Seen alone, seen again, and as part of a listing: the verdict on it is the same each time.
    world.apply(vec![Event::Apply(entry.clone())]);
    let alone = world.inventory();
    assert!(alone.worker_sets.len() <= 2 && alone.refused.len() <= 1);
    world.apply(vec![Event::Apply(entry.clone())]);
    assert_eq!(world.inventory(), alone);
    let entries = calm.into_iter().chain([entry]).collect();
    world.apply(vec![Event::Reset(Reset { entries, as_of: 0, prefix: String::new() })]);
    let listed = world.inventory();
    assert_eq!((&listed.worker_sets, &listed.refused), (&alone.worker_sets, &alone.refused));
    world.succeed_all();
    let after = world.inventory();
    assert!(after.worker_sets.contains(&before.worker_sets[0]), "the set beside it changed");
    assert_eq!(hop.ids(), [1]);

    world.apply(vec![Event::Delete { path: path.into(), revision: 0 }]);
    let gone = world.inventory();
    assert_eq!((&gone.worker_sets, &gone.refused), (&before.worker_sets, &before.refused));
    assert_eq!(hop.pick(0), Ok(1));
    Corpus::Keep
}

fuzz_target!(|data: &[u8]| -> Corpus { run(data) });
