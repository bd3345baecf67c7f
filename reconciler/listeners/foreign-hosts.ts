import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { isLoopback } from "./address.ts";

/**
 * Whether a header Host names `names`, `localhost` or an address: a page of another site that makes its own name lead here
 * (DNS rebinding) sends that name.
 */
export function knownHosts(names: readonly string[]): (host: string | undefined) => boolean {
  const known = new Set(["localhost", ...names.map((name) => name.toLowerCase())]);
  return (host) => {
    const name = host?.toLowerCase().replace(/:\d*$/, "").replace(/\.$/, "");
    return name === undefined || known.has(name) || isIP(name.replace(/^\[(.*)\]$/, "$1")) > 0;
  };
}

/**
 * Whether a request to a listener without a token may come from a page that nobody named: to another host, over loopback or
 * from a browser, which sends an Origin with each POST. Programs that send over a network may know this machine by any name.
 */
export function fromForeignPages(
  names: readonly string[],
  origins: readonly string[],
): (request: IncomingMessage) => boolean {
  const isKnown = knownHosts(names);
  return ({ headers: { host, origin }, socket }) => {
    if (isKnown(host)) return false;
    if (origin !== undefined) return !(origins.includes("*") || origins.includes(origin));
    return socket.localAddress !== undefined && isLoopback(socket.localAddress);
  };
}
