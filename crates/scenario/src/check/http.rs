//! Web clients and servers.

use super::arrivals::times;
use super::messages::{drawn, group};
use crate::checker::Checker;
use crate::schema::{HostsRecord, HttpRecord, ScenarioRecord, ServerRecord, TrafficKind};

pub(super) fn check(scenario: &ScenarioRecord, name: &str, http: &HttpRecord, index: &str, checker: &mut Checker) {
    let what = format!("traffic `{name}`, which is of modelled web clients");
    let help = "use modelled hosts, or programs such as nginx and ab, with traffic of kind = \"command\"";
    group(scenario, (&what, help), &http.to, &["traffic", index, "to"], checker);
    if http.clients.is_empty() {
        let message = format!("traffic `{name}` has no clients");
        checker.problem(&["traffic", index, "clients"], message, "", Some("clients = [{ on = \"GROUP\" }]"));
    }
    let mut seen = vec![http.to.as_str()];
    for (place, clients) in http.clients.iter().enumerate() {
        let place = place.to_string();
        let path = |key: &'static str| ["traffic", index, "clients", place.as_str(), key];
        let on = clients.on.as_str();
        if seen.contains(&on) {
            let message = format!("`{on}` is in traffic `{name}` twice");
            let help = "servers and each kind of clients need hosts of their own";
            checker.problem(&path("on"), message, "once more", Some(help));
        } else if group(scenario, (&what, help), on, &path("on"), checker) {
            let modelled = scenario.hosts.get(on).is_some_and(|group| group.model.is_some());
            let costs = [("cpu-per-request", clients.cpu_per_request), ("cpu-per-session", clients.cpu_per_session)];
            for (key, _) in costs.into_iter().filter(|(_, cost)| !cost.is_zero() && !modelled) {
                let message = format!("`traffic.{name}.clients.{place}.{key}` takes a core, and `{on}` has none");
                checker.problem(
                    &path(key),
                    message,
                    "",
                    Some(&format!("give it cores: [hosts] {on} = {{ …, model = {{}} }}")),
                );
            }
        }
        seen.push(on);
    }
    drawn(&format!("traffic.{name}.page"), &http.page.0, &["traffic", index, "page"], checker);
    times(scenario, name, (http.start, http.stop), index, checker);
}

/// Checks the server of the host group `name`.
pub(super) fn server(
    scenario: &ScenarioRecord,
    server: &ServerRecord,
    group: &HostsRecord,
    name: &str,
    checker: &mut Checker,
) {
    let asked = |kind: &TrafficKind| matches!(kind, TrafficKind::Http(http) if http.to.as_str() == name);
    if !scenario.traffic.iter().any(|traffic| asked(&traffic.kind)) {
        let message = format!("`hosts.{name}.server` serves web clients, and no traffic has any that ask it");
        let help = format!("add [[traffic]] of kind = \"http\" with to = \"{name}\", or leave `server` out");
        checker.problem(&["hosts", name, "server"], message, "", Some(&help));
    }
    let costs = [
        ("cpu-per-connection", server.cpu_per_connection),
        ("cpu-per-request", server.cpu_per_request),
        ("cpu-per-open", server.cpu_per_open),
    ];
    for (key, _) in costs.into_iter().filter(|(_, cost)| !cost.is_zero() && group.model.is_none()) {
        let message = format!("`hosts.{name}.server.{key}` takes a core, and the hosts have none");
        let help = "give them cores: model = { cores = 4 }";
        checker.problem(&["hosts", name, "server", key], message, "", Some(help));
    }
}
