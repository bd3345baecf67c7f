import { writeSync } from "node:fs";
import { compactStore } from "../../engine/state/compaction.ts";

/* A program that compacts the store at the given path, and says on its output when it begins and when it is done. */

writeSync(1, "begins\n");
const compacted = await compactStore(process.argv[2]!);
writeSync(1, `${JSON.stringify(compacted)}\n`);
