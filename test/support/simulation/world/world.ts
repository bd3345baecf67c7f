import { consumerGroup } from "../../../../engine/core/names.ts";
import { Codecs } from "../../../../engine/sources/kafka/protocol/codecs.ts";
import { Random } from "../../random.ts";
import { SimulatedClock } from "../clock.ts";
import type { SimulatedClickHouse } from "../clickhouse/clickhouse.ts";
import { drawTrouble } from "../clickhouse/trouble.ts";
import { SimulatedKafka } from "../kafka/simulated-kafka.ts";
import type { TrueRecord } from "../kafka/truth.ts";
import { SimulatedMachine } from "../machine.ts";
import { SimulatedNetwork } from "../network.ts";
import { effectsOf, nameOf, type Effect } from "./effects.ts";
import { eventText, Ledger, otlpText, type SentEvent } from "./ledger.ts";
import {
  clickHouseHost,
  fileText,
  firstFile,
  partitions,
  pipelineId,
  rightTopic,
  topicsOf,
  type PipelineFile,
  type PipelineShape,
} from "./pipelines.ts";
import { breaches, type Outcome, eventsGone } from "./promises.ts";
import { SimulatedRepository, SluiceProcess } from "./sluice.ts";
import type { Happening, Meanwhile, NewEvent, WorldShape } from "./story.ts";
import { brokenView, clickHouseOf, constraint } from "./targets.ts";
import { Topics, type PartitionPlace } from "./topics.ts";

const realChance = Math.random;
/** Turns of the event loop in which the last steps of an ended process are done. */
const lastTurns = 20;
const hour = 3_600_000;
/** The longest that a world may take to come to rest when everything is mended. */
const patience = 3 * hour;
/** No server is there again sooner: its uptime, which is in whole seconds, then shows that it was started. */
const fastestStart = 1_100;
/** No world needs more callbacks: one that does goes round without rest. */
const mostSteps = 300_000;
/** How long a person takes at the most to alter a table that a pipeline is paused for, in milliseconds. */
const personAlters = 90_000;
/** How long a person waits before looking at what does not go on. */
const personComes = 10 * 60_000;
/** So long after its end a supervisor starts a process again, in milliseconds. */
const supervisorWaits = 200;
/** How often a person looks whether another Sluice waits to be told that it may take over, in milliseconds. */
const personLooks = 5_000;
/** So long after a take-over the earlier Sluice has noticed it, in milliseconds. */
const noticed = 60_000;
/** How long nodes may name an old leader, in milliseconds. */
const metadataLag = 500;
/** So long after everything is mended each log that is another one has been noticed, in milliseconds. */
const elected = 60_000;
/** Events that nothing but a partition without a leader could hold up. */
const some = ["f", "g", "h"].map((key, at): NewEvent => ({ key, fate: "row", part: at + 1 }));
/** The longest that a person waits for what has a leader, in milliseconds: a failed insert is sent again by then. */
const ledPatience = 300_000;

