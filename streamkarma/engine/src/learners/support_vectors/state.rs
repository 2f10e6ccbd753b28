//! Support vectors to arrays, slot after slot, and back.

use std::ops::Deref;
use std::sync::Arc;

use super::SupportVectors;
use super::example_counts::Fates;
use super::storage::Vectors;
use super::table::TILE;
use crate::state::{Refused, State, ensure};

const CONTRADICTION: &str = "the support vectors contradict each other";

/// Maximum number of classes; a state without values does not limit it otherwise.
const MOST_CLASSES: usize = 1 << 20;

/// The state of a learner.
pub fn of(learner: &SupportVectors) -> State {
    let v = &learner.vectors;
    let (used, classes) = (v.used(), v.values.classes());
    let listed: Vec<(usize, u32)> = v
        .listed
        .iter()
        .enumerate()
        .flat_map(|(slot, listed)| listed.iter().map(move |&k| (slot, k)))
        .collect();
    let cells = || listed.iter().flat_map(|&(slot, k)| (0..classes).map(move |c| (slot, k, c)));
    let entries: Vec<i32> =
        v.observed.iter().flat_map(|set| set.iter()).map(|&attribute| attribute as i32).collect();
    let fates = learner.fates;
    let counts = [
        used as u64,
        learner.steps,
        v.longest as u64,
        fates.merged_exactly,
        fates.merged_closest,
        fates.removed,
        fates.added,
        fates.replaced,
    ];
    let mut state = State::default();
    state.put_i32s("sizes", lengths(&v.observed), &[used]);
    state.put_i32s("attributes", entries.clone(), &[entries.len()]);
    state.put_i32s("lengths", lengths(&v.listed), &[used]);
    state.put_i32s("coordinates", listed.iter().map(|&(_, k)| k as i32).collect(), &[listed.len()]);
    let values = cells().map(|(slot, k, c)| v.values.get(k, c, slot)).collect();
    state.put_f64s("values", values, &[listed.len(), classes]);
    let passed: Vec<f64> = match &v.offsets {
        Some(offsets) => cells().map(|(slot, k, c)| offsets.get(k, c, slot)).collect(),
        None => Vec::new(),
    };
    let rows = passed.len() / classes;
    state.put_f64s("passed", passed, &[rows, classes]);
    state.put_f64s("squares", v.squares.clone(), &[used]);
    state.put_f64s("born", v.created_at.clone(), &[used]);
    let owners = listed.iter().map(|&(_, k)| v.owners[k as usize] as i32).collect();
    state.put_i32s("owners", owners, &[listed.len()]);
    state.put_f64s("clock", vec![v.scale, v.scale_sum], &[2]);
    state.put_i64s("counts", counts.iter().map(|&count| count as i64).collect(), &[8]);
    state
}

fn lengths<L: Deref<Target = [u32]>>(lists: &[L]) -> Vec<i32> {
    lists.iter().map(|list| list.len() as i32).collect()
}

/// The steps of a state; they must be below 2^53.
pub fn steps(state: &State) -> Result<u64, Refused> {
    match state.i64s("counts")?.0.get(1) {
        Some(&steps) if (0..1 << 53).contains(&steps) => Ok(steps as u64),
        _ => Err(CONTRADICTION.to_owned()),
    }
}

/// Restore a learner from a state; if that is rejected, it is unchanged.
pub fn restore(
    learner: &mut SupportVectors,
    state: &State,
    attributes: usize,
    coordinates: usize,
) -> Result<(), Refused> {
    let found = Found::read(state, attributes, coordinates)?;
    let used = found.observed.len();
    let counts = numbers(state.i64s("counts")?, 8, |count| count >= 0)?;
    let clock = numbers(state.f64s("clock")?, 2, f64::is_finite)?;
    let squares = numbers(state.f64s("squares")?, used, |square| square.is_finite() && square >= 0.0)?;
    let created_at = numbers(state.f64s("born")?, used, f64::is_finite)?;
    let (passed, shape) = state.f64s("passed")?;
    let rows = if learner.average { found.coordinates.len() } else { 0 };
    let longest = counts[2] as usize;
    ensure(
        counts[0] as usize == used
            && (learner.rule.budget == 0 || used <= learner.rule.budget)
            && 0.0 < clock[0]
            && clock[0] <= 1.0
            && shape == [rows, found.classes]
            && passed.iter().all(|value| value.is_finite())
            && longest <= coordinates
            && found.listed.iter().all(|listed| listed.len() <= longest),
        CONTRADICTION,
    )?;
    found.fits_into_memory(learner.average)?;
    let steps = steps(state)?;
    let mut vectors = Vectors::new(1, learner.average);
    vectors.reserve(used);
    vectors.widen(found.classes);
    vectors.created_at = created_at.to_vec();
    vectors.squares = squares.to_vec();
    (vectors.scale, vectors.scale_sum, vectors.longest) = (clock[0], clock[1], longest);
    found.put_into(&mut vectors, passed, learner.rule.gamma);
    learner.resume(vectors, steps);
    let [merged_exactly, merged_closest, removed, added, replaced] =
        [3, 4, 5, 6, 7].map(|place| counts[place] as u64);
    learner.fates = Fates { merged_exactly, merged_closest, removed, added, replaced };
    Ok(())
}

