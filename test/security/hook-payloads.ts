import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** Requests to the push hook of somebody who does not know its secret. */

/** The answers to so many pushes, each signed with another secret. */
export async function badPushes(hook: string, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const headers = { "x-hub-signature-256": `sha256=${index.toString(16).padStart(64, "0")}` };
    statuses.push((await fetch(`http://${hook}/hook`, { method: "POST", headers, body: "{}" })).status);
  }
  return statuses;
}

/** So many requests, each with a body of so many bytes of which the last one does not come. */
export async function heldBodies(hook: string, { count, bytes }: { count: number; bytes: number }): Promise<Socket[]> {
  const [host = "", port] = hook.split(":");
  const head = `POST /hook HTTP/1.1\r\nhost: x\r\nx-hub-signature-256: sha256=${"0".repeat(64)}\r\n`;
  const sockets = Array.from({ length: count }, () => connect(Number(port), host).on("error", () => undefined));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) {
    socket.write(`${head}content-length: ${bytes}\r\n\r\n`);
    const isGone = socket.write(Buffer.alloc(bytes - 1, " "));
    if (!isGone) await Promise.race([once(socket, "drain"), once(socket, "close")]);
  }
  return sockets;
}
