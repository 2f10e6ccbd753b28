//! A forest to arrays, and back.

use super::leaf::{Candidate, Leaf, MOST_CANDIDATES};
use super::node::{NONE, Node};
use super::shape::Shape;
use super::tree::{DEEPEST, Tree};
use super::{Forest, LARGEST_TARGET, LARGEST_WEIGHT};
use crate::learners::codes::{CODES, MISSING};
use crate::learners::latest_state::Bounds;
use crate::state::{Refused, State, ensure};

const WHY: &str = "the arrays of a forest do not fit each other, or not this model";
const ARRAYS: usize = 19;
/// Bound on the losses of a tree: none is above 7, and so no mean of them is.
const MOST_LOSS: f64 = 16.0;
/// Bound on means of targets, including rounding.
const LARGEST_MEAN: f64 = 2.0 * LARGEST_TARGET;
/// Bound on weights and sums.
const LARGEST: f64 = 1e60;

impl Forest {
    /// Everything learned.
    pub(super) fn to_state(&self) -> State {
        let mut state = State::default();
        let nodes = || self.trees.iter().flat_map(|tree| &tree.nodes);
        let leaves = || nodes().filter_map(|node| node.leaf.as_ref());
        let candidates = || leaves().flat_map(|leaf| &leaf.candidates);
        let (trees, width) = (self.trees.len(), self.shape.width());
        let (all, ends, open) = (nodes().count(), leaves().count(), candidates().count());
        state.put_i64s("clock", vec![self.steps as i64, self.slopes.len() as i64], &[2]);
        state.put_i32s("owners", self.codes.owners(), &[self.codes.coordinates()]);
        let sizes = self.trees.iter().flat_map(|tree| [tree.nodes.len() as i64, tree.age as i64]);
        state.put_i64s("trees", sizes.collect(), &[trees, 2]);
        state.put_f64s("losses", self.trees.iter().flat_map(|tree| tree.losses).collect(), &[trees, 2]);
        state.put_i64s("splits", nodes().flat_map(split_of).collect(), &[all, 4]);
        state.put_i64s("learned_at", nodes().map(|node| node.at as i64).collect(), &[all]);
        state.put_f64s(
            "node_weights",
            nodes().flat_map(|node| [node.stay, node.weight]).collect(),
            &[all, 2],
        );
        let sums = self.trees.iter().flat_map(|tree| tree.sums.iter().copied());
        state.put_f64s("sums", sums.collect(), &[all, width]);
        let of_leaves = leaves().flat_map(|leaf| [leaf.weight, leaf.next, leaf.centre]);
        state.put_f64s("leaves", of_leaves.collect(), &[ends, 3]);
        state.put_u64s("salts", leaves().map(|leaf| leaf.salt).collect(), &[ends]);
        state.put_i64s("asked_at", leaves().map(|leaf| leaf.asked_at as i64).collect(), &[ends]);
        let counts = leaves().map(|leaf| leaf.candidates.len() as i64);
        state.put_i64s("counts", counts.collect(), &[ends]);
        let bins = candidates()
            .flat_map(|each| [each.coordinate as i32, i32::from(each.low), i32::from(each.shift)]);
        state.put_i32s("candidates", bins.collect(), &[open, 3]);
        let cells: Vec<f32> = leaves().flat_map(|leaf| leaf.cells.iter().copied()).collect();
        let cells: Vec<u64> = cells.chunks(2).map(packed).collect();
        let size = cells.len();
        state.put_u64s("cells", cells, &[size]);
        self.replays.put(&mut state);
        let kept = &self.replays.events;
        let leaves = kept.iter().enumerate().flat_map(|(at, event)| {
            // A tree that has restarted since has no leaf for the event.
            let begun = |tree: &Tree| self.steps - tree.age.min(self.steps);
            let leaf = move |tree: &Tree| if event.step > begun(tree) { tree.leaves[at] as i32 } else { 0 };
            self.trees.iter().map(leaf)
        });
        state.put_i32s("latest_leaves", leaves.collect(), &[kept.len(), trees]);
        state
    }

    fn take_replays(&mut self, state: &State) -> Result<(), Refused> {
        let bounds = Bounds {
            classes: self.shape.classes,
            target: LARGEST_MEAN,
            weight: LARGEST_WEIGHT,
            steps: self.steps,
        };
        self.replays.take(state, &self.codes.owners(), &bounds)?;
        let mut leaves = Rows::of(state.i32s("latest_leaves")?, self.trees.len())?;
        for _ in 0..self.replays.events.len() {
            for (&leaf, tree) in leaves.next()?.iter().zip(&mut self.trees) {
                ensure((0..tree.nodes.len() as i64).contains(&leaf.into()), WHY)?;
                tree.leaves.push_back(leaf as u32);
            }
        }
        ensure(leaves.is_empty(), WHY)
    }

