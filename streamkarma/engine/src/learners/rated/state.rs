//! Saving target statistics as arrays, and restoring them with checks.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::{Attribute, Labels};
use super::statistics::SHRINKS;
use super::table::{LARGEST_SUM, Table, seen_in};
use super::waiting::{self, Waiting};
use super::{Rated, class_of};
use crate::state::{Refused, State, ensure};

/// Prefix of the names of its arrays.
pub const PART: &str = "rates";
const WHY: &str = "the target statistics of attributes are inconsistent";

impl Rated {
    /// Forget all labels.
    pub(super) fn clear(&mut self) {
        self.table = Table::new(self.width());
        self.attributes.clear();
        self.waiting = Waiting::default();
        self.classes = (0..self.width()).map(class_of).collect();
    }

    /// Memory used in addition to the learner's, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        let each = 8 * (self.width() + 2 + SHRINKS.len()) + size_of::<Attribute>();
        self.table.bytes() + (self.attributes.len() * each) as u64
    }

    /// Everything except the learner's state; empty if there is nothing.
    pub(super) fn own_state(&self) -> State {
        let mut state = State::default();
        self.waiting.put(&mut state);
        if self.attributes.is_empty() {
            return state;
        }
        let (size, width) = (self.attributes.len(), self.width());
        let coordinates = self.attributes.keys().map(|&coordinate| coordinate as i32).collect();
        let labels = || self.attributes.values().map(|attribute| &attribute.labels);
        state.put_i32s("coordinates", coordinates, &[size]);
        state.put_f64s("counts", labels().map(|labels| labels.count).collect(), &[size]);
        state.put_f64s("sums", labels().flat_map(|labels| labels.sums.clone()).collect(), &[size, width]);
        state.put_i64s("seen", labels().map(|labels| labels.seen as i64).collect(), &[size]);
        put_labels(&mut state, "gains", self.attributes.values().map(|attribute| &attribute.gains));
        put_labels(&mut state, "errors", self.attributes.values().map(|attribute| &attribute.errors));
        self.table.put(&mut state);
        if !self.is_in_order() {
            let classes = self.classes.iter().map(|&class| class as i64).collect();
            state.put_i64s("classes", classes, &[width]);
        }
        state
    }

    /// Restore such a state; the learner has its own already.
    pub(super) fn restore_own(&mut self, state: &State, coordinates: usize) -> Result<(), Refused> {
        self.clear();
        self.waiting = Waiting::from_state(state)?;
        if state.0.keys().all(|name| waiting::ARRAYS.contains(&name.as_str())) {
            return Ok(());
        }
        let width = self.width();
        let (places, shape) = state.i32s("coordinates")?;
        let ((counts, count_shape), (sums, sum_shape)) = (state.f64s("counts")?, state.f64s("sums")?);
        let size = places.len();
        ensure(shape == [size] && count_shape == [size] && counts.len() == size, WHY)?;
        ensure(sum_shape == [size, width] && sums.len() == size * width, WHY)?;
        ensure(places.is_sorted_by(|a, b| a < b), WHY)?;
        let is_place = |&place: &i32| place > 0 && (place as usize) < coordinates;
        ensure(places.iter().all(is_place), WHY)?;
        ensure(counts.iter().all(|count| (0.0..LARGEST_SUM).contains(count)), WHY)?;
        ensure(sums.iter().all(|sum| sum.abs() < LARGEST_SUM), WHY)?;
        ensure(self.settings.regression || sums.iter().all(|&sum| sum >= 0.0), WHY)?;
        let seen = seen_in(state, "seen", size)?;
        let gains = labels_in(state, "gains", size, 2)?;
        let errors = labels_in(state, "errors", size, SHRINKS.len())?;
        ensure(gains.iter().all(|gains| gains.sums[1] >= 0.0), WHY)?;
        ensure(errors.iter().flat_map(|errors| &errors.sums).all(|&error| error >= 0.0), WHY)?;
        let measures = gains.into_iter().zip(errors);
        let attributes = places.iter().zip(measures).enumerate().map(|(at, (&place, (gains, errors)))| {
            let sums = sums[at * width..(at + 1) * width].to_vec();
            let labels = Labels { count: counts[at], sums, seen: seen[at] };
            (place as u32, Attribute { labels, gains, errors })
        });
        let attributes: BTreeMap<u32, Attribute> = attributes.collect();
        self.table = Table::new(width).restored(state, self.settings.regression)?;
        self.attributes = attributes;
        if let Ok((classes, _)) = state.i64s("classes") {
            let most = self.inner.classes().max(2) as i64;
            let once: BTreeSet<&i64> = classes.iter().collect();
            ensure(classes.len() == width && once.len() == width, WHY)?;
            ensure(classes.iter().all(|class| (0..most).contains(class)), WHY)?;
            self.classes = classes.iter().map(|&class| class as usize).collect();
        }
        Ok(())
    }
}

/// Put labels with equally many sums into a state, under a name.
fn put_labels<'a>(state: &mut State, name: &str, all: impl Iterator<Item = &'a Labels>) {
    let (mut rows, mut seen, mut width) = (vec![], vec![], 0);
    for labels in all {
        rows.push(labels.count);
        rows.extend(&labels.sums);
        seen.push(labels.seen as i64);
        width = labels.sums.len();
    }
    let size = seen.len();
    state.put_f64s(name, rows, &[size, 1 + width]);
    state.put_i64s(&format!("{name}_seen"), seen, &[size]);
}

/// As many labels, with as many sums each.
fn labels_in(state: &State, name: &str, size: usize, width: usize) -> Result<Vec<Labels>, Refused> {
    let ((rows, shape), seen) = (state.f64s(name)?, seen_in(state, &format!("{name}_seen"), size)?);
    let fits = shape == [size, 1 + width] && rows.len() == size * (1 + width);
    ensure(fits && rows.iter().all(|number| number.abs() < LARGEST_SUM), WHY)?;
    ensure(rows.iter().step_by(1 + width).all(|&count| count >= 0.0), WHY)?;
    let of_row = |(row, seen): (&[f64], u64)| Labels { count: row[0], sums: row[1..].to_vec(), seen };
    Ok(rows.chunks_exact(1 + width).zip(seen).map(of_row).collect())
}

/// Split a state into the learner's and the rest.
pub fn split(state: &State) -> (State, State) {
    let prefix = format!("{PART}.");
    let (mut inner, mut own) = (State::default(), State::default());
    for (name, array) in &state.0 {
        match name.strip_prefix(&prefix) {
            Some(name) => own.0.insert(name.to_owned(), array.clone()),
            None => inner.0.insert(name.clone(), array.clone()),
        };
    }
    (inner, own)
}
