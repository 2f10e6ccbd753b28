//! Merging target statistics, beside the learners.
//!
//! Labels add up; those that all models began with count once, as far as they have not decayed. Where classes were
//! renumbered, the rate of one of two classes becomes that of the other, which is its negative; with several classes,
//! rates are permuted. If there are more classes than rates, a class that gets a rate only now is assumed to have had
//! an equal share of the labels of classes without one. The rates of numbers are in the unit of the target.

use std::collections::{BTreeMap, BTreeSet};

use super::labels::{Attribute, Labels};
use super::waiting::Waiting;
use super::{Rated, class_of};
use crate::learner::Learner;
use crate::translation::{DROPPED, Translation};

impl Rated {
    /// Renumber the classes. The learner continues to see the same rates.
    pub(super) fn relabel_rates(&mut self, places: &[usize]) {
        if !self.settings.regression {
            self.classes.iter_mut().for_each(|class| *class = places[*class]);
        }
    }

    /// Translate to the names of a merged model; returns the change for the learner.
    pub(super) fn translate_rates(&mut self, translation: &Translation) -> Translation {
        let mut all = translation.clone();
        for moved in self.moved(translation) {
            let old = moved.old as usize;
            all.coordinates[old] = moved.new;
            all.stretch[old] = self.sign() * translation.target.1;
        }
        self.attributes = self.translated(translation);
        if !self.keeps_sums(translation) {
            let mut table = std::mem::take(&mut self.table);
            table.widen(self.width(), |count, before, sums| {
                self.translate_sums(translation, count, before, sums)
            });
            self.table = table;
        }
        self.classes = (0..self.width()).map(class_of).collect();
        all
    }

    /// Merge in the labels of parts.
    pub(super) fn merge_rates(&mut self, parts: &[&Self]) {
        let tables: Vec<_> = parts.iter().map(|part| &part.table).collect();
        let settings = self.settings;
        self.waiting = Waiting::default();
        self.table.merge(&tables, |key| settings.keep_of(key), settings.regression);
        let others: Vec<_> = parts.iter().map(|part| part.attributes.clone()).collect();
        self.attributes = self.merged_attributes(&self.attributes, &others);
    }

    fn merged_attributes(
        &self,
        base: &BTreeMap<u32, Attribute>,
        parts: &[BTreeMap<u32, Attribute>],
    ) -> BTreeMap<u32, Attribute> {
        let all = || std::iter::once(base).chain(parts);
        let places: BTreeSet<u32> = all().flat_map(|each| each.keys()).copied().collect();
        let nothing = Attribute::new(self.width());
        let merged = |place| {
            let own: Vec<&Attribute> = parts.iter().filter_map(|part| part.get(&place)).collect();
            (place, self.merged(base.get(&place).unwrap_or(&nothing), &own))
        };
        places.into_iter().map(merged).collect()
    }

    fn merged(&self, base: &Attribute, parts: &[&Attribute]) -> Attribute {
        let (keep, keep_of_gains) = (self.settings.keep(), self.settings.keep_of_gains());
        let labels = parts.iter().map(|part| &part.labels);
        let gains = parts.iter().map(|part| &part.gains);
        let errors = parts.iter().map(|part| &part.errors);
        Attribute {
            labels: Labels::merged(&base.labels, labels, keep, self.settings.regression),
            gains: Labels::merged(&base.gains, gains, keep_of_gains, true),
            errors: Labels::merged(&base.errors, errors, keep_of_gains, false),
        }
    }

    /// Whether rates belong to the classes given by [`class_of`].
    pub(super) fn is_in_order(&self) -> bool {
        self.classes.iter().copied().eq((0..self.width()).map(class_of))
    }

    /// -1 where the rate of one of two classes becomes that of the other.
    fn sign(&self) -> f64 {
        if self.classes == [0] && !self.settings.regression { -1.0 } else { 1.0 }
    }

    /// The number that a rate will have; None if its class will have none.
    fn slot(&self, number: usize) -> Option<usize> {
        // `class_of` is its own inverse.
        let slot = if self.classes.len() == 1 { 0 } else { class_of(self.classes[number]) };
        Some(slot).filter(|&slot| slot < self.width())
    }

    /// The attributes by the first coordinates that their rates will have.
    fn translated(&self, translation: &Translation) -> BTreeMap<u32, Attribute> {
        let width = self.width();
        let mut all = BTreeMap::new();
        for moved in self.moved(translation) {
            all.entry(moved.first).or_insert_with(|| {
                let Attribute { labels, gains, errors } = self.attributes[&moved.was_first].clone();
                let (mut sums, unit) = (vec![0.0; width], translation.target.1);
                self.translate_sums(translation, labels.count, &labels.sums, &mut sums);
                let squares = errors.sums.iter().map(|error| error / (unit * unit)).collect();
                Attribute {
                    labels: Labels { sums, ..labels },
                    gains,
                    errors: Labels { sums: squares, ..errors },
                }
            });
        }
        all
    }

    fn keeps_sums(&self, translation: &Translation) -> bool {
        if self.settings.regression { translation.target == (0.0, 1.0) } else { self.is_in_order() }
    }

    /// Translate sums from the previous classes and target scale to those from now on.
    fn translate_sums(&self, translation: &Translation, count: f64, before: &[f64], sums: &mut [f64]) {
        let (shift, stretch) = translation.target;
        if self.settings.regression {
            sums.iter_mut().zip(before).for_each(|(sum, old)| *sum = (old - shift * count) / stretch);
        } else if self.sign() < 0.0 {
            sums.iter_mut().zip(before).for_each(|(sum, old)| *sum = (count - old).max(0.0));
        } else {
            let without = (self.classes() - self.width()).max(1) as f64;
            sums.fill((count - before.iter().sum::<f64>()).max(0.0) / without);
            for (number, old) in before.iter().enumerate() {
                self.slot(number).into_iter().for_each(|to| sums[to] = *old);
            }
        }
    }

    /// The new positions of the rates of attributes.
    fn moved(&self, translation: &Translation) -> Vec<Moved> {
        let all = self.attributes.keys().filter_map(|&first| self.moved_of(translation, first));
        all.flatten().collect()
    }

    /// The same for one attribute; None if it is dropped.
    fn moved_of(&self, translation: &Translation, was_first: u32) -> Option<Vec<Moved>> {
        let owner = *translation.owners.get(was_first as usize).filter(|&&owner| owner != DROPPED)?;
        let coordinates = (0..).zip(&translation.owners);
        let olds: Vec<u32> = coordinates.filter(|(_, own)| **own == owner).map(|(old, _)| old).collect();
        let mut news: Vec<u32> = olds.iter().map(|&old| translation.coordinates[old as usize]).collect();
        // Rates are numbered in ascending order of coordinates.
        news.sort_unstable();
        if news.contains(&DROPPED) || news.len() != self.settings.rates {
            return None;
        }
        let place = |(number, &old): (usize, &u32)| {
            let slot = self.slot(number);
            Moved { was_first, first: news[0], old, new: slot.map_or(DROPPED, |slot| news[slot]) }
        };
        Some(olds.iter().take(self.width()).enumerate().map(place).collect())
    }
}

/// A rate and its new position.
struct Moved {
    /// The first coordinate of its attribute's rates, old and new.
    was_first: u32,
    first: u32,
    /// Its coordinate, old and new.
    old: u32,
    new: u32,
}
