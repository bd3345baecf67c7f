import { closeSync, openSync, writeSync } from "node:fs";
import { Kafka, logLevel, type Message } from "kafkajs";
import { produce } from "../support/kafka/produce.ts";
import { shapeNamed } from "./kafka-cases.ts";
import { eventText, type Shape } from "./kafka-shape.ts";
import { partitions } from "./kafka-topic.ts";

/** A program of its own: fills a topic with the events of a shape, and a file with the same, a line each. */
const [, , shape = "", brokers = "", topic = "", path = ""] = process.argv;

const linesAtOnce = 1_000;

function* messages(of: Shape, file: number): Generator<Message> {
  let lines = "";
  for (let index = 0; index < of.events; index += 1) {
    const value = eventText(of, index);
    lines += `${value}\n`;
    if ((index + 1) % linesAtOnce === 0 || index + 1 === of.events) {
      writeSync(file, lines);
      lines = "";
    }
    yield { value, partition: index % partitions };
  }
}

const client = new Kafka({ clientId: "fill", brokers: brokers.split(","), logLevel: logLevel.NOTHING });
const file = openSync(path, "w");
await produce(client, topic, messages(shapeNamed(shape), file));
closeSync(file);
