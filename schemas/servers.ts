import type { Path } from "./annotations.ts";
import { readBrokerAddress } from "./addresses/broker-address.ts";
import { bracketed, readHost, readPort, shownAddress, withoutRoot } from "./addresses/host.ts";
import type { KafkaSourceConfig, PipelineConfig, SinkConfig, SinkConnection } from "./pipeline.ts";

/** The host of the ClickHouse inside Sluice. */
const embedded = "embedded";

/** A server that a pipeline connects to. */
export type Server = {
  /** The field that names it, such as `sources[0].connection_params.brokers[1]`. */
  field: string;
  text: string;
} & ServerAddress;

type ServerAddress =
  | { kind: "embedded" }
  | {
      kind: "host";
      /** As `readHost` gives it. */
      host: string;
      port: number;
      /** Whether the server has to prove its name: by TLS with a certificate that is checked. */
      isVerified: boolean;
    }
  /** `problem` says what was expected, and found. */
  | { kind: "unreadable"; problem: string };

/**
 * The servers that a pipeline connects to. Whoever asks which servers are allowed asks this; what connects to them reads
 * their texts by the same parsers.
 */
export function serversOf({ sources, sink }: PipelineConfig): Server[] {
  const read = sources.flatMap((source, index) =>
    source.type === "kafka" ? [...brokersOf(source, index), ...registryOf(source, index)] : [],
  );
  return [...read, serverOf(sink)];
}

/**
 * The servers that get the secret at `path`: the brokers or the registry of its source, or the server of the sink; none for
 * a token that senders show.
 */
export function serversGetting({ sources, sink }: PipelineConfig, [part, at, group]: Path): Server[] {
  if (part === "sink") return [serverOf(sink)];
  const index = Number(at);
  const source = part === "sources" ? sources[index] : undefined;
  if (source?.type !== "kafka") return [];
  return group === "schema_registry" ? registryOf(source, index) : brokersOf(source, index);
}

/** Such as `tls://k-1.example.com:9093`, as the setting `references` has it. */
export function serverText(server: Server): string {
  if (server.kind === "embedded") return embedded;
  if (server.kind === "unreadable") return server.text;
  return `${server.isVerified ? "tls://" : ""}${bracketed(withoutRoot(server.host))}:${server.port}`;
}

function brokersOf(source: KafkaSourceConfig, index: number): Server[] {
  const { brokers, protocol, skip_tls_verification } = source.connection_params;
  const isVerified = protocol.endsWith("SSL") && !skip_tls_verification;
  return brokers.map((text, at) => {
    const named = { field: `sources[${index}].connection_params.brokers[${at}]`, text };
    const address = readBrokerAddress(text);
    if (address !== undefined) return { ...named, kind: "host", ...address, isVerified };
    const problem = `expected host:port or [IPv6]:port, such as kafka-1:9092, got ${shownAddress(text)}`;
    return { ...named, kind: "unreadable", problem };
  });
}

const registryUrl = /^(https?):\/\/(\[[^\]]*\]|[^:/?#]*)(?::(\d+))?(?:\/[\w./~-]*)?$/;

function registryOf({ schema_registry }: KafkaSourceConfig, index: number): Server[] {
  if (schema_registry === undefined) return [];
  const text = schema_registry.url;
  const named = { field: `sources[${index}].schema_registry.url`, text };
  const [, scheme, name = "", digits] = registryUrl.exec(text) ?? [];
  const host = readHost(name);
  const port = readPort(digits ?? (scheme === "https" ? "443" : "80"));
  if (host !== undefined && port !== undefined) {
    return [{ ...named, kind: "host", host, port, isVerified: scheme === "https" }];
  }
  const problem = `expected http:// or https:// with a host, a port and a path at most, got ${shownAddress(text)}`;
  return [{ ...named, kind: "unreadable", problem }];
}

function serverOf({ connection_params: params }: SinkConfig): Server {
  const named = { field: "sink.connection_params.host", text: params.host };
  if (params.host === embedded) return { ...named, kind: "embedded" };
  const address = readClickHouseAddress(params);
  if ("problem" in address) {
    const field = `sink.connection_params.${address.field}`;
    return { ...named, field, kind: "unreadable", problem: address.problem };
  }
  const isVerified = params.secure && !params.skip_certificate_verification;
  return { ...named, kind: "host", host: address.host, port: address.port, isVerified };
}

/** Where the HTTP interface of a server listens. */
export interface ClickHouseAddress {
  /** As `readHost` gives it. */
  host: string;
  port: number;
  /** The warning that another port than `port` is used. */
  warning?: string;
}

/** What is wrong with an address. */
export interface UnreadableAddress {
  /** The key of `connection_params` that is wrong. */
  field: "host" | "port" | "http_port";
  /** Such as `expected a host name or an address, got "a b"`. */
  problem: string;
}

/** The format's `port` is the native one; these are the HTTP ports for the native default ports. */
const httpPorts: Readonly<Record<string, string>> = { "9000": "8123", "9440": "8443" };

/**
 * Finds host and HTTP port of a server: `http_port` if given, else 8123 for 9000 and 8443 for 9440, else `port` itself.
 * What checks, allows or connects to servers takes their addresses from here.
 */
export function readClickHouseAddress({
  host: name,
  port,
  http_port,
}: Pick<SinkConnection, "host" | "port" | "http_port">): ClickHouseAddress | UnreadableAddress {
  const given = http_port?.trim() ?? "";
  const native = port?.trim() ?? "";
  const usual = Object.hasOwn(httpPorts, native) ? (httpPorts[native] ?? native) : native;
  const text = given === "" ? usual : given;
  const found = readPort(text);
  if (found === undefined) {
    return { field: given === "" ? "port" : "http_port", problem: `expected a port from 1 to 65535, got "${text}"` };
  }
  const host = readHost(name);
  // A URL has no zone.
  if (host === undefined || host.includes("%") || withoutRoot(host) === embedded) {
    return { field: "host", problem: `expected a host name or an address, got ${shownAddress(name)}` };
  }
  if (given !== "" || usual === native) return { host, port: found };
  const warning = `connection_params.port ${native} is the port of the native protocol; using ${usual} for HTTP. Set http_port to choose it explicitly.`;
  return { host, port: found, warning };
}