/** A pipeline of a world, with everything around it. */
interface Place {
  file: PipelineFile;
  /** Which of two Sluices a person wants it to run on. */
  on: "first" | "second";
  /** The run that a person lets this Sluice take over from, and the files of it that both have. */
  takeOvers: { first?: string; second?: string };
  texts: { first?: string; second?: string };
  /** Until then, in milliseconds since the world began, two Sluices may read its topic. */
  sharedUntil: number;
  clickHouse: SimulatedClickHouse;
  hasSkipped: boolean;
  hasForgotten: boolean;
  /** The commit by which a person terminated it or took it away, until a later one is carried out. */
  takenAwayBy: string | undefined;
  /** A person may have begun it anew where its group stands, or on the other Sluice. */
  hasBegunAnew: boolean;
  /** The table took at some time what its constraint refuses. */
  hadNoConstraint: boolean;
  /** What its view has may differ from what its table has: a person let it go, or its server died within an insert. */
  mayViewLack: boolean;
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
  readonly #topics: Topics;
  /** What was found broken while it happened, in words. */
  readonly #broken: string[] = [];
  readonly #repositories = { first: new SimulatedRepository(), second: new SimulatedRepository() };
  /** Of the second Sluice, which begins with the first take-over and then runs on. */
  readonly #secondMachine: SimulatedMachine;
  #second: SluiceProcess | undefined;
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
    this.#machine.onBroken = () => this.#kill({ milliseconds: supervisorWaits, isMended: false });
    this.#secondMachine = new SimulatedMachine(draw, "fedcba9876543210");
    const names = shape.pipelines.flatMap((of, index) => topicsOf(index, of));
    const topics = Object.fromEntries(names.map((name) => [name, partitions]));
    const { brokers } = shape;
    this.#kafka = new SimulatedKafka({ network: this.#network, draw, topics, brokers, metadataLag });
    this.#topics = new Topics(this.#kafka, draw);
    const addresses = Array.from({ length: brokers }, (_, at) => this.#kafka.address(at + 1));
    this.clock.mostSteps = mostSteps;
    const network = this.#network;
    this.#places = shape.pipelines.map(({ target }, index) => ({
      file: { ...firstFile, brokers: addresses },
      on: "first",
      takeOvers: {},
      texts: {},
      sharedUntil: 0,
      clickHouse: clickHouseOf(target, { network, draw, address: `${clickHouseHost(index)}:8123` }),
      hasSkipped: false,
      hasForgotten: false,
      takenAwayBy: undefined,
      hasBegunAnew: false,
      hadNoConstraint: false,
      mayViewLack: false,
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
    for (const { clickHouse } of this.#places) {
      // A person sees why the pipeline is paused, and takes the setting away.
      setTimeout(() => clickHouse.alter({ isAsync: false }), this.#random.below(personAlters));
    }
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
      if (await this.#comesToRest()) return [];
      await this.#act();
    }
    return this.#places.flatMap((_, index) => [...this.#unrest(index)]);
  }

  /** A group may have offsets of a log that is gone, which say nothing of the other one: what is missing may still come. */
  async #comesToRest(): Promise<boolean> {
    if (!(await this.clock.until(() => this.#isQuiet(), personComes))) return false;
    const lacks = this.#places.some((_, index) => {
      return this.#topics.wasReplaced(this.#topicsOf(index)) && breaches(this.#outcomeOf(index)).found.length > 0;
    });
    if (lacks) await this.clock.pass(elected);
    return this.#isQuiet();
  }

  /** What was promised and is not so, in words. */
  breaches(): string[] {
    const all = this.#shape.pipelines.flatMap((_, index) => {
      const { clickHouse } = this.#places[index]!;
      const { found, checked } = breaches(this.#outcomeOf(index));
      for (const [effect, times] of checked) this.#met(effect, times);
      this.#met("message in place of a cut one", this.#topics.replacing(this.#topicsOf(index)));
      this.#meet(this.#ledger.of(index).some(({ answer }) => answer === "stored") ? "busy pipeline" : "idle pipeline");
      const unknown = [...clickHouse.unknown, ...this.#kafka.unknown].map(
        (statement) => `not understood: ${statement}`,
      );
      return [...found, ...unknown].map((text) => `${pipelineId(index)}: ${text}`);
    });
    return [...this.#broken, ...all];
  }

  #outcomeOf(index: number): Outcome {
    const { clickHouse, said, hasSkipped, hasForgotten, hadNoConstraint, mayViewLack } = this.#places[index]!;
    this.#forgiveLosses(index);
    const copies = clickHouse.tables.get("default.copied");
    return {
      shape: this.#shape.pipelines[index]!,
      sent: this.#ledger.of(index),
      rows: clickHouse
        .stored()
        .flatMap(({ row, writtenAt }) =>
          isOurs(row) ? [{ id: Number(row["id"]), partner: Number(row["partner"]), writtenAt }] : [],
        ),
      ...(copies !== undefined && {
        view: { rows: clickHouse.rows(copies).map(({ id }) => Number(id)), mayLack: mayViewLack },
      }),
      letters: this.#lettersOf(index),
      said,
      hasSkipped,
      hasForgotten,
      hadNoConstraint,
      received: (clickHouse.table?.received ?? []).map(({ token, row }) => ({
        id: Number(row["id"]),
        token,
        row: JSON.stringify(row),
      })),
      isAtLeastOnce: false,
    };
  }

