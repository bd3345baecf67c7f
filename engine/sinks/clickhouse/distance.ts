import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

/** Networks that a body crosses faster than it can be compressed. */
const near = new BlockList();
for (const [network, prefix] of [
  ["127.0.0.0", 8],
  ["10.0.0.0", 8],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
  ["169.254.0.0", 16],
  ["100.64.0.0", 10],
] as const) {
  near.addSubnet(network, prefix, "ipv4");
}
near.addAddress("::1", "ipv6");
near.addSubnet("fc00::", 7, "ipv6");
near.addSubnet("fe80::", 10, "ipv6");

/**
 * Whether a server is reached over the internet. Compressing a body costs 18 ms of CPU per MB, which pays where the
 * way is slow or billed by the byte, and not within a machine or a private network. A name that is not found is near.
 */
export async function isFar(host: string): Promise<boolean> {
  const name = host.replace(/^\[|\]$/g, "");
  const found = isIP(name) === 0 ? await lookup(name).catch(() => undefined) : { address: name, family: isIP(name) };
  if (found === undefined) return false;
  const mapped = /^::ffff:([\d.]+)$/i.exec(found.address)?.[1];
  if (mapped !== undefined) return !near.check(mapped, "ipv4");
  return !near.check(found.address, found.family === 6 ? "ipv6" : "ipv4");
}
