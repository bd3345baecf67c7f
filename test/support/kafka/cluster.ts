import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Admin } from "kafkajs";
import { runTool } from "../java.ts";
import { freePorts, isOpen } from "../ports.ts";
import type { KafkaAccess, User } from "./access.ts";
import { KafkaBroker } from "./broker.ts";
import { type Certificates, certificates, newCertificate } from "./certificates.ts";
import { classPath } from "./distribution.ts";
import { configure, type Installation, install, newClusterId } from "./installation.ts";
import { KafkaNode } from "./node.ts";
import { type BrokerPorts, type BrokerSettings, type NodeSettings, portNames } from "./properties.ts";
import { TestKafka } from "./test-kafka.ts";

export interface ClusterOptions {
  /** Properties of each node that are other than usual. */
  properties?: Record<string, string>;
}

type Settings = Omit<BrokerSettings, "logDir">;

export const brokerIds = [1, 2, 3] as const;
export type BrokerId = (typeof brokerIds)[number];

/** A controller of its own: brokers come and go, and the metadata of the cluster do not depend on it. */
const controllerId = 100;
const lookMs = 100;
const patienceMs = 120_000;

const threeNodes = {
  "offsets.topic.replication.factor": "3",
  "transaction.state.log.replication.factor": "3",
  // A controller that stands still on a busy machine must not shut out brokers that are well.
  "broker.session.timeout.ms": "3000",
  // The broker decides these for consumers of KIP-848: a member that is gone is gone within seconds.
  "group.consumer.heartbeat.interval.ms": "1000",
  "group.consumer.min.heartbeat.interval.ms": "500",
  "group.consumer.session.timeout.ms": "6000",
  "group.consumer.min.session.timeout.ms": "1000",
  // What a test does to leaders stays as it is.
  "auto.leader.rebalance.enable": "false",
  "replica.lag.time.max.ms": "4000",
  // Clients that name the rack of a broker are sent there; others are not.
  "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
};

/** Where a broker is: each one alone. */
export function rackOf(id: BrokerId): string {
  return `rack-${id}`;
}

/** A broker of a cluster, which can be ended, killed, frozen and moved. */
export class ClusterBroker extends KafkaNode {
  readonly id: BrokerId;
  readonly #cluster: KafkaCluster;
  readonly #settings: Settings;

  constructor(id: BrokerId, cluster: KafkaCluster, settings: Settings, installation: Installation) {
    super(installation);
    this.id = id;
    this.#cluster = cluster;
    this.#settings = settings;
  }

  get ports(): BrokerPorts {
    return this.#settings.ports;
  }

  /** Starts it, or starts it again. Resolves when the cluster counts it among its brokers. */
  override async start(answers = (): Promise<boolean> => this.#isCounted()): Promise<void> {
    await super.start(answers);
  }

  /** Ends it and starts it at other ports: its clients have to learn the new ones. */
  async move(): Promise<void> {
    await this.end();
    const ports = await drawPorts();
    Object.assign(this.#settings.ports, ports);
    await configure(this.folder, this.#settings);
    this.#cluster.learnPorts();
    await this.start();
  }

  /** By the answer of the broker itself, which may be the only one. */
  async #isCounted(): Promise<boolean> {
    const brokers = [`127.0.0.1:${this.ports.PLAINTEXT}`];
    const admin = this.#cluster
      .client({ brokers, protocol: "PLAINTEXT" }, { retry: { retries: 0 }, connectionTimeout: 1_000 })
      .admin();
    try {
      await admin.connect();
      return (await admin.describeCluster()).brokers.some(({ nodeId }) => nodeId === this.id);
    } catch {
      return false;
    } finally {
      await admin.disconnect();
    }
  }
}

/** Three brokers and a controller, each a process of its own; all end with this process. */
export class KafkaCluster extends TestKafka {
  readonly user: User;
  readonly certificates: Certificates;
  #brokers: readonly ClusterBroker[] = [];
  #controller: { node: KafkaNode; port: number } | undefined;

  private constructor(access: KafkaAccess, user: User, made: Certificates) {
    super(access);
    this.user = user;
    this.certificates = made;
  }

