import { int32 } from "../support/kafka/wire-bytes.ts";
import { createHmac, pbkdf2Sync } from "node:crypto";
import type { Socket } from "node:net";
import { Frames } from "../support/kafka/frames.ts";
import type { Random } from "../support/random.ts";
import { mutatedBytes, sentAs, type Sent } from "./peers-mutate.ts";
import { type Budget, send } from "./peers-net.ts";

/** A request and its true answer, without their lengths and correlation ids, in base64. */
export interface Exchange {
  key: number;
  version: number;
  body: string;
  answer: string;
}

/** A request as it comes. */
export interface Request {
  key: number;
  version: number;
  correlationId: number;
  /** After the client id. */
  body: Buffer;
}

const [fetchKey, heartbeatKey, authenticateKey] = [1, 12, 36];
const rebalanceInProgress = 27;
/** A broker that has nothing new waits before it says so, in milliseconds. */
const fetchWait = 50;

export function requestOf(frame: Buffer): Request {
  const [key, version, correlationId] = [frame.readInt16BE(0), frame.readInt16BE(2), frame.readInt32BE(4)];
  const body = frame.subarray(10 + Math.max(0, frame.readInt16BE(8)));
  return { key, version, correlationId, body };
}

/** The recorded answers of a true broker, by their requests. */
export class KafkaRecording {
  readonly #exact = new Map<string, Buffer[]>();
  readonly #last = new Map<string, Buffer>();

  constructor(exchanges: readonly Exchange[]) {
    for (const { key, version, body, answer } of exchanges) {
      const bytes = Buffer.from(answer, "base64");
      const name = `${key}/${version}/${body}`;
      this.#exact.set(name, [...(this.#exact.get(name) ?? []), bytes]);
      this.#last.set(`${key}/${version}`, bytes);
    }
  }

  /** The answer to the request when it came for the `nth` time, from 0; undefined for a kind that never came. */
  answer({ key, version, body }: Request, nth: number): Buffer | undefined {
    const exact = this.#exact.get(`${key}/${version}/${body.toString("base64")}`);
    return exact?.[nth] ?? exact?.at(-1) ?? this.#last.get(`${key}/${version}`);
  }
}

export interface BrokerOptions {
  recording: KafkaRecording;
  random: Random;
  budget: Budget;
  password: string;
}

/** A broker that answers as the true one did, and sometimes otherwise. */
export class ReplayedBroker {
  readonly #options: BrokerOptions;
  readonly #counts = new Map<string, number>();
  #hasRebalanced = false;
  /** True answers to fetches and heartbeats since the last mutated one: the client works. */
  alive = 0;

  constructor(options: BrokerOptions) {
    this.#options = options;
  }

  readonly onSocket = (socket: Socket): void => {
    const frames = new Frames();
    const login = { first: "", server: "" };
    socket.on("data", (chunk: Buffer) => {
      for (const frame of frames.take(chunk)) void this.#handle(socket, requestOf(frame), login);
    });
  };

  async #handle(socket: Socket, request: Request, login: Login): Promise<void> {
    const { recording, budget, password } = this.#options;
    const name = `${request.key}/${request.version}/${request.body.toString("base64")}`;
    const nth = this.#counts.get(name) ?? 0;
    this.#counts.set(name, nth + 1);
    const recorded = scramAnswer(request, login, password) ?? recording.answer(request, nth);
    if (recorded === undefined) return void socket.destroy();
    if (request.key === fetchKey && nth > 0) await new Promise((resolve) => setTimeout(resolve, fetchWait));
    const answer = this.#withRebalance(request, recorded);
    const head = Buffer.alloc(8);
    head.writeInt32BE(answer.length + 4, 0);
    head.writeInt32BE(request.correlationId, 4);
    const bytes = Buffer.concat([head, answer]);
    if (budget.takes()) {
      this.alive = 0;
      return send(socket, this.#mutated(bytes));
    }
    if (budget.left === 0 && (request.key === fetchKey || request.key === heartbeatKey)) this.alive += 1;
    if (socket.writable) socket.write(bytes);
  }

  /** A client that has joined by a mutated answer joins once more. */
  #withRebalance({ key }: Request, answer: Buffer): Buffer {
    if (key !== heartbeatKey || this.#options.budget.left > 0 || this.#hasRebalanced) return answer;
    this.#hasRebalanced = true;
    const changed = Buffer.from(answer);
    changed.writeInt16BE(rebalanceInProgress, changed.length - 2);
    return changed;
  }

  #mutated(bytes: Buffer): Sent {
    const { random } = this.#options;
    const [length, id, payload] = [bytes.subarray(0, 4), bytes.subarray(4, 8), bytes.subarray(8)];
    switch (random.below(8)) {
      case 0:
        return { parts: [mutatedBytes(bytes, random)], end: "goes on" };
      case 1: {
        const size = random.pick(0, -1, 1, 3, 4, 2 ** 31 - 1, -(2 ** 31), 2 ** 28 + 1, bytes.length + random.below(9));
        return sentAs(Buffer.concat([int32(size), id, payload]), random);
      }
      case 2:
        return sentAs(
          Buffer.concat([length, int32(random.pick(0, -1, 2 ** 31 - 1, random.below(9))), payload]),
          random,
        );
      case 3:
        // Unasked, before or after the true one.
        return sentAs(Buffer.concat([framed(int32(random.below(9)), payload), bytes, bytes]), random);
      default:
        // The lengths fit: what is wrong is within.
        return sentAs(framed(id, mutatedBytes(payload, random)), random);
    }
  }
}

function framed(id: Buffer, payload: Buffer): Buffer {
  return Buffer.concat([int32(4 + payload.length), id, payload]);
}

interface Login {
  first: string;
  server: string;
}

/** The answer of the SCRAM login, which holds what the client has drawn; undefined for any other request. */
function scramAnswer({ key, version, body }: Request, login: Login, password: string): Buffer | undefined {
  if (key !== authenticateKey) return undefined;
  const text = body.toString("utf8", 4);
  const first = /^n,,(n=[^,]*,r=(.*))$/.exec(text);
  if (first !== null) {
    login.first = first[1]!;
    login.server = `r=${first[2]!}server,s=${Buffer.from("salt").toString("base64")},i=4096`;
    return authenticated(login.server, version);
  }
  const last = /^(c=[^,]*,r=[^,]*),p=/.exec(text);
  if (last === null) return undefined;
  const salted = pbkdf2Sync(password, "salt", 4096, 32, "sha256");
  const serverKey = createHmac("sha256", salted).update("Server Key").digest();
  const message = `${login.first},${login.server},${last[1]!}`;
  return authenticated(`v=${createHmac("sha256", serverKey).update(message).digest("base64")}`, version);
}

/** An answer to SaslAuthenticate without an error. */
function authenticated(text: string, version: number): Buffer {
  const lifetime = Buffer.alloc(version >= 1 ? 8 : 0);
  return Buffer.concat([Buffer.from([0, 0, 0xff, 0xff]), int32(Buffer.byteLength(text)), Buffer.from(text), lifetime]);
}
