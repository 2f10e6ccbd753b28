//! The features of k_gamma [H, Thm 4], listed explicitly, for gamma up to 3.
//!
//! k_gamma has a feature x_k for every sequence of fewer than gamma observed attributes. The constant and
//! k's own attribute are observed whenever x_k is, so sequences that differ only in these are equivalent. What
//! distinguishes a sequence is S, the set of its *other* attributes, fewer than gamma. One feature (S, k) stands for
//! all equivalent sequences, multiplied by the square root of their number:
//!
//! | gamma | S empty | {i} | {i, j} |
//! |---|---|---|---|
//! | 1 | 1 | | |
//! | 2 | √3 (√2) | 1 | |
//! | 3 | √7 (√3) | √6 (2) | √2 |
//!
//! The numbers in brackets are for the constant as x_k, which is its own attribute. Its features with S are indicators
//! of missing values.

use super::layout::{Layout, first_code, hash, mix, set_count};
use crate::block::{Event, room_for};
use crate::kernel::growth;
use crate::math::dot;

/// An event's features: their places in a table, and their values.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// Places, below the table's size.
    pub index: Vec<u32>,
    /// As many values, none of them 0.
    pub phi: Vec<f64>,
}

/// Maps events to features. Learners with the same map can share the features of an event.
#[derive(Clone, Debug)]
pub struct FeatureMap {
    pub(super) gamma: usize,
    pub(super) normalize: bool,
    /// Maximum number of features of an event; the order of an event is lowered until it has no more than that.
    most: usize,
    /// By order, kind (constant or value) and size of S.
    pub(super) roots: [[[f64; 3]; 2]; 4],
    pub(super) layout: Layout,
    /// Number of attributes and coordinates that have weights. Others contribute to the norm as observed, but have no
    /// features.
    pub(super) attributes: usize,
    pub(super) coordinates: usize,
    /// The sets S among an event's attributes.
    sets: Vec<SetOfOthers>,
    /// Buffer for the observed attributes, used where some have several items.
    room: Vec<u32>,
}

/// A set S.
#[derive(Clone, Copy, Debug)]
struct SetOfOthers {
    /// Its code, already mixed if the layout is hashed.
    code: i64,
    /// Its root: beside the constant, and beside any other value.
    roots: [f64; 2],
}

impl FeatureMap {
    /// A map without attributes and coordinates.
    pub fn new(gamma: usize, normalize: bool, most: usize) -> Self {
        Self {
            gamma,
            normalize,
            most,
            roots: roots(gamma),
            layout: Layout::Plain { set_bits: 0 },
            attributes: 0,
            coordinates: 0,
            sets: Vec::new(),
            room: Vec::new(),
        }
    }

    /// Limit the number of features of an event.
    pub fn limit(&mut self, features: usize) {
        self.most = self.most.min(features);
    }

    /// Maximum number of features of an event.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The order of the kernel: 1, 2 or 3.
    pub fn gamma(&self) -> usize {
        self.gamma
    }

    /// Whether every event has norm 1.
    pub fn normalize(&self) -> bool {
        self.normalize
    }

    /// Write an event's features, omitting those that are 0.
    pub fn expand(&mut self, event: &Event, features: &mut Features) {
        let mut room = std::mem::take(&mut self.room);
        // At order 1 nothing depends on the number of observed attributes.
        let observed = if self.gamma == 1 { &[][..] } else { event.observed(&mut room) };
        let order = self.order_of(event.len(), observed.len());
        let factor = if self.normalize { inverse_norm(event.values, observed.len(), order) } else { 1.0 };
        let is_known = |attribute: &u32| (*attribute as usize) < self.attributes;
        let (items, known) = (event.attributes.partition_point(is_known), observed.partition_point(is_known));
        if order == 1 {
            self.list_values(&event.coordinates[..items], event.values, factor, features);
        } else {
            self.list_sets(order, &observed[..known]);
            let sets = self.sets.len();
            let Features { index, phi } = features;
            // With room for all sets of every item.
            index.resize(items * sets, 0);
            phi.resize(items * sets, 0.0);
            // Index, among the observed attributes, of the item's attribute; and the number of features so far.
            let (mut own, mut end) = (0, 0);
            for (item, (&coordinate, value)) in
                event.coordinates[..items].iter().zip(event.values).enumerate()
            {
                own += usize::from(event.attributes[item] != observed[own]);
                let x = factor * value;
                if x == 0.0 || coordinate as usize >= self.coordinates {
                    continue;
                }
                let (index, phi) = (&mut index[end..end + sets], &mut phi[end..end + sets]);
                self.multiply(coordinate, x, own.min(1), index, phi);
                end += if own > 0 { take_out(order, own, known, index, phi) } else { sets };
            }
            index.truncate(end);
            phi.truncate(end);
        }
        self.room = room;
    }

