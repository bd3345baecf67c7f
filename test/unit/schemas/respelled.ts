import { parseDuration, type PipelineV3 } from "../../../schemas/index.ts";
import { Random } from "../../support/random.ts";
import { cpuSpelling, durationSpelling, sizeSpelling, typeSpelling } from "../../support/spellings.ts";

type Mapping = Record<string, unknown>;

/**
 * The same pipeline in other words: durations, quantities, aliases, types in other letters, keys and transforms in another
 * order, defaults written out or left out, absent values written as an exporter does. The seed chooses.
 */
export function respelled(document: PipelineV3, seed: number): PipelineV3 {
  return new Speller(new Random(seed)).pipeline(
    structuredClone(document) as unknown as Mapping,
  ) as unknown as PipelineV3;
}

class Speller {
  readonly #random: Random;

  constructor(random: Random) {
    this.#random = random;
  }

  pipeline(file: Mapping): Mapping {
    const batch = (file["sink"] as Mapping)["max_batch_size"] ?? 1000;
    for (const source of list(file["sources"])) this.#source(source);
    for (const transform of list(file["transforms"])) this.#transform(transform);
    file["transforms"] = this.#random.shuffled(list(file["transforms"]));
    this.#default(file, "transforms", []);
    this.#join(file);
    this.#sink(file["sink"] as Mapping);
    this.#tags(file);
    this.#resources(file, 8 * Number(batch));
    if (text(file["name"] ?? "").trim() === "") this.#either(file, "name", [undefined, " ", "Orders Eu"]);
    if (file["x-sluice"] === undefined)
      this.#either(file, "x-sluice", [undefined, {}, { create_table: false }, { on_uncertain: "insert" }]);
    this.#exported(file);
    file["version"] = this.#random.pick("v3", " v3 ");
    file["pipeline_id"] = this.#random.pick("orders-eu", " orders-eu");
    return this.#inAnyOrder(file) as Mapping;
  }