  /** Ends everything, and gives the real time and the real chance back. */
  async end(): Promise<void> {
    this.#sluice.life.end();
    this.#second?.life.end();
    // What was under way goes on to its next wait here, and not in the time and with the chance of the next world.
    await this.clock.turns(lastTurns);
    this.clock.uninstall();
    Math.random = realChance;
    for (const { clickHouse } of this.#places) {
      for (const [what, times] of clickHouse.met) this.#meet(`clickhouse: ${what}`, times);
      for (const [effect, times] of clickHouse.effects) this.#met(effect, times);
      this.#met("repeat dropped by the table", clickHouse.dropped);
    }
    for (const [what, times] of this.#kafka.met) this.#meet(`kafka: ${what}`, times);
    this.#met("reader told of an election", this.#kafka.met.get("Fetch: FENCED_LEADER_EPOCH") ?? 0);
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
      case "insert ends in an error": {
        const { code, after, times } = happening;
        const errors = Array.from({ length: times }, () => ({ kind: "error", code, after }) as const);
        this.#place(happening).clickHouse.troubles.push(...errors);
        break;
      }
      case "view":
        this.#alterView(happening);
        break;
      case "weather":
        this.#storm(this.#place(happening), happening);
        break;
      case "server is killed":
        this.#killServer(this.#place(happening), happening);
        break;
      case "server is killed at an insert": {
        const place = this.#place(happening);
        place.clickHouse.onceBegun(happening.kth, () => this.#killServer(place, { ...happening, losesParts: false }));
        break;
      }
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
      case "broker is down": {
        const node = 1 + this.#random.below(this.#shape.brokers);
        this.#kafka.down(node);
        setTimeout(() => this.#kafka.up(node), happening.milliseconds);
        break;
      }
      case "another Sluice takes over":
        this.#handOver(this.#at(happening.pipeline), happening);
        break;
      case "loss is decided":
        this.#edit(happening, () => ({ on_lost: happening.on_lost }));
        break;
      case "others are led":
        await this.#leadOthers(this.#at(happening.pipeline), happening);
        break;
      default:
        this.#befallTopics(this.#at(happening.pipeline), happening);
    }
  }

  /** What happens to topics, if the pipeline has any. */
  #befallTopics(
    index: number,
    happening: Extract<
      Happening,
      { kind: "topic loses events" | "leader is elected" | "no leader" | "another consumer" }
    >,
  ): void {
    const topics = this.#topicsOf(index);
    if (topics.length === 0) return;
    switch (happening.kind) {
      case "topic loses events":
        this.#topics.lose(topics, happening.by);
        break;
      case "leader is elected":
        this.#topics.elect(topics, happening);
        break;
      case "no leader":
        this.#topics.unlead(topics, happening);
        break;
      default:
        this.#topics.visit(pipelineId(index), topics, happening);
    }
  }

  /** Takes some partition its leader when all is well: what comes into the others is read, whatever is done meanwhile. */
  async #leadOthers(index: number, { meanwhile }: { meanwhile: Meanwhile }): Promise<void> {
    const topics = this.#topicsOf(index);
    if (topics.length === 0 || (await this.settle()).length > 0) return;
    this.#places[index]!.clickHouse.disarm();
    const unled = this.#topics.unlead(topics, { milliseconds: hour, isClean: true })!;
    const before = this.#kafka.truth.records.length;
    this.#send(index, some);
    await this.#does(index, meanwhile);
    this.#send(index, some);
    const held = (): string[] => [...this.#unreadOf(index)];
    await this.clock.until(() => held().length === 0, ledPatience);
    const { paused } = this.#healthOf(index) ?? {};
    // What else it waits for is no matter of leaders.
    const isSource = paused === undefined || paused.class === "source";
    for (const text of isSource ? held() : []) this.#broken.push(heldUpText(index, text, unled));
    if (held().length === 0) this.#met("event read beside no leader", this.#kafka.truth.records.length - before);
    this.#topics.mend();
  }

  async #does(index: number, meanwhile: Meanwhile): Promise<void> {
    switch (meanwhile) {
      case "edit":
        this.#edit({ pipeline: index }, ({ dropsEven }) => ({ dropsEven: !dropsEven }));
        break;
      case "rebalance":
        this.#kafka.rebalance(consumerGroup(pipelineId(index)));
        break;
      case "restart":
        await this.#restart();
        break;
      case "kill":
        this.#kill({ milliseconds: supervisorWaits, isMended: false });
        break;
      default:
        await this.clock.pass(1_000);
    }
  }

  #topicsOf(index: number): string[] {
    return topicsOf(index, this.#shape.pipelines[index]!);
  }

