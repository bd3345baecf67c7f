import { consumerGroup } from "../../../../engine/core/names.ts";
import { Codecs } from "../../../../engine/sources/kafka/protocol/codecs.ts";
import { Random } from "../../random.ts";
import { SimulatedClock } from "../clock.ts";
import { SimulatedClickHouse } from "../clickhouse/clickhouse.ts";
import { drawTrouble } from "../clickhouse/trouble.ts";
import { SimulatedKafka } from "../kafka/simulated-kafka.ts";
import { SimulatedMachine } from "../machine.ts";
import { SimulatedNetwork } from "../network.ts";
import { eventText, Ledger, type SentEvent } from "./ledger.ts";
import { clickHouseHost, fileText, firstFile, partitions, pipelineId, type PipelineFile } from "./pipelines.ts";
import { breaches } from "./promises.ts";
import { SimulatedRepository, SluiceProcess } from "./sluice.ts";
import type { Happening, NewEvent, WorldShape } from "./story.ts";

const realChance = Math.random;
/** Turns of the event loop in which the last steps of an ended process are done. */
const lastTurns = 20;
const hour = 3_600_000;
/** The longest that a world may take to come to rest when everything is mended. */
const patience = 3 * hour;
/** How much later the other replica shows a part at the most, in milliseconds. */
const slowestReplica = 5_000;
const constraint = {
  name: "good",
  expression: "fate != 'constraint'",
  holds: (row: Record<string, unknown>) => row["fate"] !== "constraint",
};
/** No server is there again sooner: its uptime, which is in whole seconds, then shows that it was started. */
const fastestStart = 1_100;
/** How long a statement, or a part of an insert, takes a server at the most, in milliseconds. */
const slowestWork = 150;
/** No world needs more callbacks: one that does goes round without rest. */
const mostSteps = 300_000;
/** How long a person waits before looking at what does not go on. */
const personComes = 10 * 60_000;

/** A pipeline of a world, with everything around it. */
interface Place {
  file: PipelineFile;
  clickHouse: SimulatedClickHouse;
  hasSkipped: boolean;
  hasForgotten: boolean;
  /** The commit by which a person terminated it or took it away, until a later one is carried out. */
  takenAwayBy: string | undefined;
  /** Its topic lost events, or was made anew. */
  isCut: boolean;
  /** The table took at some time what its constraint refuses. */
  hadNoConstraint: boolean;
  said: Map<string, number>;
}

/**
 * Everything that Sluice lives in: a machine, a network, servers, people. All of it is simulated, and all that happens
 * comes from the story and from draws of one seed. Sluice itself is the real one, from the reconciler to the bytes that
 * leave it.
 */
