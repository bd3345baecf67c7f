import { type Protocol, type User, mechanisms } from "./access.ts";
import type { Certificates } from "./certificates.ts";

/**
 * Ports of one broker on 127.0.0.1: one for each protocol, one for itself, `PROXIED`, where it listens for what comes
 * through a proxy, and `proxy`, where it says that the proxy listens.
 */
export const portNames = ["PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL", "CONTROLLER", "PROXIED", "proxy"] as const;
export type BrokerPorts = Record<(typeof portNames)[number], number>;

export type Role = "broker" | "controller";

/** What a node is in its cluster. */
export interface NodeSettings {
  id: number;
  roles: readonly Role[];
  /** The controllers of the cluster, `ID@HOST:PORT,...`. */
  voters: string;
}

export interface BrokerSettings {
  node: NodeSettings;
  logDir: string;
  ports: BrokerPorts;
  user: User;
  certificates: Certificates;
  /** Properties of one test file, which win. */
  properties: Record<string, string>;
}

const secured: readonly Protocol[] = ["SASL_PLAINTEXT", "SASL_SSL"];

/** One node, a broker, a controller or both; as small and as quick as it can be, so that tests need not wait for it. */
export function serverProperties({ node, logDir, ports, user, certificates, properties }: BrokerSettings): string {
  const all = {
    ...listeners(node, ports),
    ...logins(user),
    ...tls(certificates),
    ...access,
    ...oneNode,
    ...prompt,
    ...small,
    "log.dirs": logDir,
    ...properties,
  };
  return Object.entries(all)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

function listeners({ id, roles, voters }: NodeSettings, { proxy, ...ports }: BrokerPorts): Record<string, string> {
  const names = Object.keys(ports) as (keyof typeof ports)[];
  const own = names.filter((name) => roles.includes(name === "CONTROLLER" ? "controller" : "broker"));
  const addresses = (given: typeof ports, kept: typeof names): string =>
    kept.map((name) => `${name}://127.0.0.1:${given[name]}`).join(",");
  return {
    "process.roles": roles.join(","),
    "node.id": String(id),
    "controller.quorum.voters": voters,
    "controller.listener.names": "CONTROLLER",
    listeners: addresses(ports, own),
    ...(roles.includes("broker") && {
      "inter.broker.listener.name": "PLAINTEXT",
      "advertised.listeners": addresses(
        { ...ports, PROXIED: proxy },
        own.filter((name) => name !== "CONTROLLER"),
      ),
    }),
    "listener.security.protocol.map": names.map((name) => `${name}:${protocolOf(name)}`).join(","),
  };
}

function protocolOf(listener: string): string {
  return listener === "PROXIED" || listener === "CONTROLLER" ? "PLAINTEXT" : listener;
}

function logins({ username, password }: User): Record<string, string> {
  const plain = `org.apache.kafka.common.security.plain.PlainLoginModule required user_${username}="${password}";`;
  // The users of SCRAM are kept in the log of the controller.
  const scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;";
  const lines = secured.flatMap((protocol) =>
    mechanisms.map((mechanism) => [
      `listener.name.${protocol.toLowerCase()}.${mechanism.toLowerCase()}.sasl.jaas.config`,
      mechanism === "PLAIN" ? plain : scram,
    ]),
  );
  return { "sasl.enabled.mechanisms": mechanisms.join(","), ...Object.fromEntries(lines) };
}

function tls({ files }: Certificates): Record<string, string> {
  return {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": files.server,
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": files.ca,
    "listener.name.ssl.ssl.client.auth": "required",
  };
}

/** Everybody may do everything, until a test forbids something to the user; the tests themselves come in unnamed. */
const access = {
  "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
  "allow.everyone.if.no.acl.found": "true",
  "super.users": "User:ANONYMOUS",
};

const oneNode = {
  "auto.create.topics.enable": "false",
  "offsets.topic.replication.factor": "1",
  "offsets.topic.num.partitions": "4",
  "transaction.state.log.replication.factor": "1",
  "transaction.state.log.min.isr": "1",
  "transaction.state.log.num.partitions": "4",
};

const prompt = {
  // A killed broker is let in again when its session is over.
  "broker.session.timeout.ms": "1500",
  "broker.heartbeat.interval.ms": "250",
  "group.initial.rebalance.delay.ms": "0",
  // Members that were killed keep their partitions for as long as their session.
  "group.min.session.timeout.ms": "500",
  "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
  // What the broker does from time to time: retention, compaction and expiry of groups.
  "log.initial.task.delay.ms": "100",
  "log.retention.check.interval.ms": "500",
  "log.segment.delete.delay.ms": "100",
  "log.cleaner.backoff.ms": "250",
  "offsets.retention.check.interval.ms": "500",
};

const small = {
  // Without changes the controller writes nothing: by default it writes twice a second, also while no test asks it anything.
  "metadata.max.idle.interval.ms": "0",
  "num.network.threads": "1",
  "num.io.threads": "2",
  "background.threads": "2",
  "num.recovery.threads.per.data.dir": "1",
  // By default the cleaner alone takes 128 MB.
  "log.cleaner.dedupe.buffer.size": "4194304",
};
