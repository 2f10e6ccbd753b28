//! Contributions of attributes to the score of an explicit form: that of each feature is divided equally among the
//! attributes that it depends on, those of its set and its value's own.

use super::features::inverse_norm;
use super::sets::Set;
use super::{Explicit, FeatureMap};
use crate::block::Event;
use crate::explaining::Explanation;

impl Explicit {
    /// Explain the scores of an event; its item i depends on the attributes `of_item(i)`, without attribute 0.
    pub fn explain_items(&self, event: &Event, of_item: impl Fn(usize) -> Set, into: &mut Explanation) {
        let classes = self.models[0].classes();
        self.map.each_feature(event, |item, set, place, value| {
            let speaks_of = of_item(item).joined(set);
            for (m, model) in self.models.iter().enumerate() {
                for class in 0..classes {
                    let amount = model.weight(class, place as usize) * value;
                    into.share(speaks_of.attributes(), m * classes + class, amount);
                }
            }
        });
    }
}

impl FeatureMap {
    /// Call `each` with the item, set, place and value of every feature that [`Self::expand`] writes for an event.
    fn each_feature(&self, event: &Event, mut each: impl FnMut(usize, Set, u32, f64)) {
        let mut room = Vec::new();
        let observed = event.observed(&mut room);
        let order = self.order_of(event.len(), observed.len());
        let factor = if self.normalize { inverse_norm(event.values, observed.len(), order) } else { 1.0 };
        let others: Vec<u32> =
            observed.iter().copied().filter(|&each| each > 0 && (each as usize) < self.attributes).collect();
        for item in 0..event.len() {
            let (own, coordinate) = (event.attributes[item], event.coordinates[item]);
            let x = factor * event.values[item];
            if x == 0.0 || own as usize >= self.attributes || coordinate as usize >= self.coordinates {
                continue;
            }
            let kind = usize::from(own > 0);
            for set in Set::of_fewer_than(order, &others).filter(|set| !set.attributes().contains(&own)) {
                let root = self.roots[order][kind][set.attributes().len()];
                each(item, set, self.layout.place(coordinate, set.code(self.gamma)), x * root);
            }
        }
    }
}
