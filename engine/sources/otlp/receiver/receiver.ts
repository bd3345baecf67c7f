import type { Caller, Push, Signal } from "../../../core/push.ts";
import type { RequestRefusal } from "../../../core/refusals.ts";
import { Room } from "../../../flow/room.ts";
import type { Encoding } from "../decoding/decode.ts";
import { Decoder } from "../decoding/decoder.ts";
import type { RowRules, Rows } from "../rows/rows.ts";
import { type Outcome, outcomeOf, partlyStored, refusal, Refused, stored } from "./outcome.ts";
import type { OtlpSettings } from "./settings.ts";

/** The message of an answer where there is no room for the request. */
export const tooMuch = "too many bytes at once: retry after the time in this answer";

/** The most bytes of all bodies that wait or are decoded. */
const heldBytes = 200 * 1024 * 1024;

export type Transport = "http" | "grpc";

/** A request that was answered. */
export interface Answered {
  /** Undefined where no pipeline of that name takes OTLP: senders may name any pipeline. */
  pipeline_id: string | undefined;
  signal: Signal;
  transport: Transport;
  outcome: Outcome;
  seconds: number;
  /** Bytes of the body: over HTTP as it was received, over gRPC decompressed. */
  bytesIn: number;
  /** Bytes and number of the rows that were stored. */
  bytesOut: number;
  records: number;
  /** Data points without a recorded value that were left out of what was stored, and spans that were refused in it. */
  leftOut: number;
  refusedSpans: number;
}

/** What the receiver needs of the engine. */
export interface OtlpPort {
  /** Whether a pipeline takes a signal, or why it does not. */
  admits(pipeline_id: string, signal: Signal): "yes" | "unknown" | "other signal" | "over" | "later";
  /** What the pipeline decides of the rows of a signal. */
  rulesOf(pipeline_id: string, signal: Signal): RowRules;
  /**
   * Resolves once the push is on disk. Throws EngineError STREAM_FULL, STREAM_CLOSED, PUSH_TOO_LARGE, DISK_FULL,
   * STORAGE_FAILED, and TurnMissed.
   */
  store(pipeline_id: string, push: Push): Promise<void>;
  /** Called with each answer. */
  answered(answered: Answered): void;
  /** Called with each request that is refused and is no export: it names neither a pipeline nor a signal. */
  refused(refusal: RequestRefusal): void;
}

/** A whole request, as a transport received it. */
export interface ExportRequest {
  pipeline_id: string;
  signal: Signal;
  encoding: Encoding;
  body: Buffer;
  isCompressed: boolean;
  caller: Caller;
}

/** The outcome of a request, and what was stored of it. */
export interface Received {
  outcome: Outcome;
  push?: Rows;
}

/**
 * Receives OTLP requests, for all pipelines and over both transports: looks up the pipeline, makes rows of the records
 * and answers when they are on disk (docs/sources/otlp.md, Answers). No part of a refused request is stored.
 */
export class Receiver {
  readonly port: OtlpPort;
  /** How long a request may wait for a turn, in milliseconds. */
  readonly maxWait: number;
  readonly #held = new Room(heldBytes);
  readonly #isSender: OtlpSettings["isSender"];
  readonly #arrivalOf: NonNullable<OtlpSettings["arrivalOf"]>;
  readonly #decoder: Decoder;

  constructor(port: OtlpPort, { maxWait, isSender, arrivalOf }: OtlpSettings) {
    this.port = port;
    this.maxWait = maxWait;
    this.#decoder = new Decoder({ maxWait });
    this.#isSender = isSender;
    this.#arrivalOf = arrivalOf ?? Date.now;
  }