  /** What its topics lost may be a row or not; where a person began it anew, also what the group's offsets left out. */
  #forgiveLosses(index: number): void {
    const { hasBegunAnew, said } = this.#places[index]!;
    // A duplicate that was released is a row of a later batch than the one with which its offset was committed.
    const isReleasedOne = this.#shape.pipelines[index]!.hasDedup && (said.get(eventsGone) ?? 0) > 0;
    const id = pipelineId(index);
    const byId = new Map(this.#ledger.of(index).map((event) => [event.id, event]));
    for (const { record, mayBeLost } of this.#topics.records(this.#topicsOf(index), id)) {
      const event = byId.get(idOf(record));
      const mayBeGone = mayBeLost || (isReleasedOne && record.lost !== undefined);
      if (event !== undefined && mayBeGone) event.mayBeLost = true;
    }
    // Where it went on at the group's offsets, it does not know in which election what comes before them was written.
    const [misled, wasReplaced] = [this.#topics.misled(id), this.#topics.wasReplaced(this.#topicsOf(index))];
    const wasLeftOut = hasBegunAnew && (misled !== undefined || wasReplaced);
    // It ends a loss where the group stands, as a person may have decided it so.
    const wasPlaced = misled === "as a person" && wasReplaced;
    if (wasLeftOut || wasPlaced) this.#ledger.forgive(index, { isAll: true });
  }

  #send(index: number, events: readonly NewEvent[]): void {
    const { source } = this.#shape.pipelines[index]!;
    const mayBeLost = this.#isTakenAway(index);
    const all = events.map((event) => {
      const sent = this.#ledger.send({ ...this.#asSent(source, event), pipeline: index, at: this.clock.monotonic });
      if (mayBeLost) sent.mayBeLost = true;
      return sent;
    });
    if (source === "otlp") this.#export(index, all);
    else if (source === "webhook") for (const sent of all) this.#post(index, sent);
    else for (const sent of all) this.#produce(index, sent);
  }

  /** An event as its source can be: some fates are those of some sources. */
  #asSent(source: PipelineShape["source"], event: NewEvent): NewEvent & { isRight?: true } {
    if (source === "otlp") return { ...event, fate: event.fate === "undeclared" ? "row" : event.fate };
    if (source !== "join") return event;
    const fate = event.fate === "filtered" || event.fate === "even" ? "row" : event.fate;
    if (this.#random.below(2) === 0) return { ...event, fate };
    return { ...event, fate: fate === "undeclared" ? fate : "row", isRight: true };
  }

  #produce(index: number, sent: SentEvent, transaction?: "aborted"): void {
    const topic = sent.isRight === true ? rightTopic(index) : pipelineId(index);
    const options = { gap: this.#random.below(4) === 0 ? 2 : 0, ...(transaction !== undefined && { transaction }) };
    this.#kafka.produce(topic, this.#topics.writable(topic), [eventText(sent)], options);
    sent.answer = transaction === undefined ? "stored" : "refused";
    const { sharedUntil } = this.#places[index]!;
    if (this.clock.monotonic < sharedUntil) sent.mayBeDoubled = true;
  }

