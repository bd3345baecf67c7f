import { appendFileSync } from "node:fs";
import { afterAll, expect } from "vitest";
import { reachVariable, type Reach } from "./environment.ts";

declare global {
  var reachedMutants: Set<number> | undefined;
}

// This file runs before each test file.
const path = process.env[reachVariable];
if (path !== undefined) {
  const reached = new Set<number>();
  globalThis.reachedMutants = reached;
  afterAll(() => {
    const reach: Reach = { file: expect.getState().testPath!, mutants: [...reached] };
    appendFileSync(path, `${JSON.stringify(reach)}\n`);
  });
}
