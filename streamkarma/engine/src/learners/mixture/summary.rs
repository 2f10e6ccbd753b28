//! The summary of a mixture.

use super::Mixture;
use super::recent::Recent;
use crate::learner::{Fact, Learner, bytes_in};

impl Mixture {
    /// The mean weights of all experts that have made a prediction and of the blend over the last 1,000 events, the mean weight of the adjustment
    /// by the last labels, the number of dormant experts, the total memory, and the facts about support vectors.
    pub(super) fn facts(&self) -> Vec<(&'static str, Fact)> {
        let all: Vec<_> = self.learners.iter().map(|learner| learner.summary()).collect();
        let of_recent = self.recent.as_ref().map_or(0, Recent::bytes);
        let bytes = (self.aggregator.bytes() + self.late.bytes() + self.relevance.bytes() + of_recent) as u64
            + all.iter().map(|facts| bytes_in(facts)).sum::<u64>();
        let external = (1..=self.external_experts()).map(|i| format!("other {i}"));
        let names = self.names.iter().cloned().chain(external).chain(["blend".to_owned()]);
        let weights = names.zip(self.aggregator.mean_weights().iter().copied()).enumerate();
        let weights = weights.filter(|(member, _)| self.aggregator.shares.has(*member));
        let weights = weights.map(|(_, each)| each).collect();
        let has_vectors =
            |facts: &Vec<(&str, Fact)>| facts.iter().any(|(name, _)| *name == "support_vectors");
        let mut summary = all.into_iter().find(has_vectors).unwrap_or_default();
        let (experts, bytes) = (("experts", Fact::Numbers(weights)), ("bytes", Fact::Count(bytes)));
        let recent = self.recent.as_ref().map(|recent| ("last_labels", Fact::Number(recent.mean_weight())));
        let dormant = ("dormant_experts", Fact::Count(self.aggregator.resting.dormant() as u64));
        if let Some(own) = summary.iter_mut().find(|(name, _)| *name == "bytes") {
            *own = bytes;
            summary.push(experts);
        } else {
            summary.extend([experts, bytes]);
        }
        summary.extend(recent);
        summary.push(dormant);
        summary
    }
}
