import {
  Metadata,
  type handleClientStreamingCall,
  type sendUnaryData,
  type ServerReadableStream,
  type StatusObject,
} from "@grpc/grpc-js";
import type { Signal } from "../../../core/push.ts";
import { Room } from "../../../flow/room.ts";
import { answerTo, outcomeOf, Refused, type Outcome } from "./outcome.ts";
import { tooMany, type Received, type Receiver } from "./receiver.ts";
import { pipelineNamed } from "./routing.ts";
import { encodeStatus } from "./status-message.ts";

type Call = ServerReadableStream<Buffer, Buffer>;

/** How long a message may take to arrive, in milliseconds. */
const messageTimeout = 15_000;

/** Calls whose message is still arriving: each holds up to a whole message, before and after decompression. */
const mostArriving = 50;

/** The empty Export…ServiceResponse. */
const nothing = Buffer.alloc(0);

/** Answers the calls of the Export services. */
export class ExportCalls {
  readonly #receiver: Receiver;
  readonly #arriving = new Room(mostArriving);

  constructor(receiver: Receiver) {
    this.#receiver = receiver;
  }

  /** The handler of one signal's service. */
  of(signal: Signal): handleClientStreamingCall<Buffer, Buffer> {
    return (call, answer) => void this.#answer(signal, call, answer);
  }

  async #answer(signal: Signal, call: Call, answer: sendUnaryData<Buffer>): Promise<void> {
    const started = performance.now();
    const asked = pipelineNamed((name) => call.metadata.get(name)[0]?.toString());
    const size = { bytesIn: 0 };
    let received: Received;
    try {
      received = await this.#receive(call, asked, signal, size);
    } catch (error) {
      received = { outcome: outcomeOf(error) };
    }
    this.#receiver.answered(received, { asked, signal, transport: "grpc", started, ...size });
    if (received.outcome.kind === "stored") answer(null, nothing);
    else answer(statusOf(received.outcome));
  }

  async #receive(call: Call, asked: string | undefined, signal: Signal, size: { bytesIn: number }): Promise<Received> {
    const pipeline_id = this.#receiver.pipelineFor(asked, signal);
    if (!this.#arriving.take(1)) throw new Refused("busy", tooMany);
    let body: Buffer;
    try {
      body = await readMessage(call);
    } finally {
      this.#arriving.giveBack(1);
    }
    size.bytesIn = body.length;
    return this.#receiver.take({ pipeline_id, signal, encoding: "protobuf", body, isCompressed: false });
  }
}

/**
 * The one message of a call, decompressed. Throws Refused where there is none or another one, and where it is slow or breaks off.
 * The library has answered a message that is too large, or cannot be decompressed, itself: that looks like breaking off.
 */
function readMessage(call: Call): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let message: Buffer | undefined;
    const finish = (error?: Refused): void => {
      clearTimeout(timer);
      call.off("data", onData).off("end", onEnd).off("cancelled", onBreak).pause();
      if (error !== undefined) reject(error);
      else if (message === undefined) reject(new Refused("malformed", "expected one message, found none"));
      else resolve(message);
    };
    const onData = (bytes: Buffer): void => {
      if (message === undefined) message = bytes;
      else finish(new Refused("malformed", "expected one message, found another one"));
    };
    const onEnd = (): void => finish();
    const onBreak = (): void => finish(new Refused("broken_off", "the call broke off"));
    const timer = setTimeout(() => finish(new Refused("slow", "the message did not arrive in time")), messageTimeout);
    call.on("error", () => undefined);
    call.on("data", onData).on("end", onEnd).on("cancelled", onBreak);
  });
}

/** What a call that is refused ends with. Exporters repeat one without room only where a RetryInfo tells them to. */
function statusOf(outcome: Outcome): Partial<StatusObject> {
  const { grpc: code, retryAfter } = answerTo(outcome);
  const { message: details } = outcome;
  const metadata = new Metadata();
  if (retryAfter !== undefined) {
    metadata.set("grpc-status-details-bin", encodeStatus({ code, message: details }, retryAfter));
  }
  return { code, details, metadata };
}
