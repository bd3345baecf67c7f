import type {
  CautionFacts,
  GroupPlace,
  RecreatedPosition,
  Rereading,
  SharedTopic,
  TopicsAnew,
  TopicStart,
} from "../reason.ts";
import { counted, listed } from "./words.ts";

/** Where a new pipeline begins to read; empty for one that reads no topic. */
export function beginningText(topics: readonly TopicStart[]): string {
  return topics.map((topic) => `${startUnless(topic)}, from which it then continues`).join("");
}

function startUnless({ topic, group, adopted, start }: TopicStart): string {
  const begin = startText(start);
  const from =
    adopted === undefined ? begin : `the offsets of the consumer group ${adopted} (without one from ${begin})`;
  return `; topic ${topic} is read from ${from}, unless the consumer group ${group} has offsets of it`;
}

/** Where a group without offsets begins. */
function startText(start: string): string {
  if (start === "earliest") return "its beginning";
  return start === "latest" ? "its end (what it holds now is not read)" : `what came at ${start} or later`;
}

/** A topic of a new pipeline that another one reads: rows go to two tables. */
export function sharedText(shared: SharedTopic): string {
  return `${readToo(shared)}: rows are written twice, in two tables`;
}

/** The same, where both write to one table. */
export function rowsTwiceText(shared: SharedTopic): string {
  const { start, adopted, goesOn } = shared;
  const written = adopted === undefined ? "what it has written" : "what it has written from there on";
  const old = start === "latest" && adopted === undefined ? [] : [written];
  const rows = [...old, ...(goesOn ? ["all new events"] : [])];
  return `${readToo(shared)} into the same table: ${rows.join(" and ")} ${goesOn ? "are" : "is"} in that table twice`;
}

export function joinReplaysText({ left, right }: CautionFacts["JoinReplays"]): string {
  const topics = `topics ${left} and ${right} are both read from their past`;
  return (
    `${topics}, and a join is by arrival: left events meet the right event that was read before them, or wait for one as long as ` +
    "their window. Read the left topic from its end, or after the right side is loaded"
  );
}

function readToo({ topic, other, goesOn, ...begin }: SharedTopic): string {
  const again = begin.start === "latest" && begin.adopted === undefined ? "is read too" : `is ${readFrom(begin)}`;
  return `topic ${topic}, which ${other} ${goesOn ? "reads" : "has read"}, ${again}`;
}

/** What a recreation in another group would read. */
export function anewText({ former, topics }: TopicsAnew): string {
  return topics
    .map(({ topic, source_id, ...begin }) => {
      const setting = `x-sluice.sources.${source_id}.adopt_group`;
      return `; topic ${topic} is then ${readFrom(begin)}, unless ${setting} names the former consumer group ${former}`;
    })
    .join("");
}

function readFrom({ adopted, start }: Pick<TopicStart, "adopted" | "start">): string {
  if (adopted !== undefined) return `read from the offsets of the consumer group ${adopted}`;
  return `read ${start === "latest" ? "" : "again "}from ${startText(start)}`;
}

/** The committed offsets that a deleted pipeline leaves in Kafka. */
export function placeText({ group, topics, lag, uncommitted }: GroupPlace): string {
  const ends = topics.length === 1 ? "its end" : "their ends";
  const before = lag === 0 ? "" : `, ${counted(lag, "offset")} before ${ends}`;
  const again = uncommitted === 0 ? "" : `, which reads ${counted(uncommitted, "offset")} again`;
  const place = `consumer group ${group} keeps its committed offsets of ${topicsText(topics)}`;
  return `; ${place}${before}, and a pipeline with this pipeline_id continues from them${again}`;
}

/** Where a recreated pipeline reads. */
export function positionText(position: RecreatedPosition | undefined): string {
  if (position === undefined) return "";
  if (position.reads === "anew") return beginningText(position.topics);
  if (position.reads === "left") return placeText(position.place);
  return `; the consumer group ${position.group} is kept, and reading continues from its committed offsets`;
}

/** What a stop leaves in the topics. */
export function unreadText(topics: readonly string[], lag: number): string {
  return `; ${counted(lag, "offset")} ${lag === 1 ? "stays" : "stay"} unread in ${topicsText(topics)}`;
}

/** What an edit does to where a pipeline reads. */
export function rereadingText({ elsewhere, added, removed, begins, take_over }: Rereading): string {
  const clauses = [
    elsewhereText(elsewhere),
    added.map(startUnless).join(""),
    removed === undefined ? "" : removedText(removed),
    begins ? "; the start applies only to a topic of which its consumer group has no offsets" : "",
  ];
  if (take_over !== undefined)
    clauses.push(
      `; it continues from the offsets that run ${take_over} committed: pending batches that begin below them are given up, ` +
        "and dedup does not know the events of that run",
    );
  return clauses.join("");
}

function elsewhereText(topics: readonly TopicStart[]): string {
  if (topics.length === 0) return "";
  const read = topics.map(({ topic, start }) => `topic ${topic} is read there from ${startText(start)}`);
  const pending = "x-sluice.on_lost decides about pending batches of the old one";
  return `; if the new brokers are another cluster, ${read.join(", ")}, and ${pending}`;
}

function removedText({ topics, lag, becomesLetters }: NonNullable<Rereading["removed"]>): string {
  const count = lag === 0 ? "" : ` (${counted(lag, "offset")})`;
  const held = becomesLetters ? ", and events of a removed source in pending batches become dead letters" : "";
  return `; what was not read yet of ${topicsText(topics)}${count} stays unread${held}`;
}

/** Such as `topics orders and returns`. */
export function topicsText(topics: readonly string[]): string {
  return topics.length === 1 ? `topic ${topics[0]}` : `topics ${listed(topics)}`;
}
