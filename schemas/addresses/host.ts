import { isIP, isIPv4, isIPv6 } from "node:net";

const labels = /^(?:[\w-]+\.)*[\w-]+\.?$/;

/** A last label by which URLs and resolvers take a name for an address of IPv4 in some spelling, such as 0x7f.1. */
const numeric = /(?:^|\.)(?:\d+|0x[\da-f]*)\.?$/i;

/**
 * Reads a host: a name, an address of IPv4 as four decimal numbers, or one of IPv6 with or without brackets. Returns it in
 * lower case, an address of IPv6 in its shortest form and without brackets, with the zone that it may have; undefined for any
 * other text. What checks, allows, compares or connects to hosts takes them from here, so that no two of them read one text
 * differently.
 */
export function readHost(text: string): string | undefined {
  const [, inside] = /^\[(.*)\]$/s.exec(text) ?? [];
  if (inside !== undefined || text.includes(":")) return canonicalIPv6(inside ?? text);
  if (isIPv4(text)) return text;
  const name = text.toLowerCase();
  if (!labels.test(text) || numeric.test(text)) return undefined;
  // Labels of other alphabets may not be what they stand for.
  return !name.includes("xn--") || hostOfUrl(name) === name ? name : undefined;
}

/** Whether a host is an address, and no name. */
export function isAddress(host: string): boolean {
  return isIP(host) !== 0;
}

/** A name without the dot of the root, in which two spellings of one name may differ. */
export function withoutRoot(host: string): string {
  return host.replace(/\.$/, "");
}

/** A host as it stands before a port, and in a URL. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** A port of 1 to 65535; undefined for any other text. */
export function readPort(text: string): number | undefined {
  const port = Number(text);
  return /^\d{1,5}$/.test(text) && port >= 1 && port <= 65_535 ? port : undefined;
}

function canonicalIPv6(text: string): string | undefined {
  if (!isIPv6(text)) return undefined;
  const [address, ...zone] = text.split("%");
  return [hostOfUrl(`[${address}]`)?.slice(1, -1), ...zone].join("%");
}

function hostOfUrl(host: string): string | undefined {
  const url = `http://${host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/** An address that cannot be read, as it may be shown: one with an `@` may hold a password. */
export function shownAddress(text: string): string {
  return text.includes("@") ? "a text with an @" : JSON.stringify(text.slice(0, 300));
}
