//! Running the experts of a mixture on several threads, and mixing their predictions alongside.
//!
//! Each expert goes through the stages of a part in order, and a stage is mixed once all experts have finished it. An
//! expert that may begin or cease to rest begins a segment only after the segment before has been mixed, which decides
//! it. So the order of computation is fixed, whichever thread executes it, and results do not depend on the threads. No
//! thread waits for the others at the end of a stage: one that has finished a task takes the next one that can start.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::mixing::Mixing;
use super::resting::Rest;
use super::running::{Expert, Stage};

/// Let experts predict and learn the stages of a part, and mix their predictions, on so many threads.
///
/// `expert_scores` is the buffer for the scores of each learner, `scores` and `losses` are those of the mixture.
pub fn run_together(
    threads: usize,
    stages: &[Stage],
    experts: &mut [Expert],
    mixing: &mut Mixing,
    expert_scores: Vec<&mut [f64]>,
    scores: &mut [f64],
    losses: &mut [f64],
) {
    let tasks = Tasks::new(
        experts.iter().map(|expert| expert.may_change).collect(),
        stages.iter().map(Stage::segment).collect(),
    );
    let longest = stages.iter().map(Stage::len).max().unwrap_or(0);
    let expert_scores: Vec<_> = expert_scores.into_iter().map(|all| in_stages(all, stages)).collect();
    let firsts: Vec<usize> = experts.iter().map(|expert| expert.first).collect();
    let rests_now =
        |mixing: &Mixing| firsts.iter().map(|&first| mixing.aggregator.resting.rest_of(first)).collect();
    let rests: Mutex<Vec<Rest>> = Mutex::new(rests_now(mixing));
    let experts: Vec<_> = experts.iter_mut().map(|expert| Mutex::new((expert, vec![0.0; longest]))).collect();
    let rows = in_stages(scores, stages).into_iter().zip(in_stages(losses, stages));
    let mixer = Mutex::new((mixing, rows));
    let work = || {
        while let Some(task) = tasks.take() {
            let stage = &stages[task.stage];
            match task.kind {
                TaskKind::Expert(number) => {
                    let (expert, losses) = &mut *locked(&experts[number]);
                    let rest = locked(&rests)[number];
                    expert.run(stage, rest, &mut locked(&expert_scores[expert.place][task.stage]), losses);
                }
                TaskKind::Mixing => {
                    let (mixing, rows) = &mut *locked(&mixer);
                    let mut expert_scores: Vec<_> =
                        expert_scores.iter().map(|parts| locked(&parts[task.stage])).collect();
                    let expert_scores: Vec<&mut [f64]> =
                        expert_scores.iter_mut().map(|part| &mut ***part).collect();
                    let Some((scores, losses)) = rows.next() else { return };
                    mixing.run(stage, &expert_scores, &mut locked(&scores), &mut locked(&losses));
                    *locked(&rests) = rests_now(mixing);
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
}

/// The same number of numbers for each event, stage by stage.
fn in_stages<'n>(mut numbers: &'n mut [f64], stages: &[Stage]) -> Vec<Mutex<&'n mut [f64]>> {
    let width = numbers.len() / stages.iter().map(Stage::len).sum::<usize>();
    let of_stage =
        |stage: &Stage| Mutex::new(numbers.split_off_mut(..width * stage.len()).unwrap_or_default());
    stages.iter().map(of_stage).collect()
}

/// Lock a mutex. If another thread has panicked, so will this program, once all threads have ended.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which tasks are finished, and which can start.
struct Tasks {
    progress: Mutex<Progress>,
    /// Notified when a task has ended.
    ended: Condvar,
    /// For each stage: the number of stages to be mixed before it is decided which experts rest in it.
    decided_after: Vec<usize>,
}

struct Progress {
    /// Number of threads that wait for a task to end.
    waiting: usize,
    experts: Vec<ExpertProgress>,
    /// The next stage to be mixed, and whether a thread is mixing it.
    mixing: (usize, bool),
}

struct ExpertProgress {
    /// Its next stage.
    next: usize,
    /// Whether a thread is running it.
    is_busy: bool,
    /// See [`Expert::may_change`].
    may_change: bool,
}

/// What a task runs.
#[derive(Clone, Copy)]
enum TaskKind {
    Expert(usize),
    Mixing,
}

/// A running task. It ends when this is dropped, even by a panic, so that no thread waits for it forever.
struct Task<'t> {
    tasks: &'t Tasks,
    kind: TaskKind,
    stage: usize,
}

impl Tasks {
    /// For experts that may or may not begin or cease to rest, and stages of these segments.
    fn new(may_change: Vec<bool>, segments: Vec<u64>) -> Self {
        let expert = |may_change| ExpertProgress { next: 0, is_busy: false, may_change };
        let experts = may_change.into_iter().map(expert).collect();
        let progress = Progress { waiting: 0, experts, mixing: (0, false) };
        let decided_after = segments.iter().map(|&own| segments.partition_point(|&each| each < own));
        Self { progress: Mutex::new(progress), ended: Condvar::new(), decided_after: decided_after.collect() }
    }

    /// The next task, waiting for one if necessary; None if no task is left to start.
    fn take(&self) -> Option<Task<'_>> {
        let mut progress = locked(&self.progress);
        loop {
            if let Some((kind, stage)) = progress.begin(&self.decided_after) {
                return Some(Task { tasks: self, kind, stage });
            }
            if progress.mixing.0 + usize::from(progress.mixing.1) >= self.decided_after.len() {
                return None;
            }
            progress.waiting += 1;
            progress = self.ended.wait(progress).unwrap_or_else(PoisonError::into_inner);
            progress.waiting -= 1;
        }
    }
}

