//! How a policy of the program fails, and who hears of it.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use headway_units::Time;

/// An error of a callback; where it came from stays in its chain of sources.
pub type CallbackError = Box<dyn Error + Send + Sync>;

/// What a policy decides for: a subflow for a congestion control, a connection for a judge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// The flow's identity: the same in every run of the scenario, whatever the policy.
    pub id: u64,
    /// Which of its connections, if it is sent several times; counted from 0.
    pub copy: u8,
    /// Which subflow of the connection, counted from 0; 0 for a judge.
    pub subflow: u8,
    /// Largest payload of a segment, bytes.
    pub mss: u32,
    /// What random choices of the policy should follow from: the same for the same subflow of the same run.
    pub seed: u64,
}

/// The sort of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    /// A congestion control.
    Control,
    /// A judge of lanes.
    Judge,
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PolicyKind::Control => "congestion control",
            PolicyKind::Judge => "judge",
        })
    }
}

/// A callback that gave no answer, or one that cannot be.
#[derive(Debug)]
pub struct Failure {
    /// The sort of the policy.
    pub kind: PolicyKind,
    /// Its name.
    pub name: Arc<str>,
    /// The callback.
    pub callback: &'static str,
    /// For whom it decided.
    pub flow: Flow,
    /// When it was last told the time.
    pub at: Time,
    /// What was wrong.
    pub error: CallbackError,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Failure { kind, name, callback, at, error, .. } = self;
        write!(f, "the program's {kind} `{name}` failed in {callback} at {at}: {error}")
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.error)
    }
}

/// The first failure of a run; all policies of the run share it.
#[derive(Debug, Clone, Default)]
pub struct Failures(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// When the first one was; set for as long as there is one.
    at: OnceLock<Time>,
    first: Mutex<Option<Failure>>,
}

impl Failures {
    /// When the first one was, if there is one.
    #[inline]
    pub fn at(&self) -> Option<Time> {
        self.0.at.get().copied()
    }

    /// Takes the first one out.
    pub fn take(&self) -> Option<Failure> {
        self.0.first.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn put(&self, failure: Failure) {
        if self.0.at.set(failure.at).is_ok() {
            *self.0.first.lock().unwrap_or_else(PoisonError::into_inner) = Some(failure);
        }
    }
}

/// The instance of a policy for one flow, between its opening and its first failure.
pub(crate) struct Slot<T: ?Sized> {
    pub kind: PolicyKind,
    pub name: Arc<str>,
    pub failures: Failures,
    /// Nothing before it is opened, and after a failure.
    open: Option<(Flow, Box<T>)>,
    /// The last time that it was told.
    now: Time,
}

impl<T: ?Sized> Slot<T> {
    /// A slot without an instance.
    pub fn closed(kind: PolicyKind, name: Arc<str>, failures: Failures) -> Slot<T> {
        Slot { kind, name, failures, open: None, now: Time::ZERO }
    }

    /// Puts in the instance for `flow` that `make` gives.
    pub fn open(&mut self, flow: Flow, now: Time, make: impl FnOnce(&Flow) -> Result<Box<T>, CallbackError>) {
        self.now = now;
        match guard(|| make(&flow)) {
            Ok(instance) => self.open = Some((flow, instance)),
            Err(error) => self.fail("its constructor", flow, error),
        }
    }

    /// Asks the instance; `None` if there is none, or it has just failed. `now` is nothing where a callback is not told.
    pub fn ask<R>(
        &mut self,
        callback: &'static str,
        now: Option<Time>,
        ask: impl FnOnce(&mut T) -> Result<R, CallbackError>,
    ) -> Option<R> {
        let (flow, mut instance) = self.open.take()?;
        self.now = now.unwrap_or(self.now);
        match guard(|| ask(&mut instance)) {
            Ok(answer) => {
                self.open = Some((flow, instance));
                Some(answer)
            }
            Err(error) => {
                self.fail(callback, flow, error);
                None
            }
        }
    }

    fn fail(&mut self, callback: &'static str, flow: Flow, error: CallbackError) {
        let (kind, name, at) = (self.kind, Arc::clone(&self.name), self.now);
        self.failures.put(Failure { kind, name, callback, flow, at, error });
    }
}

/// `ask`, whose panics are errors.
fn guard<R>(ask: impl FnOnce() -> Result<R, CallbackError>) -> Result<R, CallbackError> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

fn panicked(payload: &(dyn Any + Send)) -> CallbackError {
    let said = payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    format!("it panicked: {}", said.unwrap_or("without a message")).into()
}

/// `value`, which must be a number.
pub(crate) fn finite(what: &str, value: f64) -> Result<f64, CallbackError> {
    if value.is_finite() { Ok(value) } else { Err(format!("{what} is {value}; it must be a finite number").into()) }
}
