//! Generic netlink: families have names, and numbers that the kernel gives out. Source: `include/uapi/linux/genetlink.h`.

use rustix::io::Errno;

use super::codec::{Malformed, Writer, attributes};
use super::{Error, Socket};

/// `GENL_ID_CTRL`: the family that knows the others.
const CONTROL: u16 = 0x10;
/// `CTRL_CMD_GETFAMILY`.
const GET_FAMILY: u8 = 3;
/// `CTRL_ATTR_FAMILY_ID`, `CTRL_ATTR_FAMILY_NAME`, `CTRL_ATTR_MCAST_GROUPS`.
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
const GROUPS: u16 = 7;
/// `CTRL_ATTR_MCAST_GRP_NAME`, `CTRL_ATTR_MCAST_GRP_ID`.
const GROUP_NAME: u16 = 1;
const GROUP_ID: u16 = 2;

/// A family of generic netlink.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// The type of its messages.
    pub id: u16,
    /// Its multicast groups by name.
    pub groups: Vec<(String, u32)>,
}

/// `struct genlmsghdr`.
pub fn header(writer: &mut Writer, command: u8, version: u8) {
    writer.raw(&[command, version, 0, 0]);
}

/// The command and the attributes of a message's payload.
///
/// # Errors
/// If it is shorter than `struct genlmsghdr`.
pub fn split(payload: &[u8]) -> Result<(u8, &[u8]), Malformed> {
    match payload {
        [command, _, _, _, rest @ ..] => Ok((*command, rest)),
        _ => Err(Malformed::Short { what: "a generic netlink message", need: 4, have: payload.len() }),
    }
}

impl Family {
    /// Asks the kernel for a family.
    ///
    /// # Errors
    /// [`Error::NoFamily`] if the kernel has none of the name.
    pub fn find(socket: &mut Socket, name: &'static str) -> Result<Self, Error> {
        let mut family = None;
        let body = |w: &mut Writer| {
            header(w, GET_FAMILY, 1);
            let mut text = name.as_bytes().to_vec();
            text.push(0);
            w.attribute(FAMILY_NAME, &text);
        };
        let result = socket.request(CONTROL, 0, body, |message| {
            family = Some(Self::parse(message.payload)?);
            Ok(())
        });
        match result {
            Ok(()) => family.ok_or(Error::NoFamily { name }),
            Err(error) if error.errno() == Some(Errno::NOENT) => Err(Error::NoFamily { name }),
            Err(error) => Err(error),
        }
    }

    /// Reads a `CTRL_CMD_NEWFAMILY`, its generic netlink header included.
    ///
    /// # Errors
    /// If bytes are missing or the family has no number.
    pub fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        let (_, rest) = split(payload)?;
        let mut id = None;
        let mut groups = Vec::new();
        for attribute in attributes(rest) {
            let attribute = attribute?;
            match attribute.kind {
                FAMILY_ID => id = Some(attribute.u16()?),
                GROUPS => {
                    for group in attribute.nested() {
                        let (mut name, mut id) = (None, None);
                        for part in group?.nested() {
                            let part = part?;
                            match part.kind {
                                GROUP_NAME => {
                                    let text = part.value.strip_suffix(&[0]).unwrap_or(part.value);
                                    name = Some(String::from_utf8_lossy(text).into_owned());
                                }
                                GROUP_ID => id = Some(part.u32()?),
                                _ => {}
                            }
                        }
                        groups.extend(name.zip(id));
                    }
                }
                _ => {}
            }
        }
        let id =
            id.ok_or(Malformed::Missing { message: "a generic netlink family", attribute: "CTRL_ATTR_FAMILY_ID" })?;
        Ok(Self { id, groups })
    }
}
