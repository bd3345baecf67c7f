import { decode, type Decoded, type Encoding, type ToDecode } from "./decode.ts";
import { type Caller, defaultPushMaxWait } from "../../../core/push.ts";
import { TurnMissed, WaitingLine } from "../../../flow/waiting-line.ts";
import type { CallLimits } from "../../../system/bounded-thread.ts";
import { DecodingThread, type Lent } from "./decoding-thread.ts";

/** The largest bodies that are decoded in this thread, in bytes: a message to another one costs more than their rows. */
const small: Readonly<Record<Encoding, number>> = { protobuf: 64 * 1024, json: 8 * 1024 };
/** The most bytes of their rows: a small body may repeat a resource in many of them. */
const smallRows = 1024 * 1024;
/** Milliseconds of one turn of the event loop that are spent on them. */
const turnShare = 20;

/** Limits of decoding, for all requests together. */
export interface DecodingLimits extends CallLimits {
  /** While so many bytes of rows are being stored, bodies wait. */
  storing: number;
  /** How long a body may wait for its turn, in milliseconds. */
  maxWait: number;
}

const usual: DecodingLimits = {
  time: 15_000,
  memory: 256,
  storing: 32 * 1024 * 1024,
  maxWait: defaultPushMaxWait,
};

interface Job {
  request: ToDecode;
  caller: Caller;
  resolve: (lent: Lent) => void;
  reject: (error: Error) => void;
}

/**
 * Decodes bodies, so that none delays other work of this thread: small ones here, a few of them in each turn, all others
 * in a thread of their own, one after the other. Those that wait have a bound in time, and leave when their caller has gone; rows
 * have a bound too, as the next body is decoded when there is room for what it may become.
 */
export class Decoder {
  readonly #limits: DecodingLimits;
  readonly #thread: DecodingThread;
  readonly #waiting: WaitingLine<Job>;
  #isBusy = false;
  #isClosed = false;
  /** Bytes of rows that are being stored. */
  #storing = 0;
  /** Milliseconds that this turn of the event loop has spent. */
  #spent = 0;

  constructor(limits: Partial<DecodingLimits> = {}) {
    this.#limits = { ...usual, ...limits };
    this.#thread = new DecodingThread(this.#limits);
    const { maxWait: most } = this.#limits;
    this.#waiting = new WaitingLine<Job>({ most, isGone: ({ caller }) => caller.isGone }, ({ reject }, missed) =>
      reject(missed),
    );
  }

  /**
   * Decodes a body, and gives `store` what became of it. Its rows take room, and are valid, until that has resolved: then their
   * memory is used again. Rejects with TurnMissed where the caller has gone, or the body has waited for too long.
   */
  async decode<T>(request: ToDecode, caller: Caller, store: (decoded: Decoded) => Promise<T>): Promise<T> {
    if (caller.isGone) throw new TurnMissed("gone");
    const here = this.#here(request);
    const { decoded, release } =
      here === undefined ? await this.#inThread(request, caller) : { decoded: here, release() {} };
    const size = decoded.kind === "rows" ? decoded.push.bytes.buffer.byteLength : 0;
    this.#storing += size;
    try {
      if (caller.isGone) throw new TurnMissed("gone");
      return await store(decoded);
    } finally {
      this.#storing -= size;
      release();
      this.#next();
    }
  }

  /** Ends the thread; requests under way are refused. Safe to call twice. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { reject } of this.#waiting.take(this.#waiting.length))
      reject(new Error("the receiver is being closed"));
    await this.#thread.close();
  }

  #here(request: ToDecode): Decoded | undefined {
    const { encoding, body, isCompressed } = request;
    const isSmall = !isCompressed && body.length <= small[encoding];
    if (!isSmall || this.#spent >= turnShare || this.#isFull()) return undefined;
    const started = performance.now();
    const decoded = withoutSlack(decode(request, { most: smallRows }));
    if (this.#spent === 0) setImmediate(() => (this.#spent = 0));
    this.#spent += performance.now() - started;
    return decoded.kind === "never_fits" ? undefined : decoded;
  }

  #inThread(request: ToDecode, caller: Caller): Promise<Lent> {
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Error("the receiver is closed");
      this.#waiting.add({ request, caller, resolve, reject });
      this.#next();
    });
  }

  #isFull(): boolean {
    return this.#storing >= this.#limits.storing;
  }

  #next(): void {
    if (this.#isBusy || this.#isFull()) return;
    this.#waiting.sift();
    const [job] = this.#waiting.take(1);
    if (job === undefined) return;
    this.#isBusy = true;
    this.#thread
      .decode(job.request)
      .then(job.resolve, job.reject)
      .finally(() => {
        this.#isBusy = false;
        this.#next();
      });
  }
}

/** Copies rows where most of the buffer that they are in would be kept for nothing. */
function withoutSlack(decoded: Decoded): Decoded {
  if (decoded.kind !== "rows") return decoded;
  const { bytes } = decoded.push;
  if (2 * bytes.length >= bytes.buffer.byteLength) return decoded;
  return { kind: "rows", push: { ...decoded.push, bytes: Buffer.from(bytes) } };
}
