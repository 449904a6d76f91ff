//! Judges that a program gives, by callbacks.

use std::fmt;
use std::ptr::addr_eq;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headway_units::{Span, Time};

use super::{ParameterError, Rule, Seen};
use crate::lanes::Role;
use crate::own::{CallbackError, Failures, Flow, PolicyKind, Slot, finite};

/// A judge of the program, for one connection. The run ends with an error where a number is not finite.
pub trait OwnJudge: Send {
    /// The congestion of a lane after a sample with the queueing delay `delay`, where it was `before`: a pure number. Only
    /// if [`JudgeNeeds::compares_lanes`].
    ///
    /// # Errors
    /// Whatever should end the run.
    fn congestion(&mut self, _before: Option<f64>, delay: Span) -> Result<f64, CallbackError> {
        Ok(delay.as_secs_f64())
    }

    /// The cost of a lane with this congestion, when the connection is `age` old: a pure number; the smallest ones of
    /// both sorts of lanes are in [`Seen`]. Only if [`JudgeNeeds::compares_lanes`].
    ///
    /// # Errors
    /// Whatever should end the run.
    fn cost(&mut self, _role: Role, congestion: f64, _age: Span) -> Result<f64, CallbackError> {
        Ok(congestion)
    }

    /// Whether the connection, which is `age` old, is long. Asked after each acknowledgement, and not twice in a row for the
    /// same view.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn is_long(&mut self, age: Span, seen: &Seen) -> Result<bool, CallbackError>;
}

/// What lanes must do for a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own; together they mean nothing")]
pub struct JudgeNeeds {
    /// The age at which it is asked, even if no acknowledgement arrives then.
    pub age: Option<Span>,
    /// The age alone decides: before [`age`](Self::age) there is nothing to see.
    pub only_age: bool,
    /// It looks at [`Seen::acked`], [`Seen::backlog`] or [`Seen::rate`].
    pub counts_bytes: bool,
    /// It compares costs of lanes, which are open before it decides then.
    pub compares_lanes: bool,
    /// The time that [`Seen::rate`] is averaged over; no rate without it. Longer than zero.
    pub window: Option<Span>,
    /// Queueing delay counts from the smallest RTT of all subflows, not of its own.
    pub common_base: bool,
}

impl Default for JudgeNeeds {
    /// It counts bytes, and nothing else.
    fn default() -> JudgeNeeds {
        JudgeNeeds {
            age: None,
            only_age: false,
            counts_bytes: true,
            compares_lanes: false,
            window: None,
            common_base: false,
        }
    }
}

/// Makes the instances of a judge of the program. A function or closure of a [`Flow`] is one, of a judge without parameters
/// and with default [`JudgeNeeds`].
pub trait OwnJudgeKind: Send + Sync {
    /// What lanes must do for it.
    fn needs(&self) -> JudgeNeeds {
        JudgeNeeds::default()
    }

    /// Looks at the scenario's `judge.parameters`.
    ///
    /// # Errors
    /// If it has no such parameter or value: what is wrong, in a sentence.
    fn check(&self, parameters: &[(String, f64)]) -> Result<(), String> {
        match parameters {
            [] => Ok(()),
            [(name, _), ..] => Err(format!("it has no parameter `{name}`; it has none at all")),
        }
    }

    /// The instance for the connection of `flow`, with parameters that were checked. Runs on several threads ask at the same
    /// time: what an instance decides must follow from `flow` and what it is told, and from nothing that instances share.
    ///
    /// # Errors
    /// Whatever should end the run.
    fn open(&self, flow: &Flow, parameters: &[(String, f64)]) -> Result<Box<dyn OwnJudge>, CallbackError>;
}

impl<F> OwnJudgeKind for F
where
    F: Fn(&Flow) -> Box<dyn OwnJudge> + Send + Sync,
{
    fn open(&self, flow: &Flow, _: &[(String, f64)]) -> Result<Box<dyn OwnJudge>, CallbackError> {
        Ok(self(flow))
    }
}

/// A judge of the program among the built-in ones. Copies have one instance.
#[derive(Clone)]
pub struct Own(Arc<Inner>);

struct Inner {
    name: Arc<str>,
    /// Nothing where the program is not there: in a file that is only read.
    kind: Option<Arc<dyn OwnJudgeKind>>,
    needs: JudgeNeeds,
    parameters: Arc<[(String, f64)]>,
    asked: Mutex<Asked>,
}

struct Asked {
    slot: Slot<dyn OwnJudge>,
    /// The last view, and the answer.
    last: Option<(Span, Seen, bool)>,
}

impl Own {
    /// The judge called `name` of a program that is not there: it knows its name.
    pub fn absent(name: &str) -> Own {
        Own::make(name.into(), None, JudgeNeeds::default(), Vec::new().into(), Failures::default())
    }

