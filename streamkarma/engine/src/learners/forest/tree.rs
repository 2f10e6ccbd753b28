//! A tree that grows with the stream.

use super::codes::{CODES, Codes, MISSING};
use super::leaf::{Leaf, MOST_CANDIDATES, MOST_GROUPS};
use super::split::{self, BINS, MOMENTS};
use super::t;
use crate::learners::explicit::mix;
use crate::math::{exp, log};

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
        let some = (coordinates as f64).sqrt() as usize + 2;
        some.min(MOST_CANDIDATES)
    }

    /// Most nodes of a tree.
    pub fn most_nodes(&self) -> usize {
        ((1 << 17) / self.width().max(1)).clamp(3, 1023)
    }

    /// Most sums in the histograms of a tree.
    pub fn most_cells(&self) -> usize {
        1 << 18
    }
}

/// Numbers from a hash of counters.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// Those of a tree at a step.
    pub fn new(tree: u64, step: u64) -> Self {
        Self(mix(mix(tree as i64 + 1) ^ step as i64) as u64)
    }

    /// The next one.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0 as i64) as u64
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
            losses: [0.0; 2],
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
        self.nodes = vec![Node::leaf(step, Leaf::new(salt, 0.0, t(0)))];
        self.sums = vec![0.0; shape.width()];
        self.age = 0;
    }

    /// How much the tree counts among others.
    pub fn vote(&self) -> f64 {
        exp(-t(1) * self.losses[0])
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
            let factor = 1.0 / (node.weight + t(2));
            let sums = &self.sums[at * width..(at + 1) * width];
            if shape.regression {
                let mean = (node.weight * sums[0] + t(2) * self.said[above]) * factor;
                let variance = (sums[1] + t(2) * self.said[above + 1]) * factor;
                self.said.extend_from_slice(&[mean, variance]);
            } else {
                for class in 0..width {
                    self.said.push((sums[class] + t(2) * self.said[above + class]) * factor);
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
        if leaf.weight >= leaf.next && self.path.len() < DEEPEST {
            leaf.next = leaf.weight * t(3) + 1.0;
            if self.nodes.len() + 2 <= shape.most_nodes() {
                if let Some((candidate, split)) = decide(&leaf, shape) {
                    self.grow(last, &leaf, candidate, &split, shape, step, random);
                    return;
                }
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
            *stay = 0.5 * t(4) + (1.0 - t(4)) * (*stay * own / both);
            below = both;
        }
        let loss = if shape.regression {
            let away = label - self.prediction[0];
            (away * away / self.said[width + 1].max(1e-12)).min(4.0)
        } else {
            -log(self.prediction[label as usize].max(1e-3))
        };
        let first = 1.0 / (self.age as f64 + 1.0);
        self.losses[0] += (loss - self.losses[0]) * first.max(t(5));
        self.losses[1] += (loss - self.losses[1]) * first.max(1.0 / 3000.0);
    }

    /// Whether the tree is worse than it was.
    fn is_worse(&self) -> bool {
        self.age > 500 && self.losses[0] > t(6) * self.losses[1] + 0.05
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
            keep *= 1f64.min(t(7) / node.weight.max(1e-300));
            if keep < 1.0 {
                node.weight *= keep;
                if shape.regression { sums[1] *= keep } else { sums.iter_mut().for_each(|sum| *sum *= keep) }
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
            let mut node = Node::leaf(step, Leaf::new(random.next(), 0.0, t(0)));
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
            if node.weight > t(8) {
                let keep = t(8) / node.weight;
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
        node.stay = t(9);
    }
}

/// By which candidate to split a leaf, and where; None for not yet.
fn decide(leaf: &Leaf, shape: &Shape) -> Option<(usize, split::Split)> {
    let mut best: Option<(usize, split::Split, f64)> = None;
    let mut second = 0.0;
    for number in 0..leaf.candidates.len() {
        if let Some((found, weight)) =
            split::best(leaf.histogram(number, shape), shape.groups(), shape.regression)
        {
            let gain = found.gain * weight / leaf.weight;
            match best {
                Some((.., most)) if gain <= most => second = gain.max(second),
                _ => {
                    second = best.map_or(0.0, |best| best.2);
                    best = Some((number, found, gain));
                }
            }
        }
    }
    let (number, found, gain) = best?;
    let range = if shape.regression { 1.0 } else { log(shape.groups() as f64) };
    let bound = (t(10) / (2.0 * leaf.weight)).sqrt();
    let clear = gain - second > bound * range || bound < t(11);
    (clear && gain * leaf.weight > t(12)).then_some((number, found))
}
