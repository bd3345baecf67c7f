import { isForOperator, type RefusalReason, type RefusedSenders, type RequestRefusal } from "../core/refusals.ts";
import { GatheredEvents } from "./gathered.ts";
import type { Log } from "./log.ts";

/** How long after the last refusal it is shown, in milliseconds. */
const shownFor = 5 * 60_000;

/** The refused requests of one pipeline: a line of the log for those of a minute, and what health shows. */
export class RefusalsOfPipeline {
  readonly #lines: GatheredEvents<RequestRefusal>;
  #shown: RefusedSenders | undefined;
  /** When the last one that is shown was refused, by the monotonic clock. */
  #last = -Infinity;

  constructor(pipeline_id: string, log: Log) {
    this.#lines = new GatheredEvents((counts, { reason, message }) => {
      const isSerious = Object.keys(counts).some((one) => isForOperator(one as RefusalReason));
      // What is said to a sender about its own request may quote it.
      const fields = { pipeline_id, ...counts, ...(isForOperator(reason) && { last: message }) };
      if (isSerious) log.warn(fields, "Requests of senders are refused.");
      else log.info(fields, "Requests of senders are refused.");
    });
  }

  add(refusal: RequestRefusal): void {
    const { reason, message: text } = refusal;
    this.#lines.add(reason, refusal);
    if (!isForOperator(reason)) return;
    const { count = 0, since = new Date().toISOString() } = this.shown ?? {};
    this.#shown = { reason, count: count + 1, since, text };
    this.#last = performance.now();
  }

  /** Writes the line that waits. */
  close(): void {
    this.#lines.close();
  }

  /** Undefined where none was refused lately for a reason that the operator can do something about. */
  get shown(): RefusedSenders | undefined {
    return performance.now() - this.#last < shownFor ? this.#shown : undefined;
  }
}
