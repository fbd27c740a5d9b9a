//! Who owns a name, and which names are known at all (clauses S9, Y6).

use std::collections::BTreeSet;
use std::sync::Arc;

use super::time::Time;
use crate::HashMap;
use crate::card::ModelCard;

/// The display name and the aliases of a card: what a committed set claims for its model (clause S9).
pub(super) fn claims_of(card: &ModelCard) -> BTreeSet<&str> {
    card.aliases().iter().map(String::as_str).chain([card.display_name()]).collect()
}

/// Names of committed models. A name belongs to one model; sets of one model hold it together.
#[derive(Debug, Default)]
pub(super) struct Claims(HashMap<Box<str>, Claim>);

#[derive(Debug)]
struct Claim {
    model: Arc<str>,
    holders: usize,
}

/// A name that another model holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Collision {
    pub(super) name: String,
    pub(super) owner: String,
}

impl Claims {
    /// The model that holds a name.
    pub(super) fn owner(&self, name: &str) -> Option<&Arc<str>> {
        self.0.get(name).map(|claim| &claim.model)
    }

    /// The first name of the card, in byte order, that another model holds.
    pub(super) fn collision(&self, card: &ModelCard) -> Option<Collision> {
        claims_of(card).into_iter().find_map(|name| {
            let owner = self.owner(name).filter(|owner| ***owner != *card.display_name())?;
            Some(Collision { name: name.into(), owner: owner.to_string() })
        })
    }

    /// Whether the model holds one of the card's names.
    pub(super) fn holds_any(&self, owner: &str, card: &ModelCard) -> bool {
        claims_of(card).into_iter().any(|name| self.owner(name).is_some_and(|holder| **holder == *owner))
    }

    /// Take the card's names; there must be no collision.
    pub(super) fn take(&mut self, card: &ModelCard) {
        let model: Arc<str> = card.display_name().into();
        for name in claims_of(card) {
            let claim = self.0.entry(name.into()).or_insert_with(|| Claim { model: Arc::clone(&model), holders: 0 });
            claim.holders += 1;
        }
    }

    /// Give the card's names back.
    pub(super) fn release(&mut self, card: &ModelCard) {
        for name in claims_of(card) {
            if let Some(claim) = self.0.get_mut(name) {
                claim.holders -= 1;
                if claim.holders == 0 {
                    self.0.remove(name);
                }
            }
        }
    }
}

/// Names that somebody registered, whether or not they can be routed now; each stays for a while after its last user.
#[derive(Debug, Default)]
pub(super) struct KnownNames {
    users: HashMap<Box<str>, usize>,
    lingering: HashMap<Box<str>, Lingering>,
    expiries: BTreeSet<(Time, Box<str>)>,
}

/// A name without a user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lingering {
    until: Time,
    /// When the last user left.
    pub(super) since: f64,
    /// Whether that was an adapter.
    pub(super) is_adapter: bool,
}

impl KnownNames {
    /// Count a user in. True: the name was not known before.
    pub(super) fn add(&mut self, name: &str) -> bool {
        let lingered = self.lingering.remove(name);
        let lingered = lingered.map(|lingering| self.expiries.remove(&(lingering.until, name.into()))).is_some();
        let users = self.users.entry(name.into()).or_insert(0);
        *users += 1;
        *users == 1 && !lingered
    }

    /// Count a user out; the last one's name stays known for so many seconds.
    pub(super) fn remove(&mut self, name: &str, is_adapter: bool, since: f64, seconds: f64) {
        let Some(users) = self.users.get_mut(name) else { return };
        *users -= 1;
        if *users == 0 {
            self.users.remove(name);
            let until = Time(since + seconds);
            self.lingering.insert(name.into(), Lingering { until, since, is_adapter });
            self.expiries.insert((until, name.into()));
        }
    }

    /// Whether and since when a name has no user.
    pub(super) fn lingering(&self, name: &str) -> Option<Lingering> {
        self.lingering.get(name).copied()
    }

    /// Forget the names whose time is up, and say which.
    pub(super) fn expire(&mut self, now: f64) -> Vec<Box<str>> {
        let mut forgotten = Vec::new();
        while self.next_expiry().is_some_and(|next| next <= now) {
            if let Some((_, name)) = self.expiries.pop_first() {
                self.lingering.remove(&name);
                forgotten.push(name);
            }
        }
        forgotten
    }

    pub(super) fn next_expiry(&self) -> Option<f64> {
        self.expiries.first().map(|(until, _)| until.0)
    }
}
