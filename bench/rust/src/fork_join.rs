//! W5 with Rayon: join for two, and a parallel iterator for more, divided down to each child.

use crate::posts::rayon_pool;
use crate::result::{Measurement, Outcome, Stopwatch};
use crate::Options;
use rayon::prelude::*;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (first, second) = rayon::join(|| fib(n - 1), || fib(n - 2));
    first + second
}

const SKYNET_CHILDREN: u64 = 10;
const SKYNET_ROUNDS: u64 = 10;

fn skynet(first: u64, size: u64) -> u64 {
    if size == 1 {
        return first;
    }
    let part = size / SKYNET_CHILDREN;
    (0..SKYNET_CHILDREN as usize)
        .into_par_iter()
        .with_max_len(1)
        .map(|child| skynet(first + child as u64 * part, part))
        .sum()
}

// --- nqueens -------------------------------------------------------------------------------------

/// The queens of the first rows.
#[derive(Clone, Copy)]
struct Board {
    columns: [i8; 16],
    rows: u8,
}

impl Board {
    fn is_free(&self, column: u64) -> bool {
        (0..self.rows as usize).all(|row| {
            let apart = column as i32 - i32::from(self.columns[row]);
            let rows = self.rows as i32 - row as i32;
            apart != 0 && apart != rows && apart != -rows
        })
    }

    fn with(mut self, column: u64) -> Board {
        self.columns[self.rows as usize] = column as i8;
        self.rows += 1;
        self
    }
}

fn nqueens(board: &Board, size: u64) -> u64 {
    if u64::from(board.rows) == size {
        return 1;
    }
    let mut next = [*board; 16];
    let mut count = 0;
    for column in (0..size).filter(|&column| board.is_free(column)) {
        next[count] = board.with(column);
        count += 1;
    }
    next[..count].par_iter().with_max_len(1).map(|each| nqueens(each, size)).sum()
}

/// The nodes and the solutions of the same tree, walked with bit masks of the taken fields.
fn count_queens(left: u64, columns: u32, rising: u32, falling: u32, size: u64) -> (u64, u64) {
    if left == 0 {
        return (1, 1);
    }
    let (mut nodes, mut solutions) = (1, 0);
    let mut open = !(columns | rising | falling) & ((1 << size) - 1);
    while open != 0 {
        let queen = open & open.wrapping_neg();
        let below =
            count_queens(left - 1, columns | queen, (rising | queen) << 1, (falling | queen) >> 1, size);
        nodes += below.0;
        solutions += below.1;
        open &= open - 1;
    }
    (nodes, solutions)
}

// --- matmul --------------------------------------------------------------------------------------

const BLOCK: usize = 32;

/// sum += left * right, for squares inside larger matrices whose rows are `stride` apart.
#[derive(Clone, Copy)]
struct Product {
    left: *const i32,
    right: *const i32,
    sum: *mut i32,
    size: usize,
    stride: usize,
}

// SAFETY: the quarters of `sum` that are computed at the same time do not overlap; the factors
// are only read.
unsafe impl Send for Product {}
unsafe impl Sync for Product {}

impl Product {
    /// A quarter of `sum`, by one of the two pairs of quarters that it needs.
    fn quarter(&self, index: usize, pair: usize) -> Product {
        let half = self.size / 2;
        let (row, column) = (index / 2, index % 2);
        // SAFETY: all three are inside the squares.
        unsafe {
            Product {
                left: self.left.add((row * self.stride + pair) * half),
                right: self.right.add((pair * self.stride + column) * half),
                sum: self.sum.add((row * self.stride + column) * half),
                size: half,
                stride: self.stride,
            }
        }
    }

    fn multiply_block(&self) {
        for row in 0..BLOCK {
            // SAFETY: the rows are inside the squares, and only this product writes `sum`.
            unsafe {
                let left = std::slice::from_raw_parts(self.left.add(row * self.stride), BLOCK);
                let sum = std::slice::from_raw_parts_mut(self.sum.add(row * self.stride), BLOCK);
                for (inner, factor) in left.iter().enumerate() {
                    let right = std::slice::from_raw_parts(self.right.add(inner * self.stride), BLOCK);
                    for (sum, right) in sum.iter_mut().zip(right) {
                        *sum = sum.wrapping_add(factor.wrapping_mul(*right));
                    }
                }
            }
        }
    }
}

