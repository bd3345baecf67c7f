import type { Certificates } from "./certificates.ts";

/** The names of the pipeline files, which are Kafka's own. */
export type Protocol = "PLAINTEXT" | "SASL_PLAINTEXT" | "SSL" | "SASL_SSL";
export type Mechanism = "PLAIN" | "SCRAM-SHA-256" | "SCRAM-SHA-512";

export const mechanisms: readonly Mechanism[] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/** A user that every mechanism knows. */
export interface User {
  username: string;
  password: string;
}

/** How a broker is reached. It can be sent from the process that started the broker to one that uses it. */
export interface KafkaAccess {
  /** Without protection, and without asking who comes. */
  plaintext: string[];
  /** Absent for a broker that was given: nothing is known about its users and certificates. */
  secured?: {
    /** `HOST:PORT` of each broker. SSL wants a certificate of the client; SASL_SSL does not. */
    addresses: Record<Exclude<Protocol, "PLAINTEXT">, string[]>;
    user: User;
    certificates: Certificates;
  };
}

/** `connection_params` of a Kafka source in a pipeline file. */
export interface ConnectionParams {
  brokers: string[];
  protocol: Protocol;
  mechanism?: Mechanism;
  username?: string;
  password?: string;
  root_ca?: string;
  client_cert?: string;
  client_key?: string;
}

/** What a client must be told to come in by `protocol`; `mechanism` only counts where the protocol is a SASL one. */
export function connectionParams(access: KafkaAccess, protocol: Protocol, mechanism: Mechanism): ConnectionParams {
  if (protocol === "PLAINTEXT") return { brokers: access.plaintext, protocol };
  if (access.secured === undefined) throw new Error(`a Kafka that was given has no ${protocol} that is known here`);
  const { addresses, user, certificates } = access.secured;
  return {
    brokers: addresses[protocol],
    protocol,
    ...(protocol !== "SSL" && { mechanism, ...user }),
    ...(protocol !== "SASL_PLAINTEXT" && { root_ca: certificates.ca }),
    ...(protocol === "SSL" && { client_cert: certificates.clientCert, client_key: certificates.clientKey }),
  };
}
