import type { ISocketFactory } from "kafkajs";
import { patchKafkajs } from "../../../../engine/sources/kafka/brokers/kafkajs-patches.ts";
import type { KafkaConnection } from "../../../../schemas/pipeline.ts";
import type { Draw, SimulatedNetwork } from "../network.ts";
import { SimulatedBroker, type Call } from "./broker.ts";
import { ClusterState, type CommittedOffset } from "./cluster.ts";
import { beforeStaticMembers, codeName, type RequestName } from "./codes.ts";
import { ForeignMember, type ForeignMemberOptions } from "./foreign-member.ts";
import { answers } from "./answers.ts";
import type { Addresses } from "./metadata.ts";
import { Transaction } from "./transaction.ts";
import { Troubles, troubleText, type Trouble, type TroubleOptions } from "./troubles.ts";
import type { Lag, Partition, Topic } from "./topics.ts";
import type { Truth } from "./truth.ts";

export interface SimulatedKafkaOptions {
  network: Pick<SimulatedNetwork, "listen" | "unlisten" | "kafkaSocket">;
  draw: Draw;
  /** How many brokers there are; one if that is not said. */
  brokers?: number;
  /** The number of partitions of each topic. */
  topics: Readonly<Record<string, number>>;
  clusterId?: string;
  /** Their hosts are this and the number of the node. */
  host?: string;
  /** Where clients reach them, in place of that. */
  reached?: Pick<Addresses, "host" | "port">;
  /** Milliseconds within which it is noticed that a node is gone; 1,000 if that is not said. */
  electionDelay?: number;
  /** Milliseconds for which nodes may go on to name an old leader; 0 if that is not said. */
  metadataLag?: number;
  /** Milliseconds for which a group that was empty waits for more members; 0 if that is not said. */
  rebalanceDelay?: number;
  /** Whether another node leads a partition whose node is gone, as is if that is not said; else none does until it is back. */
  isReplicated?: boolean;
  /** Where nodes are: followers are read from then, as leaders name them to clients of their rack. None if that is not said. */
  racks?: Readonly<Record<number, string>>;
  /** Whether members may be static, as from Kafka 2.3 on; they may if that is not said. */
  hasStaticMembers?: boolean;
}

export interface ProduceOptions {
  /** The records are one transaction, which ends so. */
  transaction?: "committed" | "aborted";
  /** So many offsets are left out before them. */
  gap?: number;
}

const port = 9092;

/**
 * A Kafka cluster in memory, as its clients see it: nodes that listen on a simulated network at `kafka-1:9092` and on,
 * and speak the protocol as far as kafkajs and the engine need it. Its time is that of the global timers.
 */
export class SimulatedKafka {
  readonly truth: Truth;
  /** How often each thing happened: requests, what they met and were refused with, rebalances, losses. */
  readonly met = new Map<string, number>();
  /** Requests that were not understood, as `key/version`. Their connections were closed. */
  readonly unknown: string[] = [];
  /** What happened, one line each with its time in milliseconds: the same in each world of one seed. */
  readonly trace: string[] = [];
  readonly #options: SimulatedKafkaOptions;
  readonly #addresses: Addresses;
  readonly #cluster: ClusterState;
  readonly #brokers = new Map<number, SimulatedBroker>();
  readonly #troubles = new Troubles();
  #producers = 0;

