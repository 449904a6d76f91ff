//! The command line of `headway model`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};
use headway_units::{Bytes, Rate, Span};

#[derive(Debug, Args)]
pub struct ModelArgs {
    #[command(subcommand)]
    pub command: ModelCommand,
}

#[derive(Debug, Subcommand)]
pub enum ModelCommand {
    /// Compute the throughput of a connection over a long path, whole and split by relays
    ///
    /// B = min(W/d, C·MSS/(d·√p), link): window, loss and link of the whole path, and of each segment between relays; the
    /// slowest segment decides. Defaults are those of the field test of Hasegawa and Jibiki (2011) with Windows XP.
    #[command(after_long_help = MODEL_RELAY_EXAMPLES)]
    Relay(RelayArgs),
}

#[derive(Debug, Args)]
pub struct RelayArgs {
    /// Delay added to each direction of an access side (times with commas between, or a range A..B with --points values)
    #[arg(long, value_name = "TIMES", default_value = "0ms,1ms,2ms,5ms,10ms", value_parser = delays)]
    pub delay: Axis<Span>,
    /// Share of the data's packets lost on an access side (shares with commas between, or a range A..B)
    #[arg(long, value_name = "SHARES", default_value = "0%,0.001%,0.01%,0.1%", value_parser = losses)]
    pub loss: Axis<Share>,
    /// Values of a range, evenly spaced in their logarithm
    #[arg(long, value_name = "N", default_value = "9", value_parser = clap::value_parser!(u16).range(2..=1000))]
    pub points: u16,
    /// The access sides that have this delay and loss
    #[arg(long, value_name = "SIDES", default_value = "both")]
    pub sides: Sides,
    /// Round trip between the hosts without the added delay
    #[arg(long, value_name = "TIME", default_value = "28.6ms")]
    pub rtt: Span,
    /// The part of it that is on each access side
    #[arg(long, value_name = "TIME", default_value = "650us")]
    pub access_rtt: Span,
    /// Share of the data's packets lost on the long link
    #[arg(long, value_name = "SHARE", default_value = "0%", value_parser = share)]
    pub long_loss: Share,
    /// Places of relays on the long link, as shares of it from the client's end: 0,1 is a relay at either end
    #[arg(long, value_name = "SHARES", value_delimiter = ',', default_value = "0,1", value_parser = share)]
    pub relays: Vec<Share>,
    /// Window of a connection that ends at a host
    #[arg(long, value_name = "SIZE", default_value = "65535B")]
    pub window: Bytes,
    /// Window of a connection between two relays
    #[arg(long, value_name = "SIZE", default_value = "8MB")]
    pub relay_window: Bytes,
    /// Data of a full packet
    #[arg(long, value_name = "SIZE", default_value = "1460B")]
    pub mss: Bytes,
    /// Bytes of a full packet on the wire beside its data
    #[arg(long, value_name = "SIZE", default_value = "78B")]
    pub headers: Bytes,
    /// Rate of the access links
    #[arg(long, value_name = "RATE", default_value = "1Gbps")]
    pub link: Rate,
    /// Rate of the long link
    #[arg(long, value_name = "RATE", default_value = "10Gbps")]
    pub long_link: Rate,
    /// Packets that an acknowledgement answers: 2 with delayed acknowledgements, else 1
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=2))]
    pub packets_per_ack: u32,
    /// C of Mathis' formula: `periodic` losses (1.22, with delayed acknowledgements 0.87), `random` ones (1.31, 0.93), or
    /// a number
    #[arg(long, value_name = "C", default_value = "periodic", value_parser = constant)]
    pub constant: ConstantArg,
    /// The shortest retransmission time-out, for Padhye's formula
    #[arg(long, value_name = "TIME", default_value = "200ms")]
    pub min_rto: Span,
    /// Set the results in this folder beside the model; its sweep has `delay` and `loss`, in place of the options
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub beside: Option<PathBuf>,
    /// The folder's policy without relay [default: the one for which there is a policy NAME-relay]
    #[arg(long, value_name = "POLICY", requires = "beside")]
    pub direct: Option<String>,
    /// The folder's policy with relay [default: DIRECT-relay, if there is one]
    #[arg(long, value_name = "POLICY", requires = "beside")]
    pub relayed: Option<String>,
    /// The folder's traffic [default: the only one]
    #[arg(long, value_name = "NAME", requires = "beside")]
    pub traffic: Option<String>,
    /// Print CSV: a row for each delay and loss
    #[arg(long, conflicts_with = "json")]
    pub csv: bool,
    /// Print a JSON object instead of tables
    #[arg(long)]
    pub json: bool,
}

