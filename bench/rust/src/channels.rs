//! W8 with Tokio, whose channels have one receiver. Batches are reserved places, and `recv_many`.

use crate::posts::tokio_runtime;
use crate::result::*;
use crate::Options;
use tokio::runtime::Runtime;
use tokio::sync::mpsc;

const PLACES: usize = 1024;
const BATCH: usize = 64;

async fn send(into: mpsc::Sender<u64>, mine: Part) {
    for number in mine {
        into.send(number).await.unwrap();
    }
}

async fn receive(mut from: mpsc::Receiver<u64>) -> u64 {
    let mut sum = 0;
    while let Some(number) = from.recv().await {
        sum += number;
    }
    sum
}

/// These sends are no waits: with one worker the receiver begins when a sender has sent all.
async fn send_unbounded(into: mpsc::UnboundedSender<u64>, mine: Part) {
    for number in mine {
        into.send(number).unwrap();
    }
}

async fn receive_unbounded(mut from: mpsc::UnboundedReceiver<u64>) -> u64 {
    let mut sum = 0;
    while let Some(number) = from.recv().await {
        sum += number;
    }
    sum
}

async fn send_batches(into: mpsc::Sender<u64>, mut mine: Part) {
    while !mine.is_empty() {
        let count = BATCH.min((mine.end - mine.start) as usize);
        for (place, number) in into.reserve_many(count).await.unwrap().zip(mine.by_ref()) {
            place.send(number);
        }
    }
}

async fn receive_batches(mut from: mpsc::Receiver<u64>) -> u64 {
    let mut some = Vec::with_capacity(BATCH);
    let mut sum = 0;
    while from.recv_many(&mut some, BATCH).await != 0 {
        sum += some.drain(..).sum::<u64>();
    }
    sum
}

/// The channel is closed when the last sender has dropped its end.
fn stream(runtime: &Runtime, asked: &Options, count: u64) -> u64 {
    let parts = (0..asked.producers).map(|index| part_of(index, asked.producers, count));
    let receiver = if asked.name == "unbounded" {
        let (into, from) = mpsc::unbounded_channel();
        let receiver = runtime.spawn(receive_unbounded(from));
        parts.for_each(|mine| drop(runtime.spawn(send_unbounded(into.clone(), mine))));
        receiver
    } else {
        let (into, from) = mpsc::channel(PLACES);
        let batched = asked.name == "batched";
        let receiver =
            if batched { runtime.spawn(receive_batches(from)) } else { runtime.spawn(receive(from)) };
        for mine in parts {
            let into = into.clone();
            if batched {
                runtime.spawn(send_batches(into, mine));
            } else {
                runtime.spawn(send(into, mine));
            }
        }
        receiver
    };
    runtime.block_on(receiver).unwrap()
}

async fn play(mut from: mpsc::Receiver<u64>, into: mpsc::Sender<u64>, times: u64) -> u64 {
    let mut sum = 0;
    for _ in 0..times {
        let token = from.recv().await.unwrap();
        sum += token;
        // The other player may have ended: the last token has no receiver.
        let _ = into.send(token + 1).await;
    }
    sum
}

/// The token is 0, 1, 2, ...
fn ping_pong(runtime: &Runtime, count: u64) -> u64 {
    let (into_first, of_first) = mpsc::channel(1);
    let (into_second, of_second) = mpsc::channel(1);
    into_first.try_send(0).unwrap();
    let first = runtime.spawn(play(of_first, into_second, (count + 1) / 2));
    let second = runtime.spawn(play(of_second, into_first, count / 2));
    runtime.block_on(async { first.await.unwrap() + second.await.unwrap() })
}

async fn play_unbounded(
    mut from: mpsc::UnboundedReceiver<u64>,
    into: mpsc::UnboundedSender<u64>,
    times: u64,
) -> u64 {
    let mut sum = 0;
    for _ in 0..times {
        let token = from.recv().await.unwrap();
        sum += token;
        let _ = into.send(token + 1);
    }
    sum
}

/// The case `channel` of W7.
pub fn token_by_channels(runtime: &Runtime, count: u64) -> u64 {
    let (into_first, of_first) = mpsc::unbounded_channel();
    let (into_second, of_second) = mpsc::unbounded_channel();
    into_first.send(0).unwrap();
    let first = runtime.spawn(play_unbounded(of_first, into_second, (count + 1) / 2));
    let second = runtime.spawn(play_unbounded(of_second, into_first, count / 2));
    runtime.block_on(async { first.await.unwrap() + second.await.unwrap() })
}

pub fn channels(asked: &Options) -> Outcome {
    let runtime = tokio_runtime(asked);
    match asked.name.as_str() {
        "bounded" | "unbounded" | "batched" if asked.consumers == 1 => {
            measure_sum(asked, |count| stream(&runtime, asked, count))
        }
        "ping_pong" => measure_sum(asked, |count| ping_pong(&runtime, count)),
        _ => Ok(None),
    }
}
