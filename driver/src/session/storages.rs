//! Where the data of a pipeline lies, as far as the machine is known: the storages that bound how fast it is read.

use crate::session::{compiled::Compiled, host::Host};
use compiler::caches::Disk;
use model::{Machine, Origin, Storage, under_way};
use plan::{Arg, Code, Program};
use runtime::{reads, storage};
use std::path::Path;

/// Bytes per second that bound nothing.
const UNBOUNDED: f64 = 1e15;

impl Compiled {
    /// Adds the storages of the sources to `machine`; for each source the place of its storage, where it is known.
    pub(crate) fn storages(
        &self,
        machine: &mut Machine,
        host: Option<&Host>,
    ) -> Vec<Option<usize>> {
        let request = self.optimised.estimate.request_bytes(&stdlib::library());
        let mut storages = match host {
            Some(host) => known(machine, (host, request), &self.program),
            None => vec![None; sources(&self.program).count()],
        };
        if let Some(disk) = held_back() {
            let at = place_of(machine, disk);
            storages.iter_mut().for_each(|it| *it = Some(at));
        }
        add_far(machine, (&mut storages, host), &self.program);
        storages
    }
}

/// Whether a source reads from a store beyond a network, where each request is paid for.
pub(crate) fn reads_far(program: &Program) -> bool {
    let is_far = |args: &[Arg]| {
        folder_of(args).is_some_and(|it| storage::of(Path::new(it)).access().is_some())
    };
    sources(program).any(is_far)
}

/// The disk that the process plays, where it reads no faster than one.
pub(crate) fn held_back() -> Option<Storage> {
    let rate = reads::held_back()? as f64;
    Some(Storage { write: UNBOUNDED, ..Storage::flat("the virtual disk", rate) })
}

/// The disk of a cache folder that nobody has measured.
pub(crate) fn unmeasured() -> Storage {
    Storage { write: UNBOUNDED, ..Storage::flat("the cache folder", Disk::BYTES_PER_S) }
}

/// The place of `storage` among those of `machine`, to which it is added if it is not there.
pub(crate) fn place_of(machine: &mut Machine, mut storage: Storage) -> usize {
    let readers = under_way::readers(machine.cores as usize) as u32;
    for curve in [&mut storage.sequential, &mut storage.random] {
        curve.readers_max = curve.readers_max.min(readers);
    }
    let at = machine.storages.iter().position(|it| it.name == storage.name);
    at.unwrap_or_else(|| {
        machine.storages.push(storage);
        machine.storages.len() - 1
    })
}

/// The arguments of each source.
fn sources(program: &Program) -> impl Iterator<Item = &[Arg]> {
    program.stages.iter().filter_map(|(_, it)| match &it.code {
        Code::Source { args, .. } => Some(&args[..]),
        _ => None,
    })
}

/// What a calibrated host says of the machine, which is read in requests of so many bytes; for each
/// source the place of its storage.
fn known(
    machine: &mut Machine,
    (host, request): (&Host, Option<f64>),
    program: &Program,
) -> Vec<Option<usize>> {
    let all = host.memory.all_threads.as_ref();
    machine.memory_bandwidth = all.filter(|it| it.copy.trusted).map(|it| 2.0 * it.copy.median);
    machine.origin = if host.is_assumed() { Origin::Assumed } else { Origin::Calibrated };
    let mut place = |args: &[Arg]| {
        let found = host.storage_of(Path::new(folder_of(args)?))?.modelled(request)?;
        Some(place_of(machine, found))
    };
    sources(program).map(&mut place).collect()
}

/// Adds the storages that answer late, as they were measured or else as they answer, and says which sources lie there.
fn add_far(
    machine: &mut Machine,
    (storages, host): (&mut [Option<usize>], Option<&Host>),
    program: &Program,
) {
    for (source, at) in sources(program).zip(storages) {
        let Some(path) = folder_of(source).map(Path::new) else { continue };
        let Some(scheme) = storage::scheme_of(path.as_os_str().as_encoded_bytes()) else {
            continue;
        };
        let Some(access) = storage::of(path).access() else { continue };
        let name = format!("{scheme}://");
        let known = machine.storages.iter().position(|it| it.name == name);
        *at = Some(known.unwrap_or_else(|| {
            let answers = (access.latency.as_secs_f64(), access.requests_max as u64);
            let each = access.bytes_per_second.map(|it| it as f64);
            let measured = host.and_then(|it| it.store_of(path)).map(|it| it.modelled(&name));
            let assumed = || model::Storage::far(&name, answers, each);
            machine.storages.push(measured.unwrap_or_else(assumed));
            machine.storages.len() - 1
        }));
    }
}

/// Where a source reads: what comes before the first wildcard of its first path.
fn folder_of(args: &[Arg]) -> Option<&str> {
    let path = args.iter().find_map(|it| match it {
        Arg::Text(path) => Some(path),
        Arg::List(all) => match all.first() {
            Some(Arg::Text(path)) => Some(path),
            _ => None,
        },
        _ => None,
    })?;
    path.split(['*', '{', '?', '[']).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_lies_where_its_first_path_leads() {
        let text = |it: &str| Arg::Text(it.to_owned());
        assert_eq!(folder_of(&[text("data/img_*.jpg"), text(",")]), Some("data/img_"));
        assert_eq!(folder_of(&[Arg::List(vec![text("a/[0-9].csv"), text("b")])]), Some("a/"));
        assert_eq!(folder_of(&[Arg::Int(9)]), None);
    }
}
