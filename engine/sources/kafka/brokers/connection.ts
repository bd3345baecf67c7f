import type { ISocketFactory, Kafka, KafkaConfig, SASLOptions } from "kafkajs";
import type { KafkaConnection } from "../../../../schemas/pipeline.ts";
import type { Log } from "../../../telemetry/log.ts";
import { clippedTo } from "../../../peers/foreign-text.ts";
import { TargetPolicy } from "../../../peers/targets.ts";
import { hidingFrom } from "./failures.ts";
import { kafkajs } from "./kafkajs.ts";
import { beginWith, patchKafkajs } from "./kafkajs-patches.ts";
import { longestAnswer } from "./requests.ts";
import { socketsWithin } from "./sockets.ts";

const connectionTimeout = 5_000;

/**
 * A client of the brokers, by the connection of a source with its secrets resolved. Nothing is connected yet.
 * `socketFactory` opens its connections.
 */
export function kafkaClient(
  connection: KafkaConnection,
  clientId: string,
  log: Log,
  socketFactory: ISocketFactory = socketsWithin(new TargetPolicy()),
): Kafka {
  patchKafkajs();
  const hide = hidingFrom(connection);
  const config: KafkaConfig = {
    clientId,
    brokers: connection.brokers,
    connectionTimeout,
    authenticationTimeout: connectionTimeout,
    requestTimeout: longestAnswer,
    // The callers retry and report failures: retries within the client would hide how long an outage lasts.
    retry: { retries: 2, initialRetryTime: 100, maxRetryTime: 1_000 },
    socketFactory,
    logLevel: kafkajs().logLevel.WARN,
    logCreator: () => (entry) =>
      log.debug({ client: clientId, reason: clippedTo(hide(entry.log.message), 500) }, "Kafka client."),
  };
  const ssl = tlsOf(connection);
  if (ssl !== undefined) config.ssl = ssl;
  const sasl = saslOf(connection);
  if (sasl !== undefined) config.sasl = sasl;
  return beginWith(connection.brokers, new (kafkajs().Kafka)(config));
}

/** TLS of at least version 1.2 where the protocol ends with SSL, with the system's CAs where no other is given. */
function tlsOf(connection: KafkaConnection): KafkaConfig["ssl"] {
  const { protocol, root_ca, client_cert, client_key, skip_tls_verification } = connection;
  if (!protocol.endsWith("SSL")) return undefined;
  return {
    minVersion: "TLSv1.2",
    rejectUnauthorized: !skip_tls_verification,
    ...(root_ca === undefined ? {} : { ca: [pemOf(root_ca)] }),
    ...(client_cert === undefined ? {} : { cert: pemOf(client_cert) }),
    ...(client_key === undefined ? {} : { key: pemOf(client_key) }),
  };
}

/** SASL is used where there is a mechanism. */
function saslOf({ mechanism, username = "", password = "" }: KafkaConnection): SASLOptions | undefined {
  switch (mechanism) {
    case "PLAIN":
      return { mechanism: "plain", username, password };
    case "SCRAM-SHA-256":
      return { mechanism: "scram-sha-256", username, password };
    case "SCRAM-SHA-512":
      return { mechanism: "scram-sha-512", username, password };
    default:
      return undefined;
  }
}

/** PEM text, given as it is or in base64. */
function pemOf(text: string): string {
  return text.includes("-----BEGIN") ? text : Buffer.from(text, "base64").toString("utf8");
}
