import type { IncomingMessage } from "node:http";
import type { Room } from "../flow/room.ts";

/** How long a body may take to arrive, in milliseconds. */
const bodyTimeout = 15_000;

/** Requests whose body did not arrive in time. */
const slow = new WeakSet<IncomingMessage>();

/** The limits of a body. */
export interface BodyLimits {
  /** Bytes of the largest body. */
  most: number;
  /** Room for the bytes of all bodies that are arriving. */
  arriving: Room;
  /** Milliseconds that a body may take to arrive, default 15,000. */
  timeout?: number;
}

/** Why a body was not read. */
export class BodyRefused extends Error {
  readonly problem: "too large" | "slow" | "broken off" | "no room";

  constructor(problem: BodyRefused["problem"], message: string) {
    super(message);
    this.name = "BodyRefused";
    this.problem = problem;
  }
}

/**
 * The body of a request, as it was sent. Until it is complete, its bytes take room in `arriving`. Throws BodyRefused.
 */
export async function readBody(request: IncomingMessage, limits: BodyLimits): Promise<Buffer> {
  const { arriving } = limits;
  const chunks: Buffer[] = [];
  let held = 0;
  try {
    await receiveBody(request, limits, (chunk) => {
      if (!arriving.take(chunk.length)) throw new BodyRefused("no room", "too many bodies arrive at once");
      held += chunk.length;
      chunks.push(chunk);
    });
    return joined(chunks, held);
  } finally {
    arriving.giveBack(held);
    // The request keeps its listeners, and they these: a body is not kept twice until its answer.
    chunks.length = 0;
  }
}

/** Calls `take` with each part of the body of a request; none of it is kept. Throws BodyRefused. */
export function receiveBody(
  request: IncomingMessage,
  { most, timeout }: Pick<BodyLimits, "most" | "timeout">,
  take: (chunk: Buffer) => void,
): Promise<void> {
  if (Number(request.headers["content-length"] ?? 0) > most) return Promise.reject(tooLarge(most));
  let received = 0;
  return eachChunk(request, timeout, (chunk) => {
    received += chunk.length;
    if (received > most) throw tooLarge(most);
    take(chunk);
  });
}

/**
 * Reads the rest of the body of a refused request and drops it: a sender that is cut off while it sends may not read
 * the answer. Gives up after twice `most` bytes: who sends more than that learns why only if it reads while it sends.
 * Waits no second time for a body that did not arrive in time.
 */
export async function discardBody(
  request: IncomingMessage,
  { most, timeout }: Pick<BodyLimits, "most" | "timeout">,
): Promise<void> {
  if (request.readableEnded || slow.has(request)) return;
  let left = 2 * most;
  await eachChunk(request, timeout, (chunk) => {
    left -= chunk.length;
    if (left < 0) throw tooLarge(most);
  }).catch(() => undefined);
}

/** A body of one chunk, as most are, is that chunk: no copy is made where it does not keep other bytes in memory. */
function joined(chunks: readonly Buffer[], size: number): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only?.buffer.byteLength === size ? only : Buffer.concat(chunks, size);
}

/** Calls `take` with each chunk of a body. Rejects with what `take` throws, and with BodyRefused. */
function eachChunk(request: IncomingMessage, timeout = bodyTimeout, take: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    // The listeners stay, as their removal would cost each request more.
    let isOver = false;
    const finish = (error?: Error): void => {
      if (isOver) return;
      isOver = true;
      clearTimeout(timer);
      request.pause();
      if (error === undefined) resolve();
      else reject(error);
    };
    const onData = (chunk: Buffer): void => {
      if (isOver) return;
      try {
        take(chunk);
      } catch (error) {
        finish(error as Error);
      }
    };
    const onEnd = (): void => finish();
    const onBreak = (): void => {
      if (!isOver) finish(new BodyRefused("broken off", "the body broke off"));
    };
    const onTimeout = (): void => {
      slow.add(request);
      finish(new BodyRefused("slow", "the body did not arrive in time"));
    };
    const timer = setTimeout(onTimeout, timeout);
    // Also a connection that breaks later must not raise an unhandled error.
    request.on("error", onBreak);
    if (request.readableEnded) onEnd();
    else if (request.destroyed) onBreak();
    else request.on("data", onData).on("end", onEnd).on("close", onBreak).resume();
  });
}

function tooLarge(most: number): BodyRefused {
  return new BodyRefused("too large", `expected a body of at most ${most} bytes`);
}
