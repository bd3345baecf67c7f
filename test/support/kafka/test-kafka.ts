import { randomBytes } from "node:crypto";
import { Kafka, type KafkaConfig, logLevel, type Admin, type Message } from "kafkajs";
import { type ConnectionParams, connectionParams, type KafkaAccess, type Mechanism, type Protocol } from "./access.ts";
import { KafkaGroups } from "./groups.ts";
import { produce, type ProduceOptions } from "./produce.ts";
import { type JavaMessage, type JavaOptions, produceByJava } from "./produce-by-java.ts";
import { type ReadRecord, readTopic } from "./read.ts";
import { KafkaTopics } from "./topics.ts";

/** A Kafka with what tests do to it. It may be shared: topics and groups get names of their own. */
export class TestKafka {
  readonly access: KafkaAccess;
  readonly topics: KafkaTopics;
  readonly groups: KafkaGroups;

  constructor(access: KafkaAccess) {
    this.access = access;
    const withAdmin = <T>(use: (admin: Admin) => Promise<T>): Promise<T> => this.withAdmin(use);
    this.topics = new KafkaTopics(withAdmin);
    this.groups = new KafkaGroups(withAdmin, () => this.client());
  }

  /** A name that no other test has, for a topic or a group. */
  unique(name: string): string {
    return `${name}-${randomBytes(6).toString("hex")}`;
  }

  /** `connection_params` of a pipeline file. */
  connectionParams(protocol: Protocol = "PLAINTEXT", mechanism: Mechanism = "SCRAM-SHA-256"): ConnectionParams {
    return connectionParams(this.access, protocol, mechanism);
  }

  /** A plain client, which comes in by `params`; `over` wins. */
  client(params: ConnectionParams = this.connectionParams(), over: Partial<KafkaConfig> = {}): Kafka {
    return new Kafka({ ...clientConfig(params), ...over });
  }

  /** Does something on a connection of its own, which is closed afterwards. */
  async withAdmin<T>(use: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = this.client().admin();
    try {
      await admin.connect();
      return await use(admin);
    } finally {
      await admin.disconnect();
    }
  }

  /** Writes messages in their order, tens of thousands a second; texts are values. */
  produce(topic: string, messages: Iterable<string | Message>, options?: ProduceOptions): Promise<void> {
    return produce(this.client(), topic, messages, options);
  }

  /** Writes messages with Kafka's own Java client, whose compressed bytes are those that the world's producers send. */
  produceByJava(topic: string, messages: readonly (string | JavaMessage)[], options?: JavaOptions): Promise<void> {
    return produceByJava(this.access.plaintext, topic, messages, options);
  }

  /** All records up to the present end; those of aborted transactions are not among them. */
  read(topic: string): Promise<ReadRecord[]> {
    return readTopic(this.client(), topic);
  }
}

function clientConfig(params: ConnectionParams): KafkaConfig {
  const { brokers, protocol, mechanism = "PLAIN", username = "", password = "" } = params;
  const { root_ca, client_cert, client_key } = params;
  const ssl = {
    ...(root_ca !== undefined && { ca: root_ca }),
    ...(client_cert !== undefined && { cert: client_cert }),
    ...(client_key !== undefined && { key: client_key }),
  };
  const sasl = { mechanism: mechanism.toLowerCase(), username, password } as NonNullable<KafkaConfig["sasl"]>;
  return {
    clientId: "test",
    brokers,
    logLevel: logLevel.NOTHING,
    ...(protocol.endsWith("SSL") && { ssl }),
    ...(protocol.startsWith("SASL") && { sasl }),
  };
}
