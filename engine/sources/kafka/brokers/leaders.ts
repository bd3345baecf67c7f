import { placeText } from "../positions/feed.ts";
import { grouped } from "../protocol/grouped.ts";
import type { KafkaClient, Leader, TopicPartition } from "./client.ts";

export function noLeader(place: TopicPartition): Error {
  return new Error(`${placeText(place)}: expected a leader, found none`);
}

/** The leader of a partition sends its readers to a replica that cannot be read. */
export function noReplica(place: TopicPartition, node: number): Error {
  const wayOut = "check that broker, and replica.selector.class of the brokers";
  return new Error(
    `${placeText(place)}: expected messages by its leader, found that it names broker ${node}, which failed: ${wayOut}`,
  );
}

/**
 * Asks the leader of each place, each node once. Resolves in the order of the places: an answer, or why there is none. `ask`
 * answers in the order of what it is given. Throws where the leaders of a topic are not known.
 */
export async function askLeaders<Place extends TopicPartition, Answer>(
  client: Pick<KafkaClient, "leaders">,
  places: readonly Place[],
  ask: (node: number, led: readonly (Place & { leader: Leader })[]) => Promise<readonly Answer[]>,
): Promise<(Answer | Error)[]> {
  const found: (Answer | Error)[] = [];
  const led: (Place & { leader: Leader; index: number })[] = [];
  const leaders = new Map<string, ReadonlyMap<number, Leader | undefined>>();
  for (const { topic } of places) if (!leaders.has(topic)) leaders.set(topic, await client.leaders(topic));
  for (const [index, place] of places.entries()) {
    const leader = leaders.get(place.topic)!.get(place.partition);
    if (leader === undefined) found[index] = noLeader(place);
    else led.push({ ...place, leader, index });
  }
  const asking = Array.from(
    grouped(led, ({ leader }) => leader.node),
    async ([node, own]) => {
      const answers = await ask(node, own).catch((error: unknown) => error as Error);
      for (const [at, { index }] of own.entries()) found[index] = answers instanceof Error ? answers : answers[at]!;
    },
  );
  await Promise.all(asking);
  return found;
}