  #source(source: Mapping): void {
    const type = text(source["type"]);
    source["type"] = this.#random.pick(type, type.toUpperCase(), ` ${type} `);
    for (const field of list(source["schema_fields"])) this.#type(field, "type");
    if (type === "otlp.logs") this.#either(source, "schema_version", [undefined, "7"]);
    if (type !== "kafka") return;
    const offset = text(source["consumer_group_initial_offset"] ?? "").toLowerCase() || "earliest";
    source["consumer_group_initial_offset"] = this.#random.pick(offset, offset.toUpperCase(), ` ${offset} `);
    if (offset === "earliest") this.#either(source, "consumer_group_initial_offset", [undefined, "", "Earliest"]);
    this.#default(source, "schema_version", "1");
    this.#default(source, "format", "json");
    const connection = source["connection_params"] as Mapping;
    this.#default(connection, "mechanism", "NO_AUTH", "");
    if (connection["mechanism"] === "") delete connection["mechanism"];
    this.#default(connection, "skip_tls_verification", false);
    for (const key of ["username", "root_ca"]) if (!connection[key]) this.#either(connection, key, [undefined, ""]);
  }

  #transform(transform: Mapping): void {
    const config = transform["config"] as Mapping;
    if (config["time_window"] !== undefined) this.#duration(config, "time_window");
    if (config["key"] !== undefined) this.#key(config, config["key"] as string | string[]);
    for (const output of list(config["transforms"])) this.#type(output, "output_type");
  }

  #key(config: Mapping, key: string | string[]): void {
    const fields = Array.isArray(key) ? key : [key];
    const asObject = `{ ${fields.map((field, at) => `"k${at}": ${field}`).join(",")} }`;
    const isPlain = fields.every((field) => /^[A-Za-z_][\w.-]*$/.test(field));
    config["key"] = this.#random.pick(key, fields, ...(isPlain ? [asObject] : []));
  }

  #join(file: Mapping): void {
    const join = file["join"] as Mapping | undefined;
    if (join === undefined || join["enabled"] === false)
      return this.#either(file, "join", [undefined, { enabled: false }, { enabled: false, type: "join" }]);
    this.#either(join, "type", [undefined, "", "join", "temporal"]);
    for (const side of ["left_source", "right_source"]) this.#duration(join[side] as Mapping, "time_window");
    for (const field of list(join["output_fields"])) this.#default(field, "output_name", field["name"]);
  }

  #sink(sink: Mapping): void {
    const connection = sink["connection_params"] as Mapping;
    this.#default(connection, "secure", false);
    this.#default(connection, "skip_certificate_verification", false);
    this.#default(connection, "database", "default");
    if (!connection["http_port"]) this.#either(connection, "http_port", [undefined, ""]);
    this.#default(sink, "max_batch_size", 1000);
    const delay = parseDuration(text(sink["max_delay_time"] ?? "0")) === 0n ? "60s" : sink["max_delay_time"];
    sink["max_delay_time"] = delay;
    this.#duration(sink, "max_delay_time");
    if (delay === "60s") this.#either(sink, "max_delay_time", [undefined, "0", "0s", "1m"]);
    for (const entry of list(sink["mapping"])) {
      const type = text(entry["column_type"]).trim();
      entry["column_type"] = this.#random.pick(
        type,
        ` ${type} `,
        type.replaceAll(/([(),])/g, " $1 "),
        type.replaceAll(", ", ","),
      );
    }
  }

  #tags(file: Mapping): void {
    const metadata = (file["metadata"] ?? {}) as Mapping;
    const tags = (metadata["tags"] ?? []) as string[];
    if (tags.length === 0) return this.#either(file, "metadata", [undefined, {}, { tags: null }, { tags: [] }]);
    metadata["tags"] = [...this.#random.shuffled(tags), ...this.#random.pick([], [tags[0]])];
  }

  #resources(file: Mapping, messages: number): void {
    const resources = (file["resources"] ?? {}) as Mapping;
    const nats = (resources["nats"] ?? {}) as Mapping;
    const stream = (nats["stream"] ?? {}) as Mapping;
    this.#stream(stream, messages);
    for (const section of ["sources", "transform"]) {
      for (const entry of list(resources[section])) this.#component(entry);
    }
    if (resources["sink"] !== undefined) this.#component(resources["sink"] as Mapping);
    const isEmpty = Object.keys(stream).length === 0;
    if (!isEmpty) Object.assign(resources, { nats: { ...nats, stream } });
    if (Object.keys(resources).length > 0) file["resources"] = resources;
  }

  #stream(stream: Mapping, messages: number): void {
    for (const [key, alias, byDefault] of [
      ["max_age", "maxAge", "24h"],
      ["max_bytes", "maxBytes", "0"],
      ["max_msgs", "maxMsgs", 0],
    ] as const) {
      const value = stream[key] ?? stream[alias] ?? byDefault;
      const isDefault = value === byDefault || value === messages;
      delete stream[alias];
      stream[key] = value;
      if (key === "max_age") this.#duration(stream, key);
      if (key === "max_bytes") this.#size(stream, key, "KB");
      if (key === "max_msgs" && isDefault) this.#either(stream, key, [undefined, 0, messages]);
      const spelled = stream[key];
      delete stream[key];
      for (const name of this.#random.pick([key], [alias], [key, alias], ...(isDefault ? [[]] : [])))
        if (spelled !== undefined) stream[name] = spelled;
    }
  }

  #component(component: Mapping): void {
    if (Number(component["replicas"] ?? 1) <= 1) this.#either(component, "replicas", [undefined, 0, 1, -3]);
    for (const [key, cpu, memory] of [
      ["requests", "100m", "128Mi"],
      ["limits", "1500m", "1.5Gi"],
    ] as const) {
      component[key] ??= this.#random.pick(undefined, { cpu, memory });
      const amounts = component[key] as Mapping | undefined;
      if (amounts === undefined) delete component[key];
      if (amounts?.["cpu"] !== undefined) amounts["cpu"] = cpuSpelling(text(amounts["cpu"]), this.#random);
      if (amounts?.["memory"] !== undefined) this.#size(amounts, "memory", "Ki");
    }
    const storage = component["storage"] as Mapping | undefined;
    if (storage?.["size"] !== undefined) this.#size(storage, "size", "Ki");
  }

  /** What the structs of a Go program print for values that are absent: null, or the zero value of each type. */
  #exported(file: Mapping): void {
    for (const { config } of list(file["transforms"])) {
      for (const key of ["key", "expression"]) this.#zero(config as Mapping, key, "");
      this.#zero(config as Mapping, "time_window", "0s", "");
      this.#zero(config as Mapping, "transforms", []);
    }
    for (const source of list(file["sources"])) {
      this.#zero(source, "schema_registry");
      if (text(source["type"]).trim().toLowerCase() === "kafka") continue;
      const noBroker = { brokers: null, protocol: "", username: "", skip_tls_verification: false };
      this.#zero(source, "connection_params", noBroker, {});
      this.#zero(source, "schema_fields", []);
      for (const key of ["topic", "format", "schema_version"]) this.#zero(source, key, "");
    }
    for (const output of list((file["join"] as Mapping | undefined)?.["output_fields"]))
      this.#zero(output, "output_name", "");
    for (const key of ["transforms", "join", "metadata", "resources"]) this.#zero(file, key);
    const resources = file["resources"] as Mapping | null | undefined;
    for (const key of ["nats", "sources", "transform", "sink"]) if (resources) this.#zero(resources, key);
    for (const key of ["requests", "limits"]) if (resources?.["sink"]) this.#zero(resources["sink"] as Mapping, key);
    this.#zero(file["sink"] as Mapping, "mapping");
  }

  /** An absent value stays absent, or is null, or one of the zero values. */
  #zero(holder: Mapping, key: string, ...zeros: readonly unknown[]): void {
    if (holder[key] === undefined) this.#either(holder, key, [undefined, null, ...zeros]);
  }

  #duration(holder: Mapping, key: string): void {
    holder[key] = durationSpelling(text(holder[key]), this.#random);
  }

  #size(holder: Mapping, key: string, kilo: string): void {
    holder[key] = sizeSpelling(text(holder[key]), kilo, this.#random);
  }

  #type(holder: Mapping, key: "type" | "output_type"): void {
    holder[key] = typeSpelling(text(holder[key]), key, this.#random);
  }

  /** Written out, left out, or in another spelling, where it is what would be filled in. */
  #default(holder: Mapping, key: string, value: unknown, ...same: unknown[]): void {
    const given = holder[key];
    if (given === undefined || JSON.stringify(given) === JSON.stringify(value))
      this.#either(holder, key, [undefined, value, ...same]);
  }

  #either(holder: Mapping, key: string, values: readonly unknown[]): void {
    const value = this.#random.pick(...values);
    if (value === undefined) delete holder[key];
    else holder[key] = value;
  }

  #inAnyOrder(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((item) => this.#inAnyOrder(item));
    if (typeof value !== "object" || value === null) return value;
    const entries = this.#random.shuffled(Object.entries(value));
    return Object.fromEntries(entries.map(([key, member]) => [key, this.#inAnyOrder(member)]));
  }
}

function list(value: unknown): Mapping[] {
  return Array.isArray(value) ? (value as Mapping[]) : [];
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
