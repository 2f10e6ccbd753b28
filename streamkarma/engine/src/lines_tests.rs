//! Tests of `lines`.

use std::collections::HashMap;

use crate::encoder::{Encoder, Following};
use crate::entities::{Carry, EntityRules};
use crate::events::{Events, Rejected};
use crate::fields::{Classes, Known, LabelKind, Labels, Role, Roles};
use crate::lines::Reading;
use crate::vocabulary::Bounds;

fn encoder() -> Encoder {
    let bounds = Bounds { attributes: 99, coordinates: 99, name_bytes: 99, all_bytes: 9999 };
    Encoder::new(bounds, false, f64::INFINITY)
}

fn reading(id: &str) -> Reading {
    let roles = [("y", Role::Target), ("w", Role::Weight), ("skip", Role::Ignored), (id, Role::Kept(0))];
    let names: HashMap<_, _> = roles.map(|(name, role)| (name.to_owned(), role)).into();
    Reading { roles: Roles::new(names), learn: true, unlabelled: false, strict: false }
}

fn labels() -> Known {
    let texts = [("spam".to_owned(), 0)].into();
    Labels::Classes(Classes { texts, numbers: vec![7.0], ..Classes::default() }).into()
}

/// An encoder that follows the entities of the attribute `who`, up to 5,000 of them.
fn follower() -> Encoder {
    let rules = EntityRules {
        entity: b"who".as_slice().into(),
        is_attribute: false,
        time: None,
        carry: Carry::Fill,
        labels: true,
        longest: f64::INFINITY,
        most: 5000,
    };
    let mut encoder = encoder();
    encoder.set_following(Some(Following::new(rules, 99)));
    encoder
}

fn read(reading: &Reading, encoder: &mut Encoder, text: &str) -> Events {
    reading.read(encoder, &labels(), text.as_bytes(), 0, usize::MAX)
}

/// The values of one line, by the names of their attributes.
fn values(line: &str) -> Vec<(String, f64)> {
    values_of(&line.replace('}', ",\"y\":7}").replace("{,", "{"))
}

/// The values of a line that has a label.
fn values_of(line: &str) -> Vec<(String, f64)> {
    let mut encoder = encoder();
    let events = read(&reading("id"), &mut encoder, line);
    assert!(events.rejected.is_empty() && events.unknown.is_none());
    let name = |&k: &u32| String::from_utf8_lossy(encoder.vocabulary().describe(k as usize).0.text()).into();
    let out = events.encoded;
    let names: Vec<String> = out.coordinates.iter().skip(1).map(name).collect();
    names.into_iter().zip(out.values[1..].iter().copied()).collect()
}