  /** A new one, of which all brokers answer. Call `stop` in the end. */
  static async start({ properties = {} }: ClusterOptions = {}): Promise<KafkaCluster> {
    const [made, flags] = await Promise.all([certificates(), KafkaBroker.flags()]);
    const user = { username: "ada", password: randomBytes(12).toString("hex") };
    const access: KafkaAccess = { plaintext: [] };
    const cluster = new KafkaCluster(access, user, made);
    try {
      await cluster.#make(properties, flags);
      await cluster.startController();
      await Promise.all(cluster.#brokers.map((broker) => broker.start()));
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  get brokers(): readonly ClusterBroker[] {
    return this.#brokers;
  }

  broker(id: number): ClusterBroker {
    const found = this.#brokers.find((broker) => broker.id === id);
    if (found === undefined) throw new Error(`expected a broker ${brokerIds.join(", ")}, found ${id}`);
    return found;
  }

  /** Starts the controller, or starts it again after it was ended or killed. */
  async startController(): Promise<void> {
    const { node, port } = this.#controller!;
    await node.start(() => isOpen(port));
  }

  /** Whether its controller runs. */
  get isControlled(): boolean {
    return this.#controller!.node.isRunning;
  }

  get controller(): Pick<KafkaNode, "end" | "kill" | "freeze" | "thaw"> {
    return this.#controller!.node;
  }

  /** Resolves when all brokers are there and every replica of every partition is in sync. */
  async whole(): Promise<void> {
    await this.#until("the cluster is whole", async () => {
      const wanting = await this.#wants();
      if (wanting !== "") throw new Error(`it wants ${wanting}`);
      return true;
    });
  }

  /** Replicas of a topic's partitions, by partition. Resolves when all of them are in sync and none of the others is left. */
  async reassign(topic: string, assignment: readonly (readonly number[])[]): Promise<void> {
    const partitionAssignment = assignment.map((brokers, partition) => ({ partition, replicas: [...brokers] }));
    await this.withAdmin((admin) => admin.alterPartitionReassignments({ topics: [{ topic, partitionAssignment }] }));
    const isDone = async (): Promise<boolean> => {
      const found = await this.partitionsOf(topic);
      return assignment.every((brokers, at) => {
        const of = found.find(({ partition }) => partition === at);
        return of !== undefined && sameBrokers(of.replicas, brokers) && sameBrokers(of.isr, brokers);
      });
    };
    await this.#until(`the replicas of ${topic} have moved`, isDone);
  }

  /** By its partitions: the leader, -1 for none, the replicas, and those in sync. */
  async partitionsOf(
    topic: string,
  ): Promise<{ partition: number; leader: number; replicas: number[]; isr: number[] }[]> {
    const { topics } = await this.#askOnce((admin) => admin.fetchTopicMetadata({ topics: [topic] }));
    return topics[0]!.partitions.map(({ partitionId, leader, replicas, isr }) => ({
      partition: partitionId,
      leader,
      replicas,
      isr,
    }));
  }

  /** Resolves when a broker leads a partition. */
  async leads(topic: string, partition: number, broker: number): Promise<void> {
    await this.#until(`broker ${broker} leads ${topic}/${partition}`, async () => {
      const found = await this.partitionsOf(topic);
      return found.find((of) => of.partition === partition)?.leader === broker;
    });
  }

