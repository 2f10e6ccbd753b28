//! The statistics of merged names.

use super::Member;
use crate::cleaning::{Sentinels, Tally};
use crate::encoder::{Encoder, Levels, Use};
use crate::scale::Scale;
use crate::vocabulary::{NOBODY, Vocabulary};

/// Statistics by new index.
pub struct Statistics {
    pub tallies: Vec<Tally>,
    pub uses: Vec<Use>,
    pub scales: Vec<Scale>,
    pub sentinels: Vec<Sentinels>,
    pub levels: Vec<Levels>,
}

/// A base, and parts that continued from it.
struct Family<'a> {
    base: &'a Member<'a>,
    parts: &'a [Member<'a>],
    /// Total number of events.
    events: u64,
}

impl Statistics {
    /// Merge the statistics of a base and of parts that continued from it.
    pub fn of(base: &Member, parts: &[Member], vocabulary: &Vocabulary) -> Self {
        let family = Family { base, parts, events: 0 };
        let tallies: Vec<Tally> = (0..vocabulary.attribute_count()).map(|each| family.tally(each)).collect();
        let family = Family { events: tallies[0].values, ..family };
        let coordinates = || 0..vocabulary.coordinate_count();
        Self {
            tallies,
            uses: coordinates().map(|each| family.uses(each)).collect(),
            scales: coordinates().map(|each| family.scale(each)).collect(),
            sentinels: coordinates().map(|each| family.sentinels(each, vocabulary)).collect(),
            levels: coordinates().map(|each| family.levels(each)).collect(),
        }
    }
}

impl Family<'_> {
    fn tally(&self, attribute: usize) -> Tally {
        let of = |member: &Member| member.encoder.tallies.get(member.attributes[attribute] as usize).copied();
        let own: Vec<Tally> = self.parts.iter().filter_map(of).collect();
        Tally::merged(of(self.base).unwrap_or_default(), &own)
    }

    fn uses(&self, coordinate: usize) -> Use {
        let of = |member: &Member| Some(*member.at(coordinate, |encoder| &encoder.uses)?);
        let own: Vec<_> = self.parts.iter().filter_map(|part| Some((of(part)?, part.events()))).collect();
        let before = of(self.base).unwrap_or_else(|| {
            // The coordinate may have been evicted before. Rates that no model has had count as just used.
            let generation = self.base.encoder.uses.get(coordinate).map_or(0, |place| place.generation);
            Use { last: if own.is_empty() { self.events } else { 0 }, count: 0, generation }
        });
        Use::merged((before, self.base.events()), &own, self.events)
    }

    fn scale(&self, coordinate: usize) -> Scale {
        let count =
            |member: &Member| member.at(coordinate, |encoder| &encoder.uses).map_or(0, |each| each.count);
        let before = count(self.base);
        let of = |member: &Member| Some(*member.at(coordinate, |encoder| &encoder.scales)?);
        let since = |part| Some((of(part)?, count(part).saturating_sub(before) as f64));
        let own: Vec<_> = self.parts.iter().filter_map(since).collect();
        Scale::merged(of(self.base).unwrap_or_default(), &own, self.base.encoder.longest)
    }

    fn sentinels(&self, coordinate: usize, vocabulary: &Vocabulary) -> Sentinels {
        let of = |member: &Member| Some(*member.at(coordinate, |encoder| &encoder.sentinels)?);
        let given = || {
            let is_free = vocabulary.owner(coordinate) == NOBODY;
            if is_free || !vocabulary.is_number(coordinate) {
                return Sentinels::default();
            }
            let name = vocabulary.describe(coordinate).0.text();
            let given = self.base.encoder.rules.sentinels.get(name);
            given.map(|values| Sentinels::given(values)).unwrap_or_default()
        };
        let own: Vec<_> = self.parts.iter().filter_map(of).collect();
        Sentinels::merged(of(self.base).unwrap_or_else(given), &own)
    }

    fn levels(&self, coordinate: usize) -> Levels {
        let of = |member| Member::at(member, coordinate, |encoder| &encoder.levels);
        let own: Vec<_> = self.parts.iter().filter_map(of).collect();
        Levels::merged(of(self.base).unwrap_or(&Levels::default()), &own)
    }
}

impl<'a> Member<'a> {
    /// Its entry for a new coordinate.
    fn at<T>(&self, coordinate: usize, all: impl Fn(&'a Encoder) -> &'a Vec<T>) -> Option<&'a T> {
        all(self.encoder).get(self.coordinates[coordinate] as usize)
    }
}
