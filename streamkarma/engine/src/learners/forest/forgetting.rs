//! What a tree does where coordinates were given up, where there are more classes, and what it weighs.
//!
//! A split by a coordinate that was given up falls away: the branch that events without it took moves up into its
//! place, and the other one goes. So nobody who is given the same number later is sent where it once led.

use super::leaf::{Candidate, Leaf};
use super::node::{NONE, Node};
use super::shape::Shape;
use super::tree::Tree;
use crate::block::Gone;
use crate::learners::codes::Codes;

impl Tree {
    /// Let go of what was given up; `codes` still knows to whom it belonged. Returns whether nodes have other numbers.
    pub fn forget(&mut self, gone: &Gone, codes: &Codes, shape: &Shape) -> bool {
        let is_gone = |coordinate: u32| gone.coordinates.binary_search(&coordinate).is_ok();
        for leaf in self.nodes.iter_mut().filter_map(|node| node.leaf.as_mut()) {
            leaf.retain(shape, |coordinate| !is_gone(coordinate));
        }
        if !self.nodes.iter().any(|node| node.coordinate != NONE && is_gone(node.coordinate)) {
            return false;
        }
        self.rebuild(shape, |node| {
            if node.coordinate == NONE || !is_gone(node.coordinate) {
                return None;
            }
            let attribute_is_gone = gone.attributes.binary_search(&codes.attribute(node.coordinate)).is_ok();
            Some(node.next(codes.of_nothing(attribute_is_gone)))
        });
        true
    }

    /// List the nodes anew, each in the place of those that lead to it; `instead` says which one a node gives way to.
    fn rebuild(&mut self, shape: &Shape, instead: impl Fn(&Node) -> Option<usize>) {
        let width = shape.width();
        let (mut nodes, mut sums): (Vec<Node>, Vec<f64>) = (Vec::new(), Vec::new());
        // What each new node comes from.
        let mut sources = vec![0];
        let mut number = 0;
        while number < sources.len() {
            let mut from = sources[number];
            while let Some(other) = instead(&self.nodes[from]) {
                from = other;
            }
            let mut node = self.nodes[from].clone();
            if node.coordinate != NONE {
                let below = node.below as usize;
                node.below = sources.len() as u32;
                sources.extend([below, below + 1]);
            }
            nodes.push(node);
            sums.extend_from_slice(&self.sums[from * width..(from + 1) * width]);
            number += 1;
        }
        (self.nodes, self.sums) = (nodes, sums);
    }

    /// Go to more classes, after so many steps; histograms begin anew if they tell more groups apart.
    pub fn widen(&mut self, from: &Shape, to: &Shape, coordinates: usize, step: u64) {
        let rows = self.sums.chunks_exact(from.width());
        let new = std::iter::repeat_n(0.0, to.width() - from.width());
        self.sums = rows.flat_map(|row| row.iter().copied().chain(new.clone())).collect();
        if from.classes == to.classes {
            return;
        }
        for leaf in self.nodes.iter_mut().filter_map(|node| node.leaf.as_mut()) {
            leaf.candidates.clear();
            leaf.cells.clear();
        }
        if self.nodes.len() > to.most_nodes(coordinates) {
            let salt = self.nodes.len() as u64;
            self.restart(to, salt, step);
        }
    }

    /// Bytes of all it has learned.
    pub fn bytes(&self) -> usize {
        let leaves = self.nodes.iter().filter_map(|node| node.leaf.as_ref());
        let of_leaves = leaves.map(|leaf| {
            size_of::<Leaf>() + 4 * leaf.cells.len() + size_of::<Candidate>() * leaf.candidates.len()
        });
        size_of::<Node>() * self.nodes.len() + 8 * self.sums.len() + of_leaves.sum::<usize>()
    }
}
