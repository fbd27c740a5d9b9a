//! What a controller is told once, when it is made.

use std::collections::BTreeSet;

use crate::card::RouterMode;
use crate::identity::NamespaceFilter;

/// The release whose checksum a controller computes (clause I7). One controller uses one profile.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Profile {
    /// Dynamo 1.3.
    V1_3,
    /// Dynamo 1.4.
    V1_4,
    /// Dynamo 1.5.
    V1_5,
    /// Dynamo 1.6.
    #[default]
    V1_6,
}

impl Profile {
    /// Every profile, oldest first.
    pub const ALL: [Self; 4] = [Self::V1_3, Self::V1_4, Self::V1_5, Self::V1_6];

    /// The name users give: `1.3` to `1.6`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V1_3 => "1.3",
            Self::V1_4 => "1.4",
            Self::V1_5 => "1.5",
            Self::V1_6 => "1.6",
        }
    }

    /// The profile of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name)
    }
}

/// What to do with a card whose `router_policy_config` names a file. Dynamo opens that file on the frontend's own disk
/// and refuses the card if it cannot (WIRE 3.3, row 23); the core reads no files, so the caller says which are good.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub enum RouterPolicyFiles {
    /// Refuse every such card, as a frontend without the file does.
    #[default]
    Refuse,
    /// Accept every such card.
    Accept,
    /// Accept the cards that name one of these paths.
    Paths(BTreeSet<String>),
}

impl RouterPolicyFiles {
    /// Whether a card may name this file.
    pub fn accepts(&self, path: &str) -> bool {
        match self {
            Self::Refuse => false,
            Self::Accept => true,
            Self::Paths(paths) => paths.contains(path),
        }
    }
}

/// Everything a controller is told when it is made.
#[derive(Clone, Debug, PartialEq)]
pub struct AdmissionConfig {
    /// Whose checksum is computed (clause I7).
    pub checksum_profile: Profile,
    /// How many builds run at once, at least 1 (clause S7).
    pub max_concurrent_builds: usize,
    /// Bytes of a record; a larger one is refused without a look at it.
    pub max_record_bytes: usize,
    /// Which namespaces are looked at.
    pub namespaces: NamespaceFilter,
    /// How long a model whose last worker left stays known, in seconds (clause Y6).
    pub linger_seconds: f64,
    /// Overwrites `runtime_config.tokenizer_backend` of every card (WIRE 4b); never changes a checksum.
    pub tokenizer_backend: Option<String>,
    /// Overwrites `runtime_config.tokenizer_fallback_enabled` of every card (WIRE 4b); never changes a checksum.
    pub tokenizer_fallback: Option<bool>,
    /// Which router policy files cards may name.
    pub router_policy_files: RouterPolicyFiles,
    /// Router mode of sets whose selected card advertises none.
    pub default_router_mode: RouterMode,
    /// Seconds after which the caller ends a build, if it does: for the texts about one that runs.
    pub build_timeout: Option<f64>,
    /// Tells tokens of this controller from those of another (clause S3); the caller draws it at random.
    pub controller_id: u64,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            checksum_profile: Profile::default(),
            max_concurrent_builds: 8,
            max_record_bytes: 4 << 20,
            namespaces: NamespaceFilter::All,
            linger_seconds: 60.0,
            tokenizer_backend: None,
            tokenizer_fallback: None,
            router_policy_files: RouterPolicyFiles::Refuse,
            default_router_mode: RouterMode::RoundRobin,
            build_timeout: None,
            controller_id: 0,
        }
    }
}
