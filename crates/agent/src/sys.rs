//! System calls that `rustix` does not have in a safe form. The only module with `unsafe`.
#![allow(unsafe_code, reason = "calls into the kernel; each block says why it is sound")]

use std::ffi::{CStr, OsStr};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Pid, Resource, Rlimit, Signal};
use rustix::thread::UnshareFlags;

/// Bytes of `struct tcp_info` that are asked for; more than any kernel has today.
pub const TCP_INFO: usize = 512;
/// Subflows of an MPTCP connection that are asked for; the kernel's own limit is eight beside the first.
const SUBFLOWS: usize = 16;

/// `fork`: the child's id in the parent, nothing in the child.
pub fn fork() -> io::Result<Option<Pid>> {
    // SAFETY: process 1, which alone forks, has one thread, so the child may do all that the parent may.
    let id = unsafe { libc::fork() };
    if id < 0 { Err(io::Error::last_os_error()) } else { Ok(Pid::from_raw(id)) }
}

/// Sets a variable of the environment.
pub fn set_environment(name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) {
    // SAFETY: process 1 sets it before it starts anything, and has one thread.
    unsafe { std::env::set_var(name, value) }
}

/// Gives this process a network namespace of its own and, where the kernel has them, one for the host's name too;
/// tells whether it has.
pub fn unshare() -> io::Result<bool> {
    // SAFETY: the table of open files stays shared, which is what `unshare` could do harm with.
    let both = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWUTS) };
    match both {
        Err(rustix::io::Errno::INVAL) => {
            // SAFETY: as above.
            unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }?;
            Ok(false)
        }
        result => Ok(result.map(|()| true)?),
    }
}

/// Gives this process mounts of its own.
pub fn unshare_mounts() -> io::Result<()> {
    // SAFETY: the table of open files stays shared; the working directory, which does not, is `/`.
    Ok(unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// Switches the interface `lo` on.
pub fn loopback_up() -> io::Result<()> {
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)?;
    // SAFETY: all zeros is a valid `ifreq`.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    request.ifr_name[0] = b'l' as libc::c_char;
    request.ifr_name[1] = b'o' as libc::c_char;
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the socket is open and the request is as SIOCSIFFLAGS takes it.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The addresses of this host's interfaces with the names of those.
pub fn addresses() -> io::Result<Vec<(IpAddr, String)>> {
    let mut first = std::ptr::null_mut();
    // SAFETY: `first` is a place for the list's address.
    if unsafe { libc::getifaddrs(&raw mut first) } < 0 {
        return Err(io::Error::last_os_error());
    }
    let mut addresses = Vec::new();
    let mut entry = first;
    while !entry.is_null() {
        // SAFETY: an entry of the list that `getifaddrs` made and nothing has freed yet.
        let interface = unsafe { &*entry };
        if !interface.ifa_addr.is_null() {
            // SAFETY: the name is a string, and the address has the size that its family says.
            let (name, address) = unsafe { (CStr::from_ptr(interface.ifa_name), ip(interface.ifa_addr.cast())) };
            addresses.extend(address.map(|address| (address.ip(), name.to_string_lossy().into_owned())));
        }
        entry = interface.ifa_next;
    }
    // SAFETY: the list is of `getifaddrs` and not used any more.
    unsafe { libc::freeifaddrs(first) };
    Ok(addresses)
}

/// An IPv4 or IPv6 address; IPv4 in IPv6 is IPv4.
///
/// # Safety
/// There is an address of the size that its family asks for.
unsafe fn ip(address: *const libc::sockaddr) -> Option<SocketAddr> {
    // SAFETY: the caller's promise; unaligned reads need no more.
    unsafe {
        match i32::from((&raw const (*address).sa_family).read_unaligned()) {
            libc::AF_INET => {
                let v4 = address.cast::<libc::sockaddr_in>().read_unaligned();
                let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
                Some(SocketAddr::new(ip.into(), u16::from_be(v4.sin_port)))
            }
            libc::AF_INET6 => {
                let v6 = address.cast::<libc::sockaddr_in6>().read_unaligned();
                let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
                Some(SocketAddr::new(IpAddr::from(ip).to_canonical(), u16::from_be(v6.sin6_port)))
            }
            _ => None,
        }
    }
}

/// Has the next `bind` choose the address only; `connect` then chooses the port.
pub fn bind_address_only(socket: BorrowedFd) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the kernel reads an integer from where one is.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_IP,
            libc::IP_BIND_ADDRESS_NO_PORT,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Paces a connection, at so many bytes per second at most (socket(7)).
pub fn set_max_pacing_rate(socket: BorrowedFd, rate: u64) -> io::Result<()> {
    // SAFETY: the kernel reads an integer of eight bytes (an unsigned long since 4.20) from where one is.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_MAX_PACING_RATE,
            (&raw const rate).cast(),
            size_of::<u64>() as libc::socklen_t,
        )
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Reads everything that a connection has and throws it away; tells how much it was, 0 at its end.
pub fn discard(socket: BorrowedFd) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a stream's bytes are counted and not copied (tcp(7)); a kernel that copied them all the
    // same would find address 0 and fail with EFAULT.
    let got =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), 1 << 30, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as usize) }
}

/// Reads `size` bytes of a connection and throws them away, however long it takes; less at its end.
pub fn discard_all(socket: BorrowedFd, size: usize) -> io::Result<usize> {
    // SAFETY: as in `discard`.
    let got =
        unsafe { libc::recv(socket.as_raw_fd(), std::ptr::null_mut(), size, libc::MSG_TRUNC | libc::MSG_WAITALL) };
    if got < 0 { Err(io::Error::last_os_error()) } else { Ok(got as usize) }
}

