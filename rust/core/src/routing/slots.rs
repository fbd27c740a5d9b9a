//! A dense array of ids that one writer changes while readers draw from it, without a lock and without moving memory.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Slots of the first segment; each further segment doubles.
const FIRST: usize = 32;
/// Segments: room for `FIRST * (2^SEGMENTS - 1)` ids, more than fit into memory.
const SEGMENTS: usize = 32;

/// The ids, packed at the front. A reader that loads the length and then a slot below it gets an id that was in the
/// array at some moment in between: a slot behind the end keeps its last id until it is written again.
#[derive(Debug)]
pub(super) struct Slots {
    segments: [OnceLock<Box<[AtomicU64]>>; SEGMENTS],
    len: AtomicUsize,
}

impl Slots {
    pub(super) fn new() -> Self {
        Self { segments: [const { OnceLock::new() }; SEGMENTS], len: AtomicUsize::new(0) }
    }

    pub(super) fn len(&self) -> usize {
        self.len.load(Ordering::Acquire)
    }

    /// The id in a slot below a length that was loaded before.
    pub(super) fn get(&self, index: usize) -> Option<u64> {
        let (segment, offset) = locate(index);
        Some(self.segments.get(segment)?.get()?.get(offset)?.load(Ordering::Acquire))
    }

    /// Writer only: append, and return the position.
    pub(super) fn push(&self, id: u64) -> usize {
        let index = self.len();
        self.store(index, id);
        self.len.store(index + 1, Ordering::Release);
        index
    }

    /// Writer only: take the id at a position out by moving the last one there. Returns the id that moved, if any.
    pub(super) fn swap_remove(&self, index: usize) -> Option<u64> {
        let last = self.len().checked_sub(1)?;
        let moved = if index == last { None } else { self.get(last) };
        if let Some(id) = moved {
            self.store(index, id);
        }
        self.len.store(last, Ordering::Release);
        moved
    }

    /// Writer only: take everything out.
    pub(super) fn clear(&self) {
        self.len.store(0, Ordering::Release);
    }

    fn store(&self, index: usize, id: u64) {
        let (segment, offset) = locate(index);
        let slots = self.segments[segment].get_or_init(|| (0..FIRST << segment).map(|_| AtomicU64::new(0)).collect());
        slots[offset].store(id, Ordering::Release);
    }
}

/// Segment and offset of an index: segment s holds the indices from `FIRST * (2^s - 1)` on.
fn locate(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let segment = (shifted / FIRST).ilog2() as usize;
    (segment, shifted - (FIRST << segment))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_stay_dense_over_growth_and_removal() {
        let slots = Slots::new();
        for id in 0..1000 {
            assert_eq!(slots.push(id * 3), usize::try_from(id).unwrap());
        }
        assert_eq!(
            (slots.len(), slots.get(0), slots.get(31), slots.get(32), slots.get(999)),
            (1000, Some(0), Some(93), Some(96), Some(2997))
        );
        assert_eq!(slots.swap_remove(10), Some(2997), "the last id moves into the gap");
        assert_eq!(slots.get(10), Some(2997));
        assert_eq!(slots.swap_remove(998), None, "the last one leaves without a move");
        assert_eq!(slots.len(), 998);
        slots.clear();
        assert_eq!((slots.len(), slots.swap_remove(0)), (0, None));
    }
}
