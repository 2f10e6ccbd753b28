//! Merges what several models remember of entities.

use std::collections::BTreeMap;

use super::store::{Entities, Entity};
use super::{MEAN_VALUES, PastLabels, Remembered};

impl Entities {
    /// A copy with each value translated to another model, or dropped if that does not have it, and with other times.
    pub fn renewed(
        &self,
        renew: &dyn Fn(&Remembered) -> Option<Remembered>,
        later: impl Fn(f64) -> f64,
    ) -> Self {
        let all = |values: &[Remembered]| {
            let renewed = values.iter().filter_map(renew);
            let mut all: Vec<_> = renewed.map(|each| Remembered { time: later(each.time), ..each }).collect();
            all.sort_unstable_by_key(|each| each.attribute);
            all
        };
        let mut renewed = self.emptied();
        for entity in self.oldest_first() {
            let asked = entity.asked.as_deref().map(|asked| Box::new(all(asked)));
            let (values, seen) = (all(&entity.values), later(entity.seen));
            let labels = entity.labels.clone().map(|labels| {
                let time = later(labels.time);
                Box::new(PastLabels { time, ..*labels })
            });
            renewed.push(Entity {
                name: entity.name.clone(),
                values,
                seen,
                asked,
                count: entity.count,
                labels,
            });
        }
        renewed
    }

    /// Merge the memories of parts that continued from this one.
    ///
    /// For each attribute of an entity the newest value is kept, and the newest labels. If there are too many entities,
    /// those that were not seen for the longest time are evicted.
    pub fn merge(&mut self, parts: &[Self]) {
        let mut all: BTreeMap<&[u8], Entity> = BTreeMap::new();
        let before: BTreeMap<&[u8], u64> =
            self.oldest_first().map(|entity| (&*entity.name, entity.count)).collect();
        for entity in std::iter::once(&*self).chain(parts).flat_map(Self::oldest_first) {
            match all.get_mut(&*entity.name) {
                Some(known) => known.join(entity, before.get(&*entity.name).copied().unwrap_or(0)),
                None => _ = all.insert(&entity.name, entity.clone()),
            }
        }
        let mut newest_first: Vec<Entity> = all.into_values().collect();
        newest_first.sort_by(|one, other| {
            other.seen.total_cmp(&one.seen).then_with(|| (*other.name).cmp(&*one.name))
        });
        let since = |part: &Self| part.evicted.saturating_sub(self.evicted);
        let evicted = parts.iter().map(since).fold(self.evicted, u64::saturating_add);
        let (found, mut values) = (newest_first.len(), 0);
        let room = self.most().saturating_mul(MEAN_VALUES);
        newest_first.truncate(self.most());
        let fits = |entity: &Entity| {
            values += entity.values.len();
            values <= room
        };
        // One is kept, however many values it has.
        let kept = newest_first.iter().map(fits).take_while(|fits| *fits).count().max(1).min(found);
        newest_first.truncate(kept);
        *self = self.emptied();
        newest_first.into_iter().rev().for_each(|entity| _ = self.push(entity));
        self.evicted = evicted.saturating_add((found - self.len()) as u64);
    }
}

impl Entity {
    /// Merge what another model remembers of this entity; `before` of its events are counted already.
    fn join(&mut self, other: &Self, before: u64) {
        let mut values = std::mem::take(&mut self.values);
        for each in &other.values {
            match values.binary_search_by_key(&each.attribute, |value| value.attribute) {
                Ok(at) if is_newer(each, &values[at]) => values[at] = *each,
                Ok(_) => {}
                Err(at) => values.insert(at, *each),
            }
        }
        self.values = values;
        self.count = self.count.saturating_add(other.count.saturating_sub(before));
        if other.seen > self.seen {
            self.asked.clone_from(&other.asked);
        } else if other.seen == self.seen && other.asked != self.asked {
            self.asked = None;
        }
        self.seen = self.seen.max(other.seen);
        if let Some(labels) = &other.labels
            && self.labels.as_ref().is_none_or(|own| labels.is_newer(own))
        {
            self.labels.clone_from(&other.labels);
        }
    }
}

/// Whether a value came later; ties are broken, whatever the order of the two.
fn is_newer(one: &Remembered, other: &Remembered) -> bool {
    let order = one.time.total_cmp(&other.time).then(one.coordinate.cmp(&other.coordinate));
    order.then(one.value.total_cmp(&other.value)).is_gt()
}
