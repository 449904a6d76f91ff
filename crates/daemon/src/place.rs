//! Work in network namespaces.

use std::fs::File;
use std::io;
use std::sync::Arc;

use headway_linux::{Error, netns};

/// Where the calling thread is to be.
#[derive(Debug, Clone)]
pub enum Place {
    /// Where the process was started.
    Here,
    /// In a namespace of this name; and the way back. Both stay open: what becomes of the name does not matter, and moving
    /// takes no file descriptor.
    There(String, Arc<[File; 2]>),
}

impl Place {
    /// The namespace that `ip netns` calls `name`; `None`: where the process was started.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn new(name: Option<&str>) -> Result<Place, netns::Error> {
        let Some(name) = name else { return Ok(Place::Here) };
        let home = netns::open("/proc/thread-self/ns/net")?;
        Ok(Place::There(name.to_owned(), Arc::new([netns::open(name)?, home])))
    }

    /// The name that it was given.
    pub fn name(&self) -> Option<&str> {
        match self {
            Place::Here => None,
            Place::There(name, _) => Some(name),
        }
    }

    /// Does something in the namespace.
    ///
    /// # Errors
    /// If the thread may not move there, or what `does` says.
    ///
    /// # Panics
    /// If there is no way back.
    pub fn inside<T>(&self, does: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let Place::There(_, files) = self else { return does() };
        let [there, home] = &**files;
        netns::enter_open(there)?;
        let done = does();
        // without a way back all that follows would happen in the wrong place
        netns::enter_open(home).expect("the namespace that it came from is open");
        done
    }

    /// The opening of a socket in the namespace.
    pub fn opens<T>(self, open: fn() -> Result<T, Error>) -> impl FnMut() -> Result<T, Error> {
        move || {
            let opened = self.inside(|| Ok(open()));
            opened.map_err(|source| Error::Call { call: "setns", source })?
        }
    }
}
