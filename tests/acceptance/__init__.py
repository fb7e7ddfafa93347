"""Twenty specifications for memory systems, each with its positive control in the same test. Ids stand in the marks;
what a pass does not prove is said where it is narrower than one would think."""
