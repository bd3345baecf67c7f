import { Mutex } from "../../engine/language.ts";
import type { SourceFile } from "../language/source-text.ts";
import type { Variables } from "../language/variables.ts";
import { BoundedThread, type CallLimits, entryPoint } from "../../engine/index.ts";
import type { FileReader } from "./file-reader.ts";
import { together, type Ignored } from "./ignore.ts";
import { FileAssembly, type FileToRead, type Piece, type ReadFile } from "./pieces.ts";
import { tooCostly } from "./read-file.ts";

/** Asks for the first pieces of files, or for the next ones. */
export type FileQuestion =
  | {
      type: "read";
      files: FileToRead[];
      variables: Variables;
      /** Where the thread notes the index of the file that it reads, for the case that this is its end. */
      at: Int32Array<SharedArrayBuffer>;
    }
  | { type: "more" }
  | { type: "ignored"; rule: SourceFile; paths: readonly string[] };

export interface FileAnswer {
  pieces: Piece[];
  isLast: boolean;
  /** Answers `ignored`. */
  ignored?: string[] | "costly";
}

/** Bytes, and number, of the files that one question brings. */
const [mostBytes, mostFiles] = [1 << 20, 256];

/** Milliseconds for one `.sluiceignore`, and the number of those that may take longer; the others are not tried then. */
const [longestIgnore, mostCostly] = [5_000, 3];

const usual: CallLimits = { time: 30_000, memory: 512, idle: 10_000 };

/**
 * Reads files in a thread of its own, so that no file stalls the process. What comes back, comes in small messages, each
 * asked for. A file at which the thread exceeds its time or memory is refused, and a new thread reads the others. An idle
 * thread is ended.
 */
export class FileThread implements FileReader {
  readonly #thread: BoundedThread<FileQuestion, FileAnswer>;
  readonly #turns = new Mutex();
  readonly #longestIgnore: number;

  constructor(given: Partial<CallLimits> = {}) {
    const limits = { ...usual, ...given };
    this.#thread = new BoundedThread(entryPoint("files"), limits);
    this.#longestIgnore = Math.min(longestIgnore, limits.time);
  }

  /** Starts the thread, which loads while other things are done. */
  warm(): void {
    this.#thread.warm();
  }

  async *read(files: readonly FileToRead[], variables: Variables, signal: AbortSignal): AsyncIterable<ReadFile> {
    if (files.length === 0) return;
    const end = await this.#begin(signal);
    try {
      for (let from = 0; from < files.length;) {
        const some = batchOf(files, from);
        from += some.length;
        yield* this.#readBatch(some, variables, signal);
      }
    } finally {
      end();
    }
  }

  async ignored(rules: readonly SourceFile[], paths: readonly string[], signal: AbortSignal): Promise<Ignored> {
    const end = await this.#begin(signal);
    try {
      const found: (string[] | "costly")[] = [];
      let costly = 0;
      for (const { path, bytes } of rules) {
        const rule = { path, bytes: new Uint8Array(bytes) };
        const question = { type: "ignored", rule, paths } as const;
        const answer = costly >= mostCostly ? "exhausted" : await this.#ask(question, signal, this.#longestIgnore);
        if (answer === "exhausted") costly += 1;
        found.push(answer === "exhausted" ? "costly" : (answer.ignored ?? []));
      }
      return together(rules, paths, found);
    } finally {
      end();
    }
  }

  /** Waits until the thread is free; the result frees it again. An abort of the signal ends the call under way. */
  async #begin(signal: AbortSignal): Promise<() => void> {
    let release: (() => void) | undefined;
    const turn = new Promise<void>((resolve) => (release = resolve));
    await new Promise<void>((begin) => void this.#turns.run(() => (begin(), turn)));
    const close = (): void => void this.#thread.close();
    signal.addEventListener("abort", close);
    const end = (): void => {
      signal.removeEventListener("abort", close);
      release?.();
    };
    if (!signal.aborted) return end;
    end();
    throw signal.reason;
  }

  /** Ends the thread. Safe to call twice. */
  close(): Promise<void> {
    return this.#thread.close();
  }

  async *#readBatch(files: readonly FileToRead[], variables: Variables, signal: AbortSignal): AsyncIterable<ReadFile> {
    const at = new Int32Array(new SharedArrayBuffer(4));
    const assembly = new FileAssembly();
    for (let from = 0; from < files.length;) {
      const left = files.slice(from);
      let done = 0;
      let answer = await this.#ask({ type: "read", files: left.map(copyOf), variables, at }, signal);
      for (; answer !== "exhausted"; answer = await this.#ask({ type: "more" }, signal)) {
        for (const piece of answer.pieces) {
          const whole = assembly.add(piece);
          if (whole === undefined) continue;
          done += 1;
          yield whole;
        }
        if (answer.isLast) return;
      }
      assembly.drop();
      // What the thread had read beyond the last answer is read again.
      for (const file of left.slice(done, at[0])) yield* this.#readBatch([file], variables, signal);
      yield { documents: [], unread: tooCostly(left[at[0]!]!) };
      from += at[0]! + 1;
    }
  }

  async #ask(question: FileQuestion, signal: AbortSignal, time?: number): Promise<FileAnswer | "exhausted"> {
    try {
      return await this.#thread.call(question, time);
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }
}

/** A copy that both threads see: bytes of a file are mostly a view into those of many, all of which would be copied. */
function copyOf({ path, bytes, isHidden }: FileToRead): FileToRead {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.length));
  copy.set(bytes);
  return { path, bytes: copy, isHidden };
}

/** The next files, at least one, within the bounds of one question. */
function batchOf(files: readonly FileToRead[], from: number): FileToRead[] {
  let bytes = 0;
  const some = files.slice(from, from + mostFiles);
  const end = some.findIndex((file, index) => (bytes += file.bytes.length) > mostBytes && index > 0);
  return end === -1 ? some : some.slice(0, end);
}
