//! A tree that grows with the stream.

use super::codes::{CODES, Codes, MISSING};
use super::leaf::{Leaf, MOST_CANDIDATES, MOST_GROUPS};
use super::split::{self, BINS, MOMENTS, fast_log};
use crate::math::{exp, log};

/// The chance of a parent counts as much as so many events of a node.
///
/// This and the constants below are from ten developers' streams (Agrawal 1 and 4, sine, random tree, segments,
/// bananas, drifting radial functions, LED, waveform, Friedman; seed 100, with and without 30 % missing).
const SHRINK: f64 = 5.0;
/// What a new node below is suspected of being worth nothing, and by how much that goes back to one half.
const START_STAY: f64 = 0.1;
const SHARE: f64 = 0.0002;
/// How much a tree's loss tells against it.
const VOTE: f64 = 4.0;
/// Rates of the fast and the slow average of a tree's loss.
const FAST: f64 = 1.0 / 150.0;
const SLOW: f64 = 1.0 / 3000.0;
/// A tree of so many events is worse than it was if its fast average is above the slow one times this, plus a bit.
const PROBATION: u64 = 500;
const WORSE: f64 = 1.25;
const BIT: f64 = 0.05;
/// What a node knows counts for no more events than this, so that it follows its events.
const MEMORY: f64 = 2000.0;
/// What a new node takes over from the histogram of its parent counts for no more events than this.
const LEGACY: f64 = 30.0;
/// The coordinate of a node that is a leaf.
pub const NONE: u32 = u32::MAX;
/// No path is longer.
pub const DEEPEST: usize = 24;

/// What all trees have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Whether labels are targets.
    pub regression: bool,
    /// Classes, two or more; 0 in a regression.
    pub classes: usize,
    /// Events after which what was learned counts half; 0 for never.
    pub half_life: f64,
}

impl Shape {
    /// Sums of a node: the weight of each class, or the mean of the targets and their squared distances from it.
    pub fn width(&self) -> usize {
        if self.regression { 2 } else { self.classes }
    }

    /// Sums of a bin.
    pub fn groups(&self) -> usize {
        if self.regression { MOMENTS } else { self.classes.min(MOST_GROUPS) }
    }

    /// Sums of a histogram.
    pub fn cells(&self) -> usize {
        (BINS + 1) * self.groups()
    }

    /// How many coordinates may split a leaf.
    pub fn candidates(&self, coordinates: usize) -> usize {
        let some = (coordinates as f64).sqrt() as usize + 3;
        some.min(MOST_CANDIDATES)
    }

    /// Most nodes of a tree where there are so many coordinates: a megabyte of sums, and one of histograms.
    pub fn most_nodes(&self, coordinates: usize) -> usize {
        let leaves = (1 << 18) / (self.candidates(coordinates) * self.cells());
        ((1 << 17) / self.width()).min(2 * leaves).clamp(3, 1023)
    }

    /// The loss of one who knows nothing.
    fn first_loss(&self) -> f64 {
        if self.regression { 1.0 } else { log(self.classes as f64) }
    }
}

/// Spread the bits of a number (the last steps of SplitMix64).
pub fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// Numbers from a hash of counters.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Those of a tree at a step.
    pub fn new(tree: u64, step: u64) -> Self {
        Self(mix(mix(tree + 1) ^ step))
    }

    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next one below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        ((self.next() >> 32) * limit as u64 >> 32) as usize
    }
}

/// A node of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it splits by, or [`NONE`].
    pub coordinate: u32,
    /// The highest code that goes left.
    pub cut: u16,
    /// Whether what is missing goes left.
    pub missing_left: bool,
    /// The left node below it; the right one is the next.
    pub below: u32,
    /// The chance that what is below it is worth nothing.
    pub stay: f64,
    /// The weight of its events, those forgotten aside.
    pub weight: f64,
    /// The step at which it last learned something.
    pub at: u64,
    /// What a leaf has.
    pub leaf: Option<Box<Leaf>>,
}

impl Node {
    fn leaf(at: u64, leaf: Leaf) -> Self {
        let (below, stay, weight) = (0, 1.0, 0.0);
        Self {
            coordinate: NONE,
            cut: 0,
            missing_left: false,
            below,
            stay,
            weight,
            at,
            leaf: Some(Box::new(leaf)),
        }
    }

