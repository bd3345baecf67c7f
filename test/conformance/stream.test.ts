import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EmbeddedReader } from "../../engine/streams/embedded/embedded-reader.ts";
import { EmbeddedStream } from "../../engine/streams/embedded/embedded-stream.ts";
import { systemDisk } from "../../engine/system/disk.ts";
import { streamSuite } from "./stream.ts";

streamSuite("embedded stream", async () => {
  const folder = await mkdtemp(join(tmpdir(), "sluice-stream-"));
  return {
    open: (limits, trimmed) =>
      EmbeddedStream.open(systemDisk, folder, { limits, trimmed, onAppended: () => undefined }),
    reader: (end) => new EmbeddedReader(systemDisk, folder, end),
    clean: () => rm(folder, { recursive: true, force: true }),
  };
});
