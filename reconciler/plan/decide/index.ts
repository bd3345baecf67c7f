/** The decisions: the plan, its inverse, and the checks that the apply repeats. */
export { withInterrupted } from "./amend.ts";
export { nothing } from "./changes.ts";
export { blocked } from "./dependencies.ts";
export { differencesOf, type Kept } from "./differences.ts";
export { recentOf } from "./drift.ts";
export { hindranceOf } from "./ending.ts";
export { invert, type Inverse } from "./inverse.ts";
export { formerIds, movesMade, withMoves } from "./moved.ts";
export { notReadOf, unreadFiles, withoutSuspicion } from "./not-read.ts";
export { plan } from "./plan.ts";
