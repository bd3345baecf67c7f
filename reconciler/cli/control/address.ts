import { readlink } from "node:fs/promises";
import { join, resolve } from "node:path";

/**
 * Longest path of a Unix socket, in bytes, that every system takes: Linux has room for 107, macOS for 103. Some systems
 * silently truncate a longer one.
 */
export const longestSocketPath = 100;

export const socketName = "control.sock";

/** Where the control socket of a data dir is found: the socket itself, or a symbolic link to it. */
export function controlPath(dataDir: string): string {
  return join(resolve(dataDir), socketName);
}

export function fitsSocket(path: string): boolean {
  return Buffer.byteLength(path) <= longestSocketPath;
}

/**
 * The path to connect to: a link is resolved here, since the system would resolve it only from a path that is short
 * enough.
 */
export async function socketPath(dataDir: string): Promise<string> {
  const path = controlPath(dataDir);
  try {
    return await readlink(path);
  } catch {
    return path;
  }
}
