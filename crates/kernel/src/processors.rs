//! The processors that there are.

/// The processors that this process may use, in order; none if the system does not say.
pub fn processors() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&processor| set.is_set(processor)).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_at_least_the_one_this_runs_on() {
        assert!(!super::processors().is_empty());
    }
}