    /// The node below that a code leads to.
    pub fn next(&self, code: u16) -> usize {
        let is_left = if code == MISSING { self.missing_left } else { code <= self.cut };
        self.below as usize + usize::from(!is_left)
    }
}

/// A tree.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The root first.
    pub nodes: Vec<Node>,
    /// Node by node, see [`Shape::width`].
    pub sums: Vec<f64>,
    /// Averages of its loss, over some hundred events and over some thousand.
    pub losses: [f64; 2],
    /// Events since it began.
    pub age: u64,
    /// The nodes of the event in hand, what those above each say, and what each says.
    path: Vec<usize>,
    said: Vec<f64>,
    prediction: Vec<f64>,
}

impl Tree {
    /// One that knows nothing.
    pub fn new(shape: &Shape, salt: u64) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            sums: Vec::new(),
            losses: [shape.first_loss(); 2],
            age: 0,
            path: Vec::new(),
            said: Vec::new(),
            prediction: Vec::new(),
        };
        tree.restart(shape, salt, 0);
        tree
    }

    /// Begin anew.
    pub fn restart(&mut self, shape: &Shape, salt: u64, step: u64) {
        self.nodes = vec![Node::leaf(step, Leaf::new(salt, 0.0))];
        self.sums = vec![0.0; shape.width()];
        self.age = 0;
    }

    /// How much the tree counts among others.
    pub fn vote(&self) -> f64 {
        exp(-VOTE * self.losses[0])
    }

    /// What the tree says of an event: the chance of each class, or the mean of a target and its variance.
    pub fn predict(&mut self, codes: &Codes, shape: &Shape) -> &[f64] {
        let width = shape.width();
        self.path.clear();
        self.said.clear();
        self.prediction.clear();
        self.prediction.resize(width, 0.0);
        if shape.regression {
            self.said.extend_from_slice(&[0.0, 1.0]);
        } else {
            self.said.resize(width, 1.0 / width as f64);
        }
        let (mut at, mut left) = (0, 1.0);
        loop {
            let node = &self.nodes[at];
            let above = self.said.len() - width;
            let factor = 1.0 / (node.weight + SHRINK);
            let sums = &self.sums[at * width..(at + 1) * width];
            if shape.regression {
                let mean = (node.weight * sums[0] + SHRINK * self.said[above]) * factor;
                let variance = (sums[1] + SHRINK * self.said[above + 1]) * factor;
                self.said.extend_from_slice(&[mean, variance]);
            } else {
                for class in 0..width {
                    self.said.push((sums[class] + SHRINK * self.said[above + class]) * factor);
                }
            }
            self.path.push(at);
            let share = left * node.stay;
            for (to, own) in self.prediction.iter_mut().zip(&self.said[above + width..]) {
                *to += share * own;
            }
            if node.coordinate == NONE {
                return &self.prediction;
            }
            left -= share;
            at = node.next(codes.of(node.coordinate));
        }
    }

    /// Learn the event that was predicted last.
    pub fn learn(
        &mut self,
        codes: &Codes,
        shape: &Shape,
        label: f64,
        weight: f64,
        step: u64,
        random: &mut Random,
    ) {
        self.compare(shape, label);
        self.age += 1;
        if self.is_worse() {
            self.restart(shape, random.next(), step);
            self.losses[1] = self.losses[0];
            self.path.clear();
            self.path.push(0);
        }
        if weight <= 0.0 {
            return;
        }
        self.count(shape, label, weight, step);
        let last = self.path[self.path.len() - 1];
        let Some(mut leaf) = self.nodes[last].leaf.take() else { return };
        leaf.pick(codes, shape, random, |coordinate| self.range(coordinate, codes));
        leaf.learn(codes, shape, label, weight);
        let may_grow =
            self.path.len() < DEEPEST && self.nodes.len() + 2 <= shape.most_nodes(codes.coordinates());
        if leaf.weight >= leaf.next && may_grow {
            if let Some((candidate, split)) = leaf.decide(shape) {
                self.grow(last, &leaf, candidate, &split, shape, step, random);
                return;
            }
        }
        self.nodes[last].leaf = Some(leaf);
    }

    /// Compare each node of the path with what is below it, and the tree with what it was.
    fn compare(&mut self, shape: &Shape, label: f64) {
        let width = shape.width();
        let likelihood = |said: &[f64]| {
            if shape.regression {
                let (away, variance) = (label - said[0], said[1].max(1e-12));
                let spread = 3.0 * variance + away * away;
                (variance * variance.sqrt() / (spread * spread)).max(1e-300)
            } else {
                said[label as usize].max(1e-6)
            }
        };
        let mut below = 0.0;
        for (number, &at) in self.path.iter().enumerate().rev() {
            let own = likelihood(&self.said[(number + 1) * width..(number + 2) * width]);
            if number + 1 == self.path.len() {
                below = own;
                continue;
            }
            let stay = &mut self.nodes[at].stay;
            let both = *stay * own + (1.0 - *stay) * below;
            *stay = 0.5 * SHARE + (1.0 - SHARE) * (*stay * own / both);
            below = both;
        }
        let loss = if shape.regression {
            let away = label - self.prediction[0];
            (away * away / self.said[width + 1].max(1e-12)).min(4.0)
        } else {
            -fast_log(self.prediction[label as usize].max(1e-3))
        };
        self.losses[0] += (loss - self.losses[0]) * FAST;
        self.losses[1] += (loss - self.losses[1]) * SLOW.max(1.0 / (self.age as f64 + 1.0));
    }

    /// Whether the tree is worse than it was.
    fn is_worse(&self) -> bool {
        self.age > PROBATION && self.losses[0] > WORSE * self.losses[1] + BIT
    }

    /// Count an event at each node of the path.
    fn count(&mut self, shape: &Shape, label: f64, weight: f64, step: u64) {
        let width = shape.width();
        for &at in &self.path {
            let node = &mut self.nodes[at];
            let sums = &mut self.sums[at * width..(at + 1) * width];
            let mut keep = 1.0;
            if shape.half_life > 0.0 {
                keep /= 1.0 + (step - node.at) as f64 * (std::f64::consts::LN_2 / shape.half_life);
            }
            if node.weight > MEMORY {
                keep *= MEMORY / node.weight;
            }
            if keep < 1.0 {
                fade(node, sums, keep, shape);
            }
            node.at = step;
            node.weight += weight;
            if shape.regression {
                let away = label - sums[0];
                sums[0] += weight / node.weight * away;
                sums[1] += weight * away * (label - sums[0]);
            } else {
                sums[label as usize] += weight;
            }
        }
    }

    /// The codes of a coordinate in the leaf at the end of the path, without the upper one.
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

    /// Split a leaf.
    fn grow(
        &mut self,
        at: usize,
        leaf: &Leaf,
        candidate: usize,
        split: &split::Split,
        shape: &Shape,
        step: u64,
        random: &mut Random,
    ) {
        let width = shape.width();
        let below = self.nodes.len();
        let sides = split::sides(leaf.histogram(candidate, shape), shape.groups(), split);
        for side in &sides {
            let mut sums = vec![0.0; width];
            let mut node = Node::leaf(step, Leaf::new(random.next(), 0.0));
            if shape.regression {
                if side[0] > 0.0 {
                    let mean = side[1] / side[0];
                    node.weight = side[0];
                    sums = vec![leaf.centre + mean, (side[2] - mean * side[1]).max(0.0)];
                }
            } else if shape.classes <= MOST_GROUPS {
                node.weight = side.iter().sum();
                sums.copy_from_slice(side);
            }
            if node.weight > LEGACY {
                let keep = LEGACY / node.weight;
                node.weight *= keep;
                if shape.regression { sums[1] *= keep } else { sums.iter_mut().for_each(|sum| *sum *= keep) }
            }
            if let (true, Some(leaf)) = (shape.regression, &mut node.leaf) {
                leaf.centre = sums[0];
            }
            self.sums.extend(sums);
            self.nodes.push(node);
        }
        let node = &mut self.nodes[at];
        let chosen = leaf.candidates[candidate];
        node.coordinate = chosen.coordinate;
        node.cut = chosen.cut(split.bin);
        node.missing_left = split.missing_left;
        node.below = below as u32;
        node.stay = START_STAY;
    }
}

/// Let what a node knows count less.
fn fade(node: &mut Node, sums: &mut [f64], keep: f64, shape: &Shape) {
    node.weight *= keep;
    // A mean stays.
    let known = usize::from(shape.regression);
    sums[known..].iter_mut().for_each(|sum| *sum *= keep);
}
