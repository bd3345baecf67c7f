/** Where to listen; port 0 is a free one. */
export interface ListenerAddress {
  /** A name or an address, IPv6 without brackets. */
  host: string;
  port: number;
}

const pattern = /^(?:\[([0-9a-fA-F:.]+(?:%[\w.-]+)?)\]|([^\s:[\]/@]+)):(\d{1,5})$/;

/** Reads `HOST:PORT` or `[IPv6]:PORT`; `off` is no listener. Undefined for anything else. */
export function parseListener(text: string): ListenerAddress | "off" | undefined {
  if (text === "off") return "off";
  const [, ipv6, name, digits] = pattern.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits);
  return host !== undefined && port <= 65_535 ? { host, port } : undefined;
}

/** The spelling that `parseListener` reads. */
export function formatListener({ host, port }: ListenerAddress): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
