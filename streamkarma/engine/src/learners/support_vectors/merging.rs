//! Merging support vectors of models trained separately.
//!
//! With steps of 1 / (ρ t), t v is a sum of gradients: v for all events is the mean of the parts' v, each weighted by
//! the number of events it has learned since the base. That is exact by observed set (design, Fact 1) where the parts
//! began with v = 0; where they began with a base, all of them contain it, and so does the mean. With constant steps,
//! or with steps that do not fall below 1 / (ρ `longest`), the mean is one of models that forget. Likewise, the average
//! of v_1 … v_T is the mean of the parts' averages.
//!
//! If there are more support vectors than the budget allows, those of least norm are pruned as in [`super::pruning`],
//! or the oldest, with ages counted back from the end of each part. Which ones are kept does not depend on the order of
//! the parts, but may depend on the order of nested merges; without a budget, or below it, nothing depends on either.

use super::example_counts::Fates;
use super::pruning::Pruning;
use super::storage::Vectors;
use super::{Rule, SupportVectors};
use crate::kernel::growth;
use crate::learner::Learner;
use crate::merging::{counted_together, learned_since};
use crate::state::{Refused, ensure};

impl SupportVectors {
    /// Flip all signs, or renumber the classes; see [`crate::learner::Learner::relabel`].
    pub(super) fn renumber(&mut self, places: &[usize]) -> Result<(), Refused> {
        let (single, turned) = (self.classes() == 1, !places.is_sorted());
        ensure(
            single || places.len() == self.classes(),
            "the number of new class indices differs from the number of classes",
        )?;
        let v = &mut self.vectors;
        for table in [Some(&mut v.values), v.offsets.as_mut()].into_iter().flatten() {
            if single && turned {
                // Subtracted from 0 so that no zero gets a sign: files do not keep it.
                table.replace(|value| 0.0 - value);
            } else if !single {
                table.permute(places);
            }
        }
        Ok(())
    }

    /// Add what parts have learned; see [`crate::learner::Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| self.is_like(&part.rule, part.average))?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            let steps = counted_together(self.steps, learned.iter().map(|(part, _)| part.steps));
            self.become_mean(&learned, steps);
        }
        Ok(())
    }

    /// Whether it has this step rule, and averages or not as given.
    pub(super) fn is_like(&self, rule: &Rule, average: bool) -> bool {
        self.rule == *rule && self.average == average
    }

    /// Become the mean of parts, each weighted by its number of events, as after `steps` steps.
    pub(super) fn become_mean(&mut self, parts: &[(&Self, u64)], steps: u64) {
        let events: u64 = parts.iter().map(|(_, events)| events).sum();
        let weighed = |&(part, own): &(&Self, u64)| self.share_of(part, own as f64 / events as f64, steps);
        let weighed: Vec<Vectors> = parts.iter().map(weighed).collect();
        let fates: Vec<Fates> = parts.iter().map(|(part, _)| part.fates).collect();
        self.fates = self.fates.together(&fates);
        let vectors = self.within_budget(union(&weighed, self.rule.gamma));
        self.resume(vectors, steps);
    }

    /// A part's vectors times its share in the mean, with this model's γ, and as after `steps` steps.
    fn share_of(&self, part: &Self, share: f64, steps: u64) -> Vectors {
        let mut v = part.vectors.clone();
        v.rescale();
        let (from, to) = (part.rule.gamma, self.rule.gamma);
        // The sum of v_1 … v_T has this many times as many terms.
        let longer = steps as f64 / part.steps.max(1) as f64;
        for slot in 0..v.used() {
            let size = v.observed[slot].len() as f64;
            // Under another γ this keeps the scores of events with the same observed set.
            let kept = growth(size, from) / growth(size, to);
            let share = share * if self.rule.normalize { kept.sqrt() } else { kept };
            for &k in &v.listed[slot] {
                for c in 0..v.values.classes() {
                    let value = v.values.at(k, c, slot);
                    if let Some(offsets) = &mut v.offsets {
                        let offset = offsets.at(k, c, slot);
                        *offset = share * (longer * (*offset + *value) - *value);
                    }
                    *value *= share;
                }
            }
            v.created_at[slot] += steps as f64 - part.steps as f64;
        }
        v
    }

    /// As many of the vectors as the budget allows; the rest are folded into them, or dropped.
    fn within_budget(&mut self, all: Vectors) -> Vectors {
        let (budget, gamma) = (self.rule.budget, self.rule.gamma);
        if budget == 0 || all.used() <= budget {
            return all;
        }
        let key = if self.rule.pruning == Pruning::Oldest { &all.created_at } else { &all.squares };
        let mut slots: Vec<usize> = (0..all.used()).collect();
        slots.sort_by(|&one, &other| key[other].total_cmp(&key[one]));
        let (kept, rest) = slots.split_at_mut(budget);
        kept.sort_unstable();
        let mut left = Vectors::new(all.values.classes(), self.average);
        left.longest = all.longest;
        for &slot in &*kept {
            left.add_vector(&all, slot, gamma);
        }
        for &slot in &*rest {
            let host = if self.rule.pruning == Pruning::Merge {
                self.passes.count_shared(&left.mask, &all.observed[slot], gamma);
                all.squares_of(slot, &mut self.squares);
                self.passes.closest(&left.mask, &self.squares, &left.inverse)
            } else {
                None
            };
            if let Some(host) = host {
                left.add_projected(host, &all, slot, self.passes.gain(host) * left.inverse[host]);
                self.fates.merged_closest += 1;
            } else {
                self.fates.removed += 1;
            }
        }
        (0..budget).for_each(|slot| left.measure(slot));
        left
    }
}

/// The sum of vectors, ordered by observed set.
fn union(parts: &[Vectors], gamma: u32) -> Vectors {
    let mut all = Vectors::new(parts[0].values.classes(), parts[0].offsets.is_some());
    all.longest = parts.iter().map(|part| part.longest).max().unwrap_or(0);
    let slots = parts.iter().flat_map(|part| (0..part.used()).map(move |slot| (part, slot)));
    let mut slots: Vec<(&Vectors, usize)> = slots.collect();
    slots.sort_by(|(one, i), (other, j)| one.observed[*i].cmp(&other.observed[*j]));
    for (part, slot) in slots {
        all.add_vector(part, slot, gamma);
    }
    for slot in 0..all.used() {
        all.listed[slot].sort_unstable();
        all.measure(slot);
    }
    all
}

impl Vectors {
    /// Add a slot of others to the slot with the same observed set.
    fn add_vector(&mut self, others: &Self, slot: usize, gamma: u32) {
        let observed = &others.observed[slot];
        let host = self.slots.get(observed).copied().unwrap_or(self.used());
        if host == self.used() {
            self.reserve(host + 1);
            self.fill(host, observed, gamma, others.created_at[slot]);
        }
        self.created_at[host] = self.created_at[host].max(others.created_at[slot]);
        self.add_projected(host, others, slot, 1.0);
    }
}
