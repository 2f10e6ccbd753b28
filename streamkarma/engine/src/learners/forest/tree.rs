//! A tree that grows with the stream.
//!
//! The constants here, in [`super::node`] and in [`super::leaf`] were chosen on ten developers' streams (Agrawal 1 and
//! 4, sine, random tree, segments, bananas, drifting radial functions, LED, waveform, Friedman; seed 100, 10,000 events
//! around a change if there is one, with and without 30 % missing). Most of them hardly matter.

use std::collections::VecDeque;

use super::leaf::Leaf;
use super::node::{NONE, Node};
use super::shape::Shape;
use super::split::{Split, fast_log, sides};
use crate::learners::codes::{CODES, Codes};
use crate::math::{exp, pow};
use crate::random::Random;

/// The initial probability that what is below a new split is worth nothing; and the fraction by which it returns to one
/// half at each event, so that it can change.
const START_STAY: f64 = 0.1;
const SHARE: f64 = 0.0002;
/// How strongly a tree's loss lowers its vote.
const VOTE: f64 = 4.0;
/// Rates of the fast and the slow average of a tree's loss.
const FAST: f64 = 1.0 / 150.0;
const SLOW: f64 = 1.0 / 3000.0;
/// A tree of more events than this has got worse if the fast average exceeds the slow one by this factor, plus this
/// margin.
const PROBATION: u64 = 500;
const WORSE: f64 = 1.25;
const MARGIN: f64 = 0.05;
/// Maximum length of a path.
pub const DEEPEST: usize = 24;

/// An event that was predicted, and what a tree learns from it.
#[derive(Clone, Copy, Debug)]
pub struct TreeLesson<'a> {
    /// The event.
    pub codes: &'a Codes,
    /// What all trees have in common.
    pub shape: &'a Shape,
    /// The number of a class, or a target.
    pub label: f64,
    /// The weight of the event, times the tree's draws of it.
    pub weight: f64,
    /// The weight of the event in comparisons of trees, at most 1.
    pub counts: f64,
    /// The step of the event.
    pub step: u64,
}

/// A tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The nodes, root first.
    pub nodes: Vec<Node>,
    /// The sums of each node, see [`Shape::width`].
    pub sums: Vec<f64>,
    /// Averages of its loss, over some hundred and over some thousand events.
    pub losses: [f64; 2],
    /// Number of events since it began.
    pub age: u64,
    /// The leaf of each event that the forest keeps, the oldest first; arbitrary for events from before the tree began.
    pub leaves: VecDeque<u32>,
    /// The path of the current event.
    path: Vec<usize>,
    /// The prediction without data, then that of each node of the path.
    node_predictions: Vec<f64>,
    prediction: Vec<f64>,
}

