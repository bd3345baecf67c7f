import { expect } from "vitest";
import { isLong } from "./memory-folder.ts";

// Before each file, in a process that has run others: the temporary files of long tests are on the disk, those of others in
// memory. Processes of their own for the long ones would load the engine, and start a ClickHouse, once more.
const { MEMORY_TMPDIR, DISK_TMPDIR } = process.env;
process.env["TMPDIR"] = isLong(expect.getState().testPath ?? "") ? DISK_TMPDIR : MEMORY_TMPDIR;
