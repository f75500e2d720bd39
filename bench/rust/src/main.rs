//! The benchmarks of Tokio, hyper and Rayon: one program for all workloads, which takes part where
//! it is linked as <workload>/tokio, <workload>/hyper or <workload>/rayon. It has the options and
//! the output of the programs in C++, see ../../README.md. The headers of the workloads describe
//! them, such as ../../w1/post_storm.hpp.

mod channels;
mod echo;
mod fork_join;
mod loops;
mod pages;
mod posts;
mod result;
mod sleeps;
mod waiting;

use result::Outcome;
use std::path::PathBuf;
use std::process::exit;

/// The options, see ../../support/options.hpp.
#[derive(Default)]
pub struct Options {
    name: String,
    workers: u64,
    producers: u64,
    consumers: u64,
    count: u64,
    chains: u64,
    work_ns: u64,
    span_ms: u64,
    connections: u64,
    idle: u64,
    size: u64,
    in_flight: u64,
}

const NOT_OFFERED: i32 = 3;

fn usage_error(what: &str) -> ! {
    eprintln!("{what}");
    exit(64)
}

fn parse(arguments: &[String]) -> Options {
    let mut asked =
        Options { workers: 1, producers: 1, consumers: 1, chains: 1, connections: 1, ..Options::default() };
    for pair in arguments.chunks(2) {
        let (option, value) = match pair {
            [option, value] => (option.as_str(), value),
            _ => usage_error("an option needs a value"),
        };
        let number = match option {
            "--case" => {
                asked.name = value.clone();
                continue;
            }
            "--workers" => &mut asked.workers,
            "--producers" => &mut asked.producers,
            "--consumers" => &mut asked.consumers,
            "--count" => &mut asked.count,
            "--chains" => &mut asked.chains,
            "--work_ns" => &mut asked.work_ns,
            "--span_ms" => &mut asked.span_ms,
            "--connections" => &mut asked.connections,
            "--idle" => &mut asked.idle,
            "--size" => &mut asked.size,
            "--in_flight" => &mut asked.in_flight,
            _ => usage_error("unknown option"),
        };
        *number = value.parse().unwrap_or_else(|_| usage_error("an option needs a number"));
    }
    asked
}

/// The end of the path by which the program was called: <workload>/<runtime>.
fn called_as() -> PathBuf {
    let path = PathBuf::from(std::env::args_os().next().unwrap_or_default());
    std::env::current_dir().unwrap_or_default().join(path)
}

fn last_name(path: Option<&std::path::Path>) -> &str {
    path.and_then(|path| path.file_name()).and_then(|name| name.to_str()).unwrap_or_default()
}

fn main() {
    let path = called_as();
    let (workload, runtime) = (last_name(path.parent()), last_name(Some(&path)));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let asked = parse(&arguments);
    let measure: fn(&Options) -> Outcome = match (workload, runtime) {
        ("w1", "tokio") => posts::tokio_storm,
        ("w2", "tokio") => posts::tokio_repost,
        ("w3", "tokio") => posts::tokio_avalanche,
        ("w4", "tokio") => posts::tokio_recursive,
        ("w7", "tokio") => sleeps::ping_pong,
        ("w8", "tokio") => channels::channels,
        ("w9", "tokio") => sleeps::timers,
        ("w10", "tokio") => sleeps::memory,
        ("w11", "tokio") => sleeps::saturated,
        ("w12", "tokio") => sleeps::wake,
        ("w13", "tokio") => echo::echo,
        ("w21", "hyper") => pages::pages,
        ("w22", "tokio") => waiting::waiting,
        ("w1", "rayon") => posts::rayon_storm,
        ("w3", "rayon") => posts::rayon_avalanche,
        ("w4", "rayon") => posts::rayon_recursive,
        ("w5", "rayon") => fork_join::measure,
        ("w6", "rayon") => loops::measure,
        _ => usage_error("to be called as <workload>/tokio, <workload>/rayon or <workload>/hyper"),
    };
    match measure(&asked) {
        Ok(Some(found)) => println!("{}", found.json(workload, &asked.name, runtime)),
        Ok(None) => {
            eprintln!("{runtime} does not offer {}", asked.name);
            exit(NOT_OFFERED);
        }
        Err(why) => {
            eprintln!("{}: {why}", asked.name);
            exit(1);
        }
    }
}
