/* In place of the planner, in a program that was built without it. */
