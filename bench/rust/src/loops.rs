//! W6 with Rayon: a parallel iterator over the elements.

use crate::posts::rayon_pool;
use crate::result::{Outcome, Stopwatch};
use crate::Options;
use rayon::prelude::*;

const ROUNDS: u64 = 10;
static ODD: u64 = 0x9E37_79B9_7F4A_7C15;

/// The data that the bodies share.
#[derive(Clone, Copy)]
struct Loop {
    count: usize,
    /// ODD, hidden from the compiler, which would merge several multiplications into one.
    odd: u64,
}

fn tiny(index: usize, of: Loop) -> u8 {
    ((index as u64).wrapping_mul(of.odd) >> 56) as u8
}

fn skewed(index: usize, of: Loop) -> u8 {
    let mut value = index as u64;
    for _ in 0..index * 64 / of.count {
        value = value.wrapping_mul(of.odd).wrapping_add(1);
    }
    (value >> 56) as u8
}

fn measure_body(asked: &Options, body: impl Fn(usize, Loop) -> u8 + Copy + Send + Sync) -> Outcome {
    // SAFETY: the element exists.
    let of = Loop { count: asked.count as usize, odd: unsafe { std::ptr::read_volatile(&ODD) } };
    let mut sums = vec![0_u8; of.count];
    let mut repeat = |rounds: u64| {
        for _ in 0..rounds {
            sums.par_iter_mut().enumerate().for_each(|(index, sum)| *sum = sum.wrapping_add(body(index, of)));
        }
    };
    let found = rayon_pool(asked).install(|| {
        repeat(1);
        let watch = Stopwatch::start();
        repeat(ROUNDS);
        watch.per_item(ROUNDS * asked.count)
    });
    let right = |(index, &sum): (usize, &u8)| sum == body(index, of).wrapping_mul(ROUNDS as u8 + 1);
    if !sums.iter().enumerate().all(right) {
        return Err("an index was lost, or came twice".into());
    }
    Ok(Some(found))
}

pub fn measure(asked: &Options) -> Outcome {
    match asked.name.as_str() {
        "tiny" => measure_body(asked, tiny),
        "skewed" => measure_body(asked, skewed),
        _ => Ok(None),
    }
}
