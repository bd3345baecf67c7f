import { readBrokerAddress } from "../../../schemas/index.ts";
import { found, type Problem } from "../../language/problem.ts";
import type { Rule, View } from "../../language/view.ts";

/** Rules of Kafka's `connection_params` (docs/reference/pipeline.md): required and conflicting settings. */
export const kafkaRules: readonly Rule[] = [
  eachConnection(noKerberos),
  eachConnection(credentials),
  eachConnection(saslProtocol),
  eachConnection(certificates),
  eachConnection(tls),
  eachConnection(idle),
  eachConnection(brokers),
];

function eachConnection(rule: Rule): Rule {
  return function* (document) {
    for (const source of document.sources("kafka")) yield* rule(source.get("connection_params"));
  };
}

const password = ["username", "password"];
const kerberos = ["kerberos_service_name", "kerberos_realm", "kerberos_keytab", "kerberos_config"];
const needs: ReadonlyMap<string, readonly string[]> = new Map([
  ["PLAIN", password],
  ["SCRAM-SHA-256", password],
  ["SCRAM-SHA-512", password],
  ["GSSAPI", kerberos],
]);

function mechanismOf(connection: View): string {
  return connection.get("mechanism").text ?? "NO_AUTH";
}

/**
 * The Kafka client has no Kerberos. A library for it takes keytab and realm from the environment of the process, which
 * does not work for pipelines with different logins.
 */
function* noKerberos(connection: View): Iterable<Problem> {
  const given = connection.get("mechanism");
  if (given.text !== "GSSAPI") return;
  yield given.problem("NOT_SUPPORTED", {
    expected: "NO_AUTH, PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512, which work here",
    found:
      '"GSSAPI" (Kerberos), whose tickets and keytabs a library for Node keeps for a whole process, and not for each pipeline',
    suggestion: "give Sluice a listener of the brokers with SCRAM, or with TLS and a client certificate",
  });
}

function usesTls(connection: View): boolean {
  return connection.get("protocol").text?.endsWith("SSL") ?? false;
}

function* credentials(connection: View): Iterable<Problem> {
  const mechanism = mechanismOf(connection);
  for (const key of needs.get(mechanism) ?? []) {
    const value = connection.get(key);
    const isGiven = key === "password" ? (value.text ?? "") !== "" : !value.isBlank;
    if (isGiven) continue;
    yield value.problem("CONNECTION", {
      expected: `a value, which mechanism ${mechanism} needs`,
      found: value.exists ? "an empty text" : "nothing",
    });
  }
}

/**
 * SASL is used if there is a mechanism, TLS if the protocol ends with SSL; a protocol that contradicts this misleads.
 */
function* saslProtocol(connection: View): Iterable<Problem> {
  const protocol = connection.get("protocol");
  const mechanism = mechanismOf(connection);
  const saysSasl = protocol.text?.startsWith("SASL_") ?? false;
  if (protocol.isBlank || saysSasl === (mechanism !== "NO_AUTH")) return;
  yield protocol.problem("SASL", {
    expected: saysSasl ? "a mechanism beside a SASL protocol" : `a SASL protocol for mechanism ${mechanism}`,
    found: found(protocol.value, protocol.path),
    suggestion: saysSasl
      ? "without one, Sluice does not log in"
      : `write SASL_${usesTls(connection) ? "SSL" : "PLAINTEXT"}`,
  });
}

function* certificates(connection: View): Iterable<Problem> {
  for (const key of ["root_ca", "client_cert", "client_key"]) {
    const value = connection.get(key);
    if (value.isBlank || value.isReference || isPem(value.text ?? "")) continue;
    const expected = "PEM (-----BEGIN …), or base64 of PEM";
    yield value.problem("CONNECTION", { expected, found: "a text that is neither" });
  }
  const keytab = connection.get("kerberos_keytab");
  if (keytab.isBlank || keytab.isReference || decoded(keytab.text ?? "") !== undefined) return;
  yield keytab.problem("CONNECTION", { expected: "base64 of a keytab", found: "a text that is not base64" });
}

const begin = "-----BEGIN";

function isPem(text: string): boolean {
  return text.includes(begin) || (decoded(text)?.includes(begin) ?? false);
}

function decoded(text: string): string | undefined {
  const bare = text.replaceAll(/\s/g, "");
  const isBase64 = bare.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(bare);
  return isBase64 ? Buffer.from(bare, "base64").toString("latin1") : undefined;
}

function* tls(connection: View): Iterable<Problem> {
  if (!usesTls(connection)) return;
  const skip = connection.get("skip_tls_verification");
  if (skip.value === true)
    yield skip.problem("TLS", {
      expected: "brokers whose certificate is checked",
      found: "true: any server can pose as them",
    });
  for (const [one, other] of [
    ["client_cert", "client_key"],
    ["client_key", "client_cert"],
  ] as const) {
    if (connection.get(one).isBlank || !connection.get(other).isBlank) continue;
    yield connection.get(one).problem("TLS", { expected: `a ${other} beside it`, found: "none" });
  }
}

const ofTls = ["root_ca", "client_cert", "client_key"];

/** Settings that this protocol and mechanism do not use. */
function* idle(connection: View): Iterable<Problem> {
  const mechanism = mechanismOf(connection);
  const used = needs.get(mechanism);
  const unused = (keys: readonly string[], without: string) =>
    keys.flatMap((key) => {
      const value = connection.get(key);
      if (value.isBlank && value.value !== true) return [];
      return [value.problem("UNUSED", { expected: `nothing with ${without}`, found: "a value that is not used" })];
    });
  if (used !== password && mechanism !== "GSSAPI") yield* unused(password, `mechanism ${mechanism}`);
  if (used !== kerberos) yield* unused(kerberos, `mechanism ${mechanism}`);
  if (connection.get("protocol").isBlank || usesTls(connection)) return;
  yield* unused([...ofTls, "skip_tls_verification"], `protocol ${connection.get("protocol").text}, which has no TLS`);
}

function* brokers(connection: View): Iterable<Problem> {
  for (const broker of connection.get("brokers").items()) {
    const { text = "" } = broker;
    if (broker.isBlank || broker.isReference || readBrokerAddress(text) !== undefined) continue;
    const meant = meantAddress(text);
    yield broker.problem("BROKER", {
      expected: "host:port or [IPv6]:port with a port from 1 to 65535, such as kafka-1:9092",
      found: found(broker.value, broker.path),
      suggestion: meant && `write "${meant}"`,
    });
  }
}

/** The address that a text is perhaps meant for: without a scheme and spaces, with brackets and the port of Kafka. */
function meantAddress(text: string): string | undefined {
  const bare = text
    .trim()
    .replace(/^[a-z][\w+.-]*:\/\//i, "")
    .replace(/\/$/, "");
  const bracketed = bare.replace(/^([^[].*:.*):(\d+)$/, "[$1]:$2");
  return [bare, bracketed, `${bare}:9092`, `[${bare}]:9092`].find((one) => readBrokerAddress(one) !== undefined);
}
