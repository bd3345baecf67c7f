import { bracketed, readHost, readPort, withoutRoot } from "./host.ts";

/** Where a broker listens. */
export interface BrokerAddress {
  /** As `readHost` gives it. */
  host: string;
  port: number;
}

const spelled = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/s;

/**
 * Reads `host:port` or `[IPv6]:port`; undefined for any other text. What checks, allows, compares or connects to brokers
 * takes their addresses from here.
 */
export function readBrokerAddress(text: string): BrokerAddress | undefined {
  const [, name = "", digits = ""] = spelled.exec(text) ?? [];
  const [host, port] = [readHost(name), readPort(digits)];
  return host === undefined || port === undefined ? undefined : { host, port };
}

/** The same text for all spellings of one address. */
export function canonicalBroker(text: string): string {
  const address = readBrokerAddress(text);
  if (address === undefined) return text.trim().toLowerCase();
  return `${bracketed(withoutRoot(address.host))}:${address.port}`;
}
