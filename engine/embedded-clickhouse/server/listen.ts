import { once } from "node:events";
import { chmod, mkdir, readlink, rm, symlink } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, dirname, join } from "node:path";
import { fitsSocket, listenPrivately, shortSocketPath } from "../../system/unix-socket.ts";

const socketName = "http.sock";

/**
 * Listens on a Unix socket in the folder of the embedded ClickHouse, which no other user of the machine reaches; returns
 * its path. The caller holds the lock of the folder: a socket that is already there was left by a process that was
 * killed, and is replaced. Where the path of the folder is too long for a socket, the socket is in a folder of its own
 * among the temporary files, with a link to it in its place; `earlier` is the path of the child before.
 */
export async function listenInFolder(server: Server, folder: string, earlier: string | undefined): Promise<string> {
  await chmod(folder, 0o700);
  const found = join(folder, socketName);
  const linked = await readlink(found).catch(() => undefined);
  await rm(found, { force: true });
  if (linked !== undefined && linked !== earlier) await removeLeftover(linked);
  if (fitsSocket(found)) {
    await listenPrivately(server, found);
    return found;
  }
  const path = earlier ?? (await shortSocketPath(socketName));
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await rm(path, { force: true });
  await listenPrivately(server, path);
  await symlink(path, found);
  return path;
}

/** Removes the short folder of a process that was killed. */
async function removeLeftover(path: string): Promise<void> {
  const isOurs = basename(path) === socketName && basename(dirname(path)).startsWith("sluice-");
  if (isOurs) await rm(dirname(path), { recursive: true, force: true });
}

/** Removes the socket, and its short folder where it has one. */
export async function removeSocket(folder: string, path: string): Promise<void> {
  await rm(join(folder, socketName), { force: true });
  await removeLeftover(path);
}

/** Listens on a loopback port: this one, or another where it is taken. */
export async function listenOnPort(server: Server, port: number): Promise<number> {
  try {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as AddressInfo).port;
  } catch (error) {
    if (port === 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return listenOnPort(server, 0);
  }
}
