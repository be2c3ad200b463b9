//! Whether the programs of a scenario may and can run.

use std::env;
use std::path::Path;

use sojourn_scenario::{Flow, Scenario};

use super::Refusal;
use crate::job::Place;
use crate::run::Carrier;

/// Refuses programs where they are not allowed, or cannot be. The error is one line.
pub(crate) fn check_programs(
    scenario: &Scenario,
    place: Place,
    carrier: Carrier,
    is_allowed: bool,
) -> Result<(), String> {
    let flows = || scenario.flows.iter().filter(|flow| flow.exec.is_some());
    let key = |flow: &Flow| format!("flow.{}.exec", flow.name);
    let Some(first) = flows().next() else { return Ok(()) };
    if place != Place::Machine || carrier == Carrier::Kernel {
        let reason = "programs of your own run with --engine live only";
        return Err(Refusal::new(key(first), reason).to_string());
    }
    if !is_allowed {
        return Err(format!(
            "{}: the scenario runs programs: expected `sojourn run --allow-exec`",
            key(first)
        ));
    }
    for (n, flow) in flows().enumerate() {
        if let Some(other) =
            flows().take(n).find(|other| hosts(scenario, other) == hosts(scenario, flow))
        {
            let (key, other) = (key(flow), &other.name);
            return Err(format!(
                "{key}: its packets cannot be distinguished from those of `{other}`, which has the same hosts"
            ));
        }
        let exec = flow.exec.iter();
        let programs = exec.flat_map(|exec| exec.server.iter().chain([&exec.client]));
        if let Some(program) = programs.into_iter().find(|program| !is_there(program.name())) {
            return Err(format!("{}: no program `{}`", key(flow), program.name()));
        }
    }
    Ok(())
}

/// The hosts at the ends of a flow; in a chain all flows have the same ones.
fn hosts(scenario: &Scenario, flow: &Flow) -> Option<[usize; 2]> {
    let mut hosts = scenario.ends(flow.path())?;
    hosts.sort_unstable();
    Some(hosts)
}

/// Whether a path, or a name in one of the folders of `PATH`, leads to a file that can be executed.
fn is_there(program: &str) -> bool {
    if program.contains('/') {
        return is_executable(Path::new(program));
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| is_executable(&folder.join(program)))
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &Path) -> bool {
    path.is_file()
}