#[test]
fn values_of_every_kind() {
    let found = values(r#"{"a":-0, "b":1.5e3,"c":true,"d":null,"e":"7","f":"é\u00e9","skip":[{}] }"#);
    let expected = [("a", 0.0), ("b", 1500.0), ("c", 1.0), ("e", 7.0), ("f", 1.0)];
    assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value)));
    assert!(found[0].1.is_sign_positive());
    assert_eq!(values(r#"{"a":NaN,"b":"NaN,\" NaN"}"#), [("b".to_owned(), 1.0)]);
}

#[test]
fn repeated_keys_replace_values_of_any_kind() {
    for (line, expected) in [
        (r#"{"g":1,"g":{"x":2}}"#, &[("g.x", 2.0)][..]),
        (r#"{"g":{"x":1},"g":2}"#, &[("g", 2.0)]),
        (r#"{"g":{"x":1},"g":{"y":2}}"#, &[("g.y", 2.0)]),
        (r#"{"g":{"h":1,"h":{"x":2}}}"#, &[("g.h.x", 2.0)]),
        (r#"{"g":{"h":{"x":2},"h":null},"i":3}"#, &[("i", 3.0)]),
        (r#"{"g":[[1],{"x":2}],"h":{}}"#, &[("g.0.0", 1.0), ("g.1.x", 2.0)]),
        (r#"{"g":1e999,"h":"\ud800","g":2,"h":null,"skip":1e999,"skip":1}"#, &[("g", 2.0)]),
    ] {
        let expected: Vec<_> = expected.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let with_label = format!("{},\"y\":7}}", line.strip_suffix('}').unwrap_or(line));
        assert_eq!(values_of(&with_label), expected, "{line}");
    }
}

#[test]
fn nested_names_are_joined_and_the_last_duplicate_wins() {
    let mut encoder = encoder();
    let line = r#"{"a":1,"g":{"x":1},"a":2,"g":{"lat":[3,null,{"z":4,"z":5}]},"y":7,"y":"spam"}"#;
    let events = read(&reading("id"), &mut encoder, line);
    assert_eq!(events.encoded.values, [1.0, 2.0, 3.0, 5.0]);
    assert_eq!((events.labels, events.kinds), (vec![0.0], vec![4]));
    assert_eq!(encoder.vocabulary().describe(3).0.text(), b"g.lat.2.z");
    let events = read(&reading("m.id"), &mut encoder, r#"{"m":{"id":[1],"y":2}}{"y":7}"#);
    assert!(events.rejected[0].fault.starts_with("not JSON"));
    let events = read(&reading("m.id"), &mut encoder, r#"{"m":{"id":1.50,"y":2}}"#);
    assert_eq!(events.kept, [["1.5"]]);
    let events = read(&reading("id"), &mut encoder, r#"{"id": [1, {"a" : " \" "}]}"#);
    assert_eq!(events.kept, [[r#"[1,{"a":" \" "}]"#]]);
}

#[test]
fn invalid_lines_are_rejected_without_effect() {
    let deep = format!("{{\"a\":{}1{}}}", "[".repeat(32), "]".repeat(32));
    for (line, why) in [
        ("[1]", "expected an object, not an array"),
        ("{\"new\":1e999}", "the record contains an infinite number"),
        ("{\"new\":-Infinity}", "the record contains an infinite number"),
        ("{\"new\":1,\"skip\":[{\"b\":1e999}]}", "the record contains an infinite number"),
        ("{\"new\":1,\"skip\":\"\\ud800\"}", "not JSON: unexpected end of hex escape"),
        ("{\"new\":1,\"id\":{\"b\":1e999}}", "the record contains an infinite number"),
        ("{\"a.b\":1,\"a\":{\"b\":null}}", "two nested names become 'a.b' when joined by dots"),
        ("{\"new\":1,\"w\":-1}", "the weight must be a finite number of 0 or more, not -1"),
        (&deep, "nested deeper than 32 levels"),
        ("{\"new\":1", "not JSON: EOF while parsing an object"),
    ] {
        let text = format!("{{\"a\":1,\"y\":7}}\n \n{line}\n{{}}\n");
        for (strict, lines, count) in [(false, vec![0, 3], 4), (true, vec![0], 3)] {
            let mut encoder = encoder();
            let events = read(&Reading { strict, ..reading("id") }, &mut encoder, &text);
            let place = 16..16 + line.len();
            assert_eq!(events.rejected, [Rejected { line: 2, place, fault: why.to_owned() }]);
            assert_eq!((events.lines, events.count), (lines, count));
            assert_eq!(encoder.vocabulary().coordinate_count(), 2);
        }
    }
}

#[test]
fn reading_stops_before_an_unknown_label() {
    let (mut encoder, text) = (encoder(), "{\"a\":1}\n{\"new\":1,\"y\":\"ham\"}\n{}\n");
    let events = read(&reading("id"), &mut encoder, text);
    assert_eq!(events.unknown.as_deref(), Some("\"ham\""));
    assert_eq!((events.lines, events.count, &text[events.end..events.end + 4]), (vec![0], 1, "{\"ne"));
    assert_eq!(encoder.vocabulary().coordinate_count(), 1);
    for (is_there, coordinates) in [(false, 1), (true, 2)] {
        let labels = Labels::Given(is_there).into();
        let events = reading("id").read(&mut encoder, &labels, text.as_bytes(), events.end, 1);
        assert_eq!((events.count, events.encoded.values.len()), (1, 2));
        assert_eq!(encoder.vocabulary().coordinate_count(), coordinates);
    }
}

#[test]
fn refused_label_is_rejected_when_it_recurs() {
    let mut labels = labels();
    labels.refused.insert("\"ham\"".to_owned(), "no class".to_owned());
    let (mut encoder, text) = (encoder(), "{\"new\":1,\"y\":\"ham\"}\n{\"a\":1,\"y\":7}\n{\"y\":\"eggs\"}\n");
    let events = reading("id").read(&mut encoder, &labels, text.as_bytes(), 0, 9);
    assert_eq!((events.lines, events.unknown.as_deref()), (vec![1], Some("\"eggs\"")));
    let Rejected { line, place, fault } = &events.rejected[0];
    assert_eq!((*line, &text[place.clone()], &**fault), (0, "{\"new\":1,\"y\":\"ham\"}", "no class"));
    assert_eq!(encoder.vocabulary().coordinate_count(), 2);
}

#[test]
fn label_that_stands_for_none_is_read_as_null() {
    let mut labels = labels();
    labels.missing.insert("\"NA\"".to_owned());
    let read = |text: &str| reading("id").read(&mut encoder(), &labels, text.as_bytes(), 0, 9);
    let (events, same) =
        (read("{\"a\":1,\"y\":\"NA\"}\n{\"a\":1,\"y\":7}\n"), read("{\"a\":1}\n{\"a\":1,\"y\":7}\n"));
    assert!(events.labels[0].is_nan());
    assert_eq!((events.unknown, &events.lines, events.kinds), (None, &vec![0, 1], same.kinds));
    assert_eq!(events.encoded.values, same.encoded.values);
    assert_eq!(read("{\"y\":\"na\"}\n").unknown.as_deref(), Some("\"na\""));
}

#[test]
fn broken_bytes_never_panic() {
    let line = br#"{"a":1.5,"g":{"b":["x\u00e9",NaN]},"y":7,"id":-0.50}"#;
    for at in 0..line.len() {
        for byte in *b"{}[]\":,\\0.eN \xff\n" {
            let mut text = line.to_vec();
            text[at] = byte;
            for text in [&text[..], &text[..at]] {
                let events = reading("id").read(&mut encoder(), &labels(), text, 0, 9);
                assert!(events.encoded.values.iter().all(|value| value.is_finite()));
            }
        }
    }
}

#[test]
fn prefetching_entities_does_not_change_results() {
    // More than the maximum, so that some are evicted; then names written in every way, wrong, nested or missing.
    let mut text: String = (0..5500).map(|n| format!("{{\"who\":\"e{n}\",\"a\":{n},\"y\":7}}\n")).collect();
    for n in 500..1500 {
        text += &format!("{{\"b\":1,\"who\" : \"e{n}\",\"y\":7}}\n{{\"who\":{n},\"b\":2,\"y\":7}}\n");
        text += &format!(
            "{{\"who\":\"\\u0065{n}\",\"y\":7}}\n{{\"c\":{{\"who\":\"e{n}\"}},\"y\":7}}\n{{\"who\":\n"
        );
    }
    let read_by = |most: usize| {
        let mut encoder = follower();
        let (mut begin, mut starts, mut values) = (0, vec![], vec![]);
        while begin < text.len() {
            let events = reading("id").read(&mut encoder, &labels(), text.as_bytes(), begin, most);
            begin = events.end;
            starts.extend(events.encoded.starts.windows(2).map(|ends| ends[1] - ends[0]));
            values.extend(events.encoded.raw);
        }
        (starts, values, encoder.following().map(Following::state))
    };
    let one_by_one = read_by(1);
    // The constant, its own value, its earlier value, and its labels.
    assert!(one_by_one.0.contains(&5));
    assert_eq!(read_by(usize::MAX), one_by_one);
    assert_eq!(read_by(700), one_by_one);
}

#[test]
fn wide_events_are_read_in_smaller_blocks() {
    let values: String = (0..80).map(|n| format!("\"a{n}\":{n},")).collect();
    let text: String = (0..2000).map(|n| format!("{{{values}\"b\":{n},\"y\":7}}\n")).collect();
    let read_by = |most: usize| {
        let (mut encoder, mut begin, mut counts, mut values) = (encoder(), 0, vec![], vec![]);
        while begin < text.len() {
            let events = reading("id").read(&mut encoder, &labels(), text.as_bytes(), begin, most);
            begin = events.end;
            counts.push(events.lines.len());
            values.extend(events.encoded.raw);
        }
        (counts, values)
    };
    let (counts, values) = read_by(usize::MAX);
    assert_eq!(counts, [1_599, 401]);
    assert_eq!(read_by(100).1, values);
}

#[test]
fn integers_beyond_float_precision_are_distinct() {
    // The last one is read by the slower method.
    for whole in ["9007199254740992", "1234567890123456788", "18446744073709551614", "-92233720368547758070"]
    {
        let last = whole.as_bytes()[whole.len() - 1] + 1;
        let next = format!("{}{}", &whole[..whole.len() - 1], char::from(last));
        let line = |who: &str| format!("{{\"id\":{next},\"who\":{who},\"y\":7}}\n");
        let lines = [whole, &next, &format!("\"{next}\"")].map(line).concat();
        let mut encoder = follower();
        let events = read(&reading("id"), &mut encoder, &lines);
        assert_eq!(encoder.following().map(|following| following.entities.len()), Some(2), "{whole}");
        assert_eq!(events.kept, [[next.as_str(); 3]]);
    }
}

#[test]
fn long_integer_labels_are_matched_by_all_digits() {
    let mut classes = Classes::default();
    classes.add_number("1152921504606846977", 1_152_921_504_606_846_976.0, 0);
    classes.add_number("1152921504606846976", 1_152_921_504_606_846_976.0, 1);
    classes.add_number("7", 7.0, 2);
    let labels =
        ["1152921504606846977", "1152921504606846976", "1152921504606846976.0", "7", "1152921504606846978"];
    let text: String = labels.iter().map(|label| format!("{{\"y\":{label}}}\n")).collect();
    let events = reading("id").read(&mut encoder(), &Labels::Classes(classes).into(), text.as_bytes(), 0, 99);
    let kinds = [LabelKind::Long, LabelKind::Long, LabelKind::Number, LabelKind::Integer];
    assert_eq!(events.kinds, kinds.map(|kind| kind as i32));
    assert_eq!(events.labels, [0.0, 1.0, 1_152_921_504_606_846_976.0, 7.0]);
    assert_eq!(events.unknown.as_deref(), Some("1152921504606846978"));
}