fn matmul(of: Product) {
    if of.size == BLOCK {
        return of.multiply_block();
    }
    for pair in 0..2 {
        (0..4_usize).into_par_iter().with_max_len(1).for_each(|index| matmul(of.quarter(index, pair)));
    }
}

struct Matrices {
    size: usize,
    left: Vec<i32>,
    right: Vec<i32>,
    sum: Vec<i32>,
}

impl Matrices {
    fn new(size: usize) -> Matrices {
        let fill =
            |modulus: usize, less: i32| (0..size * size).map(|i| (i % modulus) as i32 - less).collect();
        Matrices { size, left: fill(7, 3), right: fill(11, 5), sum: vec![0; size * size] }
    }

    fn whole(&mut self) -> Product {
        Product {
            left: self.left.as_ptr(),
            right: self.right.as_ptr(),
            sum: self.sum.as_mut_ptr(),
            size: self.size,
            stride: self.size,
        }
    }

    fn times(&self, matrix: &[i32], vector: &[i64]) -> Vec<i64> {
        let dot = |row: &[i32]| row.iter().zip(vector).map(|(&a, &b)| i64::from(a) * b).sum();
        matrix.chunks(self.size).map(dot).collect()
    }

    /// Whether the sum is the product: compares both applied to a vector (Freivalds' check).
    fn are_multiplied(&self) -> bool {
        let vector: Vec<i64> = (0..self.size).map(|i| (i * i % 13) as i64 - 6).collect();
        self.times(&self.sum, &vector) == self.times(&self.left, &self.times(&self.right, &vector))
    }
}

// --- the program ---------------------------------------------------------------------------------

fn fib_by_addition(n: u64) -> u64 {
    (0..n).fold((0, 1), |(last, next), _| (next, last + next)).0
}

/// The number of tasks, and the right result.
fn expect(name: &str, size: u64) -> (u64, u64) {
    match name {
        "fib" => (2 * fib_by_addition(size + 1) - 1, fib_by_addition(size)),
        "skynet" => {
            let rows = std::iter::successors(Some(size), |row| Some(row / SKYNET_CHILDREN));
            let nodes: u64 = rows.take_while(|&row| row != 0).sum();
            (SKYNET_ROUNDS * nodes, SKYNET_ROUNDS * (size * (size - 1) / 2))
        }
        "nqueens" => count_queens(size, 0, 0, 0, size),
        _ => {
            let levels = (size as usize / BLOCK).trailing_zeros();
            ((0..=levels).map(|level| 8_u64.pow(level)).sum(), 1)
        }
    }
}

fn ask(name: &str, size: u64) -> Result<Measurement, String> {
    let (tasks, right) = expect(name, size);
    let mut factors = Matrices::new(if name == "matmul" { size as usize } else { 0 });
    let watch = Stopwatch::start();
    let mut answer = match name {
        "fib" => fib(size),
        "skynet" => (0..SKYNET_ROUNDS).map(|_| skynet(0, size)).sum(),
        "nqueens" => nqueens(&Board { columns: [0; 16], rows: 0 }, size),
        _ => {
            matmul(factors.whole());
            0
        }
    };
    let found = watch.per_item(tasks);
    if name == "matmul" {
        answer = u64::from(factors.are_multiplied());
    }
    if answer != right {
        return Err("the result is wrong".into());
    }
    Ok(Measurement { value: found.value * tasks as f64 * 1e-6, unit: "ms", ..found })
}

/// The warm-up before the clock starts.
fn smaller(name: &str, size: u64) -> u64 {
    match name {
        "skynet" => (size / 10).max(1),
        "matmul" => (size / 4).max(BLOCK as u64),
        _ => {
            if size < 8 {
                size
            } else {
                size - 4
            }
        }
    }
}

pub fn measure(asked: &Options) -> Outcome {
    let (name, size) = (asked.name.as_str(), asked.count);
    if !["fib", "skynet", "nqueens", "matmul"].contains(&name) {
        return Ok(None);
    }
    rayon_pool(asked).install(|| {
        ask(name, smaller(name, size))?;
        ask(name, size).map(Some)
    })
}
