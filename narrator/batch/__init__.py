"""Many essays: which are asked for, what they will take, and how they are written within a rate and a budget."""
