//! Tests of `encoder`.

use crate::cleaning::Tally;
use crate::encoded::Encoded;
use crate::encoder::{Counts, Encoder, SeenOnce, Use, WIDTH};
use crate::names::Name;
use crate::rate_key::{from_value, is_neighbourhood, is_term};
use crate::state::Refused;
use crate::vocabulary::{Bounds, PASSING, Vocabulary};

fn encoder(attributes: usize, coordinates: usize) -> Encoder {
    Encoder::new(Bounds { attributes, coordinates, name_bytes: 10, all_bytes: 40 }, true, f64::INFINITY)
}

/// Texts that spell numbers become numbers, others categories.
fn encode(encoder: &mut Encoder, event: &[(&str, &str)], learned: bool) -> Encoded {
    let mut out = Encoded::default();
    encoder.begin();
    for (name, value) in event {
        encoder.text(Name::Text(name.as_bytes()), value.as_bytes());
    }
    encoder.finish(learned, &mut out);
    out
}

#[test]
fn key_order_does_not_matter() {
    let (mut one, mut other) = (encoder(9, 9), encoder(9, 9));
    for (forth, back) in [
        ([("b", "1"), ("a", "x"), ("c", "3")], [("c", "3"), ("a", "x"), ("b", "1")]),
        ([("c", "2"), ("b", "2"), ("a", "y")], [("a", "y"), ("c", "2"), ("b", "2")]),
    ] {
        let (forth, back) = (encode(&mut one, &forth, true), encode(&mut other, &back, true));
        assert_eq!(forth.attributes, [0, 1, 2, 3]);
        assert_eq!((forth.coordinates, forth.values), (back.coordinates, back.values));
    }
    assert_eq!(one.moments(), other.moments());
}

#[test]
fn predicting_has_no_effect_and_previews_new_names() {
    let mut encoder = encoder(4, 9);
    encode(&mut encoder, &[("a", "1"), ("k", "u")], true);
    let before = encoder.moments();
    let event = [("z", "5"), ("k", "v"), ("a", "2"), ("y", "w"), ("much too long", "1")];
    let out = encode(&mut encoder, &event, false);
    // Of y and z, the one that sorts first gets the last slot.
    assert_eq!(out.attributes, [0, 1, 2, PASSING]);
    assert_eq!(out.coordinates, [0, 1, PASSING, PASSING + 1]);
    assert_eq!(out.values, [1.0, 1.0, 1.0, 1.0]);
    assert_eq!((encoder.moments(), encoder.vocabulary().ignored), (before, 0));
}

#[test]
fn excess_attributes_are_ignored_counted_and_reported() {
    let mut encoder = encoder(3, 9);
    encode(&mut encoder, &[("a", "1"), ("b", "2"), ("c", "3"), ("a long name", "4")], true);
    assert_eq!(encoder.vocabulary().ignored, 2);
    let told = encoder.vocabulary_mut().notices();
    assert_eq!(
        told,
        [
            "attribute a long name is ignored: its name is longer than 10 bytes (--max-name-bytes)",
            "attribute c is ignored in events with more than 3 attributes (--max-attributes)",
        ]
    );
    assert_eq!(encode(&mut encoder, &[("c", "3")], true).attributes, [0, 1]);
    assert_eq!(encoder.vocabulary().ignored, 2);
}

#[test]
fn repeated_names_are_detected() {
    let mut encoder = encoder(9, 9);
    encode(&mut encoder, &[("a", "1")], true);
    for names in [["a", "a"], ["n", "n"]] {
        encoder.begin();
        encoder.missing(Name::Text(names[0].as_bytes()));
        assert!(encoder.repeated().is_none());
        encoder.number(Name::Text(names[1].as_bytes()), 1.0);
        assert_eq!(encoder.repeated().map(|name| name.text().to_vec()), Some(names[1].into()));
    }
}

