//! Entities as arrays.

use super::store::{Entities, Entity};
use super::{MEAN_VALUES, PastLabel, PastLabels, Remembered};
use crate::state::{Refused, State, ensure};

const WRONG: &str = "the entities contradict each other";

impl Entities {
    /// The state of all entities, those first that were not seen for the longest time.
    pub fn state(&self) -> State {
        let mut state = State::default();
        let (mut names, mut sizes, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        let (mut places, mut values) = (Vec::new(), Vec::new());
        let mut labels = LabelArrays::default();
        for entity in self.oldest_first() {
            let asked = entity.asked.as_deref().map(Vec::as_slice);
            names.extend_from_slice(&entity.name);
            sizes.extend([
                entity.name.len() as i64,
                entity.count as i64,
                entity.values.len() as i64,
                asked.map_or(-1, |asked| asked.len() as i64),
            ]);
            seen.push(entity.seen);
            for each in entity.values.iter().chain(asked.unwrap_or_default()) {
                places.extend([each.attribute, each.coordinate, each.generation].map(|index| index as i32));
                values.extend([each.value, each.time]);
            }
            labels.push(entity.labels.as_deref());
        }
        labels.put(&mut state);
        let (count, all) = (seen.len(), values.len() / 2);
        let names: Vec<i32> = names.into_iter().map(i32::from).collect();
        let bytes = names.len();
        state.put_i32s("entity_names", names, &[bytes]);
        state.put_i64s("entity_sizes", sizes, &[count, SIZES]);
        state.put_f64s("entity_seen", seen, &[count]);
        state.put_i32s("entity_places", places, &[all, PLACES]);
        state.put_f64s("entity_values", values, &[all, 2]);
        state
    }

    /// Restore a state, of a model with this many attributes and coordinates.
    ///
    /// # Errors
    ///
    /// If its parts contradict each other or exceed the bounds. The entities are then unchanged.
    pub fn restore(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let (names, _) = state.i32s("entity_names")?;
        let (sizes, sizes_shape) = state.i64s("entity_sizes")?;
        let (seen, _) = state.f64s("entity_seen")?;
        let (places, places_shape) = state.i32s("entity_places")?;
        let (values, values_shape) = state.f64s("entity_values")?;
        let all = values.len() / 2;
        ensure(sizes_shape == [seen.len(), SIZES] && seen.len() <= self.most(), WRONG)?;
        ensure(places_shape == [all, PLACES] && values_shape == [all, 2], WRONG)?;
        ensure(all <= self.most().saturating_mul(2 * MEAN_VALUES).max(2 * attributes), WRONG)?;
        let names: Option<Vec<u8>> = names.iter().map(|&byte| u8::try_from(byte).ok()).collect();
        let (names, rows) = (names.ok_or(WRONG)?, sizes.as_chunks::<SIZES>().0);
        let mut left = (names.as_slice(), places.as_chunks::<PLACES>().0, values.as_chunks::<2>().0);
        let mut labels = restored_labels(state, seen.len())?.into_iter();
        let mut restored = self.emptied();
        for (&[length, count, own, asked], &seen) in rows.iter().zip(seen) {
            let mut take = |many: i64| -> Result<Vec<Remembered>, Refused> {
                let many = usize::try_from(many).map_err(|_| WRONG)?;
                let (place, others) = left.1.split_at_checked(many).ok_or(WRONG)?;
                let (value, rest) = left.2.split_at_checked(many).ok_or(WRONG)?;
                (left.1, left.2) = (others, rest);
                let each = place.iter().zip(value);
                each.map(|(place, value)| remembered(place, value, attributes, coordinates)).collect()
            };
            let values = take(own)?;
            let asked = if asked < 0 { None } else { Some(Box::new(take(asked)?)) };
            let length = usize::try_from(length).map_err(|_| WRONG)?;
            let (name, others) = left.0.split_at_checked(length).ok_or(WRONG)?;
            left.0 = others;
            ensure(seen.is_finite() && count >= 0 && !restored.knows(name), WRONG)?;
            let labels = labels.next().flatten();
            let entity = Entity { name: name.into(), values, count: count as u64, seen, asked, labels };
            let is_sorted = |values: &[Remembered]| values.is_sorted_by(|a, b| a.attribute < b.attribute);
            ensure(
                is_sorted(&entity.values) && entity.asked.as_deref().is_none_or(|asked| is_sorted(asked)),
                WRONG,
            )?;
            restored.push(entity);
        }
        ensure(left.0.is_empty() && left.1.is_empty(), WRONG)?;
        *self = restored;
        Ok(())
    }
}

/// Per entity: bytes of its name, events, values, and values of the last predicted event; -1 for none.
const SIZES: usize = 4;
/// Per value: attribute, coordinate, generation.
const PLACES: usize = 3;

/// The labels of entities as arrays.
#[derive(Default)]
struct LabelArrays {
    /// Per entity: the index of the last label among its texts, see [`NONE`], the number of labels that the mean is
    /// based on, and the number of texts.
    sizes: Vec<i64>,
    /// Per entity with labels: the last one if it is a number, the time of the latest, and the mean.
    values: Vec<f64>,
    /// Per text: its share and its length in bytes; the bytes of all texts follow one another.
    shares: Vec<f64>,
    lengths: Vec<i64>,
    texts: Vec<i32>,
}

/// The entity has no labels, or the last one is a number.
const NONE: i64 = -2;
const NUMBER: i64 = -1;

impl LabelArrays {
    fn push(&mut self, labels: Option<&PastLabels>) {
        let Some(labels) = labels else { return self.sizes.extend([NONE, 0, 0]) };
        let (last, value) = match &labels.last {
            PastLabel::Number(value) => (NUMBER, *value),
            PastLabel::Text(text) => {
                (labels.shares.iter().position(|(own, _)| own == text).map_or(NONE, |at| at as i64), 0.0)
            }
        };
        self.sizes.extend([last, i64::from(labels.count), labels.shares.len() as i64]);
        self.values.extend([value, labels.time, labels.mean]);
        for (text, share) in &labels.shares {
            self.shares.push(*share);
            self.lengths.push(text.len() as i64);
            self.texts.extend(text.iter().copied().map(i32::from));
        }
    }