impl Tree {
    /// A tree without data.
    pub fn new(shape: &Shape, salt: u64) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            sums: Vec::new(),
            losses: [shape.first_loss(); 2],
            age: 0,
            leaves: VecDeque::new(),
            path: Vec::new(),
            node_predictions: Vec::new(),
            prediction: Vec::new(),
        };
        tree.restart(shape, salt, 0);
        tree
    }

    /// Restart from a single leaf.
    pub fn restart(&mut self, shape: &Shape, salt: u64, step: u64) {
        self.nodes = vec![Node::leaf(step, Leaf::new(salt, 0.0, step))];
        self.sums = vec![0.0; shape.width()];
        self.age = 0;
    }

    /// The tree's weight among the others.
    pub fn vote(&self) -> f64 {
        exp(-VOTE * self.losses[0])
    }

    /// The tree's prediction for an event: the probability of each class, or the mean of a target and its variance.
    pub fn predict(&mut self, codes: &Codes, shape: &Shape) -> &[f64] {
        match shape.width() {
            // With a constant width, loops are unrolled.
            2 => self.walk(codes, shape, 2),
            width => self.walk(codes, shape, width),
        }
        &self.prediction
    }

    #[inline(always)]
    fn walk(&mut self, codes: &Codes, shape: &Shape, width: usize) {
        let Self { nodes, sums, path, node_predictions, prediction, .. } = self;
        path.clear();
        node_predictions.resize((DEEPEST + 1) * width, 0.0);
        shape.write_prior(&mut node_predictions[..width]);
        prediction.resize(width, 0.0);
        prediction.fill(0.0);
        let (mut at, mut left, mut rows) = (0, 1.0, node_predictions.as_mut_slice());
        loop {
            let node = &nodes[at];
            path.push(at);
            let (above, below) = rows.split_at_mut(width);
            let own = &mut below[..width];
            node.write_prediction(&sums[at * width..][..width], shape, above, own);
            let share = left * node.stay;
            prediction.iter_mut().zip(own).for_each(|(to, own)| *to += share * *own);
            if node.coordinate == NONE {
                return;
            }
            left -= share;
            at = node.next(codes.of(node.coordinate));
            rows = below;
        }
    }

    /// For each node of the path, the tree's prediction for the event that was predicted last if the path ended there,
    /// and the coordinate that the node splits by.
    pub fn stages(&self, shape: &Shape) -> Vec<(u32, Vec<f64>)> {
        let (width, mut left) = (shape.width(), 1.0);
        let mut kept = vec![0.0; width];
        let stage = |(depth, &at): (usize, &usize)| {
            let (node, own) = (&self.nodes[at], &self.node_predictions[(depth + 1) * width..][..width]);
            let prediction = kept.iter().zip(own).map(|(kept, own)| kept + left * own).collect();
            kept.iter_mut().zip(own).for_each(|(kept, own)| *kept += left * node.stay * own);
            left *= 1.0 - node.stay;
            (node.coordinate, prediction)
        };
        self.path.iter().enumerate().map(stage).collect()
    }

    /// Learn the event that was predicted last; returns the leaf that was split, if any.
    pub fn learn(&mut self, lesson: &TreeLesson, random: &mut Random) -> Option<usize> {
        let TreeLesson { codes, shape, label, weight, counts, step } = *lesson;
        self.compare(shape, label, counts);
        self.age += 1;
        if self.is_worse() {
            self.restart(shape, random.next(), step);
            self.losses[1] = self.losses[0];
            self.path.clear();
            self.path.push(0);
        }
        if weight <= 0.0 {
            return None;
        }
        let width = shape.width();
        for &at in &self.path {
            self.nodes[at].count(&mut self.sums[at * width..(at + 1) * width], shape, label, weight, step);
        }
        let has_room = self.nodes.len() + 2 <= shape.most_nodes(codes.coordinates());
        if !has_room || self.path.len() >= DEEPEST {
            // A leaf that cannot be split needs no histograms.
            return None;
        }
        let last = self.path[self.path.len() - 1];
        let mut leaf = self.nodes[last].leaf.take()?;
        leaf.pick(codes, shape, random, |coordinate| self.range(coordinate, codes));
        leaf.learn(lesson);
        if leaf.weight >= leaf.next {
            leaf.fade(shape.kept(step - leaf.asked_at));
            leaf.asked_at = step;
            if let Some((candidate, split)) = leaf.decide(shape) {
                self.grow(last, &leaf, candidate, &split, lesson, random);
                return Some(last);
            }
        }
        self.nodes[last].leaf = Some(leaf);
        None
    }

    /// Record the leaf of the event that was learned last, the latest of so many that are kept.
    pub fn keep_leaf(&mut self, kept: usize) {
        while self.leaves.len() >= kept {
            self.leaves.pop_front();
        }
        self.leaves.push_back(self.leaf() as u32);
    }

    /// The leaf of the event that was predicted or learned last.
    fn leaf(&self) -> usize {
        self.path[self.path.len() - 1]
    }

    /// The leaf of another event.
    pub fn leaf_of(&self, codes: &Codes) -> usize {
        let mut at = 0;
        while self.nodes[at].coordinate != NONE {
            at = self.nodes[at].next(codes.of(self.nodes[at].coordinate));
        }
        at
    }

    /// Let a leaf below the one that was split last learn an event once more; returns that leaf.
    pub fn replay(&mut self, split: usize, lesson: &TreeLesson, random: &mut Random) -> usize {
        let TreeLesson { codes, shape, weight, .. } = *lesson;
        let at = self.nodes[split].next(codes.of(self.nodes[split].coordinate));
        if self.path.len() + 1 < DEEPEST
            && weight > 0.0
            && let Some(mut leaf) = self.nodes[at].leaf.take()
        {
            // The path still ends at the leaf that was split.
            leaf.pick(codes, shape, random, |coordinate| self.range(coordinate, codes));
            leaf.learn(lesson);
            self.nodes[at].leaf = Some(leaf);
        }
        at
    }

    /// Compare each node of the path with what is below it, and the tree with its past; `counts` is the weight of the
    /// event, which may be less than one.
    fn compare(&mut self, shape: &Shape, label: f64, counts: f64) {
        let width = shape.width();
        let likelihood = |prediction: &[f64]| {
            if shape.regression {
                let (away, variance) = (label - prediction[0], prediction[1].max(1e-12));
                let spread = 3.0 * variance + away * away;
                (variance * variance.sqrt() / (spread * spread)).max(1e-300)
            } else {
                prediction[label as usize].max(1e-6)
            }
        };
        let mut below = 0.0;
        for (number, &at) in self.path.iter().enumerate().rev() {
            let own = likelihood(&self.node_predictions[(number + 1) * width..(number + 2) * width]);
            if number + 1 == self.path.len() {
                below = own;
                continue;
            }
            let stay = &mut self.nodes[at].stay;
            let both = *stay * own + (1.0 - *stay) * below;
            let ratio = if counts < 1.0 { pow(own / below, counts) } else { own / below };
            let (share, odds) = (counts * SHARE, *stay * ratio);
            *stay = 0.5 * share + (1.0 - share) * (odds / (odds + 1.0 - *stay));
            below = both;
        }
        let loss = if shape.regression {
            let away = label - self.prediction[0];
            (away * away / self.node_predictions[width + 1].max(1e-12)).min(4.0)
        } else {
            -fast_log(self.prediction[label as usize].max(1e-3))
        };
        self.losses[0] += (loss - self.losses[0]) * FAST * counts;
        self.losses[1] += (loss - self.losses[1]) * SLOW.max(1.0 / (self.age as f64 + 1.0)) * counts;
    }

    /// Whether the tree has got worse.
    fn is_worse(&self) -> bool {
        self.age > PROBATION && self.losses[0] > WORSE * self.losses[1] + MARGIN
    }

    /// The range of a coordinate's codes in the leaf at the end of the path, excluding the upper end.
    fn range(&self, coordinate: u32, codes: &Codes) -> [u16; 2] {
        let code = codes.of(coordinate);
        let (mut low, mut high) = (0, CODES);
        for &at in &self.path {
            let node = &self.nodes[at];
            if node.coordinate == coordinate && node.cut < CODES {
                if code <= node.cut { high = high.min(node.cut + 1) } else { low = low.max(node.cut + 1) }
            }
        }
        [low, high]
    }

    /// Split a leaf by one of its candidates.
    fn grow(
        &mut self,
        at: usize,
        leaf: &Leaf,
        candidate: usize,
        split: &Split,
        lesson: &TreeLesson,
        random: &mut Random,
    ) {
        let (shape, step, below) = (lesson.shape, lesson.step, self.nodes.len() as u32);
        for side in sides(leaf.histogram(candidate, shape), shape.groups(), split) {
            let mut sums = vec![0.0; shape.width()];
            let mut node = Node::leaf(step, Leaf::new(random.next(), 0.0, step));
            node.inherit(&mut sums, &side, shape, leaf.centre);
            if let (true, Some(leaf)) = (shape.regression, &mut node.leaf) {
                leaf.centre = sums[0];
            }
            self.sums.extend(sums);
            self.nodes.push(node);
        }
        let (node, chosen) = (&mut self.nodes[at], leaf.candidates[candidate]);
        (node.coordinate, node.cut) = (chosen.coordinate, chosen.cut(split.bin));
        (node.missing_left, node.below, node.stay) = (split.missing_left, below, START_STAY);
    }
}
