import { mkdir, rm, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import type { RequestListener, Server } from "node:http";
import { once } from "node:events";
import { dirname } from "node:path";
import { listenPrivately, shortSocketPath } from "../../../engine/index.ts";
import { controlPath, fitsSocket, socketName } from "./address.ts";

export interface ControlServer {
  /** The socket itself. */
  readonly path: string;
  /** Stops listening, ends open connections and removes the socket. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * Listens on the control socket of `dataDir`, which only its owner may connect to (mode 0600). The caller holds the
 * lock of the data dir: a socket that is already there was left by a process that was killed, and is replaced.
 */
export async function listenControl(dataDir: string, answer: RequestListener): Promise<ControlServer> {
  const found = controlPath(dataDir);
  await mkdir(dirname(found), { recursive: true, mode: 0o700 });
  await rm(found, { force: true });
  const path = fitsSocket(found) ? found : await shortSocketPath(socketName);
  const server = createServer({ maxHeaderSize: 16 * 1024 }, answer);
  await listenPrivately(server, path);
  if (path !== found) await symlink(path, found);
  return { path, close: () => close(server, path, found) };
}

async function close(server: Server, path: string, found: string): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections();
  await closed;
  await rm(found, { force: true });
  if (path !== found) await rm(dirname(path), { recursive: true, force: true });
}
