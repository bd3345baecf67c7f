/**
 * Whether a pipeline could run, as far as that can be known without running it. `refused`: a person has to correct
 * something. `unreachable`: a server did not answer, so it is not known.
 */
export type Readiness = { kind: "ready" } | { kind: "refused" | "unreachable"; text: string };