/// The lists of a state, and the values of the listed coordinates.
struct Found<'a> {
    observed: Vec<Vec<u32>>,
    listed: Vec<Vec<u32>>,
    coordinates: &'a [i32],
    owners: &'a [i32],
    values: &'a [f64],
    classes: usize,
}

impl<'a> Found<'a> {
    fn read(state: &'a State, attributes: usize, coordinates: usize) -> Result<Self, Refused> {
        let observed = lists(state, "sizes", "attributes", attributes)?;
        let listed = lists(state, "lengths", "coordinates", coordinates)?;
        let (flat, _) = state.i32s("coordinates")?;
        let owners = numbers(state.i32s("owners")?, flat.len(), |owner| is_below(owner, attributes))?;
        let (values, shape) = state.f64s("values")?;
        let &[rows, classes] = shape else { return Err(CONTRADICTION.to_owned()) };
        ensure(
            observed.len() == listed.len()
                && rows == flat.len()
                && (1..=MOST_CLASSES).contains(&classes)
                && values.iter().all(|value| value.is_finite()),
            CONTRADICTION,
        )?;
        Ok(Self { observed, listed, coordinates: flat, owners, values, classes })
    }

    /// Reject states that do not fit into memory: tables have a row for each coordinate that any slot lists.
    fn fits_into_memory(&self, average: bool) -> Result<(), Refused> {
        let mut rows = self.coordinates.to_vec();
        rows.sort_unstable();
        rows.dedup();
        let slots = self.observed.len().next_multiple_of(TILE);
        let numbers = [self.classes, slots, 1 + usize::from(average)]
            .iter()
            .try_fold(rows.len(), |product, &factor| product.checked_mul(factor));
        let room = numbers.and_then(|numbers| Vec::<f64>::new().try_reserve_exact(numbers).ok());
        room.ok_or_else(|| "not enough memory for this many support vectors".to_owned())
    }

    fn put_into(self, vectors: &mut Vectors, passed: &[f64], gamma: u32) {
        vectors.observed = vec![Arc::default(); self.observed.len()];
        for (slot, observed) in self.observed.iter().enumerate() {
            vectors.observe(slot, observed, gamma);
        }
        let highest = self.coordinates.iter().max();
        vectors.owners = vec![0; highest.map_or(0, |&k| k as usize + 1)];
        let slots =
            self.listed.iter().enumerate().flat_map(|(slot, listed)| listed.iter().map(move |_| slot));
        for (j, (slot, (&k, &owner))) in slots.zip(self.coordinates.iter().zip(self.owners)).enumerate() {
            vectors.owners[k as usize] = owner as u32;
            for c in 0..self.classes {
                *vectors.values.at(k as u32, c, slot) = self.values[j * self.classes + c];
                if let Some(offsets) = &mut vectors.offsets {
                    *offsets.at(k as u32, c, slot) = passed[j * self.classes + c];
                }
            }
        }
        vectors.listed = self.listed;
    }
}

/// The numbers of a one-dimensional array, if it has this length and each number is good.
fn numbers<'a, T: Copy>(
    (numbers, shape): (&'a [T], &[usize]),
    many: usize,
    good: impl Fn(T) -> bool,
) -> Result<&'a [T], Refused> {
    ensure(shape == [many] && numbers.iter().all(|&number| good(number)), CONTRADICTION)?;
    Ok(numbers)
}

/// Each slot's list, from lengths and from entries, one slot after another; no entry may repeat, all must be below a
/// limit.
fn lists(state: &State, lengths: &str, entries: &str, limit: usize) -> Result<Vec<Vec<u32>>, Refused> {
    let (entries, shape) = state.i32s(entries)?;
    ensure(shape.len() == 1 && entries.iter().all(|&entry| is_below(entry, limit)), CONTRADICTION)?;
    let (lengths, shape) = state.i32s(lengths)?;
    ensure(shape.len() == 1 && lengths.iter().all(|&length| length >= 0), CONTRADICTION)?;
    let mut rest = entries;
    let mut result = Vec::with_capacity(lengths.len());
    for &length in lengths {
        let (these, others) = rest.split_at_checked(length as usize).ok_or(CONTRADICTION)?;
        rest = others;
        let list: Vec<u32> = these.iter().map(|&entry| entry as u32).collect();
        let mut sorted = list.clone();
        sorted.sort_unstable();
        ensure(sorted.is_sorted_by(|a, b| a < b), CONTRADICTION)?;
        result.push(list);
    }
    ensure(rest.is_empty(), CONTRADICTION)?;
    Ok(result)
}

fn is_below(number: i32, limit: usize) -> bool {
    number >= 0 && (number as usize) < limit
}
