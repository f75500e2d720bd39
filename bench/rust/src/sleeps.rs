//! W7 and W9 to W12 with Tokio: tasks that wait for each other or for a time.

use crate::channels::token_by_channels;
use crate::posts::tokio_runtime;
use crate::result::*;
use crate::Options;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::time::{sleep, sleep_until, Sleep};

const HOUR: Duration = Duration::from_secs(3600);

// --- W7 ------------------------------------------------------------------------------------------

async fn pass(mine: Arc<Notify>, other: Arc<Notify>, times: u64) {
    for _ in 0..times {
        mine.notified().await;
        other.notify_one();
    }
}

fn play(runtime: &Runtime, switches: u64) {
    let (first, second) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let there = runtime.spawn(pass(first.clone(), second.clone(), switches / 2));
    let back = runtime.spawn(pass(second, first.clone(), switches / 2));
    first.notify_one();
    runtime.block_on(async { (there.await, back.await) }).1.unwrap();
}

pub fn ping_pong(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    if asked.name == "channel" {
        return measure_sum(asked, |count| token_by_channels(&runtime, count));
    }
    if asked.name != "coroutine" {
        return Ok(None);
    }
    play(&runtime, asked.count / 10);
    let watch = Stopwatch::start();
    play(&runtime, asked.count);
    Ok(Some(watch.per_item(asked.count)))
}

// --- W9 ------------------------------------------------------------------------------------------

/// The deadlines are in a second that begins when all are set.
fn sleepers(runtime: &Runtime, count: u64) -> Outcome {
    let late = Arc::new(Lateness::new(count));
    let mut random = Random(1);
    let begin = Instant::now() + Duration::from_micros(3 * count);
    let deadlines: Vec<Instant> = (0..count).map(|_| begin + random.below(Duration::from_secs(1))).collect();
    let target = total_run() + count;
    let watch = Stopwatch::start();
    for (index, deadline) in deadlines.into_iter().enumerate() {
        let late = late.clone();
        runtime.spawn(async move {
            sleep_until(deadline.into()).await;
            late.record(index, deadline);
            count_task();
        });
    }
    let setting_ns = watch.began.elapsed().as_nanos() as f64;
    wait_for_total(target);
    let mut found = watch.per_item(count);
    found.beside.push(("to set", setting_ns / count as f64, "ns"));
    late.report(found)
}

/// A task that sleeps a number of times, for less than `span` each time.
async fn sleep_often(count: u64, span: Duration) -> Lateness {
    let late = Lateness::new(count);
    let mut random = Random(1);
    for index in 0..count as usize {
        let deadline = Instant::now() + random.below(span);
        sleep_until(deadline.into()).await;
        late.record(index, deadline);
    }
    late
}

fn single(runtime: &Runtime, count: u64) -> Outcome {
    let watch = Stopwatch::start();
    let sleeper = runtime.spawn(sleep_often(count, Duration::from_millis(20)));
    let late = runtime.block_on(sleeper).unwrap();
    late.report(watch.per_item(count))
}

/// Sets all timers and is ready then: the first poll of a timer sets it.
struct SetAll<'a>(&'a mut [Pin<Box<Sleep>>]);

impl Future for SetAll<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<bool> {
        Poll::Ready(self.0.iter_mut().all(|each| each.as_mut().poll(context).is_pending()))
    }
}

/// Cancels a timer by dropping it.
async fn set_and_cancel(count: u64) -> Outcome {
    let watch = Stopwatch::start();
    let mut timers: Vec<_> = (0..count).map(|_| Box::pin(sleep(HOUR))).collect();
    if !SetAll(&mut timers).await {
        return Err("a timer was early".into());
    }
    drop(timers);
    Ok(Some(watch.per_item(count)))
}

pub fn timers(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    match asked.name.as_str() {
        "coroutine" => sleepers(&runtime, asked.count),
        "single" => single(&runtime, asked.count),
        "cancel" => runtime.block_on(runtime.spawn(set_and_cancel(asked.count))).unwrap(),
        _ => Ok(None),
    }
}

// --- W10 -----------------------------------------------------------------------------------------

