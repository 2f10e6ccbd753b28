//! Experts of a mixture on several threads, and the mixing of what they say beside them.
//!
//! Each expert goes over the stages of a block in turn, and a stage is mixed once all experts have done it. So there is
//! an order in which all is done, whoever does it, and what comes out does not depend on the threads. Nobody waits for
//! the others at the end of a stage: who is done with one task takes the next that can be begun.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::mixing::Mixing;
use super::running::{Expert, STAGE, Stage};

/// Let experts predict and learn a block, and mix what they say, on so many threads.
///
/// `said` has room for the scores of each learner, `scores` and `losses` for those of the mixture.
pub fn run_together(
    threads: usize,
    block: &Stage,
    experts: &mut [Expert],
    mixing: &mut Mixing,
    said: Vec<&mut [f64]>,
    scores: &mut [f64],
    losses: &mut [f64],
) {
    let (events, classes) = (block.len(), scores.len() / block.len());
    let stages: Vec<Stage> =
        (0..events).step_by(STAGE).map(|begin| block.part(begin, STAGE.min(events - begin))).collect();
    let said: Vec<Vec<Mutex<&mut [f64]>>> = said.into_iter().map(|all| in_stages(all, events)).collect();
    let tasks = Tasks::new(experts.len(), stages.len());
    let experts: Vec<_> = experts.iter_mut().map(|expert| Mutex::new((expert, vec![0.0; STAGE]))).collect();
    let mixer = Mutex::new((mixing, scores.chunks_mut(STAGE * classes).zip(losses.chunks_mut(STAGE))));
    let work = || {
        while let Some(task) = tasks.take() {
            match task.what {
                What::Expert(number) => {
                    let (expert, losses) = &mut *locked(&experts[number]);
                    let mut said = locked(&said[expert.place][task.stage]);
                    expert.run(&stages[task.stage], &mut said, losses);
                }
                What::Mixing => {
                    let (mixing, rows) = &mut *locked(&mixer);
                    let mut said: Vec<_> = said.iter().map(|parts| locked(&parts[task.stage])).collect();
                    let mut said: Vec<&mut [f64]> = said.iter_mut().map(|part| &mut ***part).collect();
                    let Some((scores, losses)) = rows.next() else { return };
                    mixing.run(&stages[task.stage], &mut said, scores, losses);
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

/// The scores of a learner in so many events, stage by stage.
fn in_stages(said: &mut [f64], events: usize) -> Vec<Mutex<&mut [f64]>> {
    let width = said.len() / events;
    said.chunks_mut(STAGE * width).map(Mutex::new).collect()
}

/// What is locked. If another thread has panicked, so will this program, once all threads have ended.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Which tasks have been done, and which can be begun.
struct Tasks {
    progress: Mutex<Progress>,
    /// Some task has ended.
    ended: Condvar,
    stages: usize,
}

struct Progress {
    /// How many threads wait for a task to end.
    waiting: usize,
    /// Of each expert: its next stage, and whether somebody is at it.
    experts: Vec<(usize, bool)>,
    /// The same of the mixing.
    mixing: (usize, bool),
}

/// Whom a task is for.
#[derive(Clone, Copy)]
enum What {
    Expert(usize),
    Mixing,
}

/// A task in hand; it has ended when this is dropped, even by a panic, so that nobody waits for it for good.
struct Task<'t> {
    tasks: &'t Tasks,
    what: What,
    stage: usize,
}

impl Tasks {
    fn new(experts: usize, stages: usize) -> Self {
        let progress = Progress { waiting: 0, experts: vec![(0, false); experts], mixing: (0, false) };
        Self { progress: Mutex::new(progress), ended: Condvar::new(), stages }
    }

    /// The next task, waited for if need be; None if there is none to begin any more.
    fn take(&self) -> Option<Task<'_>> {
        let mut progress = locked(&self.progress);
        loop {
            if let Some((what, stage)) = progress.begin(self.stages) {
                return Some(Task { tasks: self, what, stage });
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
    /// Begin the mixing of a stage if all experts have done it, else the earliest stage of an expert nobody is at.
    ///
    /// Of several experts the last one is taken: in `auto` those come last that take the longest, and who is left with
    /// one of them alone would be waited for.
    fn begin(&mut self, stages: usize) -> Option<(What, usize)> {
        let Self { experts, mixing: (mixed, is_mixing), .. } = self;
        if !*is_mixing && *mixed < stages && experts.iter().all(|(done, _)| done > mixed) {
            *is_mixing = true;
            return Some((What::Mixing, *mixed));
        }
        let idle =
            experts.iter_mut().enumerate().rev().filter(|(_, (done, is_busy))| !is_busy && *done < stages);
        let (number, (done, is_busy)) = idle.min_by_key(|(_, (done, _))| *done)?;
        *is_busy = true;
        Some((What::Expert(number), *done))
    }
}

impl Drop for Task<'_> {
    fn drop(&mut self) {
        let mut progress = locked(&self.tasks.progress);
        let (done, is_busy) = match self.what {
            What::Expert(number) => &mut progress.experts[number],
            What::Mixing => &mut progress.mixing,
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

    /// What is begun, one after another; -1 for the mixing.
    fn order(tasks: &Tasks) -> Vec<(i64, usize)> {
        let number = |task: Task| match task.what {
            What::Expert(number) => (number as i64, task.stage),
            What::Mixing => (-1, task.stage),
        };
        std::iter::from_fn(|| tasks.take().map(number)).collect()
    }

    #[test]
    fn each_stage_is_mixed_once_all_experts_have_done_it() {
        let expected = [(1, 0), (0, 0), (-1, 0), (1, 1), (0, 1), (-1, 1)];
        assert_eq!(order(&Tasks::new(2, 2)), expected);
        assert_eq!(order(&Tasks::new(0, 2)), [(-1, 0), (-1, 1)]);
    }

    #[test]
    fn nobody_waits_for_who_has_panicked() {
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
