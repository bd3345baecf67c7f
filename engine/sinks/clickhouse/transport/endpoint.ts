import type { SinkConnection } from "../../../../schemas/pipeline.ts";

/** The address of the HTTP interface of a server. */
export interface Endpoint {
  /** `http://host:port` or `https://host:port`, without credentials. */
  url: string;
  /** The warning that another port than `port` is used, to be logged once. */
  warning?: string;
}

/** The format's `port` is the native one; these are the HTTP ports for the native default ports. */
const httpPorts: Readonly<Record<string, string>> = { "9000": "8123", "9440": "8443" };

/**
 * Finds the HTTP port: `http_port` if given, else 8123 for 9000 and 8443 for 9440, else `port` itself. Returns a text
 * if there is none, with the reason.
 */
export function endpointOf(connection: SinkConnection): Endpoint | string {
  const given = connection.http_port?.trim() ?? "";
  const native = connection.port?.trim() ?? "";
  const http = Object.hasOwn(httpPorts, native) ? (httpPorts[native] ?? native) : native;
  const port = given === "" ? http : given;
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65535) {
    return `connection_params.${given === "" ? "port" : "http_port"}: expected a port from 1 to 65535, got "${port}"`;
  }
  const host = connection.host.includes(":") ? `[${connection.host.replace(/^\[|\]$/g, "")}]` : connection.host;
  const url = `${connection.secure ? "https" : "http"}://${host}:${port}`;
  if (!isOrigin(url)) return `connection_params.host: expected a host name or an address, got "${connection.host}"`;
  if (given !== "" || http === native) return { url };
  const warning = `connection_params.port ${native} is the port of the native protocol; using ${http} for HTTP. Set http_port to choose it explicitly.`;
  return { url, warning };
}

/** A host name must not contain a user, a path or a query. */
function isOrigin(url: string): boolean {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  return (
    parsed !== undefined && parsed.username === "" && parsed.pathname === "/" && parsed.search + parsed.hash === ""
  );
}
