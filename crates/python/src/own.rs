//! Congestion controls and judges written in Python.
//!
//! Python's lock is taken for a callback and released after it, and callbacks that a class does not have take none. Times
//! are seconds, rates bits per second, amounts bytes.

use std::collections::BTreeSet;

use headway_control::congestion::{self, Cause, Needs, OwnControl, OwnControlKind, State, Window};
use headway_control::lanes::{self, JudgeNeeds, OwnJudge, OwnJudgeKind, Role};
use headway_control::own::{CallbackError, Registry};
use headway_units::{Rate, Span, Time};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// 2⁵³: from here on floats are not all whole numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A class, what it overrides or needs, and the names and defaults of its parameters.
type Given = (String, Py<PyType>, BTreeSet<String>, Vec<(String, f64)>);
/// The same of a judge, with the age at which it is asked and the window of its rate, in seconds.
type GivenJudge = (String, Py<PyType>, BTreeSet<String>, Vec<(String, f64)>, (Option<f64>, Option<f64>));

/// Controls and judges by name, for a run.
#[pyclass(frozen, module = "headway._native")]
#[derive(Debug, Clone)]
pub struct Policies {
    pub(crate) registry: Registry,
}

#[pymethods]
impl Policies {
    #[new]
    fn new(controls: Vec<Given>, judges: Vec<GivenJudge>) -> PyResult<Policies> {
        let mut registry = Registry::default();
        let bad = |error: headway_control::own::BadName| PyValueError::new_err(error.to_string());
        for (name, class, has, defaults) in controls {
            registry = registry.with_control(&name, ControlClass { class, has, defaults }).map_err(bad)?;
        }
        for (name, class, has, defaults, (age, window)) in judges {
            let needs = JudgeNeeds {
                age: age.map(Span::from_secs_f64),
                only_age: has.contains("only_age"),
                counts_bytes: !has.contains("only_age"),
                compares_lanes: has.contains("compares_lanes"),
                window: window.map(Span::from_secs_f64),
                common_base: has.contains("common_base"),
            };
            registry = registry.with_judge(&name, JudgeClass { class, has, defaults, needs }).map_err(bad)?;
        }
        Ok(Policies { registry })
    }
}

/// Who a policy decides for.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Flow {
    /// int: Identity of the flow: the same in every run of the scenario.
    id: u64,
    /// int: Which of its connections, from 0, if the flow is sent several times.
    copy: u8,
    /// int: Which subflow of the connection, from 0; 0 for a judge.
    subflow: u8,
    /// int: What random choices should follow from.
    seed: u64,
}

/// What a control learns when its connection is established.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Start {
    /// float: The time, in seconds.
    now: f64,
    /// float or None: The round trip of the handshake, in seconds, if it was measured.
    rtt: Option<f64>,
}

/// A sample of the delivery rate.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Delivery {
    /// int: Bytes that had been delivered when the segment was sent that gave the sample.
    before: u64,
    /// int: Bytes delivered since.
    bytes: u64,
    /// float or None: In so many seconds; None if the sample is no rate.
    interval: Option<f64>,
    /// bool: The application limited the sender.
    app_limited: bool,
}

/// A subflow of the same connection.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Sibling {
    /// float: Congestion window, in bytes; the slow-start threshold while it recovers.
    cwnd: f64,
    /// float: Smoothed round trip, in seconds.
    srtt: f64,
    /// float: Shortest round trip, in seconds.
    min_rtt: f64,
    /// int: Bytes acknowledged between the last two losses, or since the last one if that is more.
    between_losses: u64,
    /// bool: It is the subflow that is asked.
    own: bool,
}

