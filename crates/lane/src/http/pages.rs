//! What is answered to which path.

use super::{Request, Response};
use crate::metrics;
use crate::snapshot::Status;

/// The answer to `request`. Over TCP only `/metrics` is to be had, which names no connection: any user of the host can ask.
pub fn answer(request: &Request, status: impl FnOnce() -> Status) -> Response {
    match (request.path.as_str(), request.tcp) {
        ("/metrics", _) => Response { status: 200, kind: metrics::KIND, body: metrics::text(&status()).into_bytes() },
        ("/status", false) => match serde_json::to_vec(&status()) {
            Ok(body) => Response { status: 200, kind: "application/json", body },
            Err(error) => Response::text(500, format!("{error}\n")),
        },
        (_, false) => Response::text(404, "there are /metrics, /status and /events\n"),
        (_, true) => Response::text(404, "there is /metrics; the rest is on the unix socket\n"),
    }
}
