//! A pass over all events before any is learned: names, categories, and the distributions of numbers.
//!
//! What an encoder makes of a stream depends on what came first: which values are outliers, which categories recur. A
//! survey depends neither on that nor on how the events were divided among the processes: every category gets a
//! coordinate, so that it is counted, and each numeric coordinate has a [`Summary`]. What to do with them is decided
//! at the end (`ending.rs`). This holds as long as all names fit the bounds, except for pairs of words, which are
//! counted as usual, for whether an attribute of texts is prose, which its first values decide, and for categories of
//! an attribute that looks like an identifier for thousands of values but is not one.

mod ending;
#[cfg(test)]
mod tests;

use super::Encoder;
use crate::scale::summary::{self, Summary};
use crate::state::{Refused, State, ensure};
use crate::translation::DROPPED;

/// The results so far.
#[derive(Clone, Debug)]
pub(super) struct Survey {
    /// The number of coordinates before the survey.
    known: usize,
    /// By coordinate.
    numbers: Vec<Summary>,
}

/// Numbers per row of the state: a coordinate, and those of a bucket.
const WIDTH: usize = 1 + summary::WIDTH;

impl Encoder {
    /// Only survey the events that are learned from now on, until [`Encoder::end_survey`].
    pub fn begin_survey(&mut self) {
        let known = self.vocabulary.coordinate_count();
        self.survey = Some(Box::new(Survey { known, numbers: vec![Summary::default(); known] }));
        self.frozen = false;
    }

    /// Add a number to the summary of its coordinate; false if there is no survey.
    pub(super) fn survey_number(&mut self, coordinate: u32, value: f64) -> bool {
        let Some(survey) = &mut self.survey else { return false };
        survey.numbers[coordinate as usize].observe(value, 1.0);
        true
    }

    /// Provide a summary for each coordinate, and clear that of an evicted one.
    pub(super) fn fit_survey(&mut self, evicted: Option<u32>) {
        if let Some(survey) = &mut self.survey {
            survey.numbers.resize(self.vocabulary.coordinate_count(), Summary::default());
            if let Some(coordinate) = evicted {
                survey.numbers[coordinate as usize] = Summary::default();
            }
        }
    }

    /// The results so far for numbers, as arrays; empty if there is no survey.
    pub fn survey_state(&self) -> State {
        let mut state = State::default();
        if let Some(survey) = &self.survey {
            let all = survey.numbers.iter().enumerate();
            let rows = all.flat_map(|(at, numbers)| numbers.rows().map(move |row| (at as f64, row)));
            let rows: Vec<f64> = rows.flat_map(|(at, row)| std::iter::once(at).chain(row)).collect();
            let count = rows.len() / WIDTH;
            state.put_f64s("survey_numbers", rows, &[count, WIDTH]);
            state.put_i64s("survey_known", vec![survey.known as i64], &[1]);
        }
        state
    }

    /// Restore such arrays and continue the survey.
    ///
    /// # Errors
    ///
    /// If they are invalid. The survey is then unchanged.
    pub fn restore_survey(&mut self, state: &State) -> Result<(), Refused> {
        let wrong = "the survey does not fit the vocabulary";
        let (rows, shape) = state.f64s("survey_numbers")?;
        let (known, _) = state.i64s("survey_known")?;
        let count = self.vocabulary.coordinate_count();
        let known = known.first().and_then(|&known| usize::try_from(known).ok()).unwrap_or(0);
        ensure(shape.get(1) == Some(&WIDTH) && (1..=count).contains(&known), wrong)?;
        let mut buckets = vec![Vec::new(); count];
        for &[at, ref row @ ..] in rows.as_chunks::<WIDTH>().0 {
            ensure(at >= 0.0 && at.fract() == 0.0, wrong)?;
            buckets.get_mut(at as usize).ok_or(wrong)?.push(*row);
        }
        let numbers = buckets.iter().map(|rows| Summary::from_rows(rows)).collect::<Result<_, _>>()?;
        self.survey = Some(Box::new(Survey { known, numbers }));
        Ok(())
    }
}

impl Survey {
    /// Merge the surveys of parts that started from a base with `known` coordinates, each with the positions of its
    /// coordinates among `count` merged ones. None if there is no survey.
    pub(super) fn merged(known: usize, parts: &[(&Self, &[u32])], count: usize) -> Option<Box<Self>> {
        if parts.is_empty() {
            return None;
        }
        let mut numbers = vec![Summary::default(); count];
        for (survey, places) in parts {
            for (own, &place) in survey.numbers.iter().zip(*places).filter(|(_, place)| **place != DROPPED) {
                numbers[place as usize].add(own);
            }
        }
        Some(Box::new(Self { known, numbers }))
    }

    /// Whether no number has been observed yet.
    pub(super) fn is_empty(&self) -> bool {
        self.numbers.iter().all(|numbers| *numbers == Summary::default())
    }
}
