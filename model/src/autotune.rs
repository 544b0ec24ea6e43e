//! tf.data's tuner, as a baseline: a hill climb on predicted latency, each queue an M/M/1/K.
//!
//! After `model.cc` of TensorFlow 2.7 as the paper's section 2.2 tells it. It knows nothing of what a
//! machine can do at most, so the rate that it predicts has no bound.

use crate::{machine::Machine, network::Network, predict::Setting};

/// The part of the memory that buffers may take (tf.data: half of it).
const MEMORY_PART: f64 = 0.5;

/// A larger buffer must save this much, in nanoseconds.
const BUFFER_SAVES_NS: f64 = 1.0;

/// Outputs that are fetched ahead at most.
const PREFETCH_MAX: u32 = 512;

/// Steps of the hill climb at most.
const CLIMB_MAX: usize = 100_000;

/// The part of the time in which a queue of n places is empty: M/M/1/K with a producer that takes y
/// and a consumer that takes x.
pub fn empty(y: f64, x: f64, n: f64) -> f64 {
    if y == 0.0 {
        return 0.0;
    }
    if x == 0.0 {
        return 1.0;
    }
    let rho = x / y;
    if (rho - 1.0).abs() < 1e-12 {
        return 1.0 / (n + 1.0);
    }
    // Both powers overflow together for a fast producer; the quotient is then 0.
    let p = (1.0 - rho) / (1.0 - rho.powf(n + 1.0));
    if p.is_finite() { p.max(0.0) } else { 0.0 }
}

/// Nanoseconds per output that the tuner predicts for a setting. Its rate is 10⁹ by that.
pub fn output_ns(network: &Network, setting: &Setting) -> f64 {
    let times = input_times(network, setting);
    let mut out = vec![0.0; network.steps().len()];
    for (at, step) in network.steps().iter().enumerate() {
        let own = self_ns(network, at);
        let ahead: f64 = step.inputs.iter().map(|it| step.taken * it.share * out[it.step]).sum();
        let workers = f64::from(setting.workers[at].max(1));
        out[at] = if step.inputs.is_empty() || step.sequential() {
            own + ahead
        } else {
            let x = step.taken * times[at];
            own / workers + ahead * empty(ahead, x, (workers / step.taken).max(1.0))
        };
    }
    let (root, buffer) = (out[network.root()], f64::from(setting.prefetch));
    // The root is asked again at once: its consumer takes no time (tf.data: input time 0).
    root * if setting.prefetch > 0 { empty(root, times[network.root()], buffer) } else { 1.0 }
}

/// The setting at which the hill climb stops.
pub fn tuned(network: &Network, machine: &Machine) -> Setting {
    let mut setting = Setting::naive(network.steps().len());
    setting.prefetch = 1;
    let demands = network.demands(machine.cores);
    let total_ns: f64 = demands.iter().map(|it| it.cpu_s * 1e9).sum();
    let output_bytes = network.steps()[network.root()].bytes_out.value;
    for _ in 0..CLIMB_MAX {
        let now = output_ns(network, &setting);
        let buffers = f64::from(setting.prefetch) * output_bytes;
        if now < total_ns / machine.cores || buffers > MEMORY_PART * machine.memory_bytes {
            break;
        }
        let Some(next) = steepest(network, machine, (&setting, now)) else { break };
        setting = next;
    }
    setting
}

/// The neighbour with the largest drop; also where nothing drops, for so tf.data does.
fn steepest(
    network: &Network,
    machine: &Machine,
    (setting, now): (&Setting, f64),
) -> Option<Setting> {
    let most = machine.cores.ceil().max(1.0) as u32;
    let raise = |at: usize| {
        let mut next = setting.clone();
        next.workers[at] += 1;
        next
    };
    let parallel = network.steps().iter().enumerate();
    let raised = parallel
        .filter(|it| {
            !it.1.sequential()
                && setting.workers[it.0] < it.1.workers_limit().unwrap_or(most).min(most)
        })
        .map(|it| raise(it.0));
    let more = Setting { prefetch: setting.prefetch + 1, ..setting.clone() };
    let saves = now - output_ns(network, &more) > BUFFER_SAVES_NS && more.prefetch <= PREFETCH_MAX;
    let all = raised.chain(saves.then_some(more));
    all.min_by(|a, b| output_ns(network, a).total_cmp(&output_ns(network, b)))
}

/// Nanoseconds of a step for each record leaving.
fn self_ns(network: &Network, at: usize) -> f64 {
    let step = &network.steps()[at];
    step.taken * (step.ns.value / step.internal.max(1.0) + step.waits_ns.value)
}

/// Nanoseconds between two records that each step is asked for, from the root down.
fn input_times(network: &Network, setting: &Setting) -> Vec<f64> {
    let mut times = vec![0.0; network.steps().len()];
    for (at, step) in network.steps().iter().enumerate().rev() {
        let workers = if step.sequential() { 1.0 } else { f64::from(setting.workers[at].max(1)) };
        for input in &step.inputs {
            let asked = (step.taken * input.share).max(f64::MIN_POSITIVE);
            times[input.step] = (times[at] + self_ns(network, at) / workers) / asked;
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_empty_as_the_formula_says() {
        assert_eq!(
            [empty(0.0, 5.0, 3.0), empty(5.0, 0.0, 3.0), empty(2.0, 2.0, 3.0)],
            [0.0, 1.0, 0.25]
        );
        // ρ = 1/2, K = 1: (1 − ½)/(1 − ¼).
        assert!((empty(2.0, 1.0, 1.0) - 2.0 / 3.0).abs() < 1e-12);
        assert_eq!(empty(1.0, 1e300, 512.0), 0.0);
    }
}
