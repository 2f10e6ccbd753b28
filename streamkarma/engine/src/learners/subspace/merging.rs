//! Merging subspaces that were trained separately.
//!
//! - *Moments* add up, see [`super::parts`], and correlations are recomputed. Merged parts have those of one pass over
//!   all events, if the scale was the same throughout and there are no more coordinates than slots.
//! - *Factors* are rotated onto each other and averaged, see [`super::merged_ppca`]: an approximation.
//! - *Weights* are averaged by the gains of each part, see [`super::linear`].
//! - *Examples* for replay: of those of all parts, the ones with the lowest hashes are kept, up to capacity. This
//!   sample does not depend on the order of merging; the losses that decide whether replay is trusted are averaged by
//!   labelled events.
//!
//! If only one part has learned anything, the merged model is that part, so that correlations stay as of its last
//! update, and its examples stay in order.

use std::collections::VecDeque;

use super::examples::{Example, Examples, MOST, MOST_ITEMS};
use super::heads::Head;
use super::linear::{LinearModel, Move};
use super::matrix::Matrix;
use super::merged_pairs::Counted;
use super::merged_ppca::Turned;
use super::pairs::Pairs;
use super::parts::{Part, terms};
use super::ppca::Ppca;
use super::replay::Replayed;
use super::{Form, NOBODY, Subspace};
use crate::block::Evicted;
use crate::learner::Learner;
use crate::merging::{Mean, ensure_alike};
use crate::rate_key::hash_of;
use crate::state::Refused;

impl Subspace {
    /// See [`Learner::relabel`].
    pub(super) fn number_anew(&mut self, places: &[usize]) {
        let classes = self.classes();
        self.models_mut().for_each(|model| model.relabel(places));
        for example in &mut self.examples.all {
            if classes > 1 {
                example.label = places[example.label as usize] as f64;
            } else if places.first() == Some(&1) {
                example.label = -example.label;
            }
        }
    }

    /// See [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        ensure_alike(parts.iter().all(|part| part.is_made_as(self)))?;
        let has_learned = |part: &&Self| part.events != self.events || part.steps() != self.steps();
        let parts: Vec<&Self> = parts.iter().copied().filter(has_learned).collect();
        match parts[..] {
            [] => Ok(()),
            [part] => {
                *self = part.clone();
                Ok(())
            }
            _ => self.merge_learned(&parts),
        }
    }

    fn is_made_as(&self, other: &Self) -> bool {
        let heads = || self.heads.iter().zip(&other.heads);
        self.settings == other.settings
            && self.heads.len() == other.heads.len()
            && heads().all(|(own, its)| own.indicators == its.indicators)
            && heads().all(|(own, its)| own.model.settings() == its.model.settings())
    }

    /// Merge parts that have all learned something.
    fn merge_learned(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        let owners = owners_of(parts);
        // What parts have counted since is the difference to the counts they began with.
        let before = self.clone();
        self.clear_all_but(&owners);
        let since: Vec<Part> = parts.iter().map(|part| Part::of(part, &before)).collect();
        let mut heads: Vec<Vec<Head>> = parts.iter().map(|part| part.heads.clone()).collect();
        let form = self.merged_form(&owners, &since, &mut heads);
        self.events += parts.iter().map(|part| part.events_since(self)).sum::<f64>();
        (self.form, self.owners, self.growth) = (form, owners, 1.0);
        self.known = self.owning();
        self.merge_heads(heads)?;
        if self.is_replaying() {
            self.examples = Examples::merged(parts.iter().map(|part| &part.examples));
        }
        self.refresh_correlations();
        Ok(())
    }

    /// Forget what every part has dropped: their changes do not cover it.
    fn clear_all_but(&mut self, owners: &[u32]) {
        let is_known = |k: u32| owners.get(k as usize).is_some_and(|owner| *owner != NOBODY);
        let own = (0..self.owners.len() as u32).filter(|&k| self.owners[k as usize] != NOBODY);
        let coordinates: Vec<u32> = own.filter(|&k| !is_known(k)).collect();
        if !coordinates.is_empty() {
            self.clear(&Evicted { coordinates, ..Evicted::default() });
        }
    }

    /// The merged moments; translates the weights of the parts' heads to these.
    fn merged_form(&self, owners: &[u32], parts: &[Part], heads: &mut [Vec<Head>]) -> Form {
        let terms = terms(owners, parts);
        let mut models = heads.iter_mut().map(|heads| heads.iter_mut().flat_map(Head::models_mut));
        match &self.form {
            Form::Pairs(pairs) => {
                let counted: Vec<Counted> = parts.iter().filter_map(|part| part.counted(self)).collect();
                let mut merged = Pairs::merged(pairs.most, owners, &terms, &counted);
                let left = merged.find_redundant(&counted);
                for (models, left) in models.by_ref().zip(left) {
                    models.for_each(|model| {
                        left.iter().for_each(|each| each.move_weights(model, self.settings.rank))
                    });
                }
                Form::Pairs(Box::new(merged))
            }
            Form::Factor(ppca) => {
                let turned: Vec<Turned> = parts.iter().filter_map(Part::turned).collect();
                let (merged, rotations) = Ppca::merged(ppca, owners, &terms, &turned);
                for (models, rotation) in models.by_ref().zip(&rotations) {
                    models.for_each(|model| turn(model, rotation));
                }
                Form::Factor(Box::new(merged))
            }
        }
    }

    /// Merge the weights of the parts, which have the same number of heads each.
    fn merge_heads(&mut self, mut parts: Vec<Vec<Head>>) -> Result<(), Refused> {
        let all = || std::iter::once(&self.heads).chain(&parts).flatten();
        if all().any(|head| head.replayed.is_some()) {
            self.heads.iter_mut().chain(parts.iter_mut().flatten()).for_each(Head::begin_replay);
        }
        for (number, head) in self.heads.iter_mut().enumerate() {
            head.merge(&parts.iter().map(|heads| &heads[number]).collect::<Vec<_>>())?;
        }
        self.make_room_for_weights();
        Ok(())
    }
}