  /** Resolves when a partition of a topic has no leader, and the brokers say so. */
  async leaderless(topic: string): Promise<void> {
    await this.#until(`a partition of ${topic} has no leader`, () =>
      this.partitionsOf(topic).then(
        () => false,
        // The client refuses the whole answer then.
        (error: { cause?: { type?: string } }) => error.cause?.type === "LEADER_NOT_AVAILABLE",
      ),
    );
  }

  /** Brokers take new certificates by the same CA, without a restart; connections that there are stay. */
  async rotateCertificates(): Promise<void> {
    const made = await newCertificate(this.#controller!.node.folder, "server");
    for (const { id } of this.#brokers) {
      // Brokers take them only by listener.
      const stores = ["ssl", "sasl_ssl"].map((listener) => [
        `listener.name.${listener}.ssl.keystore.location`,
        made.both,
      ]);
      await this.#configure(`brokers --entity-name ${id}`, Object.fromEntries(stores) as Record<string, string>);
    }
  }

  /** One more of a client, which is as valid as those before. */
  async newClientCertificate(): Promise<Pick<Certificates, "clientCert" | "clientKey">> {
    const { cert, key } = await newCertificate(this.#controller!.node.folder, "client");
    return { clientCert: cert, clientKey: key };
  }

  /** The user has another password by SCRAM; connections that there are stay. */
  async rotatePassword(): Promise<void> {
    const password = randomBytes(12).toString("hex");
    for (const mechanism of ["SCRAM-SHA-256", "SCRAM-SHA-512"]) {
      await this.#configure(`users --entity-name ${this.user.username}`, { [mechanism]: `[password=${password}]` });
    }
    this.user.password = password;
  }

  /** Bytes that consumers may read a second from each broker; undefined for no limit. */
  async setConsumerQuota(bytes: number | undefined): Promise<void> {
    const name = "consumer_byte_rate";
    if (bytes !== undefined) return this.#configure("clients --entity-default", { [name]: String(bytes) });
    return this.#runConfig(["--entity-type", "clients", "--entity-default", "--delete-config", name]);
  }

  /** Ends all and removes what they kept. */
  async stop(): Promise<void> {
    // Brokers that find no controller take long to end.
    await Promise.all(this.#brokers.map((broker) => broker.remove()));
    await this.#controller?.node.remove();
  }

  /** Takes the addresses from the ports of the brokers. */
  learnPorts(): void {
    const { access } = this;
    const addresses = (name: keyof BrokerPorts): string[] =>
      this.#brokers.map(({ ports }) => `127.0.0.1:${ports[name]}`);
    access.plaintext.splice(0, access.plaintext.length, ...addresses("PLAINTEXT"));
    const { SASL_PLAINTEXT, SSL, SASL_SSL } = Object.fromEntries(
      (["SASL_PLAINTEXT", "SSL", "SASL_SSL"] as const).map((name) => [name, addresses(name)]),
    ) as Record<"SASL_PLAINTEXT" | "SSL" | "SASL_SSL", string[]>;
    access.secured = {
      addresses: { SASL_PLAINTEXT, SSL, SASL_SSL },
      user: this.user,
      certificates: this.certificates,
    };
  }

  async #configure(entity: string, config: Record<string, string>): Promise<void> {
    const [type = "", ...rest] = entity.split(" ");
    const set = Object.entries(config).map(([name, value]) => `${name}=${value}`);
    await this.#runConfig(["--entity-type", type, ...rest, "--add-config", set.join(",")]);
  }

  async #runConfig(words: readonly string[]): Promise<void> {
    const args = ["--bootstrap-server", this.access.plaintext.join(","), "--alter", ...words];
    await runTool({ classPath: await classPath(), main: "kafka.admin.ConfigCommand", args, heapMegabytes: 128 });
  }

  async #make(properties: Record<string, string>, flags: readonly string[]): Promise<void> {
    const clusterId = newClusterId();
    const own = await drawPorts();
    const voters = `${controllerId}@127.0.0.1:${own.CONTROLLER}`;
    const settingsOf = (node: NodeSettings, ports: BrokerPorts, more: Record<string, string> = {}): Settings => ({
      node,
      ports,
      user: this.user,
      certificates: this.certificates,
      properties: { ...threeNodes, ...more, ...properties },
    });
    const controller = settingsOf({ id: controllerId, roles: ["controller"], voters }, own);
    const installation = await install(controller, flags, clusterId);
    this.#controller = { node: new KafkaNode(installation), port: own.CONTROLLER };
    const brokers: ClusterBroker[] = [];
    for (const id of brokerIds) {
      const node = { id, roles: ["broker"] as const, voters };
      const settings = settingsOf(node, await drawPorts(), { "broker.rack": rackOf(id) });
      brokers.push(new ClusterBroker(id, this, settings, await install(settings, flags, clusterId)));
      this.#brokers = brokers;
    }
    this.learnPorts();
  }

  /** Without the many attempts by which the client waits for a leader. */
  async #askOnce<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.client(undefined, { retry: { retries: 1, initialRetryTime: lookMs } }).admin();
    try {
      await admin.connect();
      return await use(admin);
    } finally {
      await admin.disconnect();
    }
  }

  /** Looks again and again until it is so; what the look throws meanwhile is no answer yet. */
  async #until(what: string, isSo: () => Promise<boolean>): Promise<void> {
    let cause = new Error("it is not so");
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(lookMs)) {
      try {
        if (await isSo()) return;
      } catch (error) {
        cause = error as Error;
      }
    }
    throw new Error(`waited in vain until ${what}: ${cause.message}`, { cause });
  }

  /** What keeps it from being whole; empty where nothing does. */
  async #wants(): Promise<string> {
    const { brokers, topics } = await this.#askOnce(async (admin) => ({
      brokers: (await admin.describeCluster()).brokers.map(({ nodeId }) => nodeId),
      topics: (await admin.fetchTopicMetadata()).topics,
    }));
    const away = brokerIds.filter((id) => !brokers.includes(id));
    if (away.length > 0) return `brokers ${away.join(", ")}`;
    for (const { name, partitions } of topics) {
      const part = partitions.find(({ isr, replicas, leader }) => leader < 0 || isr.length < replicas.length);
      if (part !== undefined) return `replicas of ${name}/${part.partitionId}`;
    }
    return "";
  }
}

async function drawPorts(): Promise<BrokerPorts> {
  const drawn = await freePorts(portNames.length);
  return Object.fromEntries(portNames.map((name, at) => [name, drawn[at]])) as BrokerPorts;
}

function sameBrokers(some: readonly number[], others: readonly number[]): boolean {
  return some.length === others.length && some.every((id) => others.includes(id));
}
