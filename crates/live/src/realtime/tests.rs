use std::sync::{Mutex, PoisonError};

use super::*;

const ALL: Measures =
    Measures { fifo: true, exact_timers: true, no_idle: true, locked_memory: true, cpu: Some(0) };

/// On a thread of its own, one after the other: locked memory is the process's.
fn apart<T: Send>(test: impl FnOnce() -> T + Send) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| scope.spawn(test).join().expect("no panic"))
}

#[test]
fn what_is_not_asked_for_is_neither_granted_nor_refused() {
    apart(|| {
        let none = RealTime::ask(Measures::default());
        assert_eq!(none.granted(), Measures::default());
        assert!(none.refused().is_empty());
    });
}

#[test]
fn each_measure_is_granted_or_refused_with_its_reason() {
    apart(|| {
        let all = RealTime::ask(ALL);
        let Measures { fifo, exact_timers, no_idle, locked_memory, cpu } = all.granted();
        let granted = [fifo, exact_timers, no_idle, locked_memory, cpu.is_some()];
        let refused = granted.iter().filter(|is| !**is).count();
        assert_eq!(all.refused().len(), refused, "{:?}", all.refused());
        // Everyone may have these.
        assert!(exact_timers);
        let policy = Policy::current().expect("a policy");
        assert_eq!(policy == Policy::fifo(), fifo);
    });
}

#[test]
fn afterwards_the_thread_is_as_it_was() {
    apart(|| {
        let state = || {
            let policy = Policy::current().expect("a policy");
            let cpus = sched_getaffinity(None).expect("CPUs");
            let limit = getrlimit(Resource::Memlock);
            // A refused reset of inheritance is no change of policy.
            let policy = policy.not_inherited();
            (policy, cpus, current_timer_slack().expect("a slack"), limit)
        };
        let before = state();
        drop(RealTime::ask(ALL));
        assert_eq!(state(), before);
    });
}

#[test]
fn a_cpu_that_is_not_there_is_refused() {
    apart(|| {
        for cpu in [CpuSet::MAX_CPU - 1, usize::MAX] {
            let none = RealTime::ask(Measures { cpu: Some(cpu), ..Measures::default() });
            assert_eq!((none.granted().cpu, none.refused()[0].what), (None, CPU));
        }
    });
}
