//! Where the runs of a shard come from, so that results of all shards are those of one call.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use headway_scenario::Overrides;
use headway_scenario::schema::HostKind;
use serde_json::{Value, json};

use crate::error::Error;
use crate::source::Source;

/// Its name in the folder of a shard.
const FILE: &str = "shard.json";
/// It holds the scenario, which has a few megabytes at most, and what was said of it.
const LARGEST: u64 = 64 << 20;
const TEMPORARY: &str = "shard.json.tmp";

/// The text of a scenario before it was changed, and the changes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Origin {
    pub source: Source,
    pub overrides: Overrides,
    pub seed: u64,
    pub repeats: u32,
    /// Hashes of files that are not kept beside the shard, by name.
    pub outside: BTreeMap<String, String>,
}

impl Origin {
    pub fn new(
        source: &Source,
        overrides: &Overrides,
        (seed, repeats): (u64, u32),
        outside: BTreeMap<String, String>,
    ) -> Origin {
        let folder = std::path::absolute(&source.folder).unwrap_or_else(|_| source.folder.clone());
        Origin { source: Source { folder, ..source.clone() }, overrides: overrides.clone(), seed, repeats, outside }
    }

    /// Writes it into `folder`, over what is there.
    pub fn write(&self, folder: &Path) -> Result<(), Error> {
        let Origin { source, overrides, seed, repeats, outside } = self;
        let text = json!({
            "name": source.name,
            "folder": source.folder.to_string_lossy(),
            "text": source.text,
            "sets": overrides.sets,
            "hosts": overrides.hosts.map(HostKind::as_str),
            "policies": overrides.policies,
            "kernel": overrides.kernel,
            "quick": overrides.quick,
            "seed": seed,
            "repeats": repeats,
            "outside": outside,
        });
        let (path, temporary) = (folder.join(FILE), folder.join(TEMPORARY));
        let written = fs::write(&temporary, format!("{text:#}\n")).and_then(|()| fs::rename(&temporary, &path));
        written.map_err(|source| Error::Write { path, source })
    }

    /// Reads that of `folder`.
    pub fn read(folder: &Path) -> Result<Origin, Error> {
        let path = folder.join(FILE);
        let damaged = || headway_results::Error::Damaged {
            path: path.clone(),
            reason: "it does not say of which scenario the shard is".to_owned(),
        };
        let text = headway_input::read_text(&path, LARGEST)
            .map_err(|error| Error::Read { path: path.clone(), source: error.into() })?;
        let value: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        Ok(Origin::from_json(&value).ok_or_else(damaged)?)
    }

    fn from_json(value: &Value) -> Option<Origin> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let texts = |key: &str| -> Option<Vec<String>> {
            value.get(key)?.as_array()?.iter().map(|one| Some(one.as_str()?.to_owned())).collect()
        };
        let kinds = [HostKind::Modelled, HostKind::Linux, HostKind::Namespaces];
        let hosts = match value.get("hosts")? {
            Value::Null => None,
            word => Some(kinds.into_iter().find(|kind| word.as_str() == Some(kind.as_str()))?),
        };
        let kernel = match value.get("kernel")? {
            Value::Null => None,
            name => Some(name.as_str()?.to_owned()),
        };
        let outside = || -> Option<BTreeMap<String, String>> {
            let all = value.get("outside")?.as_object()?.iter();
            all.map(|(name, hash)| Some((name.clone(), hash.as_str()?.to_owned()))).collect()
        };
        Some(Origin {
            outside: outside()?,
            source: Source { name: text("name")?, text: text("text")?, folder: PathBuf::from(text("folder")?) },
            overrides: Overrides {
                sets: texts("sets")?,
                hosts,
                policies: texts("policies")?,
                kernel,
                quick: value.get("quick")?.as_bool()?,
            },
            seed: value.get("seed")?.as_u64()?,
            repeats: value.get("repeats")?.as_u64()?.try_into().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_damage_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let source = Source { name: "a b.toml".into(), text: "x = \"1\"\n".into(), folder: folder.path().into() };
        let some = Overrides {
            sets: vec!["duration=2s".into(), "name=\"x\"".into()],
            hosts: Some(HostKind::Linux),
            policies: vec!["tcp".into()],
            kernel: Some("linux-6.12".into()),
            quick: true,
        };
        let outside = BTreeMap::from([("../x.cdf".to_owned(), "ab".to_owned())]);
        for overrides in [Overrides::default(), some] {
            let origin = Origin::new(&source, &overrides, (u64::MAX, 7), outside.clone());
            origin.write(folder.path()).unwrap();
            assert_eq!(Origin::read(folder.path()).unwrap(), origin);
        }
        fs::write(folder.path().join(FILE), "{\"name\": 1}").unwrap();
        assert!(matches!(Origin::read(folder.path()), Err(Error::Results(_))));
    }
}
