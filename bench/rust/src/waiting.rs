//! W22 with Tokio.

use crate::posts::tokio_runtime;
use crate::result::*;
use crate::Options;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, oneshot, Mutex};
use tokio::task::JoinHandle;

// --- mutex ---------------------------------------------------------------------------------------

async fn lock(sum: Arc<Mutex<u64>>, mine: Part, yields: bool) {
    for number in mine {
        let mut locked = sum.lock().await;
        *locked += number;
        if yields {
            tokio::task::yield_now().await;
        }
    }
}

fn lock_in_turn(runtime: &Runtime, asked: &Options, count: u64) -> u64 {
    let sum = Arc::new(Mutex::new(0));
    let yields = asked.name == "mutex_yield";
    let tasks: Vec<_> = (0..asked.chains)
        .map(|index| runtime.spawn(lock(sum.clone(), part_of(index, asked.chains, count), yields)))
        .collect();
    runtime.block_on(async move {
        for each in tasks {
            each.await.unwrap();
        }
        let total = *sum.lock().await;
        total
    })
}

// --- select --------------------------------------------------------------------------------------

type Receivers<const COUNT: usize> = [mpsc::Receiver<u64>; COUNT];

fn lines<const COUNT: usize>() -> (Vec<mpsc::Sender<u64>>, Receivers<COUNT>) {
    let (into, from): (Vec<_>, Vec<_>) = (0..COUNT).map(|_| mpsc::channel(1)).unzip();
    (into, from.try_into().unwrap())
}

async fn send(into: Vec<mpsc::Sender<u64>>, mut back: mpsc::Receiver<u64>, count: u64) {
    for number in 0..count {
        into[number as usize % into.len()].send(number).await.unwrap();
        back.recv().await.unwrap();
    }
}

/// The tasks that receive from any of the named channels.
macro_rules! selecting {
    ($wait:ident, $ready:ident, $count:literal, $($from:ident)*) => {
        async fn $wait(mut from: Receivers<$count>, back: mpsc::Sender<u64>, count: u64) -> u64 {
            let [$($from),*] = &mut from;
            let mut sum = 0;
            for number in 0..count {
                sum += tokio::select! { $(next = $from.recv() => next.unwrap(),)* };
                back.send(number).await.unwrap();
            }
            sum
        }

        async fn $ready(into: Vec<mpsc::Sender<u64>>, mut from: Receivers<$count>, count: u64) -> u64 {
            let [$($from),*] = &mut from;
            let mut sum = 0;
            for number in 0..count {
                into[number as usize % $count].send(number).await.unwrap();
                sum += tokio::select! { $(next = $from.recv() => next.unwrap(),)* };
            }
            sum
        }
    };
}
selecting!(select_2, select_ready_2, 2, a b);
selecting!(select_8, select_ready_8, 8, a b c d e f g h);

fn select(runtime: &Runtime, branches: u64, count: u64) -> u64 {
    let (into_back, back) = mpsc::channel(1);
    let run = |into, selecting: JoinHandle<u64>| {
        runtime.spawn(send(into, back, count));
        runtime.block_on(selecting).unwrap()
    };
    if branches == 2 {
        let (into, from) = lines();
        run(into, runtime.spawn(select_2(from, into_back, count)))
    } else {
        let (into, from) = lines();
        run(into, runtime.spawn(select_8(from, into_back, count)))
    }
}

fn select_ready(runtime: &Runtime, branches: u64, count: u64) -> u64 {
    let selecting = if branches == 2 {
        let (into, from) = lines();
        runtime.spawn(select_ready_2(into, from, count))
    } else {
        let (into, from) = lines();
        runtime.spawn(select_ready_8(into, from, count))
    };
    runtime.block_on(selecting).unwrap()
}

// --- future, spawn -------------------------------------------------------------------------------

type Link = Pin<Box<dyn Future<Output = u64> + Send>>;

/// A continuation is a future that waits for the one before, in a box, as the chain may have any
/// length.
async fn run_chains(chains: u64, continuations: u64) -> u64 {
    let mut sum = 0;
    for _ in 0..chains {
        let (promise, future) = oneshot::channel();
        let mut last: Link = Box::pin(async { future.await.unwrap() });
        for _ in 0..continuations {
            let before = last;
            last = Box::pin(async { before.await + 1 });
        }
        promise.send(0).unwrap();
        sum += last.await;
    }
    sum
}

async fn spawn(count: u64) -> u64 {
    let mut sum = 0;
    for number in 0..count {
        sum += tokio::spawn(async move { number }).await.unwrap();
    }
    sum
}

fn measure_chains(runtime: &Runtime, asked: &Options) -> Outcome {
    let run = |chains| runtime.block_on(runtime.spawn(run_chains(chains, asked.chains))).unwrap();
    let is_right = |chains| run(chains) == chains * asked.chains;
    let chains = asked.count / asked.chains;
    let warm = is_right(chains / 10);
    let watch = Stopwatch::start();
    let measured = is_right(chains);
    let found = watch.per_item(chains * asked.chains);
    if warm && measured {
        Ok(Some(found))
    } else {
        Err("a continuation did not run, or ran twice".into())
    }
}

pub fn waiting(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    let (branches, is_select) = (asked.chains, asked.chains == 2 || asked.chains == 8);
    match asked.name.as_str() {
        "mutex" | "mutex_yield" => measure_sum(asked, |count| lock_in_turn(&runtime, asked, count)),
        "select" if is_select => measure_sum(asked, |count| select(&runtime, branches, count)),
        "select_ready" if is_select => measure_sum(asked, |count| select_ready(&runtime, branches, count)),
        "future" => measure_chains(&runtime, asked),
        "spawn" => measure_sum(asked, |count| runtime.block_on(runtime.spawn(spawn(count))).unwrap()),
        _ => Ok(None),
    }
}
