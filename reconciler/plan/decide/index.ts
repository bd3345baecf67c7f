/** The door to the decisions: what is planned, its inverse, and the judgements that the apply makes once more. */
export { differencesOf, type Kept } from "./differences.ts";
export { recentOf } from "./drift.ts";
export { hindranceOf } from "./ending.ts";
export { invert, type Inverse } from "./inverse.ts";
export { plan } from "./plan.ts";