    /// The judge called `name`, for no connection yet.
    ///
    /// # Errors
    /// What is wrong with its parameters, or with what it needs.
    pub fn new(name: &str, kind: &Arc<dyn OwnJudgeKind>, parameters: Vec<(String, f64)>) -> Result<Own, String> {
        kind.check(&parameters)?;
        let needs = kind.needs();
        if needs.window.is_some_and(Span::is_zero) {
            return Err("the window of its rate is zero".to_owned());
        }
        if needs.only_age && needs.age.is_none() {
            return Err("the age alone decides, and there is none".to_owned());
        }
        Ok(Own::make(name.into(), Some(Arc::clone(kind)), needs, parameters.into(), Failures::default()))
    }

    fn make(
        name: Arc<str>,
        kind: Option<Arc<dyn OwnJudgeKind>>,
        needs: JudgeNeeds,
        parameters: Arc<[(String, f64)]>,
        failures: Failures,
    ) -> Own {
        let slot = Slot::closed(PolicyKind::Judge, Arc::clone(&name), failures);
        Own(Arc::new(Inner { name, kind, needs, parameters, asked: Mutex::new(Asked { slot, last: None }) }))
    }

    /// One for no connection yet, whose failures, and those of what is opened of it, go to `failures`.
    pub fn reporting_to(&self, failures: Failures) -> Own {
        let Inner { name, kind, needs, parameters, .. } = &*self.0;
        Own::make(Arc::clone(name), kind.clone(), *needs, Arc::clone(parameters), failures)
    }

    /// The one for the connection of `flow`, which opens at `now`.
    pub fn open(&self, flow: Flow, now: Time) -> Own {
        let own = self.reporting_to(self.asked().slot.failures.clone());
        if let Some(kind) = &self.0.kind {
            own.asked().slot.open(flow, now, |flow| kind.open(flow, &self.0.parameters));
        }
        own
    }

    /// Its name, without a prefix.
    pub fn given_name(&self) -> &str {
        &self.0.name
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// Cold, so that what asks built-in judges stays as small as it is without own ones.
impl Rule for Own {
    #[cold]
    fn validate(&self) -> Result<(), ParameterError> {
        Ok(())
    }

    #[cold]
    fn deadline(&self) -> Span {
        self.0.needs.age.unwrap_or(Span::MAX)
    }

    #[cold]
    fn only_age(&self) -> bool {
        self.0.needs.only_age
    }

    #[cold]
    fn counts_bytes(&self) -> bool {
        self.0.needs.counts_bytes || self.0.needs.window.is_some()
    }

    #[cold]
    fn compares_lanes(&self) -> bool {
        self.0.needs.compares_lanes
    }

    #[cold]
    fn window(&self) -> Option<Span> {
        self.0.needs.window
    }

    #[cold]
    fn common_base(&self) -> bool {
        self.0.needs.common_base
    }

    #[cold]
    fn congestion(&self, before: Option<f64>, delay: Span) -> f64 {
        if !self.0.needs.compares_lanes {
            return 0.0;
        }
        let mut asked = self.asked();
        asked
            .slot
            .ask("congestion", None, |own| finite("the congestion", own.congestion(before, delay)?))
            .unwrap_or(0.0)
    }

    #[cold]
    fn cost(&self, role: Role, congestion: f64, age: Span) -> Option<f64> {
        if !self.0.needs.compares_lanes {
            return None;
        }
        self.asked().slot.ask("cost", None, |own| finite("the cost", own.cost(role, congestion, age)?))
    }

    #[cold]
    fn is_long(&self, age: Span, seen: &Seen) -> bool {
        let mut asked = self.asked();
        if let Some((before, view, answer)) = &asked.last
            && (*before, view) == (age, seen)
        {
            return *answer;
        }
        let answer = asked.slot.ask("is_long", Some(seen.now), |own| own.is_long(age, seen)).unwrap_or(false);
        asked.last = Some((age, *seen, answer));
        answer
    }
}

impl PartialEq for Own {
    /// Whether they decide by the same rule.
    fn eq(&self, other: &Own) -> bool {
        let same = match (&self.0.kind, &other.0.kind) {
            (None, None) => true,
            (Some(one), Some(other)) => addr_eq(Arc::as_ptr(one), Arc::as_ptr(other)),
            _ => false,
        };
        same && (&self.0.name, &self.0.parameters) == (&other.0.name, &other.0.parameters)
    }
}

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { name, needs, parameters, .. } = &*self.0;
        f.debug_struct("Own")
            .field("name", name)
            .field("needs", needs)
            .field("parameters", parameters)
            .finish_non_exhaustive()
    }
}
