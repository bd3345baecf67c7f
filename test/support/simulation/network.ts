import { Agent, type ClientRequestArgs } from "node:http";
import { Duplex } from "node:stream";
import { Life } from "./clock.ts";

/** Draws a whole number from 0 to below `n`. */
export type Draw = (n: number) => number;

/** How the way to one address is at the moment. */
export interface Conditions {
  /** Milliseconds that each piece is under way: at least the first, less than the second. */
  latency: readonly [least: number, most: number];
  /** New connections are refused at once (ECONNREFUSED). */
  isRefusing: boolean;
  /** Nothing arrives in either direction, and nobody is told. */
  isSilent: boolean;
}

const usual: Conditions = { latency: [0, 2], isRefusing: false, isSilent: false };

/**
 * A network in memory: whoever listens at `host:port` gets one end of each connection. What is sent arrives in order,
 * after a latency that passes on the global timers, in pieces that may be cut anywhere.
 */
export class SimulatedNetwork {
  readonly #draw: Draw;
  readonly #listeners = new Map<string, (socket: SimulatedSocket) => void>();
  readonly #conditions = new Map<string, Conditions>();
  readonly #open = new Map<SimulatedSocket, string>();

  constructor(draw: Draw) {
    this.#draw = draw;
  }

  /** Takes connections to `address`, such as `clickhouse:8123`. */
  listen(address: string, onConnection: (socket: SimulatedSocket) => void): void {
    this.#listeners.set(address, onConnection);
  }

  /** Nobody listens there any more; open connections are reset. */
  unlisten(address: string): void {
    this.#listeners.delete(address);
    this.reset(address);
  }

  /** Changes how the way to an address is from now on; open connections feel it too. */
  set(address: string, changes: Partial<Conditions>): void {
    this.#conditions.set(address, { ...this.conditions(address), ...changes });
  }

  conditions(address: string): Conditions {
    return this.#conditions.get(address) ?? usual;
  }

