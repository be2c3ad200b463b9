//! Prints what a capture file shows as JSON: `inspect FILE` the report, `inspect FILE MS` series of its TCP flows over
//! intervals of this number of milliseconds, with the ports of the opener and the peer.

use std::error::Error;
use std::io::{BufWriter, Write};
use std::path::Path;

use sojourn_capture::{Capture, layers};
use sojourn_inspect::report::Protocol;
use sojourn_inspect::series::{Series, Window};
use sojourn_inspect::{Analyser, Options};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().ok_or("usage: inspect FILE [MS]")?;
    let interval = arguments.next().map(|ms| ms.parse::<u64>()).transpose()?;
    let mut capture = Capture::open(Path::new(&file))?;
    let mut analyser = Analyser::new(Options { events: interval.is_some(), ..Options::default() });
    while let Some(record) = capture.next() {
        match layers::dissect(record.link, record.bytes) {
            Ok(layers) => analyser.packet(record.time, &layers),
            Err(why) => analyser.skip(why),
        }
    }
    let report = analyser.finish();
    let mut out = BufWriter::new(std::io::stdout().lock());
    match interval {
        None => serde_json::to_writer_pretty(&mut out, &report)?,
        Some(ms) => {
            let flows = report.flows.iter().zip(&report.events);
            let tcp = flows.filter(|(flow, _)| flow.protocol == Protocol::Tcp);
            let series =
                |events, backward| Series::of(events, backward, Window::Interval(ms * 1_000_000));
            let rows = tcp.map(|(flow, events)| {
                let ports = (flow.opener.port, flow.peer.port);
                (ports, report.start_ns, [series(events, false), series(events, true)])
            });
            serde_json::to_writer(&mut out, &rows.collect::<Vec<_>>())?;
        }
    }
    Ok(out.flush()?)
}
