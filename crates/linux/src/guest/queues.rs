//! What `tc` reports of the queues.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

use super::outcome::{Outcome, failed};
use crate::job::Line;
use crate::network::Device;

/// One `tc` per device that answers all questions: starting one for each would be slow.
pub(super) struct Queues(Vec<(String, ChildStdin, BufReader<ChildStdout>)>);

impl Queues {
    pub(super) fn open(devices: &[Device]) -> Result<Self, String> {
        let open = |device: &Device| {
            let child = Command::new("ip")
                .args(["netns", "exec", &device.namespace, "tc", "-s", "-j", "-force", "-b", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .map_err(failed("tc"))?;
            let (Some(questions), Some(answers)) = (child.stdin, child.stdout) else {
                return Err("tc: no pipes".to_owned());
            };
            let question = match device.hook {
                None => format!("qdisc show dev {}", device.name),
                Some(hook) => format!("filter show dev {} {hook}", device.name),
            };
            Ok((question, questions, BufReader::new(answers)))
        };
        devices.iter().map(open).collect::<Result<_, _>>().map(Self)
    }

    /// Asks for every device and puts the answers.
    pub(super) fn ask(&mut self, mut put: impl FnMut(usize, String) -> Outcome) -> Outcome {
        for (index, (question, questions, answers)) in self.0.iter_mut().enumerate() {
            writeln!(questions, "{question}").map_err(failed("tc"))?;
            let mut answer = String::new();
            if answers.read_line(&mut answer).map_err(failed("tc"))? == 0 {
                return Err(format!("tc: no answer to {question}"));
            }
            put(index, answer.trim_end().to_owned())?;
        }
        Ok(())
    }

    /// Asks for every device; the lines report what was just before a change.
    pub(super) fn before(&mut self, at: u64, put: &mut dyn FnMut(Line) -> Outcome) -> Outcome {
        self.ask(|index, rows| put(Line::Before(index, at, rows)))
    }
}
