import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Registry } from "prom-client";
import type { OperationRecord } from "../../../../reconciler/apply/history.ts";
import type { Outcome } from "../../../../reconciler/apply/outcome.ts";
import { settledFolder } from "../../../support/settled-folder.ts";
import type { Problem } from "../../../../reconciler/language/problem.ts";
import { Reconciler } from "../../../../reconciler/reconciler.ts";
import type { TestEngine } from "../../../support/engine.ts";
import type { Side } from "./files.ts";

/** A folder of files with a reconciler of its own, on an engine that others use too. */
export class Repository {
  readonly #files: string;
  readonly #reconciler: Reconciler;
  #variables: ReadonlyMap<string, string> = new Map();
  /** What the last merge changed, or did not. */
  #outcomes: readonly Outcome[] = [];

  private constructor(folder: string, { engine, log }: TestEngine) {
    this.#files = join(folder, "files");
    this.#reconciler = new Reconciler({
      source: settledFolder(this.#files),
      engine,
      dataDir: folder,
      log,
      registry: new Registry(),
      interval: 60_000,
      applyTimeout: 60_000,
      variables: async () => this.#variables,
    });
  }

  static async create(folder: string, engine: TestEngine): Promise<Repository> {
    await mkdir(folder, { recursive: true });
    return new Repository(folder, engine);
  }

  /** Resolves when the engine is as these files say, with what was done for it. */
  async merge({ files, variables }: Side): Promise<OperationRecord[]> {
    const last = this.#reconciler.history({ limit: 1 }).records[0]?.id ?? 0;
    this.#variables = new Map(Object.entries(variables));
    await rm(this.#files, { recursive: true, force: true });
    await mkdir(this.#files);
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(this.#files, path)), { recursive: true });
      await writeFile(join(this.#files, path), text);
    }
    const { error, outcomes = [] } = await this.#reconciler.turn("manual", new AbortController().signal);
    if (error !== undefined) throw error;
    this.#outcomes = outcomes;
    return this.#reconciler.history({ limit: 1_000 }).records.filter(({ id }) => id > last);
  }

  /** What became of the changes of the last merge, and the conditions after it: why one was not made. */
  explanation(): string {
    const { conditions, pipelines } = this.#reconciler.snapshot();
    return JSON.stringify({ outcomes: this.#outcomes, conditions, pipelines }, undefined, 2);
  }

  /** Errors of the files. */
  errors(): Problem[] {
    return this.#reconciler.snapshot().problems.filter(({ severity }) => severity === "error");
  }
}
