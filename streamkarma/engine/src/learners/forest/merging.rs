//! Merging forests trained separately: some of the trees of all parts.
//!
//! Trees cannot be added to each other. From the trees of all parts, as many are drawn at random as a forest has, and a
//! tree is the likelier to be drawn the more events it has learned: those with the greatest log(u) / events win [E].
//! The random number u is derived from what the tree has learned, so that neither the order of the parts nor earlier
//! merges make a difference. The base's trees live on in those of the parts. No events are left to replay.
//!
//! Taking the oldest trees instead would leave out all parts but the longest, whatever the others have learned.
//!
//! - [E] Efraimidis, Spirakis: Weighted random sampling with a reservoir, Information Processing Letters 2006.

use super::leaf::MOST_GROUPS;
use super::shape::Shape;
use super::tree::Tree;
use super::{Forest, KEPT};
use crate::learner::Learner;
use crate::learners::latest::Latest;
use crate::learners::moved_codes::owners_of;
use crate::math::log;
use crate::merging::{counted_together, learned_since, relabelled_rows};
use crate::random::mix;
use crate::state::{Refused, ensure};

impl Forest {
    /// Renumber the classes; see [`Learner::relabel`].
    pub(super) fn renumber(&mut self, places: &[usize]) -> Result<(), Refused> {
        if places.is_sorted() {
            return Ok(());
        }
        ensure(
            places.len() == self.shape.classes,
            "the number of new class indices differs from the number of classes",
        )?;
        let shape = &self.shape;
        self.trees.iter_mut().for_each(|tree| tree.relabel(shape, places));
        self.replays.change(|k, code| Some((k, code)), |class| places[class as usize] as f64);
        Ok(())
    }

    /// Add what parts have learned; see [`Learner::merge`].
    pub(super) fn merge_parts(&mut self, parts: &[&dyn Learner]) -> Result<(), Refused> {
        let learned = learned_since(self, parts, |part| part.settings == self.settings)?;
        if let [(only, _)] = learned[..] {
            *self = only.clone();
        } else if !learned.is_empty() {
            self.draw_from(&learned.into_iter().map(|(part, _)| part).collect::<Vec<_>>());
        }
        Ok(())
    }

    fn draw_from(&mut self, parts: &[&Self]) {
        let steps = counted_together(self.steps, parts.iter().map(|part| part.steps));
        let each = parts.iter().flat_map(|part| part.trees.iter().map(move |tree| (tree, part.steps)));
        let mut trees: Vec<_> = each.map(|(tree, ended)| (tree.priority(), tree, ended)).collect();
        let content = |tree: &Tree| tree.sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
        trees.sort_by(|(one, tree, _), (other, other_tree, _)| {
            other.total_cmp(one).then_with(|| content(tree).cmp(&content(other_tree)))
        });
        trees.truncate(self.settings.trees);
        // Ages stay the same, counted back from the end of each part.
        self.trees = trees.into_iter().map(|(_, tree, ended)| tree.later(steps - ended)).collect();
        let owners = owners_of(parts.iter().map(|part| &*part.codes).chain([&*self.codes]));
        self.codes.restore(owners);
        self.replays = Latest::new(KEPT);
        self.steps = steps;
    }
}

impl Tree {
    /// The priority of the tree in the draw, log(u) / events; the greatest are drawn first.
    fn priority(&self) -> f64 {
        let known = self.nodes.iter().flat_map(|node| [node.stay.to_bits(), node.weight.to_bits()]);
        let hash = known.fold(self.age, |hash, bits| mix(hash ^ bits));
        let unit = ((mix(hash) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        log(unit) / self.age.max(1) as f64
    }

    /// A copy shifted by this many steps, with the same age, for a forest that keeps no events yet.
    fn later(&self, steps: u64) -> Self {
        let mut tree = self.clone();
        tree.leaves.clear();
        for node in &mut tree.nodes {
            node.at += steps;
            if let Some(leaf) = &mut node.leaf {
                leaf.asked_at += steps;
            }
        }
        tree
    }

    /// Renumber the classes; histograms start again if their groups of classes would change.
    fn relabel(&mut self, shape: &Shape, places: &[usize]) {
        self.sums = relabelled_rows(&self.sums, places);
        for leaf in self.nodes.iter_mut().filter_map(|node| node.leaf.as_mut()) {
            if shape.classes > MOST_GROUPS {
                leaf.candidates.clear();
                leaf.cells.clear();
            } else {
                leaf.cells = relabelled_rows(&leaf.cells, places);
            }
        }
    }
}
