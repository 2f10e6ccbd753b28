//! Learning the subspace from an event.

use super::linear::LARGEST_GROWTH;
use super::{FIRST_DUE, Form, NOBODY, Subspace};
use crate::block::{Event, room_for};
use crate::learner::Lesson;
use crate::math::pow;

/// The correlations are due again whenever the number of events has grown by this fraction.
const LATER_DUE: f64 = 0.1;

/// Maximum weight of an event in the moments, so that their sums stay finite.
const HEAVIEST: f64 = 1e6;

impl Subspace {
    /// Infer the latent of an event, if there is one.
    pub(super) fn explain(&mut self, event: &Event) {
        if let Form::Factor(ppca) = &mut self.form {
            ppca.explain(&self.owners, self.growth, event);
        }
    }

    /// Record the names of an event that is to be learned; returns whether anything is new.
    pub(super) fn admit(&mut self, event: &Event) -> bool {
        let (attributes, coordinates) = (room_for(event.attributes), room_for(event.coordinates));
        let mut is_new = attributes > self.known.len() || coordinates > self.owners.len();
        if is_new {
            self.grow(attributes.max(self.known.len()), coordinates.max(self.owners.len()));
        }
        for (&attribute, &coordinate) in event.attributes.iter().zip(event.coordinates) {
            let (owner, known) = (&mut self.owners[coordinate as usize], &mut self.known[attribute as usize]);
            is_new |= *owner != attribute || !*known;
            if *owner != attribute
                && let Form::Pairs(pairs) = &mut self.form
            {
                pairs.assign_slot(attribute, coordinate);
            }
            (*owner, *known) = (attribute, true);
        }
        is_new
    }

    pub(super) fn grow(&mut self, attributes: usize, coordinates: usize) {
        self.owners.resize(coordinates, NOBODY);
        self.known.resize(attributes, false);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.grow(attributes, coordinates),
            Form::Factor(ppca) => ppca.grow(attributes, coordinates),
        }
        self.make_room_for_weights();
    }

    /// After the weights have learned a labelled event: learn the subspace, unless it already did when the event
    /// arrived, and keep the event.
    pub(super) fn learn_whole(&mut self, event: &Event, lesson: &Lesson) {
        if !lesson.observed_before {
            self.learn(event, lesson.weight);
        }
        self.keep(event, lesson);
    }

    /// Learn the subspace; the event was admitted and, in factor form, explained.
    pub(super) fn learn(&mut self, event: &Event, weight: f64) {
        self.events += 1.0;
        let (weight, half_life) = (weight.min(HEAVIEST), self.settings.half_life);
        match &mut self.form {
            Form::Pairs(pairs) => pairs.count(event, weight * self.growth),
            Form::Factor(ppca) => ppca.learn(event, weight, self.growth),
        }
        if half_life > 0.0 {
            self.growth *= pow(2.0, 1.0 / half_life);
            if self.growth > LARGEST_GROWTH {
                self.rescale();
            }
        }
        if matches!(self.form, Form::Pairs(_)) && self.events >= self.due {
            self.update_correlations();
        }
    }

    /// Update the completion, and let other attributes take their turn.
    fn update_correlations(&mut self) {
        self.refresh_correlations();
        self.take_turns();
    }

    /// Update the completion.
    pub(super) fn refresh_correlations(&mut self) {
        if let Form::Pairs(pairs) = &mut self.form {
            let (shrink, choosing) = (self.settings.shrink, pairs.is_crowded());
            self.noise = pairs.moments.update_correlations(&pairs.owners, self.growth, shrink, choosing);
            let half_life = self.settings.half_life;
            let memory = if half_life > 0.0 { self.events.min(half_life) } else { self.events };
            self.due = self.events + (memory * LATER_DUE).floor().max(FIRST_DUE);
        }
    }

    /// Divide all counts and sums by the growth and set it to 1.
    fn rescale(&mut self) {
        let inverse = 1.0 / self.growth;
        let tables = match &mut self.form {
            Form::Pairs(p) => vec![
                p.moments.sums.values_mut(),
                p.moments.counts.values_mut(),
                &mut p.observed,
                &mut p.value_counts,
                &mut p.sums,
            ],
            Form::Factor(p) => vec![&mut p.observed, &mut p.value_counts, &mut p.sums, &mut p.squares],
        };
        for table in tables {
            table.iter_mut().for_each(|entry| *entry *= inverse);
        }
        self.growth = 1.0;
    }
}
