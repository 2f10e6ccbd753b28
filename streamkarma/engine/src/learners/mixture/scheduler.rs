//! Running the experts of a mixture on several threads, and mixing their predictions alongside.
//!
//! Each expert goes through the stages of a block in order, and a stage is mixed once all experts have finished it. So
//! the order of computation is fixed, whichever thread executes it, and results do not depend on the threads. No thread
//! waits for the others at the end of a stage: one that has finished a task takes the next one that can start.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::mixing::Mixing;
use super::running::{Expert, STAGE, Stage};

/// Let experts predict and learn a block, and mix their predictions, on so many threads.
///
/// `expert_scores` is the buffer for the scores of each learner, `scores` and `losses` are those of the mixture.
pub fn run_together(
    threads: usize,
    block: &Stage,
    experts: &mut [Expert],
    mixing: &mut Mixing,
    expert_scores: Vec<&mut [f64]>,
    scores: &mut [f64],
    losses: &mut [f64],
) {
    let (events, classes) = (block.len(), scores.len() / block.len());
    let stages: Vec<Stage> =
        (0..events).step_by(STAGE).map(|begin| block.part(begin, STAGE.min(events - begin))).collect();
    let expert_scores: Vec<Vec<Mutex<&mut [f64]>>> =
        expert_scores.into_iter().map(|all| in_stages(all, events)).collect();
    let tasks = Tasks::new(experts.len(), stages.len());
    let experts: Vec<_> = experts.iter_mut().map(|expert| Mutex::new((expert, vec![0.0; STAGE]))).collect();
    let mixer = Mutex::new((mixing, scores.chunks_mut(STAGE * classes).zip(losses.chunks_mut(STAGE))));
    let work = || {
        while let Some(task) = tasks.take() {
            match task.kind {
                TaskKind::Expert(number) => {
                    let (expert, losses) = &mut *locked(&experts[number]);
                    let mut expert_scores = locked(&expert_scores[expert.place][task.stage]);
                    expert.run(&stages[task.stage], &mut expert_scores, losses);
                }
                TaskKind::Mixing => {
                    let (mixing, rows) = &mut *locked(&mixer);
                    let mut expert_scores: Vec<_> =
                        expert_scores.iter().map(|parts| locked(&parts[task.stage])).collect();
                    let mut expert_scores: Vec<&mut [f64]> =
                        expert_scores.iter_mut().map(|part| &mut ***part).collect();
                    let Some((scores, losses)) = rows.next() else { return };
                    mixing.run(&stages[task.stage], &mut expert_scores, scores, losses);
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

/// The scores of a learner for so many events, stage by stage.
fn in_stages(expert_scores: &mut [f64], events: usize) -> Vec<Mutex<&mut [f64]>> {
    let width = expert_scores.len() / events;
    expert_scores.chunks_mut(STAGE * width).map(Mutex::new).collect()
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
    stages: usize,
}

struct Progress {
    /// Number of threads that wait for a task to end.
    waiting: usize,
    /// For each expert: its next stage, and whether a thread is running it.
    experts: Vec<(usize, bool)>,
    /// The same for the mixing.
    mixing: (usize, bool),
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
    fn new(experts: usize, stages: usize) -> Self {
        let progress = Progress { waiting: 0, experts: vec![(0, false); experts], mixing: (0, false) };
        Self { progress: Mutex::new(progress), ended: Condvar::new(), stages }
    }

    /// The next task, waiting for one if necessary; None if no task is left to start.
    fn take(&self) -> Option<Task<'_>> {
        let mut progress = locked(&self.progress);
        loop {
            if let Some((kind, stage)) = progress.begin(self.stages) {
                return Some(Task { tasks: self, kind, stage });
            }
            if progress.mixing.0 + usize::from(progress.mixing.1) >= self.stages {
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
    fn begin(&mut self, stages: usize) -> Option<(TaskKind, usize)> {
        let Self { experts, mixing: (mixed, is_mixing), .. } = self;
        if !*is_mixing && *mixed < stages && experts.iter().all(|(done, _)| done > mixed) {
            *is_mixing = true;
            return Some((TaskKind::Mixing, *mixed));
        }
        let idle =
            experts.iter_mut().enumerate().rev().filter(|(_, (done, is_busy))| !is_busy && *done < stages);
        let (number, (done, is_busy)) = idle.min_by_key(|(_, (done, _))| *done)?;
        *is_busy = true;
        Some((TaskKind::Expert(number), *done))
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let mut progress = locked(&self.tasks.progress);
        let (done, is_busy) = match self.kind {
            TaskKind::Expert(number) => &mut progress.experts[number],
            TaskKind::Mixing => &mut progress.mixing,
        };
        (*done, *is_busy) = (*done + 1, false);
        if progress.waiting > 0 {
            self.tasks.ended.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tasks in the order in which they start; -1 for the mixing.
    fn order(tasks: &Tasks) -> Vec<(i64, usize)> {
        let number = |task: Task| match task.kind {
            TaskKind::Expert(number) => (number as i64, task.stage),
            TaskKind::Mixing => (-1, task.stage),
        };
        std::iter::from_fn(|| tasks.take().map(number)).collect()
    }

    #[test]
    fn stages_are_mixed_after_all_experts_finish() {
        let expected = [(1, 0), (0, 0), (-1, 0), (1, 1), (0, 1), (-1, 1)];
        assert_eq!(order(&Tasks::new(2, 2)), expected);
        assert_eq!(order(&Tasks::new(0, 2)), [(-1, 0), (-1, 1)]);
    }

    #[test]
    fn panicked_tasks_block_no_others() {
        let tasks = Tasks::new(2, 2);
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
