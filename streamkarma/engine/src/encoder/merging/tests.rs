//! Tests of `encoder::merging`.

use crate::encoded::Encoded;
use crate::encoder::{Encoder, Following, RARE};
use crate::entities::{Carry, EntityRules};
use crate::names::{Foreign, Name};
use crate::translation::{DROPPED, Translation};
use crate::vocabulary::Bounds;

const PLENTY: Bounds = Bounds { attributes: 500, coordinates: 2000, name_bytes: 100, all_bytes: 1 << 20 };

fn encoder(bounds: Bounds) -> Encoder {
    Encoder::new(bounds, true, f64::INFINITY).with_rates(2)
}

/// Texts that spell numbers are numbers, others are categories.
fn encode(encoder: &mut Encoder, event: &[(String, String)], learned: bool) -> Encoded {
    let mut out = Encoded::default();
    encoder.begin();
    for (name, value) in event {
        encoder.text(Name::Text(name.as_bytes()), value.as_bytes());
    }
    encoder.finish(learned, &mut out);
    out
}

/// Events with numbers, a counter that is mostly 0, and categories, some of them rare.
fn events(from: usize, to: usize) -> Vec<Vec<(String, String)>> {
    let event = |at: usize| {
        let number = |salt: usize| (at * 7919 + salt * 104_729) % 1009;
        let text = |name: &str, value: String| (name.to_owned(), value);
        let mut event =
            vec![text("k", format!("v{}", number(1) % 90)), text(&format!("only {}", at / 100), "x".into())];
        event.extend((0..6).filter(|&i| number(i + 2) % 3 > 0).map(|i| {
            text(&format!("n{}", (i + at / 100) % 6), format!("{}", number(i + 9) as f64 / 50.0 - i as f64))
        }));
        event.push(text(
            "counter",
            if number(30) % 9 == 0 { format!("{}", number(31) % 5) } else { "0".into() },
        ));
        event
    };
    (from..to).map(event).collect()
}

fn on(mut encoder: Encoder, from: usize, to: usize) -> Encoder {
    events(from, to).iter().for_each(|event| _ = encode(&mut encoder, event, true));
    encoder
}

fn merged(base: &Encoder, parts: &[&Encoder]) -> (Encoder, Vec<Translation>) {
    let mut all = base.clone();
    let translations = all.merge(parts, false).unwrap();
    (all, translations)
}

fn assert_same(one: &Encoder, other: &Encoder) {
    let entries = |each: &Encoder| format!("{:?}", each.vocabulary().entries().collect::<Vec<_>>());
    assert_eq!(entries(one), entries(other));
    for (one, other) in one.moments().iter().zip(other.moments()) {
        assert!((one - other).abs() <= 1e-12 * other.abs().max(1.0), "{one} {other}");
    }
    assert_eq!(one.tallies(), other.tallies());
    assert_eq!(one.uses(), other.uses());
    assert!(one.once().rows().eq(other.once().rows()));
    assert!(one.levels().eq(other.levels()));
    let following = |each: &Encoder| each.following().map(Following::state);
    assert_eq!(following(one), following(other));
}

#[test]
fn merge_order_does_not_matter_and_base_counts_once() {
    for first in [0, 40, 300] {
        let base = on(encoder(PLENTY), 0, first);
        let parts = [(first, first + 350), (first + 350, first + 360), (first + 360, first + 900)];
        let [a, b, c] = parts.map(|(from, to)| on(base.clone(), from, to));
        let (all, translations) = merged(&base, &[&a, &b, &c]);
        assert_eq!(translations.len(), 4);
        assert_same(&merged(&base, &[&c, &a, &b]).0, &all);
        assert_same(&merged(&base, &[&merged(&base, &[&a, &c]).0, &b]).0, &all);
        assert_same(&merged(&base, &[&a, &merged(&base, &[&c, &b]).0]).0, &all);
        assert_same(&merged(&base, &[&base, &base]).0, &base);
        // A single part gets other indices, and all else is unchanged.
        let (alone, translations) = merged(&base, &[&base, &a]);
        assert_eq!(alone.tallies()[0], a.tallies()[0]);
        for (old, &new) in translations[2].coordinates.iter().enumerate() {
            assert_eq!(alone.scale_of(new as usize), a.scale_of(old));
            assert_eq!(alone.uses()[new as usize], a.uses()[old]);
        }
        assert!(translations[2].keeps_scales());
        assert_eq!(all.tallies()[0].values, first as u64 + 900);
    }
}