/// What a control learns from an acknowledgement.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Ack {
    /// float: When it arrived, in seconds.
    now: f64,
    /// int: Bytes newly acknowledged, selectively, too.
    acked: u64,
    /// int: Bytes ever delivered, with these.
    total: u64,
    /// int: Bytes found lost by it.
    lost: u64,
    /// int: Bytes ever found lost.
    lost_ever: u64,
    /// int: Bytes in the network before it.
    flight_before: u64,
    /// int: Bytes in the network now.
    flight: u64,
    /// int: Everything below this position is acknowledged.
    una: u64,
    /// int: The position that is sent next.
    nxt: u64,
    /// float or None: The round trip that it measured, in seconds, if it did.
    rtt: Option<f64>,
    /// float or None: Smoothed round trip, in seconds.
    srtt: Option<f64>,
    /// float or None: Shortest round trip seen, in seconds.
    min_rtt: Option<f64>,
    /// bool: It echoes a congestion mark (ECE).
    ece: bool,
    /// bool: The window was what kept the sender from sending.
    cwnd_limited: bool,
    /// str: What the transport repairs: ``"open"``, ``"disorder"``, ``"reducing"``, ``"recovery"`` or ``"loss"``.
    state: &'static str,
    /// float or None: When pacing lets the next segment go, in seconds, if that is later than now.
    departure: Option<f64>,
    /// Delivery or None: A sample of the delivery rate, for controls with ``delivery = True``.
    delivery: Option<Delivery>,
    /// int or None: Bytes not yet acknowledged, of a flow with a deadline.
    remaining: Option<u64>,
    /// float or None: The flow's deadline, in seconds.
    deadline: Option<f64>,
    /// list of Sibling: All subflows of the connection, for controls with ``coupled = True``.
    siblings: Vec<Sibling>,
}

/// Congestion.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Congestion {
    /// float: When it was noticed, in seconds.
    now: f64,
    /// str: ``"loss"``, ``"ece"`` (a mark was echoed) or ``"timeout"``.
    cause: &'static str,
    /// int: What is to be reduced, in bytes: the data in flight, or cwnd with Linux' stack.
    flight: u64,
    /// int: Everything below this position is acknowledged.
    una: u64,
    /// int or None: Bytes not yet acknowledged, of a flow with a deadline.
    remaining: Option<u64>,
    /// float or None: The flow's deadline, in seconds.
    deadline: Option<f64>,
    /// list of Sibling: As of an acknowledgement.
    siblings: Vec<Sibling>,
}

/// What a judge sees of a connection and its lanes.
#[pyclass(frozen, get_all, module = "headway")]
#[derive(Debug, Clone)]
pub struct Seen {
    /// float: The time, in seconds.
    now: f64,
    /// bool: A short lane is alive.
    short_alive: bool,
    /// float or None: The smallest cost of the short lanes that were measured.
    short: Option<f64>,
    /// float or None: The smallest cost of the long lanes that were measured.
    long: Option<f64>,
    /// int: Bytes acknowledged.
    acked: u64,
    /// int: Bytes written and not acknowledged.
    backlog: u64,
    /// float or None: Delivery rate over the last whole window, in bits per second.
    rate: Option<f64>,
}

fn seconds(time: Time) -> f64 {
    time.since(Time::ZERO).as_secs_f64()
}

impl From<&congestion::Sibling> for Sibling {
    fn from(own: &congestion::Sibling) -> Sibling {
        let congestion::Sibling { cwnd, srtt, min_rtt, between_losses, own } = *own;
        let [srtt, min_rtt] = [srtt, min_rtt].map(Span::as_secs_f64);
        Sibling { cwnd: limit(cwnd), srtt, min_rtt, between_losses, own }
    }
}

impl From<&congestion::Ack<'_>> for Ack {
    fn from(ack: &congestion::Ack<'_>) -> Ack {
        let [rtt, srtt, min_rtt] = [ack.rtt, ack.srtt, ack.min_rtt].map(|span| span.map(Span::as_secs_f64));
        Ack {
            now: seconds(ack.now),
            acked: ack.acked,
            total: ack.total,
            lost: ack.lost,
            lost_ever: ack.lost_ever,
            flight_before: ack.flight_before,
            flight: ack.flight,
            una: ack.una,
            nxt: ack.nxt,
            rtt,
            srtt,
            min_rtt,
            ece: ack.ece,
            cwnd_limited: ack.cwnd_limited,
            state: match ack.state {
                State::Open => "open",
                State::Disorder => "disorder",
                State::Reducing => "reducing",
                State::Recovery => "recovery",
                State::Loss => "loss",
            },
            departure: ack.departure.map(seconds),
            delivery: ack.delivery.map(|own| Delivery {
                before: own.before,
                bytes: own.bytes,
                interval: own.interval.map(Span::as_secs_f64),
                app_limited: own.app_limited,
            }),
            remaining: ack.deadline.map(|own| own.remaining),
            deadline: ack.deadline.map(|own| seconds(own.deadline)),
            siblings: ack.siblings.iter().map(Sibling::from).collect(),
        }
    }
}