impl Progress {
    /// Start mixing a stage if all experts have finished it, otherwise the earliest stage of an idle expert.
    ///
    /// Of several experts the last one is taken: in `auto` the slowest come last, and the other threads would have to
    /// wait for a thread that is left with one of these.
    fn begin(&mut self, decided_after: &[usize]) -> Option<(TaskKind, usize)> {
        let Self { experts, mixing: (mixed, is_mixing), .. } = self;
        if !*is_mixing && *mixed < decided_after.len() && experts.iter().all(|each| each.next > *mixed) {
            *is_mixing = true;
            return Some((TaskKind::Mixing, *mixed));
        }
        let can_start = |each: &ExpertProgress| {
            let decided = decided_after.get(each.next);
            !each.is_busy && decided.is_some_and(|&decided| !each.may_change || *mixed >= decided)
        };
        let idle = experts.iter_mut().enumerate().rev().filter(|(_, each)| can_start(each));
        let (number, expert) = idle.min_by_key(|(_, each)| each.next)?;
        expert.is_busy = true;
        Some((TaskKind::Expert(number), expert.next))
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let mut progress = locked(&self.tasks.progress);
        match self.kind {
            TaskKind::Expert(number) => {
                let expert = &mut progress.experts[number];
                (expert.next, expert.is_busy) = (self.stage + 1, false);
            }
            TaskKind::Mixing => progress.mixing = (self.stage + 1, false),
        }
        if progress.waiting > 0 {
            self.tasks.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expert and the stage of a task; -1 for the mixing.
    fn number(task: &Task) -> (i64, usize) {
        match task.kind {
            TaskKind::Expert(number) => (number as i64, task.stage),
            TaskKind::Mixing => (-1, task.stage),
        }
    }

    /// The tasks that are left, in the order in which they start.
    fn order(tasks: &Tasks) -> Vec<(i64, usize)> {
        std::iter::from_fn(|| tasks.take().map(|task| number(&task))).collect()
    }

    #[test]
    fn stages_are_mixed_after_all_experts_finish() {
        let expected = [(1, 0), (0, 0), (-1, 0), (1, 1), (0, 1), (-1, 1)];
        assert_eq!(order(&Tasks::new(vec![false; 2], vec![0; 2])), expected);
        assert_eq!(order(&Tasks::new(vec![], vec![0; 2])), [(-1, 0), (-1, 1)]);
    }

    #[test]
    fn only_experts_that_may_change_wait_for_the_decision_about_their_segment() {
        let tasks = Tasks::new(vec![false, true], vec![6, 6, 7, 7]);
        let before: Vec<_> = (0..5).map(|_| number(&tasks.take().unwrap())).collect();
        assert_eq!(before, [(1, 0), (0, 0), (-1, 0), (1, 1), (0, 1)]);
        let deciding = tasks.take().unwrap();
        assert_eq!(number(&deciding), (-1, 1));
        let meanwhile: Vec<_> = (0..2).map(|_| number(&tasks.take().unwrap())).collect();
        assert_eq!(meanwhile, [(0, 2), (0, 3)]);
        assert!(locked(&tasks.progress).begin(&tasks.decided_after).is_none());
        drop(deciding);
        assert_eq!(order(&tasks), [(1, 2), (-1, 2), (1, 3), (-1, 3)]);
    }

    #[test]
    fn panicked_tasks_block_no_others() {
        let tasks = Tasks::new(vec![false; 2], vec![0; 2]);
        let panicked = std::thread::scope(|scope| {
            let stopped = scope.spawn(|| {
                let _task = tasks.take();
                panic!("an expert does not get on");
            });
            stopped.join().is_err()
        });
        assert!(panicked);
        assert_eq!(order(&tasks), [(0, 0), (-1, 0), (1, 1), (0, 1), (-1, 1)]);
    }
}
