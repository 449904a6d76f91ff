//! What is answered to which path.

use super::{Request, Response};
use crate::metrics;
use crate::snapshot::{Detail, Status};

/// The answer to `request`, given the state in as much detail as it takes. Over TCP only `/metrics` is to be had, which names no connection: any user of the host can ask.
pub fn answer(request: &Request, status: impl FnOnce(Detail) -> Status) -> Response {
    match (request.path.as_str(), request.tcp) {
        ("/metrics", _) => {
            let body = metrics::text(&status(Detail::Summary)).into_bytes();
            Response { status: 200, kind: metrics::KIND, body }
        }
        ("/status", false) => match serde_json::to_vec(&status(Detail::Connections)) {
            Ok(body) => Response { status: 200, kind: "application/json", body },
            Err(error) => Response::text(500, format!("{error}\n")),
        },
        (_, false) => Response::text(404, "there are /metrics, /status and /events\n"),
        (_, true) => Response::text(404, "there is /metrics; the rest is on the unix socket\n"),
    }
}