impl From<&congestion::Event<'_>> for Congestion {
    fn from(event: &congestion::Event<'_>) -> Congestion {
        Congestion {
            now: seconds(event.now),
            cause: match event.cause {
                Cause::Loss => "loss",
                Cause::Ece => "ece",
                Cause::Timeout => "timeout",
            },
            flight: event.flight,
            una: event.una,
            remaining: event.deadline.map(|own| own.remaining),
            deadline: event.deadline.map(|own| seconds(own.deadline)),
            siblings: event.siblings.iter().map(Sibling::from).collect(),
        }
    }
}

impl From<&lanes::Seen> for Seen {
    fn from(seen: &lanes::Seen) -> Seen {
        let lanes::Seen { now, short_alive, short, long, acked, backlog, rate } = *seen;
        let rate = rate.map(|rate| rate.bps() as f64);
        Seen { now: seconds(now), short_alive, short, long, acked: acked.get(), backlog: backlog.get(), rate }
    }
}

/// A window or threshold as Python has it.
fn limit(bytes: u64) -> f64 {
    if bytes == u64::MAX { f64::INFINITY } else { bytes as f64 }
}

/// An instance of `class` for `flow`; its attributes are there before `__init__`.
fn instance(
    py: Python<'_>,
    class: &Py<PyType>,
    flow: &headway_control::own::Flow,
    parameters: Vec<(String, f64)>,
) -> PyResult<Py<PyAny>> {
    // so that Ctrl-C finds the thread in which a callback does not come to its end
    py.import(intern!(py, "headway._own"))?.call_method0(intern!(py, "entered"))?;
    let class = class.bind(py);
    let own = class.call_method1(intern!(py, "__new__"), (class,))?;
    let about = Flow { id: flow.id, copy: flow.copy, subflow: flow.subflow, seed: flow.seed };
    own.setattr(intern!(py, "flow"), about)?;
    own.setattr(intern!(py, "mss"), flow.mss)?;
    let values = pyo3::types::PyDict::new(py);
    for (name, value) in parameters {
        values.set_item(name, value)?;
    }
    own.setattr(intern!(py, "parameters"), values)?;
    own.call_method0(intern!(py, "__init__"))?;
    Ok(own.unbind())
}

/// `given` over `defaults`.
fn parameters(defaults: &[(String, f64)], given: &[(String, f64)]) -> Vec<(String, f64)> {
    let value = |(name, default): &(String, f64)| {
        let own = given.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
        (name.clone(), own.unwrap_or(*default))
    };
    defaults.iter().map(value).collect()
}

fn check(defaults: &[(String, f64)], given: &[(String, f64)]) -> Result<(), String> {
    let Some((name, _)) = given.iter().find(|(own, _)| defaults.iter().all(|(name, _)| name != own)) else {
        return Ok(());
    };
    let known: Vec<&str> = defaults.iter().map(|(name, _)| name.as_str()).collect();
    let known = if known.is_empty() { "none at all".to_owned() } else { known.join(", ") };
    let shown: String = name.chars().take(60).collect();
    Err(format!("it has no parameter `{shown}`; it has {known}"))
}

struct ControlClass {
    class: Py<PyType>,
    has: BTreeSet<String>,
    defaults: Vec<(String, f64)>,
}

impl OwnControlKind for ControlClass {
    fn needs(&self) -> Needs {
        let has = |name: &str| self.has.contains(name);
        Needs {
            observes: has("observe"),
            coupled: has("coupled"),
            delivery: has("delivery"),
            manages_cwnd: has("manages_cwnd"),
            grows_app_limited: has("grows_app_limited"),
            dctcp_ecn: has("dctcp_ecn"),
            paces: has("paces"),
        }
    }

