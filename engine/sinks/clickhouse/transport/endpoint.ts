import { bracketed } from "../../../../schemas/addresses/host.ts";
import type { SinkConnection } from "../../../../schemas/pipeline.ts";
import { readClickHouseAddress } from "../../../../schemas/servers.ts";

/** The address of the HTTP interface of a server. */
export interface Endpoint {
  /** `http://host:port` or `https://host:port`, without credentials. */
  url: string;
  /** The warning that another port than `port` is used, to be logged once. */
  warning?: string;
}

/** The endpoint of a connection; a text with the reason where there is none. */
export function endpointOf(connection: SinkConnection): Endpoint | string {
  const address = readClickHouseAddress(connection);
  if ("problem" in address) return `connection_params.${address.field}: ${address.problem}`;
  const { host, port, warning } = address;
  const url = `${connection.secure ? "https" : "http"}://${bracketed(host)}:${port}`;
  return { url, ...(warning !== undefined && { warning }) };
}
