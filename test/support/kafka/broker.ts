import { randomBytes } from "node:crypto";
import type { KafkaAccess, User } from "./access.ts";
import { type Certificates, certificates } from "./certificates.ts";
import { archivedClasses } from "./distribution.ts";
import { install } from "./installation.ts";
import { KafkaNode } from "./node.ts";
import { freePorts } from "../ports.ts";
import { type BrokerPorts, portNames } from "./properties.ts";
import { TestKafka } from "./test-kafka.ts";

export interface BrokerOptions {
  /** Properties of the server that are other than usual. */
  properties?: Record<string, string>;
}

const portDraws = 3;

/**
 * A Kafka of one test file: one node in a process of its own, which ends with this process. Its ports and what it keeps
 * stay the same while it is killed and started again.
 */
export class KafkaBroker extends TestKafka {
  /** Clients that come through a proxy on `port`, which passes on to `upstream`, do all that they do through it. */
  readonly proxied: { port: number; upstream: number };
  readonly #node: KafkaNode;

  private constructor(access: KafkaAccess, ports: BrokerPorts, node: KafkaNode) {
    super(access);
    this.proxied = { port: ports.proxy, upstream: ports.PROXIED };
    this.#node = node;
  }

  /** A new one, which answers. Call `stop` in `afterAll`. */
  static async start(options: BrokerOptions = {}): Promise<KafkaBroker> {
    return KafkaBroker.#first(options, await KafkaBroker.flags());
  }

  /** Java's flags with which nodes start quickly; the first call on a machine starts a broker for them. */
  static flags(): Promise<string[]> {
    return archivedClasses(async (flags) => (await KafkaBroker.#first({}, flags)).stop());
  }

  static async #first(options: BrokerOptions, flags: string[]): Promise<KafkaBroker> {
    for (let draw = 1; ; draw++) {
      const broker = await KafkaBroker.#make(options, flags);
      try {
        await broker.start();
        return broker;
      } catch (error) {
        await broker.stop();
        // Another process may have been quicker at one of the ports.
        if (draw === portDraws || !/already in use/.test(String(error))) throw error;
      }
    }
  }

  /** One that has never run. */
  static async #make({ properties = {} }: BrokerOptions, flags: string[]): Promise<KafkaBroker> {
    const [made, drawn] = await Promise.all([certificates(), freePorts(portNames.length)]);
    const ports = Object.fromEntries(portNames.map((name, at) => [name, drawn[at]])) as BrokerPorts;
    const user = { username: "ada", password: randomBytes(12).toString("hex") };
    const node = { id: 1, roles: ["broker", "controller"], voters: `1@127.0.0.1:${ports.CONTROLLER}` } as const;
    const installation = await install({ node, ports, user, certificates: made, properties }, flags);
    return new KafkaBroker(accessTo(ports, user, made), ports, new KafkaNode(installation));
  }

  /** Of the process that runs, or ran last. */
  get pid(): number {
    return this.#node.pid;
  }

  /** Where it keeps everything; removed by `stop`. */
  get folder(): string {
    return this.#node.folder;
  }

  /** Starts it again after `kill` or `end`; resolves when it answers for every partition. */
  start(): Promise<void> {
    return this.#node.start(() => this.#answers());
  }

  /** Ends it as an operator does. */
  end(): Promise<void> {
    return this.#node.end();
  }

  /** Ends it as a crash does; what it has answered is kept. */
  kill(): Promise<void> {
    return this.#node.kill();
  }

  /** Ends it and removes what it kept. */
  stop(): Promise<void> {
    return this.#node.remove();
  }

  /** Metadata name a leader some moments before it takes requests, so every topic is asked for its offsets as well. */
  async #answers(): Promise<boolean> {
    const admin = this.client(undefined, { retry: { retries: 0 }, connectionTimeout: 1_000 }).admin();
    try {
      await admin.connect();
      const { brokers } = await admin.describeCluster();
      for (const topic of await admin.listTopics()) await admin.fetchTopicOffsets(topic);
      return brokers.length > 0;
    } catch {
      return false;
    } finally {
      await admin.disconnect();
    }
  }
}

function accessTo(ports: BrokerPorts, user: User, made: Certificates): KafkaAccess {
  const { PLAINTEXT, ...others } = Object.fromEntries(
    Object.entries(ports).map(([name, port]) => [name, [`127.0.0.1:${port}`]]),
  ) as Record<keyof BrokerPorts, string[]>;
  return { plaintext: PLAINTEXT, secured: { addresses: others, user, certificates: made } };
}
