//! Price lists.

use std::sync::Arc;

use headway_fabric::topology::Role;
use headway_units::Rate;

use headway_language::{
    At, Field, MAX_TEXT, Name, Node, Problems, Reader, Source, Sources, Syntax, parse, record, words,
};

/// The prices of the thesis' figure 7.6, as a file.
pub const DEFAULT_PRICES: &str = include_str!("../../../../published/lanes-mhft-prices.toml");

/// What [`DEFAULT_PRICES`] is called in problems.
pub const DEFAULT_PRICES_NAME: &str = "published/lanes-mhft-prices.toml";

/// No part costs more; sums over any network stay far from what a float can hold.
const DEAREST: f64 = 1e12;

words! {
    /// Where in a network a device is used.
    pub enum Use {
        /// Switches with hosts.
        "edge" => Edge,
        /// Switches between edge and core.
        "aggregation" => Aggregation,
        /// Switches at the top.
        "core" => Core,
    }
}

record! {
    /// What the parts of a network cost.
    pub struct PriceList {
        /// The currency of all prices, as three to eight letters.
        pub currency: String = "USD".to_owned(),
        /// Where the prices come from.
        pub source: Option<String>,
        /// What a cable costs, with what is at its ends.
        #[range(0.0..=DEAREST)]
        pub cable: f64 = 0.0,
        /// What an interface of a host costs.
        #[range(0.0..=DEAREST)]
        pub interface: f64 = 0.0,
        /// The devices that can be bought.
        pub switch: Vec<DeviceRecord>,
    }
}

record! {
    /// A device that can be bought.
    pub struct DeviceRecord {
        /// What it is called.
        pub name: Name,
        /// How many ports it has.
        #[range(1..=1_000_000)]
        pub ports: u32,
        /// The rate of its ports. For readers: designs have no rates.
        #[range(Rate::from_bps(1)..)]
        pub rate: Rate,
        /// What one costs.
        #[range(0.0..=DEAREST)]
        pub price: f64,
        /// Where it is used.
        pub tiers: Vec<Use>,
    }
}

impl Use {
    /// Whether a switch of `role` is of this use.
    fn is(self, role: Role) -> bool {
        matches!(
            (self, role),
            (Use::Edge, Role::Edge) | (Use::Aggregation, Role::Aggregation) | (Use::Core, Role::Core)
        )
    }
}

impl PriceList {
    /// Reads a list; `file_name` is what it is called in problems.
    ///
    /// # Errors
    /// Text that is no list, or a list without a device for one of the tiers.
    pub fn parse(text: &str, file_name: &str) -> Result<PriceList, Problems> {
        let too_long = text.len() > MAX_TEXT;
        let text = if too_long { "" } else { text };
        let sources = Arc::new(Sources(vec![Source { name: file_name.to_owned(), text: text.to_owned() }]));
        let mut reader = Reader::new(Arc::clone(&sources));
        let list = if too_long {
            let message = format!("a price list has at most {} MB of text", MAX_TEXT / 1_000_000);
            reader.problem(At::whole(0), message, "", None);
            None
        } else {
            match parse(&sources, 0) {
                Ok(tree) => PriceList::read(&tree, &mut reader).inspect(|list| list.check(&tree, &mut reader)),
                Err(Syntax { message, range }) => {
                    let at = range.map_or(At::whole(0), |range| sources.place(0, &range));
                    reader.problem(at, format!("this is not TOML: {message}"), "", None);
                    None
                }
            }
        };
        match (list, reader.into_problems()) {
            (Some(list), problems) if problems.is_empty() => Ok(list),
            (_, problems) => Err(Problems::new(problems)),
        }
    }

    fn check(&self, tree: &Node, reader: &mut Reader) {
        if !(3..=8).contains(&self.currency.len()) || !self.currency.bytes().all(|b| b.is_ascii_alphabetic()) {
            let message = "`currency` must be three to eight letters".to_owned();
            reader.problem(tree.locate(&["currency"]), message, "", Some("for example \"USD\"".to_owned()));
        }
        for (index, device) in self.switch.iter().enumerate() {
            let index = index.to_string();
            if device.tiers.is_empty() {
                let message = format!("`switch.{}.tiers` has none", device.name);
                reader.problem(tree.locate(&["switch", &index, "tiers"]), message, "empty", None);
            }
        }
        for word in [Use::Edge, Use::Aggregation, Use::Core] {
            if !self.switch.iter().any(|device| device.tiers.contains(&word)) {
                let message = format!("no switch of this price list is for the tier `{}`", word.as_str());
                let help = format!("add `tiers = [\"{}\"]` to a [[switch]]", word.as_str());
                reader.problem(tree.at, message, "", Some(help));
            }
        }
    }

    /// The cheapest device for a switch of `role` with `ports` ports; if none has so many, the one that has the most.
    ///
    /// # Panics
    /// If there is none for that role, which [`PriceList::parse`] refuses.
    pub fn device(&self, role: Role, ports: u64) -> &DeviceRecord {
        let devices = || self.switch.iter().filter(|device| device.tiers.iter().any(|tier| tier.is(role)));
        let large = devices().filter(|device| u64::from(device.ports) >= ports);
        large
            .min_by(|a, b| a.price.total_cmp(&b.price))
            .or_else(|| devices().max_by_key(|device| device.ports))
            .expect("checked: every tier has a device")
    }
}
