import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ISocketFactory } from "kafkajs";
import { LeftForLater } from "../../engine/core/errors.ts";
import type { Progress } from "../../engine/core/journal.ts";
import { sleep } from "../../engine/flow/sleep.ts";
import { RetryPause } from "../../engine/flow/retry-pause.ts";
import { defaultKafkaSettings } from "../../engine/sources/kafka/brokers/settings.ts";
import { KafkaSource } from "../../engine/sources/kafka/kafka-source.ts";
import type { Telemetry } from "../../engine/telemetry/telemetry.ts";
import type { KafkaConnection } from "../../schemas/pipeline.ts";
import { Frames } from "../support/kafka/frames.ts";
import { Random } from "../support/random.ts";
import { silent } from "../support/clickhouse.ts";
import { type Exchange, KafkaRecording, ReplayedBroker, requestOf } from "./peers-kafka-broker.ts";
import { Budget, type Certificate, listen } from "./peers-net.ts";
import { OwnTime, within } from "./peers-time.ts";

/** What a true broker has answered to a source that reads its topic. */
export interface KafkaRecord {
  topic: string;
  exchanges: Exchange[];
  /** The values of its messages. */
  values: string[];
}

const password = "secret";
const identity = { dataDir: "a".repeat(16), run: "11111111", earlier: new Set<string>() };
const settings = {
  ...defaultKafkaSettings,
  heartbeatInterval: 200,
  metadataMaxAge: 1_000,
  fetchWait: 50,
  fetchMinBytes: 1,
};
/**
 * After this time of its own no further answer is mutated, in milliseconds; after the second one it is taken to hang: an
 * answer may be late on each of its connections in turn, which takes 30 seconds each.
 */
const [mutates, hangs] = [4_000, 150_000];

interface Reading {
  connection: KafkaConnection;
  topic: string;
  socketFactory?: ISocketFactory;
}

/** A source as a thread runs it, whose waits are short. */
class RunningSource {
  readonly source: KafkaSource;
  readonly values: string[] = [];
  /** Why it waits, in the words of its pauses. */
  readonly pauses: string[] = [];
  readonly #leave = new AbortController();

  constructor({ connection, topic, socketFactory }: Reading) {
    const telemetry = new Proxy({} as Telemetry, {
      get: (_target, event) => (fields: { pause?: { class: string; text: string } }) => {
        if (event === "paused") this.pauses.push(`${fields.pause?.class}: ${fields.pause?.text}`);
      },
    });
    this.source = new KafkaSource({
      pipeline_id: "fuzz",
      connection,
      topics: new Map([[topic, { start: "earliest", hasDedup: false }]]),
      replicas: 1,
      identity,
      options: { on_lost: "pause" },
      settings,
      journal: memoryJournal(),
      telemetry,
      pause: new RetryPause("fuzz", telemetry, (_milliseconds, signal) => sleep(20, signal)),
      log: silent,
      bufferBytes: 1 << 20,
      maxDelay: 20,
      ...(socketFactory !== undefined && { socketFactory }),
    });
  }