    /// The learner of a state, with the settings of this one.
    pub(super) fn restored(
        &self,
        state: &State,
        attributes: usize,
        coordinates: usize,
    ) -> Result<Self, Refused> {
        ensure(state.0.len() == ARRAYS, WHY)?;
        let mut forest = Self::new(self.settings)?;
        let &[steps, columns] = state.i64s("clock")?.0 else { return Err(WHY.to_owned()) };
        let (sums, shape) = state.f64s("sums")?;
        ensure(sums.len() == shape.iter().product::<usize>() && shape.len() == 2 && shape[0] > 0, WHY)?;
        ensure((0..1 << 53).contains(&steps) && (1..=shape[1] as i64).contains(&columns), WHY)?;
        ensure(!self.shape.regression || columns == 1, WHY)?;
        forest.steps = steps as u64;
        forest.slopes = vec![0.0; columns as usize];
        if !self.shape.regression {
            forest.shape.classes = (columns as usize).max(2);
        }
        ensure(shape[1] == forest.shape.width(), WHY)?;
        forest.take_owners(state, attributes, coordinates)?;
        forest.take_trees(state)?;
        forest.take_replays(state)?;
        Ok(forest)
    }

    fn take_owners(&mut self, state: &State, attributes: usize, coordinates: usize) -> Result<(), Refused> {
        let owners = state.i32s("owners")?.0;
        ensure(owners.len() <= coordinates, WHY)?;
        ensure(owners.iter().all(|&owner| owner >= -1 && i64::from(owner) < attributes as i64), WHY)?;
        self.codes.restore(owners.iter().map(|&owner| owner as u32).collect());
        Ok(())
    }

    fn take_trees(&mut self, state: &State) -> Result<(), Refused> {
        let mut nodes = Rows::of(state.i64s("splits")?, 4)?;
        let mut at = Rows::of(state.i64s("learned_at")?, 1)?;
        let mut weights = Rows::of(state.f64s("node_weights")?, 2)?;
        let mut sums = Rows::of(state.f64s("sums")?, self.shape.width())?;
        let mut leaves = Leaves::of(state)?;
        let mut sizes = Rows::of(state.i64s("trees")?, 2)?;
        let mut losses = Rows::of(state.f64s("losses")?, 2)?;
        let (shape, known) = (self.shape, self.codes.coordinates());
        for tree in &mut self.trees {
            let &[size, age] = sizes.next()? else { return Err(WHY.to_owned()) };
            ensure((1..=shape.most_nodes(0) as i64).contains(&size) && (0..1 << 53).contains(&age), WHY)?;
            let &[fast, slow] = losses.next()? else { return Err(WHY.to_owned()) };
            ensure((0.0..MOST_LOSS).contains(&fast) && (0.0..MOST_LOSS).contains(&slow), WHY)?;
            (tree.age, tree.losses) = (age as u64, [fast, slow]);
            (tree.nodes, tree.sums) = (Vec::new(), Vec::new());
            for _ in 0..size {
                let node = node_of(nodes.next()?, at.next()?[0], weights.next()?, self.steps)?;
                let is_leaf = node.coordinate == NONE;
                ensure(is_leaf || (node.coordinate as usize) < known, WHY)?;
                let leaf =
                    if is_leaf { Some(Box::new(leaves.next(&shape, known, self.steps)?)) } else { None };
                tree.nodes.push(Node { leaf, ..node });
                tree.sums.extend_from_slice(sums.next()?);
            }
            check_tree(tree, &shape)?;
        }
        let ended = [nodes.is_empty(), at.is_empty(), weights.is_empty(), sums.is_empty(), sizes.is_empty()];
        ensure(ended == [true; 5] && losses.is_empty() && leaves.is_empty(), WHY)
    }
}

fn split_of(node: &Node) -> [i64; 4] {
    let coordinate = if node.coordinate == NONE { -1 } else { i64::from(node.coordinate) };
    [coordinate, i64::from(node.cut), i64::from(node.missing_left), i64::from(node.below)]
}

fn packed(pair: &[f32]) -> u64 {
    let second = pair.get(1).map_or(0, |cell| cell.to_bits());
    u64::from(pair[0].to_bits()) | u64::from(second) << 32
}

/// The node of a row, without its leaf.
fn node_of(split: &[i64], at: i64, weights: &[f64], steps: u64) -> Result<Node, Refused> {
    let (&[coordinate, cut, missing_left, below], &[stay, weight]) = (split, weights) else {
        return Err(WHY.to_owned());
    };
    let is_leaf = coordinate == -1;
    ensure(is_leaf || (0..i64::from(NONE)).contains(&coordinate), WHY)?;
    ensure((0..i64::from(MISSING)).contains(&cut) && (0..=1).contains(&missing_left), WHY)?;
    ensure((0..1 << 31).contains(&below) && (0..=steps as i64).contains(&at), WHY)?;
    ensure((0.0..=1.0).contains(&stay) && (0.0..LARGEST).contains(&weight), WHY)?;
    Ok(Node {
        coordinate: if is_leaf { NONE } else { coordinate as u32 },
        cut: cut as u16,
        missing_left: missing_left == 1,
        below: below as u32,
        stay,
        weight,
        at: at as u64,
        leaf: None,
    })
}