#[test]
fn merged_moments_and_counts_match_one_pass() {
    let base = on(encoder(PLENTY), 0, 50);
    let parts = [(50, 400), (400, 700), (700, 701), (701, 701)];
    let parts = parts.map(|(from, to)| on(base.clone(), from, to));
    let (all, _) = merged(&base, &parts.each_ref());
    let one = on(base, 50, 701);
    for (coordinate, (name, category)) in one.vocabulary().entries() {
        let Some(attribute) = all.vocabulary().find(Name::Text(name)) else { panic!("{name:?}") };
        let Some(place) = all.vocabulary().coordinate(attribute, category) else { continue };
        let moments =
            [all.scale_of(place as usize), one.scale_of(coordinate)].map(|scale| scale.mean_and_deviation());
        assert!((moments[0].0 - moments[1].0).abs() < 1e-10 && (moments[0].1 - moments[1].1).abs() < 1e-10);
        let tallies =
            [&all.tallies()[attribute as usize], &one.tallies()[one.vocabulary().owner(coordinate) as usize]];
        assert_eq!(tallies[0].values, tallies[1].values);
    }
    // All parts together have many categories.
    assert!(all.vocabulary().knows((b"k.rate", Some(b"(rate 1)"))));
}

#[test]
fn translated_values_keep_their_meaning() {
    let base = encoder(PLENTY);
    let mut parts = [(0, 300), (300, 800)].map(|(from, to)| on(base.clone(), from, to));
    let (mut all, translations) = merged(&base, &parts.each_ref());
    for (part, translation) in parts.iter_mut().zip(&translations[1..]) {
        assert_eq!(translation.shares[0], 1.0);
        let known = part.vocabulary().find(Name::Text(b"counter")).unwrap();
        assert_eq!(
            (translation.shares[known as usize], translation.attribute_count),
            (1.0, all.vocabulary().attribute_count())
        );
        // Values that are only predicted have a weight in the mean; here it is negligible.
        let event = [("n1".to_owned(), "3.25".to_owned()), ("n4".to_owned(), "-1".to_owned())];
        let (old, new) = (encode(part, &event, false), encode(&mut all, &event, false));
        for (&k, z) in old.coordinates.iter().zip(&old.values) {
            let at = new
                .coordinates
                .iter()
                .position(|&other| other == translation.coordinates[k as usize])
                .unwrap();
            let value = translation.shift[k as usize] + translation.stretch[k as usize] * new.values[at];
            assert!((value - z).abs() < 0.02, "{value} {z}");
        }
    }
}

#[test]
fn base_and_most_used_names_survive_the_limit() {
    let bounds = Bounds { attributes: 6, ..PLENTY };
    let learn = |mut encoder: Encoder, names: &[(&str, usize)]| {
        for &(name, times) in names {
            for _ in 0..times {
                encode(&mut encoder, &[(name.to_owned(), "1".to_owned())], true);
            }
        }
        encoder
    };
    let base = learn(encoder(bounds), &[("base", 1)]);
    let a = learn(base.clone(), &[("z", 3), ("b", 1), ("c", 9)]);
    let b = learn(base.clone(), &[("y", 2), ("z", 3), ("d", 4), ("x", 2)]);
    let (mut all, translations) = merged(&base, &[&b, &a]);
    let names: Vec<_> = all.vocabulary().entries().map(|(_, (name, _))| name.to_vec()).collect();
    assert_eq!(names, [&b"base"[..], b"c", b"d", b"x", b"z"]);
    assert_eq!((all.evicted(), all.vocabulary_mut().notices().len()), (2, 1));
    assert_eq!(translations[1].coordinates, [0, 1, DROPPED, 5, 3, 4]);
    assert_eq!(translations[2].attributes, [0, 1, 5, DROPPED, 2]);
    assert_eq!(all.uses()[5].count, 6);
    // z last occurred six events before the end of b, and longer ago in a.
    assert_eq!(all.uses()[5].last, all.tallies()[0].values - 6);
}

