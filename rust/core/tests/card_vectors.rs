//! Cards whose sums and refusals were taken from the real releases: every one must come out the same here (clause I3).

use std::collections::{BTreeMap, HashMap};

use serde::Deserialize;
use workerset_core::card::{ModelCard, explain};
use workerset_core::{CardError, MdcChecksum, Profile, RouterPolicyFiles};

#[derive(Deserialize)]
struct Vector {
    name: String,
    card: String,
    mdcsum: BTreeMap<String, String>,
    error: BTreeMap<String, String>,
}

fn vectors() -> Vec<Vector> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/cards/vectors.jsonl");
    let text = std::fs::read_to_string(path).expect("the vectors are checked in");
    text.lines().map(|line| serde_json::from_str(line).expect("a vector")).collect()
}

fn from_text(text: &str, profile: Profile) -> Result<ModelCard, CardError> {
    ModelCard::from_text(text.as_bytes(), profile, &RouterPolicyFiles::Refuse)
}

/// The name that a message of the release puts between backquotes after these words.
fn named<'a>(message: &'a str, words: &str) -> Option<&'a str> {
    message.strip_prefix(words)?.split('`').next()
}

#[test]
fn sums_and_refusals_are_those_of_each_release() {
    let mut checked = 0;
    for vector in vectors() {
        for profile in Profile::ALL {
            let decoded = from_text(&vector.card, profile);
            let place = format!("{} as {}", vector.name, profile.as_str());
            match (vector.mdcsum.get(profile.as_str()), vector.error.get(profile.as_str())) {
                (Some(sum), None) => {
                    let card = decoded.unwrap_or_else(|error| panic!("{place}: refused: {error}"));
                    assert_eq!(&card.mdcsum().to_string(), sum, "{place}");
                    assert_eq!(card.metadata_cache_key(), format!("{}/{sum}", card.slug()), "{place}");
                }
                (None, Some(message)) => {
                    let Err(error) = decoded else { panic!("{place}: accepted, but the release says: {message}") };
                    for words in ["missing field `", "unknown field `", "duplicate field `"] {
                        if let Some(name) = named(message, words) {
                            assert!(error.field.ends_with(name), "{place}: {error:?}, the release says: {message}");
                        }
                    }
                }
                _ => continue,
            }
            checked += 1;
        }
    }
    assert!(checked > 4000, "only {checked} cases");
}

/// A parsed tree has lost what text still tells: repeated keys, and numbers that cannot be read do not get there (WIRE 0).
#[test]
fn trees_decode_as_texts_do() {
    let mut agreed = 0;
    for vector in vectors() {
        let Ok(tree) = serde_json::from_str::<serde_json::Value>(&vector.card) else { continue };
        for profile in Profile::ALL {
            let place = format!("{} as {}", vector.name, profile.as_str());
            let text = from_text(&vector.card, profile);
            let raw: std::sync::Arc<[u8]> = vector.card.as_bytes().into();
            let tree = ModelCard::from_tree(tree.clone(), raw.clone(), profile, &RouterPolicyFiles::Refuse);
            match (text, tree) {
                (Ok(text), Ok(tree)) => {
                    assert_eq!(text.mdcsum(), tree.mdcsum(), "{place}");
                    assert_eq!(text.to_value(), tree.to_value(), "{place}");
                    assert_eq!(tree.raw(), &raw, "{place}");
                    agreed += 1;
                }
                // Of several faults a tree, which is sorted, may show another one first.
                (Err(_), Err(_)) => agreed += 1,
                // serde_json reads a struct variant from an array in text and not in a tree.
                (Ok(_), Err(tree)) => assert!(tree.reason.contains("struct variant"), "{place}: {tree}"),
                // A repeated field, or a kind of file that stands twice in its slot.
                (Err(text), Ok(_)) => {
                    let repeated =
                        ["duplicate field", "expected value", "key "].map(|words| text.reason.starts_with(words));
                    assert!(repeated.contains(&true), "{place}: {text}");
                }
            }
        }
    }
    assert!(agreed > 4000, "only {agreed} cases");
}

#[test]
fn explain_is_empty_exactly_when_sums_are_equal() {
    let vectors = vectors();
    for profile in Profile::ALL {
        let cards: Vec<ModelCard> = vectors.iter().filter_map(|vector| from_text(&vector.card, profile).ok()).collect();
        let mut by_sum: HashMap<MdcChecksum, Vec<&ModelCard>> = HashMap::new();
        for card in &cards {
            by_sum.entry(card.mdcsum()).or_default().push(card);
        }
        for equal in by_sum.values() {
            for card in equal {
                assert_eq!(explain(equal[0], card).unwrap(), []);
            }
        }
        let sample: Vec<&ModelCard> = cards.iter().step_by(cards.len() / 40).chain(&cards[..30]).collect();
        for (index, a) in sample.iter().enumerate() {
            for b in &sample[index..] {
                let differences = explain(a, b).unwrap();
                assert_eq!(differences.is_empty(), a.mdcsum() == b.mdcsum(), "{differences:?}");
                let back = explain(b, a).unwrap();
                assert!(
                    differences.iter().zip(&back).all(|(to, from)| to.field == from.field && to.left == from.right)
                );
            }
        }
    }
}

/// A card that is written and read again is the same card, except that a float may move by one unit (WIRE 1).
#[test]
fn written_cards_decode_again() {
    for vector in vectors() {
        for profile in Profile::ALL {
            let Ok(card) = from_text(&vector.card, profile) else { continue };
            let again = from_text(&card.to_value().to_string(), profile).unwrap();
            for difference in explain(&card, &again).unwrap() {
                let (Some(left), Some(right)) = (difference.left.as_f64(), difference.right.as_f64()) else {
                    panic!("{}: {difference:?}", vector.name)
                };
                assert!((left - right).abs() <= left.abs() * 2.0 * f64::EPSILON, "{}: {difference:?}", vector.name);
            }
            assert_eq!(card.projection_fingerprint(), again.projection_fingerprint(), "{}", vector.name);
        }
    }
}
