import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

interface Library {
  Kafka: typeof import("kafkajs").Kafka;
  logLevel: typeof import("kafkajs").logLevel;
  apiKeys: typeof import("kafkajs/src/protocol/requests/apiKeys.js").default;
  Broker: typeof import("kafkajs/src/broker/index.js").default;
  Connection: typeof import("kafkajs/src/network/connection.js").default;
  createErrorFromCode: typeof import("kafkajs/src/protocol/error.js").createErrorFromCode;
  Encoder: typeof import("kafkajs/src/protocol/encoder.js").default;
  lookup: typeof import("kafkajs/src/protocol/requests/index.js").lookup;
  RequestQueue: typeof import("kafkajs/src/network/requestQueue/index.js").default;
  requests: typeof import("kafkajs/src/protocol/requests/index.js").requests;
  saslHandshakes: readonly (typeof import("kafkajs/src/protocol/requests/saslHandshake/v0/response.js").default)[];
  scram: typeof import("kafkajs/src/broker/saslAuthenticator/scram.js").default;
}

let library: Library | undefined;

/**
 * kafkajs, loaded at the first call: it is 143 modules, which take a third of the time that a thread needs to start, and
 * most threads read no topic. It is required, since a dynamic import would make the start of a pipeline wait.
 */
export function kafkajs(): Library {
  library ??= {
    ...(require("kafkajs") as Pick<Library, "Kafka" | "logLevel">),
    apiKeys: require("kafkajs/src/protocol/requests/apiKeys.js") as Library["apiKeys"],
    Broker: require("kafkajs/src/broker/index.js") as Library["Broker"],
    Connection: require("kafkajs/src/network/connection.js") as Library["Connection"],
    ...(require("kafkajs/src/protocol/error.js") as Pick<Library, "createErrorFromCode">),
    Encoder: require("kafkajs/src/protocol/encoder.js") as Library["Encoder"],
    ...(require("kafkajs/src/protocol/requests/index.js") as Pick<Library, "lookup" | "requests">),
    RequestQueue: require("kafkajs/src/network/requestQueue/index.js") as Library["RequestQueue"],
    saslHandshakes: ["v0", "v1"].map(
      (version) =>
        require(`kafkajs/src/protocol/requests/saslHandshake/${version}/response.js`) as Library["saslHandshakes"][0],
    ),
    scram: require("kafkajs/src/broker/saslAuthenticator/scram.js") as Library["scram"],
  };
  return library;
}
