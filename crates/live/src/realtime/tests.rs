use std::sync::{Mutex, PoisonError};

use super::*;

const ALL: Measures = Measures {
    fifo: true,
    exact_timers: true,
    no_idle: true,
    awake: true,
    locked_memory: true,
    cpu: Some(0),
};

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
        let Measures { fifo, exact_timers, no_idle, awake, locked_memory, cpu } = all.granted();
        let granted = [fifo, exact_timers, no_idle, awake, locked_memory, cpu.is_some()];
        let refused = granted.iter().filter(|is| !**is).count();
        assert_eq!(all.refused().len(), refused, "{:?}", all.refused());
        // Everyone may have these.
        assert!(exact_timers && awake);
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

/// Policy and CPUs of each thread that keeps a CPU awake.
fn pollers() -> Vec<(String, String, String)> {
    let tasks =
        fs::read_dir("/proc/self/task").expect("tasks").map(|task| task.expect("one").path());
    let read =
        |path: &std::path::Path, name| fs::read_to_string(path.join(name)).unwrap_or_default();
    let of = tasks.filter(|task| read(task, "comm").trim() == "awake");
    of.map(|task| {
        let status = read(&task, "status");
        let line = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
            line.trim().to_owned()
        };
        // proc_pid_stat(5): field 41 is the policy; the third comes after the name in parentheses.
        let stat = read(&task, "stat");
        let policy = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(38));
        (policy.unwrap_or_default().to_owned(), line("Cpus_allowed_list:"), line("CapEff:"))
    })
    .collect()
}

#[test]
fn a_thread_that_anything_displaces_keeps_each_cpu_awake_and_none_is_left() {
    apart(|| {
        let cpus = sched_getaffinity(None).expect("CPUs");
        let mut expected: Vec<String> = (0..CpuSet::MAX_CPU)
            .filter(|cpu| cpus.is_set(*cpu))
            .map(|cpu| cpu.to_string())
            .collect();
        expected.sort();
        let awake = RealTime::ask(Measures { awake: true, ..Measures::default() });
        assert!(awake.granted().awake);
        // They confine themselves first; until then they are not counted.
        let confined = || {
            let of = pollers().into_iter().filter(|(policy, cpus, rights)| {
                policy == &libc::SCHED_IDLE.to_string()
                    && expected.contains(cpus)
                    && rights.trim_matches('0').is_empty()
            });
            let mut of: Vec<String> = of.map(|(_, cpus, _)| cpus).collect();
            of.sort();
            of
        };
        let patience = std::time::Duration::from_secs(30);
        for _ in 0..3000 {
            if confined() == expected {
                break;
            }
            std::thread::sleep(patience / 3000);
        }
        assert_eq!(confined(), expected);
        drop(awake);
        assert_eq!(pollers(), []);
    });
}
