//! Who finds limits.

use headway_control::metering::{
    AimdDelay, Bounds, Controller, Direction, Headway, MaxMin, Objective, ParameterError, PortSpec, Settings, Timing,
};
use headway_language::{Name, above, record, words};
use headway_units::{Rate, Span};

use super::{FASTEST, SLOWEST, Way};
use crate::Mistake;

words! {
    /// A way to find limits.
    pub enum ControlKind {
        /// By trial, under an objective.
        "headway" => Headway,
        /// Additive increase, multiplicative decrease on queueing delay, as autorate daemons.
        "aimd-delay" => AimdDelay,
        /// Max-min fair shares of the capacity.
        "max-min" => MaxMin,
    }
}

words! {
    /// What is to be raised.
    pub enum ObjectiveWord {
        /// The total goodput.
        "total" => Total,
        /// Proportional fairness: the sum of logarithms.
        "fair" => Fair,
        /// The total, and Jain's index by `fairness`.
        "weighted" => Weighted,
        /// The total, in which `protect` counts `weight` times.
        "protect" => Protect,
    }
}

record! {
    /// A controller of limits.
    pub struct ControlRecord {
        /// How it finds them.
        pub kind: ControlKind,
        /// The distance of its readings.
        #[range(Span::from_micros(10)..=Span::from_secs(3600))]
        pub interval: Span = Span::from_millis(100),
        /// The lowest limit that it may set.
        #[range(SLOWEST..=FASTEST)]
        pub least: Rate = Rate::from_mbps(10),
        /// The highest; the fastest line of the ports when left out.
        #[range(SLOWEST..=FASTEST)]
        pub most: Option<Rate>,
        /// What is to be raised; "weighted" when left out.
        pub objective: Option<ObjectiveWord>,
        /// The weight of Jain's index: at 1, a doubled index is worth a doubled total; 0.2 when left out.
        #[range(0.0..=100.0)]
        pub fairness: Option<f64>,
        /// Groups of hosts whose ports count in the objective, and share the capacity; when left out, all that may be
        /// limited, are protected, or send (receive, where that is limited).
        pub counted: Option<Vec<Name>>,
        /// Groups of hosts that are protected.
        pub protect: Option<Vec<Name>>,
        /// How often their bytes count; 4 when left out.
        #[range(1.0..=1000.0)]
        pub weight: Option<f64>,
        /// The smallest relative gain for which a limit is set; 0.02 when left out.
        #[range(0.001..=1.0)]
        pub worth: Option<f64>,
        /// The part of the total that a limit may cost; 0.05 when left out.
        #[range(0.0..=1.0)]
        pub give: Option<f64>,
        /// The largest relative loss of a window on trial; 0.3 when left out.
        #[range(0.01..=0.99)]
        pub worst: Option<f64>,
        /// The part of the time for trials; 0.1 when left out.
        #[range(0.001..=0.5)]
        pub share: Option<f64>,
        /// Readings that are not counted after limits changed; 1 when left out.
        #[range(1..=50)]
        pub settle: Option<u32>,
        /// Readings of a quarter of a block; 2 when left out.
        #[range(1..=50)]
        pub measure: Option<u32>,
        /// The queueing delay that is too much; 5 ms when left out.
        #[range(above(Span::ZERO))]
        pub target: Option<Span>,
        /// What a limit rises by at a reading; a hundredth of `most` when left out.
        #[range(SLOWEST..=FASTEST)]
        pub step: Option<Rate>,
        /// The capacity that is shared; what was seen when left out.
        #[range(SLOWEST..=FASTEST)]
        pub capacity: Option<Rate>,
    }
}

