import { BlockList, isIPv6 } from "node:net";

/** The part of an address that one sender has: for an IPv6 address its /64 network, because a sender usually has all of it. */
export function networkOf(address = ""): string {
  if (!address.includes(":") || address.includes(".")) return address;
  const [head = ""] = address.split("::");
  const groups = head.split(":").map((group) => group || "0");
  return [...groups, "0", "0", "0"].slice(0, 4).join(":");
}

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8);
loopback.addAddress("::1", "ipv6");

/** Whether only this machine reaches an IP address. */
export function isLoopback(address: string): boolean {
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}
