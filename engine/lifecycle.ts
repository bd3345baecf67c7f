import type { PipelineRegistry } from "./catalog/registry.ts";
import type { CatalogEntry } from "./catalog/catalog.ts";
import type { PipelineStorage } from "./catalog/storage.ts";
import { EngineError, LeftForLater } from "./core/errors.ts";
import { isAtRest, shouldRun } from "./core/lifecycle.ts";
import type { Status } from "./core/pipeline-view.ts";
import { isPassing } from "./state/storage-error.ts";
import type { Log } from "./telemetry/log.ts";
import type { Runner } from "./workers/runner.ts";

/** So many streams are opened at once after a start. */
const openedAtOnce = 8;

interface LifecycleOptions {
  registry: PipelineRegistry;
  storage: PipelineStorage;
  runner: Runner;
  /** Resolves when every event that a pipeline has accepted is on disk. */
  stored: (pipeline_id: string) => Promise<void>;
  /** How long a stop drains, in milliseconds. */
  drainLimit: number;
  log: Log;
}

/**
 * Carries out the transitions of `core/lifecycle.ts`: it changes the status in the registry, and starts and ends the
 * pipeline to match. A pipeline never stays between two statuses: after an error it is Failed.
 */
export class Lifecycle {
  readonly #options: LifecycleOptions;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Starts a pipeline that has just been created. Throws the error that keeps it from running; it is Failed then. */
  async startCreated(pipeline_id: string): Promise<void> {
    // A stop or a deletion before it runs is no failure of its creation.
    await this.#start(pipeline_id, "Created");
  }

  /**
   * Drains the pipeline: what its stream holds now is written; resolves when it is Stopped. With a closed `intake`, for
   * a pipeline that is to be deleted, it accepts no event from now on; a pipeline at rest only closes its intake.
   */
  async stop(pipeline_id: string, { intake }: { intake?: "closed" } = {}): Promise<void> {
    const { registry, runner, stored, drainLimit } = this.#options;
    if (intake === "closed") {
      await registry.admit(pipeline_id, false);
      await stored(pipeline_id);
      if (isAtRest(registry.get(pipeline_id).status)) return;
    }
    await registry.request(pipeline_id, "stop");
    await this.#orFailed(pipeline_id, "Stopping", () => runner.stop(pipeline_id, drainLimit));
    await registry.changeFrom(pipeline_id, ["Stopping"], "Stopped");
  }

