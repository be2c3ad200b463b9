//! Which tree's behaviour is meant where the two differ.

/// Whose CAKE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Version {
    #[default]
    Mainline,
    Chromi,
}
