import type { Socket } from "node:net";
import { type RequestProgress, unobserved } from "../../engine/index.ts";
import { networkOf } from "./address.ts";

/** Why a connection was refused or closed before its time. A closed set: a metric label. */
export const refusalReasons = ["address_limit", "total_limit", "displaced", "no_request", "tls"] as const;
export type RefusalReason = (typeof refusalReasons)[number];

export interface ConnectionLimitOptions {
  /** The most connections of the listener. */
  most: number;
  /** The most of them from one address. */
  mostPerAddress: number;
  /** Called with each connection that is refused or closed before its time. */
  refused: (reason: RefusalReason, address: string) => void;
  /** Bytes without which a connection has not begun to speak; 0 where only a whole request counts. */
  greeting: number;
  /** Milliseconds until the greeting, and until the first request where there is a greeting. Default 10,000 and 60,000. */
  times?: { greeting: number; firstRequest: number };
}

/** The socket is destroyed where the peer does not close its side this many milliseconds after ours. */
const lingering = 5_000;

/** A connection that was accepted. */
interface Connection {
  /** Address and port of the peer. */
  peer: string;
  socket: Socket;
  /** What the bytes are read from: over TLS another socket. */
  reader: Socket;
  address: AddressConnections;
  /** Requests that wait for their answer. */
  answering: number;
  /** Until its first request. */
  timer: NodeJS.Timeout | undefined;
  /** Whether it was closed, or has ended. */
  isOver: boolean;
}

/** The connections of one address. */
interface AddressConnections {
  network: string;
  count: number;
  /** Those without a request that waits for its answer, the one that was longest without news first. */
  waiting: Set<Connection>;
}

/**
 * Limits the connections of a listener, in all and from each address, so that nobody can lock out others with
 * connections that cost nothing:
 *
 *     idle ──a request begins──> arriving ──its end──> answering ──the answer──> idle
 *
 * Where a limit is reached, a new connection takes the place of another one: of those of its own address, or beyond the
 * limit of all of those of the address that has most, the one that has been idle or arriving for longest. A connection
 * that waits for an answer is never closed; where all of them do, the new one is refused. A connection that does not
 * begin to speak is closed after a while.
 */
export class ConnectionLimit {
  readonly #options: ConnectionLimitOptions;
  readonly #addresses = new Map<string, AddressConnections>();
  /** By address and port of the peer, which a socket of TLS and the one below it share. */
  readonly #connections = new Map<string, Connection>();
  /** By what the bytes are read from: each request looks for its connection. */
  readonly #byReader = new WeakMap<Socket, Connection>();

  constructor(options: ConnectionLimitOptions) {
    this.#options = options;
  }

  /** How many connections there are. */
  get size(): number {
    return this.#connections.size;
  }

  /** Takes a new connection, or destroys it. */
  admit(socket: Socket): boolean {
    const peer = peerOf(socket);
    const network = networkOf(socket.remoteAddress);
    const reason = peer === undefined ? undefined : this.#makeRoom(network);
    if (peer === undefined || reason !== undefined) {
      if (reason !== undefined) this.#options.refused(reason, network);
      socket.destroy();
      return false;
    }
    this.#add(peer, network, socket);
    return true;
  }

  /** From now on the bytes of a connection are read from its socket of TLS. */
  secured(reader: Socket): void {
    const connection = this.#connections.get(peerOf(reader) ?? "");
    if (connection === undefined) return;
    connection.reader = reader;
    this.#byReader.set(reader, connection);
  }

  /** A request begins on a connection. */
  begin(reader: Socket): RequestProgress {
    const connection = this.#byReader.get(reader);
    if (connection === undefined || connection.isOver) return unobserved;
    if (connection.timer !== undefined) clearTimeout(connection.timer);
    connection.timer = undefined;
    sort(connection);
    return new ObservedRequest(connection);
  }

