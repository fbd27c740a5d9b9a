//! How a card's JSON becomes values and goes back: a small decoder that knows the release it decodes for.
//!
//! Releases differ in fields, names and defaults, so every step sees a [`Context`]. Otherwise the steps are those of a
//! derived serde decoder: a record is an object, or an array in field order; a repeated known key is an error; a name is a
//! string or `{"name": null}`. The same code decodes text and a parsed tree (WIRE 0).

mod names;
mod record;
mod values;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::Value;

pub(crate) use names::{Name, NameSeed, Named, decode_name, find_name, names};
pub(crate) use record::{KeySeed, Member, Members, Record, Sink, applies, encode_members, record, some};

use crate::config::{Profile, RouterPolicyFiles};

/// What decoding depends on, and where it is when it fails.
pub(crate) struct Context<'a> {
    pub(crate) profile: Profile,
    pub(crate) policy_files: &'a RouterPolicyFiles,
    /// Filled from the innermost step outwards while an error travels up.
    path: RefCell<Vec<Step>>,
}

enum Step {
    Field(&'static str),
    Key(String),
    Index(usize),
}

/// A rule that a decoded record breaks.
pub(crate) struct Broken {
    pub(crate) field: &'static str,
    pub(crate) reason: String,
}

impl<'a> Context<'a> {
    pub(crate) fn new(profile: Profile, policy_files: &'a RouterPolicyFiles) -> Self {
        Self { profile, policy_files, path: RefCell::new(Vec::new()) }
    }

    /// Notes that a failure happened below this field.
    pub(crate) fn within<T, E>(&self, field: &'static str, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.path.borrow_mut().push(Step::Field(field));
        }
        result
    }

    fn below<T, E>(&self, step: impl FnOnce() -> Step, result: Result<T, E>) -> Result<T, E> {
        if result.is_err() {
            self.path.borrow_mut().push(step());
        }
        result
    }

    /// A failure of one field, with serde's or a rule's own words.
    pub(crate) fn fail<E>(&self, field: &'static str, error: E) -> E {
        self.path.borrow_mut().push(Step::Field(field));
        error
    }

    /// Where the failure was, in the card's JSON: dots between names, `[n]` for list items.
    pub(crate) fn field(&self) -> String {
        let mut text = String::new();
        for step in self.path.borrow().iter().rev() {
            let name = match step {
                Step::Index(index) => {
                    // Writing to a string cannot fail.
                    let _ = write!(text, "[{index}]");
                    continue;
                }
                Step::Field(name) => name,
                Step::Key(key) => key.as_str(),
            };
            if !text.is_empty() {
                text.push('.');
            }
            text.push_str(name);
        }
        text
    }
}

/// A value that can be read for a release.
pub(crate) trait Decode<'de>: Sized {
    fn decode<D: Deserializer<'de>>(deserializer: D, cx: &Context<'_>) -> Result<Self, D::Error>;

    /// What an absent object member stands for, if it may be absent without a default of its own.
    fn absent() -> Option<Self> {
        None
    }
}

/// A value that can be written as a release writes it.
pub(crate) trait Encode {
    fn encode<S: Serializer>(&self, serializer: S, profile: Profile) -> Result<S::Ok, S::Error>;
}

/// Carries the context through serde.
pub(crate) struct Seed<'c, 'p, T>(&'c Context<'p>, PhantomData<T>);

impl<'c, 'p, T> Seed<'c, 'p, T> {
    pub(crate) fn new(cx: &'c Context<'p>) -> Self {
        Self(cx, PhantomData)
    }
}

impl<'de, T: Decode<'de>> DeserializeSeed<'de> for Seed<'_, '_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        T::decode(deserializer, self.0)
    }
}

/// A value together with the release that writes it.
pub(crate) struct Written<'a, T: ?Sized>(pub(crate) &'a T, pub(crate) Profile);

impl<T: Encode + ?Sized> Serialize for Written<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.encode(serializer, self.1)
    }
}

/// Compact JSON text of a value.
pub(crate) fn to_text<T: Encode + ?Sized>(value: &T, profile: Profile) -> Vec<u8> {
    let mut text = Vec::with_capacity(1024);
    // Writing to memory cannot fail, and no value here has keys that are not strings.
    serde_json::to_writer(&mut text, &Written(value, profile)).expect("card values are JSON");
    text
}

/// JSON tree of a value.
pub(crate) fn to_tree<T: Encode + ?Sized>(value: &T, profile: Profile) -> Value {
    // As in `to_text`: no step of the encoding can fail.
    serde_json::to_value(Written(value, profile)).expect("card values are JSON")
}
