import { createHash } from "node:crypto";
import type { Problem } from "../../language/problem.ts";
import { pathFrom } from "./report.ts";

/**
 * Names each problem by its code, file and field, and the how-many-eth of them it is: the same problem has the same
 * fingerprint after lines were added above it or its value was changed. No two problems have one.
 */
export class Fingerprints {
  readonly #root: string | undefined;
  readonly #seen = new Map<string, number>();

  constructor(root: string | undefined) {
    this.#root = root;
  }

  /** To be called once for each problem, in their order. */
  of({ code, file, path }: Problem): string {
    const key = JSON.stringify([code, pathFrom(this.#root, file), path]);
    const before = this.#seen.get(key) ?? 0;
    this.#seen.set(key, before + 1);
    return createHash("sha256").update(`${key}${before}`).digest("hex").slice(0, 32);
  }
}
