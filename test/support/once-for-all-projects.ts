/** What the set-up of an earlier project of this run gave: each project loads the modules of the set-up anew. */
const given = globalThis as Record<symbol, unknown>;

/** Does work of the set-up once in a run, and gives each project what came of it. */
export function onceForAllProjects<Result>(name: string, work: () => Result): Result {
  const key = Symbol.for(`sluice tests: ${name}`);
  if (!(key in given)) given[key] = work();
  return given[key] as Result;
}
