import protobuf from "protobufjs/light.js";

/** What an answer says beyond its status: google.rpc.Status, as both transports carry it. */
export interface StatusMessage {
  /** A code of gRPC. */
  code: number;
  message: string;
}

/** The two messages of google.rpc that are sent, and what they are made of. */
const root = protobuf.Root.fromJSON({
  nested: {
    Any: { fields: { type_url: { type: "string", id: 1 }, value: { type: "bytes", id: 2 } } },
    Status: {
      fields: {
        code: { type: "int32", id: 1 },
        message: { type: "string", id: 2 },
        details: { rule: "repeated", type: "Any", id: 3 },
      },
    },
    Duration: { fields: { seconds: { type: "int64", id: 1 }, nanos: { type: "int32", id: 2 } } },
    RetryInfo: { fields: { retry_delay: { type: "Duration", id: 1 } } },
  },
});
const [Status, RetryInfo] = [root.lookupType("Status"), root.lookupType("RetryInfo")];

/** A status in protobuf. With `retryAfter`, in seconds, it says in a RetryInfo when the sender should try again. */
export function encodeStatus({ code, message }: StatusMessage, retryAfter?: number): Buffer {
  const details = retryAfter === undefined ? [] : [retryInfo(retryAfter)];
  return Buffer.from(Status.encode({ code, message, details }).finish());
}

function retryInfo(seconds: number): { type_url: string; value: Uint8Array } {
  const value = RetryInfo.encode({ retry_delay: { seconds } }).finish();
  return { type_url: "type.googleapis.com/google.rpc.RetryInfo", value };
}