  /** Ends the pipeline at once and drops the events of its stream that no pending batch names. */
  async terminate(pipeline_id: string): Promise<void> {
    const { registry, runner, storage } = this.#options;
    await registry.request(pipeline_id, "terminate");
    await this.#orFailed(pipeline_id, "Terminating", async () => {
      await runner.abort(pipeline_id);
      await runner.atRest(pipeline_id, () => storage.release(registry.get(pipeline_id)));
    });
    await registry.changeFrom(pipeline_id, ["Terminating"], "Terminated");
  }

  /** Starts a pipeline that is at rest; resolves when it runs. Without a closed `intake` it accepts events again. */
  async resume(pipeline_id: string, { intake }: { intake?: "closed" } = {}): Promise<void> {
    const { registry } = this.#options;
    await registry.request(pipeline_id, "resume");
    await registry.admit(pipeline_id, intake !== "closed");
    if (await this.#start(pipeline_id, "Resuming")) return;
    throw new EngineError("PIPELINE_IN_TRANSITION", `pipeline ${pipeline_id} was ended while it was being started`, {
      details: { pipeline_id, current_status: registry.find(pipeline_id)?.status },
    });
  }

  /** After a start of the process, before anything is pushed: removes leftovers. */
  async prepare(): Promise<void> {
    const { registry, storage } = this.#options;
    const entries = registry.list();
    await storage.removeLeftovers(new Set(entries.map(({ pipeline_id }) => pipeline_id)));
    for (const entry of entries) if (entry.status !== "Terminating") storage.await(entry);
  }

  /** After a start of the process: completes interrupted calls, and starts what should run. */
  async restore(): Promise<void> {
    const left = this.#options.registry.list();
    const next = async (): Promise<void> => {
      for (let entry = left.shift(); entry !== undefined; entry = left.shift()) await this.#restore(entry);
    };
    const done = await Promise.allSettled(Array.from({ length: openedAtOnce }, next));
    const failed = done.find((one) => one.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  async #restore(entry: CatalogEntry): Promise<void> {
    const { registry, runner } = this.#options;
    const { pipeline_id, status } = entry;
    if (status !== "Terminating" && !(await this.#canOpenStream(entry))) return;
    if (status === "Stopping") await registry.change(pipeline_id, "Stopped");
    if (status === "Terminating") await this.#completeEnd(entry);
    if (!shouldRun(status)) return;
    if (status !== "Running") await registry.change(pipeline_id, "Running");
    runner.restart(pipeline_id);
  }

  /** What cannot be dropped now fails its pipeline alone: a file that asks for `Terminated` ends it again. */
  async #completeEnd(entry: CatalogEntry): Promise<void> {
    const { registry, storage } = this.#options;
    const { pipeline_id } = entry;
    try {
      await storage.release(entry);
    } catch (error) {
      await registry.change(pipeline_id, "Failed", `what it holds could not be dropped: ${(error as Error).message}`);
      return;
    }
    await registry.change(pipeline_id, "Terminated");
  }

  /** A running pipeline has ended with an error that no retry mends. Never throws. */
  async failed(pipeline_id: string, error: Error): Promise<void> {
    const { registry, log } = this.#options;
    try {
      await registry.changeFrom(pipeline_id, ["Created", "Resuming", "Running"], "Failed", error.message);
    } catch (cause) {
      log.error(
        { pipeline_id, reason: error.message, error: String(cause) },
        "A pipeline has failed, and its status could not be changed.",
      );
    }
  }

  /** Opens a stream after a start. A damaged one fails its pipeline; a passing error is retried when the pipeline starts. */
  async #canOpenStream(entry: CatalogEntry): Promise<boolean> {
    const { registry, storage, log } = this.#options;
    const { pipeline_id, status } = entry;
    try {
      await storage.open(entry);
      return true;
    } catch (error) {
      const { message } = error as Error;
      if (isPassing(error)) {
        log.warn(
          { pipeline_id, error: message },
          "A stream could not be opened; the start of its pipeline retries it.",
        );
        return true;
      }
      if (status !== "Failed") await registry.change(pipeline_id, "Failed", message);
      return false;
    }
  }

  /**
   * Starts a pipeline that is `Created` or `Resuming`; resolves with true when it is Running, with false where another
   * call ended it meanwhile. Throws the error that keeps it from running; it is Failed then.
   */
  async #start(pipeline_id: string, from: Status): Promise<boolean> {
    const { registry } = this.#options;
    try {
      await this.#orFailed(pipeline_id, from, () => this.#startOrRetry(pipeline_id));
    } catch (error) {
      if (error instanceof LeftForLater) return false;
      throw error;
    }
    if (await registry.changeFrom(pipeline_id, [from], "Running")) return true;
    const { status, failure } = registry.get(pipeline_id);
    if (status === "Failed") throw new Error(failure);
    return false;
  }

  /** Starts a pipeline; after a passing error it counts as started, and the start is retried. */
  async #startOrRetry(pipeline_id: string): Promise<void> {
    const { runner } = this.#options;
    try {
      await runner.start(pipeline_id);
    } catch (error) {
      if (!isPassing(error)) throw error;
      runner.restart(pipeline_id);
    }
  }

  /** After an error the pipeline is Failed, from where it can be resumed or terminated. */
  async #orFailed(pipeline_id: string, status: Status, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      // When the process ends, the next one goes on from the present status.
      if (!(error instanceof LeftForLater))
        await this.#options.registry.changeFrom(pipeline_id, [status], "Failed", (error as Error).message);
      throw error;
    }
  }
}