    fn put(self, state: &mut State) {
        let [sizes, values] = [self.sizes.len() / 3, self.values.len() / 3];
        let [shares, texts] = [self.shares.len(), self.texts.len()];
        state.put_i64s("entity_label_sizes", self.sizes, &[sizes, 3]);
        state.put_f64s("entity_label_values", self.values, &[values, 3]);
        state.put_f64s("entity_label_shares", self.shares, &[shares]);
        state.put_i64s("entity_label_lengths", self.lengths, &[shares]);
        state.put_i32s("entity_label_texts", self.texts, &[texts]);
    }
}

/// Restore the labels of this many entities.
fn restored_labels(state: &State, entities: usize) -> Result<Vec<Option<Box<PastLabels>>>, Refused> {
    let (sizes, sizes_shape) = state.i64s("entity_label_sizes")?;
    let (values, values_shape) = state.f64s("entity_label_values")?;
    let (shares, _) = state.f64s("entity_label_shares")?;
    let (lengths, _) = state.i64s("entity_label_lengths")?;
    let (texts, _) = state.i32s("entity_label_texts")?;
    ensure(sizes_shape == [entities, 3] && values_shape == [values.len() / 3, 3], WRONG)?;
    ensure(shares.len() == lengths.len(), WRONG)?;
    let texts: Option<Vec<u8>> = texts.iter().map(|&byte| u8::try_from(byte).ok()).collect();
    let texts = texts.ok_or(WRONG)?;
    let (mut values, mut texts) = (values.as_chunks::<3>().0.iter(), texts.as_slice());
    let mut shares = shares.iter().zip(lengths);
    let mut labels = Vec::with_capacity(entities);
    for &[last, count, many] in sizes.as_chunks::<3>().0 {
        if last == NONE {
            ensure(count == 0 && many == 0, WRONG)?;
            labels.push(None);
            continue;
        }
        let &[value, time, mean] = values.next().ok_or(WRONG)?;
        let mut own: Vec<(Box<[u8]>, f64)> = Vec::new();
        for _ in 0..many {
            let (&share, &length) = shares.next().ok_or(WRONG)?;
            let length = usize::try_from(length).map_err(|_| WRONG)?;
            let (text, others) = texts.split_at_checked(length).ok_or(WRONG)?;
            texts = others;
            own.push((text.into(), share));
        }
        let last = match usize::try_from(last) {
            Ok(at) => PastLabel::Text(own.get(at).ok_or(WRONG)?.0.clone()),
            Err(_) => {
                ensure(last == NUMBER, WRONG)?;
                PastLabel::Number(value)
            }
        };
        let count = u32::try_from(count).map_err(|_| WRONG)?;
        let known = PastLabels { last, time, count, mean, shares: own };
        ensure(value.is_finite() && known.is_sound(), WRONG)?;
        labels.push(Some(Box::new(known)));
    }
    ensure(values.next().is_none() && shares.next().is_none() && texts.is_empty(), WRONG)?;
    Ok(labels)
}

fn remembered(
    &[attribute, coordinate, generation]: &[i32; PLACES],
    &[value, time]: &[f64; 2],
    attributes: usize,
    coordinates: usize,
) -> Result<Remembered, Refused> {
    let known = (1..attributes as i64).contains(&attribute.into());
    let placed = (1..coordinates as i64).contains(&coordinate.into());
    ensure(known && placed && generation >= 0 && value.is_finite() && time.is_finite(), WRONG)?;
    let [attribute, coordinate, generation] = [attribute, coordinate, generation].map(|index| index as u32);
    Ok(Remembered { attribute, coordinate, generation, value, time })
}