  /** Ends all connections to an address at once (ECONNRESET at both ends); without one, all that there are. */
  reset(address?: string): void {
    for (const [socket, of] of this.#open) if (address === undefined || of === address) socket.reset();
  }

  /** Connections that are open, by their clients' ends. */
  get connections(): number {
    return this.#open.size;
  }

  /** Opens a connection. It emits `connect`, or an error, later, as a socket of `node:net` does. */
  connect(host: string, port: number): SimulatedSocket {
    const address = `${host}:${port}`;
    const way = { conditions: () => this.conditions(address), draw: this.#draw };
    const [client, server] = SimulatedSocket.pair(way, host, port);
    this.#open.set(client, address);
    Life.current?.onEnd(() => client.reset());
    client.once("close", () => this.#open.delete(client));
    Life.runIn(undefined, () => setTimeout(() => this.#accept(address, client, server), this.#delay(address)));
    return client;
  }

  /** An agent of `node:http` whose connections are this network's. */
  agent(): Agent {
    const connect = (host: string, port: number): Duplex => this.connect(host, port);
    class SimulatedAgent extends Agent {
      // Node calls it for each connection that it needs; its types know only the one of `net.Agent`.
      override createConnection({ host, port }: ClientRequestArgs): Duplex {
        return connect(String(host), Number(port));
      }
    }
    return new SimulatedAgent({ keepAlive: true });
  }

  /** What kafkajs makes its sockets with. */
  readonly kafkaSocket = ({ host, port, onConnect }: { host: string; port: number; onConnect: () => void }): Duplex => {
    const socket = this.connect(host, port);
    socket.once("connect", onConnect);
    return socket;
  };

  #accept(address: string, client: SimulatedSocket, server: SimulatedSocket): void {
    if (client.destroyed) return;
    const { isRefusing, isSilent } = this.conditions(address);
    const listener = this.#listeners.get(address);
    if (isSilent) return;
    if (isRefusing || listener === undefined) {
      client.fail("ECONNREFUSED", `connect ECONNREFUSED ${address}`, "connect");
      return;
    }
    client.connected();
    server.connected();
    listener(server);
  }

  #delay(address: string): number {
    const [least, most] = this.conditions(address).latency;
    return least + this.#draw(Math.max(1, most - least));
  }
}

interface Way {
  conditions: () => Conditions;
  draw: Draw;
}

/** One end of a connection: a `Duplex` with what clients use of `net.Socket`. */
export class SimulatedSocket extends Duplex {
  readonly remoteAddress: string;
  readonly remotePort: number;
  connecting = true;
  bytesWritten = 0;
  bytesRead = 0;
  readonly #way: Way;
  #peer!: SimulatedSocket;
  /** When the newest piece arrives there: none overtakes another. */
  #arrival = 0;
  #timeout: NodeJS.Timeout | undefined;
  #idle = 0;
  #waiting: (() => void)[] = [];
  /** Whoever hears what arrives here. */
  readonly #life: Life | undefined;

  private constructor(way: Way, host: string, port: number, life: Life | undefined) {
    super({ allowHalfOpen: true });
    this.#life = life;
    this.#way = way;
    this.remoteAddress = host;
    this.remotePort = port;
    this.on("error", () => undefined);
  }

  static pair(way: Way, host: string, port: number): [client: SimulatedSocket, server: SimulatedSocket] {
    const client = new SimulatedSocket(way, host, port, Life.current);
    const server = new SimulatedSocket(way, host, port, undefined);
    client.#peer = server;
    server.#peer = client;
    return [client, server];
  }

  connected(): void {
    this.connecting = false;
    for (const send of this.#waiting.splice(0)) send();
    Life.runIn(this.#life, () => {
      this.emit("connect");
      this.emit("ready");
    });
  }

  fail(code: string, message: string, syscall: string): void {
    this.destroy(Object.assign(new Error(message), { code, syscall, errno: -1 }));
  }

  /** Both ends hear ECONNRESET, at once. */
  reset(): void {
    for (const end of [this, this.#peer]) if (!end.destroyed) end.fail("ECONNRESET", "read ECONNRESET", "read");
  }

  setTimeout(milliseconds: number, callback?: () => void): this {
    if (callback !== undefined) {
      if (milliseconds === 0) this.off("timeout", callback);
      else this.once("timeout", callback);
    }
    this.#idle = milliseconds;
    this.#touch();
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: (error?: Error) => void): void {
    this.#onceConnected(() => this.#send(chunk, done));
  }

  override _final(done: (error?: Error) => void): void {
    this.#onceConnected(() => {
      this.#deliver((peer) => peer.push(null));
      done();
    });
  }

  #onceConnected(work: () => void): void {
    if (this.connecting) this.#waiting.push(work);
    else work();
  }

  #send(chunk: Buffer, done: (error?: Error) => void): void {
    this.bytesWritten += chunk.length;
    this.#touch();
    const bytes = Buffer.from(chunk);
    this.#deliver((peer) => {
      peer.bytesRead += bytes.length;
      peer.#touch();
      peer.push(bytes);
    });
    done();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timeout);
    this.#idle = 0;
    this.connecting = false;
    const peer = this.#peer;
    // What was sent before is still under way; then the other side hears that nobody is there.
    this.#deliver(() => {
      if (!peer.destroyed) peer.fail("ECONNRESET", "read ECONNRESET", "read");
    });
    done(error);
  }

  #deliver(arrive: (peer: SimulatedSocket) => void): void {
    const { conditions, draw } = this.#way;
    const { latency, isSilent } = conditions();
    if (isSilent) return;
    const [least, most] = latency;
    const now = performance.now();
    this.#arrival = Math.max(this.#arrival, now + least + draw(Math.max(1, most - least)));
    const peer = this.#peer;
    // What is under way arrives, also where the sender is dead by then.
    Life.runIn(undefined, () =>
      setTimeout(() => {
        if (!peer.destroyed && !conditions().isSilent) Life.runIn(peer.#life, () => arrive(peer));
      }, this.#arrival - now),
    );
  }

  #touch(): void {
    clearTimeout(this.#timeout);
    this.#timeout = this.#idle === 0 ? undefined : setTimeout(() => this.emit("timeout"), this.#idle);
  }
}
