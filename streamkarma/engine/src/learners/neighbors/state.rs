//! Saving to and restoring from a model file.

use super::Neighbors;
use super::column::{ABSENT, Column, Kind, LARGEST as LARGEST_VALUE, LEAST_WEIGHT};
use super::columns::{Columns, MOST};
use super::growing::Halves;
use super::moments::Moments;
use crate::learner::Learner;
use crate::learners::linear::LARGEST;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the events of the window contradict each other";
/// Number of arrays that `to_state` produces, apart from the part for errors.
const ARRAYS: usize = 11;
const ERRORS: &str = "window_errors";
/// Stands for a missing attribute, or a missing coordinate of numbers.
const NONE: i64 = -1;

impl Neighbors {
    /// Everything learned, with events in the order in which they arrived.
    pub(super) fn to_state(&self) -> State {
        let events = self.labels.len();
        let oldest = if events < self.room { 0 } else { self.next };
        let slots = || (0..events).map(|age| (oldest + age) % self.room);
        let places = &self.columns.places;
        let of_column = |place: &Option<Column>| match place {
            None => [NONE, NONE],
            Some(Column { attribute, kind: Kind::Category, .. }) => [i64::from(*attribute), NONE],
            Some(Column { attribute, kind: Kind::Number(own), .. }) => {
                [i64::from(*attribute), i64::from(*own)]
            }
        };
        let get = |place: &Option<Column>, slot| place.as_ref().map_or(ABSENT, |column| column.get(slot));
        let all = || places.iter().flat_map(|place| slots().map(move |slot| get(place, slot)));
        let weight = |place: &Option<Column>| place.as_ref().map_or(0.0, |column| f64::from(column.weight));
        let value = |value: f32| if value == ABSENT { 0.0 } else { f64::from(value) };
        let Moments { count, mean, variance } = self.target;
        let mut state = State::default();
        let Halves { sum, squares, at } = self.halves;
        let length = [self.room, self.since].map(|count| count as i64);
        let size = [self.classes as i64, self.steps as i64, length[0], length[1], at as i64];
        state.put_i64s("window_size", size.to_vec(), &[5]);
        state.put_f64s("window_halves", vec![sum, squares], &[2]);
        state.put_f64s("window_target", vec![count, mean, variance], &[3]);
        state.put_f64s("window_labels", slots().map(|slot| self.labels[slot]).collect(), &[events]);
        state.put_f64s("window_weights", slots().map(|slot| self.weights[slot]).collect(), &[events]);
        let learned_at = slots().map(|slot| self.learned_at[slot] as i64).collect();
        state.put_i64s("window_learned_at", learned_at, &[events]);
        state.put_bools("window_asked", slots().map(|slot| self.asked[slot]).collect(), &[events]);
        state.put_part(ERRORS, self.errors.state());
        state.put_i64s("window_columns", places.iter().flat_map(of_column).collect(), &[places.len(), 2]);
        state.put_f64s("window_metric", places.iter().map(weight).collect(), &[places.len()]);
        state.put_f64s("window_values", all().map(value).collect(), &[places.len(), events]);
        state.put_bools(
            "window_observed",
            all().map(|value| value != ABSENT).collect(),
            &[places.len(), events],
        );
        state
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        let mut parts = state.parts();
        let own = parts.remove("").unwrap_or_default();
        let errors = parts.remove(ERRORS).ok_or(WHY)?;
        ensure(parts.is_empty() && own.0.len() == ARRAYS, WHY)?;
        let mut learner = Self::new(self.settings)?;
        learner.errors = learner.errors.restored(errors)?;
        learner.take_size(&own)?;
        learner.take_halves(&own)?;
        learner.take_labels(&own)?;
        learner.take_learned_at(&own)?;
        learner.take_asked(&own)?;
        learner.take_columns(&own, attributes, coordinates)?;
        learner.take_values(&own, coordinates)?;
        Ok(learner)
    }

    fn take_size(&mut self, state: &State) -> Result<(), Refused> {
        let ((size, size_shape), (moments, shape)) =
            (state.i64s("window_size")?, state.f64s("window_target")?);
        let (&[classes, steps, room, since, compared_at], &[count, mean, variance]) = (size, moments) else {
            return Err(WHY.to_owned());
        };
        ensure(size_shape == [5] && shape == [3], WHY)?;
        self.take_room(room, since)?;
        ensure((0..=steps).contains(&compared_at), WHY)?;
        self.halves.at = compared_at as u64;
        ensure((1..=1 << 20).contains(&classes) && (0..1 << 53).contains(&steps), WHY)?;
        ensure((0.0..=self.room as f64).contains(&count), WHY)?;
        ensure(mean.abs() <= LARGEST && (0.0..=4.0 * LARGEST * LARGEST).contains(&variance), WHY)?;
        if classes > 1 {
            ensure(!self.settings.regression, WHY)?;
            self.widen(classes as usize);
        }
        self.steps = steps as u64;
        self.target = Moments { count, mean, variance };
        Ok(())
    }

