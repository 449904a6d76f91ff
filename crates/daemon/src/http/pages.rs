//! The pages of every daemon.

use serde::Serialize;

use super::{Request, Response};
use crate::metrics;

/// The answer to `request`, for which one of `metrics` and `status` is asked, or neither. Over TCP only `/metrics` is to be
/// had, which must name nobody: any user of the host can ask.
pub fn answer<S: Serialize>(
    request: &Request,
    metrics: impl FnOnce() -> String,
    status: impl FnOnce() -> S,
) -> Response {
    match (request.path.as_str(), request.tcp) {
        ("/metrics", _) => Response { status: 200, kind: metrics::KIND, body: metrics().into_bytes() },
        ("/status", false) => match serde_json::to_vec(&status()) {
            Ok(body) => Response { status: 200, kind: "application/json", body },
            Err(error) => Response::text(500, format!("{error}\n")),
        },
        (_, false) => Response::text(404, "there are /metrics, /status and /events\n"),
        (_, true) => Response::text(404, "there is /metrics; the rest is on the unix socket\n"),
    }
}