impl Part<'_> {
    fn counted(&self, base: &Subspace) -> Option<Counted<'_>> {
        let Form::Pairs(pairs) = &self.learner.form else { return None };
        Some(Counted { pairs, events: self.learner.events_since(base), noise: self.learner.noise })
    }

    fn turned(&self) -> Option<Turned<'_>> {
        let Form::Factor(ppca) = &self.learner.form else { return None };
        Some(Turned { ppca, gains: self.gains().collect() })
    }
}

impl Head {
    fn merge(&mut self, parts: &[&Self]) -> Result<(), Refused> {
        let labelled = |model: &LinearModel| model.steps().saturating_sub(self.model.steps()) as f64;
        let labelled: Vec<f64> = parts.iter().map(|part| labelled(&part.model)).collect();
        self.model.merge(&parts.iter().map(|part| &part.model).collect::<Vec<_>>())?;
        let Some(own) = &mut self.replayed else { return Ok(()) };
        let replayed: Vec<&Replayed> = parts.iter().filter_map(|part| part.replayed.as_ref()).collect();
        own.model.merge(&replayed.iter().map(|each| &each.model).collect::<Vec<_>>())?;
        for (i, loss) in own.losses.iter_mut().enumerate() {
            let mut change = Mean::default();
            for (each, labelled) in replayed.iter().zip(&labelled) {
                change.put(*labelled, each.losses[i] - *loss);
            }
            *loss = (*loss + change.value()).max(0.0);
        }
        Ok(())
    }
}

/// Rotate the weights of the latent along with it.
fn turn(model: &mut LinearModel, rotation: &Matrix) {
    let rank = rotation.width() as u32;
    let mut moves: Vec<Move> = (rank..model.places() as u32).map(|at| Move::stretched(at, at, 1.0)).collect();
    for from in 0..rank {
        for (to, &factor) in (0..rank).zip(rotation.row(from as usize)) {
            moves.push(Move { from, to, factor, information: factor * factor });
        }
    }
    model.transfer(&moves, model.places());
}

/// The attribute of each coordinate that any part has.
fn owners_of(parts: &[&Subspace]) -> Vec<u32> {
    let count = parts.iter().map(|part| part.owners.len()).max().unwrap_or(0);
    let mut owners = vec![NOBODY; count];
    for part in parts {
        owners.iter_mut().zip(&part.owners).for_each(|(owner, own)| *owner = (*owner).min(*own));
    }
    owners
}

impl Examples {
    /// A sample of the examples of several learners, independent of their order.
    fn merged<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let examples = all.flat_map(|examples| &examples.all);
        let mut hashed: Vec<(u64, &Example)> = examples.map(|each| (each.hash(), each)).collect();
        hashed.sort_by_key(|(hash, _)| *hash);
        // All parts have the examples from before they diverged.
        hashed.dedup_by(|one, other| one.1 == other.1);
        let (mut kept, mut items) = (VecDeque::new(), 0);
        for (_, example) in hashed.into_iter().take(MOST) {
            items += example.values.len();
            if items > MOST_ITEMS {
                items -= example.values.len();
                break;
            }
            kept.push_back(example.clone());
        }
        Self { all: kept, items, next: 0, due: 0.0 }
    }
}

impl Example {
    fn hash(&self) -> u64 {
        let numbers = self.values.iter().chain([&self.label, &self.weight]).map(|number| number.to_bits());
        let places = self.attributes.iter().chain(&self.coordinates).map(|&place| u64::from(place));
        let bytes: Vec<u8> = places.chain(numbers).flat_map(u64::to_le_bytes).collect();
        hash_of(0, &bytes)
    }
}
