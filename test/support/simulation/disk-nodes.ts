import type { DiskFault } from "./disk.ts";

/** Gives a whole number from 0 up to and without `n`. */
export type Choose = (n: number) => number;

/** The error that a system call ends with. */
export function systemError(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${what}`), { code });
}

type Change = { kind: "write"; at: number; bytes: Buffer } | { kind: "truncate"; size: number };

/** A file: what can be read of it, what of that is durable, and the changes between the two. */
export class SimulatedFile {
  content: Buffer = Buffer.alloc(0);
  #durable: Buffer = Buffer.alloc(0);
  #pending: Change[] = [];
  readonly #choose: Choose;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  read(target: Buffer, position: number): number {
    return this.content.copy(target, 0, Math.min(position, this.content.length));
  }

  write(bytes: Buffer, at: number, { taken, code }: DiskFault): number {
    const isPart = taken === "part" && bytes.length > 1;
    const written = isPart ? bytes.subarray(0, 1 + this.#choose(bytes.length - 1)) : bytes;
    this.#change({ kind: "write", at, bytes: written });
    return code === undefined ? written.length : 0;
  }

  truncate(size: number): void {
    this.#change({ kind: "truncate", size });
  }

  /** A sync that fails keeps a part of the changes and loses the rest for good, although they can still be read. */
  sync({ code, taken = "nothing" }: DiskFault): void {
    const changes = this.#pending;
    this.#pending = [];
    for (const change of changes) {
      const isKept = code === undefined || taken === "all" || change.kind === "truncate";
      this.#durable = isKept ? apply(this.#durable, change) : this.#inPart(this.#durable, change);
    }
  }

  crash(): void {
    for (const change of this.#pending) this.#durable = this.#inPart(this.#durable, change);
    this.#pending = [];
    this.content = Buffer.from(this.#durable);
  }

  flip(bit: number): void {
    for (const bytes of [this.content, this.#durable]) {
      const at = bit >> 3;
      if (at < bytes.length) bytes[at] = bytes[at]! ^ (1 << (bit & 7));
    }
  }

  #change(change: Change): void {
    this.content = apply(this.content, change);
    this.#pending.push(change);
  }

  /** A change that was not synced: not there, there, cut short, or with zeros for some of its bytes. */
  #inPart(before: Buffer, change: Change): Buffer {
    const fate = this.#choose(4);
    if (fate === 0) return before;
    if (fate === 1 || change.kind === "truncate" || change.bytes.length === 0) return apply(before, change);
    const { at, bytes } = change;
    const cut = this.#choose(bytes.length);
    if (fate === 2) return apply(before, { kind: "write", at, bytes: bytes.subarray(0, cut) });
    const end = cut + 1 + this.#choose(bytes.length - cut);
    return apply(before, { kind: "write", at, bytes: Buffer.from(bytes).fill(0, cut, end) });
  }
}

function apply(before: Buffer, change: Change): Buffer {
  const size = change.kind === "truncate" ? change.size : Math.max(before.length, change.at + change.bytes.length);
  const after = Buffer.alloc(size);
  before.copy(after, 0, 0, Math.min(before.length, size));
  if (change.kind === "write") change.bytes.copy(after, change.at);
  return after;
}

type Node = SimulatedFile | SimulatedFolder;
/** Names that change in one step; `undefined` takes a name away. */
type NameChange = readonly [name: string, node: Node | undefined][];

/** A folder: its names, those that are durable, and the changes between the two. */
export class SimulatedFolder {
  readonly names = new Map<string, Node>();
  readonly #durable = new Map<string, Node>();
  #pending: NameChange[] = [];
  readonly #choose: Choose;

  constructor(choose: Choose) {
    this.#choose = choose;
  }

  set(name: string, node: Node): void {
    this.#change([[name, node]]);
  }

  remove(name: string): void {
    this.#change([[name, undefined]]);
  }

  rename(from: string, to: string, node: Node): void {
    this.#change([
      [from, undefined],
      [to, node],
    ]);
  }

  /** A sync that fails makes the first ones of the changes durable; the others still can be. */
  sync({ code, taken = "nothing" }: DiskFault): void {
    const isWhole = code === undefined || taken === "all";
    const count = isWhole ? this.#pending.length : this.#choose(this.#pending.length + 1);
    for (const change of this.#pending.splice(0, count)) applyNames(this.#durable, change);
  }

  crash(): void {
    for (const change of this.#pending) if (this.#choose(2) === 1) applyNames(this.#durable, change);
    this.#pending = [];
    this.names.clear();
    for (const [name, node] of this.#durable) this.names.set(name, node);
    for (const node of this.names.values()) node.crash();
  }

  #change(change: NameChange): void {
    applyNames(this.names, change);
    this.#pending.push(change);
  }
}

function applyNames(names: Map<string, Node>, change: NameChange): void {
  for (const [name, node] of change) {
    if (node === undefined) names.delete(name);
    else names.set(name, node);
  }
}
