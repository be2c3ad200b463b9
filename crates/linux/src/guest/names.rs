//! Names under which other programs see the hosts (`ip netns`) while a run lasts.
//!
//! This process has an empty `/run/netns` of its own. A shell in the file system that it came from gives the
//! names, and removes them when its standard input ends: with this process, however that ends. If the shell
//! is killed too, they stay; a lock on each namespace tells those of a run that lives from what was left, and
//! an alias of its loopback device those of a run from a namespace of somebody else's.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio, id};

use rustix::fd::AsRawFd;
use rustix::fs::{FlockOperation, flock};

use super::outcome::failed;

/// Prints an empty line when all have their names, else what failed.
const HOLD: &str = r#"
trap '' HUP INT TERM
PATH=$PATH:/usr/sbin:/sbin
prefix=$1 root=$2 held= failed=
shift 2
for host; do
    nsenter --net="$root/run/netns/$host" sh -c \
        'ip link set dev lo alias "$0" && ip netns attach "$0" $$' "$prefix-$host" || { failed=1; break; }
    held="$held $prefix-$host"
done
[ "$failed" ] || { echo; read -r _; }
for name in $held; do ip netns delete "$name"; done
"#;

/// The file system in which other programs look for names.
pub(super) struct Outside(File);

impl Outside {
    /// That of this process, which has not left it yet.
    pub(super) fn here() -> Result<Self, String> {
        File::open("/proc/self/ns/mnt").map(Self).map_err(failed("/proc/self/ns/mnt"))
    }

    /// Gives each of these namespaces its name behind the prefix.
    pub(super) fn name<'a>(
        self,
        prefix: &str,
        hosts: impl Iterator<Item = &'a str>,
    ) -> Result<Names, String> {
        let (own, hosts) = (id(), hosts.collect::<Vec<_>>());
        let lock = |host: &&str| {
            let file = File::open(format!("/run/netns/{host}")).map_err(failed("namespace"))?;
            flock(&file, FlockOperation::NonBlockingLockShared).map_err(failed("lock"))?;
            Ok(file)
        };
        let locks = hosts.iter().map(lock).collect::<Result<_, String>>()?;
        let mut shell = Command::new("nsenter")
            .arg(format!("--mount=/proc/{own}/fd/{}", self.0.as_raw_fd()))
            .args(["sh", "-c", HOLD, "sh", prefix])
            .arg(format!("/proc/{own}/root"))
            .args(hosts)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Apart from what is ended together with this process.
            .process_group(0)
            .spawn()
            .map_err(failed("nsenter"))?;
        let mut out = BufReader::new(shell.stdout.take().expect("it is piped"));
        let (mut line, mut errors) = (String::new(), String::new());
        out.read_line(&mut line).map_err(failed("nsenter"))?;
        let names = Names { shell, _out: out, _locks: locks };
        if !line.is_empty() {
            return Ok(names);
        }
        let mut names = names;
        let stderr = names.shell.stderr.as_mut().expect("it is piped");
        stderr.read_to_string(&mut errors).map_err(failed("nsenter"))?;
        Err(format!("names in /run/netns: {}", errors.trim().replace('\n', "; ")))
    }
}

/// They go with this value.
pub(super) struct Names {
    shell: Child,
    /// Where the shell may still print.
    _out: BufReader<ChildStdout>,
    _locks: Vec<File>,
}

impl Drop for Names {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        // What cannot be removed is left to `sojourn clean --live`.
        let _ = self.shell.wait();
    }
}
