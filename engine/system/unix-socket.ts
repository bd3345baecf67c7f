import { once } from "node:events";
import { chmod, mkdtemp } from "node:fs/promises";
import type { Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Longest path of a Unix socket, in bytes, that every system takes: Linux has room for 107, macOS for 103. Some systems
 * silently truncate a longer one.
 */
const longestSocketPath = 100;

export function fitsSocket(path: string): boolean {
  return Buffer.byteLength(path) <= longestSocketPath;
}

/** The path for a socket of this name in a new folder that no other user may enter. */
export async function shortSocketPath(name: string): Promise<string> {
  const parent = fitsSocket(join(tmpdir(), `sluice-XXXXXX/${name}`)) ? tmpdir() : "/tmp";
  return join(await mkdtemp(join(parent, "sluice-")), name);
}

/**
 * Listens on a socket that only its owner may connect to (mode 0600). `listen` creates the socket before it returns, so
 * the mask applies to that file alone.
 */
export async function listenPrivately(server: Server, path: string): Promise<void> {
  const mask = process.umask(0o177);
  try {
    server.listen(path);
  } finally {
    process.umask(mask);
  }
  await once(server, "listening");
  await chmod(path, 0o600);
}