#[test]
fn rare_categories_of_all_parts_are_remembered() {
    let event = |name: &str| [("id".to_owned(), name.to_owned())];
    let learn = |mut encoder: Encoder, names: &[&str]| {
        names.iter().for_each(|name| _ = encode(&mut encoder, &event(name), true));
        encoder
    };
    let common: Vec<String> = (0..40).map(|i| format!("common{}", i % 32)).collect();
    let base = learn(encoder(PLENTY), &common.iter().map(String::as_str).collect::<Vec<_>>());
    // A name before it shifts the attribute's index.
    let [mut a, b] = [["both", "only a"], ["both", "only b"]].map(|names| learn(base.clone(), &names));
    encode(&mut a, &[("another".to_owned(), "1".to_owned())], true);
    let (mut all, _) = merged(&base, &[&a, &b]);
    let place = |all: &Encoder, name: &str| all.vocabulary().coordinate(1, Some(name.as_bytes()));
    assert_eq!(all.tallies()[1].rare, 4);
    assert!(place(&all, RARE).is_some() && place(&all, "both").is_none());
    for name in ["both", "only a", "only b", "neither"] {
        encode(&mut all, &event(name), true);
        assert_eq!(place(&all, name).is_some(), name != "neither");
    }
}

#[test]
fn newest_values_of_entities_survive_merging() {
    let rules = EntityRules {
        entity: (*b"who").into(),
        is_attribute: false,
        time: None,
        carry: Carry::Fill,
        labels: true,
        longest: f64::INFINITY,
        most: 3,
    };
    let learn = |mut encoder: Encoder, events: &[(&str, &str, f64)]| {
        for &(who, name, value) in events {
            let event = [("who".to_owned(), who.to_owned()), (name.to_owned(), value.to_string())];
            encode(&mut encoder, &event, true);
        }
        encoder
    };
    let mut base = encoder(PLENTY);
    base.set_following(Some(Following::new(rules, 50)));
    let base = learn(base, &[("ann", "m", 1.0), ("bob", "m", 2.0)]);
    let a = learn(base.clone(), &[("ann", "z", 5.0), ("ann", "m", 7.0), ("cid", "m", 3.0)]);
    let b = learn(base.clone(), &[("ann", "a", 6.0), ("dan", "m", 4.0)]);
    let c = learn(base.clone(), &[("ann", "m", 8.0)]);
    let (mut all, _) = merged(&base, &[&a, &b, &c]);
    assert_same(&merged(&base, &[&merged(&base, &[&c, &a]).0, &b]).0, &all);
    assert_eq!(all.following().unwrap().entities.evicted, 1);
    let remembered = |all: &mut Encoder, who: &str| {
        encode(all, &[("who".to_owned(), who.to_owned())], false);
        let values =
            all.carried().into_iter().map(|(name, _, value)| (String::from_utf8(name).unwrap(), value));
        values.collect::<Vec<_>>()
    };
    let named = |values: &[(&str, f64)]| {
        values.iter().map(|&(name, value)| (name.to_owned(), value)).collect::<Vec<_>>()
    };
    // Both a and c have m of ann; that of c is nearer to the end of its part.
    assert_eq!(remembered(&mut all, "ann"), named(&[("m", 8.0), ("a", 6.0), ("z", 5.0)]));
    assert_eq!(remembered(&mut all, "dan"), named(&[("m", 4.0)]));
    // There is room for three entities, and bob was absent for the longest time.
    assert_eq!(remembered(&mut all, "bob"), []);
}

#[test]
fn incompatible_models_are_refused_with_a_reason() {
    let base = encoder(PLENTY);
    let mut foreign = base.clone();
    foreign.begin();
    foreign.number(Name::Foreign(&Foreign { id: 1, text: b"7".into(), ..Foreign::default() }), 1.0);
    foreign.finish(true, &mut Encoded::default());
    let told = crate::cleaning::CleaningRules { finds: false, ..Default::default() };
    for (other, why) in [
        (foreign, "names that are not strings"),
        (Encoder::new(PLENTY, false, f64::INFINITY).with_rates(2), "(scale)"),
        (Encoder::new(PLENTY, true, 100.0).with_rates(2), "(forget)"),
        (encoder(Bounds { coordinates: 9, ..PLENTY }), "max_coordinates"),
        (encoder(PLENTY).with_rates(1), "(max_classes)"),
        (encoder(PLENTY).with_rules(told), "missing values"),
    ] {
        assert!(base.clone().merge(&[&base, &other], false).unwrap_err().contains(why));
    }
}
