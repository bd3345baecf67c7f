const kibi = 1024;
/** An answer of so many bytes needs no room. */
export const shortAnswer = 1024 * kibi;
/** What long answers of one client may take at a moment, in bytes: more than a fetch or a query asks for. */
const ofOneClient = 16 * 1024 * kibi;
/** What those may take together that have no room within their clients', in bytes: one of the longest, or several others. */
export const ofAllClients = 256 * 1024 * kibi;

/** The room that the threads of a process share for answers that are longer than their clients ask for. */
export class SharedRoom {
  static readonly bytes = Int32Array.BYTES_PER_ELEMENT;
  /** Shared with the threads. */
  readonly memory: SharedArrayBuffer;
  /** Taken, in KiB: bytes would not fit in a cell. */
  readonly #taken: Int32Array;

  constructor(memory = new SharedArrayBuffer(SharedRoom.bytes)) {
    this.memory = memory;
    this.#taken = new Int32Array(memory);
  }

  /** Takes room, in KiB; returns whether there was any. */
  take(size: number): boolean {
    const before = Atomics.add(this.#taken, 0, size);
    if (before + size <= ofAllClients / kibi) return true;
    this.give(size);
    return false;
  }

  give(size: number): void {
    Atomics.sub(this.#taken, 0, size);
  }
}

let ofProcess = new SharedRoom();

/** The room of this process, for its threads. */
export function processRoom(): SharedArrayBuffer {
  return ofProcess.memory;
}

/** This thread shares the room of its process from now on. */
export function shareRoom(memory: SharedArrayBuffer): void {
  ofProcess = new SharedRoom(memory);
}

/**
 * The room for answers that one client receives, whichever of its peers send them. Peers say themselves how long an answer
 * is: what is longer than the client asks for takes its room from one that all clients of the process share, so that the
 * peers of many do not take the memory of all.
 */
export class AnswerRoom {
  /** Bytes of the client's own that are taken. */
  #own = 0;

  /** Takes room for an answer of so many bytes; returns how it is given back, or undefined where there is none now. */
  take(bytes: number): (() => void) | undefined {
    if (bytes <= shortAnswer) return nothing;
    if (this.#own + bytes <= ofOneClient) {
      this.#own += bytes;
      return once(() => (this.#own -= bytes));
    }
    const [shared, size] = [ofProcess, Math.ceil(bytes / kibi)];
    return shared.take(size) ? once(() => shared.give(size)) : undefined;
  }
}

function nothing(): void {}

function once(give: () => void): () => void {
  let isGiven = false;
  return () => {
    if (!isGiven) give();
    isGiven = true;
  };
}
