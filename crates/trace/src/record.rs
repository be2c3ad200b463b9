//! Sampled series as typed columns. A group of columns belongs to one element (a flow, a queue);
//! the element puts its values in a fixed order, so columns are found by position and looked up by
//! name only after the element was replaced.

use sojourn_core::{Probe, Time};

/// One series.
#[derive(Clone, Debug)]
pub struct Column {
    /// Dotted name, such as `flow.cubic.cwnd`.
    pub name: String,
    /// Unit of the values.
    pub unit: &'static str,
    /// Seconds since the start of the run.
    pub t: Vec<f64>,
    /// Values; NaN where there is none.
    pub v: Vec<f64>,
}

/// A group of columns.
#[derive(Clone, Copy, Debug)]
pub struct GroupId(usize);

#[derive(Debug)]
struct Group {
    prefix: String,
    columns: Vec<Column>,
}

/// Collects series.
#[derive(Debug, Default)]
pub struct Recorder {
    groups: Vec<Group>,
}

impl Recorder {
    /// A new group whose columns are called `prefix` + name.
    pub fn group(&mut self, prefix: String) -> GroupId {
        self.groups.push(Group { prefix, columns: Vec::new() });
        GroupId(self.groups.len() - 1)
    }

    /// Samples a group: `fill` puts its values. The order of the names is the same from sample to
    /// sample, until the element is replaced by one with other values.
    pub fn sample(&mut self, group: GroupId, now: Time, fill: impl FnOnce(&mut Probe<'_>)) {
        let Group { prefix, columns } = &mut self.groups[group.0];
        let mut position = 0;
        let mut put = |name: &str, unit: &'static str, value: f64| {
            let same = |c: &Column| c.name[prefix.len()..] == *name;
            if !columns.get(position).is_some_and(same) {
                position = columns.iter().position(same).unwrap_or(columns.len());
            }
            if position == columns.len() {
                columns.push(Column {
                    name: format!("{prefix}{name}"),
                    unit,
                    t: Vec::new(),
                    v: Vec::new(),
                });
            }
            let column = &mut columns[position];
            column.t.push(now.as_secs_f64());
            column.v.push(value);
            position += 1;
        };
        fill(&mut Probe::new(&mut put));
    }

    /// The columns of a group, in the order in which they were put.
    pub fn columns(&self, group: GroupId) -> &[Column] {
        &self.groups[group.0].columns
    }

    /// All columns, group by group.
    pub fn into_columns(self) -> Vec<Column> {
        self.groups.into_iter().flat_map(|g| g.columns).collect()
    }
}

#[cfg(test)]
mod tests;
