import { isAddress, readHost, readPort, withoutRoot } from "../../schemas/addresses/host.ts";
import { matches } from "./wildcards.ts";

/** Which servers an entry of a setting names. */
export interface HostPattern {
  /** An address as `readHost` gives it, or a name, in which `*` stands for any characters. */
  pattern: string;
  /** Undefined for all ports. */
  port: number | undefined;
}

const withPort = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/;
const names = /^[\w.*-]+$/;
/** Such as `10.0.*`: it is meant for addresses, and not for the name 10.0.example.com. */
const ofAddresses = /^\d[\d.*]*$/;

/**
 * Reads a name or an address with a port or without, such as `*.example.com:9092` or `[2001:db8::5]:8123`. An address of
 * IPv6 needs brackets before a port alone. Throws an Error for any other text.
 */
export function readHostPattern(text: string): HostPattern {
  const [, ipv6, name, digits] = withPort.exec(text) ?? [];
  const port = digits === undefined ? undefined : readPort(digits);
  if (digits !== undefined && port === undefined) throw new Error(`expected a port from 1 to 65535, found "${text}"`);
  const host = ipv6 === undefined ? (name ?? text) : `[${ipv6}]`;
  const address = isAddress(ipv6 ?? host) ? readHost(host) : undefined;
  if (address === undefined && !names.test(host)) {
    throw new Error(`expected a name or an address, found "${text}"`);
  }
  return { pattern: address ?? withoutRoot(host.toLowerCase()), port };
}

/** Whether a pattern names a server, by its host as `readHost` gives it. */
export function matchesHost({ pattern, port: wanted }: HostPattern, host: string, port: number): boolean {
  if (wanted !== undefined && wanted !== port) return false;
  return (isAddress(host) || !ofAddresses.test(pattern)) && matches(pattern, withoutRoot(host));
}
