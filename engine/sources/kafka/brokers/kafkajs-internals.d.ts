/** The parts of kafkajs that it does not export. It is pinned to one version for their sake. */
declare module "kafkajs/src/protocol/requests/index.js" {
  export const requests: { Fetch: unknown };
}

declare module "kafkajs/src/protocol/requests/apiKeys.js" {
  const apiKeys: { Fetch: number; Metadata: number };
  export default apiKeys;
}

declare module "kafkajs/src/protocol/error.js" {
  export function createErrorFromCode(code: number): Error & { type: string; retriable: boolean };
}

declare module "kafkajs/src/protocol/encoder.js" {
  /** What a request is handed over as. */
  export default class Encoder {
    writeBufferInternal(bytes: Buffer): void;
  }
}
