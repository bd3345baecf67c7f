import { Frames } from "../../kafka/frames.ts";
import type { Draw, SimulatedNetwork, SimulatedSocket } from "../network.ts";
import { isFlexible, nameOf, type RequestName } from "./codes.ts";
import type { Trouble } from "./troubles.ts";
import { AnswerWriter, RequestReader } from "./wire.ts";

/** A request as it came to a node. */
export interface Call {
  node: number;
  name: RequestName;
  version: number;
  clientId: string;
  read: RequestReader;
  write: AnswerWriter;
  trouble: Trouble | undefined;
  /** Whether its connection is gone, so that the answer reaches no client. */
  isGone: () => boolean;
  /** Calls once when its connection is gone. Returns how to give that up. */
  onGone: (wake: () => void) => () => void;
}

export interface BrokerOptions {
  node: number;
  address: string;
  network: Pick<SimulatedNetwork, "listen" | "unlisten">;
  draw: Draw;
  /** What the next request of a kind meets. */
  trouble: (name: RequestName) => Trouble | undefined;
  /** Writes the answer into the call. */
  answer: (call: Call) => Promise<void>;
  /** A request that is not understood: its connection is closed, as brokers do. */
  onUnknown: (key: number, version: number) => void;
}

/**
 * One node as clients reach it. As a broker does, it takes the next request of a connection when it has answered the one
 * before: a request that waits holds up those after it.
 */
export class SimulatedBroker {
  readonly #options: BrokerOptions;

  constructor(options: BrokerOptions) {
    this.#options = options;
    this.up();
  }

  up(): void {
    const { network, address } = this.#options;
    network.listen(address, (socket) => this.#serve(socket));
  }

  down(): void {
    this.#options.network.unlisten(this.#options.address);
  }

  #serve(socket: SimulatedSocket): void {
    const waiting = new Set<() => void>();
    const requests: Buffer[] = [];
    const frames = new Frames();
    let isBusy = false;
    const onGone = (wake: () => void) => {
      waiting.add(wake);
      return () => waiting.delete(wake);
    };
    const work = async (): Promise<void> => {
      if (isBusy) return;
      isBusy = true;
      for (let request = requests.shift(); request !== undefined && !socket.destroyed; request = requests.shift()) {
        if (!(await this.#take(request, socket, onGone))) return;
      }
      isBusy = false;
    };
    socket.on("data", (chunk: Buffer) => {
      requests.push(...frames.take(chunk));
      void work();
    });
    socket.on("end", () => socket.end());
    socket.on("close", () => {
      for (const wake of waiting) wake();
    });
  }

  /** Resolves with whether the next request of the connection is taken. */
  async #take(request: Buffer, socket: SimulatedSocket, onGone: Call["onGone"]): Promise<boolean> {
    const { node, trouble: troubleOf, answer, onUnknown } = this.#options;
    const read = new RequestReader(request);
    const [key, version, correlation] = [read.int16(), read.int16(), read.int32()];
    const name = nameOf(key, version);
    if (name === undefined) {
      onUnknown(key, version);
      socket.destroy();
      return false;
    }
    const clientId = read.text();
    read.isFlexible = isFlexible(name, version);
    read.tags();
    const write = new AnswerWriter(read.isFlexible);
    write.int32(0).int32(correlation).tags();
    const trouble = troubleOf(name);
    await answer({ node, name, version, clientId, read, write, trouble, onGone, isGone: () => socket.destroyed });
    return this.#send(write.end(), socket, trouble);
  }

  async #send(answer: Buffer, socket: SimulatedSocket, trouble: Trouble | undefined): Promise<boolean> {
    answer.writeInt32BE(answer.length - 4);
    if (trouble?.kind === "silent") {
      giveUpLater(socket);
      return false;
    }
    if (trouble?.kind === "slow") await new Promise((resolve) => setTimeout(resolve, trouble.milliseconds));
    if (socket.destroyed) return false;
    if (trouble?.kind === "cut") {
      const { after = 1 + this.#options.draw(answer.length - 1) } = trouble;
      socket.write(answer.subarray(0, after));
      socket.destroy();
      return false;
    }
    socket.write(answer);
    return true;
  }
}

/** As the client's system does when nothing that it sends is confirmed for about a quarter of an hour. */
function giveUpLater(socket: SimulatedSocket): void {
  const timer = setTimeout(() => socket.reset(), 924_000);
  socket.once("close", () => clearTimeout(timer));
}
