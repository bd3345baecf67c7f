import { switchVariable } from "./environment.ts";
import type { Mutation } from "./operators.ts";

/** A mutation with the number that switches it on. */
export interface Mutant extends Mutation {
  id: number;
  file: string;
  line: number;
  /** The source before and after it. */
  was: string;
  becomes: string;
}

/** The source with all of its mutants, which run where they are switched on. Lines stay where they are. */
export function switched(text: string, mutants: readonly Mutant[]): string {
  const outermostFirst = mutants.toSorted((a, b) => a.start - b.start || b.end - a.end);
  return head + rendered(text, { start: 0, end: text.length }, outermostFirst);
}

/** What `reach.ts` listens to: the places of mutants that a test comes to. */
const head = [
  `var mutantThatIsOn = Number(process.env["${switchVariable}"]);`,
  "function isMutant(id) { globalThis.reachedMutants?.add(id); return id === mutantThatIsOn; }",
  "",
].join(" ");

function rendered(text: string, part: { start: number; end: number }, mutants: readonly Mutant[]): string {
  const [outer, ...others] = mutants;
  if (outer === undefined) return text.slice(part.start, part.end);
  const within = others.filter(({ end }) => end <= outer.end);
  const after = others.filter(({ start }) => start >= outer.end);
  const before = text.slice(part.start, outer.start);
  const original = rendered(text, outer, within);
  return before + withSwitch(outer, original) + rendered(text, { start: outer.end, end: part.end }, after);
}

function withSwitch({ id, as }: Mutant, original: string): string {
  if (as === "left out") return `{ if (!isMutant(${id})) { ${original} } }`;
  return `(isMutant(${id}) ? (${as.expression}) : (${original}))`;
}
