//! Sampled series as typed columns. A group of columns belongs to one element (a flow, a queue);
//! the element puts its values in a fixed order, so columns are found by position and looked up by
//! name only after the element was replaced.

use std::borrow::Cow;

use serde::{Deserialize, Deserializer, Serialize};
use sojourn_core::{Probe, Time};

/// One series.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Column {
    /// Dotted name, such as `flow.cubic.cwnd`.
    pub name: String,
    /// Unit of the values.
    pub unit: Cow<'static, str>,
    /// Seconds since the start of the run.
    pub t: Vec<f64>,
    /// Values; NaN where there is none, which is null in JSON.
    #[serde(deserialize_with = "values")]
    pub v: Vec<f64>,
}

fn values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values = Vec::<Option<f64>>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// A group of columns.
#[derive(Clone, Copy, Debug)]
pub struct GroupId(usize);

#[derive(Debug)]
struct Group {
    prefix: String,
    columns: Vec<Column>,
}

/// How far somebody has read the series of a [`Recorder`]: samples per group and column.
#[derive(Clone, Debug, Default)]
pub struct Cursor(Vec<Vec<usize>>);

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
                    unit: Cow::Borrowed(unit),
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

    /// What was sampled after the place of `cursor`, which moves to the end: a column per series that
    /// has anything.
    pub fn since(&self, cursor: &mut Cursor) -> impl Iterator<Item = Column> {
        cursor.0.resize_with(self.groups.len(), Vec::new);
        self.groups.iter().zip(&mut cursor.0).flat_map(|(group, places)| {
            places.resize(group.columns.len(), 0);
            group.columns.iter().zip(places).filter_map(|(column, place)| {
                let start = std::mem::replace(place, column.t.len());
                let (t, v) = (column.t[start..].to_vec(), column.v[start..].to_vec());
                (!t.is_empty()).then(|| Column {
                    name: column.name.clone(),
                    unit: column.unit.clone(),
                    t,
                    v,
                })
            })
        })
    }

    /// Forgets all samples, and keeps the room for as many.
    pub fn clear(&mut self) {
        for column in self.groups.iter_mut().flat_map(|group| &mut group.columns) {
            column.t.clear();
            column.v.clear();
        }
    }

    /// All columns, group by group.
    pub fn into_columns(self) -> Vec<Column> {
        self.groups.into_iter().flat_map(|g| g.columns).collect()
    }
}

#[cfg(test)]
mod tests;
