import { setTimeout as sleep } from "node:timers/promises";
import { protoRoot } from "../../engine/sources/otlp/proto/messages-text.ts";
import type { Random } from "../support/random.ts";
import type { Answer, OtlpTransport } from "./otlp-transports.ts";
import { idAttribute } from "./otlp-variants.ts";
import type { RequestLedger } from "./request-ledger.ts";

export interface ExporterOptions {
  transport: OtlpTransport;
  ledger: RequestLedger;
  random: Random;
  /** Whether a request that was answered unclearly is sent again; else it is given up, as some of it may be stored. */
  repeatsUnclear: boolean;
  /** Records of a request, at the most; 200. */
  mostRecords?: number;
}

/** Between two requests, at the most, in milliseconds. */
const longestRest = 60;
/** Before a request is sent again, in milliseconds. */
const untilAgain = 50;

const root = await protoRoot();
const LogsRequest = root.lookupType("opentelemetry.proto.collector.logs.v1.ExportLogsServiceRequest");

/** Sends requests of log records without end, one at a time, and notes what was answered. */
export class OtlpExporter {
  readonly #options: ExporterOptions;
  readonly #ended: Promise<void>;
  #isStopping = false;
  #isGivenUp = false;

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#ended = this.#run();
  }

  /** Resolves when the last request needs not be sent again. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#ended;
    this.#options.transport.close();
  }

  /** Resolves when the last answer is there, whatever it is. */
  async giveUp(): Promise<void> {
    this.#isGivenUp = true;
    await this.stop();
  }

  async #run(): Promise<void> {
    const { random, ledger, mostRecords = 200 } = this.#options;
    while (!this.#isStopping) {
      const records = random.pick(1, 1 + random.below(20), 1 + random.below(mostRecords));
      const request = ledger.open(records);
      await this.#deliver(request, requestOf(request, records));
      await sleep(random.below(longestRest));
    }
  }

  async #deliver(request: number, body: Buffer): Promise<void> {
    const { transport, ledger, repeatsUnclear } = this.#options;
    for (;;) {
      const answer: Answer = await transport.send(body);
      ledger.note(request, answer);
      const isAgain = answer === "refused" || (answer === "unclear" && repeatsUnclear);
      if (!isAgain || this.#isGivenUp) return;
      await sleep(untilAgain);
    }
  }
}

/** The records of a request are named `<request>-<part>`, the parts from 0 on. */
function requestOf(request: number, records: number): Buffer {
  const logRecords = Array.from({ length: records }, (_, part) => ({
    timeUnixNano: Date.now() * 1e6,
    severityNumber: 9,
    body: { stringValue: `record ${part} of request ${request}` },
    attributes: [{ key: idAttribute, value: { stringValue: `${request}-${part}` } }],
  }));
  return Buffer.from(LogsRequest.encode({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }).finish());
}