  /** Throws Refused for a request whose header `authorization` is not that of a sender. Needs no body. */
  async admit(authorization: string | undefined): Promise<void> {
    const answer = (await this.#isSender?.(authorization)) ?? "yes";
    if (answer === "no") {
      throw new Refused("no_token", 'expected the header "authorization: Bearer TOKEN" with the token of --otlp-token');
    }
    if (answer === "unknown") throw new Refused("token_unreadable", "tokens cannot be checked at this moment");
  }

  /** The pipeline that takes a request; throws Refused where none does. Needs no body. */
  pipelineFor(pipeline_id: string | undefined, signal: Signal): string {
    if (pipeline_id === undefined) {
      throw new Refused("no_header", `missing ${pipelineHeaders[0]} header: expected the id of a pipeline`);
    }
    const admission = this.port.admits(pipeline_id, signal);
    if (admission === "unknown") {
      throw new Refused("unknown_pipeline", `no pipeline ${JSON.stringify(pipeline_id)} takes OTLP`);
    }
    if (admission === "other signal") {
      throw new Refused("other_signal", `pipeline ${pipeline_id} has no source of type otlp.${signal}`);
    }
    if (admission === "later") {
      throw new Refused("recreating", `pipeline ${pipeline_id} is being recreated: send the request again later`);
    }
    if (admission === "over") {
      throw new Refused("over", `pipeline ${pipeline_id} is terminated or about to be deleted: it takes no events`);
    }
    return pipeline_id;
  }

  /** Decodes and stores a request. Never throws. Refuses it where it has no turn in time, and skips it where its caller has gone. */
  async take({ pipeline_id, signal, encoding, body, isCompressed, caller }: ExportRequest): Promise<Received> {
    if (!this.#held.take(body.length)) return { outcome: refusal("busy", tooMuch) };
    try {
      const rules = this.port.rulesOf(pipeline_id, signal);
      const request = { signal, encoding, body, isCompressed, receivedAt: this.#arrivalOf(pipeline_id), ...rules };
      return await this.#decoder.decode(request, caller, async (decoded) => {
        if (decoded.kind !== "rows") return { outcome: refusal(decoded.kind, decoded.message) };
        const { push } = decoded;
        // The pipeline may have ended meanwhile; no later step would notice that for a request without records.
        this.pipelineFor(pipeline_id, signal);
        if (push.ends.length > 0) await this.port.store(pipeline_id, { ...push, caller });
        return { outcome: push.refused === 0 ? stored : partlyStored(push.refused), push };
      });
    } catch (error) {
      return { outcome: outcomeOf(error) };
    } finally {
      this.#held.giveBack(body.length);
    }
  }

  /** Ends the thread that decodes; requests under way are refused. */
  close(): Promise<void> {
    return this.#decoder.close();
  }

  /** Reports an answer. `asked` is the pipeline that the request names, `started` its arrival by `performance.now()`. */
  answered(
    { outcome, push }: Received,
    request: { asked: string | undefined; signal: Signal; transport: Transport; started: number; bytesIn: number },
  ): void {
    const { asked, signal, transport, started, bytesIn } = request;
    const isKnown = asked !== undefined && this.port.admits(asked, signal) !== "unknown";
    this.port.answered({
      pipeline_id: isKnown ? asked : undefined,
      signal,
      transport,
      outcome,
      seconds: (performance.now() - started) / 1000,
      bytesIn,
      bytesOut: push?.bytes.length ?? 0,
      records: push?.ends.length ?? 0,
      leftOut: push?.leftOut ?? 0,
      refusedSpans: push?.refused ?? 0,
    });
  }
}

/** The header that names the pipeline, and its aliases. The first one that is not empty counts. */
const pipelineHeaders = ["x-sluice-pipeline-id", "x-service-pipeline-id", "x-glassflow-pipeline-id"] as const;

/** The pipeline that a request names, the first where it names several; undefined where it names none. */
export function pipelineNamed(header: (name: string) => string | undefined): string | undefined {
  for (const name of pipelineHeaders) {
    // Both transports join headers of one name with commas, which no pipeline id has.
    const pipeline_id = header(name)?.split(",", 1)[0]?.trim();
    if (pipeline_id !== undefined && pipeline_id !== "") return pipeline_id;
  }
  return undefined;
}
