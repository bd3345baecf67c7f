import type { MessagePort } from "node:worker_threads";
import { EngineError } from "../core/errors.ts";
import type { BatchRecord, Journal } from "../core/journal.ts";
import type { Log } from "../telemetry/log.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { FromThread, PipelineSpec, PlainError } from "./protocol.ts";

interface Call {
  resolve: () => void;
  reject: (error: Error) => void;
}

/** The process's one journal, log and telemetry, as a thread reaches them: by messages. */
export class Remote {
  readonly #port: MessagePort;
  readonly #calls = new Map<number, Call>();
  #nextCall = 1;
  readonly telemetry: Telemetry;
  readonly log: Log;

  constructor(port: MessagePort) {
    this.#port = port;
    this.log = remoteLog((message) => this.post(message));
    this.telemetry = remoteTelemetry((message) => this.post(message));
  }

  post(message: FromThread): void {
    this.#port.postMessage(message);
  }

  /** The journal of one pipeline, which starts with what `spec` says is pending and committed. */
  journal({ pending, committed }: PipelineSpec): Journal {
    return {
      prepare: (record) => this.#call("prepare", record),
      commit: (record) => this.#call("commit", record),
      pending: () => pending,
      committed: () => committed,
    };
  }

  /** Takes the answer to a call. */
  answered(call: number, error: PlainError | undefined): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === undefined) waiting?.resolve();
    else waiting?.reject(fromPlain(error));
  }

  #call(type: "prepare" | "commit", record: BatchRecord): Promise<void> {
    return new Promise((resolve, reject) => {
      const call = this.#nextCall++;
      this.#calls.set(call, { resolve, reject });
      this.post({ type, call, record });
    });
  }
}

export function toPlain(error: unknown): PlainError {
  if (error instanceof EngineError) return { code: error.code, message: error.message };
  return { message: error instanceof Error ? error.message : String(error) };
}

export function fromPlain({ code, message }: PlainError): Error {
  return code === undefined ? new Error(message) : new EngineError(code, message);
}

function remoteLog(post: (message: FromThread) => void): Log {
  const at = (level: "debug" | "info" | "warn" | "error") => (fields: Record<string, unknown>, sentence: string) =>
    post({ type: "logged", level, fields, sentence });
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

/** Every function of the telemetry posts its name and its argument, which is plain data. */
function remoteTelemetry(post: (message: FromThread) => void): Telemetry {
  return new Proxy({} as Telemetry, {
    get: (_target, event) => (fields: Record<string, unknown>) =>
      post({ type: "told", event: event as keyof Telemetry, fields }),
  });
}