  /** Why there is no room for a connection from `network`; undefined where there is, or was made. */
  #makeRoom(network: string): RefusalReason | undefined {
    const { most, mostPerAddress } = this.#options;
    const own = this.#addresses.get(network);
    if (own !== undefined && own.count >= mostPerAddress) return this.#displace(own) ? undefined : "address_limit";
    if (this.size < most) return undefined;
    return this.#displace(this.#largest()) ? undefined : "total_limit";
  }

  /** The address with most connections, of those that have one which may be closed. */
  #largest(): AddressConnections | undefined {
    let largest: AddressConnections | undefined;
    for (const address of this.#addresses.values()) {
      if (address.waiting.size > 0 && address.count > (largest?.count ?? 0)) largest = address;
    }
    return largest;
  }

  /** Closes one connection of an address; false where all wait for an answer. */
  #displace(address: AddressConnections | undefined): boolean {
    const [connection] = address?.waiting ?? [];
    if (connection === undefined) return false;
    this.#close(connection, "displaced");
    return true;
  }

  #add(peer: string, network: string, socket: Socket): void {
    const address = this.#addresses.get(network) ?? { network, count: 0, waiting: new Set() };
    this.#addresses.set(network, address);
    address.count += 1;
    const connection: Connection = {
      peer,
      socket,
      reader: socket,
      address,
      answering: 0,
      timer: undefined,
      isOver: false,
    };
    const { greeting, firstRequest } = this.#options.times ?? { greeting: 10_000, firstRequest: 60_000 };
    const late = (): void => this.#close(connection, "no_request");
    connection.timer = setTimeout(() => {
      const { greeting: bytes } = this.#options;
      if (bytes === 0 || connection.reader.bytesRead < bytes) late();
      else connection.timer = setTimeout(late, firstRequest - greeting).unref();
    }, greeting).unref();
    this.#connections.set(peer, connection);
    this.#byReader.set(socket, connection);
    sort(connection);
    destroyWhereItLingers(socket);
    socket.once("close", () => this.#remove(connection));
  }

  #close(connection: Connection, reason: RefusalReason): void {
    this.#options.refused(reason, connection.address.network);
    this.#remove(connection);
    connection.socket.destroy();
  }

  /** Safe to call twice: another connection may have the same peer by then. */
  #remove(connection: Connection): void {
    const { peer, address } = connection;
    clearTimeout(connection.timer);
    if (connection.isOver) return;
    connection.isOver = true;
    if (this.#connections.get(peer) === connection) this.#connections.delete(peer);
    address.waiting.delete(connection);
    address.count -= 1;
    if (address.count === 0) this.#addresses.delete(address.network);
  }
}

/** A request on a connection that has not ended. */
class ObservedRequest implements RequestProgress {
  readonly #connection: Connection;
  #state: "arriving" | "answering" | "ended" = "arriving";

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  readonly received = (): void => {
    if (this.#state !== "arriving") return;
    this.#state = "answering";
    this.#connection.answering += 1;
    sort(this.#connection);
  };

  readonly ended = (): void => {
    if (this.#state === "ended") return;
    if (this.#state === "answering") this.#connection.answering -= 1;
    this.#state = "ended";
    sort(this.#connection);
  };
}

/** Puts a connection at the end of those that wait, or takes it from them. */
function sort(connection: Connection): void {
  const { waiting } = connection.address;
  waiting.delete(connection);
  if (connection.answering === 0 && !connection.isOver) waiting.add(connection);
}

/** Address and port of the peer; undefined where the connection has ended already. */
function peerOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remoteAddress === undefined ? undefined : `${remoteAddress}:${remotePort}`;
}

/** Otherwise a peer that does not answer the end of a session could keep its socket for as long as it likes. */
function destroyWhereItLingers(socket: Socket): void {
  let timer: NodeJS.Timeout | undefined;
  socket.once("finish", () => (timer = setTimeout(() => socket.destroy(), lingering).unref()));
  socket.once("close", () => clearTimeout(timer));
}