    fn check(&self, given: &[(String, f64)]) -> Result<(), String> {
        check(&self.defaults, given)
    }

    fn open(
        &self,
        flow: &headway_control::own::Flow,
        given: &[(String, f64)],
    ) -> Result<Box<dyn OwnControl>, CallbackError> {
        let own = Python::attach(|py| instance(py, &self.class, flow, parameters(&self.defaults, given)))?;
        Ok(Box::new(Control { own, has: self.has.clone(), seen: None, pace: None }))
    }
}

/// An instance of a subclass of `headway.CongestionControl`.
struct Control {
    own: Py<PyAny>,
    has: BTreeSet<String>,
    /// The window as Python last left it, in whole bytes. As long as the transport leaves it so, Python keeps its fractions.
    seen: Option<(u64, u64)>,
    pace: Option<Rate>,
}

impl Control {
    fn call<'py, A>(
        &mut self,
        name: &Bound<'py, PyString>,
        window: Option<&mut Window>,
        argument: A,
    ) -> Result<(), CallbackError>
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let py = name.py();
        let own = self.own.bind(py).clone();
        if let Some(window) = &window {
            if self.seen.is_none_or(|(cwnd, _)| cwnd != window.cwnd) {
                own.setattr(intern!(py, "cwnd"), window.cwnd)?;
            }
            if self.seen.is_none_or(|(_, ssthresh)| ssthresh != window.ssthresh) {
                own.setattr(intern!(py, "ssthresh"), limit(window.ssthresh))?;
            }
        }
        let answer = own.call_method1(name, argument)?;
        if !answer.is_none() {
            return Err(format!("it returned {}; set self.cwnd or self.ssthresh instead", shown(&answer)).into());
        }
        if let Some(window) = window {
            window.cwnd = bytes("cwnd", &own.getattr(intern!(py, "cwnd"))?)?;
            window.ssthresh = bytes("ssthresh", &own.getattr(intern!(py, "ssthresh"))?)?;
            self.seen = Some((window.cwnd, window.ssthresh));
        }
        if self.has.contains("paces") {
            self.pace = rate(&own.getattr(intern!(py, "pacing_rate"))?)?;
        }
        Ok(())
    }
}

/// A value as an error shows it.
fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something without a repr".to_owned(), |text| text.to_string());
    text.chars().take(80).collect()
}

fn number(what: &str, value: &Bound<'_, PyAny>) -> Result<f64, CallbackError> {
    let number = value.extract::<f64>().map_err(|_| format!("{what} is {}; it must be a number", shown(value)))?;
    if number.is_nan() { Err(format!("{what} is not a number (NaN)").into()) } else { Ok(number) }
}

/// A window or threshold that Python has set.
fn bytes(what: &str, value: &Bound<'_, PyAny>) -> Result<u64, CallbackError> {
    let number = number(what, value)?;
    if number <= 0.0 {
        return Err(format!("{what} is {number}; it must be above 0 bytes").into());
    }
    // cwnd has a bound of its own, and a threshold so far away is none
    Ok(if number >= EXACT { u64::MAX } else { (number as u64).max(1) })
}

fn rate(value: &Bound<'_, PyAny>) -> Result<Option<Rate>, CallbackError> {
    if value.is_none() {
        return Ok(None);
    }
    let number = number("pacing_rate", value)?;
    if number <= 0.0 || number >= EXACT {
        return Err(format!("pacing_rate is {number}; it must be above 0 bit/s, or None").into());
    }
    Ok(Some(Rate::from_bps(number as u64)))
}

impl OwnControl for Control {
    fn on_start(&mut self, start: &congestion::Start, window: &mut Window) -> Result<(), CallbackError> {
        let start = Start { now: seconds(start.now), rtt: start.rtt.map(Span::as_secs_f64) };
        Python::attach(|py| self.call(intern!(py, "on_start"), Some(window), (start,)))
    }

    fn observe(&mut self, ack: &congestion::Ack<'_>, window: &mut Window) -> Result<(), CallbackError> {
        Python::attach(|py| self.call(intern!(py, "observe"), Some(window), (Ack::from(ack),)))
    }

