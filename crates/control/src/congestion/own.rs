//! Congestion controls that a program gives, by callbacks.
//!
//! Leaves out: nothing of what built-in controls are told. Costs a pointer, a check of the answer and a guard against
//! panics for every call.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use headway_units::{Rate, Span, Time};

use super::{Ack, Event, Start, Window};
use crate::own::{CallbackError, Failures, Flow, PolicyKind, Slot};

/// A larger window is a mistake: 1 TiB is 100 Gbit/s for 88 s.
const MOST_CWND: u64 = 1 << 40;
/// A slower pace is a mistake: a full packet would take more than ten seconds.
const LEAST_PACE: Rate = Rate::from_bps(1_000);

/// A congestion control of the program, for one subflow. It is [`CongestionControl`](super::CongestionControl) behind a
/// pointer: the calls mean the same, in the same order, and may fail.
///
/// What a call leaves in `window` is its answer, in bytes. A `cwnd` below one segment is raised to one, an `ssthresh`
/// below two segments to two (RFC 5681 eq. 4). The run ends with an error if `cwnd` is 0 or above 1 TiB, if `ssthresh` is
/// 0, if `mss` or `growth_limit` were changed, or if the pace is below 1 kbit/s.
pub trait OwnControl: Send {
    /// The connection is established; called once, before anything else.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_start(&mut self, _start: &Start, _window: &mut Window) -> Result<(), CallbackError> {
        Ok(())
    }

    /// News of any kind arrived, in any state: measurements. Only if [`Needs::observes`] says so.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn observe(&mut self, _ack: &Ack<'_>, _window: &mut Window) -> Result<(), CallbackError> {
        Ok(())
    }

    /// New data was acknowledged while the window was fully used and no reduction was under way: grows `cwnd`.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) -> Result<(), CallbackError>;

    /// There is congestion, at most once for each window: sets `ssthresh`. The way of `cwnd` down to it is the
    /// transport's, unless the control [manages it](Needs::manages_cwnd).
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) -> Result<(), CallbackError>;

    /// The retransmission timer has fired, and `lost` bytes were ever found lost. For every time-out, whether or not it was
    /// one more congestion event.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_timeout(&mut self, _lost: u64) -> Result<(), CallbackError> {
        Ok(())
    }

    /// The reduction is complete: `cwnd` has come down to `ssthresh`, and what was lost is repaired.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_recovered(&mut self, _now: Time, _window: &mut Window) -> Result<(), CallbackError> {
        Ok(())
    }

    /// The last congestion was none (Eifel, F-RTO, DSACK): the transport has restored `cwnd` and `ssthresh`.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_undo(&mut self, _now: Time, _window: &mut Window) -> Result<(), CallbackError> {
        Ok(())
    }

    /// Data flows again after nothing was outstanding for `idle`.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn on_restart(&mut self, _now: Time, _idle: Span, _window: &mut Window) -> Result<(), CallbackError> {
        Ok(())
    }

    /// The rate at which to send, asked after each of the calls above, if [`Needs::paces`] says that the control paces.
    fn pacing(&self) -> Option<Rate> {
        None
    }
}

/// What the transport must do for a control: the constants of [`CongestionControl`](super::CongestionControl).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they mean nothing")]
pub struct Needs {
    /// [`OwnControl::observe`] does something.
    pub observes: bool,
    /// It looks at the connection's other subflows: [`Ack::siblings`]. For MPTCP alone.
    pub coupled: bool,
    /// It wants [`Ack::delivery`]. With Linux' loss recovery alone.
    pub delivery: bool,
    /// It sets `cwnd` itself in every state, in [`OwnControl::observe`], which comes last then. With Linux' loss recovery
    /// alone.
    pub manages_cwnd: bool,
    /// [`OwnControl::on_ack`] is for it also when the window was not what kept the sender from sending.
    pub grows_app_limited: bool,
    /// It counts ECN echoes in [`OwnControl::observe`], and the receiver tells marks exactly (RFC 8257 §3.2). With ECN alone.
    pub dctcp_ecn: bool,
    /// It answers [`OwnControl::pacing`].
    pub paces: bool,
}

impl Default for Needs {
    /// It observes, and nothing else.
    fn default() -> Needs {
        Needs {
            observes: true,
            coupled: false,
            delivery: false,
            manages_cwnd: false,
            grows_app_limited: false,
            dctcp_ecn: false,
            paces: false,
        }
    }
}

