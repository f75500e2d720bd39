//! W21 with hyper on Tokio: a task for each connection.

use crate::echo::{may_have_descriptors, Client};
use crate::posts::tokio_runtime;
use crate::result::Outcome;
use crate::Options;
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderValue, CONTENT_TYPE, SERVER};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use tokio::net::TcpListener;

/// Path, type and body, as in ../../w21/client.hpp.
const PAGES: [(&str, &str, &str); 2] = [
    ("/plaintext", "text/plain", "Hello, World!"),
    ("/json", "application/json", r#"{"message":"Hello, World!"}"#),
];

async fn answer(asked: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut made = Response::default();
    made.headers_mut().insert(SERVER, HeaderValue::from_static("hyper"));
    match PAGES.iter().find(|page| page.0 == asked.uri().path()) {
        Some((_, kind, body)) => {
            made.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
            *made.body_mut() = Full::from(*body);
        }
        None => *made.status_mut() = StatusCode::NOT_FOUND,
    }
    Ok(made)
}

async fn serve(listener: TcpListener) {
    while let Ok((peer, _)) = listener.accept().await {
        peer.set_nodelay(true).ok();
        // The answers of a batch go out together.
        let connection =
            http1::Builder::new().pipeline_flush(true).serve_connection(TokioIo::new(peer), service_fn(answer));
        tokio::spawn(connection);
    }
}

pub fn pages(asked: &Options) -> Outcome {
    let is_known = PAGES.iter().any(|page| page.0.strip_prefix('/') == Some(asked.name.as_str()));
    if !is_known || !may_have_descriptors(asked.connections + 100) {
        return Ok(None);
    }
    let runtime = tokio_runtime(asked);
    let told = |error: std::io::Error| error.to_string();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(told)?;
    let port = listener.local_addr().map_err(told)?.port();
    runtime.spawn(serve(listener));
    Client::start().map_err(told)?.measure(port, asked.count, "answers/s")
}
