//! W1 to W4: tasks that are posted. In Tokio a closure and a coroutine are the same: a spawned
//! future.

use crate::result::{count_task, total_run, wait_for_total, Measurement, Outcome, Stopwatch};
use crate::Options;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::{mpsc, Barrier};
use std::time::Instant;
use tokio::runtime::{Builder, Runtime};

pub fn tokio_runtime(asked: &Options) -> Runtime {
    Builder::new_multi_thread().worker_threads(asked.workers as usize).enable_all().build().unwrap()
}

pub fn rayon_pool(asked: &Options) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(asked.workers as usize).build().unwrap()
}

/// Calls post() `count` times in each of the producer threads, and waits for the last task.
fn storm(producers: u64, count: u64, post: impl Fn() + Sync) -> Measurement {
    let target = total_run() + producers * count;
    let begin = Barrier::new(producers as usize + 1);
    std::thread::scope(|posting| {
        for _ in 0..producers {
            posting.spawn(|| {
                begin.wait();
                (0..count).for_each(|_| post());
            });
        }
        begin.wait();
        let watch = Stopwatch::start();
        wait_for_total(target);
        watch.per_item(producers * count)
    })
}

fn warm_storm(asked: &Options, post: impl Fn() + Sync) -> Outcome {
    storm(asked.producers, asked.count / 10, &post);
    Ok(Some(storm(asked.producers, asked.count, &post)))
}

pub fn tokio_storm(asked: &Options) -> Outcome {
    if asked.name != "one_shot" && asked.name != "coroutine" {
        return Ok(None);
    }
    let runtime = tokio_runtime(asked);
    warm_storm(asked, || drop(runtime.spawn(async { count_task() })))
}

pub fn rayon_storm(asked: &Options) -> Outcome {
    if asked.name != "one_shot" {
        return Ok(None);
    }
    let pool = rayon_pool(asked);
    warm_storm(asked, || pool.spawn(count_task))
}

fn hop(left: u64, done: mpsc::Sender<Instant>) {
    tokio::spawn(async move {
        match left {
            1 => done.send(Instant::now()).unwrap(),
            _ => hop(left - 1, done),
        }
    });
}

/// The time of the slowest chain, for each hop.
fn run_chains(runtime: &Runtime, chains: u64, hops: u64) -> Measurement {
    let (done, ends) = mpsc::channel();
    let _entered = runtime.enter();
    let watch = Stopwatch::start();
    (0..chains).for_each(|_| hop(hops, done.clone()));
    drop(done);
    let slowest = ends.iter().max().unwrap_or(watch.began);
    let found = watch.per_item(hops * chains);
    Measurement { value: (slowest - watch.began).as_nanos() as f64 / hops as f64, ..found }
}

pub fn tokio_repost(asked: &Options) -> Outcome {
    if asked.name != "one_shot" {
        return Ok(None);
    }
    let runtime = tokio_runtime(asked);
    run_chains(&runtime, asked.chains, asked.count / 10 + 1);
    Ok(Some(run_chains(&runtime, asked.chains, asked.count)))
}

fn avalanche(asked: &Options, post: impl Fn()) -> Outcome {
    if asked.name != "empty" {
        return Ok(None);
    }
    let fall = |count: u64| {
        let target = total_run() + count;
        (0..count).for_each(|_| post());
        wait_for_total(target);
    };
    fall(1_000);
    let rounds = (1_000_000 / asked.count).max(1);
    let watch = Stopwatch::start();
    (0..rounds).for_each(|_| fall(asked.count));
    Ok(Some(watch.per_item(rounds * asked.count)))
}

pub fn tokio_avalanche(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    avalanche(asked, || drop(runtime.spawn(async { count_task() })))
}

pub fn rayon_avalanche(asked: &Options) -> Outcome {
    let pool = rayon_pool(asked);
    avalanche(asked, || pool.spawn(count_task))
}

/// post_parent(children): posts a task that posts `children` tasks, and counts itself.
fn recursive(asked: &Options, post_parent: impl Fn(u64)) -> Outcome {
    if asked.name != "one_shot" {
        return Ok(None);
    }
    let run = |parents: u64| {
        let tasks = parents * (1 + asked.count);
        let target = total_run() + tasks;
        let watch = Stopwatch::start();
        (0..parents).for_each(|_| post_parent(asked.count));
        wait_for_total(target);
        watch.per_item(tasks)
    };
    run(asked.count / 10);
    Ok(Some(run(asked.count)))
}

pub fn tokio_recursive(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    recursive(asked, |children| {
        runtime.spawn(async move {
            (0..children).for_each(|_| drop(tokio::spawn(async { count_task() })));
            count_task();
        });
    })
}

pub fn rayon_recursive(asked: &Options) -> Outcome {
    let pool = rayon_pool(asked);
    recursive(asked, |children| {
        pool.spawn(move || {
            (0..children).for_each(|_| rayon::spawn(count_task));
            count_task();
        });
    })
}