/// Makes the instances of a congestion control of the program. A function or closure of a [`Flow`] is one, of a control
/// without parameters and with default [`Needs`].
pub trait OwnControlKind: Send + Sync {
    /// What the transport must do for it.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Looks at the scenario's `control-parameters`.
    ///
    /// # Errors
    /// If it has no such parameter or value: what is wrong, in a sentence.
    fn check(&self, parameters: &[(String, f64)]) -> Result<(), String> {
        match parameters {
            [] => Ok(()),
            [(name, _), ..] => Err(format!("it has no parameter `{name}`; it has none at all")),
        }
    }

    /// The instance for `flow`, with parameters that were checked. Runs on several threads ask at the same time: what an
    /// instance decides must follow from `flow` and what it is told, and from nothing that instances share.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn open(&self, flow: &Flow, parameters: &[(String, f64)]) -> Result<Box<dyn OwnControl>, CallbackError>;
}

impl<F> OwnControlKind for F
where
    F: Fn(&Flow) -> Box<dyn OwnControl> + Send + Sync,
{
    fn open(&self, flow: &Flow, _: &[(String, f64)]) -> Result<Box<dyn OwnControl>, CallbackError> {
        Ok(self(flow))
    }
}

/// A congestion control of the program among the built-in ones.
pub struct Own {
    /// As a scenario writes it, with the prefix.
    written: Arc<str>,
    kind: Arc<dyn OwnControlKind>,
    needs: Needs,
    parameters: Arc<[(String, f64)]>,
    // Profiles are shared by threads, and have no instance; subflows have one, and belong to one thread.
    slot: Mutex<Slot<dyn OwnControl>>,
    pace: Option<Rate>,
}

impl Own {
    /// The control called `name`, for no subflow yet.
    ///
    /// # Errors
    /// What is wrong with its parameters.
    pub fn new(name: &str, kind: &Arc<dyn OwnControlKind>, parameters: Vec<(String, f64)>) -> Result<Own, String> {
        kind.check(&parameters)?;
        Ok(Own {
            written: format!("{}{name}", crate::own::PREFIX).into(),
            needs: kind.needs(),
            kind: Arc::clone(kind),
            parameters: parameters.into(),
            slot: Mutex::new(Slot::closed(PolicyKind::Control, name.into(), Failures::default())),
            pace: None,
        })
    }

    /// As a scenario writes it: `own:NAME`.
    pub fn written(&self) -> &str {
        &self.written
    }

    /// Its name, without the prefix.
    pub fn given_name(&self) -> &str {
        &self.written[crate::own::PREFIX.len()..]
    }

    /// What the transport does for it.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Its failures, and those of the copies made of it, go there.
    pub fn report_to(&mut self, failures: &Failures) {
        self.slot().failures = failures.clone();
    }

    /// It is for `flow` from now on.
    pub fn open(&mut self, flow: Flow, now: Time) {
        let (kind, parameters) = (Arc::clone(&self.kind), Arc::clone(&self.parameters));
        self.slot().open(flow, now, |flow| kind.open(flow, &parameters));
    }