  constructor(options: SimulatedKafkaOptions) {
    patchKafkajs();
    this.#options = options;
    const { draw, brokers = 1, host = "kafka", clusterId = "simulated", topics } = options;
    const {
      electionDelay = 1_000,
      metadataLag = 0,
      rebalanceDelay = 0,
      isReplicated = true,
      hasStaticMembers = true,
      racks = {},
    } = options;
    const times = { electionDelay, metadataLag, rebalanceDelay, isReplicated, racks };
    this.#addresses = { clusterId, host: (node) => `${host}-${node}`, port, ...options.reached };
    const newest = hasStaticMembers ? {} : beforeStaticMembers;
    const onEvent = (event: string): void => this.#happened(event);
    this.#cluster = new ClusterState({ draw, nodes: brokers, ...times, newest, onEvent });
    this.truth = this.#cluster.truth;
    for (const [topic, partitions] of Object.entries(topics)) this.#cluster.create(topic, partitions);
    for (const node of this.#cluster.nodes) this.#brokers.set(node, this.#broker(node));
  }

  /** The nodes that run. */
  get running(): number[] {
    return this.#cluster.nodes.filter((node) => this.#cluster.isRunning(node));
  }

  /** How it is reached. */
  get connection(): KafkaConnection {
    const brokers = this.#cluster.nodes.map((node) => this.address(node));
    return { brokers, protocol: "PLAINTEXT", mechanism: "NO_AUTH", skip_tls_verification: false };
  }

  /** What a client opens its connections with. */
  get socketFactory(): ISocketFactory {
    // It has of a socket of `node:net` what kafkajs uses.
    return this.#options.network.kafkaSocket as unknown as ISocketFactory;
  }

  /** Where a node listens, as the network calls it. */
  address(node: number): string {
    return `${this.#addresses.host(node)}:${this.#addresses.port}`;
  }

  // Topics

  create(topic: string, partitions: number): void {
    this.#cluster.create(topic, partitions);
    this.#happened("topic created");
  }

  /** A topic has so many partitions from now on. */
  grow(topic: string, partitions: number): void {
    this.#cluster.grow(this.#topic(topic), partitions);
    this.#happened("topic grew");
  }

  /** The topic is deleted, and with it what groups have committed in it. */
  delete(topic: string): void {
    this.#cluster.delete(this.#topic(topic));
    this.#happened("topic deleted");
  }

  /** The topic is deleted, and another one made with its name: it is empty, and has another id. */
  recreate(topic: string, partitions = this.#topic(topic).partitions.length): void {
    this.delete(topic);
    this.create(topic, partitions);
  }

  /** The id of a topic, as Kafka's tools print it. */
  topicId(topic: string): string {
    return this.#topic(topic).id;
  }

  // Records

  /** Appends a batch. Returns the offset of its first record. */
  produce(topic: string, partition: number, values: readonly string[], options: ProduceOptions = {}): number {
    const { transaction, gap = 0 } = options;
    if (transaction === undefined) return this.#append({ topic, partition, values, producerId: -1, gap });
    const under = this.begin();
    const first = under.produce(topic, partition, values, gap);
    under.end(transaction);
    return first;
  }

  /** Appends a batch that is written already, of so many records. */
  produceBytes(topic: string, partition: number, bytes: Buffer, count: number): void {
    this.#changing(topic, partition, ({ log }) => log.appendBytes(bytes, count));
  }

  /** Begins a transaction, which may reach into several partitions, and others may go on beside it. */
  begin(): Transaction {
    const producerId = (this.#producers += 1);
    return new Transaction({
      append: (topic, partition, values, gap) => this.#append({ topic, partition, values, producerId, gap }),
      mark: (topic, partition, kind) => {
        this.#happened(`transaction ${kind}`);
        const of = this.#cluster.partition(topic, partition);
        of?.log.mark(producerId, kind);
        of?.changed();
      },
    });
  }

  /** Retention: what comes before an offset is removed. Returns where the partition starts now. */
  retain(topic: string, partition: number, from: number): number {
    return this.#changing(topic, partition, ({ log }) => log.retain(from));
  }

  /** Compaction: these records are removed. */
  compact(topic: string, partition: number, offsets: readonly number[]): void {
    this.#changing(topic, partition, ({ log }) => log.compact(new Set(offsets)));
  }

  /** A node without the newest records was elected, as is `node` now: the end is cut off. Returns the new end. */
  truncate(topic: string, partition: number, end: number, node = this.leader(topic, partition)): number {
    const cut = this.#changing(topic, partition, ({ log }) => log.truncate(end));
    this.#cluster.elect(this.#partition(topic, partition), node);
    return cut;
  }

  /** The first offset of a partition, the end of what may be read, and the end. */
  ends(topic: string, partition: number): { start: number; stable: number; end: number } {
    const { start, stable, end } = this.#partition(topic, partition).log;
    return { start, stable, end };
  }

  /** A follower has so much of the log from now on; with undefined, all of it again. */
  lag(topic: string, partition: number, node: number, lag: Lag | undefined): void {
    this.#changing(topic, partition, ({ lags }) => {
      if (lag === undefined) lags.delete(node);
      else lags.set(node, lag);
    });
  }

  // Nodes

  /** The node that leads a partition; -1 where none does. */
  leader(topic: string, partition: number): number {
    return this.#partition(topic, partition).leader;
  }

  /** A node is elected that has all records, which may be the one that leads; -1: none leads from now on. */
  elect(topic: string, partition: number, node: number): void {
    this.#happened(node === -1 ? "leader lost" : "leader elected");
    this.#cluster.elect(this.#partition(topic, partition), node);
  }

  moveLeader(topic: string, partition: number, node: number): void {
    this.#cluster.moveLeader(this.#partition(topic, partition), node);
  }

