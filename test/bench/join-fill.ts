import { Kafka, logLevel, type Message } from "kafkajs";
import { produce } from "../support/kafka/produce.ts";
import { caseNamed, leftText, rightText } from "./join-cases.ts";
import { partitions } from "./kafka-topic.ts";

/** A program of its own: fills a topic with the events of one side. */
const [, , name = "", side = "", brokers = "", topic = ""] = process.argv;

function* messages(): Generator<Message> {
  const of = caseNamed(name);
  const [count, textOf] = side === "left" ? [of.lefts, leftText] : [of.rights, rightText];
  for (let index = 0; index < count; index += 1) yield { value: textOf(of, index), partition: index % partitions };
}

const client = new Kafka({ clientId: "fill", brokers: brokers.split(","), logLevel: logLevel.NOTHING });
await produce(client, topic, messages());
