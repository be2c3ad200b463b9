//! Memory of a run: what the process holds more at its end than before it, and at most while it runs, per flow.
//!
//! `cargo bench -p sojourn-sim --bench memory`. Bytes are those that the program has asked its allocator for.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]
#![expect(unsafe_code, reason = "an allocator is unsafe by its interface")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use sojourn_scenario::load;

/// The system's allocator, which counts.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grow(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grow(layout.size());
        // SAFETY: as of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as of the caller.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() {
    println!("half cubic, half prague over fq_codel, 1 Gbit/s, 20 ms, 4 s simulated; kB per flow");
    println!("{:>8}  {:>9}  {:>9}  {:>9}", "flows", "series", "built", "at most");
    for flows in [100, 1000, 10_000] {
        for series in ["flows", "groups", "none"] {
            row(flows, series);
        }
    }
}

fn row(flows: usize, series: &str) {
    let text = format!(
        "name = \"bench\"\nduration = \"4s\"\nseries = \"{series}\"\n\
         [[link]]\nname = \"bneck\"\nrate = \"1Gbit\"\nqdisc = \"fq_codel limit 100000\"\ndelay = \"10ms\"\n\
         [[flow]]\nname = \"cubic\"\ncc = \"cubic\"\nflows = {half}\nstart_jitter = \"1s\"\n\
         [[flow]]\nname = \"prague\"\ncc = \"prague\"\nflows = {half}\nstart_jitter = \"1s\"\n",
        half = flows / 2
    );
    let before = HELD.load(Ordering::Relaxed);
    let scenario = load(&text, "bench.toml", &[]).expect("a valid scenario").scenario;
    let simulation = sojourn_sim::Simulation::new(scenario.clone().into());
    let built = HELD.load(Ordering::Relaxed) - before;
    drop(simulation);
    MOST.store(HELD.load(Ordering::Relaxed), Ordering::Relaxed);
    let output = sojourn_sim::run(&scenario).expect("time moves");
    let most = MOST.load(Ordering::Relaxed) - before;
    drop(output);
    let per_flow = |bytes: usize| bytes as f64 / 1e3 / flows as f64;
    let (built, most) = (per_flow(built), per_flow(most));
    println!("{flows:>8}  {series:>9}  {built:>9.1}  {most:>9.1}");
}
