use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Placement of tiles on hosts. A tile stays on its host for any number of tiles, so that its disks
/// are created once.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Placement {
    /// Tile 1 on the first host, tile 2 on the second, and so on, in turn. Text form:
    /// `round-robin`.
    #[default]
    RoundRobin,
    /// A number of tiles on the first host, as many on the second, and so on, in turn. Text form:
    /// `packed:4`.
    Packed(u32),
    /// In each round, a host gets as many tiles as its weight, spread evenly over the round. Hosts
    /// that are not named have weight 1. Text form: `weight:a=2,b=1`.
    Weight(BTreeMap<String, u32>),
    /// Given tiles (counted from 1) on given hosts, and all others in turn. Text form:
    /// `pin:1=a,2=b`.
    Pin(BTreeMap<u32, String>),
}

/// Reason why a text is not a placement, or not one for the given hosts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The text has none of the known forms.
    #[error(
        "placement \"{0}\" is not one of \"round-robin\", \"packed:4\", \"weight:a=2,b=1\" and \
         \"pin:1=a,2=b\""
    )]
    Form(String),
    /// The placement names a host that does not take part.
    #[error("placement names the host \"{name}\", but the hosts are {}", .known.join(", "))]
    Unknown {
        /// Text as it was given.
        name: String,
        /// Names of the hosts that take part.
        known: Vec<String>,
    },
}

/// Maximum number of tiles in a round. More are a typing error.
const WEIGHT_MAX: u32 = 1000;

impl FromStr for Placement {
    type Err = PlacementError;

    fn from_str(text: &str) -> Result<Self, PlacementError> {
        let wrong = || PlacementError::Form(text.to_owned());
        let (form, rest) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let number = |part: &str, max: u32| {
            let number = part.trim().parse::<u32>().ok();
            number.filter(|number| (1..=max).contains(number)).ok_or_else(wrong)
        };
        match form {
            "round-robin" if rest.is_empty() => Ok(Self::RoundRobin),
            "packed" => Ok(Self::Packed(number(rest, u32::MAX)?)),
            "weight" => {
                let mut weights = BTreeMap::new();
                for (host, weight) in pairs(rest).ok_or_else(wrong)? {
                    if weights.insert(host.to_owned(), number(weight, WEIGHT_MAX)?).is_some() {
                        return Err(wrong());
                    }
                }
                Ok(Self::Weight(weights))
            }
            "pin" => {
                let mut pins = BTreeMap::new();
                for (tile, host) in pairs(rest).ok_or_else(wrong)? {
                    if pins.insert(number(tile, u32::MAX)?, host.to_owned()).is_some() {
                        return Err(wrong());
                    }
                }
                Ok(Self::Pin(pins))
            }
            _ => Err(wrong()),
        }
    }
}

/// Parses `a=2,b=1`; `None` if the text is empty or an entry is not a pair.
fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let pairs: Option<Vec<_>> = text.split(',').map(|pair| pair.split_once('=')).collect();
    let trimmed = pairs?.into_iter().map(|(key, value)| (key.trim(), value.trim()));
    let all: Vec<(&str, &str)> = trimmed.collect();
    all.iter().all(|(key, value)| !key.is_empty() && !value.is_empty()).then_some(all)
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |f: &mut fmt::Formatter<'_>, form: &str, pairs: Vec<String>| {
            write!(f, "{form}:{}", pairs.join(","))
        };
        match self {
            Self::RoundRobin => f.write_str("round-robin"),
            Self::Packed(each) => write!(f, "packed:{each}"),
            Self::Weight(weights) => {
                let pairs = weights.iter().map(|(host, weight)| format!("{host}={weight}"));
                list(f, "weight", pairs.collect())
            }
            Self::Pin(pins) => {
                let pairs = pins.iter().map(|(tile, host)| format!("{tile}={host}"));
                list(f, "pin", pairs.collect())
            }
        }
    }
}