    fn take_room(&mut self, room: i64, since: i64) -> Result<(), Refused> {
        ensure(self.settings.rooms().any(|each| each as i64 == room) && (0..room).contains(&since), WHY)?;
        (self.room, self.since) = (room as usize, since as usize);
        Ok(())
    }

    fn take_halves(&mut self, state: &State) -> Result<(), Refused> {
        let (halves, shape) = state.f64s("window_halves")?;
        let &[sum, squares] = halves else { return Err(WHY.to_owned()) };
        ensure(shape == [2] && sum.abs() <= 9e15 && (0.0..=9e15).contains(&squares), WHY)?;
        self.halves = Halves { sum, squares, ..self.halves };
        Ok(())
    }

    fn take_labels(&mut self, state: &State) -> Result<(), Refused> {
        let ((labels, shape), (weights, other_shape)) =
            (state.f64s("window_labels")?, state.f64s("window_weights")?);
        ensure(shape == [labels.len()] && other_shape == shape, WHY)?;
        ensure(labels.len() <= self.room && labels.len() as u64 <= self.steps, WHY)?;
        ensure(weights.iter().all(|&weight| weight > 0.0 && weight <= LARGEST), WHY)?;
        let (regression, classes) = (self.settings.regression, self.counts.len() as f64);
        let is_label = |&label: &f64| {
            if regression {
                label.abs() <= LARGEST
            } else {
                (0.0..classes).contains(&label) && label.fract() == 0.0
            }
        };
        ensure(labels.iter().all(is_label), WHY)?;
        (self.labels, self.weights) = (labels.to_vec(), weights.to_vec());
        self.recount();
        self.next = labels.len() % self.room;
        self.columns = Columns::new(labels.len());
        Ok(())
    }

    /// The steps in which the events were learned.
    fn take_learned_at(&mut self, state: &State) -> Result<(), Refused> {
        let (steps, shape) = state.i64s("window_learned_at")?;
        ensure(shape == [self.labels.len()] && steps.is_sorted(), WHY)?;
        ensure(steps.iter().all(|&step| (0..=self.steps as i64).contains(&step)), WHY)?;
        self.learned_at = steps.iter().map(|&step| step as u64).collect();
        Ok(())
    }

    /// Which events the neighbours predicted.
    fn take_asked(&mut self, state: &State) -> Result<(), Refused> {
        let (asked, shape) = state.bools("window_asked")?;
        ensure(shape == [self.labels.len()], WHY)?;
        self.asked = asked.to_vec();
        Ok(())
    }

    fn take_columns(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let ((columns, shape), (metric, metric_shape)) =
            (state.i64s("window_columns")?, state.f64s("window_metric")?);
        ensure(shape == [metric.len(), 2] && metric_shape == [metric.len()] && metric.len() <= MOST, WHY)?;
        for (place, (&[attribute, own], &weight)) in columns.as_chunks::<2>().0.iter().zip(metric).enumerate()
        {
            self.columns.places.push(None);
            if attribute == NONE {
                ensure(own == NONE && weight == 0.0, WHY)?;
                continue;
            }
            ensure((1..attributes as i64).contains(&attribute), WHY)?;
            ensure(own == NONE || (0..coordinates as i64).contains(&own), WHY)?;
            ensure((f64::from(LEAST_WEIGHT)..=2.0 * MOST as f64).contains(&weight), WHY)?;
            let kind = if own == NONE { Kind::Category } else { Kind::Number(own as u32) };
            let column = self.columns.empty(attribute as u32, kind, weight as f32);
            self.columns.take(place, column);
            ensure(self.columns.places[place].is_some(), WHY)?; // else the attribute occurs twice
        }
        Ok(())
    }

    fn take_values(&mut self, state: &State, coordinates: usize) -> Result<(), Refused> {
        let ((values, shape), (observed, other_shape)) =
            (state.f64s("window_values")?, state.bools("window_observed")?);
        let events = self.labels.len();
        ensure(shape == [self.columns.places.len(), events] && other_shape == shape, WHY)?;
        for (place, column) in self.columns.places.iter_mut().enumerate() {
            let (from, to) = (place * events, (place + 1) * events);
            for (slot, (&value, &is_there)) in values[from..to].iter().zip(&observed[from..to]).enumerate() {
                if !is_there {
                    ensure(value == 0.0, WHY)?;
                    continue;
                }
                let column = column.as_mut().ok_or(WHY)?;
                let fits = match column.kind {
                    Kind::Category => (-1.0..coordinates as f64).contains(&value) && value.fract() == 0.0,
                    Kind::Number(_) => value.abs() <= LARGEST_VALUE,
                };
                ensure(fits, WHY)?;
                column.set(slot, value as f32);
            }
        }
        Ok(())
    }
}
