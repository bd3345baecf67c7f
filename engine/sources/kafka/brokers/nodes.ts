import type { Kafka } from "kafkajs";
import type Broker from "kafkajs/src/broker/index.js";
import type ConnectionPool from "kafkajs/src/network/connectionPool.js";
import type { NodeAddress } from "../protocol/metadata.ts";

/** Former brokers are forgotten from then on: a cluster has fewer, and one that names others each time fills no memory. */
const mostAddresses = 10_000;

/** The parts of kafkajs's pool of brokers that are used here. */
interface BrokerPool {
  rootLogger: object;
  connectionPoolBuilder: { build(address?: { host: string; port: number }): Promise<ConnectionPool> };
  createBroker(of: { connectionPool: ConnectionPool; logger: object }): Broker;
}

/**
 * The connections of one client to the brokers of a cluster. kafkajs opens them and logs in; who is asked is decided here:
 * kafkajs knows brokers by the metadata of topics alone, and none where one topic has no leader.
 */
export class Nodes {
  readonly #pool: BrokerPool;
  /** By the number of the node. */
  readonly #addresses = new Map<number, string>();
  /** By address. */
  readonly #brokers = new Map<string, Broker>();
  readonly #connecting = new Map<string, Promise<Broker>>();
  #turn = 0;
  #isClosed = false;

  constructor(kafka: Kafka) {
    const symbol = Object.getOwnPropertySymbols(kafka).find((one) => String(one).includes("createCluster"));
    if (symbol === undefined)
      throw new Error("kafkajs: expected version 2.2.4, found one without a cluster of its own");
    const create = (kafka as unknown as Record<symbol, (options: object) => { brokerPool: BrokerPool }>)[symbol]!;
    this.#pool = create({ allowAutoTopicCreation: false }).brokerPool;
  }

  /** Learns where brokers listen. What was sent to one at its former address is given up. */
  learn(addresses: readonly NodeAddress[]): void {
    if (this.#addresses.size > mostAddresses) this.#addresses.clear();
    for (const { node, host, port } of addresses) {
      const [former, address] = [this.#addresses.get(node), addressText(host, port)];
      this.#addresses.set(node, address);
      if (former === undefined || [...this.#addresses.values()].includes(former)) continue;
      void this.#drop(former, `broker ${node} is at another address now`);
    }
  }

  /**
   * A broker that answers: of those that are connected each in its turn, else one that is known, else one that the file
   * names. Throws what the last one of them failed with.
   */
  async any(): Promise<Broker> {
    const connected = [...this.#brokers.values()].filter((broker) => broker.isConnected());
    this.#turn += 1;
    if (connected.length > 0) return connected[this.#turn % connected.length]!;
    const known = [...this.#addresses.values()];
    for (const index of known.keys()) {
      const broker = await this.#at(known[(index + this.#turn) % known.length]!).catch(() => undefined);
      if (broker !== undefined) return broker;
    }
    return this.#anyOfFile();
  }

  /** The broker with a number, connected. Throws where its address is not known, or it cannot be reached. */
  async node(node: number): Promise<Broker> {
    const address = this.#addresses.get(node);
    if (address === undefined) throw new Error(`broker ${node}: expected its address in the metadata, found none`);
    return this.#at(address);
  }

  /** Gives up the requests that are under way, as kafkajs would wait for their answers. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const closing = [...this.#brokers.keys()].map((address) =>
      this.#drop(address, "the connection to the broker is closed"),
    );
    await Promise.all(closing);
  }

  async #anyOfFile(): Promise<Broker> {
    const tried = new Set<string>();
    for (let failure: unknown; ;) {
      // Each call builds the connections to the next address of the file.
      const connections = await this.#pool.connectionPoolBuilder.build();
      const address = addressText(connections.host, connections.port);
      if (tried.has(address)) throw failure;
      tried.add(address);
      try {
        return await this.#at(address, connections);
      } catch (error) {
        failure = error;
      }
    }
  }

  #at(address: string, connections?: ConnectionPool): Promise<Broker> {
    if (this.#isClosed) return Promise.reject(new Error("the connections to the brokers are closed"));
    const known = this.#brokers.get(address);
    if (known?.isConnected() === true) return Promise.resolve(known);
    const underway = this.#connecting.get(address);
    if (underway !== undefined) return underway;
    const connecting = this.#connect(address, connections).finally(() => this.#connecting.delete(address));
    this.#connecting.set(address, connecting);
    return connecting;
  }

  async #connect(address: string, connections?: ConnectionPool): Promise<Broker> {
    const broker = this.#brokers.get(address) ?? (await this.#make(address, connections));
    this.#brokers.set(address, broker);
    try {
      await broker.connect();
    } catch (error) {
      // The next attempt begins with nothing of this one, such as the state of its login.
      await this.#drop(address, "the connection to the broker failed");
      throw error;
    }
    if (this.#isClosed) await this.#drop(address, "the connection to the broker is closed");
    return broker;
  }

  async #make(address: string, connections?: ConnectionPool): Promise<Broker> {
    const { connectionPoolBuilder, rootLogger: logger } = this.#pool;
    const connectionPool = connections ?? (await connectionPoolBuilder.build(placeOf(address)));
    return this.#pool.createBroker({ connectionPool, logger });
  }

  async #drop(address: string, why: string): Promise<void> {
    const broker = this.#brokers.get(address);
    if (broker === undefined) return;
    this.#brokers.delete(address);
    broker.connectionPool.map((connection) => connection.rejectRequests(new Error(why)));
    await broker.disconnect().catch(() => undefined);
  }
}

function addressText(host: string, port: number): string {
  return `${host}:${port}`;
}

function placeOf(address: string): { host: string; port: number } {
  const at = address.lastIndexOf(":");
  return { host: address.slice(0, at), port: Number(address.slice(at + 1)) };
}
