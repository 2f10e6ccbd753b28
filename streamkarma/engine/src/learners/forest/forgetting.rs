//! How a tree handles evicted coordinates and additional classes, and its size in bytes.
//!
//! A split by an evicted coordinate is removed: the branch taken by events without the coordinate moves up into its
//! place, and the other branch is dropped. So a coordinate that gets the same index later is not routed by the old
//! split.

use super::leaf::{Candidate, Leaf};
use super::node::{NONE, Node};
use super::shape::Shape;
use super::tree::Tree;
use crate::block::Evicted;
use crate::learners::codes::Codes;

impl Tree {
    /// Remove what was evicted; `codes` must still have its owners. Returns whether nodes were renumbered.
    pub fn forget(&mut self, evicted: &Evicted, codes: &Codes, shape: &Shape) -> bool {
        let is_evicted = |coordinate: u32| evicted.coordinates.binary_search(&coordinate).is_ok();
        for leaf in self.nodes.iter_mut().filter_map(|node| node.leaf.as_mut()) {
            leaf.retain(shape, |coordinate| !is_evicted(coordinate));
        }
        if !self.nodes.iter().any(|node| node.coordinate != NONE && is_evicted(node.coordinate)) {
            return false;
        }
        self.rebuild(shape, |node| {
            if node.coordinate == NONE || !is_evicted(node.coordinate) {
                return None;
            }
            let attribute_is_evicted =
                evicted.attributes.binary_search(&codes.attribute(node.coordinate)).is_ok();
            Some(node.next(codes.of_nothing(attribute_is_evicted)))
        });
        true
    }

    /// Rebuild the list of nodes; `instead` returns the node that takes a node's place, if any.
    fn rebuild(&mut self, shape: &Shape, instead: impl Fn(&Node) -> Option<usize>) {
        let width = shape.width();
        let (mut nodes, mut sums): (Vec<Node>, Vec<f64>) = (Vec::new(), Vec::new());
        // The old node of each new one.
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

    /// Widen to more classes at the given step; histograms start again if the number of classes changes.
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

    /// Bytes of everything learned.
    pub fn bytes(&self) -> usize {
        let leaves = self.nodes.iter().filter_map(|node| node.leaf.as_ref());
        let of_leaves = leaves.map(|leaf| {
            size_of::<Leaf>() + 4 * leaf.cells.len() + size_of::<Candidate>() * leaf.candidates.len()
        });
        let own = size_of::<Node>() * self.nodes.len() + 8 * self.sums.len() + 4 * self.leaves.len();
        own + of_leaves.sum::<usize>()
    }
}
