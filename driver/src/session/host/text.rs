//! The host file: TOML with comments, one thing a line, so that two of them can be compared.

use super::{Bandwidths, Curve, FORMAT, Figure, Host, Point, Storage, Store, Sweep};
use crate::session::written::{self, What, quoted};
use std::fmt::Display;

/// What the file is.
const WHAT: What = What { name: "host file", format: FORMAT, made_by: "pipec calibrate" };

impl Host {
    /// What the text of a host file says.
    ///
    /// # Errors
    /// A sentence: what is wrong, in which line, and what helps.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let host: Self = written::parse(text, WHAT)?;
        host.sound().map(|()| host)
    }

    /// Sees to it that figures which were written by hand can be reckoned with.
    fn sound(&self) -> Result<(), String> {
        let points = self.storage.iter().flat_map(|it| &it.read).flat_map(|it| &it.points);
        let memory = [&self.memory.one_thread, &self.memory.all_threads].into_iter().flatten();
        let mut figures = points
            .flat_map(|it| [it.bandwidth, it.latency])
            .chain(self.storage.iter().map(|it| it.write))
            .chain(self.store.iter().flat_map(|it| [it.latency, it.one, it.many, it.requests]))
            .chain(memory.flat_map(|it| [it.read, it.write, it.copy]));
        let usable = |it: f64| it.is_finite() && it > 0.0;
        if !usable(self.cpu.available) {
            return Err(bad("`cpu.available`", "more than 0", self.cpu.available));
        }
        if self.memory.total == 0 {
            return Err(bad("`memory.total`", "more than 0", 0));
        }
        let sweeps = self.storage.iter().flat_map(|it| &it.read);
        let curves =
            sweeps.flat_map(|Sweep { curve: Curve { m1, b1, m2, b2, thresh }, .. }| {
                [("m1", m1), ("b1", b1), ("m2", m2), ("b2", b2), ("thresh", thresh)]
            });
        if let Some((name, it)) = curves.into_iter().find(|it| !it.1.is_finite()) {
            return Err(bad(&format!("a `{name}`"), "a number", it));
        }
        match figures.find(|it| !usable(it.median)) {
            Some(it) => Err(bad("a `median`", "more than 0", it.median)),
            None => Ok(()),
        }
    }

    /// The host file.
    pub(crate) fn to_text(&self) -> String {
        let mut out = Lines::default();
        out.say(
            "# What this machine can do, measured by `pipec calibrate`. It may be edited by hand.",
        );
        out.say("# Bandwidths in bytes per second, latencies in seconds, sizes in bytes. `trusted = false`:");
        out.say(
            "# too few runs, runs that differ too much, or not verified to come from the disk \
                 (`doubt`).",
        );
        out.key("format", self.format);
        self.measured_text(&mut out);
        self.cpu_text(&mut out);
        self.memory_text(&mut out);
        for it in &self.storage {
            storage_text(it, &mut out);
        }
        for it in &self.store {
            store_text(it, &mut out);
        }
        out.0
    }

    fn measured_text(&self, out: &mut Lines) {
        let Some(it) = &self.measured else { return };
        out.say("\n[measured]");
        out.key("at", quoted(&it.at));
        out.key("seconds", float(it.seconds));
        out.key("quick", it.quick);
        out.key("pipec", quoted(&it.pipec));
        out.some("load", it.load.map(float));
        out.say("# Cores used by other programs meanwhile: if many, all figures are too low.");
        out.some("others", it.others.map(float));
    }

    fn cpu_text(&self, out: &mut Lines) {
        let it = &self.cpu;
        out.say("\n[cpu]");
        out.some("model", it.model.as_ref().map(quoted));
        out.say(
            "# Cores that a process gets: those it may be put on, within the quota of its group.",
        );
        out.key("available", float(it.available));
        out.key("allowed", it.allowed);
        out.some("quota", it.quota.map(float));
        out.key("logical", it.logical);
        out.key("physical", it.physical);
    }

    fn memory_text(&self, out: &mut Lines) {
        let it = &self.memory;
        out.say("\n[memory]");
        out.key("total", it.total);
        out.some("limit", it.limit);
        bandwidths("[memory.one_thread]", it.one_thread.as_ref(), out);
        bandwidths("[memory.all_threads]", it.all_threads.as_ref(), out);
    }
}

