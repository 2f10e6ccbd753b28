//! Saving target statistics as arrays, and restoring them with checks.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::{Attribute, Labels};
use super::table::{LARGEST_SUM, Table, seen_in};
use super::waiting::{self, Waiting};
use super::{Rated, class_of};
use crate::scale::{self, Scale};
use crate::state::{Refused, State, ensure};

/// Prefix of the names of its arrays.
pub const PART: &str = "rates";

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
        let each = self.width() * (8 + size_of::<Scale>()) + size_of::<Attribute>();
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
        let scales = self.attributes.values().flat_map(|attribute| &attribute.scales);
        state.put_i32s("coordinates", coordinates, &[size]);
        state.put_f64s("counts", labels().map(|labels| labels.count).collect(), &[size]);
        state.put_f64s("sums", labels().flat_map(|labels| labels.sums.clone()).collect(), &[size, width]);
        state.put_f64s("moments", scales.flat_map(Scale::row).collect(), &[size, width, scale::WIDTH]);
        state.put_i64s("seen", labels().map(|labels| labels.seen as i64).collect(), &[size]);
        let gains = || self.attributes.values().map(|attribute| &attribute.gains);
        let each = gains().flat_map(|gains| [gains.count, gains.sums[0], gains.sums[1]]);
        state.put_f64s("gains", each.collect(), &[size, 3]);
        state.put_i64s("gains_seen", gains().map(|gains| gains.seen as i64).collect(), &[size]);
        self.table.put(&mut state);
        if !self.is_in_order() {
            let classes = self.classes.iter().map(|&class| class as i64).collect();
            state.put_i64s("classes", classes, &[width]);
        }
        state
    }

    /// Restore such a state; the learner has its own already.
    pub(super) fn restore_own(&mut self, state: &State, coordinates: usize) -> Result<(), Refused> {
        const WHY: &str = "the target statistics of attributes are inconsistent";
        self.clear();
        self.waiting = Waiting::from_state(state)?;
        if state.0.keys().all(|name| waiting::ARRAYS.contains(&name.as_str())) {
            return Ok(());
        }
        let width = self.width();
        let (places, shape) = state.i32s("coordinates")?;
        let ((counts, count_shape), (sums, sum_shape)) = (state.f64s("counts")?, state.f64s("sums")?);
        let (rows, row_shape) = state.f64s("moments")?;
        let size = places.len();
        ensure(shape == [size] && count_shape == [size] && counts.len() == size, WHY)?;
        ensure(sum_shape == [size, width] && sums.len() == size * width, WHY)?;
        ensure(row_shape == [size, width, scale::WIDTH], WHY)?;
        ensure(rows.len() == size * width * scale::WIDTH && places.is_sorted_by(|a, b| a < b), WHY)?;
        let is_place = |&place: &i32| place > 0 && (place as usize) < coordinates;
        ensure(places.iter().all(is_place), WHY)?;
        ensure(counts.iter().all(|count| (0.0..LARGEST_SUM).contains(count)), WHY)?;
        ensure(sums.iter().all(|sum| sum.abs() < LARGEST_SUM), WHY)?;
        ensure(self.settings.regression || sums.iter().all(|&sum| sum >= 0.0), WHY)?;
        let scales: Option<Vec<Scale>> = rows.chunks_exact(scale::WIDTH).map(Scale::from_row).collect();
        let scales = scales.ok_or(WHY)?;
        let seen = seen_in(state, "seen", size)?;
        let (gains, gain_shape) = state.f64s("gains")?;
        ensure(gain_shape == [size, 3] && gains.len() == size * 3, WHY)?;
        let is_possible = |each: &[f64]| each.iter().all(|sum| sum.abs() < LARGEST_SUM) && each[2] >= 0.0;
        ensure(gains.chunks_exact(3).all(is_possible), WHY)?;
        let gains_seen = seen_in(state, "gains_seen", size)?;
        let attributes = places.iter().enumerate().map(|(at, &place)| {
            let own = at * width..(at + 1) * width;
            let labels = Labels { count: counts[at], sums: sums[own.clone()].to_vec(), seen: seen[at] };
            let sums = gains[3 * at + 1..3 * at + 3].to_vec();
            let gains = Labels { count: gains[3 * at], sums, seen: gains_seen[at] };
            (place as u32, Attribute { labels, scales: scales[own].to_vec(), gains })
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
