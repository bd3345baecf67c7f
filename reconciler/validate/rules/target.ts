import { endpointOf } from "../../../engine/language.ts";
import { readHost } from "../../../schemas/index.ts";
import { found, printable, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";

/** The target of the sink: host, port, TLS and table. */
export const targetRules: readonly Rule[] = [
  host,
  systemDatabase,
  portNumbers,
  portGuessed,
  nativeAsHttp,
  noPassword,
  tls,
  tableName,
];

const nativePorts = ["9000", "9440"];
const plainPorts = ["9000", "8123"];
const tlsPorts = ["9440", "8443"];

function connection(document: View): View {
  return document.get("sink", "connection_params");
}

/** The connection as the engine reads it. */
function endpoint(params: { host?: string; port?: string; http_port?: string }): ReturnType<typeof endpointOf> {
  const flags = { database: "", secure: false, skip_certificate_verification: false };
  return endpointOf({ host: "host", port: "8123", ...params, ...flags });
}

function* host(document: View): Iterable<Problem> {
  const view = connection(document).get("host");
  if (view.isBlank || view.isReference || isEmbedded(document)) return;
  const name = view.text ?? "";
  if (typeof endpoint({ host: name }) !== "string") return;
  yield view.problem("HOST", {
    expected: "a host name or an address, nothing else",
    // A URL may hold a password.
    found: name.includes("@") ? "a text with an @" : found(name, view.path),
    suggestion: bareHost(name),
  });
}

/** A table there would change what ClickHouse says of itself, to Sluice too. */
function* systemDatabase(document: View): Iterable<Problem> {
  const database = connection(document).get("database");
  if (!/^\s*(system|information_schema)\s*$/i.test(database.text ?? "")) return;
  yield database.problem("SYSTEM_DATABASE", {
    expected: "a database of your own",
    found: `${found(database.value, database.path)}, which is ClickHouse's own`,
  });
}

/** The host that a text is perhaps meant for: without a scheme, a user, a port and a path, and as DNS knows it. */
function bareHost(name: string): string | undefined {
  if (/^embedded\.?$/i.test(name)) return "write embedded, in small letters";
  const [, bare] = /^(?:\w+:\/\/)?(?:[^@/]*@)?([\w.-]+)(?::\d*)?(?:\/.*)?$/.exec(name) ?? [];
  return bare === undefined || readHost(bare) === undefined
    ? undefined
    : `write "${printable(bare)}", and its port under port or http_port`;
}

function isEmbedded(document: View): boolean {
  return connection(document).get("host").text === "embedded";
}

function* portNumbers(document: View): Iterable<Problem> {
  for (const key of ["port", "http_port"]) {
    const port = connection(document).get(key);
    if (port.text === undefined || !/^\d{1,5}$/.test(port.text)) continue;
    if (Number(port.text) >= 1 && Number(port.text) <= 65535) continue;
    yield port.problem("PORT", { expected: "a port from 1 to 65535", found: found(port.value, port.path) });
  }
}

/** `port` is the native one in this format, and Sluice speaks HTTP. */
function* portGuessed(document: View): Iterable<Problem> {
  const port = connection(document).get("port");
  const http_port = connection(document).get("http_port");
  if (port.isBlank || !http_port.isBlank || isEmbedded(document)) return;
  const read = endpoint({ port: port.text ?? "" });
  if (typeof read === "string" || read.warning === undefined) return;
  const http = read.url.split(":").at(-1) ?? "";
  yield port.problem("PORT_GUESSED", {
    expected: "http_port beside it, because Sluice speaks HTTP",
    found: `only port ${port.text}, the native one: ${http} is used`,
    suggestion: `add http_port: "${http}"`,
  });
}

function* nativeAsHttp(document: View): Iterable<Problem> {
  const port = connection(document).get("http_port");
  if (!nativePorts.includes(port.text ?? "")) return;
  yield port.problem("PORT_GUESSED", {
    expected: "the port of the HTTP interface",
    found: `"${port.text}", by default the port of the native protocol`,
    suggestion: `write "${port.text === "9440" ? "8443" : "8123"}"`,
  });
}

function* noPassword(document: View): Iterable<Problem> {
  const password = connection(document).get("password");
  if (password.text !== "" || isEmbedded(document)) return;
  yield password.problem("NO_PASSWORD", {
    expected: "a password",
    found: "an empty text: whoever reaches the server can write as this user",
  });
}

function* tls(document: View): Iterable<Problem> {
  if (isEmbedded(document)) return;
  const secure = connection(document).get("secure");
  const skip = connection(document).get("skip_certificate_verification");
  const isSecure = secure.value === true;
  if (skip.value === true) {
    yield isSecure
      ? skip.problem("TLS", {
          expected: "a server whose certificate is checked",
          found: "true: any server can pose as it",
        })
      : skip.problem("UNUSED", { expected: "secure: true beside it", found: "true, which does nothing without TLS" });
  }
  for (const key of ["http_port", "port"]) {
    const port = connection(document).get(key);
    const wrong = isSecure ? plainPorts : tlsPorts;
    if (!wrong.includes(port.text ?? "")) continue;
    yield port.problem("TLS", {
      expected: `a port that goes with secure: ${isSecure}`,
      found: `"${port.text}", by default a port ${isSecure ? "without" : "with"} TLS`,
    });
  }
}

function* tableName(document: View): Iterable<Problem> {
  const table = document.get("sink", "table");
  const [, database, name] = /^\s*([^\s.]+)\.([^\s.]+)\s*$/.exec(table.text ?? "") ?? [];
  if (database === undefined || name === undefined || table.isReference) return;
  yield table.problem("TABLE_NAME", {
    expected: "a table without its database",
    found: found(table.value, table.path),
    suggestion: `write table: ${printable(name)} and connection_params.database: ${printable(database)}, if that is meant`,
  });
}
