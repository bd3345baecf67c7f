import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { cachedFolder, versionOf } from "../cached-folder.ts";
import { isInstalled } from "../programs.ts";
import type { ConnectionParams } from "./access.ts";

const run = promisify(execFile);

const folder = fileURLToPath(new URL("librdkafka", import.meta.url));
const [program, requirements] = [join(folder, "client.py"), join(folder, "requirements.txt")];
/** The first install on a machine fetches 5 MB. */
const installMs = 240_000;
/** For what is under way when a producer ends, in seconds. */
const flushSeconds = 60;
const endMs = 30_000;

/** A record as a client has it: `at` is when it had it, in milliseconds of the clock. */
export interface ClientRecord {
  partition: number;
  offset: number;
  id: number;
  at: number;
}

export type Acked = ClientRecord;

/** What a coordinator says of a group. */
export interface DescribedGroup {
  type: string;
  state: string;
  members: { client: string; partitions: number[] }[];
}

type Told =
  | ({ kind: "record" | "acked" } & ClientRecord)
  | { kind: "failed"; id: number; partition: number; text: string }
  | { kind: "assigned"; partitions: number[] }
  | { kind: "written" }
  | { kind: "ended"; produced: number; unknown: number }
  | { kind: "error"; text: string }
  | ({ kind: "group" } & DescribedGroup);

/** Python with librdkafka, installed once on a machine. */
async function python(): Promise<string> {
  const into = await cachedFolder("kafka", `librdkafka-${await versionOf(requirements)}`, async (made) => {
    await run("python3", ["-m", "venv", "--copies", made]);
    const install = ["-m", "pip", "install", "--quiet", "--requirement", requirements];
    await run(join(made, "bin", "python"), install, { timeout: installMs });
  });
  return join(into, "bin", "python");
}

/** Why this machine has no librdkafka; undefined where it has, or could be given it. */
export async function librdkafkaObstacle(): Promise<string | undefined> {
  if (!isInstalled("python3")) return "needs librdkafka: install python3, with venv and pip";
  try {
    await python();
    return undefined;
  } catch (error) {
    return `needs librdkafka (confluent-kafka of PyPI), which pip could not install: ${(error as Error).message}`;
  }
}

/** How librdkafka comes in by what a pipeline file says. */
export function librdkafkaProperties(params: ConnectionParams): Record<string, string> {
  const { brokers, protocol, mechanism, username, password, root_ca, client_cert, client_key } = params;
  return {
    "bootstrap.servers": brokers.join(","),
    "security.protocol": protocol,
    ...(mechanism !== undefined && protocol.startsWith("SASL") && { "sasl.mechanisms": mechanism }),
    ...(username !== undefined && { "sasl.username": username }),
    ...(password !== undefined && { "sasl.password": password }),
    ...(root_ca !== undefined && { "ssl.ca.pem": root_ca }),
    ...(client_cert !== undefined && { "ssl.certificate.pem": client_cert }),
    ...(client_key !== undefined && { "ssl.key.pem": client_key }),
  };
}

/** A client as a process of its own, which ends with this process. */
class Client {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #said = "";
  #isKilled = false;

