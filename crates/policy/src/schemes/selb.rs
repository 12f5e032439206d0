//! SELB: a leaf classifies its uplinks by queue length and moves flows from congested paths to paths of their class.

pub mod kmeans;
