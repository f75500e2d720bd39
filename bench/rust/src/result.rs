//! The measurements of a run.

use crate::Options;
use std::fs::read_to_string;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering::*};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// None: there is no case of that name. An error: the run is void.
pub type Outcome = Result<Option<Measurement>, String>;

#[derive(Default)]
pub struct Measurement {
    pub value: f64,
    pub unit: &'static str,
    pub cpu_seconds: f64,
    pub items: u64,
    pub beside: Vec<(&'static str, f64, &'static str)>,
}

impl Measurement {
    pub fn json(&self, workload: &str, case: &str, runtime: &str) -> String {
        let beside: Vec<String> = self
            .beside
            .iter()
            .map(|(name, value, unit)| format!(r#""{name}": [{value:.4}, "{unit}"]"#))
            .collect();
        format!(
            r#"{{"workload": "{}", "case": "{case}", "runtime": "{runtime}", "value": {:.4}, "unit": "{}", "#,
            workload.to_uppercase(),
            self.value,
            self.unit
        ) + &format!(
            r#""cpu_seconds": {:.6}, "items": {}, "beside": {{{}}}, "peak_rss_bytes": {}}}"#,
            self.cpu_seconds,
            self.items,
            beside.join(", "),
            1024 * sum_of_fields("/proc/self/status", "VmHWM:")
        )
    }

    /// Reports microseconds: as the value the percentile `share`, and beside it other percentiles.
    pub fn report_percentiles(&mut self, mut values_ns: Vec<i64>, share: f64) {
        values_ns.sort_unstable();
        let at = |share: f64| {
            let rank = (share * values_ns.len() as f64) as usize;
            values_ns[rank.min(values_ns.len() - 1)] as f64 * 1e-3
        };
        self.value = at(share);
        self.unit = "us";
        for (name, other) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            if other != share {
                self.beside.push((name, at(other), "us"));
            }
        }
    }
}

/// The sum of the numbers in a file of /proc behind the names with the given end; 0 without any.
pub fn sum_of_fields(path: &str, end: &str) -> u64 {
    let text = read_to_string(path).unwrap_or_default();
    let number = |line: &str| {
        let mut words = line.split_whitespace();
        if words.next()?.ends_with(end) {
            words.next()?.parse::<u64>().ok()
        } else {
            None
        }
    };
    text.lines().filter_map(number).sum()
}

fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes only the time, which exists.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Real time and CPU time since its construction.
pub struct Stopwatch {
    pub began: Instant,
    began_cpu: f64,
}

impl Stopwatch {
    pub fn start() -> Self {
        let began_cpu = cpu_seconds();
        Self { began: Instant::now(), began_cpu }
    }

    pub fn per_item(&self, items: u64) -> Measurement {
        let elapsed = self.began.elapsed().as_nanos() as f64;
        Measurement {
            value: elapsed / items as f64,
            unit: "ns",
            cpu_seconds: cpu_seconds() - self.began_cpu,
            items,
            ..Measurement::default()
        }
    }
}

// --- numbers that are passed on ------------------------------------------------------------------

/// The numbers of a task.
pub type Part = std::ops::Range<u64>;

/// The numbers below `count` that are those of task `index` of `tasks`.
pub fn part_of(index: u64, tasks: u64, count: u64) -> Part {
    count * index / tasks..count * (index + 1) / tasks
}

/// As measure_sum in ../../support/numbers.hpp.
pub fn measure_sum(asked: &Options, pass: impl Fn(u64) -> u64) -> Outcome {
    let is_right = |count: u64| pass(count) == (0..count).sum::<u64>();
    let warm = is_right(asked.count / 10);
    let watch = Stopwatch::start();
    let sum = pass(asked.count);
    let found = watch.per_item(asked.count);
    if warm && sum == (0..asked.count).sum::<u64>() {
        Ok(Some(found))
    } else {
        Err("a number was lost, or came twice".into())
    }
}

// --- tasks that ran, counted by each thread for itself -------------------------------------------

#[repr(align(128))]
struct Line(AtomicU64);

#[allow(clippy::declare_interior_mutable_const)]
const EMPTY: Line = Line(AtomicU64::new(0));
static LINES: [Line; 256] = [EMPTY; 256];
static CLAIMED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static OWN: &'static Line = &LINES[CLAIMED.fetch_add(1, Relaxed)];
}

pub fn count_task() {
    OWN.with(|own| own.0.store(own.0.load(Relaxed) + 1, Release));
}

pub fn total_run() -> u64 {
    LINES.iter().map(|line| line.0.load(Acquire)).sum()
}

/// Sleeps until the wanted number of tasks ran. It looks rarely while many are left, as
/// tally::wait_for_total in C++.
pub fn wait_for_total(target: u64) {
    let (began, first) = (Instant::now(), total_run());
    loop {
        let done = total_run();
        if done >= target {
            return;
        }
        let rest = began.elapsed().as_secs_f64() * (target - done) as f64 / (done - first + 1) as f64;
        sleep(Duration::from_secs_f64((rest / 3.0).clamp(50e-6, 5e-3)));
    }
}

// --- sleepers ------------------------------------------------------------------------------------

/// A generator with the same numbers in each run: Vigna's splitmix64.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        Duration::from_nanos((mixed ^ (mixed >> 31)) % limit.as_nanos() as u64)
    }
}

/// The lateness of each sleeper, in nanoseconds.
pub struct Lateness(Vec<AtomicI64>);

impl Lateness {
    pub fn new(count: u64) -> Self {
        Self((0..count).map(|_| AtomicI64::new(0)).collect())
    }

    pub fn record(&self, index: usize, deadline: Instant) {
        let now = Instant::now();
        let late = now.saturating_duration_since(deadline).as_nanos() as i64;
        let early = deadline.saturating_duration_since(now).as_nanos() as i64;
        self.0[index].store(late - early, Release);
    }

    pub fn report(&self, mut found: Measurement) -> Outcome {
        let values: Vec<i64> = self.0.iter().map(|each| each.load(Acquire)).collect();
        if values.iter().any(|&late| late < 0) {
            return Err("a timer was early".into());
        }
        found.report_percentiles(values, 0.99);
        Ok(Some(found))
    }
}
