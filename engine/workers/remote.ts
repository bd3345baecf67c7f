import { EngineError } from "../core/errors.ts";
import { foreignText } from "../peers/foreign-text.ts";
import type { BatchRecord, FinalKeys, Journal, SourceNotes } from "../core/journal.ts";
import type { Feed } from "../core/positions.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { FromThread, PipelineSpec, PlainError, ThreadPort, ToThread } from "./protocol.ts";

type Write =
  | { type: "prepare" | "amend"; record: BatchRecord }
  | { type: "commit"; record: BatchRecord; released?: BatchRecord }
  | { type: "set back"; pipeline_id: string; from: number; to: number }
  | { type: "mark"; pipeline_id: string; clock: number }
  | { type: "place"; pipeline_id: string; positions: Record<Feed, number>; isMove: boolean; notes?: SourceNotes }
  | { type: "give up"; record: BatchRecord };

interface Call {
  resolve: (keys: FinalKeys[]) => void;
  reject: (error: Error) => void;
}

/**
 * The journal, log and telemetry of the process, which a thread reaches by messages. Those of one turn of the event loop
 * are sent together, in their order: to wake the process costs more than a message, and it writes what it gets together
 * with one sync, such as the commit of a batch and the prepare of the next one.
 */
export class Remote {
  readonly #port: ThreadPort;
  /** The messages of this turn. */
  #waiting: FromThread[] = [];
  readonly #calls = new Map<number, Call>();
  #nextCall = 1;
  readonly telemetry: Telemetry;
  readonly log: Log;

  constructor(port: ThreadPort) {
    this.#port = port;
    // A thread that dies in this turn has logged why.
    this.log = remoteLog((message) => this.postNow(message));
    this.telemetry = remoteTelemetry((message) => this.post(message));
  }

  /** Sends a message at the end of this turn. */
  post(message: FromThread): void {
    if (this.#waiting.push(message) === 1) setImmediate(() => this.#send());
  }

  /** Sends a message that the process must get even if this thread dies in this turn, after those that wait. */
  postNow(message: FromThread): void {
    this.#waiting.push(message);
    this.#send();
  }

  /** The journal of one pipeline, which starts with the pending batches and the progress of `spec`. */
  journal({ pending, progress, finalKeys }: PipelineSpec): Journal {
    const write = async (message: Write): Promise<void> => void (await this.#call(message));
    return {
      prepare: (record) => write({ type: "prepare", record }),
      // Its keys do not change, and may be many.
      amend: (record) => write({ type: "amend", record: withoutKeys(record) }),
      commit: (record, released) =>
        write({ type: "commit", record: withoutKeys(record), ...(released !== undefined && { released }) }),
      setBack: (pipeline_id, from, to) => write({ type: "set back", pipeline_id, from, to }),
      mark: (pipeline_id, clock) => write({ type: "mark", pipeline_id, clock }),
      place: (pipeline_id, positions, { isMove = false, ...notes } = {}) =>
        write({ type: "place", pipeline_id, positions, isMove, ...notes }),
      giveUp: (record) => write({ type: "give up", record: withoutKeys(record) }),
      pending: () => pending,
      progress: () => progress,
      finalKeyCount: () => finalKeys,
      finalKeys: (pipeline_id, after) => this.#call({ type: "keys", pipeline_id, after }),
    };
  }

  /** Takes the answer to a call. */
  answered({ call, error, keys = [] }: Extract<ToThread, { type: "answer" }>): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === undefined) waiting?.resolve(keys);
    else waiting?.reject(fromPlain(error));
  }

  #send(): void {
    const messages = this.#waiting;
    this.#waiting = [];
    if (messages.length > 0) this.#port.postMessage(messages);
  }

  #call(message: Write | Omit<Extract<FromThread, { type: "keys" }>, "call">): Promise<FinalKeys[]> {
    return new Promise((resolve, reject) => {
      const call = this.#nextCall++;
      this.#calls.set(call, { resolve, reject });
      this.post({ ...message, call });
    });
  }
}

function withoutKeys(record: BatchRecord): BatchRecord {
  return { ...record, keys: [] };
}

export function toPlain(error: unknown): PlainError {
  if (error instanceof EngineError) return { code: error.code, message: error.message };
  return { message: foreignText(error) };
}

export function fromPlain({ code, message }: PlainError): Error {
  return code === undefined ? new Error(message) : new EngineError(code, message);
}

function remoteLog(post: (message: FromThread) => void): Log {
  const at = (level: "debug" | "info" | "warn" | "error") => (fields: Record<string, unknown>, sentence: string) =>
    post({ type: "logged", level, fields, sentence });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Each function of the telemetry posts its name and its argument, which is plain data. */
function remoteTelemetry(post: (message: FromThread) => void): Telemetry {
  return new Proxy({} as Telemetry, {
    get: (_target, event) => (fields: Record<string, unknown>) =>
      post({ type: "telemetry", event: event as keyof Telemetry, fields }),
  });
}