  /** A person gives a pipeline to the other Sluice, which waits until it is told that it may take over. */
  #handOver(index: number, { isKilled }: { isKilled: boolean }): void {
    // What other sources have stored is where it was stored, and so is what a join holds.
    if (this.#shape.pipelines[index]!.source !== "kafka") return;
    const place = this.#places[index]!;
    place.on = place.on === "first" ? "second" : "first";
    // Each remembers its own keys.
    place.hasForgotten = true;
    place.hasBegunAnew = true;
    this.#commit();
    if (place.takenAwayBy !== undefined) place.takenAwayBy = this.#repositories[place.on].newest;
    if (this.#second === undefined) {
      this.#second = new SluiceProcess({
        machine: this.#secondMachine,
        network: this.#network,
        repository: this.#repositories.second,
        secrets: this.#secrets,
        threads: this.#shape.threads,
        onLogged: (level, sentence, fields) => this.#logged(level, sentence, fields),
      });
      this.#look();
    }
    if (isKilled) this.#kill({ milliseconds: noticed, isMended: false });
  }

  /** A person looks now and then whether a Sluice asks whose a pipeline is, and says so. */
  #look(): void {
    setTimeout(() => this.#look(), personLooks);
    for (const [index, place] of this.#places.entries()) {
      const { paused } = this.#healthOf(index) ?? {};
      const run = paused?.class === "owner" ? /run ([0-9a-f]{8})/.exec(paused.text)?.[1] : undefined;
      if (run === undefined || place.takeOvers[place.on] === run) continue;
      place.takeOvers[place.on] = run;
      this.#commit();
    }
  }

  /** What the group had not committed when another Sluice went on from there may be there twice. */
  #takenOver(index: number): void {
    const topic = pipelineId(index);
    const committed = this.#kafka.committed(consumerGroup(topic));
    const again = this.#kafka.truth.records.filter(
      (one) => one.topic === topic && one.offset >= (committed.get(`${topic}/${one.partition}`)?.offset ?? 0),
    );
    const ids = new Set(again.map(idOf));
    for (const event of this.#ledger.of(index)) if (ids.has(event.id)) event.mayBeDoubled = true;
    this.#places[index]!.sharedUntil = this.clock.monotonic + noticed;
  }

  /** The Sluice that a person wants a pipeline to run on, where its process runs. */
  #sluiceOf(index: number): SluiceProcess | undefined {
    return this.#places[index]!.on === "first" ? this.#sluice : this.#second;
  }

  #healthOf(index: number) {
    const engine = this.#sluiceOf(index)?.engine;
    const id = pipelineId(index);
    return engine?.list().some(({ pipeline_id }) => pipeline_id === id) === true ? engine.health(id) : undefined;
  }

  #abort(index: number, events: readonly NewEvent[]): void {
    const { source } = this.#shape.pipelines[index]!;
    if (source !== "kafka" && source !== "join") return;
    for (const event of events) {
      const sent = { ...this.#asSent(source, event), pipeline: index, at: this.clock.monotonic };
      this.#produce(index, this.#ledger.send(sent), "aborted");
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

  #export(index: number, all: readonly SentEvent[]): void {
    void this.#sluice.export(pipelineId(index), otlpText(all)).then((status) => {
      for (const sent of all) this.#answered(sent, status === 200);
      this.#meet(`answer: ${status}`);
    });
  }

  #answered(sent: SentEvent, isStored: boolean): void {
    sent.answer = isStored ? "stored" : "refused";
    if (!isStored) this.#met("event refused");
  }

  #post(index: number, sent: SentEvent): void {
    const token = this.#secrets.get("env:TOKEN")!;
    void this.#sluice.post(pipelineId(index), token, eventText(sent)).then((status) => {
      this.#answered(sent, status === 202);
      this.#meet(`answer: ${status}`);
    });
  }

  #alterView(happening: Extract<Happening, { kind: "view" }>): void {
    const place = this.#place(happening);
    switch (happening.is) {
      case "broken":
        place.clickHouse.breakViews(brokenView);
        break;
      case "mended":
        place.clickHouse.breakViews(undefined);
        break;
      case "dropped":
        place.mayViewLack = true;
        place.clickHouse.dropViews();
        break;
      default:
        place.mayViewLack = true;
        this.#edit(happening, () => ({ on_view_error: "skip" }));
    }
  }

  #killServer(place: Place, { losesParts, milliseconds }: { losesParts: boolean; milliseconds: number }): void {
    const { clickHouse } = place;
    // The target of a view may know a token without its rows, as no reading tells.
    place.mayViewLack = true;
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
      repository: this.#repositories.first,
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
    place.hasBegunAnew = true;
    place.takenAwayBy = this.#repositories[place.on].newest;
    this.#ledger.forgive(index);
  }

  /** Whether a person terminates it or takes it away, and it drops what it had not written; also shortly afterwards. */
  #isTakenAway(index: number): boolean {
    const place = this.#places[index]!;
    if (place.file.state === "Terminated" || !place.file.isThere) return true;
    if (place.takenAwayBy === undefined) return false;
    const { pipelines = [] } = this.#sluiceOf(index)?.reconciler?.snapshot() ?? {};
    const of = pipelines.find(({ pipeline_id }) => pipeline_id === pipelineId(index));
    if ((of?.lastAppliedRevision ?? "") > place.takenAwayBy) place.takenAwayBy = undefined;
    return place.takenAwayBy !== undefined;
  }

  #edit({ pipeline }: { pipeline: number }, change: (file: PipelineFile) => Partial<PipelineFile>): void {
    const place = this.#places[this.#at(pipeline)]!;
    place.file = { ...place.file, ...change(place.file) };
    this.#commit();
  }

  /** A person changes the files of the Sluice that a pipeline is to run on. Those of the other one stay as they are. */
  #commit(): void {
    for (const [index, place] of this.#places.entries()) {
      const { file, on, texts, takeOvers } = place;
      const take_over = takeOvers[on];
      const all = { ...file, ...(take_over !== undefined && { take_over }) };
      if (file.isThere) texts[on] = fileText(index, this.#shape.pipelines[index]!, all);
      else delete texts[on];
    }
    for (const on of ["first", "second"] as const) {
      const files = this.#places.flatMap(({ texts }, index): [string, string][] =>
        texts[on] === undefined ? [] : [[`${pipelineId(index)}.json`, texts[on]]],
      );
      this.#repositories[on].commit(new Map(files));
    }
  }

  #reprocess(index: number): void {
    const { engine, life } = this.#sluiceOf(index) ?? {};
    if (engine === undefined || life === undefined) return;
    void life
      .run(() => engine.reprocess(pipelineId(index), { mode: "all" }))
      .then(
        ({ accepted_count }) => this.#met("dead letter reprocessed", accepted_count),
        () => undefined,
      );
  }

  async #mend(): Promise<void> {
    this.#machine.disk.heal();
    this.#kafka.calm();
    for (let node = 1; node <= this.#shape.brokers; node += 1) this.#kafka.up(node);
    this.#topics.mend();
    this.#machine.disk.free = Infinity;
    this.#machine.storeTroubles.length = 0;
    for (const [index, place] of this.#places.entries()) {
      this.#network.set(`${clickHouseHost(index)}:8123`, { isSilent: false, isRefusing: false });
      place.clickHouse.troubles.length = 0;
      place.clickHouse.breakViews(undefined);
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
      this.#goOnWithoutView(index);
      place.file = { ...place.file, max_batch_size: (place.file.max_batch_size % 5) + 2, on_lost: "skip" };
    }
    this.#commit();
  }

  /** Outside of the window a view that failed is not completed any more: only a person can let it go. */
  #goOnWithoutView(index: number): void {
    const place = this.#places[index]!;
    if (this.#healthOf(index)?.paused?.class !== "view") return;
    place.mayViewLack = true;
    place.file = { ...place.file, on_view_error: "skip" };
  }

  #isQuiet(): boolean {
    return this.#places.every((_, index) => this.#isAtRest(index));
  }

  #isAtRest(index: number): boolean {
    return this.#unrest(index).next().done === true;
  }

  /** What is not as it is to be in the end. What is found fast comes first: it is asked after each thing that happens. */
  *#unrest(index: number): Generator<string, void> {
    const id = pipelineId(index);
    // Their dead letters are looked at in the end.
    if (this.#sluice.engine === undefined || (this.#second !== undefined && this.#second.engine === undefined)) {
      yield `no process runs: ${this.#startFailure}`;
      return;
    }
    const health = this.#healthOf(index);
    if (health === undefined) {
      yield `${id} is not there`;
      return;
    }
    const { overall_status, failure, paused, pending_batches, stream, join } = health;
    if (overall_status !== "Running") yield `${id} is ${overall_status}: ${failure ?? ""}`;
    if (paused !== undefined) yield `${id} is paused: ${paused.class}: ${paused.text}`;
    if (pending_batches > 0) yield `${id} has ${pending_batches} pending batches`;
    if (join !== undefined && join.waiting > 0) yield `${id} has ${join.waiting} joined rows that wait`;
    if (stream?.messages !== 0) yield `${id} has ${stream?.messages ?? "unknown"} events in its stream`;
    const elsewhere = this.#pendingElsewhere(index);
    if (elsewhere > 0) yield `${id} has ${elsewhere} pending batches in the Sluice that it was taken over from`;
    for (const text of this.#unreadOf(index)) yield `${id} ${text}`;
  }

  /**
   * The batches that the other Sluice still writes, as it does not know yet that it was taken over from. It writes none where its
   * process was killed while it stopped the pipeline, where a person terminated it, or would have to decide about a loss or a
   * view.
   */
  #pendingElsewhere(index: number): number {
    const { engine } = (this.#places[index]!.on === "first" ? this.#second : this.#sluice) ?? {};
    const id = pipelineId(index);
    if (engine?.list().some(({ pipeline_id }) => pipeline_id === id) !== true) return 0;
    const { overall_status, paused, pending_batches } = engine.health(id);
    const isDecided = paused === undefined || !["owner", "lost", "view"].includes(paused.class);
    const isLeft = !isDecided || overall_status === "Stopped" || overall_status === "Terminated";
    return isLeft ? 0 : pending_batches;
  }

  /** What of its topic is not read, as far as the group says. */
  *#unreadOf(index: number): Generator<string, void> {
    for (const topic of this.#topicsOf(index)) yield* this.#unreadIn(topic, pipelineId(index));
  }

  *#unreadIn(topic: string, id: string): Generator<string, void> {
    const committed = this.#kafka.committed(consumerGroup(id));
    for (let partition = 0; partition < partitions; partition += 1) {
      const { offset: at, metadata } = committed.get(`${topic}/${partition}`) ?? { offset: 0, metadata: "" };
      // What another consumer committed is no claim of Sluice.
      const offset = metadata === "" ? 0 : at;
      const due = this.#kafka.truth.records.filter((one) => one.topic === topic && one.partition === partition);
      const unread = due.filter((one) => one.lost === undefined && one.offset >= offset).length;
      if (unread > 0) yield `has read partition ${partition} of ${topic} up to ${offset}, and ${unread} records follow`;
    }
  }

  /** The events of its dead letters, in either Sluice. */
  #lettersOf(index: number): number[] {
    const id = pipelineId(index);
    const engines = [this.#sluice.engine, this.#second?.engine].filter((engine) => engine !== undefined);
    const holding = engines.filter((engine) => engine.list().some(({ pipeline_id }) => pipeline_id === id));
    return holding
      .flatMap((engine) => engine.deadLetters(id).list(10_000).messages)
      .map(({ original_message }) => {
        const letter = JSON.parse(original_message) as { id?: number; attributes?: { id: string } };
        return Number(letter.id ?? letter.attributes?.id);
      });
  }

  #logged(level: string, sentence: string, fields: Record<string, unknown>): void {
    this.onLine(`${this.clock.monotonic} ${level} ${sentence} ${JSON.stringify(fields)}`);
    if (level !== "info") this.#meet(`log: ${sentence}`);
    for (const [effect, times] of effectsOf(sentence, fields)) this.#met(effect, times);
    const { pipeline_id } = fields;
    const index = this.#places.findIndex((_, at) => pipelineId(at) === pipeline_id);
    if (sentence.startsWith("The consumer group is taken over")) this.#takenOver(index);
    if (sentence.startsWith("The offsets of the consumer group were changed from outside")) this.#moved(index);
    const said = this.#places[index]?.said;
    said?.set(sentence, (said.get(sentence) ?? 0) + 1);
  }

  /** Only what a person could have committed moves a pipeline. */
  #moved(index: number): void {
    if (this.#topics.misled(pipelineId(index)) === "as a person") this.#ledger.forgive(index, { isAll: true });
    else this.#broken.push(`${pipelineId(index)}: moved by what no person did`);
  }

  #at(pipeline: number): number {
    return pipeline % this.#places.length;
  }

  #place({ pipeline }: { pipeline: number }): Place {
    return this.#places[this.#at(pipeline)]!;
  }

  #met(effect: Effect, times = 1): void {
    if (times > 0) this.#meet(nameOf(effect), times);
  }

  #meet(what: string, times = 1): void {
    this.met.set(what, (this.met.get(what) ?? 0) + times);
  }
}

function idOf({ value }: TrueRecord): number {
  return (JSON.parse(value) as { id: number }).id;
}

function heldUpText(index: number, text: string, { topic, partition }: PartitionPlace): string {
  return `${pipelineId(index)} ${text}, while partition ${partition} of ${topic} has no leader`;
}

/** Whether a row is that of an event of the world, and not another writer's. */
function isOurs({ key }: Record<string, unknown>): boolean {
  return key !== "other";
}

/** Blocks that another writer inserts: rows that no event of the world is. */
function blocksOfOthers(count: number): { rows: Record<string, unknown>[] }[] {
  const row = { id: 0, key: "other", fate: "row", part: 1, at: 0, partner: 0 };
  return Array.from({ length: count }, () => ({ rows: [row] }));
}