/// Makes calls on a socket wait, or not.
pub fn set_blocking(socket: BorrowedFd, blocking: bool) -> io::Result<()> {
    let flags = rustix::fs::fcntl_getfl(socket)?;
    let flags = if blocking { flags - rustix::fs::OFlags::NONBLOCK } else { flags | rustix::fs::OFlags::NONBLOCK };
    Ok(rustix::fs::fcntl_setfl(socket, flags)?)
}

/// Bytes that a connection has received in order, read or not; with MPTCP over all its subflows.
pub fn received(socket: BorrowedFd, mptcp: bool) -> io::Result<u64> {
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_INFO: libc::c_int = 1;
    // `tcpi_bytes_received` of struct tcp_info, `mptcpi_bytes_received` of struct mptcp_info (linux/{tcp,mptcp}.h)
    let (level, name, at) = if mptcp { (SOL_MPTCP, MPTCP_INFO, 64) } else { (libc::IPPROTO_TCP, libc::TCP_INFO, 128) };
    let mut info = [0_u8; 256];
    let mut length = info.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, info.as_mut_ptr().cast(), &raw mut length) };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    let bytes = info[..length as usize].get(at..at + 8).ok_or(io::ErrorKind::Unsupported)?;
    Ok(u64::from_ne_bytes(bytes.try_into().expect("eight bytes")))
}

/// As many bytes of `struct tcp_info` as the kernel has.
pub fn tcp_info(socket: BorrowedFd) -> io::Result<Vec<u8>> {
    let mut info = vec![0_u8; TCP_INFO];
    let mut length = TCP_INFO as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `info`.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    info.truncate(length as usize);
    Ok(info)
}

/// A subflow of an MPTCP connection.
pub struct MptcpSubflow {
    /// Counts subflows as they are opened.
    pub id: u32,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// As [`tcp_info`].
    pub info: Vec<u8>,
}

/// `struct mptcp_full_info` of linux/mptcp.h without the information on the connection at its end, which is left out
/// by giving the length without it.
#[repr(C)]
struct FullInfo {
    size_tcpinfo_kernel: u32,
    size_tcpinfo_user: u32,
    size_sfinfo_kernel: u32,
    size_sfinfo_user: u32,
    num_subflows: u32,
    size_arrays_user: u32,
    subflow_info: u64,
    tcp_info: u64,
}

/// `struct mptcp_subflow_info` of linux/mptcp.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct SubflowInfo {
    id: u32,
    local: libc::sockaddr_storage,
    remote: libc::sockaddr_storage,
}

/// The subflows that an MPTCP connection has now. An error if it has become a TCP connection or the kernel is older
/// than Linux 6.5.
pub fn mptcp_subflows(socket: BorrowedFd) -> io::Result<Vec<MptcpSubflow>> {
    const SOL_MPTCP: libc::c_int = 284;
    const MPTCP_FULL_INFO: libc::c_int = 4;
    // SAFETY: all zeros is a valid `SubflowInfo`.
    let mut subflows: [SubflowInfo; SUBFLOWS] = unsafe { std::mem::zeroed() };
    let mut infos = [[0_u8; TCP_INFO]; SUBFLOWS];
    let mut full = FullInfo {
        size_tcpinfo_kernel: 0,
        size_tcpinfo_user: TCP_INFO as u32,
        size_sfinfo_kernel: 0,
        size_sfinfo_user: size_of::<SubflowInfo>() as u32,
        num_subflows: 0,
        size_arrays_user: SUBFLOWS as u32,
        subflow_info: (&raw mut subflows) as u64,
        tcp_info: (&raw mut infos) as u64,
    };
    let mut length = size_of::<FullInfo>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `full`, and to the two arrays whose addresses are in it no
    // more elements, nor longer ones, than it says; all three live until after the call.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), SOL_MPTCP, MPTCP_FULL_INFO, (&raw mut full).cast(), &raw mut length)
    };
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    // The kernel packs the arrays with the smaller of its sizes and ours, which it writes back.
    let (step, width) = (full.size_tcpinfo_user as usize, (full.num_subflows as usize).min(SUBFLOWS));
    if full.size_sfinfo_user as usize != size_of::<SubflowInfo>() || step > TCP_INFO {
        return Err(io::Error::from(io::ErrorKind::Unsupported));
    }
    let infos = infos.as_flattened();
    let subflow = |(place, subflow): (usize, &SubflowInfo)| {
        // SAFETY: `sockaddr_storage` is as large as every address.
        let (local, remote) =
            unsafe { (ip((&raw const subflow.local).cast()), ip((&raw const subflow.remote).cast())) };
        let info = infos[place * step..(place + 1) * step].to_vec();
        Some(MptcpSubflow { id: subflow.id, local: local?, remote: remote?, info })
    };
    Ok(subflows[..width].iter().enumerate().filter_map(subflow).collect())
}

/// Makes a program the leader of its own session and process group, limits the files it writes to this many bytes and
/// those it opens to the usual number, and has it killed if this process dies.
pub fn on_its_own(command: &mut Command, file_bytes: u64) {
    let prepare = move || {
        rustix::process::setsid()?;
        let limit = Rlimit { current: Some(file_bytes), maximum: Some(file_bytes) };
        rustix::process::setrlimit(Resource::Fsize, limit)?;
        let limit = Rlimit { current: Some(1024), ..rustix::process::getrlimit(Resource::Nofile) };
        rustix::process::setrlimit(Resource::Nofile, limit)?;
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        Ok(())
    };
    // SAFETY: the closure does nothing but system calls.
    unsafe { command.pre_exec(prepare) };
}