  constructor(command: string, mode: string, options: unknown, onTold: (told: Told) => void) {
    this.#child = spawn(command, [program, mode, JSON.stringify(options)], { stdio: ["pipe", "pipe", "pipe"] });
    const lines = createInterface({ input: this.#child.stdout! });
    lines.on("line", (line) => onTold(JSON.parse(line) as Told));
    this.#child.stderr!.on("data", (text: Buffer) => (this.#said = (this.#said + text.toString()).slice(-4_000)));
    this.#child.stdin!.on("error", () => undefined);
    this.#ended = Promise.all([once(this.#child, "close"), once(lines, "close")]);
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  tell(order: string): void {
    this.#child.stdin!.write(`${order}\n`);
  }

  /** Resolves when it has ended and all that it printed was taken. */
  async ended(): Promise<void> {
    await this.#ended;
    const { exitCode } = this.#child;
    if (exitCode !== 0 && !this.#isKilled) throw new Error(`librdkafka's client ended with ${exitCode}: ${this.#said}`);
  }

  /** Resolves when it has ended; kills one that does not by itself. */
  async end(patience = endMs): Promise<void> {
    this.tell("end");
    const force = setTimeout(() => this.kill(), patience);
    await this.#ended;
    clearTimeout(force);
  }

  kill(): void {
    this.#isKilled = true;
    this.#child.kill("SIGKILL");
  }
}

export interface ConsumerOptions {
  params: ConnectionParams;
  group: string;
  topics: readonly string[];
  /** Further properties of librdkafka, such as `group.protocol`. */
  properties?: Record<string, string>;
  /** Whether it commits what it has read; it does by default. */
  commits?: boolean;
}

/** A member of a consumer group, by librdkafka. */
export class LibrdkafkaConsumer {
  /** What it has read, in its order. */
  readonly records: ClientRecord[] = [];
  /** Errors that it reported. */
  readonly errors: string[] = [];
  #assigned: readonly number[] = [];
  #client: Client | undefined;

  static async start(options: ConsumerOptions): Promise<LibrdkafkaConsumer> {
    const { params, group, topics, properties = {}, commits = true } = options;
    const given = {
      topics,
      commits,
      properties: { ...librdkafkaProperties(params), "group.id": group, "client.id": "librdkafka", ...properties },
    };
    const consumer = new LibrdkafkaConsumer();
    consumer.#client = new Client(await python(), "consume", given, (told) => consumer.#hear(told));
    return consumer;
  }

  /** Partitions that it has now. */
  get assigned(): readonly number[] {
    return this.#assigned;
  }

  /** Another password, from its next connection on. */
  usePassword(password: string): void {
    this.#client!.tell(`password ${password}`);
  }

  /** It leaves its group; one that is static does not. */
  async end(): Promise<void> {
    await this.#client!.end();
  }

  #hear(told: Told): void {
    if (told.kind === "record") this.records.push(told);
    if (told.kind === "assigned") this.#assigned = told.partitions;
    if (told.kind === "error") this.errors.push(told.text);
  }
}

export interface ProducerOptions {
  params: ConnectionParams;
  topic: string;
  /** How many it writes to, the first ones of the topic. */
  partitions: number;
  perSecond: number;
  /** Bytes of each message beside its id. */
  padding?: number;
  /** Id of the first message; each one is one more. */
  first?: number;
  properties?: Record<string, string>;
}

/** Writes messages, each with an id of its own, until it is ended. */
export class LibrdkafkaProducer {
  /** What brokers acknowledged. */
  readonly acked: Acked[] = [];
  /** Ids of messages that failed: they may be in the topic all the same. */
  readonly failed: number[] = [];
  #client: Client | undefined;
  #produced = 0;

  static async start(options: ProducerOptions): Promise<LibrdkafkaProducer> {
    const { params, properties = {}, ...rest } = options;
    const given = {
      ...rest,
      patience: flushSeconds,
      properties: { ...librdkafkaProperties(params), ...properties },
    };
    const producer = new LibrdkafkaProducer();
    producer.#client = new Client(await python(), "produce", given, (told) => producer.#hear(told));
    return producer;
  }

  /** Messages that it was to write, after `end`. */
  get produced(): number {
    return this.#produced;
  }

  /** Writes to so many partitions from now on. */
  useInstead(partitions: number): void {
    this.#client!.tell(`partitions ${partitions}`);
  }

  /** So many messages a second from now on. */
  setRate(perSecond: number): void {
    this.#client!.tell(`rate ${perSecond}`);
  }

  /** Resolves when it knows what came of each message. Safe to call twice. Throws why it has ended before. */
  async end(): Promise<void> {
    const client = this.#client!;
    if (!client.hasEnded) await client.end(2 * flushSeconds * 1_000);
    await client.ended();
  }

  #hear(told: Told): void {
    if (told.kind === "acked") this.acked.push(told);
    if (told.kind === "failed") this.failed.push(told.id);
    if (told.kind === "ended") this.#produced = told.produced;
  }
}

export interface TransactionOptions {
  params: ConnectionParams;
  topic: string;
  partitions: number;
  name: string;
  first: number;
  count: number;
  /** After which the coordinator aborts it, in milliseconds. */
  timeout: number;
}

/** A transaction that is open, with all of its messages written. */
export class OpenTransaction {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async begin({ params, timeout, ...rest }: TransactionOptions): Promise<OpenTransaction> {
    const properties = { ...librdkafkaProperties(params), "transaction.timeout.ms": String(timeout) };
    const command = await python();
    return new Promise((resolve, reject) => {
      const client = new Client(command, "transact", { ...rest, properties }, ({ kind }) => {
        if (kind === "written") resolve(new OpenTransaction(client));
      });
      client.ended().then(() => reject(new Error("a transaction ended before it was written")), reject);
    });
  }

  async commit(): Promise<void> {
    this.#client.tell("commit");
    await this.#client.ended();
  }

  async abort(): Promise<void> {
    this.#client.tell("abort");
    await this.#client.ended();
  }

  /** Its producer is gone: the coordinator aborts it when its time is over. */
  abandon(): void {
    this.#client.kill();
  }
}

/** All that a topic has now, by partition and offset; records of aborted transactions are not among them. */
export async function readCommitted(params: ConnectionParams, topic: string): Promise<Omit<ClientRecord, "at">[]> {
  const records: ClientRecord[] = [];
  const errors: string[] = [];
  const given = { topic, patience: flushSeconds, properties: librdkafkaProperties(params) };
  const client = new Client(await python(), "read", given, (told) => {
    if (told.kind === "record") records.push(told);
    if (told.kind === "error") errors.push(told.text);
  });
  await client.ended();
  if (errors.length > 0) throw new Error(errors.join("; "));
  return records.toSorted((a, b) => a.partition - b.partition || a.offset - b.offset);
}

/** What the coordinator of a group says of it. */
export async function describeGroup(params: ConnectionParams, group: string): Promise<DescribedGroup> {
  let found: DescribedGroup | undefined;
  const given = { group, properties: librdkafkaProperties(params) };
  const client = new Client(await python(), "describe", given, (told) => {
    if (told.kind === "group") found = told;
  });
  await client.ended();
  if (found === undefined) throw new Error(`nothing was said of group ${group}`);
  return found;
}
