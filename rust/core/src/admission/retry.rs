//! When a failed build is tried again (clause S7).

/// Seconds until the retry after the n-th failure in a row, n from 1 (clause S7).
pub fn delay(failures: u32) -> f64 {
    match failures {
        0..=5 => f64::from(1_u32 << failures.saturating_sub(1)),
        _ => 30.0,
    }
}

/// A failed build that waits.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Retry {
    /// Time of the last failure.
    pub(super) failed: f64,
    /// When the next build is queued at the latest.
    pub(super) deadline: f64,
    /// Place among the failures of all sets: orders retries that fall due together.
    pub(super) order: u64,
    /// Why it failed.
    pub(super) reason: String,
}

impl Retry {
    /// The deadline after a change of the incumbent's members: one second after the failure, or now, but never later.
    pub(super) fn brought_forward(&self, now: f64) -> f64 {
        self.deadline.min((self.failed + 1.0).max(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_double_up_to_thirty_seconds() {
        let delays: Vec<f64> = (1..=8).chain([u32::MAX]).map(delay).collect();
        assert_eq!(delays, [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0, 30.0]);
    }

    #[test]
    fn a_member_change_brings_the_retry_forward_and_never_back() {
        let retry = Retry { failed: 10.0, deadline: 26.0, order: 0, reason: String::new() };
        let deadlines = [10.5, 20.0, 40.0].map(|now| retry.brought_forward(now));
        assert_eq!(deadlines.to_vec(), [11.0, 20.0, 26.0]);
    }
}
