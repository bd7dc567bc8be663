"""Networks that no package has, written by their papers, for ../recipes."""
