import { once } from "node:events";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import type { FetchedPartition } from "../../../engine/sources/kafka/protocol/fetch.ts";
import type { KafkaConnection } from "../../../schemas/pipeline.ts";
import { Frames } from "../../support/kafka/frames.ts";
import { text16 as text } from "../../support/kafka/wire-bytes.ts";
import { fetched, int16, int32, int64, int8, responseBytes } from "./written.ts";

const keys = {
  fetch: 1,
  listOffsets: 2,
  metadata: 3,
  offsetFetch: 9,
  findCoordinator: 10,
  describeGroups: 15,
  apiVersions: 18,
};
/** The one version that is spoken of each. */
const spoken: [key: number, version: number][] = [
  [keys.fetch, 11],
  [keys.listOffsets, 2],
  [keys.metadata, 2],
  [keys.offsetFetch, 1],
  [keys.findCoordinator, 0],
  [keys.describeGroups, 0],
];
const [noLeader, notLeader] = [5, 6];

/**
 * Two brokers that know one partition of one topic, or of several, and a group without members, as far as they are read: for what a
 * real broker that stands alone cannot do, such as to hand a partition over to another one, or does only under load.
 */
export class StandInCluster {
  readonly topic = "orders";
  readonly partition = 3;
  /** Another one, which the same node leads. */
  hasSecond = false;
  /** Topics beside the other one, which stand as that does. */
  others: string[] = [];
  /** The topics of each fetch, in their order. */
  readonly asked: string[][] = [];
  /** How long each fetch may wait, in milliseconds, and for how many bytes. */
  readonly patience: { wait: number; minBytes: number }[] = [];
  readonly id = "c";
  /** A topic that nobody leads, beside the other one. */
  hasOrphan = false;
  /** The next offset that the group has committed. */
  committed = 0;
  /** The metadata of that. */
  committedBy = "";
  /** The node that leads the partition. */
  leader = 1;
  /** What the leader answers to fetches, one after the other; the last one stays. An empty list: no partition at all. */
  answers: FetchedPartition[][] = [];
  /** The first offset and the one behind the last. */
  low = 0;
  high = 0;
  /** Whether fetches are answered. */
  answersFetches = true;
  /** Fetches that were answered by each node. */
  readonly fetches = new Map<number, number>();
  /** How often the group was asked for its offsets. */
  offsetRequests = 0;
  /** How often either node was connected to. */
  connections = 0;
  readonly #servers: Server[] = [];
  readonly #ports: number[] = [];
  readonly #sockets = new Map<Socket, number>();

  private constructor() {}