#[test]
fn inconsistent_states_are_refused() {
    let mut encoder = encoder(9, 9);
    encode(&mut encoder, &[("a", "1"), ("k", "u")], true);
    let (rows, vocabulary) = (encoder.moments(), encoder.vocabulary().clone());
    let (tallies, uses) = (encoder.tallies().to_vec(), encoder.uses().to_vec());
    for (at, wrong) in [
        (0, -1.0),
        (WIDTH, f64::NAN),
        (WIDTH + 1, 1e300),
        (WIDTH + 7, 17.0),
        (WIDTH - 6, 5.0),
        (WIDTH - 6, 0.5),
        (WIDTH - 1, 0.5),
    ] {
        let mut rows = rows.clone();
        rows[at] = wrong;
        assert!(restored(&mut encoder, &vocabulary, &rows, &tallies, &uses).is_err());
    }
    let late: Vec<Use> = uses.iter().map(|each| Use { last: each.last + 1, ..*each }).collect();
    assert!(restored(&mut encoder, &vocabulary, &rows[WIDTH..], &tallies, &uses).is_err());
    assert!(restored(&mut encoder, &vocabulary, &rows, &tallies[1..], &uses).is_err());
    assert!(restored(&mut encoder, &vocabulary, &rows, &tallies, &uses[1..]).is_err());
    assert!(restored(&mut encoder, &vocabulary, &rows, &tallies, &late).is_err());
    restored(&mut encoder, &vocabulary, &rows, &tallies, &uses).unwrap();
    let mut again = Vocabulary::new(vocabulary.bounds());
    let (name, category) = vocabulary.describe(1);
    assert!(again.restore_attributes(10).is_err());
    again.restore_attributes(3).unwrap();
    assert!(again.restore(3, name, category).is_err());
    assert!(again.restore(1, name, category).is_ok());
    assert!(again.restore(1, name, category).is_err());
    assert!(again.restore(2, name, Some(b"x")).is_err());
    assert!(again.restore(1, Name::Text(b"other"), None).is_err());
}

fn restored(
    encoder: &mut Encoder,
    vocabulary: &Vocabulary,
    rows: &[f64],
    tallies: &[Tally],
    uses: &[Use],
) -> Result<(), Refused> {
    let (tallies, uses) = (tallies.to_vec(), uses.to_vec());
    let counts = Counts { tallies, once: SeenOnce::default(), uses, evicted: 0 };
    encoder.restore(vocabulary.clone(), rows, &[], counts)
}

/// The keys of numbers that are names: those of each value, and of its neighbourhood.
fn keys(encoded: &Encoded) -> Vec<u64> {
    encoded.values.iter().filter_map(|&value| from_value(value)).collect()
}

#[test]
fn recurring_numbers_have_keys_of_value_and_neighbourhood() {
    let bounds = Bounds { attributes: 9, coordinates: 20, name_bytes: 20, all_bytes: 400 };
    let (mut one, mut other) = (
        Encoder::new(bounds, true, f64::INFINITY).with_rates(1),
        Encoder::new(bounds, true, f64::INFINITY).with_rates(1),
    );
    let mut found = Vec::new();
    for t in 0..1000_u32 {
        // The customer recurs, and so does the clerk; the price does not, and there are few sizes.
        let texts = [t * 37 % 50, t * 11 % 40, t, t % 3].map(|number| number.to_string());
        let names = ["customer", "clerk", "price", "size"];
        let mut event: Vec<(&str, &str)> = names.into_iter().zip(texts.iter().map(String::as_str)).collect();
        let encoded = encode(&mut one, &event, true);
        event.reverse();
        let back = encode(&mut other, &event, true);
        assert_eq!((&encoded.coordinates, &encoded.values), (&back.coordinates, &back.values));
        found.push(keys(&encoded));
    }
    assert_eq!(one.vocabulary().attribute_count(), 1 + 4 + 2);
    assert!(found[..32].iter().all(Vec::is_empty));
    for (t, keys) in found.iter().enumerate().skip(400) {
        assert_eq!(keys.iter().filter(|&&key| is_neighbourhood(key)).count(), 2);
        assert_eq!(keys.len(), 4);
        // The customer is the same after 50 events, the clerk after 40.
        let shared = |before: usize| keys.iter().filter(|key| found[t - before].contains(key)).count();
        assert!(shared(50) >= 1 && shared(40) >= 1 && shared(200) >= 2);
    }
}

#[test]
fn words_pairs_and_tags_are_terms_if_asked_for() {
    let bounds = Bounds { attributes: 9, coordinates: 400, name_bytes: 40, all_bytes: 8000 };
    let terms = |asked: bool| {
        let mut encoder = Encoder::new(bounds, true, f64::INFINITY).with_rates(3).with_terms(asked);
        let mut last = Vec::new();
        for t in 0..40 {
            let text = format!("a{t} b{t} c{t} a{t}");
            let encoded = encode(&mut encoder, &[("text", &text), ("kind", "x"), ("x", "1.5")], true);
            last = keys(&encoded).into_iter().filter(|&key| is_term(key)).collect();
        }
        last
    };
    // Each word and each pair once, however many rates there are.
    let mut found = terms(true);
    assert_eq!(found.len(), 3 + 3);
    found.dedup();
    assert_eq!(found.len(), 6);
    assert!(terms(false).is_empty());
}
