//! How new an observation is: revisions, snapshots, tombstones (clauses D1, D2).

use std::collections::VecDeque;

use crate::HashMap;

/// How long a deletion is remembered at most, in seconds (clause D2).
const TOMBSTONE_SECONDS: f64 = 600.0;

/// What is known of the past of keys that do not exist now.
#[derive(Debug, Default)]
pub(super) struct Past {
    /// The newest listing of each prefix: a key that it lacked was absent at that revision.
    listings: Vec<(String, u64)>,
    tombstones: HashMap<Box<str>, Tombstone>,
    expiries: VecDeque<(f64, Box<str>)>,
}

#[derive(Debug)]
struct Tombstone {
    revision: u64,
    expires: f64,
}

impl Past {
    /// Revision of the newest observation of a key's absence; 0 when none is known.
    pub(super) fn absent_since(&self, path: &str) -> u64 {
        let listed = self.listings.iter().filter(|(prefix, _)| path.starts_with(prefix.as_str()));
        let deleted = self.tombstones.get(path).map(|tombstone| tombstone.revision);
        listed.map(|(_, as_of)| *as_of).chain(deleted).max().unwrap_or(0)
    }

    /// Note a deletion seen at a revision, of a key that existed or not.
    pub(super) fn deleted(&mut self, path: &str, revision: u64, now: f64) {
        if revision == 0 {
            return;
        }
        let expires = now + TOMBSTONE_SECONDS;
        self.tombstones.insert(path.into(), Tombstone { revision, expires });
        self.expiries.push_back((expires, path.into()));
    }

    /// The key exists again.
    pub(super) fn returned(&mut self, path: &str) {
        self.tombstones.remove(path);
    }

    /// Note a listing. False: it is older than an earlier one over the same or a wider prefix, and says nothing.
    pub(super) fn listed(&mut self, prefix: &str, as_of: u64) -> bool {
        if self.listings.iter().any(|(wider, newest)| prefix.starts_with(wider.as_str()) && *newest > as_of) {
            return false;
        }
        self.listings.retain(|(narrower, newest)| !(narrower.starts_with(prefix) && *newest <= as_of));
        self.listings.push((prefix.into(), as_of));
        self.tombstones.retain(|path, tombstone| !path.starts_with(prefix) || tombstone.revision > as_of);
        true
    }

    /// Forget deletions that are too long ago.
    pub(super) fn expire(&mut self, now: f64) {
        while self.expiries.front().is_some_and(|(expires, _)| *expires <= now) {
            if let Some((expires, path)) = self.expiries.pop_front()
                && self.tombstones.get(&path).is_some_and(|tombstone| tombstone.expires <= expires)
            {
                self.tombstones.remove(&path);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_ignored_after_a_newer_one_over_a_wider_prefix_only() {
        let mut past = Past::default();
        assert!(past.listed("v1/", 5));
        assert!(!past.listed("v1/mdc/", 4));
        assert!(past.listed("v1/mdc/", 5), "the same revision is not older");
        assert!(past.listed("v1/mdc/", 9));
        assert!(past.listed("", 6), "a newer one over a narrower prefix does not matter");
        assert_eq!(past.absent_since("v1/mdc/a"), 9);
        assert_eq!(past.absent_since("v1/instances/a"), 6);
    }

    #[test]
    fn a_tombstone_goes_with_a_listing_that_is_not_older_or_after_ten_minutes() {
        let mut past = Past::default();
        past.deleted("a", 7, 0.0);
        assert!(past.listed("", 6));
        assert_eq!(past.absent_since("a"), 7);
        past.expire(599.0);
        assert_eq!(past.absent_since("a"), 7);
        past.deleted("a", 8, 100.0);
        past.expire(600.0);
        assert_eq!(past.absent_since("a"), 8, "a later deletion starts its own ten minutes");
        past.expire(700.0);
        assert_eq!(past.absent_since("a"), 6);
        past.deleted("a", 9, 700.0);
        assert!(past.listed("", 9));
        assert!(past.tombstones.is_empty());
    }

    #[test]
    fn a_key_that_returns_leaves_no_tombstone() {
        let mut past = Past::default();
        past.deleted("a", 7, 0.0);
        past.returned("a");
        assert_eq!(past.absent_since("a"), 0);
    }
}
