//! What a tree of classes consists of, for whoever builds it in a kernel.

use super::params::Params;
use crate::aqm::Spec;
use sojourn_core::grammar::Given;

/// The classes and filters of a tree.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Parents first.
    pub classes: Vec<ClassPart>,
    /// In the order in which they are asked.
    pub filters: Vec<FilterPart>,
}

/// A class of a tree.
#[derive(Clone, Debug)]
pub struct ClassPart {
    /// Minor number of its handle.
    pub minor: u16,
    /// That of the class that lends to it; 0 is the discipline.
    pub parent: u16,
    /// Parameters in tc's syntax.
    pub parameters: String,
    /// The queue of a class without children.
    pub leaf: Option<Spec>,
}

/// A filter of a tree.
#[derive(Clone, Debug)]
pub struct FilterPart {
    /// What it selects, such as `match ip tos 0x10 0xfc`.
    pub selector: String,
    /// Whether it selects by the number of a host.
    pub is_by_host: bool,
    /// Minor number of the class that it selects for.
    pub minor: u16,
}

/// The parts of an htb that is a tree; of a change those that are `given`.
pub fn parts(spec: &Spec, given: Option<&Given>) -> Option<Parts> {
    let params = spec.params::<Params>().filter(|params| params.is_tree())?;
    let classes = params.classes.iter().filter(|class| given.is_none() || class.is_named);
    let filters = params.filters.iter().filter(|_| given.is_none_or(|given| given.has("filter")));
    Some(Parts {
        classes: classes
            .map(|class| ClassPart {
                minor: class.id.minor,
                parent: class.parent.map_or(0, |parent| parent.minor),
                parameters: class.params.brief(),
                leaf: class.leaf.clone(),
            })
            .collect(),
        filters: filters
            .map(|filter| FilterPart {
                selector: filter.selector(),
                is_by_host: filter.is_by_host(),
                minor: filter.flowid.minor,
            })
            .collect(),
    })
}
