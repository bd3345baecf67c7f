import type { Answer, Block, Probe, Reading, RowWriter, Sink } from "../core/sink.ts";
import { isPassing, storageError } from "../state/storage-error.ts";
import { type SideReader, SidesWriter } from "./sides-writer.ts";
import type { StepResult, TemporalJoin } from "./temporal-join.ts";

export interface JoinSinkOptions {
  /** The sides that events of an origin belong to. */
  sides: (origin: string | undefined) => readonly SideReader[];
  /** Opens the join; called once. */
  open: () => Promise<TemporalJoin>;
  /** A step is durable. */
  onStep: (result: StepResult) => void;
}

/** The log of a join recognises each of its batches: it is never in doubt. */
const always: Omit<Reading, "time" | "taken"> = {
  table: "join",
  blocks: 0,
  isReplicated: true,
  window: { entries: Number.MAX_SAFE_INTEGER, seconds: Infinity },
  altered: 0,
  description: "join",
};

/**
 * Where the batches of the sides of a join go: an insert is a step of the join. The log keeps the token of the batch with the
 * step, so a repeated insert changes nothing.
 */
export class JoinSink implements Sink {
  readonly atLeastOnce = undefined;
  readonly #options: JoinSinkOptions;
  #join: TemporalJoin | undefined;

  constructor(options: JoinSinkOptions) {
    this.#options = options;
  }

  async open(): Promise<Answer> {
    try {
      this.#join ??= await this.#options.open();
      return { kind: "ok" };
    } catch (error) {
      return failed(error);
    }
  }

  check(): Promise<Answer> {
    return Promise.resolve({ kind: "ok" });
  }

  read(): ReturnType<Sink["read"]> {
    const now = Date.now();
    return Promise.resolve({ kind: "read", reading: { ...always, time: now, taken: now } });
  }

  isReachable(): Promise<boolean> {
    return Promise.resolve(true);
  }

  rowWalks(): undefined {
    return undefined;
  }

  begin(clock: number): RowWriter {
    return new SidesWriter(this.#options.sides, clock);
  }

  async insert({ body }: Block, token: string): Promise<Answer> {
    try {
      this.#options.onStep(await this.#join!.step(token, body));
      return { kind: "ok" };
    } catch (error) {
      return failed(error);
    }
  }

  /** Steps keep their bytes until they are durable, which an insert waits for. */
  release(): void {}

  probe(): Promise<Probe> {
    return Promise.resolve({ kind: "found", rows: [] });
  }

  takesAny(): ReturnType<Sink["takesAny"]> {
    return Promise.resolve("yes");
  }

  /** The rows of the join are read until the end: who has opened it closes it. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}

/**
 * What passes is tried again, with the same token: after a failed sync the step may be durable all the same. Damage is
 * thrown: it ends the pipeline.
 */
function failed(error: unknown): Answer {
  const failure = storageError(error);
  if (!isPassing(failure)) throw failure;
  return { kind: "unknown", failure: { class: "disk", name: "storage", text: failure.message } };
}
