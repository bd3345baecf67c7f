import { afterAll, beforeAll, beforeEach, inject } from "vitest";
import { requireOrSkip } from "../require-or-skip.ts";
import { type BrokerOptions, KafkaBroker } from "./broker.ts";
import { brokerObstacle } from "./obstacle.ts";
import type { SharedAnswer } from "./shared-broker.ts";
import { TestKafka } from "./test-kafka.ts";

/** The first start on a machine fetches 45 MB. */
const firstStartMs = 300_000;

/** Brokers that are there already, `HOST:PORT,...`: used instead of one that the tests start. */
const given = (process.env["KAFKA_BROKERS"] || undefined)?.split(",").map((address) => address.trim());
const isGiven = given !== undefined;

interface Found<K extends TestKafka> {
  kafka?: K;
  obstacle?: string;
  release?: () => Promise<void>;
}

/** Runs once before the tests. A `beforeAll` of the file would run, and fail, also where there is no Kafka. */
type Prepare<K extends TestKafka> = (kafka: K) => Promise<void>;

/**
 * The Kafka that all test files share, for the tests of this file or `describe`: topics and groups need names of their
 * own. Where there can be none, the tests are skipped.
 *
 * @param options.wantsLogin for tests that come in by TLS or SASL, about which nothing is known if a Kafka was given.
 */
export function useKafka(options: { wantsLogin?: boolean; prepare?: Prepare<TestKafka> } = {}): () => TestKafka {
  return hooked(options.prepare, async () => {
    if (isGiven && options.wantsLogin === true) return refused("come in by TLS or SASL");
    if (isGiven) return { kafka: new TestKafka({ plaintext: given }) };
    const address = inject("sharedKafka");
    // Without the global set-up of the run, a file has one for itself.
    return address === undefined ? own({}) : asked(address);
  });
}

/** A Kafka that this file or `describe` has for itself, and may kill, restart and bend. It costs 200 MB and 3 s. */
export function useOwnKafka(options: BrokerOptions & { prepare?: Prepare<KafkaBroker> } = {}): () => KafkaBroker {
  return hooked(options.prepare, async () => (isGiven ? refused("start a broker of their own") : own(options)));
}

function hooked<K extends TestKafka>(prepare: Prepare<K> | undefined, find: () => Promise<Found<K>>): () => K {
  let found: Found<K> = {};
  beforeAll(async () => {
    found = await find();
    if (found.kafka !== undefined) await prepare?.(found.kafka);
  }, firstStartMs);
  beforeEach(({ skip }) => requireOrSkip(found.obstacle, skip));
  afterAll(() => found.release?.());
  return () => {
    if (found.kafka === undefined) throw new Error("there is a Kafka in tests, in their hooks, and in `prepare`");
    return found.kafka;
  };
}

function refused(what: string): { obstacle: string } {
  return { obstacle: `KAFKA_BROKERS names a Kafka to use, and these tests ${what}` };
}

async function own(options: BrokerOptions): Promise<Found<KafkaBroker>> {
  const obstacle = await brokerObstacle();
  if (obstacle !== undefined) return { obstacle };
  const kafka = await KafkaBroker.start(options);
  return { kafka, release: () => kafka.stop() };
}

async function asked(address: string): Promise<Found<TestKafka>> {
  const answer = (await (await fetch(address)).json()) as SharedAnswer;
  if ("error" in answer) throw new Error(`the shared Kafka could not be started: ${answer.error}`);
  return "access" in answer ? { kafka: new TestKafka(answer.access) } : answer;
}
