//! W13 with Tokio: a task for each connection.

use crate::posts::tokio_runtime;
use crate::result::{Outcome, Stopwatch};
use crate::{called_as, Options};
use std::io::{Read, Write};
use std::os::unix::io::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn session(mut peer: TcpStream, buffer_bytes: usize) -> std::io::Result<()> {
    peer.set_nodelay(true)?;
    let mut buffer = vec![0; buffer_bytes];
    loop {
        match peer.read(&mut buffer).await? {
            0 => return Ok(()),
            size => peer.write_all(&buffer[..size]).await?,
        }
    }
}

async fn serve(listener: TcpListener, buffer_bytes: usize) {
    while let Ok((peer, _)) = listener.accept().await {
        tokio::spawn(session(peer, buffer_bytes));
    }
}

/// The answer of the client: the type report in ../../support/client_process.hpp.
struct Report {
    elapsed_ns: f64,
    p50_us: f64,
    p99_us: f64,
}

pub struct Client {
    process: Child,
    talk: UnixStream,
}

impl Client {
    /// Starts the client with the options of this program.
    pub fn start() -> std::io::Result<Client> {
        let (talk, other) = UnixStream::pair()?;
        let process = Command::new(called_as().with_file_name("client"))
            .args(std::env::args().skip(1))
            .stdin(Stdio::from(OwnedFd::from(other)))
            .spawn()?;
        Ok(Client { process, talk })
    }

    fn ask(&mut self, word: &[u8]) -> Result<Report, String> {
        let mut answer = [0; 224];
        self.talk.write_all(word).map_err(|error| error.to_string())?;
        self.talk.read_exact(&mut answer).map_err(|error| error.to_string())?;
        let (numbers, failure) = answer.split_at(24);
        let why = String::from_utf8_lossy(failure);
        match why.trim_end_matches('\0') {
            "" => {
                let number = |at: usize| f64::from_le_bytes(numbers[at..at + 8].try_into().unwrap());
                Ok(Report { elapsed_ns: number(0), p50_us: number(8), p99_us: number(16) })
            }
            why => Err(why.into()),
        }
    }

    /// `what`: the unit of the rate.
    pub fn measure(&mut self, port: u16, messages: u64, what: &'static str) -> Outcome {
        const GO: [u8; 1] = [0];
        self.ask(&port.to_le_bytes())?;
        let watch = Stopwatch::start();
        let answer = self.ask(&GO)?;
        let mut found = watch.per_item(messages);
        self.ask(&GO)?; // to finish
        found.value = answer.elapsed_ns / messages as f64;
        found.beside = vec![
            ("p50", answer.p50_us, "us"),
            ("p99", answer.p99_us, "us"),
            ("rate", messages as f64 / answer.elapsed_ns * 1e9, what),
        ];
        Ok(Some(found))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.talk.shutdown(std::net::Shutdown::Both).ok(); // it no longer waits for commands
        self.process.wait().ok();
    }
}

/// Asks for the descriptors, and returns whether this process may have so many.
pub fn may_have_descriptors(count: u64) -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls access only the limit, which exists.
    unsafe {
        libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit);
        limit.rlim_cur = limit.rlim_cur.max(count);
        limit.rlim_max = limit.rlim_max.max(count);
        libc::setrlimit(libc::RLIMIT_NOFILE, &limit) == 0
    }
}

pub fn echo(asked: &Options) -> Outcome {
    if asked.name != "echo" || !may_have_descriptors(asked.connections + asked.idle + 100) {
        return Ok(None);
    }
    let buffer_bytes = if asked.size <= 4096 { 4096 } else { 1 << 16 };
    let runtime = tokio_runtime(asked);
    let told = |error: std::io::Error| error.to_string();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(told)?;
    let port = listener.local_addr().map_err(told)?.port();
    runtime.spawn(serve(listener, buffer_bytes));
    Client::start().map_err(told)?.measure(port, asked.count, "messages/s")
}
