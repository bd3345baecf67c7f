import { isJson, jsonBody, protobufBody } from "./otlp-bodies.ts";
import { exportPath, frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type MakeCase, naming, over, types } from "./otlp-request.ts";

/** Paths, methods, services and content types that there are not. */
export const wrongPlaces: readonly MakeCase[] = [
  function path(random) {
    const { signal, bytes } = jsonBody(random);
    const place = random.pick("/v1/profiles", "/", "/v1/logs/", "/V1/logs", "/v1", "//v1/logs", `/${"x".repeat(5000)}`);
    return { title: `path ${place}`, http: over(signal, naming(signal), bytes, { path: place }), expected: 404 };
  },
  function method(random) {
    const { signal, bytes } = jsonBody(random);
    const name = random.pick("GET", "PUT", "DELETE", "PATCH", "OPTIONS");
    return { title: name, http: over(signal, naming(signal), bytes, { method: name }), expected: 405 };
  },
  function noMethod(random) {
    const { signal, bytes } = jsonBody(random);
    const name = random.pick("POSTED", "post", "\u0001");
    return { title: `method ${name}`, http: over(signal, naming(signal), bytes, { method: name }), expected: 400 };
  },
  function longHead(random) {
    const { signal, bytes } = jsonBody(random);
    const http = over(signal, { ...naming(signal), "x-long": "x".repeat(20_000) }, bytes);
    return { title: "a long head", http, expected: 431 };
  },
  function service(random) {
    const { signal, bytes } = protobufBody(random);
    const place = random.pick("/", "/v1/logs", `${exportPath(signal)}s`, "/opentelemetry.LogsService/Export");
    return {
      title: `service ${place}`,
      grpc: { ...called(signal, {}, frameOf(bytes)), path: place },
      expected: codes.unimplemented,
    };
  },
  function type(random) {
    const { signal, bytes } = protobufBody(random);
    const name = random.pick("application/json", "text/html", "application/x-protobuf");
    return {
      title: `gRPC as ${name}`,
      grpc: called(signal, { "content-type": name }, frameOf(bytes)),
      expected: "HTTP 415",
    };
  },
  function otherType(random) {
    let made = protobufBody(random);
    while (isJson(made.bytes.toString())) made = protobufBody(random);
    const http = over(
      made.signal,
      { ...naming(made.signal), "content-type": random.pick(types.json, "x") },
      made.bytes,
    );
    return { title: "protobuf as JSON", http, expected: 400 };
  },
];