/// Check that each node but the root is below one other, that none is too deep, and that the sums are in range.
fn check_tree(tree: &Tree, shape: &Shape) -> Result<(), Refused> {
    let mut depths = vec![0; tree.nodes.len()];
    depths[0] = 1;
    for (at, node) in tree.nodes.iter().enumerate() {
        ensure((1..=DEEPEST).contains(&depths[at]), WHY)?;
        let below = node.below as usize;
        if node.coordinate != NONE {
            ensure(below > at && below + 1 < depths.len() && depths[below..below + 2] == [0, 0], WHY)?;
            let depth = depths[at] + 1;
            depths[below..below + 2].fill(depth);
        }
    }
    if shape.regression {
        let fits = |row: &[f64]| row[0].abs() <= LARGEST_MEAN && (0.0..LARGEST).contains(&row[1]);
        return ensure(tree.sums.chunks_exact(2).all(fits), WHY);
    }
    ensure(tree.sums.iter().all(|sum| (0.0..LARGEST).contains(sum)), WHY)
}

/// The rows of an array, in turn.
struct Rows<'a, T> {
    rest: &'a [T],
    width: usize,
}

impl<'a, T> Rows<'a, T> {
    fn of((values, _): (&'a [T], &[usize]), width: usize) -> Result<Self, Refused> {
        ensure(values.len() % width == 0, WHY)?;
        Ok(Self { rest: values, width })
    }

    fn take(&mut self, rows: usize) -> Result<&'a [T], Refused> {
        let (taken, rest) = self.rest.split_at_checked(rows * self.width).ok_or(WHY)?;
        self.rest = rest;
        Ok(taken)
    }

    fn next(&mut self) -> Result<&'a [T], Refused> {
        self.take(1)
    }

    fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }
}

/// Leaves, in turn.
struct Leaves<'a> {
    numbers: Rows<'a, f64>,
    salts: Rows<'a, u64>,
    asked_at: Rows<'a, i64>,
    counts: Rows<'a, i64>,
    candidates: Rows<'a, i32>,
    cells: Rows<'a, u64>,
    /// The second half of the last pair of cells, if it has not been taken yet.
    half: Option<u32>,
}

impl<'a> Leaves<'a> {
    fn of(state: &'a State) -> Result<Self, Refused> {
        Ok(Self {
            numbers: Rows::of(state.f64s("leaves")?, 3)?,
            salts: Rows::of(state.u64s("salts")?, 1)?,
            asked_at: Rows::of(state.i64s("asked_at")?, 1)?,
            counts: Rows::of(state.i64s("counts")?, 1)?,
            candidates: Rows::of(state.i32s("candidates")?, 3)?,
            cells: Rows::of(state.u64s("cells")?, 1)?,
            half: None,
        })
    }

    fn is_empty(&self) -> bool {
        let rows = self.numbers.is_empty() && self.salts.is_empty() && self.counts.is_empty();
        rows && self.asked_at.is_empty() && self.candidates.is_empty() && self.cells.is_empty()
    }

    fn next(&mut self, shape: &Shape, known: usize, steps: u64) -> Result<Leaf, Refused> {
        let &[weight, next, centre] = self.numbers.next()? else { return Err(WHY.to_owned()) };
        ensure((0.0..LARGEST).contains(&weight) && (0.0..LARGEST).contains(&next), WHY)?;
        let asked_at = self.asked_at.next()?[0];
        ensure(centre.abs() <= LARGEST_MEAN && (0..=steps as i64).contains(&asked_at), WHY)?;
        let mut leaf = Leaf::new(self.salts.next()?[0], centre, asked_at as u64);
        (leaf.weight, leaf.next) = (weight, next);
        let count = self.counts.next()?[0];
        ensure((0..=MOST_CANDIDATES as i64).contains(&count), WHY)?;
        for row in self.candidates.take(count as usize)?.chunks_exact(3) {
            let &[coordinate, low, shift] = row else { return Err(WHY.to_owned()) };
            ensure((0..known as i64).contains(&i64::from(coordinate)), WHY)?;
            ensure((0..i32::from(CODES)).contains(&low) && (0..=6).contains(&shift), WHY)?;
            let (coordinate, low, shift) = (coordinate as u32, low as u16, shift as u8);
            leaf.candidates.push(Candidate { coordinate, low, shift });
        }
        for _ in 0..count as usize * shape.cells() {
            leaf.cells.push(self.cell()?);
        }
        let is_moment = |cell: &f32| f64::from(cell.abs()) < LARGEST;
        let fits = |cell: &f32| is_moment(cell) && (shape.regression || *cell >= 0.0);
        ensure(leaf.cells.iter().all(fits), WHY)?;
        Ok(leaf)
    }

    fn cell(&mut self) -> Result<f32, Refused> {
        if let Some(half) = self.half.take() {
            return Ok(f32::from_bits(half));
        }
        let pair = self.cells.next()?[0];
        self.half = Some((pair >> 32) as u32);
        Ok(f32::from_bits(pair as u32))
    }
}