  /** The node is gone: its connections break. Others lead in its place when it is noticed. */
  down(node: number): void {
    if (!this.#cluster.isRunning(node)) return;
    this.#happened("node down");
    this.#brokers.get(node)!.down();
    this.#cluster.down(node);
  }

  up(node: number): void {
    if (this.#cluster.isRunning(node)) return;
    this.#happened("node up");
    this.#brokers.get(node)!.up();
    this.#cluster.up(node);
  }

  /** The cluster does not count a node among its own, though it runs, until another one comes or goes. */
  fence(node: number): void {
    this.#cluster.listed.delete(node);
  }

  /** What the next requests of a kind meet. */
  trouble(name: RequestName, trouble: Trouble, options?: TroubleOptions): void {
    this.#troubles.add(name, trouble, options);
  }

  /** No more troubles than those that were met. */
  calm(): void {
    this.#troubles.clear();
  }

  // Groups

  /** The node that coordinates a group; -1 where none does. */
  coordinator(group: string): number {
    return this.#cluster.group(group).coordinator;
  }

  /** `load`: milliseconds for which the new coordinator says that it loads the group. */
  moveCoordinator(group: string, node: number, load = 0): void {
    this.#cluster.moveCoordinator(this.#cluster.group(group), node, load);
  }

  /** Client ids of the members, in the order in which they joined. */
  members(group: string): string[] {
    return this.#cluster.group(group).group.members.map(({ clientId }) => clientId);
  }

  /** Counts the rebalances that were completed. */
  generation(group: string): number {
    return this.#cluster.group(group).group.generation;
  }

  /** An operator removes a member, which is drawn: it has to join again. Returns whether there was one. */
  rebalance(group: string): boolean {
    const { group: of } = this.#cluster.group(group);
    if (of.members.length === 0) return false;
    of.kick(of.members[this.#options.draw(of.members.length)]!.memberId);
    return true;
  }

  /** What a group has committed, by `topic/partition`. */
  committed(group: string): ReadonlyMap<string, CommittedOffset> {
    return this.#cluster.group(group).offsets;
  }

  /** A person sets the next offsets of partitions, by their numbers. Refused, with false, while the group has members. */
  setOffsets(group: string, topic: string, offsets: Readonly<Record<number, number>>, metadata = ""): boolean {
    const of = this.#cluster.group(group);
    if (of.group.members.length > 0) return false;
    for (const [partition, offset] of Object.entries(offsets)) {
      of.offsets.set(`${topic}/${partition}`, { offset, metadata });
    }
    this.#happened("offsets set");
    return true;
  }

  /** What a group has committed expires, as it does some days after its last member. Refused, with false, while it has members. */
  expire(group: string): boolean {
    const of = this.#cluster.group(group);
    if (of.group.members.length > 0) return false;
    of.offsets.clear();
    this.#happened("offsets expired");
    return true;
  }

  /** A member joins a group that is no client of this process. */
  foreign(group: string, options: ForeignMemberOptions): ForeignMember {
    this.#happened("foreign member");
    return new ForeignMember(this.#cluster, group, options);
  }

  #broker(node: number): SimulatedBroker {
    const { network, draw } = this.#options;
    return new SimulatedBroker({
      node,
      network,
      draw,
      address: this.address(node),
      trouble: (name) => this.#troubles.take(name, node),
      answer: (call) => this.#answer(call),
      onUnknown: (key, version) => {
        this.#happened("request not understood");
        this.unknown.push(`${key}/${version}`);
      },
    });
  }

  async #answer(call: Call): Promise<void> {
    const { name, node, clientId, trouble, write } = call;
    this.#happened(name, `node ${node} from ${clientId}`);
    if (trouble !== undefined) this.#happened(troubleText(name, trouble));
    await answers[name](call, this.#cluster, this.#addresses);
    for (const code of write.codes) this.#happened(`${name}: ${codeName(code)}`, `to ${clientId}`);
  }

  #append(of: {
    topic: string;
    partition: number;
    values: readonly string[];
    producerId: number;
    gap: number;
  }): number {
    return this.#changing(of.topic, of.partition, ({ log }) => {
      return log.append(of.values, of.producerId, of.gap)[0]?.offset ?? log.end;
    });
  }

  #changing<Result>(topic: string, partition: number, change: (of: Partition) => Result): Result {
    const of = this.#partition(topic, partition);
    const result = change(of);
    of.changed();
    return result;
  }

  #topic(name: string): Topic {
    const topic = this.#cluster.topics.get(name);
    if (topic === undefined) throw new Error(`topic ${name}: expected one of this cluster, found none`);
    return topic;
  }

  #partition(topic: string, number: number): Partition {
    const partition = this.#topic(topic).partitions[number];
    if (partition === undefined) throw new Error(`topic ${topic}: expected a partition ${number}, found none`);
    return partition;
  }

  #happened(what: string, detail = ""): void {
    this.met.set(what, (this.met.get(what) ?? 0) + 1);
    this.trace.push(`${performance.now()} ${what}${detail === "" ? "" : ` ${detail}`}`);
  }
}