fn bandwidths(heading: &str, them: Option<&Bandwidths>, out: &mut Lines) {
    let Some(it) = them else { return };
    out.say(&format!("\n{heading}"));
    out.key("threads", it.threads);
    out.key("read", figure(&it.read));
    out.key("write", figure(&it.write));
    out.key("copy", figure(&it.copy));
    out.some("doubt", it.doubt.as_ref().map(quoted));
}

fn storage_text(it: &Storage, out: &mut Lines) {
    out.say("\n[[storage]]");
    out.key("path", quoted(&it.path));
    out.some("mount", it.mount.as_ref().map(quoted));
    out.some("file_system", it.file_system.as_ref().map(quoted));
    out.some("device", it.device.as_ref().map(quoted));
    out.key("medium", quoted(&it.medium));
    out.some("total", it.total);
    out.some("free", it.free);
    out.say(
        "# Bytes of the file that was measured, and how its cold reads went past the page cache.",
    );
    out.key("file", it.file);
    out.key("cold", quoted(&it.cold));
    out.some("doubt", it.doubt.as_ref().map(quoted));
    out.key("write", figure(&it.write));
    for sweep in &it.read {
        sweep_text(sweep, out);
    }
}

fn store_text(it: &Store, out: &mut Lines) {
    out.say("\n[[store]]");
    out.key("url", quoted(&it.url));
    out.say("# Seconds to the first byte; bytes per second of one request, and of all at the same time.");
    out.key("latency", figure(&it.latency));
    out.key("one", figure(&it.one));
    out.key("many", figure(&it.many));
    out.say("# Small requests that are answered in a second, with so many at the same time; bytes that were read.");
    out.key("requests", figure(&it.requests));
    out.key("at_once", it.at_once);
    out.key("read", it.read);
}

fn sweep_text(it: &Sweep, out: &mut Lines) {
    out.say("\n[[storage.read]]");
    out.key("cache", quoted(&it.cache));
    out.key("pattern", quoted(&it.pattern));
    out.key("request", it.request);
    let Curve { m1, b1, m2, b2, thresh } = it.curve;
    let [m1, b1, m2, b2, thresh] = [m1, b1, m2, b2, thresh].map(float);
    out.say("# Bandwidth over threads: m1·threads + b1 up to `thresh`, m2·threads + b2 beyond.");
    let curve = format!("m1 = {m1}, b1 = {b1}, m2 = {m2}, b2 = {b2}, thresh = {thresh}");
    out.key("curve", format!("{{ {curve} }}"));
    out.key("enough", it.enough);
    out.say("points = [");
    for Point { threads, bandwidth, latency } in &it.points {
        let (bandwidth, latency) = (figure(bandwidth), figure(latency));
        out.say(&format!(
            "    {{ threads = {threads}, bandwidth = {bandwidth}, latency = {latency} }},"
        ));
    }
    out.say("]");
}

/// Lines of the file.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn say(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn key(&mut self, name: &str, value: impl Display) {
        self.say(&format!("{name} = {value}"));
    }

    fn some(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.key(name, value);
        }
    }
}

fn figure(it: &Figure) -> String {
    let [median, min, max] = [it.median, it.min, it.max].map(float);
    let runs = it.runs;
    let doubtful = if it.trusted { "" } else { ", trusted = false" };
    format!("{{ median = {median}, min = {min}, max = {max}, runs = {runs}{doubtful} }}")
}

/// A number that reads back as the same: `1.25e9`, `2.5`.
fn float(it: f64) -> String {
    if it == 0.0 || (0.01..1e5).contains(&it.abs()) { format!("{it:?}") } else { format!("{it:e}") }
}

fn bad(what: &str, wanted: &str, value: impl Display) -> String {
    format!(
        "{what} of this host file is {value}, but must be {wanted}: correct it, or measure again \
         with `pipec calibrate`"
    )
}
