import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

/**
 * From 3.0 to 3.5.6 a write that fails (a disk that turns read-only) writes a message of up to 126 bytes into a buffer of
 * 100: the process dies of a corrupt heap, at once or later.
 */
test("the version of lmdb tells a failed write without a buffer that is too small", () => {
  const inPackage = "../dependencies/lmdb/libraries/liblmdb/mdb.c";
  const source = readFileSync(join(dirname(createRequire(import.meta.url).resolve("lmdb")), inPackage), "latin1");
  expect(source).toContain("mdb_page_flush");
  expect(source).not.toContain("Attempting to write page at position");
});