  /** Reads until `isDone`. Throws what ends a pipeline. */
  async run(isDone: () => boolean): Promise<void> {
    const signals = { leave: this.#leave.signal, drain: this.#leave.signal };
    const watch = setInterval(() => isDone() && this.#leave.abort(), 20);
    try {
      await this.source.open(signals);
      await this.source.begin();
      while (!this.#leave.signal.aborted) {
        await this.source.wait(1, performance.now() + 50, this.#leave.signal);
        for (const chunk of await this.source.next(100, 1 << 20)) {
          this.values.push(...chunk.events.map(({ text }) => text));
          if (chunk.events.length === 0) continue;
          const [first, count] = [chunk.events[0]!.position, chunk.events.length];
          this.source.acknowledge([{ feed: chunk.feed, base: first, first, last: chunk.last, count }]);
        }
      }
    } catch (error) {
      if (!(error instanceof LeftForLater)) throw error;
    } finally {
      clearInterval(watch);
      await this.source.close();
    }
  }
}

function memoryJournal(): never {
  const progress: Progress = { positions: {}, batch: 0, clock: 0 };
  const place = (_id: string, positions: Record<string, number>, { notes }: { notes?: never } = {}): Promise<void> => {
    Object.assign(progress.positions, positions);
    if (notes !== undefined) progress.notes = notes;
    return Promise.resolve();
  };
  return { place, progress: () => progress, pending: () => [], giveUp: () => Promise.resolve() } as never;
}

/** Reads a topic of a true broker, and records what is answered. */
export async function recordKafka(connection: KafkaConnection, topic: string, count: number): Promise<KafkaRecord> {
  const exchanges: Exchange[] = [];
  const running = new RunningSource({ connection, topic, socketFactory: (options) => recorded(options, exchanges) });
  const began = performance.now();
  let since = Infinity;
  await running.run(() => {
    // It goes on for a while: heartbeats, commits, and fetches of nothing are recorded too.
    if (running.values.length >= count) since = Math.min(since, performance.now());
    return performance.now() - since > 1_500 || performance.now() - began > 60_000;
  });
  return { topic, exchanges, values: running.values };
}

function recorded(
  { host, port, onConnect }: Parameters<ISocketFactory>[0],
  exchanges: Exchange[],
): ReturnType<ISocketFactory> {
  const socket = connect({ host, port }, onConnect);
  const [sent, received] = [new Frames(), new Frames()];
  const requests = new Map<number, ReturnType<typeof requestOf>>();
  const write = socket.write.bind(socket) as (bytes: Buffer, ...rest: unknown[]) => boolean;
  socket.write = (bytes: Buffer, ...rest: unknown[]) => {
    for (const frame of sent.take(bytes)) requests.set(frame.readInt32BE(4), requestOf(Buffer.from(frame)));
    return write(bytes, ...rest);
  };
  socket.on("data", (chunk: Buffer) => {
    for (const frame of received.take(chunk)) {
      const { key, version, body } = requests.get(frame.readInt32BE(0))!;
      exchanges.push({ key, version, body: body.toString("base64"), answer: frame.subarray(4).toString("base64") });
    }
  });
  return socket;
}

/** One case: a source that reads from a broker some of whose answers are mutated. Throws where it does not stay sound. */
export async function kafkaCase(
  record: KafkaRecord,
  recording: KafkaRecording,
  certificate: Certificate,
  seed: number,
): Promise<number> {
  const random = new Random(seed);
  const budget = new Budget(random.pick(1, 2, 4, 8, 16), random);
  const broker = new ReplayedBroker({ recording, random, budget, password });
  const isTls = random.below(6) === 0;
  const tls = isTls ? { certificate, budget, random } : undefined;
  const listener = await listen({ onSocket: broker.onSocket, ...(tls && { tls }) });
  const login = random.pick("NO_AUTH", "NO_AUTH", "NO_AUTH", "PLAIN", "SCRAM-SHA-256");
  const connection = connectionOf(listener.port, isTls, login);
  // The brokers that an answer names are all this one.
  const socketFactory: ISocketFactory = ({ ssl, onConnect }) => {
    const to = { host: "127.0.0.1", port: listener.port };
    const socket = ssl ? connectTls({ ...to, ...ssl }, onConnect) : connect(to, onConnect);
    return socket.setKeepAlive(true, 60_000);
  };
  const running = new RunningSource({ connection, topic: record.topic, socketFactory });
  const time = new OwnTime();
  let hasHung = false;
  const isDone = (): boolean => {
    const { elapsed } = time;
    if (elapsed > mutates) budget.left = 0;
    hasHung = elapsed > hangs;
    const needsOperator =
      running.pauses.some((text) => /^(lost|owner)/.test(text)) && performance.now() - budget.lastAt > 300;
    return hasHung || (budget.left === 0 && (broker.alive >= 4 || needsOperator));
  };
  try {
    await within(hangs + 30_000, running.run(isDone), () => `it does not end: ${running.pauses.at(-1) ?? "no pause"}`);
  } finally {
    listener.close();
  }
  if (hasHung)
    throw new Error(`it does not read or join again from true answers: ${running.pauses.at(-1) ?? "without a pause"}`);
  const truth = new Set(record.values);
  const wrong = running.values.find((value) => !truth.has(value));
  if (wrong !== undefined)
    throw new Error(`it read a value that no message has: ${JSON.stringify(wrong.slice(0, 200))}`);
  return budget.spent;
}

/** The settings of a source for a replayed broker. */
function connectionOf(port: number, isTls: boolean, mechanism: "NO_AUTH" | "PLAIN" | "SCRAM-SHA-256"): KafkaConnection {
  const protocol = `${mechanism === "NO_AUTH" ? "" : "SASL_"}${isTls ? "SSL" : "PLAINTEXT"}` as "PLAINTEXT";
  const common = { brokers: [`127.0.0.1:${port}`], protocol, skip_tls_verification: true } as const;
  return { ...common, mechanism, username: "user", password } as never;
}
