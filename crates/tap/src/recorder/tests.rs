use std::{env, fs, process};

use sojourn_scenario::Run;
use sojourn_sim::Simulation;

use super::*;

const FILE: &str = r#"
name = "captured"
duration = "500ms"

[[link]]
name = "dsl"
rate = "10Mbit"
shaper = "htb"
qdisc = "dualpi2"
delay = "10ms"

[[flow]]
name = "a"
cc = "prague"

[[capture]]
name = "queue"
points = [{ link = "dsl", direction = "forward" }]
"#;

fn run(scenario: &Arc<Scenario>, tap: Box<dyn Tap>) {
    let mut simulation = Simulation::new(Arc::clone(scenario));
    simulation.tap(tap);
    sojourn_scenario::complete(Box::new(simulation) as Box<dyn Run>).unwrap();
}

#[test]
fn a_capture_in_memory_has_the_bytes_of_a_file() {
    let scenario = Arc::new(sojourn_scenario::load(FILE, "f.toml", &[]).unwrap().scenario);
    let (tap, kept) = in_memory(&scenario).unwrap();
    run(&scenario, tap);
    let folder = env::temp_dir().join(format!("sojourn-tap-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    run(&scenario, simulated(&scenario, &folder).unwrap().unwrap());
    let [(name, memory)] = &kept[..] else { panic!("one capture") };
    let file = fs::read(folder.join(name)).unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(file.len() > 10_000, "{}", file.len());
    assert!(memory.take() == file);
}
