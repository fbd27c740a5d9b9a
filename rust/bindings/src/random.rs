//! Random numbers for picks: cheap, uniform, one generator a thread. Not for secrets.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

/// A fresh uniform number: one step of `SplitMix64` (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
pub(crate) fn random() -> u64 {
    thread_local! {
        static STATE: Cell<u64> = Cell::new(RandomState::new().hash_one(()));
    }

    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
