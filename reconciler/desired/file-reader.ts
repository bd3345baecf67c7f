import { setImmediate as nextTurn } from "node:timers/promises";
import type { SourceFile } from "../language/source-text.ts";
import type { Variables } from "../language/variables.ts";
import { ignoredHere, type Ignored } from "./ignore.ts";
import { FileAssembly, piecesOf, type FileToRead, type ReadFile } from "./pieces.ts";

/** What reads and checks files, each alone. */
export interface FileReader {
  /** Yields what was read of each file, in their order. Throws when `signal` aborts; never for the content of a file. */
  read(files: readonly FileToRead[], variables: Variables, signal: AbortSignal): AsyncIterable<ReadFile>;
  /** What `.sluiceignore` files leave out of these paths. */
  ignored(rules: readonly SourceFile[], paths: readonly string[], signal: AbortSignal): Promise<Ignored>;
}

/** Milliseconds of reading after which the event loop gets a turn. */
const longestBlock = 20;

/** Reads in this thread. One piece of a file may block it for seconds: a process that serves others uses FileThread. */
export const readerInThisThread: FileReader = {
  ignored: async (rules, paths) => ignoredHere(rules, paths),
  async *read(files, variables, signal) {
    const assembly = new FileAssembly();
    let until = performance.now() + longestBlock;
    for (const piece of piecesOf(files, variables)) {
      const whole = assembly.add(piece);
      if (whole !== undefined) yield whole;
      if (performance.now() < until) continue;
      await nextTurn();
      signal.throwIfAborted();
      until = performance.now() + longestBlock;
    }
  },
};
