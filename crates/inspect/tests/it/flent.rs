//! Uploads in a Flent data file: what netperf and `ss` saw of them.

use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use serde_json::Value;

/// One flow; times in seconds since 1970.
pub(crate) struct Upload {
    /// netperf's count of bytes at each interim result.
    pub(crate) interim: Vec<(f64, f64)>,
    /// Round trips that `ss` shows, ms.
    pub(crate) rtt: Vec<(f64, f64)>,
}

/// In the order of their starts.
pub(crate) fn uploads(path: &Path) -> Vec<Upload> {
    let file = GzDecoder::new(File::open(path).expect("a Flent file"));
    let document: Value = serde_json::from_reader(file).expect("JSON");
    let series = document["raw_values"].as_object().expect("raw values");
    let mut uploads: Vec<Upload> = series
        .iter()
        .filter(|(name, _)| name.starts_with("TCP upload"))
        .filter_map(|(_, v)| upload(v))
        .collect();
    uploads.sort_by(|a, b| a.rtt[0].0.total_cmp(&b.rtt[0].0));
    uploads
}

fn upload(points: &Value) -> Option<Upload> {
    let points = points.as_array()?;
    let number = |point: &Value, key: &str| point.get(key).and_then(Value::as_f64);
    let mut bytes = 0.0;
    let mut interim = Vec::new();
    for point in points {
        if let (Some(t), Some(mbps), Some(s)) =
            (number(point, "t"), number(point, "val"), number(point, "dur"))
        {
            if interim.is_empty() {
                interim.push((t - s, 0.0));
            }
            bytes += mbps * 1e6 / 8.0 * s;
            interim.push((t, bytes));
        }
    }
    let rtt: Vec<(f64, f64)> = points
        .iter()
        .filter_map(|point| number(point, "t").zip(number(point, "tcp_rtt")))
        .collect();
    (!interim.is_empty() && !rtt.is_empty()).then_some(Upload { interim, rtt })
}