    /// Write the features of order 1: the values, since all roots are 1.
    fn list_values(&self, coordinates: &[u32], values: &[f64], factor: f64, features: &mut Features) {
        let Features { index, phi } = features;
        index.clear();
        phi.clear();
        phi.extend(values[..coordinates.len()].iter().map(|value| factor * value));
        match self.layout {
            Layout::Plain { set_bits } => index.extend(coordinates.iter().map(|each| each << set_bits)),
            Layout::Hashed { bits } => {
                index.extend(coordinates.iter().map(|&each| hash(mix(i64::from(each)), mix(!0), bits)));
            }
        }
        // Products and bins have many items, and hardly ever is one omitted.
        if phi.contains(&0.0) || room_for(coordinates) > self.coordinates {
            let mut kept = 0;
            for (item, &coordinate) in coordinates.iter().enumerate() {
                (index[kept], phi[kept]) = (index[item], phi[item]);
                kept += usize::from(phi[kept] != 0.0 && (coordinate as usize) < self.coordinates);
            }
            index.truncate(kept);
            phi.truncate(kept);
        }
    }

    /// The order at which an event with this many items and attributes is expanded.
    pub(super) fn order_of(&self, items: usize, attributes: usize) -> usize {
        let fits = |order: &usize| items.saturating_mul(set_count(attributes, *order)) <= self.most;
        (2..=self.gamma).rev().find(fits).unwrap_or(1)
    }

    /// List the sets: the empty one and, for each attribute, the one of it alone and, at order 3, those of it and a
    /// lower one.
    fn list_sets(&mut self, order: usize, attributes: &[u32]) {
        let Self { gamma, roots, layout, sets, .. } = self;
        sets.clear();
        let mut list = |code: i64, size: usize| {
            let code = if layout.is_hashed() { mix(!code) } else { code };
            sets.push(SetOfOthers { code, roots: roots[order].map(|by_size| by_size[size]) });
        };
        list(0, 0);
        for (j, &upper) in attributes.iter().enumerate().skip(1) {
            let first = first_code(upper, *gamma);
            if order > 1 {
                list(first, 1);
            }
            if order > 2 {
                attributes[1..j].iter().for_each(|&lower| list(first + i64::from(lower), 2));
            }
        }
    }

    /// Write the features of a coordinate combined with every set.
    fn multiply(&self, coordinate: u32, x: f64, kind: usize, index: &mut [u32], phi: &mut [f64]) {
        let features = index.iter_mut().zip(phi).zip(&self.sets);
        match self.layout {
            Layout::Plain { set_bits } => {
                let base = coordinate << set_bits;
                for ((place, value), set) in features {
                    (*place, *value) = (base + set.code as u32, x * set.roots[kind]);
                }
            }
            Layout::Hashed { bits } => {
                let base = mix(i64::from(coordinate));
                for ((place, value), set) in features {
                    (*place, *value) = (hash(base, set.code, bits), x * set.roots[kind]);
                }
            }
        }
    }
}

/// Remove those features of a value that have its own attribute in their set, and return how many are left; `own` is
/// its index among the `observed` ones. Each is replaced by the last feature, going backwards: first the sets with a
/// higher attribute, then those with a lower one or alone.
fn take_out(order: usize, own: usize, observed: usize, index: &mut [u32], phi: &mut [f64]) -> usize {
    let mut end = index.len();
    let mut drop = |at: usize| {
        end -= 1;
        index[at] = index[end];
        phi[at] = phi[end];
    };
    if order == 2 {
        drop(own);
    } else if order == 3 {
        (own + 1..observed).rev().for_each(|upper| drop(1 + upper * (upper - 1) / 2 + own));
        (0..own).rev().for_each(|lower| drop(1 + own * (own - 1) / 2 + lower));
    }
    end
}

/// 1 / sqrt(k(x, x)) for the values of this many attributes; 0 for an event with norm zero.
pub(super) fn inverse_norm(values: &[f64], attributes: usize, order: usize) -> f64 {
    let square = dot(values, values) * growth(attributes as f64, order as u32);
    if square > 0.0 { 1.0 / square.sqrt() } else { 0.0 }
}

/// Square root of the number of sequences that a feature stands for, by order, by whether it is a value (1) or the
/// constant (0), and by the size of S.
fn roots(gamma: usize) -> [[[f64; 3]; 2]; 4] {
    let mut result = [[[0.0; 3]; 2]; 4];
    for (order, by_kind) in result.iter_mut().enumerate().take(gamma + 1) {
        for (kind, by_size) in by_kind.iter_mut().enumerate() {
            for (size, root) in by_size.iter_mut().enumerate().take(order) {
                // Of the sequences over S and what is always observed, count those that contain all of S.
                let over = |symbols: usize| (0..order as u32).map(|n| symbols.pow(n) as f64).sum::<f64>();
                let all = kind + 1 + size;
                *root = match size {
                    0 => over(all),
                    1 => over(all) - over(all - 1),
                    _ => over(all) - 2.0 * over(all - 1) + over(all - 2),
                }
                .sqrt();
            }
        }
    }
    result
}