  static async start(): Promise<StandInCluster> {
    const cluster = new StandInCluster();
    for (const node of [1, 2]) {
      const server = createServer((socket) => cluster.#serve(node, socket)).listen(0, "127.0.0.1");
      cluster.#servers.push(server);
      await once(server, "listening");
      cluster.#ports.push((server.address() as AddressInfo).port);
    }
    return cluster;
  }

  /** How it is reached. */
  get connection(): KafkaConnection {
    const brokers = this.#ports.map((port) => `127.0.0.1:${port}`);
    return { brokers, protocol: "PLAINTEXT", mechanism: "NO_AUTH", skip_tls_verification: false };
  }

  /** A batch of the partition, with nothing of it kept back. */
  holds(records: Buffer): FetchedPartition[] {
    const { partition, low: logStartOffset, high } = this;
    return [fetched(records, { partition, highWatermark: high, lastStableOffset: high, logStartOffset })];
  }

  /** A node is gone: nobody listens there any more. */
  end(node: number): void {
    this.#servers[node - 1]!.close();
    for (const [socket, of] of this.#sockets) if (of === node) socket.destroy();
  }

  close(): void {
    for (const node of [1, 2]) this.end(node);
  }

  #serve(node: number, socket: Socket): void {
    this.#sockets.set(socket, node);
    this.connections += 1;
    socket.on("error", () => undefined);
    const frames = new Frames();
    socket.on("data", (chunk: Buffer) => {
      for (const request of frames.take(chunk)) {
        const answered = this.#answer(node, request);
        if (answered === undefined) continue;
        const answer = Buffer.concat([request.subarray(4, 8), answered]);
        socket.write(Buffer.concat([int32(answer.length), answer]));
      }
    });
  }

  #answer(node: number, request: Buffer): Buffer | undefined {
    const [key, version] = [request.readInt16BE(0), request.readInt16BE(2)];
    switch (key) {
      case keys.apiVersions:
        return this.#versions(version);
      case keys.metadata:
        return this.#metadata(request.readInt32BE(bodyOf(request)) === -1);
      case keys.listOffsets:
        return this.#offset(
          textAt(request, bodyOf(request) + 9),
          request.readBigInt64BE(request.length - 8) === -1n ? this.high : this.low,
        );
      case keys.fetch:
        this.asked.push(topicsOfFetch(request));
        this.patience.push({
          wait: request.readInt32BE(bodyOf(request) + 4),
          minBytes: request.readInt32BE(bodyOf(request) + 8),
        });
        return this.answersFetches ? responseBytes(11, this.#fetched(node)) : undefined;
      case keys.findCoordinator:
        return Buffer.concat([int16(0), int32(1), text("127.0.0.1"), int32(this.#ports[0]!)]);
      case keys.offsetFetch:
        this.offsetRequests += 1;
        return this.#offsets();
      case keys.describeGroups:
        return Buffer.concat([int32(1), int16(0), ...["g", "Empty", "", ""].map(text), int32(0)]);
      default:
        throw new Error(`expected a request that is spoken here, found one with the key ${key}`);
    }
  }

  #versions(version: number): Buffer {
    const all = spoken.flatMap(([key, only]) => [int16(key), int16(only), int16(only)]);
    return Buffer.concat([int16(0), int32(spoken.length), ...all, ...(version === 0 ? [] : [int32(0)])]);
  }

  /** `ofAll`: of every topic. */
  #metadata(ofAll: boolean): Buffer {
    const brokers = this.#ports.flatMap((port, at) => [int32(at + 1), text("127.0.0.1"), int32(port), int16(-1)]);
    const replicas = Buffer.concat([int32(2), int32(1), int32(2)]);
    const led = (partition: number) => [int16(0), int32(partition), int32(this.leader), replicas, replicas];
    const partitions = this.hasSecond ? [this.partition, this.partition + 1] : [this.partition];
    const names = [this.topic, ...this.others];
    const known = names.flatMap((name) => {
      return [int16(0), text(name), int8(0), int32(partitions.length), ...partitions.flatMap(led)];
    });
    const notLed = [int16(noLeader), int32(0), int32(-1), replicas, replicas];
    const orphan = ofAll && this.hasOrphan ? [int16(0), text("orphan"), int8(0), int32(1), ...notLed] : [];
    const topics = [int32(names.length + (orphan.length > 0 ? 1 : 0)), ...known, ...orphan];
    return Buffer.concat([int32(2), ...brokers, text(this.id), int32(1), ...topics]);
  }

  #offsets(): Buffer {
    const partition = [int32(this.partition), int64(this.committed), text(this.committedBy), int16(0)];
    const topics = [this.topic, ...this.others].flatMap((name) => [text(name), int32(1), ...partition]);
    return Buffer.concat([int32(1 + this.others.length), ...topics]);
  }

  #offset(topic: string, offset: number): Buffer {
    const partition = [int32(this.partition), int16(0), int64(-1), int64(offset)];
    return Buffer.concat([int32(0), int32(1), text(topic), int32(1), ...partition]);
  }

  #fetched(node: number): FetchedPartition[] {
    this.fetches.set(node, (this.fetches.get(node) ?? 0) + 1);
    const { partition } = this;
    if (node !== this.leader) return [fetched(Buffer.alloc(0), { partition, errorCode: notLeader })];
    return (this.answers.length > 1 ? this.answers.shift() : this.answers[0]) ?? [];
  }
}

/** Where the body of a request begins, behind the client id of its head. */
const bodyOf = (request: Buffer): number => 10 + request.readInt16BE(8);

const textAt = (request: Buffer, at: number): string =>
  request.toString("utf8", at + 2, at + 2 + request.readInt16BE(at));

/** Before the topics of a fetch are 25 bytes, and 28 are what it says of each partition. */
function topicsOfFetch(request: Buffer): string[] {
  const found: string[] = [];
  let at = bodyOf(request) + 25;
  const count = request.readInt32BE(at);
  at += 4;
  for (let index = 0; index < count; index += 1) {
    found.push(textAt(request, at));
    at += 2 + request.readInt16BE(at);
    at += 4 + 28 * request.readInt32BE(at);
  }
  return found;
}