/// The sides of the long link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Sides {
    /// Both
    Both,
    /// Between the client and the long link
    Client,
    /// Between the long link and the server
    Server,
}

/// A share from 0 to 1, and as it was written.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    pub value: f64,
    pub text: String,
}

/// The values along an axis.
#[derive(Debug, Clone, PartialEq)]
pub enum Axis<T> {
    List(Vec<T>),
    /// From one to the other; neither is zero.
    Range(T, T),
}

/// C of Mathis' formula, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ConstantArg {
    Periodic,
    Random,
    Number(headway_control::throughput::Constant),
}

/// Reads `0.001` or `0.1%`.
pub fn share(text: &str) -> Result<Share, String> {
    let text = text.trim();
    let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
    match digits.trim().parse::<f64>() {
        Ok(number) if (0.0..=scale).contains(&number) => Ok(Share { value: number / scale, text: text.to_owned() }),
        _ => Err(format!("`{text}` is no share from 0 to 1, or 0% to 100%")),
    }
}

fn constant(text: &str) -> Result<ConstantArg, String> {
    let number = || text.parse().ok().and_then(headway_control::throughput::Constant::new);
    match text {
        "periodic" => Ok(ConstantArg::Periodic),
        "random" => Ok(ConstantArg::Random),
        _ => number().map(ConstantArg::Number).ok_or_else(|| "`periodic`, `random`, or a number above 0".to_owned()),
    }
}

fn delays(text: &str) -> Result<Axis<Span>, String> {
    let time = |part: &str| part.trim().parse::<Span>().map_err(|error| error.to_string());
    axis(text, time, |span| span.as_secs_f64())
}

fn losses(text: &str) -> Result<Axis<Share>, String> {
    axis(text, share, |share| share.value)
}

/// A list, or a range of which both ends are above zero, as its values are even in their logarithm.
fn axis<T>(text: &str, read: fn(&str) -> Result<T, String>, value: fn(&T) -> f64) -> Result<Axis<T>, String> {
    let Some((from, to)) = text.split_once("..") else {
        return text.split(',').map(read).collect::<Result<_, _>>().map(Axis::List);
    };
    let (first, last) = (read(from)?, read(to)?);
    if 0.0 < value(&first) && value(&first) < value(&last) {
        return Ok(Axis::Range(first, last));
    }
    Err(format!("the range from {from} to {to} must begin above 0 and rise"))
}

pub const MODEL_EXAMPLES: &str = "\
Examples:
  headway model relay
  headway model relay --window 1400KB --mss 1448B --headers 90B";

const MODEL_RELAY_EXAMPLES: &str = "\
Examples:
  headway model relay
  headway model relay --window 1400KB --mss 1448B --headers 90B
  headway model relay --delay 0.1ms..100ms --loss 0.0001%..1% --points 50 --csv > surface.csv
  headway model relay --relays 0.5 --delay 0ms --loss 0.1%
  headway model relay --beside results/relay-r3-loss-and-delay --direct xp --relayed xp-relay

Formulae, constants and what they leave out are in docs/relay-model.md.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_numbers_or_per_cents() {
        for (text, value) in [("0", 0.0), ("0.001", 0.001), ("0.1%", 0.001), ("100%", 1.0), ("1", 1.0)] {
            assert!((share(text).unwrap().value - value).abs() < 1e-12, "{text}");
        }
        for text in ["", "%", "-0.1", "1.01", "101%", "NaN", "inf", "0.1 percent"] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn axes_are_lists_or_rising_ranges() {
        assert_eq!(delays("1ms, 2ms"), Ok(Axis::List(vec![Span::from_millis(1), Span::from_millis(2)])));
        assert_eq!(delays("1ms..2s"), Ok(Axis::Range(Span::from_millis(1), Span::from_secs(2))));
        for text in ["0ms..1ms", "2ms..1ms", "1ms..", "1", ""] {
            assert!(delays(text).is_err(), "{text}");
        }
        assert!(losses("0%..1%").is_err() && losses("0.001%..1%").is_ok());
    }
}
