import { gzipSync } from "node:zlib";
import type { Random } from "../support/random.ts";
import { brokenBody, jsonBody, type MadeBody, misshapenBody, mutatedBody, protobufBody } from "./otlp-bodies.ts";
import { frameOf } from "./otlp-raw-grpc.ts";
import { called, codes, type MakeCase, over, pipelineOf, type RequestCase, types } from "./otlp-request.ts";
import { tooLarge } from "./otlp-too-large.ts";
import { wrongLengths } from "./otlp-wrong-lengths.ts";
import { wrongNames } from "./otlp-wrong-names.ts";
import { wrongPackings } from "./otlp-wrong-packings.ts";
import { wrongPlaces } from "./otlp-wrong-places.ts";

/** A body over one of the transports that carry it, with gzip or without, named and spelled in one of the ways. */
function sent(what: string, { signal, encoding, bytes, rows, letters }: MadeBody, random: Random): RequestCase {
  const isPacked = random.below(3) === 0;
  const stored = rows === undefined ? {} : { stored: { signal, rows, letters } };
  const title = `${what} ${signal} in ${encoding}${isPacked ? ", gzip" : ""}`;
  const body = isPacked ? gzipSync(bytes) : bytes;
  if (encoding === "protobuf" && random.below(2) === 0) {
    const grpc = called(signal, isPacked ? { "grpc-encoding": "gzip" } : {}, frameOf(body, { isPacked }));
    return { title, grpc, expected: rows === undefined ? codes.invalid : codes.ok, ...stored };
  }
  const spellings =
    encoding === "protobuf"
      ? [types.protobuf, "Application/X-Protobuf", `${types.protobuf}; charset=utf-8`]
      : [types.json, `${types.json};charset=utf-8`, "text/plain", "x", undefined];
  const type = random.pick(...spellings);
  const name = random.pick("x-sluice-pipeline-id", "X-Service-Pipeline-Id", "x-glassflow-pipeline-id");
  const headers = {
    [name]: pipelineOf(signal),
    ...(type === undefined ? {} : { "content-type": type }),
    ...(isPacked ? { "content-encoding": random.pick("gzip", "GZIP", " gzip ") } : {}),
  };
  return { title, http: over(signal, headers, body), expected: rows === undefined ? 400 : 200, ...stored };
}

const makes: Readonly<Record<string, { weight: number; make: MakeCase }>> = {
  good: {
    weight: 20,
    make: (random) => sent("good", random.below(3) > 0 ? protobufBody(random) : jsonBody(random), random),
  },
  mutated: { weight: 30, make: (random) => sent("mutated", mutatedBody(random), random) },
  broken: { weight: 10, make: (random) => sent("broken", brokenBody(random), random) },
  misshapen: { weight: 10, make: (random) => sent("misshapen", misshapenBody(random), random) },
  lengths: { weight: 8, make: (random) => random.pick(...wrongLengths)(random) },
  packing: { weight: 8, make: (random) => random.pick(...wrongPackings)(random) },
  large: { weight: 6, make: (random) => random.pick(...tooLarge)(random) },
  places: { weight: 8, make: (random) => random.pick(...wrongPlaces)(random) },
  names: { weight: 8, make: (random) => random.pick(...wrongNames)(random) },
};
const drawn = Object.values(makes).flatMap(({ weight, make }) => Array.from({ length: weight }, () => make));

/** One request of any kind. */
export function requestCase(random: Random): RequestCase {
  return random.pick(...drawn)(random);
}