pub fn memory(asked: &Options) -> Outcome {
    let asleep = asked.name == "asleep";
    if !asleep && asked.name != "parked" {
        return Ok(None);
    }
    let runtime = tokio_runtime(asked);
    let wake = Arc::new(Notify::new());
    let put_to_sleep = |count: u64| {
        let target = total_run() + count;
        for _ in 0..count {
            if asleep {
                runtime.spawn(async {
                    count_task();
                    sleep(HOUR).await;
                });
            } else {
                let wake = wake.clone();
                runtime.spawn(async move {
                    count_task();
                    wake.notified().await;
                });
            }
        }
        wait_for_total(target);
        std::thread::sleep(Duration::from_millis(100));
    };
    let resident_bytes = || 1024.0 * sum_of_fields("/proc/self/status", "VmRSS:") as f64;
    put_to_sleep(100);
    let watch = Stopwatch::start();
    let before = resident_bytes();
    put_to_sleep(asked.count);
    let found = watch.per_item(asked.count);
    let value = (resident_bytes() - before) / asked.count as f64;
    Ok(Some(Measurement { value, unit: "bytes", ..found }))
}

// --- W11 -----------------------------------------------------------------------------------------

#[derive(Default)]
struct Load {
    steps: AtomicU64,
    ending: AtomicBool,
}

async fn compute(load: Arc<Load>, step: Duration) {
    while !load.ending.load(Relaxed) {
        let begin = Instant::now();
        while begin.elapsed() < step {}
        load.steps.fetch_add(1, Relaxed);
        tokio::task::yield_now().await;
    }
}

pub fn saturated(asked: &Options) -> Outcome {
    if asked.name != "saturated" {
        return Ok(None);
    }
    let runtime = tokio_runtime(asked);
    let load = Arc::new(Load::default());
    let step = Duration::from_nanos(asked.work_ns);
    let watch = Stopwatch::start();
    let busy: Vec<_> = (0..asked.chains).map(|_| runtime.spawn(compute(load.clone(), step))).collect();
    let sleeper = runtime.spawn(sleep_often(asked.count, Duration::from_millis(asked.span_ms)));
    let late = runtime.block_on(sleeper).unwrap();
    load.ending.store(true, Relaxed);
    for each in busy {
        runtime.block_on(each).unwrap();
    }
    let worked = step.as_secs_f64() * load.steps.load(Relaxed) as f64;
    let share = worked / (watch.began.elapsed().as_secs_f64() * asked.workers as f64);
    let mut found = watch.per_item(asked.count);
    found.beside.push(("busy", 100.0 * share, "%"));
    late.report(found)
}

// --- W12 -----------------------------------------------------------------------------------------

fn wakes(runtime: &Runtime, count: u64) -> Measurement {
    let mut latencies = Vec::with_capacity(count as usize);
    let watch = Stopwatch::start();
    for _ in 0..count {
        let latency = Arc::new(AtomicU64::new(0));
        let (told, posted) = (latency.clone(), Instant::now());
        runtime.spawn(async move { told.store(posted.elapsed().as_nanos() as u64, Release) });
        while latency.load(Acquire) == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
        latencies.push(latency.load(Relaxed) as i64);
    }
    let mut found = watch.per_item(count);
    found.report_percentiles(latencies, 0.5);
    found
}

/// Context switches of both kinds, of all threads of this process except for the main thread.
fn switches_of_workers() -> u64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let workers = threads.filter(|thread| thread.file_name() != std::process::id().to_string().as_str());
    let status = |thread: std::fs::DirEntry| format!("{}/status", thread.path().display());
    workers.map(|worker| sum_of_fields(&status(worker), "voluntary_ctxt_switches:")).sum()
}

fn idle(runtime: &Runtime, milliseconds: u64) -> Measurement {
    wakes(runtime, 10);
    std::thread::sleep(Duration::from_millis(100));
    let watch = Stopwatch::start();
    let before = switches_of_workers();
    std::thread::sleep(Duration::from_millis(milliseconds));
    let value = (switches_of_workers() - before) as f64;
    Measurement { value, unit: "switches", ..watch.per_item(milliseconds) }
}

pub fn wake(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    Ok(match asked.name.as_str() {
        "wake" => Some(wakes(&runtime, asked.count)),
        "idle" => Some(idle(&runtime, asked.count)),
        _ => None,
    })
}