export class World {
  /** How often each thing was met. */
  readonly met = new Map<string, number>();
  readonly clock = new SimulatedClock();
  /** Is given each line of the log, with the time in milliseconds since the world began. */
  onLine: (line: string) => void = () => undefined;
  readonly #shape: WorldShape;
  readonly #random: Random;
  readonly #network: SimulatedNetwork;
  readonly #machine: SimulatedMachine;
  readonly #kafka: SimulatedKafka;
  readonly #repository = new SimulatedRepository();
  readonly #ledger = new Ledger();
  readonly #places: Place[];
  readonly #secrets = new Map([
    ["env:PASSWORD", "secret-0"],
    ["env:TOKEN", "token-of-a-sender-0"],
  ]);
  #sluice!: SluiceProcess;
  /** Why no process runs. */
  #startFailure = "";
  /** Ends in order, or never: nothing waits for it but the next start. */
  #starting: NodeJS.Timeout | undefined;

  constructor(shape: WorldShape) {
    this.#shape = shape;
    this.#random = new Random(shape.seed);
    const draw = (n: number): number => this.#random.below(n);
    this.#network = new SimulatedNetwork(draw);
    this.#machine = new SimulatedMachine(draw);
    const topics = Object.fromEntries(shape.pipelines.map((_, index) => [pipelineId(index), partitions]));
    this.#kafka = new SimulatedKafka({ network: this.#network, draw, topics });
    this.clock.mostSteps = mostSteps;
    this.#places = shape.pipelines.map((_, index) => ({
      file: firstFile,
      clickHouse: new SimulatedClickHouse({
        network: this.#network,
        address: `${clickHouseHost(index)}:8123`,
        draw,
        work: [1, slowestWork],
        ...(shape.table === "ReplicatedMergeTree" && { replicas: 2, lag: [0, slowestReplica] as const }),
        table: {
          database: "default",
          name: "events",
          engine: shape.table,
          window: shape.entries,
          columns: [
            { name: "id", type: "UInt64" },
            { name: "key", type: "String" },
            { name: "fate", type: "String" },
            { name: "part", type: "UInt8" },
            { name: "at", type: "Int64" },
          ],
          partitionBy: { expression: "part", of: (row) => Number(row["part"]) },
          constraints: [constraint],
        },
      }),
      hasSkipped: false,
      hasForgotten: false,
      takenAwayBy: undefined,
      isCut: false,
      hadNoConstraint: false,
      said: new Map(),
    }));
  }

  /** Begins: its time and its chance take the place of the real ones, everything is up, and every pipeline runs. */
  async begin(): Promise<void> {
    // What loads parts of itself does it before, as that takes real time.
    await Codecs.load();
    this.clock.install();
    Math.random = () => this.#random.below(2 ** 30) / 2 ** 30;
    for (const { clickHouse } of this.#places) clickHouse.start();
    this.#commit();
    this.#start();
    await this.clock.until(() => this.#isQuiet(), 60_000);
  }

  /** Lets one thing happen. */
  async let(happening: Happening): Promise<void> {
    this.#meet(happening.kind);
    await this.#happens(happening);
    await this.clock.pass(this.#random.below(20));
  }

  /** Mends everything, and lets it come to rest. Returns what keeps it from that, in words. */
  async settle(): Promise<string[]> {
    await this.#mend();
    for (let waited = 0; waited < patience; waited += personComes) {
      if (await this.clock.until(() => this.#isQuiet(), personComes)) return [];
      await this.#act();
    }
    return this.#places.flatMap((_, index) => [...this.#unrest(index)]);
  }

  /** What was promised and is not so, in words. */
  breaches(): string[] {
    return this.#shape.pipelines.flatMap((shape, index) => {
      const { clickHouse, said, hasSkipped, hasForgotten, hadNoConstraint } = this.#places[index]!;
      const outcome = {
        shape,
        sent: this.#ledger.of(index),
        rows: clickHouse.rows().flatMap(({ id, key }) => (key === "other" ? [] : [Number(id)])),
        letters: this.#lettersOf(index),
        said,
        hasSkipped,
        hasForgotten,
        hadNoConstraint,
        times: clickHouse.stored().map(({ row, writtenAt }) => ({ id: Number(row["id"]), writtenAt })),
        received: (clickHouse.table?.received ?? []).map(({ token, row }) => ({
          id: Number(row["id"]),
          token,
          row: JSON.stringify(row),
        })),
        isAtLeastOnce: false,
      };
      const unknown = [...clickHouse.unknown, ...this.#kafka.unknown].map(
        (statement) => `not understood: ${statement}`,
      );
      return [...breaches(outcome), ...unknown].map((text) => `${pipelineId(index)}: ${text}`);
    });
  }

  /** Ends everything, and gives the real time and the real chance back. */
  async end(): Promise<void> {
    this.#sluice.life.end();
    // What was under way goes on to its next wait here, and not in the time and with the chance of the next world.
    await this.clock.turns(lastTurns);
    this.clock.uninstall();
    Math.random = realChance;
    for (const { clickHouse } of this.#places)
      for (const [what, times] of clickHouse.met) this.#meet(`clickhouse: ${what}`, times);
    for (const [what, times] of this.#kafka.met) this.#meet(`kafka: ${what}`, times);
    for (const [what, times] of this.#machine.disk.met) this.#meet(`disk: ${what}`, times);
  }

  async #happens(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case "send":
        this.#send(this.#at(happening.pipeline), happening.events);
        break;
      case "time passes":
        await this.clock.pass(happening.milliseconds);
        break;
      case "insert meets":
        for (let time = 0; time < happening.times; time += 1) {
          const draw = (n: number): number => (happening.trouble + this.#random.below(n)) % n;
          this.#place(happening).clickHouse.troubles.push(drawTrouble(draw));
        }
        break;
      case "weather":
        this.#storm(this.#place(happening), happening);
        break;
      case "server is killed":
        this.#killServer(this.#place(happening), happening);
        break;
      case "constraint":
        this.#constrain(this.#place(happening), happening.isThere);
        break;
      case "other writer":
        this.#place(happening).clickHouse.otherWriter(blocksOfOthers(happening.blocks));
        break;
      case "network":
        this.#disturb(this.#at(happening.pipeline), happening);
        break;
      case "connections are reset":
        this.#network.reset(`${clickHouseHost(this.#at(happening.pipeline))}:8123`);
        break;
      case "process is killed":
        this.#kill(happening);
        break;
      case "process is killed at an insert":
        this.#place(happening).clickHouse.onceWritten(happening.kth, () => this.#kill(happening));
        break;
      case "power is lost":
        this.#sluice.life.end();
        this.#machine.losePower();
        this.#startLater(happening);
        break;
      case "process restarts":
        await this.#restart();
        break;
      case "thread dies":
        this.#killThread();
        break;
      case "disk fails":
        this.#machine.disk.fail(happening.call, happening.kth, happening);
        break;
      case "disk is full":
        this.#fillDisk(happening.milliseconds);
        break;
      case "store fails":
        this.#machine.storeTroubles.push(happening.code);
        break;
      case "clock steps":
        this.#stepClock(happening.by);
        break;
      case "machine stands still":
        this.clock.freeze(happening.milliseconds, happening);
        this.#forget();
        break;
      case "edit":
        this.#edit(happening, ({ dropsEven }) => ({ dropsEven: !dropsEven }));
        break;
      case "larger batches":
        this.#edit(happening, ({ max_batch_size }) => ({ max_batch_size: (max_batch_size % 5) + 2 }));
        break;
      case "option":
        if (happening.on_uncertain === "skip") this.#place(happening).hasSkipped = true;
        this.#edit(happening, () => ({ on_uncertain: happening.on_uncertain }));
        break;
      case "secret changes":
        this.#secrets.set("env:TOKEN", `token-of-a-sender-${this.#random.below(1000)}`);
        this.#secrets.set("env:PASSWORD", `secret-${this.#random.below(1000)}`);
        break;
      case "state":
        this.#edit(happening, () => ({ state: happening.state }));
        if (happening.state === "Terminated") this.#takeAway(happening);
        break;
      case "file":
        this.#edit(happening, () => ({ isThere: happening.isThere }));
        this.#takeAway(happening);
        break;
      case "reprocess":
        this.#reprocess(this.#at(happening.pipeline));
        break;
      case "transaction is aborted":
        this.#abort(this.#at(happening.pipeline), happening.events);
        break;
      case "group rebalances":
        this.#kafka.rebalance(consumerGroup(pipelineId(this.#at(happening.pipeline))));
        break;
      case "broker meets":
        this.#troubleBroker(happening);
        break;
      case "broker is down":
        this.#kafka.down(1);
        setTimeout(() => this.#kafka.up(1), happening.milliseconds);
        break;
      case "topic is cut":
        this.#cutTopic(this.#at(happening.pipeline), happening.by);
        break;
    }
  }

  #send(index: number, events: readonly NewEvent[]): void {
    const { source } = this.#shape.pipelines[index]!;
    const mayBeLost = this.#isTakenAway(index);
    for (const event of events) {
      const sent = this.#ledger.send({ ...event, pipeline: index, at: this.clock.monotonic });
      if (mayBeLost) sent.mayBeLost = true;
      if (source === "webhook") this.#post(index, sent);
      else this.#produce(index, sent);
    }
  }

  #produce(index: number, sent: SentEvent, transaction?: "aborted"): void {
    const topic = pipelineId(index);
    const options = { gap: this.#random.below(4) === 0 ? 2 : 0, ...(transaction !== undefined && { transaction }) };
    this.#kafka.produce(topic, this.#random.below(partitions), [eventText(sent)], options);
    sent.answer = transaction === undefined ? "stored" : "refused";
    if (this.#places[index]!.isCut) sent.mayBeLost = true;
  }

  #abort(index: number, events: readonly NewEvent[]): void {
    if (this.#shape.pipelines[index]!.source !== "kafka") return;
    for (const event of events) {
      this.#produce(index, this.#ledger.send({ ...event, pipeline: index, at: this.clock.monotonic }), "aborted");
    }
  }

  #cutTopic(index: number, by: Extract<Happening, { kind: "topic is cut" }>["by"]): void {
    if (this.#shape.pipelines[index]!.source !== "kafka") return;
    const topic = pipelineId(index);
    this.#ledger.forgive(index);
    this.#places[index]!.isCut = true;
    if (by === "deletion") this.#kafka.recreate(topic);
    else {
      const partition = this.#random.below(partitions);
      const { start, end } = this.#kafka.ends(topic, partition);
      const at = start + this.#random.below(end - start + 1);
      if (by === "truncation") this.#kafka.truncate(topic, partition, at);
      else this.#kafka.retain(topic, partition, at);
    }
  }

  #troubleBroker({ request, trouble }: Extract<Happening, { kind: "broker meets" }>): void {
    switch (trouble) {
      case "not leader":
        this.#kafka.trouble(request, { kind: "error", code: "NOT_LEADER_OR_FOLLOWER" });
        break;
      case "slow":
        this.#kafka.trouble(request, { kind: "slow", milliseconds: 1 + this.#random.below(20_000) });
        break;
      default:
        this.#kafka.trouble(request, { kind: trouble });
    }
  }

  #post(index: number, sent: SentEvent): void {
    const token = this.#secrets.get("env:TOKEN")!;
    void this.#sluice.post(pipelineId(index), token, eventText(sent)).then((status) => {
      sent.answer = status === 202 ? "stored" : "refused";
      this.#meet(`answer: ${status}`);
    });
  }

  #killServer(
    { clickHouse }: Place,
    { losesParts, milliseconds }: { losesParts: boolean; milliseconds: number },
  ): void {
    clickHouse.kill({ losesParts });
    setTimeout(() => clickHouse.start(), Math.max(fastestStart, milliseconds));
  }

  #constrain(place: Place, isThere: boolean): void {
    // What was written without an answer is refused when it comes again, or what was refused is written by an earlier
    // send that is still on its way: it is a row and a dead letter then.
    this.#ledger.constraintChanged(this.#places.indexOf(place));
    place.hadNoConstraint ||= !isThere;
    place.clickHouse.alter({ constraints: isThere ? [constraint] : [] });
  }

  #storm({ clickHouse }: Place, { inserts, others, milliseconds }: Extract<Happening, { kind: "weather" }>): void {
    clickHouse.troubleRate = { inserts, others };
    setTimeout(() => (clickHouse.troubleRate = { inserts: 0, others: 0 }), milliseconds);
  }

  #disturb(index: number, { is, milliseconds }: Extract<Happening, { kind: "network" }>): void {
    const address = `${clickHouseHost(index)}:8123`;
    const field = is === "silent" ? "isSilent" : "isRefusing";
    this.#network.set(address, { [field]: true });
    setTimeout(() => this.#network.set(address, { [field]: false }), milliseconds);
  }

  #start(): void {
    clearTimeout(this.#starting);
    this.#startFailure = "it is being started";
    this.#starting = undefined;
    this.#sluice = new SluiceProcess({
      machine: this.#machine,
      network: this.#network,
      repository: this.#repository,
      secrets: this.#secrets,
      threads: this.#shape.threads,
      onLogged: (level, sentence, fields) => this.#logged(level, sentence, fields),
    });
    // A supervisor starts a process again that cannot start.
    this.#sluice.opened.catch((error: unknown) => {
      this.#startFailure = String(error);
      this.onLine(`${this.clock.monotonic} start failed: ${this.#startFailure}`);
      this.#meet(`start failed: ${String(error).slice(0, 60)}`);
      this.#sluice.kill();
      this.#startAfter(5_000);
    });
  }

  #startAfter(milliseconds: number): void {
    clearTimeout(this.#starting);
    this.#starting = setTimeout(() => this.#start(), milliseconds);
  }

  async #restart(): Promise<void> {
    if (this.#starting !== undefined) return;
    const before = this.#sluice;
    let hasStopped = false;
    void before.stop().then(() => (hasStopped = true));
    await this.clock.until(() => hasStopped, 20_000);
    if (!hasStopped) before.kill();
    // It may have been killed meanwhile, after which it is started again.
    if (this.#sluice === before && this.#starting === undefined) this.#start();
  }

  #kill(ending: { isMended: boolean; milliseconds: number }): void {
    // An insert of a process that is dead by now may be written still.
    if (this.#starting !== undefined) return;
    this.#sluice.kill();
    this.#startLater(ending);
  }

  /** Nothing runs for so long. `isMended`: a person drops the constraints of the tables meanwhile. */
  #startLater({ isMended, milliseconds }: { isMended: boolean; milliseconds: number }): void {
    if (isMended) for (const place of this.#places) this.#constrain(place, false);
    this.#startAfter(milliseconds);
  }

  #killThread(): void {
    const alive = this.#sluice.threads.filter(({ isDead }) => !isDead);
    alive[this.#random.below(Math.max(1, alive.length))]?.die("simulated");
  }

  #fillDisk(milliseconds: number): void {
    this.#machine.disk.free = 0;
    setTimeout(() => (this.#machine.disk.free = Infinity), milliseconds);
  }

  /** The clock of Sluice's machine is set; those of the servers go on as they were. */
  #stepClock(by: number): void {
    this.clock.step(by);
    for (const { clickHouse } of this.#places) clickHouse.stepClock(-by);
    this.#forget();
  }

  /** By the clock, dedup may have forgotten what it knew. */
  #forget(): void {
    for (const place of this.#places) place.hasForgotten = true;
  }

  #takeAway({ pipeline }: { pipeline: number }): void {
    const index = this.#at(pipeline);
    const place = this.#places[index]!;
    place.hasForgotten = true;
    place.takenAwayBy = this.#repository.newest;
    this.#ledger.forgive(index);
  }

  /** Whether a person terminates it or takes it away, and it drops what it had not written; also shortly afterwards. */
  #isTakenAway(index: number): boolean {
    const place = this.#places[index]!;
    if (place.file.state === "Terminated" || !place.file.isThere) return true;
    if (place.takenAwayBy === undefined) return false;
    const { pipelines = [] } = this.#sluice.reconciler?.snapshot() ?? {};
    const of = pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId(index));
    if ((of?.lastAppliedRevision ?? "") > place.takenAwayBy) place.takenAwayBy = undefined;
    return place.takenAwayBy !== undefined;
  }

  #edit({ pipeline }: { pipeline: number }, change: (file: PipelineFile) => Partial<PipelineFile>): void {
    const place = this.#places[this.#at(pipeline)]!;
    place.file = { ...place.file, ...change(place.file) };
    this.#commit();
  }

  #commit(): void {
    const files = this.#places.flatMap(({ file }, index): [string, string][] =>
      file.isThere ? [[`${pipelineId(index)}.json`, fileText(index, this.#shape.pipelines[index]!, file)]] : [],
    );
    this.#repository.commit(new Map(files));
  }

  #reprocess(index: number): void {
    const { engine, life } = this.#sluice;
    if (engine === undefined) return;
    void life.run(() => engine.reprocess(pipelineId(index), { mode: "all" })).catch(() => undefined);
  }

  async #mend(): Promise<void> {
    this.#machine.disk.heal();
    this.#kafka.calm();
    this.#kafka.up(1);
    this.#machine.disk.free = Infinity;
    this.#machine.storeTroubles.length = 0;
    for (const [index, place] of this.#places.entries()) {
      this.#network.set(`${clickHouseHost(index)}:8123`, { isSilent: false, isRefusing: false });
      place.clickHouse.troubles.length = 0;
      place.clickHouse.troubleRate = { inserts: 0, others: 0 };
      const { file } = place;
      const on_uncertain = file.on_uncertain === "pause" ? "insert" : file.on_uncertain;
      place.file = { ...file, isThere: true, state: "Running", on_uncertain };
    }
    this.#commit();
    if (this.#starting !== undefined) this.#start();
  }

  /** What a person does about a pipeline that does not go on by itself: it changes the file, as a failure asks for. */
  async #act(): Promise<void> {
    for (const [index, place] of this.#places.entries()) {
      if (this.#isAtRest(index)) continue;
      this.#meet("a person acts");
      place.file = { ...place.file, max_batch_size: (place.file.max_batch_size % 5) + 2, on_lost: "skip" };
    }
    this.#commit();
  }

  #isQuiet(): boolean {
    return this.#places.every((_, index) => this.#isAtRest(index));
  }

  #isAtRest(index: number): boolean {
    return this.#unrest(index).next().done === true;
  }

  /** What is not as it is to be in the end. What is found fast comes first: it is asked after each thing that happens. */
  *#unrest(index: number): Generator<string, void> {
    const { engine } = this.#sluice;
    const id = pipelineId(index);
    if (engine === undefined) {
      yield `no process runs: ${this.#startFailure}`;
      return;
    }
    if (!engine.list().some(({ pipeline_id }) => pipeline_id === id)) {
      yield `${id} is not there`;
      return;
    }
    const { overall_status, failure, paused, pending_batches, stream } = engine.health(id);
    if (overall_status !== "Running") yield `${id} is ${overall_status}: ${failure ?? ""}`;
    if (paused !== undefined) yield `${id} is paused: ${paused.class}: ${paused.text}`;
    if (pending_batches > 0) yield `${id} has ${pending_batches} pending batches`;
    if (stream?.messages !== 0) yield `${id} has ${stream?.messages ?? "unknown"} events in its stream`;
    for (const text of this.#unreadOf(index)) yield `${id} ${text}`;
  }

  /** What of its topic is not read, as far as the group says. */
  *#unreadOf(index: number): Generator<string, void> {
    if (this.#shape.pipelines[index]!.source !== "kafka") return;
    const topic = pipelineId(index);
    const committed = this.#kafka.committed(consumerGroup(topic));
    for (let partition = 0; partition < partitions; partition += 1) {
      const offset = committed.get(`${topic}/${partition}`)?.offset ?? 0;
      const due = this.#kafka.truth.records.filter((one) => one.topic === topic && one.partition === partition);
      const unread = due.filter((one) => one.lost === undefined && one.offset >= offset).length;
      if (unread > 0) yield `has read partition ${partition} up to ${offset}, and ${unread} records follow`;
    }
  }

  #lettersOf(index: number): number[] {
    const { engine } = this.#sluice;
    const queue = engine!.deadLetters(pipelineId(index));
    const { messages } = queue.list(10_000);
    return messages.map(({ original_message }) => (JSON.parse(original_message) as { id: number }).id);
  }

  #logged(level: string, sentence: string, fields: Record<string, unknown>): void {
    this.onLine(`${this.clock.monotonic} ${level} ${sentence} ${JSON.stringify(fields)}`);
    if (level !== "info") this.#meet(`log: ${sentence}`);
    const { pipeline_id } = fields;
    const index = this.#places.findIndex((_, at) => pipelineId(at) === pipeline_id);
    const said = this.#places[index]?.said;
    said?.set(sentence, (said.get(sentence) ?? 0) + 1);
  }

  #at(pipeline: number): number {
    return pipeline % this.#places.length;
  }

  #place({ pipeline }: { pipeline: number }): Place {
    return this.#places[this.#at(pipeline)]!;
  }

  #meet(what: string, times = 1): void {
    this.met.set(what, (this.met.get(what) ?? 0) + times);
  }
}

/** Blocks that another writer inserts: rows that no event of the world is. */
function blocksOfOthers(count: number): { rows: Record<string, unknown>[] }[] {
  const row = { id: 0, key: "other", fate: "row", part: 1 };
  return Array.from({ length: count }, () => ({ rows: [row] }));
}
