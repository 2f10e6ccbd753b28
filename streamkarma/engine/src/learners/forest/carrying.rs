//! Forests with the names and units of a merged model.
//!
//! What a forest says stays the same under other names. In other units, thresholds are rounded to cells of codes
//! ([`super::codes`]), and what a histogram has in a bin goes to the one where the upper end of its codes is now. What
//! was learned of a coordinate that is turned round is forgotten.

use super::codes::{CODES, Codes};
use super::leaf::{Candidate, Leaf};
use super::node::{NONE, Node};
use super::shape::Shape;
use super::split::{BINS, MOMENTS};
use super::{Forest, LARGEST_TARGET};
use crate::block::Gone;
use crate::change::{Change, DROPPED};
use crate::learner::Learner;

/// No squares of targets are more.
const MOST_SQUARES: f64 = 1e59;

impl Forest {
    /// Go over to the names and units of a merged model; see [`Learner::carry`].
    pub(super) fn carry_over(&mut self, change: &Change) {
        if change.is_none() {
            return;
        }
        self.forget(&gone(change));
        let shape = &self.shape;
        let codes = &MovedCodes { codes: &self.codes, ends: self.codes.ends() };
        for tree in &mut self.trees {
            for node in &mut tree.nodes {
                node.carry(codes, shape, change);
            }
            if shape.regression && change.target != (0.0, 1.0) {
                tree.sums.chunks_exact_mut(2).for_each(|sums| change_target(sums, change.target));
            }
        }
        self.replays.change(
            |old, code| {
                let moved = |scaled| codes.moved(code, scaled);
                change.attribute(codes.codes.owner(old))?;
                Some((change.coordinate(old)?, scaling(change, old).map_or(code, moved)))
            },
            |label| {
                let mut target = [label, 0.0];
                if shape.regression {
                    change_target(&mut target, change.target);
                }
                target[0]
            },
        );
        let mut owners = Vec::new();
        for (old, &owner) in self.codes.owners().iter().enumerate() {
            if let (Some(new), Some(owner)) = (change.coordinate(old as u32), change.attribute(owner as u32))
            {
                owners.resize(owners.len().max(new as usize + 1), NONE);
                owners[new as usize] = owner;
            }
        }
        self.codes.restore(owners);
    }
}

/// Codes, and where the values of each end: many are asked for.
struct MovedCodes<'a> {
    codes: &'a Codes,
    ends: Vec<f64>,
}

impl MovedCodes<'_> {
    /// Where values with codes up to this one end, as the highest code in other units: values were `scaled`.
    fn moved(&self, highest: u16, scaled: impl Fn(f64) -> f64) -> u16 {
        self.codes.highest_up_to(scaled(self.ends[highest as usize]))
    }
}

/// What the merged model has no place for, and coordinates that are turned round.
fn gone(change: &Change) -> Gone {
    let dropped = |indices: &[u32]| {
        (0..).zip(indices).filter(|(_, new)| **new == DROPPED).map(|(old, _)| old).collect()
    };
    let turned = (0..).zip(&change.stretch).filter(|(_, stretch)| **stretch < 0.0).map(|(old, _)| old);
    let mut coordinates: Vec<u32> = dropped(&change.coordinates);
    coordinates.extend(turned);
    coordinates.sort_unstable();
    Gone { before: 0, attributes: dropped(&change.attributes), coordinates }
}

/// The mean of targets and their squared distances from it, in other units.
fn change_target(sums: &mut [f64], (shift, stretch): (f64, f64)) {
    sums[0] = ((sums[0] - shift) / stretch).clamp(-LARGEST_TARGET, LARGEST_TARGET);
    sums[1] = (sums[1] / (stretch * stretch)).min(MOST_SQUARES);
}

impl Node {
    fn carry(&mut self, codes: &MovedCodes, shape: &Shape, change: &Change) {
        if self.coordinate != NONE {
            let old = self.coordinate;
            self.coordinate = change.coordinate(old).unwrap_or(old);
            // Others tell what is observed from what is not.
            if self.cut < CODES
                && let Some(scaled) = scaling(change, old)
            {
                self.cut = codes.moved(self.cut, scaled);
            }
        }
        if let Some(leaf) = &mut self.leaf {
            leaf.carry(codes, shape, change);
        }
    }
}

impl Leaf {
    fn carry(&mut self, codes: &MovedCodes, shape: &Shape, change: &Change) {
        let (size, groups, mut before) = (shape.cells(), shape.groups(), Vec::new());
        for (candidate, cells) in self.candidates.iter_mut().zip(self.cells.chunks_exact_mut(size)) {
            let old = *candidate;
            let coordinate = change.coordinate(old.coordinate).unwrap_or(old.coordinate);
            candidate.coordinate = coordinate;
            let Some(scaled) = scaling(change, old.coordinate) else { continue };
            let moved = |code: u16| codes.moved(code.min(CODES - 1), &scaled);
            // The last of all codes that are told apart.
            let last = old.cut(BINS - 2).saturating_add(1 << old.shift);
            let low = if old.low == 0 { 0 } else { moved(old.low - 1).saturating_add(1).min(CODES - 1) };
            *candidate = Candidate::new(coordinate, low, moved(last).max(low) + 1);
            before.clear();
            before.extend_from_slice(&cells[..BINS * groups]);
            cells[..BINS * groups].fill(0.0);
            let sums = before.chunks_exact(groups).enumerate();
            for (bin, sums) in sums.filter(|(_, sums)| sums.iter().any(|&sum| sum != 0.0)) {
                let end = if bin == BINS - 1 { last } else { old.cut(bin) };
                let to = candidate.bin(moved(end)) * groups;
                cells[to..to + groups].iter_mut().zip(sums).for_each(|(to, sum)| *to += sum);
            }
        }
        if shape.regression && change.target != (0.0, 1.0) {
            let mut centre = [self.centre, 0.0];
            change_target(&mut centre, change.target);
            self.centre = centre[0];
            let stretch = change.target.1 as f32;
            for moments in self.cells.chunks_exact_mut(MOMENTS) {
                moments[1] = (moments[1] / stretch).clamp(f32::MIN, f32::MAX);
                moments[2] = (moments[2] / (stretch * stretch)).clamp(f32::MIN, f32::MAX);
            }
        }
    }
}

/// How values of a coordinate are reckoned in new units; None where they stay.
fn scaling(change: &Change, coordinate: u32) -> Option<impl Fn(f64) -> f64 + use<>> {
    let at = coordinate as usize;
    let (&shift, &stretch) = (change.shift.get(at)?, change.stretch.get(at)?);
    ((shift, stretch) != (0.0, 1.0)).then_some(move |value: f64| (value - shift) / stretch)
}