    fn slot(&mut self) -> &mut Slot<dyn OwnControl> {
        self.slot.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks `callback`, whose answer is `window` and the pace; whether there was one.
    fn ask(
        &mut self,
        callback: &'static str,
        now: Option<Time>,
        window: Option<&mut Window>,
        ask: impl FnOnce(&mut dyn OwnControl, &mut Window) -> Result<(), CallbackError>,
    ) -> bool {
        let paces = self.needs.paces;
        // a callback without a window has nothing to change
        let before = window.as_deref().copied().unwrap_or(Window::initial(1, 1));
        let mut answer = before;
        let checked = self.slot().ask(callback, now, |instance| {
            ask(instance, &mut answer)?;
            let window = checked(before, answer)?;
            let pace = if paces { instance.pacing() } else { None };
            match pace.filter(|&pace| pace < LEAST_PACE) {
                Some(pace) => Err(format!("a pace of {pace}; it must be at least {LEAST_PACE}").into()),
                None => Ok((window, pace)),
            }
        });
        let Some((answer, pace)) = checked else { return false };
        self.pace = pace;
        if let Some(window) = window {
            *window = answer;
        }
        true
    }

    /// See [`OwnControl::on_start`].
    pub fn on_start(&mut self, start: &Start, window: &mut Window) {
        self.ask("on_start", Some(start.now), Some(window), |own, window| own.on_start(start, window));
    }

    /// See [`OwnControl::observe`].
    pub fn observe(&mut self, ack: &Ack<'_>, window: &mut Window) {
        if self.needs.observes {
            self.ask("observe", Some(ack.now), Some(window), |own, window| own.observe(ack, window));
        }
    }

    /// See [`OwnControl::on_ack`].
    pub fn on_ack(&mut self, ack: &Ack<'_>, window: &mut Window) {
        self.ask("on_ack", Some(ack.now), Some(window), |own, window| own.on_ack(ack, window));
    }

    /// See [`OwnControl::on_congestion`].
    pub fn on_congestion(&mut self, event: &Event<'_>, window: &mut Window) {
        let manages = self.needs.manages_cwnd;
        // What the transport goes down to if there is no answer; the run ends after this event.
        let halved = window.halved(event.flight);
        let answered = self.ask("on_congestion", Some(event.now), Some(window), |own, window| {
            own.on_congestion(event, window)?;
            if !manages && window.ssthresh > MOST_CWND {
                return Err(
                    format!("ssthresh is {}; congestion must bring it down to a window", window.ssthresh).into()
                );
            }
            Ok(())
        });
        if !answered {
            window.ssthresh = halved;
        }
    }

    /// See [`OwnControl::on_timeout`].
    pub fn on_timeout(&mut self, lost: u64) {
        self.ask("on_timeout", None, None, |own, _| own.on_timeout(lost));
    }

    /// See [`OwnControl::on_recovered`].
    pub fn on_recovered(&mut self, now: Time, window: &mut Window) {
        self.ask("on_recovered", Some(now), Some(window), |own, window| own.on_recovered(now, window));
    }

    /// See [`OwnControl::on_undo`].
    pub fn on_undo(&mut self, now: Time, window: &mut Window) {
        self.ask("on_undo", Some(now), Some(window), |own, window| own.on_undo(now, window));
    }

    /// See [`OwnControl::on_restart`].
    pub fn on_restart(&mut self, now: Time, idle: Span, window: &mut Window) {
        self.ask("on_restart", Some(now), Some(window), |own, window| own.on_restart(now, idle, window));
    }

    /// The last pace that it gave.
    pub fn pacing(&self) -> Option<Rate> {
        self.pace
    }
}

/// `answer` to `before`, within its bounds.
fn checked(before: Window, answer: Window) -> Result<Window, CallbackError> {
    let Window { cwnd, ssthresh, mss, growth_limit } = answer;
    if (mss, growth_limit) != (before.mss, before.growth_limit) {
        return Err("`mss` and `growth_limit` of the window are the connection's: they cannot be changed".into());
    }
    if cwnd == 0 || cwnd > MOST_CWND {
        return Err(format!("cwnd is {cwnd}; it must be 1 to {MOST_CWND} bytes").into());
    }
    if ssthresh == 0 {
        return Err("ssthresh is 0; it must be at least 1 byte".into());
    }
    let mss = u64::from(mss);
    // The transport's own windows may be smaller: what was not touched stays.
    let raised = |old: u64, new: u64, least: u64| if new == old { new } else { new.max(least) };
    let cwnd = raised(before.cwnd, cwnd, mss);
    Ok(Window { cwnd, ssthresh: raised(before.ssthresh, ssthresh, 2 * mss), ..answer })
}

impl Clone for Own {
    /// For another subflow: an instance is not copied.
    fn clone(&self) -> Own {
        let slot = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        let empty = Slot::closed(slot.kind, Arc::clone(&slot.name), slot.failures.clone());
        Own {
            written: Arc::clone(&self.written),
            kind: Arc::clone(&self.kind),
            needs: self.needs,
            parameters: Arc::clone(&self.parameters),
            slot: Mutex::new(empty),
            pace: None,
        }
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Own { written, needs, parameters, pace, .. } = self;
        f.debug_struct("Own")
            .field("written", written)
            .field("needs", needs)
            .field("parameters", parameters)
            .field("pace", pace)
            .finish_non_exhaustive()
    }
}
