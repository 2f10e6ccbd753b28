//! Tests of `encoder::survey`.

use crate::encoded::Encoded;
use crate::encoder::{Encoder, Following, RARE};
use crate::entities::{Carry, EntityRules};
use crate::names::Name;
use crate::vocabulary::Bounds;

const PLENTY: Bounds = Bounds { attributes: 900, coordinates: 5000, name_bytes: 100, all_bytes: 1 << 20 };

fn encoder() -> Encoder {
    Encoder::new(PLENTY, true, f64::INFINITY).with_rates(1)
}

fn encode(encoder: &mut Encoder, event: &[(&str, String)]) -> Encoded {
    let mut out = Encoded::default();
    encoder.begin();
    event.iter().for_each(|(name, value)| encoder.text(Name::Text(name.as_bytes()), value.as_bytes()));
    encoder.finish(true, &mut out);
    out
}

/// Numbers, some far out, some meaning "no reading", a counter with few exceptions, identifiers, categories, texts.
fn event(at: usize) -> Vec<(&'static str, String)> {
    let number = |salt: usize| (at * 7919 + salt * 104_729) % 10_007;
    let mut event = vec![
        ("id", format!("id {at}")),
        ("k", format!("v{}", number(1) * number(1) % 401)),
        ("n", if number(2) % 9 == 0 { "-9999".into() } else { format!("{}", number(3) as f64 / 70.0) }),
        ("counter", if number(4) % 8 == 0 { format!("{}", 7000 + number(5) % 5) } else { "0".into() }),
        ("text", format!("some words are there and w{}", number(6) % 3)),
        ("at", "2024-01-01T10:00:00Z".to_owned()),
    ];
    if number(8) % 100 == 0 {
        event.push(("m", format!("{}", 5e9 * at as f64)));
    } else if number(8) % 3 > 0 {
        event.push(("m", format!("{}", (number(9) as f64).sqrt())));
    }
    event
}

const ALL: usize = 700;

/// Merged from surveys of parts, in either order.
fn surveyed(base: &Encoder, mut parts: Vec<Vec<usize>>, reverse: bool) -> Encoder {
    let look = |part: &Vec<usize>| {
        let mut encoder = base.clone();
        encoder.begin_survey();
        part.iter().for_each(|&at| _ = encode(&mut encoder, &event(at)));
        encoder
    };
    if reverse {
        parts.reverse();
    }
    let looked: Vec<Encoder> = parts.iter().map(look).collect();
    let mut all = base.clone();
    // Merge as a tree.
    let groups = looked.chunks(3).map(|group| {
        let mut merged = base.clone();
        merged.merge(&group.iter().collect::<Vec<_>>(), false).unwrap();
        merged
    });
    all.merge(&groups.collect::<Vec<_>>().iter().collect::<Vec<_>>(), false).unwrap();
    all
}

fn assert_same(one: &Encoder, other: &Encoder) {
    let entries = |each: &Encoder| {
        let all = each.vocabulary().entries();
        let named = all.map(|(at, (name, category))| {
            (
                at,
                String::from_utf8(name.to_vec()).unwrap(),
                category.map(|text| String::from_utf8(text.to_vec())),
            )
        });
        named.collect::<Vec<_>>()
    };
    let (own, others) = (entries(one), entries(other));
    let differs = own.iter().zip(&others).find(|(one, other)| one != other);
    assert!(differs.is_none() && own.len() == others.len(), "{differs:?}");
    for (one, other) in one.moments().iter().zip(other.moments()) {
        assert!((one - other).abs() <= 1e-11 * other.abs().max(1.0), "{one} {other}");
    }
    assert!(one.levels().eq(other.levels()));
    for (one, other) in one.tallies().iter().zip(other.tallies()) {
        assert_eq!(
            (one.values, one.sentinels, one.far, one.clipped),
            (other.values, other.sentinels, other.far, other.clipped)
        );
    }
    for (at, (_, category)) in one.vocabulary().entries() {
        // The first occurrences of a pair of words are not counted.
        let is_pair = category.is_some_and(|category| category.contains(&b' '));
        assert!(is_pair || one.uses()[at].count == other.uses()[at].count);
    }
}

#[test]
fn survey_is_independent_of_how_data_is_split() {
    let mut warm = encoder();
    (ALL..ALL + 100).for_each(|at| _ = encode(&mut warm, &event(at)));
    for base in [encoder(), warm] {
        let mut whole = surveyed(&base, vec![(0..ALL).collect()], false);
        whole.end_survey();
        let contiguous = (0..7).map(|part| (part * ALL / 7..(part + 1) * ALL / 7).collect()).collect();
        let dealt = (0..5).map(|part| (part..ALL).step_by(5).collect()).collect();
        let uneven = vec![(0..1).collect(), (1..9).collect(), vec![], (9..ALL).rev().collect()];
        for (parts, reverse) in [(contiguous, false), (dealt, true), (uneven, false)] {
            let mut all = surveyed(&base, parts, reverse);
            all.end_survey();
            assert!(all.survey.is_none());
            assert_same(&all, &whole);
        }
    }
}

