import files from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { compactStore } from "../../engine/state/compaction.ts";

/*
 * A program that compacts the store at the given path. With the argument `whole` it ends with SIGKILL when the copy is whole
 * and does not yet have the name of the store.
 */

const [path = "", end] = process.argv.slice(2);
if (end === "whole") {
  files.rename = () => {
    process.kill(process.pid, "SIGKILL");
    return new Promise(() => undefined);
  };
  syncBuiltinESMExports();
}
await compactStore(path);
