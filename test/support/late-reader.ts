import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** How long the last byte of a body waits, in milliseconds: by then a server knows that it is too much. */
const pause = 500;

/**
 * What a sender is answered to a body of so many bytes that reads nothing before it has sent all, as senders on a slow
 * network do. Rejects where its connection is closed before.
 */
export async function answerToLateReader(url: string, headers: Record<string, string>, size: number): Promise<string> {
  const { hostname, port, pathname } = new URL(url);
  const sender = connect(Number(port), hostname);
  await once(sender, "connect");
  const all = { ...headers, Host: hostname, "Content-Length": String(size) };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  sender.write([`POST ${pathname} HTTP/1.1`, ...lines, "", ""].join("\r\n"));
  sender.write(Buffer.alloc(size - 1, "7"));
  await sleep(pause);
  await new Promise<void>((resolve, reject) => {
    sender.once("error", reject);
    sender.end("7", resolve);
  });
  return text(sender);
}
