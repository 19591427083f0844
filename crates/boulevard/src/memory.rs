//! How much memory is free, the limits of containers and of the process included.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// Bytes that can be taken without making anybody swap; none where the system does not say.
pub(crate) fn free_memory() -> Option<usize> {
    let machine = read_to_string("/proc/meminfo").ok().and_then(|text| available(&text))?;
    let group = read_to_string("/proc/self/cgroup").ok().and_then(|text| group_room(Path::new("/sys/fs/cgroup"), &text));
    let read = |name: &str| read_to_string(format!("/proc/self/{name}")).ok();
    let addresses = read("limits").zip(read("status")).and_then(|(limits, status)| address_room(&limits, &status));
    Some(machine.min(group.unwrap_or(usize::MAX)).min(addresses.unwrap_or(usize::MAX)))
}

/// What the limit on this process's address space leaves (`ulimit -v`, and what batch systems set); none where there is no limit.
fn address_room(limits: &str, status: &str) -> Option<usize> {
    let limit = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?.split_whitespace().next()?;
    let used = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?.split_whitespace().next()?;
    Some(limit.parse::<usize>().ok()?.saturating_sub(used.parse::<usize>().ok()?.checked_mul(1024)?))
}

/// `MemAvailable` in bytes.
fn available(meminfo: &str) -> Option<usize> {
    let line = meminfo.lines().find(|line| line.starts_with("MemAvailable:"))?;
    line.split_whitespace().nth(1)?.parse::<usize>().ok()?.checked_mul(1024)
}

/// What the control groups of this process leave, both versions; a group's parents limit it too.
fn group_room(root: &Path, groups: &str) -> Option<usize> {
    let mut least = None::<usize>;
    for line in groups.lines() {
        // "0::/a/b" (version 2), "7:memory:/a/b" (version 1)
        let mut words = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (words.next(), words.next()) else { continue };
        let (folder, limit, used) = match controllers {
            "" => (root.to_path_buf(), "memory.max", "memory.current"),
            list if list.split(',').any(|name| name == "memory") => (root.join("memory"), "memory.limit_in_bytes", "memory.usage_in_bytes"),
            _ => continue,
        };
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        // Inside a container the path is often one of the host that cannot be seen; then only the root says something.
        for depth in 0..=parts.len() {
            let at: PathBuf = parts[..depth].iter().fold(folder.clone(), |at, part| at.join(part));
            let number = |name: &str| read_to_string(at.join(name)).ok()?.trim().parse::<usize>().ok();
            if let (Some(limit), Some(used)) = (number(limit), number(used)) {
                let files = read_to_string(at.join("memory.stat")).map_or(0, |text| file_pages(&text));
                let room = limit.saturating_sub(used.saturating_sub(files));
                least = Some(least.map_or(room, |least| least.min(room)));
            }
        }
    }
    least
}

/// Bytes of files that a group's memory holds and gives back when it is asked for more: they count as used, but are as good as free. Groups
/// of version 1 say what their children hold in lines of their own.
fn file_pages(statistics: &str) -> usize {
    let of = |name: &str| {
        let line = statistics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse::<usize>().ok()
    };
    let both = |prefix: &str| Some(of(&format!("{prefix}inactive_file"))?.saturating_add(of(&format!("{prefix}active_file"))?));
    both("total_").or_else(|| both("")).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_on_the_way_counts() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(group_room(root.path(), "0::/a/b\n"), None, "nothing there, nothing known");
        write("a/memory.max", "1000\n");
        write("a/memory.current", "300\n");
        write("a/b/memory.max", "max\n");
        write("a/b/memory.current", "200\n");
        assert_eq!(group_room(root.path(), "0::/a/b\n"), Some(700), "no limit of its own, but its parent has one");
        write("a/memory.stat", "anon 50\ninactive_file 150\nactive_file 60\n");
        assert_eq!(group_room(root.path(), "0::/a/b\n"), Some(910), "pages of files are given back");
        write("a/memory.stat", "inactive_file 900\nactive_file 900\n");
        assert_eq!(group_room(root.path(), "0::/a/b\n"), Some(1000), "but never more than the limit");
        assert_eq!(
            file_pages("inactive_file 1\nactive_file 2\ntotal_inactive_file 30\ntotal_active_file 40\n"),
            70,
            "version 1, with children"
        );
        write("memory/x/memory.limit_in_bytes", "500\n");
        write("memory/x/memory.usage_in_bytes", "600\n");
        assert_eq!(group_room(root.path(), "3:cpu:/x\n7:hugetlb,memory:/x\n"), Some(0), "more in use than allowed");
    }

    #[test]
    fn limits_on_addresses_count() {
        let status = "Name:\tfit\nVmPeak:\t 9 kB\nVmSize:\t 100 kB\nVmRSS:\t 3 kB\n";
        let limits =
            |soft: &str| format!("Limit   Soft Limit  Hard Limit  Units\nMax address space         {soft}      unlimited    bytes\n");
        assert_eq!(address_room(&limits("unlimited"), status), None);
        assert_eq!(address_room(&limits("307200"), status), Some(204_800));
        assert_eq!(address_room(&limits("1024"), status), Some(0), "more in use than allowed");
    }

    #[test]
    fn what_the_machine_says_is_read() {
        assert_eq!(available("MemTotal:  10 kB\nMemAvailable:    7 kB\n"), Some(7 * 1024));
        assert_eq!(available("MemTotal:  10 kB\n"), None);
        if cfg!(target_os = "linux") {
            assert!(free_memory().is_some_and(|bytes| bytes > 1 << 20));
        }
    }
}
