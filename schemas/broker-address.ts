import { isIPv6 } from "node:net";

/** Where a broker listens. */
export interface BrokerAddress {
  /** A name or an address in lower case, without brackets; an address of IPv6 may have a zone. */
  host: string;
  port: number;
}

const spelled = /^(?:\[([^\]]+)\]|((?:[\w-]+\.)*[\w-]+\.?)):(\d{1,5})$/;

/**
 * Reads `host:port` or `[IPv6]:port`; undefined for any other text. What checks, allows, compares or connects to brokers
 * takes their addresses from here.
 */
export function readBrokerAddress(text: string): BrokerAddress | undefined {
  const [, ipv6, name, digits] = spelled.exec(text) ?? [];
  const host = ipv6 === undefined ? name?.toLowerCase() : canonicalIPv6(ipv6);
  const port = Number(digits);
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port };
}

/** The same text for all spellings of one address. */
export function canonicalBroker(text: string): string {
  const address = readBrokerAddress(text);
  if (address === undefined) return text.trim().toLowerCase();
  const host = withoutRoot(address.host);
  return `${host.includes(":") ? `[${host}]` : host}:${address.port}`;
}

/** A name without the dot of the root. */
export function withoutRoot(host: string): string {
  return host.replace(/\.$/, "");
}

function canonicalIPv6(text: string): string | undefined {
  if (!isIPv6(text)) return undefined;
  const [address, ...zone] = text.split("%");
  return [new URL(`http://[${address}]`).hostname.slice(1, -1), ...zone].join("%");
}