impl ControlRecord {
    /// What is wrong between its keys.
    pub fn check(&self) -> Vec<Mistake> {
        use ControlKind::{AimdDelay, Headway, MaxMin};
        let mut all = Vec::new();
        let keys = [
            ("objective", self.objective.is_some(), Headway),
            ("fairness", self.fairness.is_some(), Headway),
            ("protect", self.protect.is_some(), Headway),
            ("weight", self.weight.is_some(), Headway),
            ("worth", self.worth.is_some(), Headway),
            ("give", self.give.is_some(), Headway),
            ("worst", self.worst.is_some(), Headway),
            ("share", self.share.is_some(), Headway),
            ("settle", self.settle.is_some(), Headway),
            ("measure", self.measure.is_some(), Headway),
            ("target", self.target.is_some(), AimdDelay),
            ("step", self.step.is_some(), AimdDelay),
            ("capacity", self.capacity.is_some(), MaxMin),
        ];
        for (key, given, of) in keys {
            if given && self.kind != of {
                let message = format!("`{key}` is of `kind = \"{}\"`", of.as_str());
                all.push(Mistake { key, message, label: "of another controller", help: Some("leave it out") });
            }
        }
        if self.counted.is_some() && self.kind == AimdDelay {
            let message = format!("`counted` is not of `kind = \"{}\"`", AimdDelay.as_str());
            all.push(Mistake { key: "counted", message, label: "of other controllers", help: Some("leave it out") });
        }
        if let (Some(counted), Some(protect)) = (&self.counted, &self.protect)
            && let Some(group) = protect.iter().find(|group| !counted.contains(group))
        {
            let message = format!("`{group}` is protected, and its ports do not count");
            all.push(Mistake {
                key: "counted",
                message,
                label: "without it",
                help: Some("add the group to `counted`"),
            });
        }
        let objective = self.objective();
        let pairs = [
            ("fairness", self.fairness.is_some(), ObjectiveWord::Weighted),
            ("protect", self.protect.is_some(), ObjectiveWord::Protect),
            ("weight", self.weight.is_some(), ObjectiveWord::Protect),
        ];
        for (key, given, of) in pairs {
            if given && self.kind == Headway && objective != of {
                let message = format!("`{key}` is of `objective = \"{}\"`", of.as_str());
                all.push(Mistake { key, message, label: "of another objective", help: Some("leave it out") });
            }
        }
        if objective == ObjectiveWord::Protect && self.protect.as_ref().is_none_or(Vec::is_empty) {
            let message = "the objective protects nobody".to_owned();
            let help = Some("name groups of hosts: protect = [\"web\"]");
            all.push(Mistake { key: "objective", message, label: "without `protect`", help });
        }
        if self.most.is_some_and(|most| most < self.least) {
            let message = format!("the lowest limit, {}, is above the highest", self.least);
            all.push(Mistake { key: "most", message, label: "below `least`", help: None });
        }
        all
    }

    fn objective(&self) -> ObjectiveWord {
        self.objective.unwrap_or(ObjectiveWord::Weighted)
    }

    /// The controller, of `ports` whose fastest line that may be limited is `fastest`.
    ///
    /// # Errors
    /// A parameter that is out of its range beside others, such as bounds that exclude each other.
    pub fn controller(
        &self,
        ports: Vec<PortSpec>,
        way: Way,
        fastest: Rate,
    ) -> Result<Box<dyn Controller>, ParameterError> {
        let direction = match way {
            Way::Into => Direction::Into,
            Way::Out => Direction::Out,
        };
        let bounds = Bounds { least: self.least, most: self.most.unwrap_or(fastest) };
        Ok(match self.kind {
            ControlKind::Headway => Box::new(Headway::new(self.settings(bounds), ports, direction)?),
            ControlKind::AimdDelay => {
                let target = self.target.unwrap_or(Span::from_millis(5));
                let step = self.step.unwrap_or(Rate::from_bps((bounds.most.bps() / 100).max(1)));
                Box::new(AimdDelay::new(ports, direction, bounds, target, step)?)
            }
            ControlKind::MaxMin => Box::new(MaxMin::new(ports, direction, bounds, self.capacity)?),
        })
    }

    fn settings(&self, bounds: Bounds) -> Settings {
        let objective = match self.objective() {
            ObjectiveWord::Total => Objective::Total,
            ObjectiveWord::Fair => Objective::Fair,
            ObjectiveWord::Weighted => Objective::Weighted { fairness: self.fairness.unwrap_or(0.2) },
            ObjectiveWord::Protect => Objective::Protect { weight: self.weight.unwrap_or(4.0) },
        };
        let usual = Settings::new(objective, bounds);
        Settings {
            worth: self.worth.unwrap_or(usual.worth),
            give: self.give.unwrap_or(usual.give),
            worst: self.worst.unwrap_or(usual.worst),
            share: self.share.unwrap_or(usual.share),
            timing: Timing {
                settle: self.settle.unwrap_or(usual.timing.settle),
                measure: self.measure.unwrap_or(usual.timing.measure),
            },
            ..usual
        }
    }
}