    fn on_ack(&mut self, ack: &congestion::Ack<'_>, window: &mut Window) -> Result<(), CallbackError> {
        Python::attach(|py| self.call(intern!(py, "on_ack"), Some(window), (Ack::from(ack),)))
    }

    fn on_congestion(&mut self, event: &congestion::Event<'_>, window: &mut Window) -> Result<(), CallbackError> {
        Python::attach(|py| self.call(intern!(py, "on_congestion"), Some(window), (Congestion::from(event),)))
    }

    fn on_timeout(&mut self, lost: u64) -> Result<(), CallbackError> {
        if !self.has.contains("on_timeout") {
            return Ok(());
        }
        Python::attach(|py| self.call(intern!(py, "on_timeout"), None, (lost,)))
    }

    fn on_recovered(&mut self, now: Time, window: &mut Window) -> Result<(), CallbackError> {
        if !self.has.contains("on_recovered") {
            return Ok(());
        }
        Python::attach(|py| self.call(intern!(py, "on_recovered"), Some(window), (seconds(now),)))
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) -> Result<(), CallbackError> {
        if !self.has.contains("on_undo") {
            return Ok(());
        }
        Python::attach(|py| self.call(intern!(py, "on_undo"), Some(window), (seconds(now),)))
    }

    fn on_restart(&mut self, now: Time, idle: Span, window: &mut Window) -> Result<(), CallbackError> {
        if !self.has.contains("on_restart") {
            return Ok(());
        }
        let times = (seconds(now), idle.as_secs_f64());
        Python::attach(|py| self.call(intern!(py, "on_restart"), Some(window), times))
    }

    fn pacing(&self) -> Option<Rate> {
        self.pace
    }
}

struct JudgeClass {
    class: Py<PyType>,
    has: BTreeSet<String>,
    defaults: Vec<(String, f64)>,
    needs: JudgeNeeds,
}

impl OwnJudgeKind for JudgeClass {
    fn needs(&self) -> JudgeNeeds {
        self.needs
    }

    fn check(&self, given: &[(String, f64)]) -> Result<(), String> {
        check(&self.defaults, given)
    }

    fn open(
        &self,
        flow: &headway_control::own::Flow,
        given: &[(String, f64)],
    ) -> Result<Box<dyn OwnJudge>, CallbackError> {
        let own = Python::attach(|py| instance(py, &self.class, flow, parameters(&self.defaults, given)))?;
        let (congestion, cost) = (self.has.contains("congestion"), self.has.contains("cost"));
        Ok(Box::new(Judge { own, congestion, cost }))
    }
}

/// An instance of a subclass of `headway.Judge`, and which callbacks it has.
struct Judge {
    own: Py<PyAny>,
    congestion: bool,
    cost: bool,
}

impl OwnJudge for Judge {
    fn congestion(&mut self, before: Option<f64>, delay: Span) -> Result<f64, CallbackError> {
        let delay = delay.as_secs_f64();
        if !self.congestion {
            return Ok(delay);
        }
        Python::attach(|py| {
            number("congestion", &self.own.bind(py).call_method1(intern!(py, "congestion"), (before, delay))?)
        })
    }

    fn cost(&mut self, role: Role, congestion: f64, age: Span) -> Result<f64, CallbackError> {
        if !self.cost {
            return Ok(congestion);
        }
        let role = if role == Role::Short { "short" } else { "long" };
        Python::attach(|py| {
            let arguments = (role, congestion, age.as_secs_f64());
            number("cost", &self.own.bind(py).call_method1(intern!(py, "cost"), arguments)?)
        })
    }

    fn is_long(&mut self, age: Span, seen: &lanes::Seen) -> Result<bool, CallbackError> {
        Python::attach(|py| {
            let arguments = (age.as_secs_f64(), Seen::from(seen));
            let answer = self.own.bind(py).call_method1(intern!(py, "is_long"), arguments)?;
            answer
                .extract::<bool>()
                .map_err(|_| format!("it returned {}; it must be True or False", shown(&answer)).into())
        })
    }
}