#[test]
fn survey_finds_what_learning_finds() {
    let mut all = surveyed(&encoder(), vec![(0..ALL).collect()], false);
    all.end_survey();
    let mut learned = encoder();
    (0..ALL).for_each(|at| _ = encode(&mut learned, &event(at)));
    let coordinate = |encoder: &Encoder, name: &str, category: Option<&str>| {
        let attribute = encoder.vocabulary().find(Name::Text(name.as_bytes()))?;
        encoder.vocabulary().coordinate(attribute, category.map(str::as_bytes))
    };
    for (name, category) in [
        ("n.sentinel", "-9999"),
        ("m.far_high", "marked"),
        ("counter", "7003"),
        ("k.rate", "(rate)"),
        ("text", "words"),
        ("text", "w2"),
        ("at", "(year cos)"),
        ("k", RARE),
        ("id", RARE),
    ] {
        assert!(coordinate(&all, name, Some(category)).is_some(), "{name} {category}");
    }
    for name in ["n", "m", "counter"] {
        let [one, other] = [&all, &learned]
            .map(|each| each.scale_of(coordinate(each, name, None).unwrap() as usize).mean_and_deviation());
        assert!(
            (one.0 - other.0).abs() < 0.05 * other.1 && (one.1 / other.1 - 1.0).abs() < 0.05,
            "{name} {one:?} {other:?}"
        );
    }
    let kind = |encoder: &Encoder, name: &str| {
        encoder.kind(encoder.vocabulary().find(Name::Text(name.as_bytes())).unwrap())
    };
    for name in ["id", "k", "n", "text", "at"] {
        assert_eq!(kind(&all, name), kind(&learned, name));
    }
    // Categories that occurred once are rare; those that occurred twice are not.
    let came = |category: &str| (0..ALL).filter(|&at| event(at)[1].1 == category).count();
    for at in 0..200 {
        let category = &event(at)[1].1;
        assert_eq!(coordinate(&all, "k", Some(category)).is_some(), came(category) > 1, "{category}");
    }
    // Sentinels count as missing, and so do outliers.
    let n = &all.tallies()[all.vocabulary().find(Name::Text(b"n")).unwrap() as usize];
    assert_eq!(
        (n.sentinels, n.values + n.sentinels),
        ((0..ALL).filter(|&at| event(at)[2].1 == "-9999").count() as u64, ALL as u64)
    );
    all.set_frozen(true);
    let out = encode(&mut all, &event(0));
    assert!(out.values.iter().all(|value| value.is_finite()));
    // There is no previous time.
    assert!(out.coordinates.iter().all(|&k| Some(k) != coordinate(&all, "at", None)));
}

#[test]
fn survey_state_round_trips_and_invalid_states_are_refused() {
    let part = surveyed(&encoder(), vec![(0..400).collect()], false);
    assert!(encoder().survey_state().0.is_empty());
    let mut again = part.clone();
    again.survey = None;
    again.restore_survey(&part.survey_state()).unwrap();
    for each in [&mut part.clone(), &mut again.clone()] {
        encode(each, &event(400));
    }
    let ended = [part.clone(), again].map(|mut each| {
        each.end_survey();
        each
    });
    assert_same(&ended[0], &ended[1]);
    for (name, at, wrong) in [("survey_numbers", 0, 1e9), ("survey_numbers", 3, f64::INFINITY)] {
        let mut state = part.survey_state();
        if let Some(crate::state::Array::F64(values, _)) = state.0.get_mut(name) {
            values[at] = wrong;
        }
        assert!(encoder().restore_survey(&state).is_err());
    }
    let mut twice = part.clone();
    assert!(twice.merge(&[&part], false).unwrap_err().contains("began"));
}

#[test]
fn ending_a_survey_forgets_entities() {
    let rules = EntityRules {
        entity: (*b"id").into(),
        is_attribute: true,
        time: None,
        carry: Carry::Fill,
        labels: true,
        longest: f64::INFINITY,
        most: 50,
    };
    let mut base = encoder();
    base.set_following(Some(Following::new(rules, 50)));
    let mut all = surveyed(&base, vec![(0..30).collect(), (30..60).collect()], false);
    assert_eq!(all.following().unwrap().entities.len(), 50);
    all.end_survey();
    assert!(all.following().unwrap().entities.is_empty());
}
