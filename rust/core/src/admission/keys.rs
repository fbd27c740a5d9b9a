//! From observations to keys: what is newer, what a listing changes, what is not usable (chapter D, clause R7).

use std::collections::BTreeSet;

use super::controller::{Controller, SourceState};
use crate::HashMap;
use crate::notice::Notice;
use crate::record::{Content, Seen, shown_key};

/// A path that exists in the source.
#[derive(Debug, Default)]
pub(super) struct Key {
    /// Revision of its newest observation.
    seen: u64,
    /// Token of the stored record's incarnation, once known.
    incarnation: Option<Box<str>>,
    /// Whether a valid record is stored.
    stored: bool,
    /// Why the newest record is not usable, and which values were reported.
    pub(super) refused: Option<Refused>,
}

#[derive(Debug, Default)]
pub(super) struct Refused {
    pub(super) reason: String,
    reported: BTreeSet<u64>,
}

impl Controller {
    /// One event. Known and older than the newest observation of its key: stale (clause D2).
    pub(super) fn observe_apply(&mut self, seen: Seen) {
        let newest = self.newest(&seen.path);
        if seen.revision == 0 || seen.revision >= newest {
            let at = newest.max(seen.revision);
            self.revision = self.revision.max(at);
            self.take(seen, at);
        }
    }

    pub(super) fn observe_delete(&mut self, path: &str, revision: u64) {
        let newest = self.newest(path);
        if revision == 0 || revision >= newest {
            let at = newest.max(revision);
            self.revision = self.revision.max(at);
            self.past.deleted(path, at, self.now);
            self.forget(path);
        }
    }

    /// A listing: departures in key order, then updates, then arrivals in the order of R6 (clause D2).
    pub(super) fn observe_reset(&mut self, entries: Vec<Seen>, as_of: u64, prefix: &str) {
        if !self.past.listed(prefix, as_of) {
            return;
        }
        self.call.changes.observed |= self.snapshot_at.is_none();
        self.snapshot_at = Some(self.now);
        self.source = SourceState::Live;
        self.revision = self.revision.max(as_of);

        let mut listed: HashMap<String, Seen> = HashMap::default();
        for seen in entries.into_iter().filter(|seen| seen.path.starts_with(prefix)) {
            listed.insert(seen.path.clone(), seen);
        }
        let mut departed: Vec<(Box<str>, bool)> = Vec::new();
        for (path, key) in self.keys.iter().filter(|(path, key)| path.starts_with(prefix) && key.seen <= as_of) {
            match listed.get(&**path) {
                None => departed.push((path.clone(), true)),
                Some(seen) if key.is_replaced_by(seen) => {
                    departed.push((path.clone(), false));
                }
                Some(_) => {}
            }
        }
        departed.sort_unstable();
        for (path, is_gone) in departed {
            if is_gone { self.forget(&path) } else { self.unstore(&path) }
        }

        let current = listed.into_values().filter(|seen| self.newest(&seen.path) <= as_of);
        let (mut updates, mut arrivals): (Vec<Seen>, Vec<Seen>) =
            current.partition(|seen| self.keys.get(seen.path.as_str()).is_some_and(|key| key.stored));
        updates.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        arrivals.sort_unstable_by(|a, b| arrival_order(a).cmp(&arrival_order(b)));
        for seen in updates.into_iter().chain(arrivals) {
            let at = as_of.max(seen.revision);
            self.revision = self.revision.max(at);
            self.take(seen, at);
        }
    }

    fn newest(&self, path: &str) -> u64 {
        self.keys.get(path).map_or_else(|| self.past.absent_since(path), |key| key.seen)
    }

    /// Take what was found behind a key, at the revision of its newest observation.
    fn take(&mut self, seen: Seen, at: u64) {
        let path = &*seen.path;
        if let Some(key) = self.keys.get_mut(path) {
            key.seen = at;
            if key.is_replaced_by(&seen) {
                self.unstore(path);
            }
        } else {
            self.past.returned(path);
            self.keys.insert(path.into(), Key { seen: at, ..Key::default() });
        }
        let accepted = match seen.content {
            Content::Unchanged if self.keys.get(path).is_some_and(|key| key.stored || key.refused.is_some()) => return,
            Content::Unchanged => {
                return self.refuse(path, "listed as unchanged, but no value was applied before".into(), 0);
            }
            Content::Refused { reason, value } => return self.refuse(path, reason, value),
            Content::Endpoint { place, record } => {
                self.take_endpoint(&place, record);
                true
            }
            Content::Card { place, card, .. } if place.suffix.is_some() => {
                self.take_adapter(&place, card);
                true
            }
            Content::Card { place, card, value } => self.take_base(path, &place, card, value),
        };
        if accepted && let Some(key) = self.keys.get_mut(path) {
            key.stored = true;
            if key.refused.take().is_some() {
                self.refused.remove(path);
            }
            if let Some(incarnation) = seen.incarnation {
                key.incarnation = Some(incarnation.into());
            }
        }
    }

    /// Clause R7: the last valid state stays. Told once per distinct value.
    fn refuse(&mut self, path: &str, reason: String, value: u64) {
        if self.note_refusal(path, &reason, value) {
            self.notice(Notice::RecordRefused { key: shown_key(path).into(), reason });
        }
    }

    /// Keep the reason for the inventory. True: this value was not reported before.
    pub(super) fn note_refusal(&mut self, path: &str, reason: &str, value: u64) -> bool {
        let Some(key) = self.keys.get_mut(path) else { return false };
        self.refused.insert(path.into());
        let refused = key.refused.get_or_insert_default();
        refused.reason = reason.into();
        refused.reported.insert(value)
    }

    /// Drop what is stored for a key: its registration ends.
    fn unstore(&mut self, path: &str) {
        if let Some(key) = self.keys.get_mut(path)
            && key.stored
        {
            key.stored = false;
            key.incarnation = None;
            self.end_registration(path);
        }
    }

    /// The key is gone from the source.
    fn forget(&mut self, path: &str) {
        self.unstore(path);
        self.keys.remove(path);
        self.refused.remove(path);
    }
}

impl Key {
    /// Clause I8: both tokens known and different: the stored incarnation has left. A valid adapter record replaces its
    /// predecessor all the same (L3), and an entry without a value says that nothing changed.
    fn is_replaced_by(&self, seen: &Seen) -> bool {
        let leaves = match &seen.content {
            Content::Unchanged => false,
            Content::Card { place, .. } => place.suffix.is_none(),
            Content::Endpoint { .. } | Content::Refused { .. } => true,
        };
        let differs = self.incarnation.as_deref().zip(seen.incarnation.as_deref()).is_some_and(|(old, new)| old != new);
        self.stored && leaves && differs
    }
}

/// Clause R6: creation order, unknown last; then instance key.
fn arrival_order(seen: &Seen) -> (bool, Option<i64>, &str) {
    (seen.created.is_none(), seen.created, shown_key(&seen.path))
}
