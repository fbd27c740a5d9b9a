//! Any history of a small world: joins, leaves, listings, builds that succeed, fail, are cancelled or come late.
#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use workerset_core::{Event, Reset, SourceState};
use workerset_fuzz::{Outcome, Record, World};

#[derive(Arbitrary, Debug)]
struct History {
    /// How many builds run at once, less one.
    builds: u8,
    operations: Vec<Operation>,
}

#[derive(Arbitrary, Debug)]
enum Operation {
    /// Both records of one worker come or go, in one call.
    Join(Record),
    Leave(Record),
    /// One call with some events.
    Apply(Vec<Observed>),
    SucceedAll,
    /// The n-th build that has been started, of the newest sixteen; perhaps reported before.
    Report {
        build: u8,
        outcome: Outcome,
    },
    /// The n-th build, with a token that is altered in one part.
    ReportAltered {
        build: u8,
        part: u8,
    },
    /// Quarters of a second.
    Advance(u8),
    /// To the next deadline.
    AdvanceToDeadline,
    Source(u8),
}

#[derive(Arbitrary, Debug)]
enum Observed {
    Apply { record: Record, revision: Revision },
    Delete { record: Record, revision: Revision },
    Reset { entries: Vec<(Record, bool)>, as_of: Revision, prefix: u8 },
}

#[derive(Arbitrary, Clone, Copy, Debug)]
enum Revision {
    Unknown,
    Next,
    /// That many before the newest.
    Old(u8),
}

const PREFIXES: [&str; 4] = ["", "v1/mdc/", "v1/instances/", "v1/mdc/a/"];

fn revision(newest: &mut u64, wanted: Revision) -> u64 {
    match wanted {
        Revision::Unknown => 0,
        Revision::Next => {
            *newest += 1;
            *newest
        }
        Revision::Old(back) => newest.saturating_sub(u64::from(back % 4)),
    }
}

fn event(newest: &mut u64, observed: Observed) -> Event {
    match observed {
        Observed::Apply { record, revision: wanted } => Event::Apply(record.apply(revision(newest, wanted))),
        Observed::Delete { record, revision: wanted } => {
            Event::Delete { path: record.path(), revision: revision(newest, wanted) }
        }
        Observed::Reset { entries, as_of, prefix } => {
            let as_of = revision(newest, as_of);
            let entries = entries.into_iter().take(12).map(|(record, is_unchanged)| {
                let mut entry = record.apply(as_of);
                if is_unchanged {
                    entry.value = None;
                }
                entry
            });
            let prefix = PREFIXES[usize::from(prefix) % PREFIXES.len()].into();
            Event::Reset(Reset { entries: entries.collect(), as_of, prefix })
        }
    }
}

fn run(history: History) {
    let mut world = World::new(1 + usize::from(history.builds % 3));
    let mut newest = 0;
    for operation in history.operations.into_iter().take(64) {
        match operation {
            Operation::Join(record) => {
                world.apply(record.worker().map(|record| Event::Apply(record.apply(0))).into());
            }
            Operation::Leave(record) => {
                world.apply(record.worker().map(|record| Event::Delete { path: record.path(), revision: 0 }).into());
            }
            Operation::SucceedAll => world.succeed_all(),
            Operation::Apply(events) => {
                let events = events.into_iter().take(6).map(|observed| event(&mut newest, observed)).collect();
                world.apply(events);
            }
            Operation::Report { build, outcome } => world.report(build, outcome),
            Operation::ReportAltered { build, part } => world.report_altered(build, part),
            Operation::Advance(quarters) => world.advance(world.now + f64::from(quarters) / 4.0),
            Operation::AdvanceToDeadline => {
                if let Some(deadline) = world.controller.next_deadline() {
                    world.advance(deadline);
                }
            }
            Operation::Source(state) => {
                let state = [SourceState::Lost, SourceState::Live, SourceState::Ended][usize::from(state) % 3];
                world.controller.source_changed(state, world.now);
                world.check();
            }
        }
    }
    world.close();
}

fuzz_target!(|history: History| run(history));