impl Placement {
    /// Returns the host of each tile from 1 to `tiles`, as a position in `hosts`, which is not
    /// empty.
    ///
    /// # Errors
    ///
    /// The placement names an unknown host.
    pub fn of(&self, hosts: &[String], tiles: u32) -> Result<Vec<usize>, PlacementError> {
        let position = |name: &String| {
            hosts.iter().position(|host| host == name).ok_or_else(|| PlacementError::Unknown {
                name: name.clone(),
                known: hosts.to_vec(),
            })
        };
        let all = 0..tiles as usize;
        let count = hosts.len().max(1);
        Ok(match self {
            Self::RoundRobin => all.map(|tile| tile % count).collect(),
            Self::Packed(each) => all.map(|tile| tile / *each as usize % count).collect(),
            Self::Weight(weights) => {
                let named: Vec<usize> = weights.keys().map(position).collect::<Result<_, _>>()?;
                let mut of_host = vec![1_i64; count];
                for (host, weight) in named.into_iter().zip(weights.values()) {
                    of_host[host] = i64::from(*weight);
                }
                in_turn(&of_host, tiles)
            }
            Self::Pin(pins) => {
                let mut pinned = BTreeMap::new();
                for (tile, host) in pins {
                    pinned.insert(*tile as usize - 1, position(host)?);
                }
                let mut others = 0..;
                let mut next = || others.next().unwrap_or(0) % count;
                all.map(|tile| pinned.get(&tile).copied().unwrap_or_else(&mut next)).collect()
            }
        })
    }
}

/// Distributes tiles by smooth weighted round robin, as nginx distributes requests. In each turn,
/// every host's credit grows by its weight. The host with the largest credit gets the tile, and its
/// credit decreases by the sum of the weights.
fn in_turn(weights: &[i64], tiles: u32) -> Vec<usize> {
    let round: i64 = weights.iter().sum();
    let mut claims = vec![0_i64; weights.len()];
    let mut next = || {
        claims.iter_mut().zip(weights).for_each(|(claim, weight)| *claim += weight);
        // Of equal claims, the first host wins.
        let largest = (0..claims.len()).rev().max_by_key(|at| claims[*at]).unwrap_or(0);
        claims[largest] -= round;
        largest
    };
    (0..tiles).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(text: &str, tiles: u32) -> Vec<usize> {
        let hosts = ["a", "b", "c"].map(str::to_owned);
        text.parse::<Placement>().expect(text).of(&hosts, tiles).expect(text)
    }

    #[test]
    fn every_form_places_tiles_and_reads_back() {
        assert_eq!(placed("round-robin", 5), [0, 1, 2, 0, 1]);
        assert_eq!(placed("packed:2", 7), [0, 0, 1, 1, 2, 2, 0]);
        assert_eq!(placed("weight:a=2", 8), [0, 1, 2, 0, 0, 1, 2, 0]);
        assert_eq!(placed("pin:1=c,3=c", 5), [2, 0, 2, 1, 2]);
        for text in ["round-robin", "packed:2", "weight:a=2,b=1", "pin:1=c,3=c"] {
            assert_eq!(text.parse::<Placement>().expect(text).to_string(), text);
        }
    }

    #[test]
    fn a_tile_stays_on_its_host_when_others_are_added() {
        for text in ["round-robin", "packed:3", "weight:a=2,b=5", "pin:2=b"] {
            let most = placed(text, 40);
            (0..40).for_each(|tiles| assert_eq!(placed(text, tiles), most[..tiles as usize]));
        }
    }

    #[test]
    fn what_is_no_placement_is_refused_and_so_are_strangers() {
        for wrong in [
            "",
            "packed",
            "packed:0",
            "weight:",
            "weight:a",
            "weight:a=0",
            "pin:0=a",
            "pin:1=",
            "x:1",
        ] {
            assert!(wrong.parse::<Placement>().is_err(), "{wrong}");
        }
        let stranger: Placement = "pin:1=d".parse().expect("a form");
        let error = stranger.of(&["a".to_owned()], 1).expect_err("nobody is called d");
        assert_eq!(error.to_string(), "placement names the host \"d\", but the hosts are a");
    }
}
